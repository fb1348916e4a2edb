"""The cells of shapes: which queries with a region can have changed where a stream is.

Squares of several sizes tile the plane, each as wide as some of the next smaller; a shape is in
those that fit its own size. A cell lists the queries whose border runs through it, which are
tested, and those that hold all of it, which are not. Sixteen cells are a block, and only blocks
with a list exist, found by their hash: so shapes may crowd in one town of the globe.

Law: a query that a cell does not list holds nowhere in it; one that it lists as sure holds
everywhere in it.
"""

from dataclasses import dataclass

import numpy as np

from fencepost.crossings.columns import CellColumns, CellFrame
from fencepost.errors import BrokenIndex
from fencepost.shapes.prepare import Prepared
from fencepost.shapes.shape import CORRIDOR
from fencepost.tuples import Bools, Doubles, Int32s, Int64s

BITS = 30  # of a place on either axis
ACROSS = (16.0, 8.0, 4.0)  # cells across a shape: the most that memory allows
ALONG = 64.0  # and along a corridor, where its width is to fit a cell
BLOCK, ENTRY = 110.0, 4.0  # bytes of a block, and of a query in a cell
LEAST, SHARE = 600.0, 0.8  # bytes that the cells of a shape may take, or as a share of its vertices
SOME = 9  # points on each axis that a check looks at
DEGREE = 111_195.0  # metres, and a little more


@dataclass(frozen=True, eq=False)
class ShapeCells:
    """The queries with a region of one layer, or of its named streams, by cells.

    build   2 µs a shape, and 50 ns a vertex
    size    300 to 600 bytes a shape of few vertices, of many less than their coordinates
    """

    columns: CellColumns  # as the kernels see them

    @classmethod
    def build(
        cls,
        axes: tuple[int, int],
        shapes: Prepared,
        query: Int32s,
        shape: Int32s,
        segment: Int32s,
        loose: Bools,
    ) -> "ShapeCells":
        """Find the cells of queries, each with its shape, segment, and whether more denies it."""
        from fencepost.crossings import block_kernels, cells_kernels

        ground = _ground(shapes, shape)
        shifts, size, room = _sizes(shapes, shape, ground)
        found = block_kernels.found(room)
        used = cells_kernels.cover(shapes, ground, shape, loose, shifts, size, found)
        found = block_kernels.first(found, used)
        number, slots, marks = block_kernels.numbered(found, segment)
        ptr, entries = block_kernels.listed(found, number, query)
        most = int(np.diff(ptr).max(initial=0))
        return cls(CellColumns(*axes, ground, shifts, slots, marks, ptr, entries, most))

    def check(
        self, shapes: Prepared, query: Int32s, shape: Int32s, segment: Int32s, loose: Bools
    ) -> None:
        """Raise BrokenIndex unless the cells around every shape say of it what its test says.

        O(cells), and some points of each shape.
        """
        from fencepost.crossings import block_kernels as kernels
        from fencepost.shapes import inside_kernels

        ptr, entries = self.columns.ptr, self.columns.entries
        if ptr[0] != 0 or ptr[-1] != len(entries) or (np.diff(ptr) < 0).any():
            raise BrokenIndex("the lists of cells do not add up")
        owner = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
        falls = (np.diff(owner) == 0) & (entries[:-1] < 0) & (entries[1:] >= 0)
        if falls.any():
            raise BrokenIndex("a query to be tested is listed behind one that is sure")
        for row in range(len(query)):
            x, y = _around(shapes, int(shape[row]))
            said = kernels.said(self.columns, int(segment[row]), int(query[row]), x, y)
            holds = np.empty(len(x), np.bool_)
            inside_kernels.holds(shapes, np.full(len(x), shape[row]), x, y, holds)
            whole = (said == kernels.SURE) | (said == kernels.COVERED)
            wrong = np.where(holds, said == kernels.OUTSIDE, whole)
            wrong |= said == (kernels.SURE if loose[row] else kernels.LOOSE)
            for k in np.flatnonzero(wrong)[:1]:
                raise BrokenIndex(
                    f"query {query[row]} at ({x[k]}, {y[k]}): its cell says {said[k]}, "
                    f"its shape {holds[k]}"
                )

    @property
    def tested(self) -> int:
        """In how many of their entries the border of a shape runs through the cell."""
        from fencepost.crossings.block_kernels import BORDER, LOOSE

        entries = self.columns.entries
        return int(((entries >= 0) & np.isin(entries & 3, (BORDER, LOOSE))).sum())

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        columns = self.columns
        arrays = (columns.slots, columns.marks, columns.ptr, columns.entries)
        return int(sum(array.nbytes for array in arrays))


