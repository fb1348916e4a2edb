"""Cells of a few sizes: the index of two axes.

The plane is cut into cells, evenly in positions of two rulers of even depth, so that a crowd of
boxes gets as many cells as its share. A box is in each cell it meets, in one of two lists: of
those that cover the cell, which are copied, and of those that reach into it, which are tested.
Boxes much larger or smaller than the cells go to a level with cells of their own size; `plan.py`
chooses the levels. A probe reads one cell of each level.

Law: a box is on one level, and in the lists of a cell at most once, so no box is found twice; it is
in the list of every cell of its level that holds a point of it, and covers those that list it as
covering. Boxes without an end on some side cover the outermost cells there, and all beyond them.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from fencepost.arrays import UInt64s
from fencepost.errors import BrokenIndex, InputError
from fencepost.matches.boxes import Boxes
from fencepost.matches.grid.plan import plan_levels
from fencepost.matches.index import Parameter
from fencepost.matches.ladder.ruler import PIECE_BITS, DepthRuler
from fencepost.matches.parameters import only, real
from fencepost.matches.result import ProbeResult, gathered
from fencepost.tuples import Doubles, Int32s, Int64s

Array = npt.NDArray[Any]

MOST_PIECES = 128  # of each axis
PAD = 32  # entries past the end that a round of copying may read
BYTES_A_BOX = 150.0
BYTES_RANGE = (64, 65_536)  # what may be requested instead
BOUNDS = 32  # bytes a box
FEWEST_BYTES = 1 << 12
LARGEST_WHOLE = 2.0**51


@dataclass(frozen=True, eq=False)
class Grid:
    """Finds the rectangles that hold a point.

    build   O(n log n + entries)
    probe   O(levels + results + those that only reach into the cells)
    size    4 bytes for each cell that a box covers, 12 for each it reaches into, 8 a cell, 32 a box
            for its bounds; 150 a box on average unless `bytes_a_box` says otherwise
    """

    name: ClassVar[str] = "grid"
    boxes: Boxes
    across: DepthRuler
    up: DepthRuler
    whole: bool  # all finite bounds are whole numbers, so points can be rounded down
    levels: Int64s  # [level, (shift and drop of x, of y, cells of x, of y, first cell, fine)]
    cells: Int32s  # [cell, (first that reaches into it, first that covers it)], and the ends
    words: UInt64s
    reaching: Int32s
    covering: Int32s
    expected: float  # results of a point drawn from where the bounds are

    @classmethod
    def build(cls, boxes: Boxes, **parameters: Parameter) -> Self:
        """Choose the levels, and put each box into its cells."""
        only(cls.name, parameters, "bytes_a_box")
        budget = real(parameters, "bytes_a_box", *BYTES_RANGE) or BYTES_A_BOX
        if boxes.axes != 2:
            raise InputError(f"a grid is for 2 axes, the boxes have {boxes.axes}")
        whole = _all_whole(boxes)
        across, up = (
            DepthRuler.over(np.concatenate(ends), MOST_PIECES, margin=1.0 if whole else 0.0)
            for ends in zip(boxes.lo, boxes.hi, strict=True)
        )
        sides = _sides(boxes, across, up, whole=whole)
        west, east, south, north = sides
        wide = np.minimum(east, across.size) - np.maximum(west, 0)
        tall = np.minimum(north, up.size) - np.maximum(south, 0)
        many = len(boxes)
        if not many:
            shifts, level = np.zeros((0, 2), np.int64), np.zeros(0, np.int64)
        else:
            room = max((budget - BOUNDS) * many, FEWEST_BYTES)
            plan = plan_levels(wide, tall, (across.size, up.size), room)
            shifts, level = plan.shifts, plan.level
        levels = _levels(shifts, across, up, whole=whole)
        results = float((wide / across.size * (tall / up.size)).sum())
        return cls(boxes, across, up, whole, levels, *_filled(levels, level, sides), results)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays, and of the bounds that settle what the steps leave open."""
        arrays = (self.levels, self.cells, self.words, self.reaching, self.covering)
        bounds = self.boxes.lo.nbytes + self.boxes.hi.nbytes
        return self.across.nbytes + self.up.nbytes + bounds + sum(array.nbytes for array in arrays)

    def probe(self, points: Doubles) -> ProbeResult:
        """Find the boxes that hold each point, in one pass."""
        from fencepost.matches.grid.kernels import CellLists, find

        count = points.shape[1]
        if not len(self.boxes):
            return ProbeResult.nothing(count)
        bounds = (self.boxes.lo, self.boxes.hi)
        lists = CellLists(self.cells, self.words, self.reaching, self.covering, *bounds)
        parts = (self.across.marks, self.up.marks, self.whole, self.levels, lists, points)
        return gathered(
            count,
            lambda ptr, room, first: find(*parts, ptr, room, first),
            1.5 * self.expected + 4,
        )

    def check(self) -> None:
        """Raise BrokenIndex unless each box is where it meets a cell, once, as what it is."""
        self.across.check("grid, x")
        self.up.check("grid, y")
        starts = self.cells.astype(np.int64)
        ends = (len(self.reaching) - PAD, len(self.covering) - PAD)
        if (starts[:1] != 0).any() or (np.diff(starts, axis=0) < 0).any() or (
            tuple(starts[-1]) != ends
        ):  # fmt: skip
            raise BrokenIndex(f"grid: the cells' lists do not add up to {ends}")
        sides = _sides(self.boxes, self.across, self.up, whole=self.whole)
        seen = np.full(len(self.boxes), -1)
        for number, level in enumerate(self.levels):
            first = int(level[6])
            part = starts[first : first + level[4] * level[5] + 1]
            for kind, ids in enumerate((self.reaching, self.covering)):
                listed = ids[part[0, kind] : part[-1, kind]]
                if ((seen[listed] != -1) & (seen[listed] != number)).any():
                    raise BrokenIndex(f"grid: a box of level {number} is on another one too")
                seen[listed] = number
        if (seen < 0).any():
            raise BrokenIndex(f"grid: box {int(np.argmin(seen))} is in no cell")
        again: tuple[Array, ...] = _filled(self.levels, seen, sides)
        ours: tuple[Array, ...] = (self.cells, self.words, self.reaching, self.covering)
        names = ("the cells' lists", "the steps", "who reaches in", "who covers")
        for name, mine, theirs in zip(names, ours, again, strict=True):
            if mine.shape != theirs.shape or (mine != theirs).any():
                raise BrokenIndex(f"grid: {name} are not what the boxes say")

    def describe(self) -> str:
        """Say which levels there are, and how full the cells."""
        sizes = ", ".join(f"{nx} × {ny}" for nx, ny in self.levels[:, 4:6]) or "none"
        reach, cover = len(self.reaching) - PAD, len(self.covering) - PAD
        return (
            f"{len(self.boxes):,} boxes on levels of {sizes} cells; {reach:,} times one reaches "
            f"into a cell, {cover:,} times it covers one; about {self.expected:,.1f} "
            f"results a point"
        )


