"""Intervals by width: the index of one axis.

Sort intervals of about the same width by where they begin, and those that hold a value form one
run: one that begins at most the least width below it holds it for sure, one that begins more than
the greatest width below it does not, and only those between need a test. A *rung* is such a list.
How many rungs are worthwhile is a matter of cost: each costs a look-up, and the wider the spread of
its widths, the more tests.

Widths, and where a rung is cut, are measured in positions of a ruler of even depth, so crowds and
deserts are resolved equally well.

Law: at every cell of a rung, with the places of its row, the intervals before `maybe` end below the
cell; those from `sure` to `begun` begin below the cell and end above it; those from `begun` to
`begin` begin in it; the rest begin above. All of that is in terms of positions, which never fall as
values grow: no arithmetic on bounds, no rounding, and an infinite bound is like any other.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np

from fencepost.errors import BrokenIndex, InputError
from fencepost.matches.boxes import Boxes
from fencepost.matches.index import Parameter
from fencepost.matches.ladder.ruler import OUTSIDE, DepthRuler
from fencepost.matches.parameters import only, whole
from fencepost.matches.result import ProbeResult, gathered
from fencepost.tuples import Doubles, Int32s, Int64s

MOST_PIECES = 256
PAD = 32  # entries past the end that a round of copying may read
BOXES_A_CELL = 2
LOOK_UP, TEST = 80.0, 0.15
"""ns a rung and point, ns a candidate: of (50, 0.5), (50, 0.25), (50, 0.15), (50, 0.1) and
(80, 0.15) the last is quickest in the mean over widths and sizes, 1.23 × as fast as the first."""
BINS_AN_OCTAVE = 4
MOST_RUNGS = 24


@dataclass(frozen=True, eq=False)
class Ladder:
    """Finds the intervals that hold a value.

    build   O(n log n)
    probe   O(rungs + results + candidates between the least and the greatest width of a rung)
    size    24 bytes an interval and 16 a cell, of which there is one for two intervals or so
    """

    name: ClassVar[str] = "ladder"
    boxes: Boxes
    ruler: DepthRuler
    rungs: Int64s  # [rung, (shift of a position to its cell, first row in the table)]
    ends: Int64s  # of each rung, the place of its first interval; and all of them
    table: Int32s  # [row, (maybe, sure, begun, begin)]
    ids: Int32s
    lo: Doubles
    hi: Doubles
    expected: float  # results of a point drawn from where the bounds are

    @classmethod
    def build(cls, boxes: Boxes, **parameters: Parameter) -> Self:
        """Sort the intervals into rungs. `rungs` is the most there may be of finite ones."""
        only(cls.name, parameters, "rungs")
        most = whole(parameters, "rungs", 1, MOST_RUNGS) or MOST_RUNGS
        if boxes.axes != 1:
            raise InputError(f"a ladder is for 1 axis, the boxes have {boxes.axes}")
        lo, hi = boxes.lo[0], boxes.hi[0]
        ruler = DepthRuler.over(np.concatenate((lo, hi)), MOST_PIECES)
        begin, end = ruler.positions(lo), ruler.positions(hi)
        rung = _rungs(begin, end, ruler.size, most)
        order = np.argsort(np.where(np.isfinite(lo), lo, hi))
        order = order[np.argsort(rung[order], kind="stable")]
        ends = np.concatenate(([0], np.cumsum(np.bincount(rung)))).astype(np.int64)
        rungs, table = _tables(begin[order], end[order], ends, ruler)
        covered = np.minimum(end, ruler.size) - np.maximum(begin, 0)
        return cls(
            boxes,
            ruler,
            rungs,
            ends,
            table,
            np.concatenate((order, np.zeros(PAD))).astype(np.int32),
            np.concatenate((lo[order], np.full(PAD, np.inf))),
            np.concatenate((hi[order], np.full(PAD, -np.inf))),
            float(covered.sum() / ruler.size),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays; the boxes themselves are not needed."""
        arrays = (self.rungs, self.ends, self.table, self.ids, self.lo, self.hi)
        return self.ruler.nbytes + sum(array.nbytes for array in arrays)

    def probe(self, points: Doubles) -> ProbeResult:
        """Find the intervals that hold each point, in one pass."""
        from fencepost.matches.ladder.kernels import find

        if not len(self.boxes):
            return ProbeResult.nothing(points.shape[1])
        parts = (self.ruler.marks, self.rungs, self.table, self.ids, self.lo, self.hi, points[0])
        return gathered(
            points.shape[1],
            lambda ptr, room, first: find(*parts, ptr, room, first),
            1.5 * self.expected + 4,
        )

    def check(self) -> None:
        """Raise BrokenIndex unless each interval is listed once and every row obeys the law."""
        self.ruler.check("ladder")
        count = len(self.boxes)
        ids = self.ids[:count]
        if len(self.ids) != count + PAD or (np.sort(ids) != np.arange(count)).any():
            raise BrokenIndex(f"ladder: the rungs do not hold each of {count} intervals once")
        for name, beside, bounds in (
            ("lo", self.lo, self.boxes.lo),
            ("hi", self.hi, self.boxes.hi),
        ):
            wrong = np.flatnonzero(beside[:count] != bounds[0, ids])
            if len(wrong):
                k = int(wrong[0])
                raise BrokenIndex(
                    f"ladder: {name} beside interval {ids[k]} is {beside[k]}, "
                    f"its own is {bounds[0, ids[k]]}"
                )
        begin, end = (self.ruler.positions(ends[:count]) for ends in (self.lo, self.hi))
        for r, (shift, row) in enumerate(self.rungs):
            last = self.rungs[r + 1, 1] if r + 1 < len(self.rungs) else len(self.table)
            part = slice(self.ends[r], self.ends[r + 1])
            _check_rung(r, begin[part] >> shift, end[part] >> shift,
                        self.table[row:last] - self.ends[r])  # fmt: skip

    def describe(self) -> str:
        """Say how many rungs there are."""
        rungs = len(self.rungs)
        return (
            f"{len(self.boxes):,} intervals on {rungs} {'rung' if rungs == 1 else 'rungs'}, "
            f"{len(self.table):,} cells, about {self.expected:,.1f} results a point"
        )


