"""Who finds crossings in S1's figures: ours and the rivals, each a function, one answer for all.

A contestant is built, and checked, before it is timed; its time is that from a path to its events.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.baselines.containment import Containment
from benchmarks.baselines.diff_rmq import DiffRmq
from benchmarks.baselines.is_list import IsList
from benchmarks.baselines.rs_list import RsList
from benchmarks.figures.figure import Point
from benchmarks.matches_made import SHORTEST, in_turns
from benchmarks.walks import indexed
from fencepost.crossings import expand, walk
from fencepost.crossings.choose import cross
from fencepost.crossings.columns import Events
from fencepost.crossings.path import Path
from fencepost.matches import Boxes, BoxIndex
from fencepost.queries import QuerySet

AUTO, WALK, PRINTED = "Fencepost", "Fencepost, the walk alone", "RS list as printed"
CEI, IS_LIST, CES = "DiffRMQ on CEI", "DiffRMQ on IS-list", "DiffRMQ on CES"
TWICE, KEPT = "looked up twice", "previous set kept"
TRIED = 20_000
"""Values of a path by which the best blocks of a containment encoding are found."""

Work = Callable[[], Events]


@dataclass(frozen=True)
class Contestant:
    """One way to find the crossings of a path, its room, and what it goes through on the way."""

    work: Work
    nbytes: int
    intermediate: int


@dataclass(frozen=True)
class Measured:
    """What a contestant took: seconds for all, bytes, S1's processing efficiency."""

    seconds: float
    nbytes: int
    efficiency: float


def ours(queries: QuerySet, path: Path) -> Contestant:
    """What Fencepost runs: the walk, or the difference where that is expected to be quicker."""
    index = indexed(queries)
    walked = walk(index, path, fast=True)
    return Contestant(
        lambda: cross(index, path, method="auto", fast=True, threads=1)[0].events,
        index.nbytes,
        expand.examined(walked),
    )


def the_walk(queries: QuerySet, path: Path, *, striped: bool = True) -> Contestant:
    """The border walk, whatever it costs; without stripes it cross-checks as S1's does."""
    index = indexed(queries, striped=striped)
    walked = walk(index, path, fast=True)
    return Contestant(
        lambda: walk(index, path, fast=True).events, index.nbytes, expand.examined(walked)
    )


def printed(boxes: Boxes, path: Path) -> Contestant:
    """S1's list of linked segments."""
    segments = RsList.build(boxes)
    segments.check()
    _, visited = segments.crossings(path)
    return Contestant(lambda: segments.crossings(path)[0], segments.nbytes, visited)


def on_is_list(boxes: Boxes, path: Path) -> dict[str, Contestant]:
    """DiffRMQ over interval skip lists, in both of its forms."""
    return _both_forms(IS_LIST, IsList.build(boxes), path)


def on_containment(
    name: str, boxes: Boxes, path: Path, cells: int, unit: float, levels: range
) -> dict[str, Contestant]:
    """DiffRMQ over the containment encoding whose blocks are the quickest of some sizes."""
    values = np.ascontiguousarray(path.values[:, :TRIED])
    tried = {
        str(k): Containment.build(boxes, cells=cells, unit=unit, levels=k)
        for k in levels
        if cells % (1 << k) == 0
    }
    times = in_turns({k: (lambda i=i: i.probe(values)) for k, i in tried.items()}, 2)  # type: ignore[misc]
    best = tried[min(times, key=lambda k: times[k])]
    best.check()
    return _both_forms(name, best, path)


def _both_forms(name: str, index: BoxIndex, path: Path) -> dict[str, Contestant]:
    matched = DiffRmq(index, kept=False).matched(path)
    last = index.probe(np.ascontiguousarray(path.values[:, path.last]))
    room = {TWICE: index.nbytes, KEPT: index.nbytes + last.ptr.nbytes + last.ids.nbytes}
    return {
        f"{name}, {form}": Contestant(
            partial(DiffRmq(index, form == KEPT).crossings, path),
            room[form],
            matched,
        )
        for form in (TWICE, KEPT)
    }


def compared(
    contestants: Mapping[str, Contestant], repeats: int, turn: float = SHORTEST
) -> dict[str, Measured]:
    """Hold all to one answer, then time them in turns of so many seconds at least."""
    answers = {name: each.work() for name, each in contestants.items()}
    sums = {name: _sum(events) for name, events in answers.items()}
    first = next(iter(sums))
    wrong = [name for name, value in sums.items() if value != sums[first]]
    assert not wrong, f"{', '.join(wrong)} and {first} find other events"
    found = len(answers[first].place)
    del answers
    times = in_turns({name: each.work for name, each in contestants.items()}, repeats, turn=turn)
    return {
        name: Measured(times[name], each.nbytes, found / max(each.intermediate, 1))
        for name, each in contestants.items()
    }


def points(x: float, tuples: int, measured: Mapping[str, Measured]) -> Iterator[Point]:
    """Panel a has S1's processing efficiency, b the time a tuple; of DiffRMQ the quicker form's."""
    for name, each in quicker(measured).items():
        yield Point("a", name, x, each.efficiency * 100)
        yield Point("b", name, x, each.seconds / tuples * 1e9)


def quicker(measured: Mapping[str, Measured]) -> dict[str, Measured]:
    """Keep the quicker form of each DiffRMQ, under the name without its form."""
    found: dict[str, Measured] = {}
    for name, each in measured.items():
        plain = name.removesuffix(f", {TWICE}").removesuffix(f", {KEPT}")
        if plain not in found or each.seconds < found[plain].seconds:
            found[plain] = each
    return found


def _sum(events: Events) -> int:
    """Add up a mixed number for each event: equal sums, equal sets."""
    with np.errstate(over="ignore"):
        mixed = events.place.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= events.query.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
        mixed += events.type.astype(np.uint64) * np.uint64(0x165667B19E3779F9)
        mixed *= (mixed >> np.uint64(29)) | np.uint64(1)
        return int(mixed.sum())
