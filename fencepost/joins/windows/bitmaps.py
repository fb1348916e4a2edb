"""Bitmaps: duality once more. To a block of 512 old tuples a conjunct is 512 bits, as is a test.

In a block the tuples are sorted along each axis, and the first r of them are a row of bits; a range
is the difference of two rows. So what a conjunct asks of old tuples is settled once for a block and
all new tuples; what a test between the sides lets pass, once for a new tuple and all conjuncts that
share it; what terms let pass, likewise. For a new tuple and a conjunct that it holds, a few rows
are ANDed: 512 pairs.

The blocks are in the order of acceptance, so what is out of the window is left out in whole blocks.

Law: every row is exact, those of sums too, so what is left of the AND are the pairs.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fencepost.joins.windows import bitmap_kernels
from fencepost.joins.windows.bitmap_kernels import BLOCK, ROOM, SPILL
from fencepost.joins.windows.conjuncts import Conditions
from fencepost.joins.windows.inputs import ConjunctMatches, StandingWindow, WindowProbe
from fencepost.joins.windows.pairs import Pairs
from fencepost.simd import WORDS
from fencepost.tuples import Doubles, Int32s, Int64s

FEWEST = 1 << 16  # room for pairs to begin with
MORE = 4  # times as much at each time more is needed

Words = npt.NDArray[np.uint64]


class Blocks(NamedTuple):
    """The window in blocks, sorted in each along every axis, time the last of them.

    along[axis, block, rank] and order[axis, block, rank], places within a block, both flat, have
    `stride` entries an axis; what is behind a block's last tuple is +inf along each axis.
    """

    stride: int
    along: Doubles
    order: npt.NDArray[np.int16]
    ts: Int64s


class PairSlice(NamedTuple):
    """What was found for slices first to last: block after block, new tuple after new tuple."""

    first: int
    last: int
    old: Int32s
    query: Int32s


class PairRoom(NamedTuple):
    """Where pairs are written, and sizes[block, new tuple]: how many of each."""

    sizes: Int64s
    old: Int32s
    query: Int32s


class BlockScratch(NamedTuple):
    """What a block's rows are written to, and of which block or new tuple they are.

    first_of[axis, rank]  the first tuples of a block along an axis, as bits
    cells[axis, cell]     how many tuples come before a cell of even width
    slots[matched]        where the rows of a conjunct are in `chosen`
    chosen[slot], tested[test], allowed[terms]  rows
    """

    first_of: Words
    cells: npt.NDArray[np.int16]
    lows: Doubles  # [axis] where cells begin, and how many to a unit
    scales: Doubles
    ends: Int64s  # [place]
    slots: Int32s
    chosen: Words
    chosen_for: Int32s
    tested: Words
    tested_for: Int64s
    allowed: Words
    allowed_for: Int64s
    left: Words  # [query, word] what is left of the AND
    whose: Int32s
    counts: Int32s  # [query] bits left

    @classmethod
    def of(cls, axes: int, conditions: Conditions, matched: ConjunctMatches) -> "BlockScratch":
        """Make room."""
        slots, used = _slots(matched, len(conditions.query))
        most = int(np.diff(matched.ptr).max(initial=0))

        def rows(count: int) -> Words:
            return np.empty(max(count, 1) * WORDS, np.uint64)

        def nobody(count: int) -> Int64s:
            return np.full(max(count, 1), -1, np.int64)

        tests, terms = len(conditions.tests.code), len(conditions.terms.last)
        return cls(
            first_of=rows((axes + 1) * (BLOCK + 1)),
            cells=np.empty(axes * (bitmap_kernels.CELLS + 1), np.int16),
            lows=np.empty(axes),
            scales=np.empty(axes),
            ends=np.empty(BLOCK, np.int64),
            slots=slots,
            chosen=rows(used),
            chosen_for=np.zeros(max(used, 1), np.int32),
            tested=rows(tests),
            tested_for=nobody(tests),
            allowed=rows(terms),
            allowed_for=nobody(terms),
            left=rows(most + 1),
            whose=np.empty(max(most, 1), np.int32),
            counts=np.empty(max(most, 1), np.int32),
        )


def intersect(probe: WindowProbe) -> Pairs:
    """Find the pairs. O(d) a conjunct and block, O(tests) a match, new tuple and block."""
    new, standing = probe.new, probe.standing
    blocks, count = _blocks(standing), -(-len(standing.ts) // BLOCK)
    scratch = BlockScratch.of(len(standing.values), probe.conditions, probe.matched)
    near = np.empty((len(new.ts), 2), np.int64)
    bitmap_kernels.reach(new, standing, probe.conditions.terms, near)
    sizes = np.zeros((count, len(new.ts)), np.int64)
    parts: list[PairSlice] = []
    state, wanted = np.zeros(3, np.int64), FEWEST  # the block, the new tuple, pairs
    while wanted:
        first = int(state[0]) * len(new.ts) + int(state[1])
        room = max(int(wanted) + SPILL, MORE * max((len(part.old) for part in parts), default=0))
        out = PairRoom(sizes, np.empty(room, np.int32), np.empty(room, np.int32))
        state[2] = 0
        wanted = bitmap_kernels.find(probe, blocks, scratch, near, out, state)
        last = int(state[0]) * len(new.ts) + int(state[1])
        parts.append(PairSlice(first, last, out.old, out.query))
    return _in_order(sizes, parts)


def _slots(matched: ConjunctMatches, conjuncts: int) -> tuple[Int32s, int]:
    """Number the conjuncts that match any new tuple: rows are made for those only."""
    if len(matched.ptr) == 2:
        return np.arange(len(matched.ids), dtype=np.int32), len(matched.ids)
    if len(matched.ids) > conjuncts:
        return matched.ids, conjuncts
    seen = np.zeros(conjuncts, np.bool_)
    seen[matched.ids] = True
    number = np.cumsum(seen, dtype=np.int32)
    return number[matched.ids] - np.int32(1), int(number[-1])


def _blocks(standing: StandingWindow) -> Blocks:
    """Sort each block along each axis. O(n d log 512)."""
    axes, n = standing.values.shape
    count = -(-n // BLOCK)
    along = np.full((axes, count * BLOCK), np.inf)
    along[:, :n] = standing.values
    along = along.reshape(axes, count, BLOCK)
    order = np.empty((axes + 1, count, ROOM), np.int16)
    order[:axes, :, :BLOCK] = np.argsort(along, axis=2)
    padded = np.full((axes, count, ROOM), np.inf)
    padded[:, :, :BLOCK] = np.sort(along, axis=2)
    ts = np.full(count * BLOCK, np.iinfo(np.int64).max, np.int64)
    ts[:n] = standing.ts
    ts = ts.reshape(count, BLOCK)
    order[axes, :, :BLOCK] = np.argsort(ts, axis=1)
    in_time = np.sort(ts, axis=1).reshape(-1)
    return Blocks(count * ROOM, padded.reshape(-1), order.reshape(-1), in_time)


def _in_order(sizes: Int64s, parts: list[PairSlice]) -> Pairs:
    """Bring what was found block by block into the order of new tuples."""
    total = int(sizes.sum())
    pairs = Pairs(np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, np.int32))
    begins = np.zeros(sizes.size, np.int64)
    np.cumsum(sizes.T.reshape(-1)[:-1], out=begins[1:])
    begins = np.ascontiguousarray(begins.reshape(sizes.shape[::-1]).T)
    for part in parts:
        bitmap_kernels.gather(sizes, part, begins, (pairs.new, pairs.old, pairs.query))
    return pairs
