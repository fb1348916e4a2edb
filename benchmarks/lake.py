"""The lake's benchmarks: `make bench-lake`, or `ARGS="micro ingest"` for some of them.

Both sides run in one Spark session, in turns; warm-ups are discarded, answers checked before times
count, and figures are medians of five, least and most beside them. With `--write` they go to
docs/performance/raw/lake.md, a summary to docs/performance-lake.md; `--rows N` takes another number
of ticks than ten million.
"""

import argparse
import os
import platform
import sys
import tempfile
from pathlib import Path

from benchmarks import (
    lake_cold,
    lake_csv,
    lake_epoch,
    lake_events,
    lake_ingest,
    lake_memory,
    lake_micro,
    lake_rules,
    lake_views,
    lake_watch,
    lake_workloads,
)
from benchmarks.lake_made import Bench
from benchmarks.pages import PAGES
from benchmarks.report import Line, show

SECTIONS = {
    "memory": ("Memory", lake_memory.memory),
    "ingest": ("Ingest", lake_ingest.ingest),
    "csv": ("CSV", lake_csv.csv),
    "epoch": ("An epoch of ticks, from the table to every table committed", lake_epoch.epoch),
    "dense": ("An epoch with more events", lake_workloads.dense),
    "squares": ("An epoch of two axes", lake_workloads.squares),
    "late": ("An epoch of ticks out of order", lake_workloads.late),
    "partitions": ("Partitions in one backfill", lake_workloads.partitions),
    "events": ("An epoch with many events", lake_events.events),
    "micro": ("A micro-batch", lake_micro.micro),
    "batches": ("Micro-batches, one after the other", lake_micro.batches),
    "rules": ("A million rules", lake_rules.rules),
    "views": ("Views over twenty million events", lake_views.views),
    "watch": ("Watching", lake_watch.watch),
    "cold": ("A run from a cold start", lake_cold.cold),
}

INTRODUCTION = """\
# Performance of the lake: all lines

Written by `make bench-lake ARGS='--write'`; do not edit. Both sides ran in turns in one Spark
session, local[{cores}] with C2; warm-ups are discarded. A time is the median of five, between the
least and the most: {about}.

Before times count, both read paths must give rows of the same hash, and as many events as one step
of the engine over the ticks; ingest and the micro-batch are held to their numbers of rows.

How a time of ours divides stands behind it, in seconds: `job` is the time of the Spark job, in
which tasks `read`, `sort`, `evaluate` and `write`; theirs are added up over all cores.
"""


def main(arguments: list[str]) -> int:
    """Run the requested sections; 1 if a bar is missed."""
    options = _parser().parse_args(arguments)
    about = f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}"
    print(about)
    sections: list[tuple[str, str, list[Line]]] = []
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as folder:
        bench = Bench(Path(folder), options.rows)
        for name in options.sections or SECTIONS:
            title, section = SECTIONS[name]
            sections.append((name, title, section(bench)))
            show(*sections[-1][1:])
    if options.write:
        introduction = INTRODUCTION.format(about=about, cores=os.cpu_count())
        PAGES["lake"].write(introduction, sections, [title for title, _ in SECTIONS.values()])
    met = [line.met for _, _, lines in sections for line in lines if line.met is not None]
    print(f"\n{sum(met)} of {len(met)} bars met")
    return 0 if all(met) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lake", description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], metavar="SECTION")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--write", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
