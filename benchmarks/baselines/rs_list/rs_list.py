"""S1's RS list, literally: linked segments, +DQSets and -DQSets, a pointer a stream.

A node is a segment between two neighbouring borders; it holds the queries that begin at its lower
border and those that end there. A step walks from the node of the stream's last value to that of
the new one and subtracts the unions of what it passes (Lemma 1).

Faithful to the original but for registration: the nodes are made at once, in the order of the
borders, which gives the list that registrations give, in the best order for the memory.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.baselines.rs_list import kernels
from fencepost.crossings.columns import Events
from fencepost.crossings.path import Path
from fencepost.errors import BrokenIndex, InputError
from fencepost.matches import Boxes
from fencepost.tuples import Doubles, Int32s


@dataclass(frozen=True, eq=False)
class RsList:
    """The list over one axis.

    build      O(n log n)
    crossings  O(nodes and entries passed) a step
    size       24 bytes a border and 8 an entry; two entries a query
    """

    boxes: Boxes
    border: Doubles  # node 0 begins at -inf; the last one is a sentinel at +inf
    after: Int32s
    before: Int32s
    plus: Int32s
    minus: Int32s
    ids: Int32s
    following: Int32s

    @classmethod
    def build(cls, boxes: Boxes) -> "RsList":
        """Link the segments between all borders."""
        if boxes.axes != 1:
            raise InputError(f"an RS list is for one axis, the boxes have {boxes.axes}")
        lo, hi = boxes.lo[0], boxes.hi[0]
        ends = np.unique(np.concatenate([lo, hi]))
        border = np.concatenate([[-np.inf], ends[np.isfinite(ends)], [np.inf]])
        n = np.arange(len(border), dtype=np.int32)
        entry, heads = [], []
        for bound in (lo, hi):
            order = np.argsort(bound, kind="stable")
            kept = order[np.isfinite(bound[order])]
            entry.append(kept)
            heads.append(np.searchsorted(border, bound[kept]))
        ids = np.concatenate(entry).astype(np.int32)
        following = np.arange(1, len(ids) + 1, dtype=np.int32)
        first = np.full((2, len(border)), -1, np.int32)
        begin = 0
        for side, node in enumerate(heads):
            last = np.flatnonzero(np.diff(node, append=-1))
            following[begin + last] = -1
            of = np.flatnonzero(np.diff(node, prepend=-1))
            first[side, node[of]] = begin + of
            begin += len(node)
        after, before = np.minimum(n + 1, n[-1]), np.maximum(n - 1, 0)
        return cls(boxes, border, after, before, *first, ids, following)

    @property
    def nbytes(self) -> int:
        """Bytes of nodes and entries."""
        nodes = (self.border, self.after, self.before, self.plus, self.minus)
        return sum(array.nbytes for array in (*nodes, self.ids, self.following))

    def crossings(self, path: Path) -> tuple[Events, int]:
        """Walk a path; return its events and how many delta queries were visited."""
        firsts = path.values[0, path.starts[:-1]]
        pointers = (np.searchsorted(self.border, firsts, "right") - 1).astype(np.int32)
        nodes = self.border, self.after, self.before, self.plus, self.minus
        seen = np.zeros(len(self.boxes), np.int64)
        room = 4 * len(path) + 1024
        run = used = visited = 0
        columns = [np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int8)]
        while True:
            given = path.starts, path.values[0], nodes, (self.ids, self.following), pointers, run
            run, used, more = kernels.traverse(*given, seen, *columns, used)
            visited += more
            if run == len(path.stream):
                return Events(*(column[:used] for column in columns)), visited
            seen[:] = 0
            for k, column in enumerate(columns):
                columns[k] = np.empty(2 * len(column), column.dtype)
                columns[k][:used] = column[:used]

    def check(self) -> None:
        """Raise BrokenIndex unless every query is in two lists, or is open to a side."""
        counts = np.bincount(self.ids, minlength=len(self.boxes))
        bounds = np.concatenate([self.boxes.lo, self.boxes.hi])
        if not np.array_equal(counts, np.isfinite(bounds).sum(axis=0)):
            raise BrokenIndex("a query is not in the lists of both its borders")
        if np.any(self.border[:-1] >= self.border[1:]):
            raise BrokenIndex("borders are not in order")