def _all_whole(boxes: Boxes) -> bool:
    ends = np.concatenate((boxes.lo, boxes.hi), axis=1)
    ends = ends[np.isfinite(ends)]
    return bool(((ends == np.floor(ends)) & (np.abs(ends) < LARGEST_WHOLE)).all())


def _sides(boxes: Boxes, across: DepthRuler, up: DepthRuler, *, whole: bool) -> tuple[Int64s, ...]:
    """Return the positions of the west, east, south and north sides.

    Where all are whole, a point rounded down is below hi iff it is at most hi - 1.
    """
    last = 1.0 if whole else 0.0
    return (
        across.positions(boxes.lo[0]),
        across.positions(boxes.hi[0] - last),
        up.positions(boxes.lo[1]),
        up.positions(boxes.hi[1] - last),
    )


def _levels(shifts: Int64s, across: DepthRuler, up: DepthRuler, *, whole: bool) -> Int64s:
    """Describe the levels for the kernels.

    A level is fine where whole numbers that differ are at least two steps apart: equal steps are
    then equal numbers.
    """
    levels, first = np.zeros((len(shifts), 8), np.int64), 0
    for level, (sx, sy) in zip(levels, shifts, strict=True):
        dx, dy = max(0, sx - PIECE_BITS), max(0, sy - PIECE_BITS)
        nx, ny = ((across.size - 1) >> sx) + 1, ((up.size - 1) >> sy) + 1
        fine = whole and across.flattest >= 2 << dx and up.flattest >= 2 << dy
        level[:] = sx, dx, sy, dy, nx, ny, first, fine
        first += nx * ny
    return levels


def _filled(
    levels: Int64s, level: Int64s, sides: tuple[Int64s, ...]
) -> tuple[Int32s, UInt64s, Int32s, Int32s]:
    """Count the lists of all cells, then write them."""
    from fencepost.matches.grid.kernels import place

    count = int(levels[-1, 6] + levels[-1, 4] * levels[-1, 5]) if len(levels) else 0
    rows = [np.flatnonzero(level == number) for number in range(len(levels))]
    none, nobody = np.zeros(0, np.uint64), np.zeros(0, np.int32)
    counts = np.zeros((count + 1, 2), np.int64)
    for each, some in zip(levels, rows, strict=True):
        place(each, some, *sides, counts, none, nobody, nobody, False)
    cells = np.zeros((count + 1, 2), np.int64)
    np.cumsum(counts[:-1], axis=0, out=cells[1:])
    if cells[-1].max(initial=0) + PAD >= 1 << 31:
        raise InputError(f"{cells[-1].sum():,} entries of a grid: at most 2^31 expected")
    reach, cover = (int(total) for total in cells[-1])
    words = np.zeros(reach + PAD, np.uint64)
    reaching, covering = np.zeros(reach + PAD, np.int32), np.zeros(cover + PAD, np.int32)
    going = cells.copy()
    for each, some in zip(levels, rows, strict=True):
        place(each, some, *sides, going, words, reaching, covering, True)
    return cells.astype(np.int32), words, reaching, covering
