"""Loading ten million rows of Parquet, against Spark reading and writing them unchecked.

Ours finds and hashes the file, takes a number, checks every cell, keeps from which row each tuple
came, parts the streams into buckets, and commits with evidence. Spark's side writes what it reads.
"""

import shutil
import time
from itertools import count, pairwise

from benchmarks.lake_made import Bench
from benchmarks.lake_times import clocked, divided, in_turns
from benchmarks.report import Line
from pipelines.lake.crash_points import on_point

BAR = 1.5
STAGES = {
    "ingest.planned": "find and plan",
    "ingest.quarantine": "read and write",
    "ingest.done": "commit",
}
"""By the place that ends it."""


def ingest(bench: Bench) -> list[Line]:
    """One file from a landing folder."""
    places = count()

    def ours() -> tuple[float, dict[str, float]]:
        settings = bench.settings(f"ingest-{next(places)}", bench.landing)
        store = bench.make(settings)
        passed: list[tuple[str, float]] = [("", time.perf_counter())]
        leave = on_point(lambda name: passed.append((name, time.perf_counter())))
        seconds, report = clocked(lambda: bench.take_in(store, settings))
        leave()
        assert (report.tuples, report.rows) == (bench.rows, bench.rows)
        shutil.rmtree(settings.root)
        return seconds, _stages(passed)

    def theirs() -> tuple[float, None]:
        place = bench.folder / f"written-{next(places)}"
        read = bench.spark.read.parquet(str(bench.landing))
        seconds, _ = clocked(lambda: read.write.format("delta").save(str(place)))
        assert bench.spark.read.format("delta").load(str(place)).count() == bench.rows
        shutil.rmtree(place)
        return seconds, None

    mine, other = in_turns(ours, theirs)
    facts = f"{mine} against {other}; {divided(mine.middle)}; {bench.rows:,} rows"
    claim = "ingest of Parquet, of Spark's read and write"
    return [Line(claim, mine.median / other.median, BAR, facts=facts)]


def _stages(passed: list[tuple[str, float]]) -> dict[str, float]:
    at = [passed[0][1], *(when for name, when in passed if name in STAGES)]
    return dict(zip(STAGES.values(), [b - a for a, b in pairwise(at)], strict=True))
