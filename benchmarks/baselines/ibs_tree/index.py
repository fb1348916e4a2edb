"""Interval binary search trees, the rival of S3: an index of predicates, an attribute at a time.

A balanced tree over the ends of an attribute's predicates. A predicate sits at a node under `<`,
`=` or `>` where it holds for everything that a search can look for on that side, as high as can
be; so a search passes each predicate that holds once, and no other (Hanson et al. 1990, §4.2). A
conjunction holds at a point when as many of its predicates are passed as it has: a counter a query
(the two-phase merge of NiagaraCQ, of which S3 §2 speaks).

Faithful to the original but for the balancing: it is built in one go, and so is at least
as flat as the AVL tree that insertions would give. Marks are stored in one array, ordered by slot.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from benchmarks.baselines.ibs_tree import kernels
from fencepost.errors import BrokenIndex
from fencepost.matches import Boxes, ProbeResult
from fencepost.matches.index import Parameter
from fencepost.matches.result import gathered
from fencepost.tuples import Bools, Doubles, Int32s, Int64s

UInt8s = np.ndarray[tuple[int], np.dtype[np.uint8]]


@dataclass(frozen=True, eq=False)
class IbsTree:
    """A tree an axis over n boxes.

    build   O(d n log n)
    probe   O(d log n + p + n / 64): p predicates hold, of whole queries or not; n bytes are reset
    size    about 4 log n bytes a predicate, 20 an end, 1 a box
    """

    name: ClassVar[str] = "ibs_tree"
    boxes: Boxes
    trees: Int64s  # ends of axis a: ends[trees[a]:trees[a + 1]]
    ends: Doubles
    slots: Int64s
    marks: Int32s
    needed: UInt8s  # predicates of each box
    always: Int32s  # the boxes without any

    @classmethod
    def build(cls, boxes: Boxes, **_parameters: Parameter) -> Self:
        """Build the trees, balanced, and place the marks."""
        bounded = np.isfinite(boxes.lo) | np.isfinite(boxes.hi)
        ends = [_ends(lo, hi) for lo, hi in zip(boxes.lo, boxes.hi, strict=True)]
        trees = np.cumsum([0, *(len(own) for own in ends)]).astype(np.int64)
        together = np.concatenate(ends) if ends else np.empty(0)
        slots, marks = _marked(boxes, bounded, trees, together)
        needed = bounded.sum(axis=0).astype(np.uint8)
        always = np.flatnonzero(needed == 0).astype(np.int32)
        return cls(boxes, trees, together, slots, marks, needed, always)

    @property
    def nbytes(self) -> int:
        """Bytes of the trees; the bounds of the boxes are not needed."""
        arrays = (self.trees, self.ends, self.slots, self.marks, self.needed, self.always)
        return sum(array.nbytes for array in arrays)

    def probe(self, points: Doubles) -> ProbeResult:
        """Walk the trees for each point, and count."""
        given = self.trees, self.ends, self.slots, self.marks, self.needed, self.always

        def find(ptr: Int64s, room: Int32s, first: int) -> int:
            return int(kernels.find(points, *given, ptr, room, first))

        count = points.shape[1]
        return gathered(count, find, 4.0 + len(self.boxes) / max(count, 1))

    def check(self) -> None:
        """Raise BrokenIndex unless each end finds exactly the predicates that hold there."""
        for axis, (first, last) in enumerate(zip(self.trees, self.trees[1:], strict=False)):
            own = self.ends[first:last]
            if not np.all(own[:-1] < own[1:]):
                raise BrokenIndex(f"axis {axis}: ends are not in order")
        if self.slots[-1] != len(self.marks) or np.any(np.diff(self.slots) < 0):
            raise BrokenIndex(f"{len(self.marks)} marks, the slots end at {self.slots[-1]}")

    def describe(self) -> str:
        """Say how many marks there are."""
        return f"{len(self.ends):,} nodes, {len(self.marks):,} marks"


def _ends(lo: Doubles, hi: Doubles) -> Doubles:
    both = np.concatenate([lo, hi])
    return np.unique(both[np.isfinite(both)])


def _marked(boxes: Boxes, bounded: Bools, trees: Int64s, ends: Doubles) -> tuple[Int64s, Int32s]:
    placed = []
    for axis in range(boxes.axes):
        first, last = trees[axis], trees[axis + 1]
        ids = np.flatnonzero(bounded[axis]).astype(np.int32)
        lo, hi = boxes.lo[axis, ids], boxes.hi[axis, ids]
        begin = first + np.searchsorted(ends[first:last], lo)
        begin[lo == -np.inf] = first - 1
        end = first + np.searchsorted(ends[first:last], hi)
        placed.append((ids, begin, end, first, last))
    at = np.zeros(3 * len(ends) + 1, np.int64)
    for intervals in placed:
        kernels.place(*intervals, at[1:], np.empty(0, np.int32))
    slots = np.cumsum(at)
    marks, at = np.empty(slots[-1], np.int32), slots.copy()
    for intervals in placed:
        kernels.place(*intervals, at, marks)
    return slots, marks
