"""IBS-JS, the rival of S3's window joins: join conditions first, and then selections.

In S3's words (§7.1): "processing first join conditions using the query plan sharing method, and
then, processing simple selection conditions using the IBS tree". A distinct join condition is
computed once for a pair, for all queries that have it; the pairs that pass meet the selections of
those queries only. A tuple walks the trees of its side once, on arrival; what it
found is stored beside it in the window, sorted by query, those of a join condition together (the
original would walk them for each pair). So a pair costs the distinct join conditions, and for each
that holds the queries that the old tuple was selected by: a look at whether the new one was, too.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from benchmarks.baselines.ibs_join import kernels
from benchmarks.baselines.ibs_tree import IbsTree
from fencepost.joins.windows import LEFT, Pairs
from fencepost.matches import Boxes
from fencepost.queries.joins import WindowJoins
from fencepost.tuples import Doubles, Int32s, Int64s


class Kept(NamedTuple):
    """Tuples of one side, and the queries that selected each.

    Those of tuple i with join condition c are ids[ptr[i, c]:ptr[i, c + 1]].
    """

    values: Doubles
    ptr: Int64s
    ids: Int32s


@dataclass(frozen=True, eq=False)
class IbsJoin:
    """n queries of one conjunct and one join condition each; all windows are those in memory.

    take    the walk of a tree (see ibs_tree), and O(1) per query found
    probe   a pair: O(distinct join conditions), and O(1) for each query that the old one has under
            those which hold
    """

    trees: tuple[IbsTree, IbsTree]
    plan: Int32s  # [condition] left axis, op, right axis: see kernels
    condition: Int32s  # of each query

    @classmethod
    def build(cls, queries: WindowJoins) -> Self:
        """Find the distinct join conditions, and grow the trees of both sides."""
        assert len(queries.tests) == len(queries), "a join condition a query"
        assert not queries.plus.any(), "axes are compared as they are"
        lefts = len(queries.axes[0])
        turned = queries.tests[:, 0] >= lefts
        plan = queries.tests.copy()
        plan[turned] = plan[turned][:, ::-1]
        plan[turned & (plan[:, 1] < kernels.EQUAL), 1] += kernels.GREATER
        plan[:, 2] -= lefts
        distinct, condition = np.unique(plan, axis=0, return_inverse=True)
        trees = (
            IbsTree.build(Boxes.of(queries.lo[:lefts], queries.hi[:lefts])),
            IbsTree.build(Boxes.of(queries.lo[lefts:], queries.hi[lefts:])),
        )
        return cls(trees, distinct.astype(np.int32), condition.reshape(-1).astype(np.int32))

    def take(self, side: int, values: Doubles) -> Kept:
        """Walk the trees for tuples of a side, and sort the queries found by join condition."""
        found = self.trees[side].probe(values)
        ptr = np.empty((len(found), len(self.plan) + 1), np.int64)
        ids = np.empty_like(found.ids)
        kernels.arrange(found.ptr, found.ids, self.condition, ptr, ids)
        return Kept(values, ptr, ids)

    def probe(self, side: int, values: Doubles, window: Kept) -> Pairs:
        """Join new tuples of a side with the window of the other."""
        new = self.take(side, values)
        flags: npt.NDArray[np.uint8] = np.zeros(len(self.condition), np.uint8)
        room = 1 << 16
        columns = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int32)
        state = np.zeros(3, np.int64)
        while True:
            wanted = kernels.find(side == LEFT, new, window, self.plan, flags, *columns, state)
            used = int(state[2])
            if not wanted:
                return Pairs(*(column[:used] for column in columns))
            room = 2 * room + int(wanted)
            columns = tuple(_grown(column, room, used) for column in columns)


def _grown(column: Int64s, room: int, used: int) -> Int64s:
    larger = np.empty(room, column.dtype)
    larger[:used] = column[:used]
    return larger
