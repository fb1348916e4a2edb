"""Boxes and points for the indexes of `fencepost/matches`: small ones drawn, crowds of them seeded.

Law: bounds and points come from one coarse grid, so that points are on borders, one double below
and one above them, all the time; a test checks that they are.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import nextafter

import numpy as np
from hypothesis import strategies as st

from fencepost.matches import Boxes
from fencepost.tuples import Doubles
from tests.support.stories.strategies import several

INF = np.inf
MOST = float(np.finfo(np.float64).max)
LEAST = 5e-324

GRIDS: Mapping[str, tuple[float, ...]] = {
    "integers": tuple(float(n) for n in range(-3, 9)),
    "tenths": tuple(n / 10 for n in range(-4, 8)),
    "quarters": tuple(1000 + n / 4 for n in range(12)),
    "huge": (-MOST, -1e300, -1e150, -1.0, 0.0, 1.0, 1e150, 1e300, MOST),
    "tiny": (-1e-300, -3 * LEAST, -LEAST, 0.0, LEAST, 2 * LEAST, 3 * LEAST, 1e-300),
    "far off": tuple(1e15 + n / 8 for n in range(8)),
}
OUTSIDE = (-MOST, -1e17, -50.25, 50.25, 1e17, MOST)


@dataclass(frozen=True)
class Given:
    """Boxes, and the points to probe."""

    boxes: Boxes
    points: Doubles

    def __repr__(self) -> str:
        """Show the bounds box by box: Hypothesis prints it of what fails."""
        bounds = list(zip(self.boxes.lo.T.tolist(), self.boxes.hi.T.tolist(), strict=True))
        return f"Given(boxes={bounds}, points={self.points.T.tolist()})"


def after(value: float) -> float:
    """The next larger double."""
    return nextafter(value, INF)


@cache
def spans(grid: str) -> tuple[tuple[float, float], ...]:
    """Every range between values of the grid; some without an end, and some of one double."""
    values = GRIDS[grid]
    closed = [(lo, hi) for lo in values for hi in values if lo < hi]
    open_ended = [(-INF, v) for v in values] + [(v, INF) for v in values]
    single = [(v, after(v)) for v in values if v < MOST]
    return (*closed, *open_ended, *single, *[(-INF, INF)] * (len(closed) // 4))


@cache
def places(grid: str) -> tuple[float, ...]:
    """Where a point may be on an axis: mostly on the grid, else beside it, between, far off."""
    values = GRIDS[grid]
    beside = [nextafter(v, way) for v in values for way in (-INF, INF)]
    halves = [a / 2 + b / 2 for a, b in pairwise(values)]
    return (*values * 6, -0.0, *(v for v in (*beside, *halves) if np.isfinite(v)), *OUTSIDE)


def laid(rows: list[tuple[tuple[float, float], ...]], axes: int) -> Boxes:
    """Boxes of rows of (lo, hi), one pair an axis."""
    bounds = np.array(rows, np.float64).reshape(len(rows), axes, 2)
    return Boxes.of(bounds[:, :, 0].T, bounds[:, :, 1].T)


@cache
def given_of(axes: int) -> st.SearchStrategy[Given]:
    """Up to 20 boxes and 12 points on one grid, some boxes twice, or one over everything."""

    def of_grid(grid: str) -> st.SearchStrategy[Given]:
        box = st.tuples(*[st.sampled_from(spans(grid))] * axes)
        point = st.tuples(*[st.sampled_from(places(grid))] * axes)
        everything = ((-INF, INF),) * axes
        extra = st.sampled_from(("", "", "twice", "over everything"))

        def put(drawn: tuple[tuple[tuple[tuple[float, float], ...], ...], object, str]) -> Given:
            boxes, points, more = drawn
            rows = [*boxes]
            rows += [*boxes[:5]] if more == "twice" else []
            rows += [everything] if more == "over everything" else []
            return Given(laid(rows, axes), np.array(points, np.float64).reshape(-1, axes).T.copy())

        return st.tuples(several(box, 0, 20), several(point, 0, 12), extra).map(put)

    return st.sampled_from(tuple(GRIDS)).flatmap(of_grid)


def by_hand(given: Given) -> Iterator[list[int]]:
    """Which boxes hold each point, literally by the law and without arrays."""
    bounds = list(zip(given.boxes.lo.T.tolist(), given.boxes.hi.T.tolist(), strict=True))
    for point in given.points.T.tolist():
        yield [
            box
            for box, ends in enumerate(bounds)
            if all(lo <= v < hi for lo, hi, v in zip(*ends, point, strict=True))
        ]


# Crowds: what is drawn is too small for a second level of a tree, a second block or a full cell.

Shaped = Callable[[np.random.Generator, int, int], tuple[Doubles, Doubles]]


def _small(rng: np.random.Generator, axes: int, many: int) -> tuple[Doubles, Doubles]:
    lo = rng.integers(0, 64, (axes, many)) / 4
    return lo, lo + rng.integers(1, 4 + 8 * (axes > 2), (axes, many))


def _wide(rng: np.random.Generator, axes: int, many: int) -> tuple[Doubles, Doubles]:
    ends = rng.integers(-200, 200, (2, axes, many)).astype(np.float64)
    return ends.min(axis=0), ends.max(axis=0) + 1


def _predicates(rng: np.random.Generator, axes: int, many: int) -> tuple[Doubles, Doubles]:
    """S3's: on each axis open to the left, to the right, closed, or none, constants in [0, 1]."""
    ends = np.sort(rng.integers(0, 51, (2, axes, many)) / 50, axis=0)
    kind = rng.integers(0, 4, (axes, many))
    lo = np.where((kind == 0) | (kind == 3), -INF, ends[0])
    hi = np.where((kind == 1) | (kind == 3), INF, ends[1])
    return lo, np.where(lo < hi, hi, np.nextafter(lo, INF))


