"""How many pieces the boxes come to, and which longest side is the best for them.

What a probe costs, in ns, of a point drawn evenly over the grid:

    15 x lists found  +  2.5 x words of the gap array  +  the results, whatever the side

The lists found are, for every size 2**i × 2**j, the 2**(i + j) rectangles of it over a cell, each
with a list if one of the n_ij pieces of that size stands there: 1 - exp(-n_ij / cells). Queries
that crowd share lists: for them it overrates the small sides. Fitted to 200 to 32,000 boxes over
60,000 cells, widths up to 5, 20, 40 and 60, sides 1 to 32: nearly all within 1.4 × of it.

By time alone the best side is always 1, a list for every cell, and has a piece for each cell of a
box. So the side is the quickest whose pieces take no more than twice the boxes' own bounds.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fencepost.matches.boxes import Boxes
from fencepost.matches.papers.vcr.lattice import Lattice, clipped
from fencepost.matches.papers.vcr.rectangles import LONGEST
from fencepost.tuples import Doubles, Int64s

WORD, LIST = 2.5, 15.0
BUDGET = 64  # bytes of pieces a box
FLOOR = 1 << 20  # and for all together what nobody misses


@dataclass(frozen=True, eq=False)
class AxisSpan:
    """What the boxes take up on one axis: cells first to last, and what of it is in the grid."""

    first: Doubles
    last: Doubles
    begin: Int64s
    length: Int64s
    positions: int


@dataclass(frozen=True, eq=False)
class Spans:
    """Boxes, widened to cells."""

    x: AxisSpan
    y: AxisSpan

    @classmethod
    def of(cls, boxes: Boxes, grid: tuple[Lattice, Lattice]) -> "Spans":
        """Widen them. O(n)."""
        both = []
        for axis, lattice in enumerate(grid):
            first, last = lattice.spans(boxes.lo[axis], boxes.hi[axis])
            begin, length = clipped(first, last, lattice.positions)
            both.append(AxisSpan(first, last, begin, length, lattice.positions))
        return cls(*both)

    @property
    def cells(self) -> float:
        """How many cells they take up in all, each for itself."""
        return float(np.dot(self.x.length.astype(np.float64), self.y.length))


def grid_over(boxes: Boxes, positions: int | None) -> tuple[Lattice, Lattice]:
    """Lay a lattice over each of the two axes."""
    x, y = zip(boxes.lo, boxes.hi, strict=True)
    return Lattice.over(*x, positions), Lattice.over(*y, positions)


def pieces_of(spans: Spans, k: int, *, overlapping: bool) -> Int64s:
    """Count the pieces of each box."""
    across, up = (_sizes(span.length, k, overlapping=overlapping) for span in (spans.x, spans.y))
    return np.asarray(across.sum(0) * up.sum(0), np.int64)


def optimal_side(boxes: Boxes, *, positions: int | None = None, overlapping: bool = False) -> int:
    """Choose L for boxes of two axes by the cost model of this module. O(n log L)."""
    spans = Spans.of(boxes, grid_over(boxes, positions))
    return cheapest_side(spans, overlapping=overlapping)


def cheapest_side(spans: Spans, *, overlapping: bool) -> int:
    """Choose L: of those within the budget the quickest, where none is that of fewest pieces."""
    longest = int(max(spans.x.length.max(initial=1), spans.y.length.max(initial=1)))
    costs = {
        side: expected(spans, side, overlapping=overlapping)
        for side in (1 << k for k in range(LONGEST.bit_length()))
        if side < 2 * longest
    }
    budget = max(FLOOR, BUDGET * len(spans.x.length)) / (6 if overlapping else 4)
    within = [side for side, cost in costs.items() if cost.pieces <= budget]
    if within:
        return min(within, key=lambda side: costs[side].ns)
    return min(costs, key=lambda side: costs[side].pieces)


class Cost(NamedTuple):
    """What a side comes to: pieces in all, and what the model says a probe takes."""

    pieces: float
    ns: float


def expected(spans: Spans, side: int, *, overlapping: bool) -> Cost:
    """Work out the model for one side. O(n log² L)."""
    k = side.bit_length() - 1
    across, up = (
        _sizes(span.length, k, overlapping=overlapping).astype(np.float64)
        for span in (spans.x, spans.y)
    )
    pieces = across @ up.T  # [i, j]
    over = np.outer(1 << np.arange(k + 1), 1 << np.arange(k + 1))
    found = over * -np.expm1(-pieces / (spans.x.positions * spans.y.positions))
    words = side * -(-side * (k + 1) ** 2 // 64)
    return Cost(float(pieces.sum()), WORD * words + LIST * float(found.sum()))


def _sizes(length: Int64s, k: int, *, overlapping: bool) -> Int64s:
    """Count, for each side 2**i, the pieces of that side that each length is cut into."""
    sizes = np.zeros((k + 1, len(length)), np.int64)
    if overlapping:
        log = np.minimum(np.frexp(np.maximum(length, 1))[1] - 1, k)
        sizes[log, np.arange(len(length))] = -(-length >> log)
        return sizes
    for i in range(k):
        sizes[i] = (length >> i) & 1
    sizes[k] = length >> k
    return sizes
