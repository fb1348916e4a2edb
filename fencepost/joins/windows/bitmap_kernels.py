"""Bitmaps, compiled: the rows of a block, and what is left when they meet.

The kernels count no references (`_nrt=False`, so they allocate nothing and make no views): with it
a conjunct in a block cost 125 to 570 ns, most of it atomic operations.
"""

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

BLOCK = 64 * WORDS  # old tuples that stand together
PAD = 8  # entries behind a block's values, +inf, that may be read
ROOM = BLOCK + PAD
ROWS = (BLOCK + 1) * WORDS  # words of an axis
CELLS = 2 * BLOCK  # even cells along an axis, to find a rank in one look-up
STEEPEST = 1e300
NEAR = 4  # tuples of a cell that are passed without a branch
AHEAD = 8  # conjuncts whose lines are fetched before they are needed
SPILL = 8  # entries behind the pairs that may be written, and are written over

W = U(WORDS)


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
    """Count for each cell how many tuples stand before it."""
    next_ = U(0)
    for r in range(size):
        cell = _cell(low, scale, along[begin + r])
        while next_ <= cell:
            cells[own + next_] = np.int16(r)
            next_ += U(1)
    while next_ <= U(CELLS):
        cells[own + next_] = np.int16(size)
        next_ += U(1)


# Whoever stands behind a cell is above all values of it, so four are compared, whosever they are:
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
def _choose(sought, j, slot, standing, blocks, block, base, size, desk):
    """Write the row of what a conjunct asks of the block's tuples alone."""
    chosen, first_of, along, cells = desk.chosen, desk.first_of, blocks.along, desk.cells
    axes, at, any_ = U(len(desk.lows)), slot * W, False
    edge = j * U(2) * axes
    for axis in range(axes):
        lo, hi = sought.bounds[edge], sought.bounds[edge + U(1)]
        edge += U(2)
        if lo == -np.inf and hi == np.inf:
            continue
        low, scale = desk.lows[axis], desk.scales[axis]
        here = axis * U(blocks.stride) + block * U(ROOM)
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
    if sought.facts[j * U(FACTS) + U(REFINED)]:
        _refine(sought, j, standing.values, base, chosen, at)


@njit(nogil=True, error_model="numpy", _nrt=False)
def _refine(sought, j, values, base, chosen, at):
    """Drop the tuples that fail a test of their own."""
    for w in range(W):
        bits = chosen[at + w]
        while bits != U(0):
            bit = lowest(bits)
            bits &= bits - U(1)
            row = base + (w << U(6)) + bit
            for k in range(U(sought.within_ptr[j]), U(sought.within_ptr[j + U(1)])):
                one = values[U(sought.within[k, 0]), row] + sought.within_plus[k, 0]
                other = values[U(sought.within[k, 2]), row] + sought.within_plus[k, 1]
                if not compares(sought.within[k, 1], one, other):
                    chosen[at + w] &= ~(U(1) << bit)


@njit(nogil=True, error_model="numpy", _nrt=False)
def _allow(new, standing, sought, i, t, blocks, base, size, desk):
    """Write the row of the tuples that terms let pair with new tuple i; tell whether there are."""
    first, last = rows(new, standing, sought.terms, i, t)
    first, last = max(first, base), min(last, base + size)
    if first >= last:
        return False
    at, own, first_of = t * W, U(len(desk.lows)) * U(ROWS), desk.first_of
    earliest, latest = times(new, sought.terms, i, t)
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
        desk.allowed[at + w] = bits
        any_ |= bits
    return any_ != U(0)


@njit(nogil=True, error_model="numpy", _nrt=False)
def _test(new, sought, i, t, blocks, block, size, desk):
    """Write the row of the tuples that pass a test with new tuple i."""
    tests, first_of = sought.tests, desk.first_of
    axis = U(tests.old_axis[t])
    here, own = axis * U(blocks.stride) + block * U(ROOM), axis * U(ROWS)
    given = new.values[U(tests.new_axis[t]), i] + tests.new_plus[t]
    plus, code = tests.old_plus[t], tests.code[t]
    begin, end = run_of(blocks.along, plus, code, given, here, here + size)
    begin, end = own + (begin - here) * W, own + (end - here) * W
    copy_range(first_of, begin, end, desk.tested, t * W)


