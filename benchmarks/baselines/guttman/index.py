"""Guttman's R-tree (1984), the rival of S2 in two axes.

Boxes are inserted one by one: down to the leaf whose box grows least, and an overfull node is split
by the quadratic rule, neither half below two fifths of the capacity.

Faithful to the original; nodes are arrays, an entry's four bounds in half a cache line. S2 says
nothing of the capacity; of 8 to 64, 32 is about the quickest, on crowded boxes and on uniform ones.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from benchmarks.baselines.guttman import kernels
from fencepost.errors import BrokenIndex, InputError
from fencepost.matches import Boxes, ProbeResult
from fencepost.matches.index import Parameter
from fencepost.matches.result import gathered
from fencepost.tuples import Bools, Doubles, Int32s, Int64s

LEAST = 0.4


@dataclass(frozen=True, eq=False)
class Guttman:
    """An R-tree of n boxes of two axes, nodes of up to M entries.

    build   O(n M log n), and M² more a split
    probe   O(M x nodes visited): log n of them at best, all at worst
    size    36 bytes an entry, nodes about 70% full
    """

    name: ClassVar[str] = "guttman"
    boxes: Boxes
    root: int
    bounds: Doubles  # [nodes, M + 1, 4]
    below: Int32s
    counts: Int32s
    leaf: Bools

    @classmethod
    def build(cls, boxes: Boxes, capacity: int = 32, **_parameters: Parameter) -> Self:
        """Insert the boxes in their order."""
        if boxes.axes != 2 or capacity < 5:
            raise InputError(
                f"{boxes.axes} axes, capacity {capacity}: 2 axes, and at least 5 entries expected"
            )
        least = int(LEAST * capacity)
        nodes = len(boxes) // (least - 1) + 8
        bounds = np.empty((nodes, capacity + 1, 4))
        below = np.empty((nodes, capacity + 1), np.int32)
        counts, leaf = np.zeros(nodes, np.int32), np.ones(nodes, np.bool_)
        rows = np.ascontiguousarray(np.concatenate([boxes.lo, boxes.hi]).T)
        frame = np.concatenate(boxes.extent())
        root, used = kernels.grow(rows, bounds, below, counts, leaf, least, frame)
        kept = (array[:used].copy() for array in (bounds, below, counts, leaf))
        return cls(boxes, int(root), *kept)

    @property
    def nbytes(self) -> int:
        """Bytes of the nodes; the bounds of the boxes are in the leaves."""
        arrays = (self.bounds, self.below, self.counts, self.leaf)
        return sum(array.nbytes for array in arrays)

    def probe(self, points: Doubles) -> ProbeResult:
        """Search for each point."""
        nodes = self.root, self.bounds, self.below, self.counts, self.leaf

        def find(ptr: Int64s, room: Int32s, first: int) -> int:
            return int(kernels.find(points, len(self.boxes), *nodes, ptr, room, first))

        count = points.shape[1]
        return gathered(count, find, 4.0 + len(self.boxes) / max(count, 1))

    def check(self) -> None:
        """Raise BrokenIndex unless each box occurs once, and entries are within their parents'."""
        seen = np.zeros(len(self.boxes), np.int64)
        waiting = [(self.root, np.array([-np.inf, -np.inf, np.inf, np.inf]))]
        while waiting:
            node, cover = waiting.pop()
            for s in range(self.counts[node]):
                box = self.bounds[node, s]
                if np.any(box[:2] < cover[:2]) or np.any(box[2:] > cover[2:]):
                    raise BrokenIndex(f"node {node}: {box} is not within {cover}")
                if self.leaf[node]:
                    seen[self.below[node, s]] += 1
                else:
                    waiting.append((int(self.below[node, s]), box))
        for box in np.flatnonzero(seen != 1)[:1]:
            raise BrokenIndex(f"box {box} stands {seen[box]} times in the leaves")

    def describe(self) -> str:
        """Say how many nodes there are."""
        full = self.counts.mean() / (self.bounds.shape[1] - 1)
        return f"{len(self.counts):,} nodes, {full:.0%} full"
