"""One epoch of ten million ticks, by both read paths, against Spark's own `lag()` over them.

`lag()` finds each tuple's neighbour and nothing else, and writes it nowhere: the least that a job
in plain Spark would have to do. Ours goes from the table `ticks` to every table committed.
"""

import time
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from benchmarks.lake_decode import decoded
from benchmarks.lake_made import FEED, Bench
from benchmarks.lake_times import Times, clocked, divided, in_turns
from benchmarks.report import Line
from fencepost.crossings import BorderIndex
from fencepost.engine import step
from fencepost.order import AS_THEY_COME
from fencepost.row_hashes import content_hash
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
FILES_BAR, BY_SPARK_BAR, DECODE_BAR = 0.15, 2.0, 5.0


def epoch(bench: Bench) -> list[Line]:
    """Workers read the data files of the Delta snapshot; or Spark reads the tables for them."""
    check(bench)
    best = best_shuffle(bench)
    ways = (
        ("one epoch, files read by workers", bench.lake, FILES_BAR),
        ("one epoch through mapInArrow", other_way(bench.lake), BY_SPARK_BAR),
    )
    lines = []
    for claim, lake, bar in ways:
        ours, theirs = in_turns(partial(evaluated, bench, lake), partial(lag, bench, best))
        lines.append(line_of(claim, ours, theirs, best, bar, bench))
        if lake is bench.lake:
            lines.append(_beside_decoding(bench))
    return lines


def _beside_decoding(bench: Bench) -> Line:
    """Tasks of the same shares, as many at a time, that only decode the columns that ours read."""
    _, found = evaluated(bench, bench.lake)

    def decode() -> tuple[float, float]:
        seconds, spent = clocked(lambda: bench.runner.run(decoded, found.tasks))
        return seconds, sum(map(float, spent))

    ours, theirs = in_turns(partial(evaluated, bench, bench.lake), decode)
    facts = f"{ours} against {theirs}, in which {theirs.middle:.2f} on all cores for decoding"
    claim = "one epoch, of tasks that only decode its columns by PyArrow"
    return Line(claim, ours.median / theirs.median, DECODE_BAR, facts=facts)


def other_way(lake: Lake) -> Lake:
    """Give the same lake, its tables read by Spark."""
    return replace(lake, settings=replace(lake.settings, read_path="spark"))


@dataclass(frozen=True)
class Evaluated:
    """A group of epochs that was committed, its tasks, and how its time divides."""

    epochs: tuple[Epoch, ...]
    tasks: tuple[str, ...]
    seconds: dict[str, float]

    @property
    def epoch(self) -> Epoch:
        """The only one."""
        (epoch,) = self.epochs
        return epoch

    def count(self, *names: str) -> int:
        """Add some counts of all epochs up."""
        return sum(epoch.counts[name] for epoch in self.epochs for name in names)


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
    epochs = tuple(job.commit(answers, {}))
    clock.append(time.perf_counter())
    names = ("plan", "prepare", "job", "commits")
    seconds = dict(zip(names, [b - a for a, b in pairwise(clock)], strict=True))
    for name in IN_TASKS:
        seconds[name] = sum(answer.seconds.get(name, 0.0) for answer in answers)
    tasks = tuple(share.to_json() for share in job.shares())
    return clock[-1] - clock[0], Evaluated(epochs, tasks, seconds)


def evaluated(bench: Bench, lake: Lake) -> tuple[float, Evaluated]:
    """Evaluate all ticks from the lane's first epoch on, under the next generation."""
    seconds, found = carried_out(lake, again_from=1)
    assert found.count("accepted") + found.epochs[-1].counts["waiting"] == bench.rows
    return seconds, found


def check(bench: Bench) -> None:
    """Both read paths give the same rows, and as many events as one step over the ticks here."""
    hashes = []
    for lake in (bench.lake, other_way(bench.lake)):
        _, found = evaluated(bench, lake)
        chain = chain_of(lake.store, FEED)
        rows = {name: rows_of(lake, name, chain, [found.epoch]) for name in FOUND}
        hashes.append({name: content_hash(table, OF_THE_RUN) for name, table in rows.items()})
        assert rows["events"].num_rows == events_here(bench)
        assert rows["stream_state"].num_rows == bench.streams
    assert hashes[0] == hashes[1], f"the read paths differ: {hashes}"


def events_here(bench: Bench) -> int:
    """Count the events of one step over all ticks."""
    state, index = FeedState.empty(FEED, bench.axes), BorderIndex.build(bench.queries)
    rules = replace(AS_THEY_COME, lateness=bench.lateness)
    return len(step(state, bench.ticks, index, deliveries=1, rules=rules).found.type)


def best_shuffle(bench: Bench) -> tuple[int, bool]:
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
    return table.select("stream_id", "ts", *bench.axes).withColumn(
        "before", sql.lag(bench.axes[0]).over(by_stream)
    )


def line_of(
    claim: str,
    ours: Times[Evaluated],
    theirs: Times[None],
    setting: tuple[int, bool],
    bar: float,
    bench: Bench,
) -> Line:
    """Compare epochs with `lag()`, and say how their time divides."""
    partitions, adaptive = setting
    found = ours.middle.count("entered", "left")
    facts = (
        f"{ours} against {theirs}, {partitions} partitions{', AQE' if adaptive else ''}; "
        f"{divided(ours.middle.seconds)}; {bench.rows:,} ticks, {found:,} events"
    )
    return Line(f"{claim}, of lag()", ours.median / theirs.median, bar, facts=facts)