def _rungs(begin: Int64s, end: Int64s, size: int, most: int) -> Int64s:
    """Return the rung of each interval.

    Those with an infinite end have rungs of their own, where nothing is tested but at one cell.
    """
    rung = np.where(begin < 0, np.where(end >= size, 2, 1), np.where(end >= size, 3, 0))
    finite = np.flatnonzero(rung == 0)
    rung += most - 1
    if len(finite):
        width = end[finite] - begin[finite]
        bins = (BINS_AN_OCTAVE * np.log2(width + 1.0)).astype(np.int64)
        rung[finite] = _parted(bins, width, size, most)[bins]
    return np.unique(rung, return_inverse=True)[1]


def _parted(bins: Int64s, width: Int64s, size: int, most: int) -> Int64s:
    """Part the bins of widths into at most `most` rungs at the least cost; return each bin's rung.

    A rung from bin i to bin j costs a look-up, and a test for each interval that begins between the
    greatest and the least width below a value.
    """
    counts = np.bincount(bins)
    some = np.flatnonzero(counts)
    order = np.argsort(bins, kind="stable")
    starts = np.cumsum(counts[some]) - counts[some]
    least = np.minimum.reduceat(width[order], starts)
    greatest = np.maximum.reduceat(width[order], starts)
    before = np.concatenate(([0], np.cumsum(counts[some])))
    last = len(some)
    # cost[i, j] is that of a rung over the bins i to j; best[k, j] that of the bins below j on k.
    many = before[None, 1:] - before[:-1, None]
    cost = LOOK_UP + TEST * many * np.maximum(greatest[None, :] - least[:, None], 0) / size
    cost[np.tril_indices(last, -1)] = np.inf
    best = np.full((most + 1, last + 1), np.inf)
    best[0, 0] = 0.0
    begun = np.zeros((most + 1, last + 1), np.int64)
    for k in range(1, min(most, last) + 1):
        total = best[k - 1, :-1, None] + cost
        begun[k, 1:] = np.argmin(total, axis=0)
        best[k, 1:] = np.min(total, axis=0)
    k, j = int(np.argmin(best[:, last])), last
    rung = np.zeros(len(counts), np.int64)
    while j:
        i = int(begun[k, j])
        rung[some[i:j]] = k - 1
        k, j = k - 1, i
    return rung


