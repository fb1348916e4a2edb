"""The lists of all virtual intervals, concatenated: what the indexes of this room share.

Law: the pieces of a box run end to end over the cells it is widened to, so the box is in exactly
one of the lists that a probe reads in any of these cells. Below the first position and from the
last on, the boxes that are open on that side hold, and no others.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from fencepost.errors import BrokenIndex, InputError
from fencepost.matches.boxes import Boxes
from fencepost.matches.papers.vci import kernels
from fencepost.matches.papers.vci.construct import MOST_LENGTH, Construct
from fencepost.matches.papers.vci.grid import (
    FEWEST_POSITIONS,
    GRIDS,
    MOST_POSITIONS,
    PositionGrid,
    last_below,
)
from fencepost.matches.papers.vci.length import MOST_ENTRIES, cheapest_length
from fencepost.matches.parameters import Parameters, one_of, whole
from fencepost.tuples import Bools, Doubles, Int32s, Int64s


@dataclass(frozen=True, eq=False)
class IntervalLists:
    """Boxes cut into pieces, the number of each in the list of its interval.

    build   O(n + pieces + lists), two passes
    size    4 bytes a piece, 4 for each open end, and where ends are between positions 16 a box
    """

    boxes: Boxes
    grid: PositionGrid
    construct: Construct
    ids: Int32s  # the lists; then the boxes open below, those open above, and room to read past
    outside: Int64s  # where those open below begin, those open above, and the end of both
    bounds: Doubles  # [box, (lo, hi)], to check candidates by; none where the grid is exact
    typical: float  # how many candidates a cell has

    @classmethod
    def build(cls, boxes: Boxes, kind: str, parameters: Parameters) -> tuple[Self, Int32s]:
        """Cut the boxes and sort the pieces; with the lists goes where each begins, and the end.

        Where neither positions nor grid are given and the pieces would be too many, cells become
        wider until they are not.
        """
        if boxes.axes != 1:
            raise InputError(f"virtual intervals are for one axis, given boxes of {boxes.axes}")
        grid, construct = _chosen(boxes, kind, parameters)
        x, y = grid.places(boxes)
        ends = np.zeros(grid.positions * construct.each + 1, np.int64)
        shape = (construct.length, construct.each, construct.dyadic)
        kernels.cut(x, y, *shape, ends, np.empty(0, np.int32))
        ends = np.cumsum(ends) - ends
        starts = ends.astype(np.int32)
        pieces, open_ends = int(ends[-1]), open_below_and_above(boxes)
        ids = np.zeros(pieces + sum(map(len, open_ends)) + kernels.ROUND, np.int32)
        kernels.cut(x, y, *shape, ends, ids)
        outside = pieces + np.cumsum([0, *map(len, open_ends)])
        ids[pieces : outside[-1]] = np.concatenate(open_ends)
        bounds = np.empty((0, 2)) if grid.exact else np.stack([boxes.lo[0], boxes.hi[0]], axis=1)
        typical = float((y - x).sum(dtype=np.int64)) / max(grid.top, 1)
        return cls(boxes, grid, construct, ids, outside, bounds, typical), starts

    @property
    def pieces(self) -> int:
        """How many pieces the lists have in all."""
        return int(self.outside[0])

    @property
    def nbytes(self) -> int:
        """Bytes of the lists, and of the bounds where they are needed."""
        return self.ids.nbytes + self.outside.nbytes + self.bounds.nbytes

    @property
    def guess(self) -> float:
        """How many results a point of a batch may well have."""
        return 1.1 * self.typical + 2.0

    def check(self, numbers: Int64s) -> None:
        """Raise BrokenIndex unless the law holds; `numbers`: of each piece, its interval.

        O(n + pieces log pieces).
        """
        if len(numbers) != self.pieces:
            raise BrokenIndex(f"{self.pieces} pieces stand in lists of {len(numbers)}")
        self._check_grid()
        self._check_pieces(numbers)
        below, above = open_below_and_above(self.boxes)
        start, middle, end = self.outside
        for side, found, expected in (
            ("below", self.ids[start:middle], below),
            ("above", self.ids[middle:end], above),
        ):
            if not np.array_equal(np.sort(found), expected):
                raise BrokenIndex(f"the {len(found)} boxes listed as open {side} are not those")
        if len(self.ids) < end + kernels.ROUND:
            raise BrokenIndex(f"{len(self.ids) - end} entries to read past, not {kernels.ROUND}")

    def _check_grid(self) -> None:
        ends = np.concatenate([self.boxes.lo[0], self.boxes.hi[0]])
        ends = ends[np.isfinite(ends)]
        inside = (self.grid.cell(ends) >= 0) & (self.grid.cell(last_below(ends)) < self.grid.top)
        if not inside.all():
            raise BrokenIndex(f"the end {ends[~inside][0]} lies outside of {self.grid.describe()}")
        on = self.grid.on_position(ends)
        if self.grid.exact and not on.all():
            raise BrokenIndex(f"the end {ends[~on][0]} lies between {self.grid.describe()}")
        wanted = np.stack([self.boxes.lo[0], self.boxes.hi[0]], axis=1)
        if not np.array_equal(self.bounds, wanted[: 0 if self.grid.exact else None]):
            raise BrokenIndex("candidates are checked by other bounds than those of the boxes")

    def _check_pieces(self, numbers: Int64s) -> None:
        ids = self.ids[: self.pieces]
        if len(ids) and not 0 <= ids.min() <= ids.max() < len(self.boxes):
            raise BrokenIndex(f"a list holds a box that is none of the {len(self.boxes)}")
        begin, end = self.construct.intervals(numbers)
        order = np.lexsort((begin, ids))
        ids, begin, end = ids[order], begin[order], end[order]
        x, y = self.grid.places(self.boxes)
        first = np.r_[True, ids[1:] != ids[:-1]][: len(ids)]
        last = np.r_[first[1:], True][: len(ids)]
        expected = np.where(first, x[ids], np.r_[0, end[:-1]][: len(ids)])
        _agree(ids, begin, expected, begin == expected, "begins")
        _agree(ids[last], end[last], y[ids[last]], end[last] == y[ids[last]], "ends")
        missing = np.setdiff1d(np.flatnonzero(x < y), ids)
        if len(missing):
            raise BrokenIndex(f"box {missing[0]} stands in no list")


def _agree(ids: Int32s, given: Int64s, expected: Int64s, right: Bools, what: str) -> None:
    for at in np.flatnonzero(~right)[:1]:
        raise BrokenIndex(
            f"a piece of box {ids[at]} {what} at position {given[at]}, expected {expected[at]}"
        )


def open_below_and_above(boxes: Boxes) -> tuple[Int32s, Int32s]:
    """Return the boxes that hold the values below all finite ends, and those above."""
    below, above = np.isneginf(boxes.lo[0]), np.isposinf(boxes.hi[0])
    return np.flatnonzero(below).astype(np.int32), np.flatnonzero(above).astype(np.int32)


def _chosen(boxes: Boxes, kind: str, parameters: Parameters) -> tuple[PositionGrid, Construct]:
    positions = whole(parameters, "positions", FEWEST_POSITIONS, MOST_POSITIONS)
    wanted = one_of(parameters, "grid", GRIDS)
    given = 1 if kind == "dlist" else whole(parameters, "length", 1, MOST_LENGTH)
    free, cells = positions is None and wanted is None, wanted or GRIDS[0]
    while True:
        grid = PositionGrid.over(boxes, positions, cells)
        x, y = grid.places(boxes)
        length = given or cheapest_length(y - x, grid, kind)
        construct = Construct.of("sci" if kind == "sci" else "lci", length)
        pieces = int(construct.pieces(y - x).sum())
        if max(pieces, grid.positions * construct.each) <= MOST_ENTRIES:
            return grid, construct
        if not free or grid.positions < 2 * FEWEST_POSITIONS:
            raise InputError(
                f"{grid.positions:,} positions and length {length:,} make {pieces:,} pieces and "
                f"{grid.positions * construct.each:,} lists; of both there may be at most "
                f"{MOST_ENTRIES:,}: take fewer positions, or another length"
            )
        positions, cells = grid.positions // 2, "cells"
