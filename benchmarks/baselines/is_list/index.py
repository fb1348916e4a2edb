"""The interval skip list, the rival of S2 in one axis (Hanson and Johnson 1996).

A skip list over the ends of the intervals. An interval marks the highest edges that lead from its
begin to its end without leaving it, and the nodes between them. A search descends as in any skip
list; those that mark an edge which spans the value where it steps down, or the node of the value
itself, hold it, each met once.

Faithful to the original but for insertion: levels are drawn, by a seed, for all ends at once, and
the markers are placed once the list is built, which gives what insertions give. Nodes, edges and
markers are stored in arrays, in the order of the ends.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from benchmarks.baselines.is_list import kernels
from fencepost.errors import BrokenIndex, InputError
from fencepost.matches import Boxes, ProbeResult
from fencepost.matches.index import Parameter
from fencepost.matches.result import gathered
from fencepost.tuples import Doubles, Int32s, Int64s

UP = 0.5  # of the nodes go a level up; with 1/4 a search takes as long, and 1.3 × the room


@dataclass(frozen=True, eq=False)
class IsList:
    """A skip list over n intervals.

    build   O(n log n)
    probe   O(log n + k), k results
    size    about 4 log n bytes an interval, 36 an end
    """

    name: ClassVar[str] = "is_list"
    boxes: Boxes
    ends: Doubles  # -inf, the ends in order, +inf
    first: Int64s
    after: Int64s
    edges: Int64s
    edge_marks: Int32s
    nodes: Int64s
    node_marks: Int32s

    @classmethod
    def build(cls, boxes: Boxes, seed: int = 7, **_parameters: Parameter) -> Self:
        """Draw the levels, link the nodes, place the markers."""
        if boxes.axes != 1:
            raise InputError(f"an interval skip list is for one axis, the boxes have {boxes.axes}")
        both = np.concatenate([boxes.lo[0], boxes.hi[0]])
        ends = np.concatenate([[-np.inf], np.unique(both[np.isfinite(both)]), [np.inf]])
        levels = np.random.default_rng(seed).geometric(1 - UP, len(ends))
        top = max(1, int(np.ceil(np.log2(len(ends)))))
        levels = np.minimum(levels, top)
        levels[[0, -1]] = top
        first = np.concatenate([[0], np.cumsum(levels)]).astype(np.int64)
        after = np.full(first[-1], len(ends) - 1, np.int64)
        kernels.link(first, after)
        begin, end = (np.searchsorted(ends, bound[0]) for bound in (boxes.lo, boxes.hi))
        return cls(boxes, ends, first, after, *_marked(begin, end, first, after))

    @property
    def nbytes(self) -> int:
        """Bytes of nodes, edges and markers; the bounds of the boxes are not needed."""
        lists = (self.edges, self.edge_marks, self.nodes, self.node_marks)
        return sum(array.nbytes for array in (self.ends, self.first, self.after, *lists))

    def probe(self, points: Doubles) -> ProbeResult:
        """Descend for each point."""
        given = self.ends, self.first, self.after, self.edges, self.edge_marks
        lists = self.nodes, self.node_marks

        def find(ptr: Int64s, room: Int32s, first: int) -> int:
            return int(kernels.find(points[0], *given, *lists, ptr, room, first))

        return gathered(points.shape[1], find)

    def check(self) -> None:
        """Raise BrokenIndex unless the nodes are in order, and every edge leads upwards."""
        if not np.all(self.ends[:-1] < self.ends[1:]):
            raise BrokenIndex("ends are not in order")
        source = np.repeat(np.arange(len(self.ends) - 1), np.diff(self.first)[:-1])
        if np.any(self.after[: len(source)] <= source):
            raise BrokenIndex("an edge leads back")
        if len(self.edge_marks) != self.edges[-1] or len(self.node_marks) != self.nodes[-1]:
            raise BrokenIndex("there are not as many markers as the lists say")

    def describe(self) -> str:
        """Say how many edges and markers there are."""
        markers = len(self.edge_marks) + len(self.node_marks)
        return f"{len(self.ends):,} nodes, {len(self.after):,} edges, {markers:,} markers"


def _marked(
    begin: Int64s, end: Int64s, first: Int64s, after: Int64s
) -> tuple[Int64s, Int32s, Int64s, Int32s]:
    none = np.empty(0, np.int32)
    edges, nodes = np.zeros(len(after) + 1, np.int64), np.zeros(len(first), np.int64)
    kernels.place(begin, end, first, after, edges[1:], nodes[1:], none, none)
    np.cumsum(edges, out=edges)
    np.cumsum(nodes, out=nodes)
    edge_marks, node_marks = np.empty(edges[-1], np.int32), np.empty(nodes[-1], np.int32)
    kernels.place(begin, end, first, after, edges.copy(), nodes.copy(), edge_marks, node_marks)
    return edges, edge_marks, nodes, node_marks
