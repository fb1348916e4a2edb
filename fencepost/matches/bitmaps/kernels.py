"""The bitmaps, compiled: in which stretch a value stands, how rows are written, and how they meet.

The kernels of a probe count no references (`_nrt=False`, so they allocate nothing): with it
Numba made two dozen atomic operations a block, 100 ns of 140.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils

from fencepost.simd import (
    LANES,
    LONG,
    ROW,
    WORDS,
    bits,
    bytes_from,
    bytes_up_to,
    compiled,
    counted,
    lowest,
    ones,
    prefetch,
    put,
    up_to,
)
from fencepost.tuples import Doubles, Int32s, Int64s

U = np.uint64
BLOCK = 64 * WORDS  # boxes that a row speaks of
CUTS = 256  # places for cuts on an axis; the last ones are +inf, which no value reaches
MANY = 40  # bits of a block from which on it is emptied sixteen places at a time
AHEAD = 2  # blocks whose rows are fetched before they are needed
SPILL = BLOCK + LANES  # room that one block may fill, and what is written too much

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]


class BitmapTable(NamedTuple):
    """An index, as the kernels see it: `size` words a block, low[axis, block] and high flat."""

    words: Words
    size: int
    low: Bytes
    high: Bytes
    ids: Int32s
    bounds: Doubles


class BitmapProbe(NamedTuple):
    """Points, and their stretches: rows[point, axis] of all, ranks[axis, point] of the axis."""

    axes: int
    many: int
    rows: npt.NDArray[np.uint32]
    ranks: Bytes
    values: Doubles


class BitmapScratch(NamedTuple):
    """Room for one call: the blocks in hand, and the rows of a block met."""

    blocks: npt.NDArray[np.uint32]
    sure: Words
    unsure: Words


def meet(words, base, rows, row_at, axes, sure, unsure):
    """AND the rows of a point, one an axis: who is sure to hold it, and who may.

    Row r begins at words[base + 16 r]: eight words of those who hold some of the stretch, eight of
    those who hold all of it. Returns, from the lowest bit up, which words of `sure` have any bit,
    which of `unsure`, eight bits each, and how many are sure.
    """
    some, whole = np.full((2, WORDS), ~U(0))
    for axis in range(axes):
        at = base + U(rows[row_at + U(axis)]) * U(2 * WORDS)
        some &= words[at : at + U(WORDS)]
        whole &= words[at + U(WORDS) : at + U(2 * WORDS)]
    sure[:WORDS], unsure[:WORDS] = some & whole, some & ~whole
    filled = sum(int(word != 0) << k for k, word in enumerate((*sure[:WORDS], *unsure[:WORDS])))
    return U(filled | sum(map(ones, sure[:WORDS])) << 2 * WORDS)


@compiled(meet, types.uint64)
def _meet(builder, words, base, rows, row_at, axes, sure, unsure):
    ones_only = ir.Constant(ROW, [(1 << 64) - 1] * WORDS)
    some_at, whole_at = (cgutils.alloca_once_value(builder, ones_only) for _ in range(2))
    with cgutils.for_range(builder, axes, intp=LONG) as loop:
        row = builder.load(builder.gep(rows.array.data, [builder.add(row_at, loop.index)]))
        at = builder.add(base, builder.mul(builder.zext(row, LONG), LONG(2 * WORDS)))
        for half, met_at in enumerate((some_at, whole_at)):
            row = words.load(builder.add(at, LONG(half * WORDS)), ROW)
            builder.store(builder.and_(builder.load(met_at), row), met_at)
    some, whole = builder.load(some_at), builder.load(whole_at)
    known, unknown = builder.and_(some, whole), builder.and_(some, builder.not_(whole))
    sure.store(LONG(0), known)
    unsure.store(LONG(0), unknown)
    nothing = ir.Constant(ROW, None)
    filled = bits(builder, builder.icmp_unsigned("!=", known, nothing))
    others = bits(builder, builder.icmp_unsigned("!=", unknown, nothing))
    filled = builder.or_(filled, builder.shl(others, LONG(WORDS)))
    return builder.or_(filled, builder.shl(counted(builder, known), LONG(2 * WORDS)))


@njit(inline="always")
def _rank(coarse, cuts, axis, value):
    """How many cuts of an axis are not above the value: two comparisons of sixteen."""
    group = min(ones(up_to(coarse, axis * U(LANES), value)), U(LANES - 1))
    return group * U(LANES) + ones(up_to(cuts, axis * U(CUTS) + group * U(LANES), value))


@njit(cache=True, nogil=True, error_model="numpy")
def stretches(coarse: Doubles, cuts: Doubles, begin: Int64s, points: Doubles, rows, ranks):
    """Find in which stretch of each axis each point stands. 4 ns a point and axis."""
    axes, many = U(len(points)), U(points.shape[1])
    pad = U(len(ranks)) // axes
    for axis in range(axes):
        first = np.uint32(begin[axis])
        for i in range(many):
            rank = _rank(coarse, cuts, axis, points[axis, i])
            rows[i * axes + axis] = first + np.uint32(rank)
            ranks[axis * pad + i] = np.uint8(rank)


@njit(cache=True, nogil=True, error_model="numpy")
def write(coarse: Doubles, cuts: Doubles, begin: Int64s, bounds: Doubles, words, low, high):
    """Write the rows of all blocks, and in which stretches of each axis a block's boxes lie.

    bounds[box, axis, 0 or 1], in order; words[block, row, 0 maybe or 1 sure, word]; low[axis,
    block] and high. A box flips its bit where it begins and behind where it ends, and then each row
    takes over what stands in the one before: O(1) a box, axis and bitmap, and O(1) a word.
    """
    axes, many = len(begin) - 1, len(bounds)
    for block in range(len(words)):
        for axis in range(axes):
            first, last = begin[axis], begin[axis + 1]
            words[block, first:last] = U(0)
            own = cuts[axis * CUTS : axis * CUTS + last - first - 1]
            n, least, most = np.int64(len(own)), np.int64(CUTS), np.int64(0)
            for k in range(block * BLOCK, min((block + 1) * BLOCK, many)):
                word, bit = (k >> 6) & (WORDS - 1), U(1) << U(k & 63)
                lo, hi = bounds[k, axis, 0], bounds[k, axis, 1]
                a = min(np.int64(_rank(coarse, cuts, U(axis), lo)), n)
                z = min(np.int64(_rank(coarse, cuts, U(axis), hi)), n)
                if z > 0 and own[z - 1] == hi:
                    z -= 1
                least, most = min(least, a), max(most, z)
                _flip(words, block, first, last, a, z, 0, word, bit)
                if lo > -np.inf and not (a > 0 and own[a - 1] == lo):
                    a += 1
                if hi < np.inf and not (z < n and own[z] == hi):
                    z -= 1
                if a <= z:
                    _flip(words, block, first, last, a, z, 1, word, bit)
            low[axis, block], high[axis, block] = least, most
            for row in range(first + 1, last):
                for word in range(WORDS):
                    words[block, row, 0, word] ^= words[block, row - 1, 0, word]
                    words[block, row, 1, word] ^= words[block, row - 1, 1, word]


@njit(inline="always")
def _flip(words, block, first, last, a, z, which, word, bit):
    words[block, first + a, which, word] ^= bit
    if first + z + 1 < last:
        words[block, first + z + 1, which, word] ^= bit


@njit(inline="always")
def _holds(bounds, k, axes, values, i):
    """Compare on every axis, without a branch that could be guessed wrong."""
    at, inside = k * axes * U(2), True
    for axis in range(axes):
        v = values[i * axes + axis]
        inside &= (bounds[at] <= v) & (v < bounds[at + U(1)])
        at += U(2)
    return inside


@njit(inline="always")
def _of_block(block, words, size, ids, bounds, rows, values, axes, i, sure, unsure, room, w):
    """Write the boxes of a block that hold point i, and return where they end.

    Of a few, four of a word's bits at a time, without asking whether there are four: what is too
    much is written over. Of many, all words sixteen places at a time (1.9 against 2.3 ns a result).
    """
    met = meet(words, block * size, rows, i * axes, axes, sure, unsure)
    if met == U(0):
        return w
    here = block * U(BLOCK)
    if (met >> U(2 * WORDS)) > U(MANY):
        for word in range(U(WORDS)):
            left, first = sure[word], here + word * U(64)
            for part in range(U(0), U(64), U(LANES)):
                w = put(ids, first + part, room, w, left >> part)
    else:
        filled = met & U(255)
        while filled != U(0):
            word = lowest(filled)
            filled &= filled - U(1)
            left, first = sure[word], here + word * U(64)
            end = w + ones(left)
            while True:
                for _ in range(4):
                    room[w] = ids[first + lowest(left)]
                    left &= left - U(1)
                    w += U(1)
                if w >= end:
                    break
            w = end
    filled = (met >> U(WORDS)) & U(255)
    while filled != U(0):
        word = lowest(filled)
        filled &= filled - U(1)
        left, first = unsure[word], here + word * U(64)
        while left != U(0):
            k = first + lowest(left)
            room[w] = ids[k]
            w += U(_holds(bounds, k, axes, values, i))
            left &= left - U(1)
    return w


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def by_point(
    table: BitmapTable,
    probe: BitmapProbe,
    scratch: BitmapScratch,
    ptr: Int64s,
    room: Int32s,
    start: int,
):
    """Find the boxes of points from `start` on, point by point; return the first that did not fit.

    First which of the blocks may have some, sixty-four at a time; then block by block, the rows of
    those to come already on their way.
    """
    words, low, high, ids, bounds = table.words, table.low, table.high, table.ids, table.bounds
    rows, ranks, values = probe.rows, probe.ranks, probe.values
    blocks, sure, unsure = scratch.blocks, scratch.sure, scratch.unsure
    axes, size, limit = U(probe.axes), U(table.size), len(room) - SPILL
    pad, ranks_pad, w = U(len(low)) // axes, U(len(ranks)) // axes, U(ptr[start])
    for i in range(U(start), U(probe.many)):
        found = U(0)
        for at in range(U(0), pad, U(64)):
            left = ~U(0)
            for axis in range(axes):
                rank = U(ranks[axis * ranks_pad + i])
                left &= bytes_up_to(low, axis * pad + at, rank) & bytes_from(
                    high, axis * pad + at, rank
                )
            while left != U(0):
                blocks[found] = at + lowest(left)
                left &= left - U(1)
                found += U(1)
        for n in range(found, found + U(AHEAD)):
            blocks[n] = 0
        for n in range(found):
            ahead = U(blocks[n + U(AHEAD)]) * size
            for axis in range(axes):
                row = ahead + U(rows[i * axes + axis]) * U(2 * WORDS)
                prefetch(words, row)
                prefetch(words, row + U(WORDS))
            if np.int64(w) > limit:
                return np.int64(i)
            w = _of_block(
                U(blocks[n]), words, size, ids, bounds, rows, values, axes, i,
                sure, unsure, room, w,
            )  # fmt: skip
        ptr[i + U(1)] = np.int64(w)
    return np.int64(probe.many)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def by_block(
    table: BitmapTable, probe: BitmapProbe, scratch: BitmapScratch, count_of_blocks: int,
    state: Int64s, room: Int32s, whose: Int32s, sizes: Int32s,
):  # fmt: skip
    """Find the boxes of all points block by block, so that a block's rows stay in the cache.

    What is found for a point in a block is a slice: `whose` it is and its size, the ids of one
    behind those of the other in `room`. `state` is how far it came: block, point, end of the ids,
    end of the slices. Who calls makes room and calls again, until all blocks are done.
    """
    words, low, high, ids, bounds = table.words, table.low, table.high, table.ids, table.bounds
    rows, ranks, values = probe.rows, probe.ranks, probe.values
    sure, unsure, axes, size = scratch.sure, scratch.unsure, U(probe.axes), U(table.size)
    pad, ranks_pad, many = U(len(low)) // axes, U(len(ranks)) // axes, U(probe.many)
    limit, slices = len(room) - SPILL, len(whose)
    from_point, w, s = U(state[1]), U(state[2]), U(state[3])
    for block in range(U(state[0]), U(count_of_blocks)):
        each = U(2 * BLOCK) * axes
        for line in range(block * each, (block + U(1)) * each, U(8)):
            prefetch(bounds, line)  # 7.4 instead of 11.9 µs a point at 8 axes
        for at in range(from_point & ~U(63), many, U(64)):
            left = ~U(0)
            if from_point > at:
                left <<= from_point - at
            if many - at < U(64):
                left &= (U(1) << (many - at)) - U(1)
            for axis in range(axes):
                place = axis * ranks_pad + at
                left &= bytes_from(ranks, place, U(low[axis * pad + block]))
                left &= bytes_up_to(ranks, place, U(high[axis * pad + block]))
                if left == U(0):
                    break
            while left != U(0):
                i = at + lowest(left)
                left &= left - U(1)
                if np.int64(w) > limit or np.int64(s) >= slices:
                    state[0], state[1], state[2], state[3] = block, i, w, s
                    return
                end = _of_block(
                    block, words, size, ids, bounds, rows, values, axes, i, sure, unsure, room, w
                )
                whose[s], sizes[s] = np.int32(i), np.int32(end - w)
                s += U(end > w)
                w = end
        from_point = U(0)
    state[0], state[1], state[2], state[3] = count_of_blocks, 0, w, s
