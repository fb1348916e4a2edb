"""Neighbouring boxes are probed together: a tree of full nodes over a good order of the boxes.

The boxes are in leaves of sixteen, the leaves in nodes of sixteen, up to one root. A node keeps
the bounds of its children, axis by axis, so that one comparison of vectors tests all sixteen. There
are no pointers: the children of node k are the nodes 16 k to 16 k + 15 of the level below.

Law: a node's bounds hold those of its children, and a leaf's are the boxes' own; so the result is
exact, whatever the order, and the order decides only how many nodes are visited.

Two orders. `hilbert`: by the place of the middle along a Hilbert curve. `halves`: cut in two along
the bound, of the 2 d there are, that makes the halves smallest, and again; a box without an upper
end does not spoil the nodes of those that have one.
"""

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from fencepost.errors import BrokenIndex
from fencepost.matches.boxes import Boxes
from fencepost.matches.gather_kernels import gather
from fencepost.matches.index import Parameter
from fencepost.matches.packed import kernels
from fencepost.matches.parameters import one_of, only
from fencepost.matches.result import ProbeResult, gathered
from fencepost.simd import LANES
from fencepost.tuples import Doubles, Int32s, Int64s

BITS = 30  # of an axis in a box's Hilbert key, at most; 63 over all
KEY_BITS = 20  # of a point's key over all axes: enough to keep a batch together
CROWD = 4096  # points from which an order pays
LARGE = 1 << 24  # bytes of a tree from which it does; a smaller one is in the cache anyway
LINE = 64  # bytes
NEAR = 1 << 14  # boxes whose bounds are put together before they are halved further
ORDERS = ("halves", "hilbert")


