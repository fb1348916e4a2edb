"""An epoch of a million updates under ten thousand bands, against a crossing epoch as large.

Both lanes are on one lake and go from tables of tuples to every table committed; of either about
one update in a hundred finds something.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.lake_epoch import Evaluated, carried_out
from benchmarks.lake_made import RARE, land, now
from benchmarks.lake_times import Times, divided, in_turns
from benchmarks.matches_made import Scale
from benchmarks.report import Line
from fencepost.lanes import lane_of
from fencepost.queries import QuerySet
from fencepost.queries.joins import BAND_JOIN, JoinQuery
from pipelines import ingest
from pipelines.epochs.drive import Lake, advance
from pipelines.lake.store import Store
from pipelines.planning.plan import Limits
from pipelines.project.settings import Feed, Settings
from pipelines.registry.changes import QueryChanges
from pipelines.registry.commit import register
from pipelines.registry.queries import rows_of, rows_of_each
from pipelines.spark.runner import SparkRunner
from pipelines.spark.session import spark
from pipelines.workloads import PriceBands, PriceWalks

BAR = 1.5
BIDS, ASKS, TICKS = "bids", "asks", "ticks"
LANE = lane_of(BIDS, ASKS)
UPDATES = {TICKS: 2, LANE: 3}
"""By lane: the first epoch after those of every stream's first tuple."""
LENGTH = 100
HOTSPOTS = 20
QUERIES = 100_000


def epochs(scale: Scale) -> Iterator[Line]:
    """Time both lanes' epochs in turns."""
    updates, bands = scale.of(1_000_000, 20_000), scale.of(10_000, 500)
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        lake = _made(Path(folder), updates, bands)
        one_each = replace(lake, limits=Limits(epoch_deliveries=1, group=1, snapshot_every=1))
        for lane in UPDATES:
            for _ in advance(one_each, one_each.lane(lane)):
                pass
        joined = partial(_evaluated, lake, LANE, updates)
        crossed = partial(_evaluated, lake, TICKS, updates)
        ours, theirs = in_turns(joined, crossed)
        yield _line(ours, theirs, updates, bands)


def _evaluated(lake: Lake, lane: str, updates: int) -> tuple[float, Evaluated]:
    """Evaluate a lane's updates again, as one epoch, under the next generation."""
    seconds, found = carried_out(lake, again_from=UPDATES[lane], lane=lane)
    assert found.epoch.counts["accepted"] == updates, found.epoch.counts
    return seconds, found


def _made(folder: Path, updates: int, bands: int) -> Lake:
    """Make a lake: crossing queries on ticks, bands over bids and asks, all tuples loaded."""
    streams = updates // LENGTH
    ticks = PriceWalks(streams=streams, length=LENGTH + 1, fluctuation=RARE, feed=TICKS)
    walks = {
        TICKS: ticks,
        BIDS: _quotes(BIDS, streams // 2, bands, seed=2),
        ASKS: _quotes(ASKS, streams // 2, bands, seed=3),
    }
    feeds = {
        name: Feed(name, ("price",), folder / "landing" / name, settle=0, max_skew=1 << 60)
        for name in walks
    }
    settings = Settings(None, folder / "lake", feeds)
    store = Store.create(settings.root, settings.tables, buckets=settings.buckets)
    crossing = QuerySet.from_table(TICKS, ("price",), PriceBands(count=QUERIES).table())
    given = pa.concat_tables([rows_of(crossing, {}), rows_of_each(_bands(bands))])
    register(store, settings, QueryChanges(given, pa.array([], pa.string())), now())
    runner = SparkRunner(lambda: spark(quick=False))
    for part in ("first", "updates"):
        for name, walk in walks.items():
            own = slice(0, walk.streams) if part == "first" else slice(walk.streams, None)
            land(feeds[name].source / f"{part}.parquet", walk.tuples().take(own))
        report = ingest.ingest(store, settings, runner, now())
        assert not report.refused, report.refused
    return Lake.of(store, settings, runner)


def _quotes(feed: str, streams: int, bands: int, seed: int) -> PriceWalks:
    """Give walks so slow that a hundredth of the updates changes one pair of one band."""
    fluctuation = 0.01 / (2 * streams * bands)
    length = LENGTH + 1
    return PriceWalks(streams=streams, length=length, fluctuation=fluctuation, seed=seed, feed=feed)


def _bands(count: int) -> list[JoinQuery]:
    """Give bands about a few hotspots, each some ten-millionths of the domain wide."""
    draws = np.random.default_rng(5)
    centre = np.linspace(-1e5, 1e5, HOTSPOTS)[np.arange(count) % HOTSPOTS]
    low, high = centre - draws.uniform(0, 0.05, count), centre + draws.uniform(0, 0.05, count)
    return [
        JoinQuery(
            id=f"band-{k}",
            kind=BAND_JOIN,
            left=BIDS,
            right=ASKS,
            left_axis="price",
            right_axis="price",
            low=float(a),
            high=float(b),
        )
        for k, (a, b) in enumerate(zip(low, high, strict=True))
    ]


def _line(ours: Times[Evaluated], theirs: Times[Evaluated], updates: int, bands: int) -> Line:
    mine, other = ours.middle.epoch.counts, theirs.middle.epoch.counts
    changes, events = mine["came_in"] + mine["went_out"], other["entered"] + other["left"]
    facts = (
        f"{ours} against {theirs}; {divided(ours.middle.seconds)}; {updates:,} updates, "
        f"{bands:,} bands, {changes:,} changes; {events:,} events"
    )
    ratio = ours.median / theirs.median
    return Line("an epoch of band joins, of a crossing epoch", ratio, BAR, facts=facts)
