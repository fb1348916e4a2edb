"""A lake with a past, from files: rules, deliveries of a day, and all that can be wrong in them.

Law: the same deliveries and registry commits in the same order, however they are cut into runs and
epochs, in whichever runner, give the same tables; `tables_of` reads what must not differ.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipelines.epochs.drive import Lake
from pipelines.planning.plan import Limits
from pipelines.project.settings import Settings
from pipelines.serve.views.duckdb import duckdb_session
from pipelines.spark.runner import Runner
from tests.support.lakes import builder
from tests.support.lakes.builder import SECOND, evaluate, ingest, instant, register
from tests.support.lakes.on_disk import on_disk

AXES = ("price", "volume")
BEGIN = 1_763_420_400 * SECOND  # 2025-11-17T23:00:00Z
NOW = BEGIN + 3600 * SECOND
STREAMS = ("AAPL", "ACME", "naïve ' id", "SILENT")

RULES = (
    {"id": "up", "feed": "ticks", "where": "price >= 102", "within": "3s"},
    {"id": "band", "feed": "ticks", "where": "price BETWEEN 99 AND 101", "on_first": "enter"},
    {"id": "odd", "feed": "ticks", "where": "price < 98 OR price > 103", "within": "0s"},
    {"id": "one's; DROP", "feed": "ticks", "streams": ["AAPL"], "where": "price >= 100"},
    {"id": "dear", "feed": "ticks", "kind": "match", "where": "price > 101 OR volume = 50"},
    {"id": "light", "feed": "ticks", "kind": "match", "where": "volume < price"},
)
LATER = (
    {"id": "up", "feed": "ticks", "where": "price >= 101.5", "within": "2s"},
    {"id": "new", "feed": "ticks", "where": "volume < 50 AND price > 100", "within": "5s"},
    {"id": "light", "feed": "ticks", "kind": "match", "where": "volume < price AND price > 99"},
)
COMPARED = (
    "events",
    "transitions",
    "matches",
    "quarantine",
    "stream_state",
    "pending",
    "reorder",
    "inside_now",
    "visits",
)
LEFT_OUT = ("epoch", "generation", "bucket", "place", "index", "snapshot")


@dataclass(frozen=True)
class Way:
    """How a past is cut and carried out: none of it may change a row."""

    run_every: int | None = None  # deliveries between two runs; None: one run in the end
    limits: Limits = Limits()  # noqa: RUF009  it is frozen
    read_path: str = "auto"


def past_settings(folder: Path, lateness: int = 0, **more: Any) -> Settings:
    """Declare the feed of the past."""
    options = {"allowed_lateness": lateness, "ties": "first", "settle": 0, "partition": "hour"}
    return builder.settings_of(folder, {"ticks": AXES}, {"ticks": options}, **more)


def new_lake(
    folder: Path,
    lateness: int = 0,
    runner: Runner | None = None,
    limits: Limits | None = None,
    **more: Any,
) -> Lake:
    """Make a lake with nothing in it."""
    return builder.new_lake(past_settings(folder, lateness, **more), runner, limits)


def deliveries(count: int = 12, rows: int = 40, seed: int = 7) -> Iterator[tuple[str, str]]:
    """Make files: ticks of a few streams, some late, double, in conflict, malformed, ahead."""
    rng = np.random.default_rng(seed)
    price = dict.fromkeys(STREAMS, 100.0)
    clock = BEGIN
    for number in range(count):
        lines = ["stream_id,ts,price,volume"]
        for _ in range(rows):
            clock += int(rng.integers(0, 2)) * SECOND
            stream = STREAMS[rng.integers(0, len(STREAMS) - (number > 3))]
            price[stream] = round(price[stream] + float(rng.choice([-1, -0.5, 0, 0.5, 1])), 2)
            price[stream] = min(max(price[stream], 96), 105)
            ts = clock - int(rng.choice([0, 0, 0, 0, 1, 3])) * SECOND
            volume = int(rng.integers(1, 100))
            lines.append(f"{stream},{instant(ts)},{price[stream]},{volume}")
        lines += _faulty(number, clock, lines[-1])
        yield f"{number:03}.csv", "\n".join(lines) + "\n"


def _faulty(number: int, clock: int, last: str) -> list[str]:
    if number % 3 == 0:
        ahead = instant(clock + 400 * 86_400 * SECOND)
        return [last, f"AAPL,{ahead},1,1", f"ACME,{instant(clock)},NaN,1", ",,,", "AAPL,now,1,1"]
    return [last] if number % 2 else []


def play(folder: Path, runner: Runner, way: Way, lateness: int = 0, count: int = 12) -> Lake:
    """Let the past happen on a new lake."""
    lake = new_lake(folder, lateness, runner, way.limits, read_path=way.read_path)
    register(lake, RULES, NOW)
    for number, (name, text) in enumerate(deliveries(count), 1):
        land(lake.settings, name, text)
        ingest(lake, NOW + number * 600 * SECOND)
        if number == count // 2:
            register(lake, LATER, NOW + number * 600 * SECOND)
        if way.run_every and number % way.run_every == 0:
            evaluate(lake, "ticks")
    evaluate(lake, "ticks")
    return lake


def land(settings: Settings, name: str, text: str) -> None:
    """Put a file into the landing folder, as if it had been there for long."""
    builder.land(settings.feeds["ticks"], name, text, BEGIN)


def tables_of(lake: Lake) -> dict[str, list[str]]:
    """Read the published tables, without what says how the work was cut, as sorted rows."""
    answers = {}
    names = " ".join(COMPARED)
    with duckdb_session(on_disk(lake.store.root), lake.store.tables, names, only=True) as session:
        for name in COMPARED:
            rows = session.sql(f"from {name}").arrow()  # a view's name of ours
            table = rows.read_all() if isinstance(rows, pa.RecordBatchReader) else rows
            kept = [c for c in table.column_names if c not in LEFT_OUT]
            answers[name] = sorted(repr(row) for row in table.select(kept).to_pylist())
    return answers
