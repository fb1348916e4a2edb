"""What no paper has: how our own cost grows with tuples, crossings, age and machines."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.figures.figure import Curves, Figure, Panel, Point, Verdict
from benchmarks.figures.s1_bands import N
from benchmarks.matches_made import Scale, in_turns
from benchmarks.walks import assert_right, bands, indexed, walks
from fencepost.crossings import BorderIndex, walk
from fencepost.crossings.path import Path as Steps

if TYPE_CHECKING:
    from benchmarks.cluster import Session

OURS = "Fencepost"
LENGTHS = (50, 200, 800, 3_200)
STREAMS = 1_000
LEVELS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
"""Fluctuations: of 100 K bands a step passes 0.02 to 200 borders."""
WIDE = 1e-2
"""Of the domain: wider than any step, so that none leaps over a query."""
RUNS, TENTHS = 300, 10
AGED = 1.15
"""By how much an old lake's epoch may be dearer than a young one's."""
ROWS = 2_000_000
THREADS, WORKERS = "threads of one process", "workers of one core"


def growth(scale: Scale) -> Iterator[Point]:
    """The time a tuple: as tuples become more, then as they cross more borders each."""
    queries = bands(scale.of(N, 2_000))
    index = indexed(queries)
    for length in scale.some(LENGTHS, 2):
        path = walks(streams=scale.of(STREAMS, 20), length=length)
        yield Point("a", OURS, len(path), _took(index, path, scale))
    index = indexed(bands(scale.of(N, 2_000), WIDE))
    for level in scale.some(LEVELS, 2):
        path = walks(streams=scale.of(STREAMS, 20), length=200, fl=level)
        crossings = len(walk(index, path, fast=True).events.place) / len(path)
        yield Point("b", OURS, round(crossings, 4), _took(index, path, scale))


def _took(index: BorderIndex, path: Steps, scale: Scale) -> float:
    assert_right(walk(index, path, fast=True), 10)
    works = {OURS: lambda: walk(index, path, fast=True).events}
    return in_turns(works, scale.repeats)[OURS] / len(path) * 1e9


def age(scale: Scale) -> Iterator[Point]:
    """The processor's time of a run: two deliveries and an epoch of three lanes, as a lake ages."""
    from tests.support.lakes.builder import SECOND
    from tests.support.lakes.growing_lake import Ageing, grown, tenth

    runs = scale.of(RUNS, 20)
    with tempfile.TemporaryDirectory(prefix="fencepost-age-") as folder:
        figures = list(grown(Ageing(Path(folder), keep_history=60 * SECOND), runs))
    for k in range(TENTHS):
        yield Point("a", OURS, runs // TENTHS * (k + 1), tenth(figures, k, "cpu") * 1e3)


def machines(scale: Scale) -> Iterator[Point]:
    """An epoch from tables to tables: by one thread and two, by one worker and two."""
    from benchmarks.cluster import session
    from benchmarks.lake_made import Bench
    from tests.cluster.standalone import running

    rows = scale.of(ROWS, 50_000)
    with tempfile.TemporaryDirectory(prefix="fencepost-machines-") as name:
        folder = Path(name)
        landing = str(Bench(folder, rows).landing)
        for cores in (1, 2):
            here = [(str(folder / f"threads-{cores}" / "lake"), landing)]
            with session(here, rows, threads=cores) as own:
                yield Point("a", THREADS, cores, rows / _least(own, scale) / 1e6)
        for cores in (1, 2):
            (folder / f"cluster-{cores}").mkdir()
            there = [(str(folder / f"workers-{cores}" / "lake"), landing)]
            with (
                running(folder / f"cluster-{cores}", workers=cores) as cluster,
                session(there, rows, cluster) as others,
            ):
                yield Point("a", WORKERS, cores, rows / _least(others, scale) / 1e6)


def _least(own: "Session", scale: Scale) -> float:
    return min(own.asked("evaluate")["seconds"] for _ in range(1 + scale.repeats))


def judge_growth(drawn: Curves) -> Verdict:
    """Level in the tuples; in the crossings at most linear."""
    by_tuples, by_crossings = drawn["a"][OURS], drawn["b"][OURS]
    level = max(y for _, y in by_tuples) / min(y for _, y in by_tuples)
    rise = by_crossings[-1][1] / by_crossings[0][1]
    more = by_crossings[-1][0] / max(by_crossings[0][0], 1e-9)
    return Verdict(
        level <= 2 and rise <= more,
        f"a tuple's time is within {level:.2f} × from {by_tuples[0][0]:,.0f} to "
        f"{by_tuples[-1][0]:,.0f} tuples; with {more:,.0f} × the crossings it takes {rise:.1f} ×",
        "A tuple that crosses nothing costs a comparison or two; one that crosses much costs what "
        "its events take to write.",
    )


def judge_age(drawn: Curves) -> Verdict:
    """The last tenth costs about what the second did; in the first, caches fill."""
    points = drawn["a"][OURS]
    ratio = points[-1][1] / points[min(1, len(points) - 1)][1]
    return Verdict(
        ratio <= AGED,
        f"the last of {points[-1][0]:,.0f} epochs a lane cost {ratio:.2f} × those of the second "
        f"tenth, {points[-1][1]:.0f} ms of the processor for three lanes",
        "Logs are cut by checkpoints, small files put together and states written anew by the way.",
    )


def judge_machines(drawn: Curves) -> Verdict:
    """Shown: what the second core and the second worker bring."""
    gain = {name: points[-1][1] / points[0][1] for name, points in drawn["a"].items()}
    same = dict(drawn["a"][WORKERS])[2] / dict(drawn["a"][THREADS])[2]
    return Verdict(
        None,
        f"a second thread brings {gain[THREADS]:.2f} ×, a second worker {gain[WORKERS]:.2f} ×; "
        f"two workers have {same:.2f} × the rate of two threads",
        "All of them share one machine here, its memory and its disk: workers on machines of their "
        "own share neither, but have a network between them and their store.",
    )


FIGURES = (
    Figure(
        "ours-growth",
        "Growth",
        "Tuples, and crossings a tuple",
        "A step costs a look at its tuple, and what it crosses (100 K bands).",
        (
            Panel("a", "tuples", "time a tuple, ns", "x"),
            Panel("b", "crossings a tuple", "time a tuple, ns", "xy"),
        ),
        growth,
        judge_growth,
        source="We say",
    ),
    Figure(
        "ours-age",
        "Age",
        "A lake that grows old",
        "An epoch costs what it costs, however many came before.",
        (Panel("a", "epochs of each of three lanes", "processor's time a run, ms"),),
        age,
        judge_age,
        source="We say",
    ),
    Figure(
        "ours-machines",
        "Machines",
        "An epoch on one core and two, one worker and two",
        "Streams are shared out, so that a second core takes nearly half of the work.",
        (Panel("a", "cores", "tuples a second, millions"),),
        machines,
        judge_machines,
        source="We say",
    ),
)