def _around(shapes: Prepared, s: int) -> tuple[Doubles, Doubles]:
    """Choose points in and around the bounds of a shape, and its vertices."""
    part = shapes.part_ptr[s : s + 2]
    begin, end = shapes.vertex_ptr[shapes.ring_ptr[part]]
    step = max(1, (end - begin) // SOME)
    grid = [
        np.linspace(lo[s] - (hi[s] - lo[s]) / 4, hi[s] + (hi[s] - lo[s]) / 4, SOME)
        for lo, hi in zip(shapes.lo, shapes.hi, strict=True)
    ]
    x, y = (each.ravel() for each in np.meshgrid(*grid))
    return np.append(x, shapes.x[begin:end:step]), np.append(y, shapes.y[begin:end:step])


def _ground(shapes: Prepared, shape: Int32s) -> CellFrame:
    """Spread 2^30 places over the shapes, the same on both axes.

    A thousandth at each end is left out: one far shape must not spoil all.
    """
    least, most = [], []
    for lo, hi in zip(shapes.lo[:, shape], shapes.hi[:, shape], strict=True):
        cut = len(shape) // 1000
        least.append(float(np.partition(lo, cut)[cut]))
        most.append(float(np.partition(hi, len(shape) - 1 - cut)[len(shape) - 1 - cut]))
    with np.errstate(over="ignore"):
        reach = np.max(np.array(most) - np.array(least))
        scale = min(max((2.0**BITS - 1) / reach, 1e-290), 1e290)
    return CellFrame(least[0], least[1], float(scale), 2.0**BITS - 1)


def _sizes(shapes: Prepared, shape: Int32s, ground: CellFrame) -> tuple[Int64s, Int64s, int]:
    """Choose the sizes of cells and the one of each shape; say in how many cells they can be."""
    with np.errstate(over="ignore"):
        places = (shapes.hi[:, shape] - shapes.lo[:, shape]) * ground.scale
    places = np.clip(places, 1.0, 2.0**BITS)
    longest = places.max(axis=0)
    thin = shapes.kind[shape] == CORRIDOR
    width = 2.0 * shapes.reach[shape] / (DEGREE if shapes.earth else 1.0) * ground.scale
    vertices = np.diff(shapes.vertex_ptr[shapes.ring_ptr[shapes.part_ptr]])[shape]
    budget = max(LEAST * len(shape), SHARE * 16.0 * float(vertices.sum()))
    for across in ACROSS:
        side = np.where(thin, np.maximum(width, longest / ALONG), longest / across)
        bits = np.clip(np.ceil(np.log2(np.maximum(side, 1.0))), 0, BITS - 2).astype(np.int64)
        bits = bits.max() - (bits.max() - bits) // 2 * 2  # a look-up for every second size
        spans = places / 2.0**bits
        blocks, cells = np.prod(spans / 4 + 1, axis=0), np.prod(spans + 1, axis=0)
        if BLOCK * blocks.sum() + ENTRY * cells.sum() <= budget:
            break
    shifts, size = np.unique(bits, return_inverse=True)
    spans = np.floor(places / 2.0**bits) + 3.0
    return shifts, size.astype(np.int64), int(np.prod(spans, axis=0).sum())
