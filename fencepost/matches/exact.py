"""Regions that are no boxes: the index holds their bounding boxes, and this tests what it finds.

Law: a region is inside its box, and a test is a function of the point alone, the same arithmetic
wherever it is made.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fencepost.doubles import next_double
from fencepost.errors import InputError
from fencepost.matches.boxes import Boxes
from fencepost.ragged import members
from fencepost.shapes.holds import holds
from fencepost.shapes.prepare import Prepared
from fencepost.tuples import Bools, Doubles, Int32s, Int64s

OPS = (np.less, np.less_equal, np.equal)
"""What a test of two axes may be, by its code."""

SHORTEST, FARTHEST = 1e-150, 1e150  # an edge, a coordinate: products of two are doubles still


class Exact(Protocol):
    """The refinement of candidates."""

    @property
    def asks(self) -> Bools:
        """Of each box, whether it is more than its region."""

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""

    def holds(self, points: Doubles, point: Int64s, box: Int32s) -> Bools:
        """Say, pair by pair, whether the region of a box with tests holds a point of the box."""


@dataclass(frozen=True, eq=False)
class AxisTests:
    """Boxes with comparisons of one axis with another, as S3's x > y: all of a box's must hold.

    Those of box b are tests[ptr[b]:ptr[b + 1]]: left axis, code of the operator, right axis.
    """

    ptr: Int64s
    tests: Int32s  # [test, 3]

    @property
    def asks(self) -> Bools:
        """Of each box, whether it has tests."""
        has: Bools = np.diff(self.ptr) > 0
        return has

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.ptr.nbytes + self.tests.nbytes

    def some(self, boxes: Int64s) -> "AxisTests":
        """Give the tests of some boxes."""
        ptr, place = members(self.ptr, boxes)
        return AxisTests(ptr, self.tests[place])

    def holds(self, points: Doubles, point: Int64s, box: Int32s) -> Bools:
        """Compare; O(tests of each pair)."""
        inside = np.ones(len(box), np.bool_)
        at, end = self.ptr[box], self.ptr[box.astype(np.int64) + 1]
        left = np.flatnonzero(at < end)
        while len(left):
            one, code, other = self.tests[at[left]].T
            a, b = points[one, point[left]], points[other, point[left]]
            inside[left] = np.choose(code, [op(a, b) for op in OPS])
            at[left] += 1
            left = left[inside[left] & (at[left] < end[left])]
        return inside


@dataclass(frozen=True, eq=False)
class ShapeTests:
    """Boxes of queries with regions: on two of the axes, a point must be in the query's shape."""

    shapes: Prepared
    shape: Int32s  # [box] the place of its shape, or -1
    axes: tuple[int, int]

    @property
    def asks(self) -> Bools:
        """Of each box, whether it has a shape."""
        has: Bools = self.shape >= 0
        return has

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, those of the shapes too."""
        prepared = (each.nbytes for each in self.shapes if isinstance(each, np.ndarray))
        return self.shape.nbytes + sum(prepared)

    def some(self, boxes: Int64s) -> "ShapeTests":
        """Give the tests of some boxes."""
        return ShapeTests(self.shapes, self.shape[boxes], self.axes)

    def holds(self, points: Doubles, point: Int64s, box: Int32s) -> Bools:
        """Test; O(log edges) a pair where edges are spread, see shapes/prepare.py."""
        inside = np.ones(len(box), np.bool_)
        tested = np.flatnonzero(self.shape[box] >= 0)
        x, y = (points[axis, point[tested]] for axis in self.axes)
        inside[tested] = holds(self.shapes, self.shape[box[tested]], x, y)
        return inside


@dataclass(frozen=True, eq=False)
class AllOf:
    """Boxes whose regions are refined in several ways, all of which must hold."""

    tests: tuple[Exact, ...]

    @property
    def asks(self) -> Bools:
        """Of each box, whether any way refines it."""
        any_asks: Bools = np.logical_or.reduce([each.asks for each in self.tests])
        return any_asks

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(each.nbytes for each in self.tests)

    def holds(self, points: Doubles, point: Int64s, box: Int32s) -> Bools:
        """Test one after the other what is still in."""
        inside = np.ones(len(box), np.bool_)
        for each in self.tests:
            left = np.flatnonzero(inside)
            inside[left] = each.holds(points, point[left], box[left])
        return inside


@dataclass(frozen=True, eq=False)
class ConvexPolygons:
    """Convex polygons on the first two axes, borders and corners included.

    The corners of polygon p are x[ptr[p]:ptr[p + 1]] and y likewise, against the clock. A point is
    inside if it is to the right of no edge: (x2 - x1)(y - y1) - (y2 - y1)(x - x1) >= 0, in doubles.
    No coordinate is beyond 1e150 and no edge shorter than 1e-150. So for points of the bounding
    box, and only those are tested, no product overflows, and underflow moves a border by less than
    1e-22 of its length.
    """

    ptr: Int64s
    x: Doubles
    y: Doubles

    def __post_init__(self) -> None:
        """Refuse what is no convex polygon, and say why. O(corners)."""
        if len(self.ptr) == 0 or self.ptr[0] != 0 or self.ptr[-1] != len(self.x):
            raise InputError(f"the corners run from 0 to {len(self.x)}, not as ptr says")
        if not (np.isfinite(self.x).all() and np.isfinite(self.y).all()):
            raise InputError("a corner is no finite number")
        for polygon in np.flatnonzero(np.diff(self.ptr) < 3)[:1]:
            corners = int(self.ptr[polygon + 1] - self.ptr[polygon])
            raise InputError(f"polygon {polygon} has {corners} corners, three or more expected")
        if len(self.x):
            self._refuse_extremes()
            self._refuse_turns()

    def _refuse_extremes(self) -> None:
        """Refuse what is too large or too small to be compared in doubles."""
        owner, after = self._owner(), self._after()
        largest = np.maximum(np.abs(self.x), np.abs(self.y))
        for corner in np.flatnonzero(largest > FARTHEST)[:1]:
            raise InputError(
                f"polygon {owner[corner]} has a corner at {self._at(corner)}, coordinates from "
                f"-{FARTHEST:g} to {FARTHEST:g} expected"
            )
        length = np.hypot(self.x[after] - self.x, self.y[after] - self.y)
        for corner in np.flatnonzero(length < SHORTEST)[:1]:
            raise InputError(
                f"polygon {owner[corner]} has an edge of length {length[corner]:g} from "
                f"{self._at(corner)}, {SHORTEST:g} at least expected"
            )

    def _refuse_turns(self) -> None:
        """Refuse what does not turn left at every corner, and once around in all."""
        after, owner = self._after(), self._owner()
        x, y, far = self.x, self.y, after[after]
        turn = (x[after] - x) * (y[far] - y[after]) - (y[after] - y) * (x[far] - x[after])
        heading = np.arctan2(y[after] - y, x[after] - x)
        turned = np.mod(heading[after] - heading, 2 * np.pi)
        around = np.bincount(owner, turned, len(self.ptr) - 1)
        bad = np.bincount(owner[~(turn > 0)], minlength=len(around)) > 0
        for polygon in np.flatnonzero(bad | (np.abs(around - 2 * np.pi) > 0.1))[:1]:
            raise InputError(
                f"polygon {polygon} is not convex, or its corners do not run against the clock"
            )

    def _at(self, corner: int) -> str:
        return f"({self.x[corner]:g}, {self.y[corner]:g})"

    def _owner(self) -> Int64s:
        return np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))

    def _after(self) -> Int64s:
        """Of each corner, the next one around."""
        after = np.arange(1, len(self.x) + 1)
        after[self.ptr[1:] - 1] = self.ptr[:-1]
        return after

    @property
    def boxes(self) -> Boxes:
        """Their bounding boxes; the last corner is in, so an end is the next double."""
        if len(self.ptr) == 1:
            return Boxes.of(np.empty((2, 0)), np.empty((2, 0)))
        ends = [
            (np.minimum.reduceat(line, self.ptr[:-1]), np.maximum.reduceat(line, self.ptr[:-1]))
            for line in (self.x, self.y)
        ]
        lo = np.stack([least for least, _ in ends])
        hi = np.array([[next_double(end) for end in most.tolist()] for _, most in ends])
        return Boxes.of(lo, hi)

    @property
    def asks(self) -> Bools:
        """All of them do."""
        return np.ones(len(self.ptr) - 1, np.bool_)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.ptr.nbytes + self.x.nbytes + self.y.nbytes

    def holds(self, points: Doubles, point: Int64s, box: Int32s) -> Bools:
        """Test edge by edge; O(corners of each pair)."""
        inside = np.ones(len(box), np.bool_)
        at, end = self.ptr[box], self.ptr[box.astype(np.int64) + 1]
        after = self._after()
        left = np.arange(len(box))
        while len(left):
            corner = at[left]
            following = after[corner]
            x, y = points[0, point[left]], points[1, point[left]]
            edge_x, edge_y = (line[following] - line[corner] for line in (self.x, self.y))
            side = edge_x * (y - self.y[corner]) - edge_y * (x - self.x[corner])
            inside[left] = side >= 0
            at[left] += 1
            left = left[inside[left] & (at[left] < end[left])]
        return inside