@dataclass(frozen=True, eq=False)
class Packed:
    """m boxes over d axes, in leaves and nodes of sixteen.

    build   O(m log m) either way
    probe   O(d) a node visited; a few, where boxes are small, and all of them at worst
    size    17 d bytes a box, and 4
    """

    name: ClassVar[str] = "packed"
    boxes: Boxes
    order: str
    ids: Int32s
    bounds: Doubles
    first: Int64s

    @classmethod
    def build(cls, boxes: Boxes, **parameters: Parameter) -> Self:
        """Order the boxes (`order`: halves or hilbert), and build full nodes over them."""
        only(cls.name, parameters, "order")
        order = one_of(parameters, "order", ORDERS) or ORDERS[0]
        first = levels(len(boxes))
        ids = np.zeros((first[-1] - first[-2]) * kernels.FANOUT, np.int32)
        ids[: len(boxes)] = ordered(boxes, order, kernels.FANOUT)
        bounds = aligned((first[-1], boxes.axes, 2, kernels.FANOUT), np.float64)
        kernels.fill(boxes.lo, boxes.hi, ids, first, bounds)
        return cls(boxes, order, ids, bounds.reshape(-1), first)

    @property
    def nbytes(self) -> int:
        """Bytes of the nodes' bounds and of the numbers; the boxes themselves are not needed."""
        return self.bounds.nbytes + self.ids.nbytes + self.first.nbytes

    def probe(self, points: Doubles) -> ProbeResult:
        """Go down from the root wherever a node holds the point.

        Where the tree is larger than the cache, many points are probed along a Hilbert curve: a
        million boxes on 4 axes, 0.8 instead of 2.3 µs a point.
        """
        points = np.ascontiguousarray(points, np.float64)
        many = points.shape[1]
        if many < CROWD or self.bounds.nbytes < LARGE:
            return self._descend(points)
        keys = np.empty(many, np.int64)
        bits = max(2, KEY_BITS // len(points))
        kernels.hilbert(points, points, points.min(axis=1), points.max(axis=1), bits, keys)
        order = np.argsort(keys)
        found = self._descend(points[:, order])
        ptr, ids = np.zeros(many + 1, np.int64), np.empty(len(found.ids) + LANES, np.int32)
        whose, sizes = order.astype(np.int32), found.counts.astype(np.int32)
        padded = np.concatenate([found.ids, np.empty(LANES, np.int32)])
        gather(padded, whose, sizes, many, ptr, ids)
        return ProbeResult(ptr, ids[:-LANES])

    def _descend(self, points: Doubles) -> ProbeResult:
        points = np.ascontiguousarray(points)
        masks, nodes = np.empty((2, len(self.first)), np.uint64)

        def find(ptr: Int64s, room: Int32s, start: int) -> int:
            tree = (self.bounds, self.ids, self.first)
            return int(kernels.probe(*tree, points, masks, nodes, ptr, room, start))

        return gathered(points.shape[1], find)

    def check(self) -> None:
        """Prove that leaves hold every box once, as it is, and nodes what is below. O(m d)."""
        many, fanout = len(self.boxes), kernels.FANOUT
        if not np.array_equal(np.sort(self.ids[:many]), np.arange(many)):
            raise BrokenIndex(f"the leaves do not hold each of {many} boxes once")
        shape = (-1, self.boxes.axes, 2, fanout)
        bounds = self.bounds.reshape(shape)
        # what[child, axis, 0 or 1] of the leaves first, then of each level above
        what = np.stack([self.boxes.lo.T, self.boxes.hi.T], axis=2)[self.ids[:many]]
        for level in range(len(self.first) - 2, -1, -1):
            nodes = bounds[self.first[level] : self.first[level + 1]]
            children = nodes.transpose(0, 3, 1, 2).reshape(-1, self.boxes.axes, 2)
            empty = children[len(what) :]
            if not (empty[:, :, 0] > empty[:, :, 1]).all():
                raise BrokenIndex(f"level {level}: a place beyond the {len(what)} filled holds")
            for child, axis, end in np.argwhere(children[: len(what)] != what)[:1]:
                raise BrokenIndex(
                    f"level {level}, child {child}, axis {axis}: the {('lower', 'upper')[end]} "
                    f"bound is {children[child, axis, end]}, not {what[child, axis, end]}"
                )
            what = np.stack([nodes[:, :, 0].min(axis=2), nodes[:, :, 1].max(axis=2)], axis=2)

    def describe(self) -> str:
        """Say how many levels there are, and in which order the boxes are."""
        count = len(self.first) - 1
        return (
            f"{count} level{'' if count == 1 else 's'} of nodes of {kernels.FANOUT}, "
            f"boxes in the order of {self.order}"
        )


def aligned(shape: tuple[int, ...], kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """Allocate room that begins with a line of the cache: else every vector would cost two."""
    size = prod(shape) * np.dtype(kind).itemsize
    room = np.empty(size + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + size].view(kind).reshape(shape)


def levels(many: int) -> Int64s:
    """Where the nodes of each level begin, from the root down, and the end: one leaf at least."""
    counts = [max(1, -(-many // kernels.FANOUT))]
    while counts[0] > 1:
        counts.insert(0, -(-counts[0] // kernels.FANOUT))
    return np.cumsum([0, *counts], dtype=np.int64)


def ordered(boxes: Boxes, order: str, leaf: int) -> Int32s:
    """Return the boxes' numbers in an order that brings together what is probed together."""
    least, most = boxes.extent()
    if order == "hilbert":
        keys = np.empty(len(boxes), np.int64)
        bits = min(BITS, 63 // boxes.axes)
        kernels.hilbert(boxes.lo, boxes.hi, least, most, bits, keys)
        return np.argsort(keys).astype(np.int32)
    ids = np.arange(len(boxes), dtype=np.int32)
    share = leaf
    while share < NEAR:
        share *= 2
    kernels.halves(boxes.lo, boxes.hi, least, most, share, ids)
    for start in range(0, len(ids) if share > leaf else 0, share):
        mine = ids[start : start + share]
        near = boxes.take(mine)
        inner = np.arange(len(mine), dtype=np.int32)
        kernels.halves(near.lo, near.hi, least, most, leaf, inner)
        ids[start : start + share] = mine[inner]
    return ids
