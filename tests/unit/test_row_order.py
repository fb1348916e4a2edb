"""A table that has no order of rows is taken by what its rows hold, however it was written."""

import uuid
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, Schema
from deltalake.transaction import AddAction, RemoveAction

from pipelines.checks.own import own_checks
from pipelines.epochs.drive import advance
from pipelines.ingest import ingest, retry
from pipelines.planning.plan import Limits
from pipelines.project.settings import Feed, Settings
from pipelines.serve.quarantine import QuarantineFilter, quarantined
from pipelines.serve.views.duckdb import duckdb_session
from pipelines.spark.runner import HereRunner
from tests.support.lakes.builder import new_lake, register
from tests.support.lakes.on_disk import on_disk

T0 = 1_795_003_200_000_000
DAY = 86_400_000_000
RULES = (
    {"id": "up", "feed": "ticks", "where": "price >= 3", "within": "2s", "on_first": "enter"},
    {"id": "odd", "feed": "ticks", "kind": "match", "where": "price > volume"},
    {
        "id": "last",
        "kind": "window_join",
        "left": "ticks",
        "right": "quotes",
        "on": "left.price >= right.ask",
        "window": 3,
    },
    {
        "id": "near",
        "kind": "band_join",
        "left": "ticks.price",
        "right": "quotes.ask",
        "between": [-1, 1],
    },
)
LANES = ("ticks", "quotes", "ticks~quotes")
TOLD = ("events", "transitions", "matches", "pairs", "band_changes", "inside_now", "visits")
"""What must be the same; of the quarantine, all but the files' names, in its order."""


def ticks(seed: int, count: int = 60) -> list[dict[str, Any]]:
    """Rows of few streams, instants and values, so that most share theirs; some are no tuples."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        ts = T0 + int(rng.integers(0, 6)) * 1_000_000 + (rng.random() < 0.05) * 2 * DAY
        price = float(rng.choice([1.0, 2.0, 3.0, 4.0, np.nan], p=[0.3, 0.2, 0.2, 0.2, 0.1]))
        stream = str(rng.choice(["a", "b", "é", ""], p=[0.4, 0.3, 0.25, 0.05]))
        rows.append(
            {"stream_id": stream, "ts": ts, "price": price, "volume": float(rng.integers(1, 4))}
        )
    return rows


def quotes(seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed + 1000)
    return [
        {
            "stream_id": f"q{rng.integers(0, 4)}",
            "ts": T0 + int(rng.integers(0, 6)) * 1_000_000,
            "ask": float(rng.integers(1, 5)),
            "gone": [None, True, False][rng.integers(0, 3)],
        }
        for _ in range(30)
    ]


def write(folder: Path, rows: list[dict[str, Any]], way: int) -> None:
    """Add a version: the same rows in some order, over some files, named and cut at random."""
    rng = np.random.default_rng(way)
    table = pa.Table.from_pylist([rows[k] for k in rng.permutation(len(rows))])
    table = table.set_column(1, "ts", table["ts"].cast(pa.timestamp("us", "UTC")))
    if not DeltaTable.is_deltatable(str(folder)):
        DeltaTable.create(folder, Schema.from_arrow(table.schema))
    edges = np.sort(rng.integers(0, len(rows) + 1, way))
    adds: list[AddAction | RemoveAction] = []
    for first, beyond in pairwise([0, *edges.tolist(), len(rows)]):
        name = f"{uuid.UUID(bytes=rng.bytes(16))}.parquet"
        pq.write_table(table[first:beyond], folder / name, row_group_size=7)
        adds.append(AddAction(name, (folder / name).stat().st_size, {}, T0 // 1000, True, "{}"))
    known = DeltaTable(folder)
    known.create_write_transaction(adds, "append", known.schema(), [])


def declared(folder: Path, lateness: int) -> Settings:
    feeds = {
        "ticks": Feed(
            "ticks",
            ("price", "volume"),
            folder / "t",
            form="delta",
            ties="first",
            allowed_lateness=lateness,
        ),
        "quotes": Feed("quotes", ("ask",), folder / "q", form="delta", deleted="gone"),
    }
    return Settings(None, folder / "lake", feeds, buckets=2)


def told(folder: Path, way: int, lateness: int = 0) -> dict[str, list[str]]:
    """Play three versions of two tables on a lake, and read what came of them."""
    settings = declared(folder, lateness)
    lake = new_lake(settings, limits=Limits())
    store = lake.store
    register(lake, RULES, T0)
    for version in range(3):
        write(folder / "t", ticks(version), way)
        write(folder / "q", quotes(version), way)
        ingest(store, settings, HereRunner(), T0)
        if version == 1:
            retry(store, settings, HereRunner(), T0 + 3 * DAY)
        for lane in LANES:
            list(advance(lake, lake.lane(lane)))
    answers = {}
    with duckdb_session(on_disk(store.root), store.tables) as session:
        for name in TOLD:
            answers[name] = sorted(map(repr, session.sql(f"from {name}").fetchall()))
    aside = quarantined(settings, QuarantineFilter(), 0).rows
    names = ("feed", "arrival", "reason", "detail", "epoch", "raw")
    answers["quarantine"] = [repr([row[name] for name in names]) for row in aside]
    for lane in LANES:
        made = own_checks(settings, lane)
        assert [(each.name, each.samples) for each in made if not each.passed] == []
    return answers


def written_twice(folder: Path, lateness: int, ways: tuple[int, ...]) -> dict[str, list[str]]:
    once = told(folder / "0", 0, lateness)
    for way in ways:
        assert told(folder / str(way), way, lateness) == once
    return once


def test_a_table_written_twice_gives_the_same_rows(tmp_path):
    once = written_twice(tmp_path, 0, (3,))
    assert all(once.values())
    reasons = {reason for row in once["quarantine"] for reason in row.split("'")}
    assert reasons >= {"conflict", "duplicate", "malformed", "future", "late"}


@pytest.mark.slow
@pytest.mark.parametrize("lateness", [0, 2_000_000])
def test_a_table_written_many_times_gives_the_same_rows(tmp_path, lateness):
    written_twice(tmp_path, lateness, (1, 2, 4, 9))
