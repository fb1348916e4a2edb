"""What the benchmarks of matches have in common: queries, points, checked answers, fair times.

S2's queries are rectangles and intervals on a grid of integers; S3's are conjunctions of random
conditions (§7.1). Rivals are timed in turns, so that a slow moment of the machine is shared.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import TypeVar

import numpy as np

from benchmarks.baselines.guttman import Guttman
from benchmarks.baselines.ibs_tree import IbsTree
from benchmarks.baselines.is_list import IsList
from fencepost.matches import Boxes, BoxIndex, ProbeResult, named
from fencepost.matches.auto import choose
from fencepost.matches.index import Parameter
from fencepost.matches.scan import Scan
from fencepost.tuples import Doubles

RIVALS: Mapping[str, type[BoxIndex]] = {
    "guttman": Guttman,
    "ibs_tree": IbsTree,
    "is_list": IsList,
}
GRID = (300.0, 200.0)  # S2: Rx Ry = 60,000
CROWD = sqrt(0.1)  # the side of a tenth of the region
SHORTEST = 0.002  # seconds; shorter work is repeated within a measurement
SPENT = 0.5  # seconds for a race, unless more are needed

Size = TypeVar("Size")
Work = Callable[[], object]
Clock = Callable[[], float]


@dataclass(frozen=True)
class Scale:
    """How much to measure: everything, or just enough to see that every line works."""

    quick: bool = False

    def of(self, full: int, quick: int) -> int:
        """A size."""
        return quick if self.quick else full

    def some(self, full: tuple[Size, ...], quick: int = 1) -> tuple[Size, ...]:
        """The sizes of a curve."""
        return full[:quick] if self.quick else full

    @property
    def repeats(self) -> int:
        """How often each rival is timed, at least."""
        return 1 if self.quick else 3


def rectangles(count: int, width: int, *, crowded: bool, seed: int = 1) -> Boxes:
    """S2's queries: corners on the grid, widths uniform in 1..W; 90% of them in 10% if crowded."""
    draw = np.random.default_rng(seed)
    size = np.array(GRID)[:, None]
    lo = np.floor(_corners(draw, count, 2, 0.9 if crowded else 0.0, CROWD) * size)
    hi = np.minimum(lo + draw.integers(1, width + 1, (2, count)), size)
    return Boxes.of(lo, hi)


def places(count: int, *, crowded: bool, seed: int = 2) -> Doubles:
    """Points of the same region, spread as the queries are; no integers."""
    share = 0.9 if crowded else 0.0
    return _corners(np.random.default_rng(seed), count, 2, share, CROWD) * np.array(GRID)[:, None]


def intervals(count: int, reach: int, width: int, seed: int = 1) -> Boxes:
    """S2's intervals: begins uniform on 0..R − 1, lengths uniform in 1..W, all within the range."""
    draw = np.random.default_rng(seed)
    lo = draw.integers(0, reach - 1, (1, count)).astype(np.float64)
    return Boxes.of(lo, np.minimum(lo + draw.integers(1, width + 1, (1, count)), reach - 1.0))


def conjunctions(count: int, axes: int, share: float = 1.0, seed: int = 1) -> Boxes:
    """S3's queries: conditions on a share of the attributes, which ones is drawn (§7.1).

    A condition is open to the left, open to the right, or closed between two constants, all three
    as likely; constants are uniform; each bound is inclusive or exclusive, equally likely.
    """
    draw = np.random.default_rng(seed)
    one, other = draw.random((2, axes, count))
    kind = draw.integers(0, 3, (axes, count))
    lo = np.where(kind == 2, np.minimum(one, other), one)
    hi = np.where(kind == 2, np.maximum(one, other), one)
    strict, loose = draw.random((2, axes, count)) < 0.5
    lo, hi = np.where(strict, np.nextafter(lo, 2), lo), np.where(loose, np.nextafter(hi, 2), hi)
    hi = np.maximum(hi, np.nextafter(lo, 2))
    lo[kind == 0], hi[kind == 1] = -np.inf, np.inf
    if share < 1:
        chosen = draw.random((axes, count)).argsort(axis=0) < round(share * axes)
        lo[~chosen], hi[~chosen] = -np.inf, np.inf
    return Boxes.of(lo, hi)


