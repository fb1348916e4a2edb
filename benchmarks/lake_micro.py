"""A thousand tuples against a million streams and 100 K queries: the minimal cost of the lake.

From tuples in `ticks` to the epoch done, against one append of a thousand rows to a
Delta table through Spark in the same session.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from benchmarks.lake_epoch import Evaluated, carried_out
from benchmarks.lake_made import FEED, Bench, land
from benchmarks.lake_times import Times, clocked, divided, in_turns
from benchmarks.report import Line
from fencepost.times import SECOND
from fencepost.tuples import Int64s, TupleBatch
from pipelines.epochs.drive import Lake, advance
from pipelines.planning.plan import Limits
from pipelines.runs.tidy import tidy
from pipelines.workloads import PriceWalks

TUPLES, BAR = 1_000, 12.0
MANY, WARM = 500, 10
AT_MOST, LAST = 0.1, 0.3
"""Seconds of a micro-batch, of the median one and of all but one in a hundred."""
REACH = 5.0
"""How far a price moves at most: half the gap between two borders in the mean."""


def micro(bench: Bench) -> list[Line]:
    """A micro-batch after a snapshot of the state."""
    batches = Batches.begun(bench, "micro")
    mine, other = in_turns(batches.next, _appending(bench), warm=2)
    streams = len(batches.first)
    facts = f"{mine} against {other}; {divided(mine.middle.seconds)}; {streams:,} streams"
    claim = "1,000 tuples, of a Delta append of 1,000 rows"
    return [Line(claim, mine.median / other.median, BAR, facts=facts)]


def batches(bench: Bench) -> list[Line]:
    """Five hundred of them; between two, the lake is tidied as after every run."""
    going = Batches.begun(bench, "batches")
    runs, between = [], []
    for turn in range(WARM + MANY):
        run = going.next()
        spent, _ = clocked(lambda: tidy(going.lake.store, going.lake.settings.keep_history))
        if turn >= WARM:
            runs.append(run)
            between.append(spent)
    times = Times(tuple(runs))
    facts = (
        f"{times}; {divided(times.middle.seconds)}; tidying after it {np.median(between):.2f}; "
        f"{MANY} of {TUPLES:,} tuples, {len(going.first):,} streams"
    )
    last = float(np.quantile([seconds for seconds, _ in runs], 0.99))
    return [
        Line(f"a micro-batch, median, of {AT_MOST:g} s", times.median / AT_MOST, 1.0, facts=facts),
        Line(f"a micro-batch, p99, of {LAST:g} s", last / LAST, 1.0, facts=f"{last:.3g} s"),
    ]


@dataclass
class Batches:
    """A lake with a snapshot of its streams, and the micro-batches that come to it."""

    bench: Bench
    lake: Lake
    first: TupleBatch
    draws: np.random.Generator

    @classmethod
    def begun(cls, bench: Bench, name: str) -> "Batches":
        """Make the lake: every stream once, then a snapshot."""
        settings = bench.settings(name, bench.folder / f"{name}-landing")
        lake = Lake.of(bench.make(settings), settings, bench.runner)
        streams = max(bench.rows // 10, TUPLES)
        first = PriceWalks(streams=streams, length=1).tuples()
        _deliver(bench, lake, first, "first")
        whole = replace(lake, limits=Limits(snapshot_every=1))
        reports = advance(whole, whole.lane(FEED))
        assert [group.counts["accepted"] for group in reports] == [streams]
        return cls(bench, lake, first, np.random.default_rng(1))

    def next(self) -> tuple[float, Evaluated]:
        """Deliver the next tuples of some streams, and evaluate them; only that is timed."""
        number = len(self.lake.store.rows("epochs"))
        some = np.sort(self.draws.choice(len(self.first), TUPLES, replace=False))
        later = _later(self.first, some, number, self.draws)
        _deliver(self.bench, self.lake, later, f"batch-{number:06d}")
        seconds, found = carried_out(self.lake)
        assert found.epoch.counts["accepted"] == TUPLES
        return seconds, found


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
