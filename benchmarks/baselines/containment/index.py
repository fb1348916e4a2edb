"""Containment-encoded intervals (CEI; Wu, Chen, Yu 2004) and squares (CES; the same, 2006).

The domain is cut into cells, and 2^k of them along each axis make a block. The virtual pieces are
the blocks, their halves or quarters, and so on down to the cells. Each box is in the lists of the
largest pieces that it contains; a search copies the k + 1 lists of those that contain the cell of
the value, whose numbers follow from each other by shifts.

Faithful to the original but for one thing: where a border of a box is not a border of cells, the
box is also in a list of each cell that it only touches, and is tested there. The originals know
whole numbers only; boxes of whole numbers on cells of one have no such lists.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from benchmarks.baselines.containment import kernels
from fencepost.errors import BrokenIndex, InputError
from fencepost.matches import Boxes, ProbeResult
from fencepost.matches.index import Parameter
from fencepost.matches.result import gathered
from fencepost.tuples import Doubles, Int32s, Int64s

MOST = {1: 20, 2: 12}
"""Levels of the largest block, by axes."""


@dataclass(frozen=True, eq=False)
class Containment:
    """Lists of the boxes that contain each piece.

    build   O(n pieces a box): up to 2 k on one axis, 6 · 2^k on two, and one for each whole block
    probe   O(k + results)
    size    4 bytes a piece of a box, 4 bytes a virtual piece: two a cell on one axis, 4/3 on two
    """

    name: ClassVar[str] = "containment"
    boxes: Boxes
    origin: Doubles
    scale: Doubles
    cells: int  # along each axis
    levels: int
    first: Int64s  # [level] where its pieces begin within a block, and one more
    whole_at: Int32s
    whole: Int32s
    edge_at: Int32s
    edge: Int32s

    @classmethod
    def build(
        cls,
        boxes: Boxes,
        cells: int = 256,
        levels: int = 4,
        unit: float | None = None,
        **_parameters: Parameter,
    ) -> Self:
        """Cut the domain into `cells` along each axis, or into cells of `unit` from 0 on."""
        d = boxes.axes
        if d not in MOST or not 0 <= levels <= MOST[d]:
            raise InputError(f"{d} axes, {levels} levels: 1 axis and 0 to 20, or 2 and 0 to 12")
        least, most = boxes.extent()
        if unit is None:
            scale = np.array([_scale(a, b, cells) for a, b in zip(least, most, strict=True)])
        else:
            least, scale = np.zeros(d), np.full(d, 1.0 / unit)
        blocks = -(-cells >> levels)
        first = np.zeros(levels + 2, np.int64)
        np.cumsum([1 << (d * (levels - level)) for level in range(levels + 1)], out=first[1:])
        first, per_block = first[: levels + 1], int(first[levels + 1])
        touched, sure = _in_cells(boxes, least, scale, cells)
        shape = (touched, sure, levels, first, blocks)
        none = np.empty(0, np.int32)
        whole_at, edge_at = np.zeros((2, blocks**d * per_block + 1), np.int64)
        kernels.pieces(*shape, whole_at[1:], edge_at[1:], none, none)
        np.cumsum(whole_at, out=whole_at)
        np.cumsum(edge_at, out=edge_at)
        whole, edge = np.empty(whole_at[-1], np.int32), np.empty(edge_at[-1], np.int32)
        if len(boxes):
            kernels.pieces(*shape, whole_at.copy(), edge_at.copy(), whole, edge)
        starts = (at.astype(np.int32) for at in (whole_at, edge_at))
        at, edges = starts
        return cls(boxes, least, scale, cells, levels, first, at, whole, edges, edge)

    @property
    def nbytes(self) -> int:
        """Bytes of the lists and their beginnings; of edges and bounds where some are tested."""
        tested = (self.edge_at, self.edge, self.boxes.lo, self.boxes.hi) if len(self.edge) else ()
        return sum(array.nbytes for array in (self.whole_at, self.whole, *tested))

    def probe(self, points: Doubles) -> ProbeResult:
        """Copy the lists of the pieces around each point."""
        frames = zip(points, self.origin, self.scale, strict=True)
        cells = np.stack([_cell(*frame, self.cells) for frame in frames])
        lists = self.whole_at, self.whole, self.edge_at, self.edge, self.boxes.lo, self.boxes.hi
        blocks = -(-self.cells >> self.levels)

        def find(ptr: Int64s, room: Int32s, first: int) -> int:
            shape = self.levels, self.first, blocks
            return int(kernels.find(cells, points, *shape, *lists, ptr, room, first))

        return gathered(points.shape[1], find)

    def check(self) -> None:
        """Raise BrokenIndex unless the lists are as long as their beginnings say."""
        for at, boxes in ((self.whole_at, self.whole), (self.edge_at, self.edge)):
            if np.any(np.diff(at) < 0) or at[-1] != len(boxes):
                raise BrokenIndex("lists are not as long as their beginnings say")

    def describe(self) -> str:
        """Say how the domain is cut."""
        return (
            f"{self.cells:,} cells along an axis, blocks of {1 << self.levels}, "
            f"{len(self.whole):,} pieces, {len(self.edge):,} cells that are only touched"
        )


def _scale(least: float, most: float, cells: int) -> float:
    """Cells a unit of the axis; the halves, since the difference of two doubles may overflow."""
    half = most / 2 - least / 2
    return float(np.clip(cells / 2 / half if half > 0 else 1.0, 1e-300, 1e300))


def _cell(values: Doubles, origin: float, scale: float, cells: int) -> Int64s:
    """Number the cells, monotone in the value however it is rounded; beyond the ends the last."""
    with np.errstate(over="ignore", invalid="ignore"):
        places = np.nan_to_num((values - origin) * scale, nan=0.0, posinf=cells, neginf=0.0)
    return np.clip(np.floor(places), 0, cells - 1).astype(np.int64)


def _in_cells(boxes: Boxes, origin: Doubles, scale: Doubles, cells: int) -> tuple[Int64s, Int64s]:
    """Give [box, axis, (from, to)]: the cells that a box touches, and those it surely contains.

    A cell that begins before a bound, by so little as one double, is only touched.
    """
    touched, sure = np.empty((2, len(boxes), boxes.axes, 2), np.int64)
    for axis, (lo, hi) in enumerate(zip(boxes.lo, boxes.hi, strict=True)):
        frame = origin[axis], scale[axis], cells
        low, before = _cell(lo, *frame), _cell(np.nextafter(lo, -np.inf), *frame)
        last, high = _cell(np.nextafter(hi, -np.inf), *frame), _cell(hi, *frame)
        touched[:, axis] = np.stack([low, last + 1], axis=1)
        begins = np.isneginf(lo) | (before < low)
        ends = np.isposinf(hi) | (high > last)
        sure[:, axis] = np.stack([low + ~begins, last + ends], axis=1)
    return touched, sure
