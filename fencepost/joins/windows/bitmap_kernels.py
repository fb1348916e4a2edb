"""Bitmaps, compiled: the rows of a block, and what is left when they meet.

The kernels count no references (`_nrt=False`, so they allocate nothing and make no views): with it
a conjunct in a block cost 125 to 570 ns, most of it atomic operations.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from fencepost.joins.windows.conjuncts import FACTS, FIRST, LAST, REFINED, TERM
from fencepost.joins.windows.kernels import (
    U,
    compares,
    first_at_least,
    rows,
    run_of,
    times,
)
from fencepost.simd import (
    WORDS,
    and_rows,
    copy_range,
    keep_range,
    lowest,
    ones,
    or_row,
    prefetch,
)

BLOCK = 64 * WORDS  # old tuples in a block
PAD = 8  # entries behind a block's values, +inf, that may be read
ROOM = BLOCK + PAD
ROWS = (BLOCK + 1) * WORDS  # words of an axis
CELLS = 2 * BLOCK  # even cells along an axis, to find a rank in one look-up
STEEPEST = 1e300
NEAR = 4  # tuples of a cell that are passed without a branch
AHEAD = 8  # conjuncts whose lines are fetched before they are needed
SPILL = 8  # entries behind the pairs that may be written, and are written over

W = U(WORDS)


class Block(NamedTuple):
    """Which block it is, its first tuple, how many it has."""

    number: int | np.uint64
    base: int | np.uint64
    size: int | np.uint64


@njit(cache=True, nogil=True, error_model="numpy")
def reach(new, standing, terms, near):
    """Find between which rows each new tuple may pair at all, whatever the terms."""
    for i in range(U(len(new.ts))):
        least, most = np.int64(len(standing.ts)), np.int64(0)
        for t in range(U(len(terms.last) - terms.wide), U(len(terms.last))):
            first, last = rows(new, standing, terms, i, t)
            if first < last:
                least, most = min(least, np.int64(first)), max(most, np.int64(last))
        near[i, 0], near[i, 1] = least, most


@njit(inline="always")
def _fill(first_of, own, order, begin, size):
    """Write the rows of one axis: row r has the first r tuples. O(1) a word."""
    for w in range(W):
        first_of[own + w] = U(0)
    for r in range(size):
        here = own + (r + U(1)) * W
        copy_range(first_of, own, here - W, first_of, here)
        place = U(order[begin + r])
        first_of[here + (place >> U(6))] |= U(1) << (place & U(63))


@njit(inline="always")
def _cell(low, scale, value):
    if scale == 0.0:  # the values are all alike, or farther apart than any double
        return U(0)
    return U(min(max((value - low) * scale, 0.0), float(CELLS - 1)))


@njit(inline="always")
def _count(cells, own, along, begin, size, low, scale):
    """Count for each cell how many tuples come before it."""
    next_ = U(0)
    for r in range(size):
        cell = _cell(low, scale, along[begin + r])
        while next_ <= cell:
            cells[own + next_] = np.int16(r)
            next_ += U(1)
    while next_ <= U(CELLS):
        cells[own + next_] = np.int16(size)
        next_ += U(1)


# Whoever is behind a cell is above all values of it, so four are compared, whosever they are:
# a search within the cell was a coin's toss at each bound.
@njit(inline="always")
def _rank(cells, own, along, begin, low, scale, value):
    """Find how many tuples of a block stand below the value."""
    cell = own + _cell(low, scale, value)
    first = begin + U(cells[cell])
    rank = first
    for k in range(U(NEAR)):
        rank += U(along[first + k] < value)
    if rank == first + U(NEAR):
        rank = first_at_least(along, value, rank, begin + U(cells[cell + U(1)]))
    return rank - begin


@njit(inline="always")
def _choose(probe, j, slot, blocks, block, scratch):
    """Write the row of what a conjunct asks of the block's tuples alone."""
    conditions, size = probe.conditions, block.size
    chosen, first_of, along, cells = scratch.chosen, scratch.first_of, blocks.along, scratch.cells
    axes, at, any_ = U(len(scratch.lows)), slot * W, False
    edge = j * U(2) * axes
    for axis in range(axes):
        lo, hi = conditions.bounds[edge], conditions.bounds[edge + U(1)]
        edge += U(2)
        if lo == -np.inf and hi == np.inf:
            continue
        low, scale = scratch.lows[axis], scratch.scales[axis]
        here = axis * U(blocks.stride) + block.number * U(ROOM)
        own, line = axis * U(CELLS + 1), axis * U(ROWS)
        begin = line + _rank(cells, own, along, here, low, scale, lo) * W
        end = line + _rank(cells, own, along, here, low, scale, hi) * W
        if any_:
            keep_range(first_of, begin, end, chosen, at)
        else:
            copy_range(first_of, begin, end, chosen, at)
        any_ = True
    if not any_:
        copy_range(first_of, U(0), size * W, chosen, at)
    if conditions.facts[j * U(FACTS) + U(REFINED)]:
        _refine(conditions, j, probe.standing.values, block.base, chosen, at)