def elements(count: int, axes: int, crowded: float = 0.0, seed: int = 2) -> Doubles:
    """S3's data: uniform in [0, 1), a share of it within a tenth of the range of each attribute."""
    return _corners(np.random.default_rng(seed), count, axes, crowded, 0.1, 0.45)


def cubes(count: int, axes: int, width: float, seed: int = 1) -> Boxes:
    """Boxes of up to twice the width on each axis, anywhere in the unit cube."""
    draw = np.random.default_rng(seed)
    lo = draw.random((axes, count))
    return Boxes.of(lo, lo + np.maximum(draw.random((axes, count)) * 2 * width, 1e-12))


def _corners(
    draw: np.random.Generator, count: int, axes: int, share: float, side: float, at: float = 0.0
) -> Doubles:
    corners = draw.random((axes, count))
    crowded = draw.random(count) < share
    corners[:, crowded] = at + corners[:, crowded] * side
    return corners


def laid(name: str, boxes: Boxes, **parameters: Parameter) -> BoxIndex:
    """Build and check an index or a rival."""
    index = (RIVALS.get(name) or named(name, boxes.axes)).build(boxes, **parameters)
    index.check()
    return index


def automatic(boxes: Boxes, batch: int) -> BoxIndex:
    """Build what `auto` picks for batches of this size."""
    choice = choose(boxes, batch)
    return laid(choice.name, boxes, **choice.parameters)


def assert_equal(indexes: Mapping[str, BoxIndex], points: Doubles, sample: int = 20) -> ProbeResult:
    """Compare all indexes on all points, and the first with the scan on some of them."""
    first, *others = indexes.items()
    found = first[1].probe(points)
    boxes = first[1].boxes
    marks = np.random.default_rng(0).integers(1, 1 << 62, len(boxes), np.uint64)
    sums = _sums(found, marks)
    for name, index in others:
        theirs = index.probe(points)
        assert np.array_equal(found.ptr, theirs.ptr), f"{name} and {first[0]} find other numbers"
        assert np.array_equal(sums, _sums(theirs, marks)), f"{name} and {first[0]} find others"
    rows = np.unique(np.linspace(0, points.shape[1] - 1, sample).astype(np.int64))
    truth = Scan(boxes).probe(np.ascontiguousarray(points[:, rows]))
    assert np.array_equal(_sums(truth, marks), sums[rows]), f"{first[0]} and the scan find others"
    return found


def _sums(found: ProbeResult, marks: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> np.ndarray:
    """Add up a random number for each result, point by point: equal sums, equal sets."""
    sums = np.zeros(len(found.ids) + 1, np.uint64)
    np.cumsum(marks[found.ids], out=sums[1:])
    return np.diff(sums[found.ptr])


def in_turns(
    works: Mapping[str, Work],
    repeats: int,
    clock: Clock = time.thread_time,
    turn: float = SHORTEST,
) -> dict[str, float]:
    """Time the works in turns, after one round unseen: the least seconds of each.

    There are `repeats` rounds, more where they are short; a turn has `turn` seconds or more. The
    least, and by the processor's time of this thread, since other load on the machine only adds.
    """
    often, round_ = {}, 0.0
    for name, work in works.items():
        took = _seconds(work, 1, clock)
        often[name] = max(1, int(turn / max(took, 1e-7)))
        round_ += took * often[name]
    rounds = int(np.clip(SPENT / round_, repeats, 5 * repeats)) if repeats > 1 else 1
    times = {name: float("inf") for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name] = min(times[name], _seconds(work, often[name], clock))
    return times


def _seconds(work: Work, often: int, clock: Clock) -> float:
    begin = clock()
    for _ in range(often):
        work()
    return (clock() - begin) / often


def probing(index: BoxIndex, points: Doubles) -> Work:
    """One probe with all points."""
    return lambda: index.probe(points)


def one_by_one(index: BoxIndex, points: Doubles) -> Work:
    """A probe a point."""
    alone = [np.ascontiguousarray(points[:, [k]]) for k in range(points.shape[1])]

    def work() -> None:
        for point in alone:
            index.probe(point)

    return work


def span(seconds: float) -> str:
    """A time in a readable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