@njit(inline="always")
def _ready(blocks, block, size, desk):
    """Write the rows of a block along every axis, time the last, and count its cells."""
    along, axes = blocks.along, U(len(desk.lows))
    for axis in range(axes + U(1)):
        here = axis * U(blocks.stride) + block * U(ROOM)
        _fill(desk.first_of, axis * U(ROWS), blocks.order, here, size)
    for axis in range(axes):
        here = axis * U(blocks.stride) + block * U(ROOM)
        low, high = along[here], along[here + size - U(1)]
        width = high - low
        scale = min(CELLS / width, STEEPEST) if width > 0.0 else 0.0
        desk.lows[axis], desk.scales[axis] = low, scale
        _count(desk.cells, axis * U(CELLS + 1), along, here, size, low, scale)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def find(new, standing, sought, held, blocks, desk, near, sizes, old, query, state):
    """Write the pairs block by block, those of a new tuple in the order of old tuple and query.

    `state` is how far it came: block, new tuple, pairs in `old`. Returns 0 when all are done; else
    how much room the next new tuple needs.
    """
    m, n = U(len(new.ts)), U(len(standing.ts))
    chosen, allowed, tested, left = desk.chosen, desk.allowed, desk.tested, desk.left
    facts, bounds = sought.facts, U(2) * U(len(desk.lows))
    last_held = U(max(len(held.ids), 1) - 1)
    from_new, used = U(state[1]), U(state[2])
    for block in range(U(state[0]), U(len(sizes))):
        base = block * U(BLOCK)
        size = min(U(BLOCK), n - base)
        ready = False
        for i in range(from_new, m):
            if U(near[i, 0]) >= base + size or U(near[i, 1]) <= base:
                continue
            if not ready:
                _ready(blocks, block, size, desk)
                ready = True
            now = np.int64(block * m + i)
            many, total, owner = U(0), U(0), np.int32(-1)
            for h in range(U(held.ptr[i]), U(held.ptr[i + U(1)])):
                j, slot = U(held.ids[h]), U(desk.slots[h])
                ahead = U(held.ids[min(h + U(AHEAD), last_held)])
                prefetch(sought.facts, ahead * U(FACTS))
                prefetch(sought.bounds, ahead * bounds)
                prefetch(chosen, U(desk.slots[min(h + U(AHEAD), last_held)]) * W)
                line = j * U(FACTS)
                t = U(facts[line + U(TERM)])
                if desk.allowed_for[t] >> 1 != now:
                    some = _allow(new, standing, sought, i, t, blocks, base, size, desk)
                    desk.allowed_for[t] = (now << 1) | np.int64(some)
                if desk.allowed_for[t] & 1 == 0:
                    continue
                if desk.chosen_for[slot] != np.int32(block + U(1)):
                    _choose(sought, j, slot, standing, blocks, block, base, size, desk)
                    desk.chosen_for[slot] = np.int32(block + U(1))
                at = many * W
                count = and_rows(chosen, slot * W, allowed, t * W, left, at)
                for k in range(U(facts[line + U(FIRST)]), U(facts[line + U(LAST)])):
                    test = U(sought.between[k])
                    if desk.tested_for[test] != now:
                        _test(new, sought, i, test, blocks, block, size, desk)
                        desk.tested_for[test] = now
                    count = and_rows(left, at, tested, test * W, left, at)
                if count == U(0):
                    continue
                if facts[line] == owner:
                    before = U(desk.counts[many - U(1)])
                    count = or_row(left, at, left, at - W)
                    desk.counts[many - U(1)] = np.int32(count)
                    total += count - before
                    continue
                owner = facts[line]
                desk.whose[many], desk.counts[many] = owner, np.int32(count)
                many += U(1)
                total += count
            if total == U(0):
                continue
            if used + total + U(SPILL) > U(len(old)):
                state[0], state[1], state[2] = block, i, used
                return np.int64(total)
            sizes[block, i] = np.int64(total)
            _write(desk, many, base, old, query, used)
            used += total
        from_new = U(0)
    state[0], state[1], state[2] = len(sizes), 0, used
    return np.int64(0)


@njit(nogil=True, error_model="numpy", _nrt=False)
def _write(desk, many, base, old, query, used):
    """Turn the rows of queries into pairs, old tuple by old tuple: a sort by counting.

    Two bits of a word are taken without asking whether there are two; what is too much is written
    over.
    """
    ends, left = desk.ends, desk.left
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
        whose = desk.whose[k]
        for _ in range(U(desk.counts[k])):
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
def gather(sizes, first, last, begins, old, query, new_of, old_of, query_of):
    """Put slices first to last, of blocks and new tuples, where those of their new tuple begin."""
    m, at = U(sizes.shape[1]), U(0)
    for slice_ in range(U(first), U(last)):
        block, i = slice_ // m, slice_ % m
        to, size = U(begins[block, i]), U(sizes[block, i])
        for k in range(size):
            new_of[to + k] = np.int64(i)
        for k in range(size):
            old_of[to + k] = np.int64(old[at + k])
        for k in range(size):
            query_of[to + k] = query[at + k]
        at += size
