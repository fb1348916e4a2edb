"""`fencepost run` from nothing to the end of its process: what each second is.

The command is the one that is installed, in a process of its own, on a lake that has evaluated a
delivery before, so a state is there. What passes in it is written down with its time, by hooks.
"""

import json
import statistics
import subprocess
import sys
import time
from itertools import pairwise

from benchmarks.lake_made import FEED, Bench, land
from benchmarks.lake_project import environment, folder_of, project
from benchmarks.lake_times import divided
from benchmarks.report import Line
from pipelines.epochs.drive import Lake, advance
from pipelines.project.settings import Settings
from pipelines.workloads import PriceWalks

ROWS, STREAMS = 50_000, 5_000
BAR_SECONDS = 6.0
REPEATS = 5
STAGES = {
    "python": "Python and its modules",
    "ingest.planned": "find and plan",
    "wanted": "find and plan",
    "spark": "JVM and session",
    "ingest.quarantine": "first job: workers, read and write",
    "ingest.done": "commit",
    "epochs.planned": "plan",
    "epochs.evaluated": "second job: evaluate",
    "epochs.done": "commits",
    "run": "tidy",
    "end": "end",
}
"""By the place that ends it."""


def cold(bench: Bench) -> list[Line]:
    """50,000 new rows."""
    settings = project(bench, "cold")
    store = bench.make(settings)
    walks = PriceWalks(streams=STREAMS, length=(REPEATS + 2) * ROWS // STREAMS).tuples()
    runs = []
    for turn in range(REPEATS + 2):
        some = walks.take(_rows_of_turn(turn))
        land(settings.feeds[FEED].source / f"{turn}.parquet", some)
        if turn == 0:
            bench.take_in(store, settings)
            lake = Lake.of(store, settings, bench.runner)
            list(advance(lake, lake.lane(FEED)))
        else:
            runs.append(_run(settings))
    runs = sorted(runs[1:], key=lambda run: run[0])
    seconds, spent = runs[len(runs) // 2]
    times = [run[0] for run in runs]
    facts = (
        f"{statistics.median(times):.3g} s ({min(times):.3g}–{max(times):.3g}); {divided(spent)}; "
        f"{ROWS:,} rows of {STREAMS:,} streams"
    )
    claim = f"`fencepost run` with {ROWS:,} new rows, of {BAR_SECONDS:g} s"
    return [Line(claim, seconds / BAR_SECONDS, 1.0, facts=facts)]


def _rows_of_turn(turn: int) -> slice:
    return slice(turn * ROWS, (turn + 1) * ROWS)


def _run(settings: Settings) -> tuple[float, dict[str, float]]:
    """Run the command; give its seconds, and how they divide."""
    folder = folder_of(settings)
    stamps = folder / "stamps.json"
    begin = time.time()
    subprocess.run(
        [sys.executable, "-m", "benchmarks.lake_stamped", str(stamps), "run"],
        cwd=folder,
        env=environment(),
        check=True,
        stdout=subprocess.DEVNULL,
    )
    end = time.time()
    passed = [(name, at) for name, at in json.loads(stamps.read_text()) if name in STAGES]
    spent: dict[str, float] = {}
    for (_, before), (name, at) in pairwise([("", begin), *passed, ("end", end)]):
        spent[STAGES[name]] = spent.get(STAGES[name], 0.0) + at - before
    return end - begin, spent