def _tables(begin: Int64s, end: Int64s, ends: Int64s, ruler: DepthRuler) -> tuple[Int64s, Int32s]:
    """Make the rows of each rung, with a cell for every few intervals."""
    rungs, tables, row = [], [], 0
    for first, stop in pairwise(ends):
        cells = max(1, int(stop - first) // BOXES_A_CELL)
        shift = max(0, ruler.bits - (cells - 1).bit_length())
        table = _rows(
            begin[first:stop] >> shift,
            end[first:stop] >> shift,
            ((ruler.size - 1) >> shift) + 1,
        )
        rungs.append((shift, row))
        tables.append(table + first)
        row += len(table)
    if not tables:
        return np.zeros((0, 2), np.int64), np.zeros((0, 4), np.int32)
    return np.array(rungs, np.int64), np.concatenate(tables).astype(np.int32)


def _rows(begin: Int64s, end: Int64s, cells: int) -> Int64s:
    """Return the rows of the cells.

    How many come before any that reaches the cell, how many before all that reach above it, how
    many begin below it, and how many at most in it.
    """
    reached = np.maximum.accumulate(end)
    least = np.minimum.accumulate(end[::-1])[::-1]
    rows = np.empty((cells, 4), np.int64)
    rows[:, 0] = _below(reached, cells)[:-1]
    rows[:, 2] = _below(begin, cells)[:-1]
    rows[:, 1] = np.minimum(_below(least, cells)[1:], rows[:, 2])
    rows[:, 3] = _below(begin, cells)[1:]
    return rows


def _below(at: Int64s, cells: int) -> Int64s:
    """Count, for each cell and for the end, those below it."""
    counts = np.bincount(np.clip(at, -1, cells) + 1, minlength=cells + 2)
    return np.cumsum(counts)[: cells + 1]


def _check_rung(rung: int, begin: Int64s, end: Int64s, table: Int32s) -> None:
    """Check a rung's rows against the law, by all of its intervals."""
    cells = len(table)
    if (np.diff(table, axis=1) < 0).any() or (table < 0).any() or (table > len(begin)).any():
        raise BrokenIndex(f"ladder: rung {rung} has a row that falls, or leaves the rung")
    reached = np.concatenate(([-OUTSIDE], np.maximum.accumulate(end)))
    least = np.append(np.minimum.accumulate(end[::-1])[::-1], OUTSIDE)
    below = np.concatenate(([-OUTSIDE], np.maximum.accumulate(begin)))
    above = np.append(np.minimum.accumulate(begin[::-1])[::-1], OUTSIDE)
    cell = np.arange(cells)
    maybe, sure, begun, begin_in = table.T
    for law, holds in (
        ("one that ends in it or above it stands before maybe", reached[maybe] < cell),
        ("one that is sure ends in it or below it", (least[sure] > cell) | (sure == begun)),
        ("one that has begun begins in it or above it", below[begun] < cell),
        ("one that begins later begins in it or below it", above[begin_in] > cell),
    ):
        wrong = np.flatnonzero(~holds)
        if len(wrong):
            raise BrokenIndex(f"ladder: rung {rung}, cell {wrong[0]}: {law}")
