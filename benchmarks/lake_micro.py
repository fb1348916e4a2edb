"""A thousand tuples against a million streams and 100 K queries: the minimal cost of the lake.

From tuples in `ticks` to the epoch done, against one append of a thousand rows to a
Delta table through Spark in the same session.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from benchmarks.lake_epoch import Evaluated, carried_out
from benchmarks.lake_made import FEED, Bench, land
from benchmarks.lake_times import clocked, divided, in_turns
from benchmarks.report import Line
from fencepost.times import SECOND
from fencepost.tuples import Int64s, TupleBatch
from pipelines.epochs.drive import Lake, advance
from pipelines.planning.plan import Limits
from pipelines.workloads import PriceWalks

TUPLES, BAR = 1_000, 12.0
REACH = 5.0
"""How far a price moves at most: half the gap between two borders in the mean."""


def micro(bench: Bench) -> list[Line]:
    """A micro-batch after a snapshot of the state."""
    streams = max(bench.rows // 10, TUPLES)
    settings = bench.settings("micro", bench.folder / "micro-landing")
    store = bench.make(settings)
    lake = Lake.of(store, settings, bench.runner)
    first = PriceWalks(streams=streams, length=1).tuples()
    _deliver(bench, lake, first, "first")
    whole = replace(lake, limits=Limits(snapshot_every=1))
    assert [group.counts["accepted"] for group in advance(whole, whole.lane(FEED))] == [streams]
    draws = np.random.default_rng(1)

    def ours() -> tuple[float, Evaluated]:
        number = len(store.rows("epochs"))
        some = np.sort(draws.choice(streams, TUPLES, replace=False))
        _deliver(bench, lake, _later(first, some, number, draws), f"batch-{number:06d}")
        seconds, found = carried_out(lake)
        assert found.epoch.counts["accepted"] == TUPLES
        return seconds, found

    mine, other = in_turns(ours, _appending(bench), warm=2)
    facts = f"{mine} against {other}; {divided(mine.middle.seconds)}; {streams:,} streams"
    claim = "1,000 tuples, of a Delta append of 1,000 rows"
    return [Line(claim, mine.median / other.median, BAR, facts=facts)]


def _deliver(bench: Bench, lake: Lake, batch: TupleBatch, name: str) -> None:
    """Bring tuples into `ticks`, the way every delivery goes."""
    land(lake.settings.feeds[FEED].source / f"{name}.parquet", batch)
    assert bench.take_in(lake.store, lake.settings).tuples == len(batch)


def _later(first: TupleBatch, some: Int64s, number: int, draws: np.random.Generator) -> TupleBatch:
    """Give some streams' next tuples, near their first."""
    batch = first.take(some)
    moved = batch.values + draws.uniform(-REACH, REACH, batch.values.shape)
    return replace(batch, ts=batch.ts + number * SECOND, values=np.abs(moved))


def _appending(bench: Bench) -> Callable[[], tuple[float, None]]:
    """Make a Delta table; each call appends a thousand rows to it."""
    place = str(bench.folder / "appended")
    prices = pa.array(np.arange(TUPLES, dtype=np.float64))
    ids = pa.array([f"s{k}" for k in range(TUPLES)])
    rows = bench.spark.createDataFrame(pa.table({"stream_id": ids, "price": prices})).coalesce(1)
    rows.write.format("delta").save(place)

    def append() -> tuple[float, None]:
        return clocked(lambda: rows.write.format("delta").mode("append").save(place))

    return append