@njit(nogil=True, error_model="numpy", _nrt=False)
def _refine(conditions, j, values, base, chosen, at):
    """Drop the tuples that fail a test of their own."""
    for w in range(W):
        bits = chosen[at + w]
        while bits != U(0):
            bit = lowest(bits)
            bits &= bits - U(1)
            row = base + (w << U(6)) + bit
            for k in range(U(conditions.within_ptr[j]), U(conditions.within_ptr[j + U(1)])):
                one = values[U(conditions.within[k, 0]), row] + conditions.within_plus[k, 0]
                other = values[U(conditions.within[k, 2]), row] + conditions.within_plus[k, 1]
                if not compares(conditions.within[k, 1], one, other):
                    chosen[at + w] &= ~(U(1) << bit)


@njit(nogil=True, error_model="numpy", _nrt=False)
def _allow(probe, i, t, blocks, block, scratch):
    """Write the row of the tuples that terms let pair with new tuple i; say whether any do."""
    new, standing, conditions, _ = probe
    base, size = block.base, block.size
    first, last = rows(new, standing, conditions.terms, i, t)
    first, last = max(first, base), min(last, base + size)
    if first >= last:
        return False
    at, own, first_of = t * W, U(len(scratch.lows)) * U(ROWS), scratch.first_of
    earliest, latest = times(new, conditions.terms, i, t)
    begin = first_at_least(blocks.ts, earliest, base, base + size) - base
    end = max(begin, first_at_least(blocks.ts, latest + 1, base, base + size) - base)
    first, last = first - base, last - base
    begin, end = own + begin * W, own + end * W
    any_ = U(0)
    for w in range(W):
        here = w << U(6)
        bits = first_of[end + w] ^ first_of[begin + w]
        if first > here:
            bits = bits & (~U(0) << (first - here)) if first - here < U(64) else U(0)
        if last < here + U(64):
            bits = bits & ((U(1) << (last - here)) - U(1)) if last > here else U(0)
        scratch.allowed[at + w] = bits
        any_ |= bits
    return any_ != U(0)


@njit(nogil=True, error_model="numpy", _nrt=False)
def _test(probe, i, t, blocks, block, scratch):
    """Write the row of the tuples that pass a test with new tuple i."""
    tests, first_of = probe.conditions.tests, scratch.first_of
    axis = U(tests.old_axis[t])
    here, own = axis * U(blocks.stride) + block.number * U(ROOM), axis * U(ROWS)
    sum_ = probe.new.values[U(tests.new_axis[t]), i] + tests.new_plus[t]
    plus, code = tests.old_plus[t], tests.code[t]
    begin, end = run_of(blocks.along, plus, code, sum_, here, here + block.size)
    begin, end = own + (begin - here) * W, own + (end - here) * W
    copy_range(first_of, begin, end, scratch.tested, t * W)


