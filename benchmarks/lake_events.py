"""An epoch with many events: twenty a tick, and transitions of half the rules.

From the table `ticks` to every table committed, against Spark writing as many rows of the same
columns to Delta tables. Spark has them from the tables that we wrote; what it takes to read these
and drop the rows is taken off its time. A row costs what all cores spent: those of the driver, its
JVM and the workers.

Peaks of memory are those of a run over the same ticks, in processes of its own, and of a run whose
last tick crosses the borders of all rules at once.
"""

import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa

from benchmarks.lake_epoch import Evaluated, carried_out
from benchmarks.lake_made import AXES, FEED, LENGTH, QUERIES, Bench, land, now
from benchmarks.lake_memory import Sampler, spent
from benchmarks.lake_times import clocked, divided, in_turns
from benchmarks.report import Line
from fencepost.queries import QuerySet
from fencepost.times import SECOND
from fencepost.tuples import TupleBatch
from pipelines.epochs.drive import Lake
from pipelines.lake.store import Store
from pipelines.registry.changes import QueryChanges
from pipelines.registry.commit import register
from pipelines.registry.queries import rows_of
from pipelines.runs.run import run, runner_of
from pipelines.spark.session import stop
from pipelines.workloads import PriceBands, PriceWalks
from pipelines.workloads.parts import numbered
from schemas.events import TRANSITIONS

OFTEN = 1e-4
"""The fluctuation at which a tick crosses twenty borders of 100 K bands."""
RARER = 10
"""Of the ticks of other sections one in so many."""
WITHIN = 10 * SECOND
FOUND = ("events", "transitions")
COUNTED = ("entered", "left", *TRANSITIONS)
A_ROW = 250.0
LIMIT = 1.5 * 2**30
TIMES, MANY, ONE = "events", "many", "one"
CLAIMS = {MANY: "twenty events a tick", ONE: "a tick over as many borders"}


def events(bench: Bench) -> list[Line]:
    """Time the epoch, then measure the memory of two runs."""
    return [*_timed(bench), _memory(bench, MANY), _memory(bench, ONE)]


@dataclass(frozen=True)
class Costly:
    """An epoch that was evaluated, and the seconds of all cores that it took."""

    evaluated: Evaluated
    cores: float


def _timed(bench: Bench) -> list[Line]:
    lake, anew = _lake(bench, TIMES), count()
    assert bench.take_in(lake.store, lake.settings).tuples == bench.rows // RARER

    def ours() -> tuple[float, Costly]:
        before = spent()
        seconds, found = carried_out(lake, again_from=1 if next(anew) else None)
        return seconds, Costly(found, spent() - before)

    _, first = ours()
    rows = sum(first.evaluated.epoch.counts[name] for name in COUNTED)
    mine, other = in_turns(ours, partial(_written, bench, lake.store))
    cores = median(costly.cores for _, costly in mine.runs)
    facts = (
        f"{mine} against {other}; {divided(mine.middle.evaluated.seconds)}; "
        f"{bench.rows // RARER:,} ticks, {rows:,} rows"
    )
    claim = "events and transitions, of Spark writing as many rows"
    each = 1e9 * cores / rows
    return [
        Line(claim, mine.median / other.median, 1.0, facts=facts),
        Line(
            f"a row of them, of {A_ROW:g} ns of a core", each / A_ROW, 1.0, facts=f"{each:.0f} ns"
        ),
    ]


def _written(bench: Bench, store: Store) -> tuple[float, None]:
    """Let Spark write what is in our tables to others; reading it is not counted."""
    seconds = 0.0
    for name in FOUND:
        rows = bench.spark.read.format("delta").load(str(store.folder(name)))
        rows = rows.where(rows.generation == rows.agg({"generation": "max"}).collect()[0][0])
        place = bench.folder / "written"
        read, _ = clocked(rows.write.format("noop").mode("overwrite").save)
        both, _ = clocked(partial(rows.write.format("delta").save, str(place)))
        shutil.rmtree(place)
        seconds += both - read
    return seconds, None


def _memory(bench: Bench, name: str) -> Line:
    """Run in processes of its own; nothing of Spark's other side is in its JVM."""
    _lake(bench, name)
    stop()
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.lake_events", str(bench.folder), str(bench.rows), name],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    *parts, rows = ran.stdout.splitlines()
    peak = {part: int(held) for part, held in map(str.split, parts)}
    facts = ", ".join(f"{part} {held / 2**30:.2f}" for part, held in peak.items())
    return Line(
        f"peak memory, {CLAIMS[name]}, of 1.5 GiB",
        sum(peak.values()) / LIMIT,
        1.0,
        facts=f"GiB: {facts}; {int(rows):,} rows",
    )


def _lake(bench: Bench, name: str) -> Lake:
    """Make a lake whose ticks have landed."""
    settings = bench.settings(name, bench.folder / f"{name}-landing")
    store = Store.create(settings.root, settings.tables, buckets=settings.buckets)
    queries, ticks = _steps_over(bench.rows // 2) if name == ONE else _walks(bench.rows // RARER)
    nothing = pa.array([], pa.string())
    register(store, settings, QueryChanges(rows_of(queries, {}), nothing), now())
    land(bench.folder / f"{name}-landing" / "day.parquet", ticks)
    return Lake.of(store, settings, bench.runner)


def _walks(many: int) -> tuple[QuerySet, TupleBatch]:
    """Give bands, every other one with transitions, and ticks that cross twenty borders each."""
    table = PriceBands(count=QUERIES).table()
    even = np.arange(QUERIES) % 2 == 0
    table = table.append_column("within", pa.array(np.full(QUERIES, WITHIN), mask=even))
    ticks = PriceWalks(streams=many // LENGTH, length=LENGTH, fluctuation=OFTEN).tuples()
    return QuerySet.from_table(FEED, AXES, table), ticks


def _steps_over(borders: int) -> tuple[QuerySet, TupleBatch]:
    """Give so many rules without an upper end, and two ticks: below all of them, and above."""
    ids = numbered("above-", borders)
    at = np.arange(1.0, borders + 1.0)
    ends = {"price_lo": pa.array(at), "price_hi": pa.array(np.full(borders, np.inf))}
    queries = QuerySet.from_table(FEED, AXES, pa.table({"id": ids, **ends}))
    ticks = PriceWalks(streams=1, length=2).tuples()
    return queries, replace(ticks, values=np.array([[0.0, borders + 1.0]]))


def _one_run(bench: Bench, name: str) -> None:
    """Run, and print the memory of each part at the overall peak, and the rows found."""
    settings = bench.settings(name, bench.folder / f"{name}-landing")
    with Sampler() as sampler:
        report = run(settings, runner_of(settings))
    for part, held in sampler.peak.items():
        print(part, held)
    print(sum(group.counts[each] for group in report.groups for each in COUNTED))


if __name__ == "__main__":
    _one_run(Bench(Path(sys.argv[1]), int(sys.argv[2])), sys.argv[3])