def _clumped(rng: np.random.Generator, axes: int, many: int) -> tuple[Doubles, Doubles]:
    """Nine of ten in one small place, the rest anywhere."""
    lo, hi = _small(rng, axes, many)
    there = rng.random(many) < 0.9
    return np.where(there, lo / 64, lo * 1000), np.where(there, hi / 64, lo * 1000 + hi)


def _nested(_rng: np.random.Generator, axes: int, many: int) -> tuple[Doubles, Doubles]:
    depth = np.broadcast_to(np.arange(many) / 8.0, (axes, many))
    return depth, 2 * many / 8.0 - depth


def _identical(rng: np.random.Generator, axes: int, many: int) -> tuple[Doubles, Doubles]:
    """Three boxes, each very often."""
    which = rng.integers(0, 3, many)
    lo = np.broadcast_to(which * 0.5, (axes, many))
    return lo, lo + 1.0


def _single(rng: np.random.Generator, axes: int, many: int) -> tuple[Doubles, Doubles]:
    """Boxes of one double on each axis."""
    lo = rng.integers(0, 3 if axes > 2 else 12, (axes, many)).astype(np.float64) * 1e-3
    return lo, np.asarray(np.nextafter(lo, INF), np.float64)


def _widths(rng: np.random.Generator, axes: int, many: int) -> tuple[Doubles, Doubles]:
    """Widths over 20 powers of two, and a few boxes without any bound."""
    lo = rng.integers(-(2**20), 2**20, (axes, many)).astype(np.float64)
    hi = lo + np.exp2(rng.integers(0, 22, many).astype(np.float64))
    free = rng.random(many) < 0.01
    return np.where(free, -INF, lo), np.where(free, INF, hi)


CROWDS: Mapping[str, Shaped] = {
    "small boxes": _small,
    "wide boxes": _wide,
    "predicates": _predicates,
    "a clump": _clumped,
    "nested": _nested,
    "three boxes often": _identical,
    "single doubles": _single,
    "widths of all sizes": _widths,
}


@cache
def crowd(shape: str, axes: int, many: int = 1500, asked: int = 300, seed: int = 7) -> Given:
    """`many` boxes of a shape, and points: bounds of theirs, some one double off, a few outside."""
    rng = np.random.default_rng((seed, axes, *shape.encode()))
    boxes = Boxes.of(*CROWDS[shape](rng, axes, many))
    near = rng.integers(0, many, asked)  # points near boxes, for on many axes others never hit
    lo, hi = boxes.lo[:, near], boxes.hi[:, near]
    least, most = (ends[:, None] for ends in boxes.extent())
    lo, hi = np.maximum(lo, least), np.minimum(hi, most)
    points = np.where(rng.random((axes, asked)) < 0.5, lo, lo / 2 + hi / 2)
    points = np.where(rng.random((axes, asked)) < 0.1, hi, points)
    off = rng.integers(-4, 5, (axes, asked))
    points = np.where(off == -4, np.nextafter(points, -INF), points)
    points = np.where(off == 4, np.nextafter(points, INF), points)
    points[:, :4] = (least - 1e6, most + 1e6)[int(rng.integers(2))]
    return Given(boxes, np.ascontiguousarray(points))