@njit(inline="always")
def _ready(blocks, block, scratch):
    """Write the rows of a block along every axis, time the last, and count its cells."""
    along, axes, size = blocks.along, U(len(scratch.lows)), block.size
    for axis in range(axes + U(1)):
        here = axis * U(blocks.stride) + block.number * U(ROOM)
        _fill(scratch.first_of, axis * U(ROWS), blocks.order, here, size)
    for axis in range(axes):
        here = axis * U(blocks.stride) + block.number * U(ROOM)
        low, high = along[here], along[here + size - U(1)]
        width = high - low
        scale = min(CELLS / width, STEEPEST) if width > 0.0 else 0.0
        scratch.lows[axis], scratch.scales[axis] = low, scale
        _count(scratch.cells, axis * U(CELLS + 1), along, here, size, low, scale)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def find(probe, blocks, scratch, near, out, state):
    """Write the pairs block by block, those of a new tuple in the order of old tuple and query.

    `state` is how far it came: block, new tuple, pairs in `old`. Returns 0 when all are done; else
    how much room the next new tuple needs.
    """
    new, standing, conditions, matched = probe
    sizes, old = out.sizes, out.old
    m, n = U(len(new.ts)), U(len(standing.ts))
    chosen, allowed, tested, left = scratch.chosen, scratch.allowed, scratch.tested, scratch.left
    facts, bounds = conditions.facts, U(2) * U(len(scratch.lows))
    last_matched = U(max(len(matched.ids), 1) - 1)
    from_new, used = U(state[1]), U(state[2])
    for number in range(U(state[0]), U(len(sizes))):
        base = number * U(BLOCK)
        size = min(U(BLOCK), n - base)
        block = Block(number, base, size)
        ready = False
        for i in range(from_new, m):
            if U(near[i, 0]) >= base + size or U(near[i, 1]) <= base:
                continue
            if not ready:
                _ready(blocks, block, scratch)
                ready = True
            now = np.int64(number * m + i)
            many, total, owner = U(0), U(0), np.int32(-1)
            for h in range(U(matched.ptr[i]), U(matched.ptr[i + U(1)])):
                j, slot = U(matched.ids[h]), U(scratch.slots[h])
                ahead = U(matched.ids[min(h + U(AHEAD), last_matched)])
                prefetch(conditions.facts, ahead * U(FACTS))
                prefetch(conditions.bounds, ahead * bounds)
                prefetch(chosen, U(scratch.slots[min(h + U(AHEAD), last_matched)]) * W)
                line = j * U(FACTS)
                t = U(facts[line + U(TERM)])
                if scratch.allowed_for[t] >> 1 != now:
                    some = _allow(probe, i, t, blocks, block, scratch)
                    scratch.allowed_for[t] = (now << 1) | np.int64(some)
                if scratch.allowed_for[t] & 1 == 0:
                    continue
                if scratch.chosen_for[slot] != np.int32(number + U(1)):
                    _choose(probe, j, slot, blocks, block, scratch)
                    scratch.chosen_for[slot] = np.int32(number + U(1))
                at = many * W
                count = and_rows(chosen, slot * W, allowed, t * W, left, at)
                for k in range(U(facts[line + U(FIRST)]), U(facts[line + U(LAST)])):
                    test = U(conditions.between[k])
                    if scratch.tested_for[test] != now:
                        _test(probe, i, test, blocks, block, scratch)
                        scratch.tested_for[test] = now
                    count = and_rows(left, at, tested, test * W, left, at)
                if count == U(0):
                    continue
                if facts[line] == owner:
                    before = U(scratch.counts[many - U(1)])
                    count = or_row(left, at, left, at - W)
                    scratch.counts[many - U(1)] = np.int32(count)
                    total += count - before
                    continue
                owner = facts[line]
                scratch.whose[many], scratch.counts[many] = owner, np.int32(count)
                many += U(1)
                total += count
            if total == U(0):
                continue
            if used + total + U(SPILL) > U(len(old)):
                state[0], state[1], state[2] = number, i, used
                return np.int64(total)
            sizes[number, i] = np.int64(total)
            _write(scratch, many, base, old, out.query, used)
            used += total
        from_new = U(0)
    state[0], state[1], state[2] = len(sizes), 0, used
    return np.int64(0)


@njit(nogil=True, error_model="numpy", _nrt=False)
def _write(scratch, many, base, old, query, used):
    """Turn the rows of queries into pairs, old tuple by old tuple: a sort by counting.

    Two bits of a word are read without a test whether there are two; what is too much is written
    over.
    """
    ends, left = scratch.ends, scratch.left
    for place in range(U(BLOCK)):
        ends[place] = 0
    at = used
    for k in range(many):
        for w in range(W):
            bits, here = left[k * W + w], w << U(6)
            end = at + ones(bits)
            while True:
                for _ in range(2):
                    old[at] = np.int32(here + lowest(bits))
                    bits &= bits - U(1)
                    at += U(1)
                if at >= end:
                    break
            at = end
    for k in range(used, at):
        ends[U(old[k])] += 1
    to = U(used)
    for place in range(U(BLOCK)):
        size = U(ends[place])
        ends[place] = np.int64(to)
        to += size
    at = used
    for k in range(many):
        whose = scratch.whose[k]
        for _ in range(U(scratch.counts[k])):
            own = U(old[at])
            query[U(ends[own])] = whose
            ends[own] += 1
            at += U(1)
    begin = used
    for place in range(U(BLOCK)):
        for k in range(begin, U(ends[place])):
            old[k] = np.int32(base + place)
        begin = U(ends[place])


@njit(cache=True, nogil=True, error_model="numpy")
def gather(sizes, part, begins, pairs):
    """Put the slices of a part, of blocks and new tuples, where those of their new tuple begin."""
    new_of, old_of, query_of = pairs
    old, query, m, at = part.old, part.query, U(sizes.shape[1]), U(0)
    for slice_ in range(U(part.first), U(part.last)):
        block, i = slice_ // m, slice_ % m
        to, size = U(begins[block, i]), U(sizes[block, i])
        for k in range(size):
            new_of[to + k] = np.int64(i)
        for k in range(size):
            old_of[to + k] = np.int64(old[at + k])
        for k in range(size):
            query_of[to + k] = query[at + k]
        at += size
