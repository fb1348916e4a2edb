"""One epoch of ten million ticks, by both read paths, against Spark's own `lag()` over them.

`lag()` finds each tuple's neighbour and nothing else, and writes it nowhere: the least that a job
in plain Spark would have to do. Ours goes from the table `ticks` to every table committed.
"""

import time
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from benchmarks.lake_made import AXES, FEED, Bench
from benchmarks.lake_times import Times, clocked, divided, in_turns
from benchmarks.report import Line
from fencepost.crossings import BorderIndex
from fencepost.engine import step
from fencepost.hashing import content_hash
from fencepost.state import FeedState
from pipelines.epochs.drive import Lake, arrivals_of, chain_of, plan
from pipelines.epochs.partitions import rows_of
from pipelines.execute.task import NOT_HASHED
from pipelines.planning.chain import Epoch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SHUFFLES = [(partitions, adaptive) for adaptive in (False, True) for partitions in (2, 4, 8, 16)]
FOUND = ("events", "stream_state")
IN_TASKS = ("read", "sort", "evaluate", "write")
OF_THE_RUN = (*NOT_HASHED, "generation")
FILES_BAR, BY_SPARK_BAR = 1.0, 2.0


def epoch(bench: Bench) -> list[Line]:
    """Workers read the data files of the Delta snapshot; or Spark reads the tables for them."""
    _check(bench)
    best = _best_shuffle(bench)
    ways = (
        ("one epoch, files read by workers", bench.lake, FILES_BAR),
        ("one epoch through mapInArrow", other_way(bench.lake), BY_SPARK_BAR),
    )
    lines = []
    for claim, lake, bar in ways:
        ours, theirs = in_turns(partial(evaluated, bench, lake), partial(lag, bench, best))
        lines.append(_line(claim, ours, theirs, best, bar, bench))
    return lines


def other_way(lake: Lake) -> Lake:
    """Give the same lake, its tables read by Spark."""
    return replace(lake, settings=replace(lake.settings, read_path="spark"))


@dataclass(frozen=True)
class Evaluated:
    """A group of one epoch that was committed, and how its time divides."""

    epoch: Epoch
    seconds: dict[str, float]


def carried_out(
    lake: Lake, again_from: int | None = None, lane: str = FEED
) -> tuple[float, Evaluated]:
    """Plan the next group and carry it out as `drive.execute` does, timing each stage."""
    clock = [time.perf_counter()]
    wanted = lake.lane(lane)
    group = plan(lake, wanted, again_from=again_from)
    clock.append(time.perf_counter())
    chain, arrivals = chain_of(lake.store, lane), arrivals_of(lake.store)
    job = wanted.job(lake.store, lake.runner.slots, chain, group, arrivals)
    clock.append(time.perf_counter())
    answers = job.answers(lake.settings, lake.runner)
    clock.append(time.perf_counter())
    (epoch,) = job.commit(answers, {})
    clock.append(time.perf_counter())
    names = ("plan", "prepare", "job", "commits")
    seconds = dict(zip(names, [b - a for a, b in pairwise(clock)], strict=True))
    for name in IN_TASKS:
        seconds[name] = sum(answer.seconds.get(name, 0.0) for answer in answers)
    return clock[-1] - clock[0], Evaluated(epoch, seconds)


def evaluated(bench: Bench, lake: Lake) -> tuple[float, Evaluated]:
    """Evaluate all ticks as the lane's first epoch, under the next generation."""
    seconds, found = carried_out(lake, again_from=1)
    assert found.epoch.counts["accepted"] == bench.rows
    return seconds, found


def _check(bench: Bench) -> None:
    """Both read paths give the same rows, and as many events as one step over the ticks here."""
    hashes = []
    for lake in (bench.lake, other_way(bench.lake)):
        _, found = evaluated(bench, lake)
        chain = chain_of(lake.store, FEED)
        rows = {name: rows_of(lake, name, chain, [found.epoch]) for name in FOUND}
        hashes.append({name: content_hash(table, OF_THE_RUN) for name, table in rows.items()})
        assert rows["events"].num_rows == _events_here(bench)
        assert rows["stream_state"].num_rows == bench.streams
    assert hashes[0] == hashes[1], f"the read paths differ: {hashes}"


def _events_here(bench: Bench) -> int:
    state = FeedState.empty(FEED, AXES)
    outcome = step(state, bench.ticks, BorderIndex.build(bench.queries), deliveries=1)
    return len(outcome.found.type)


def _best_shuffle(bench: Bench) -> tuple[int, bool]:
    """Find the setting at which Spark's side is fastest: two rounds, the first warms the JVM."""
    before = _neighbours(bench).agg({"before": "count", "ts": "count"}).collect()[0]
    assert sorted(before) == [bench.rows - bench.streams, bench.rows]
    rounds = [{setting: lag(bench, setting)[0] for setting in SHUFFLES} for _ in range(2)]
    return min(SHUFFLES, key=lambda setting: min(tried[setting] for tried in rounds))


def lag(bench: Bench, setting: tuple[int, bool]) -> tuple[float, None]:
    """Let Spark find each tuple's neighbour, and give all to a sink that drops them."""
    partitions, adaptive = setting
    bench.spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    bench.spark.conf.set("spark.sql.adaptive.enabled", str(adaptive).lower())
    rows = _neighbours(bench)
    return clocked(lambda: rows.write.format("noop").mode("overwrite").save())


def _neighbours(bench: Bench) -> "DataFrame":
    from pyspark.sql import Window
    from pyspark.sql import functions as sql

    table = bench.spark.read.format("delta").load(str(bench.lake.store.folder(FEED)))
    by_stream = Window.partitionBy("stream_id").orderBy("ts")
    return table.select("stream_id", "ts", *AXES).withColumn(
        "before", sql.lag(AXES[0]).over(by_stream)
    )


def _line(
    claim: str,
    ours: Times[Evaluated],
    theirs: Times[None],
    setting: tuple[int, bool],
    bar: float,
    bench: Bench,
) -> Line:
    partitions, adaptive = setting
    counts = ours.middle.epoch.counts
    found = counts["entered"] + counts["left"]
    facts = (
        f"{ours} against {theirs}, {partitions} partitions{', AQE' if adaptive else ''}; "
        f"{divided(ours.middle.seconds)}; {bench.rows:,} ticks, {found:,} events"
    )
    return Line(f"{claim}, of lag()", ours.median / theirs.median, bar, facts=facts)
