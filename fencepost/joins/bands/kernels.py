"""Which pairs does a move of one side win and lose? Compiled.

An entry's x is v + t, of the value v that moves and the entry's t, both signed: that is r − s,
whichever side moves, and it grows along the entries. A group's entries are those whose x lies in
its covering interval. Below the group's point p a band holds x iff its low is not above x, beyond p
iff its high is not below x.

So of an entry that moves from x to y, both above p, exactly those bands are lost whose highs lie in
[x, y), a slice of the group's list; and where none lies there, the entries are leapt over up to the
next that passes a high. Across p the shorter of both lists is read. A value that goes moves up
beyond everything. Gained is what the way back would lose.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from fencepost.joins.bands.cell_kernels import passed, stretch
from fencepost.joins.bands.leaf_kernels import first_where
from fencepost.joins.bands.move_kernels import enqueue, put_in_order

BITS = 32  # of a stream in a key, row << BITS | stream
INF = np.inf
U = np.uint64
SHORT = 48  # keys that are put in order one by one
LEAP = 16.0  # cells: a move over more is looked at from both of its ends
AHEAD = 2.0  # cells that a stream may go each way without a look, where nobody is near


class Move(NamedTuple):
    """A value that moves from v to w, or goes, past the entries of a side."""

    side: int | np.int64
    v: float
    w: float
    gone: bool
    once: bool  # whether each row is wanted once, whatever its pairs


@njit(inline="always")
def _first_above(lows, begin, end, bound):
    """Find the first of ascending lows that lies above a bound, as points are searched for."""
    at, many = U(begin), U(end - begin)
    while many > U(16):
        half = many >> U(1)
        at = at if lows[at + half - U(1)] > bound else at + half
        many -= half
    before = 0
    for k in range(at, at + many):
        before += lows[k] <= bound
    return np.int64(at) + before


@njit(inline="always")
def _first_below(highs, begin, end, bound):
    """Find the first of descending highs that lies below a bound."""
    at, many = U(begin), U(end - begin)
    while many > U(16):
        half = many >> U(1)
        at = at if highs[at + half - U(1)] < bound else at + half
        many -= half
    before = 0
    for k in range(at, at + many):
        before += highs[k] >= bound
    return np.int64(at) + before


@njit(inline="always")
def _put(room, used, row, stream):
    # What does not fit is counted, and the update is done again in a larger room.
    if used < len(room):
        room[used] = (np.int64(row) << BITS) | np.int64(stream)
    return used + 1


@njit(nogil=True, error_model="numpy", _nrt=False)
def _upwards(bands, g, leaves, move, begin_at, room, used):
    """Put what group g loses where entries, from one on, move up from v + t to w + t, or go."""
    side, v, w, gone, once = move
    place, index = begin_at
    low, high, by_low, lows = bands.low, bands.high, bands.by_low, bands.lows
    by_high, highs, begin, end = bands.by_high, bands.highs, bands.ptr[g], bands.ptr[g + 1]
    top, p = bands.covers[1, g], bands.stabs[g]
    values, order, places = leaves.values, leaves.order, leaves.tally[side]
    if once:
        # Up to p an entry loses what those before it lose, so only the last is looked at.
        above, inside = first_where(leaves, side, v, -INF, v, p)
        if above > place or (above == place and inside > index):
            if inside > 0:
                place, index = above, inside - 1
            else:
                place, index = above - 1, leaves.fill[order[side, above - 1]] - 1
    stop = end
    while place < places:
        leaf = order[side, place]
        t, stream = values[leaf, index], leaves.streams[leaf, index]
        x, y = v + t, w + t
        if x > top:
            break
        beyond = gone or y > top
        leap = -INF
        if x <= p:
            whole, tail = beyond, begin
            if not whole:
                tail = _first_below(highs, begin, end, y)
                whole = _first_above(lows, begin, end, x) - begin <= end - tail
            if whole:
                for k in range(begin, end):
                    if lows[k] > x:
                        break
                    if beyond or high[by_low[k]] < y:
                        used = _put(room, used, by_low[k], stream)
            else:
                for k in range(tail, end):
                    if low[by_high[k]] <= x:
                        used = _put(room, used, by_high[k], stream)
        else:
            first = begin if beyond else _first_below(highs, begin, end, y)
            k = first
            while k < stop and highs[k] >= x:
                used = _put(room, used, by_high[k], stream)
                k += 1
            if once:
                stop = min(stop, first)
            if first > begin and (once or k == first):
                leap = highs[first - 1]
            elif once:
                break
        index += 1
        if index == leaves.fill[leaf]:
            place, index = place + 1, 0
        if leap > -INF and place < places and w + values[order[side, place], index] <= leap:
            place, index = first_where(leaves, side, v, -INF, w, leap)
    return used


@njit(nogil=True, error_model="numpy", _nrt=False)
def _downwards(bands, g, leaves, move, begin_at, room, used):
    """Put what group g loses where entries, from one on, move down from v + t to w + t."""
    side, v, w, _, once = move
    place, index = begin_at
    low, high, by_low, lows = bands.low, bands.high, bands.by_low, bands.lows
    by_high, highs, begin, end = bands.by_high, bands.highs, bands.ptr[g], bands.ptr[g + 1]
    floor, top, p = bands.covers[0, g], bands.covers[1, g], bands.stabs[g]
    values, order, places = leaves.values, leaves.order, leaves.tally[side]
    put = begin  # rows up to here are in the room
    while place < places:
        leaf = order[side, place]
        t, stream = values[leaf, index], leaves.streams[leaf, index]
        x, y = v + t, w + t
        if x > top or y >= p:
            break
        beyond = y < floor
        tail = begin if beyond else _first_above(lows, begin, end, y)
        leap = -INF
        if x < p:
            first = max(tail, put)
            if first == end:
                break
            k = first
            while k < end and lows[k] <= x:
                used = _put(room, used, by_low[k], stream)
                k += 1
            if once:
                put = k
            if k == first:
                leap = lows[k]
        else:
            if beyond or _first_below(highs, begin, end, x) - begin <= end - tail:
                for k in range(begin, end):
                    if highs[k] < x:
                        break
                    if beyond or low[by_high[k]] > y:
                        used = _put(room, used, by_high[k], stream)
            else:
                for k in range(tail, end):
                    if high[by_low[k]] >= x:
                        used = _put(room, used, by_low[k], stream)
            if once:
                break  # those behind it lose less
        index += 1
        if index == leaves.fill[leaf]:
            place, index = place + 1, 0
        if leap > -INF and place < places and v + values[order[side, place], index] < leap:
            place, index = first_where(leaves, side, v, leap, 0.0, -INF)
    return used


@njit(nogil=True, error_model="numpy", _nrt=False)
def _lost(bands, leaves, move, some, many, room, used):
    """Put the keys of all pairs that are in at v and not at w; give what is used.

    Only the first `many` groups of `some` are looked at, O(log m) each and O(1) a pair.
    """
    side, v, w, gone, _ = move
    places = leaves.tally[side]
    up = gone or w > v
    passing = up and not gone
    then = w if passing else 0.0
    for k in range(many):
        g = some[k]
        floor, top, p = bands.covers[0, g], bands.covers[1, g], bands.stabs[g]
        # Here and not in what is called: a call with all these arrays costs more than the search.
        place, index = first_where(leaves, side, v, floor, then, p if passing else -INF)
        if place == places:
            continue
        t = leaves.values[leaves.order[side, place], index]
        if v + t > top:
            continue
        if up:
            used = _upwards(bands, g, leaves, move, (place, index), room, used)
        elif w + t < p:
            used = _downwards(bands, g, leaves, move, (place, index), room, used)
    return used


@njit(nogil=True, error_model="numpy", _nrt=False)
def _sort(keys, begin, end):
    # A part of an array is no array here, so that NumPy's sort cannot be had.
    while end - begin > SHORT:
        low, middle, high = keys[begin], keys[(begin + end) >> 1], keys[end - 1]
        pivot = max(min(low, middle), min(max(low, middle), high))
        i, j = begin, end - 1
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                i += 1
                j -= 1
        if j + 1 - begin < end - i:
            _sort(keys, begin, j + 1)
            begin = i
        else:
            _sort(keys, i, end)
            end = j + 1
    for k in range(begin + 1, end):
        key, at = keys[k], k
        while at > begin and keys[at - 1] > key:
            keys[at] = keys[at - 1]
            at -= 1
        keys[at] = key


@njit(nogil=True, error_model="numpy", _nrt=False)
def _each_row_once(keys, begin, end):
    _sort(keys, begin, end)
    used = begin
    for k in range(begin, end):
        if used == begin or keys[k] >> BITS != keys[used - 1] >> BITS:
            keys[used] = keys[k]
            used += 1
    return used


@njit(inline="always")
def _stays_near(bands, points, own, stream, v, w):
    """Say whether a stream may move between v and w, and no pair changes; find out how far it may.

    It moves again while the other side stays as it is: only that is worth finding out.
    """
    other, cells, moves = 1 - own, points.cells, points.moves
    if moves.stamp[own, stream] != moves.version[other]:
        moves.stamp[own, stream] = moves.version[other]
        moves.lo[own, stream], moves.hi[own, stream] = INF, -INF
    elif not (moves.lo[own, stream] < v and w < moves.hi[own, stream]):
        ahead = AHEAD / cells.scale[other] if cells.scale[other] > 0.0 else 0.0
        lo, hi = v - ahead, w + ahead
        if lo <= hi:
            lo, hi = stretch(bands.low_ends, points, other, v, w, lo, hi)
        if lo <= hi:
            lo, hi = stretch(bands.high_ends, points, other, v, w, lo, hi)
        moves.lo[own, stream], moves.hi[own, stream] = lo, hi
    return moves.lo[own, stream] < v and w < moves.hi[own, stream]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def apply(bands, points, updates, once, out, first):
    """Apply updates in their order, and put the keys of what each loses, then of what it gains.

    Update u has keys[ptr[u]:ptr[u + 1]], from split[u] on what is gained; `others` are the signed
    values of the other side's streams, `was` that of the stream before. With `once`, each row that
    loses or gains. Stops before an update for which a leaf is wanting, or more room; then
    ptr[u + 1] says how much. Gives the update at which it stopped. In the end `settle` is to be
    called: the last to move may not be in their places.
    """
    leaves, cells, moves, now = points.leaves, points.cells, points.moves, points.now
    ptr, keys, some = out.ptr, out.keys, out.some
    for u in range(first, len(updates.side)):
        own, s, used = np.int64(updates.side[u]), updates.stream[u], ptr[u]
        other = 1 - own
        ptr[u + 1], out.split[u] = used, used
        value = updates.value[u]
        old = now[own, s]
        new = np.nan if updates.gone[u] else (value if own == 0 else 0.0 - value)
        out.was[u] = old
        had, has = old == old, new == new  # noqa: PLR0124
        if old == new or not (had or has):
            continue
        if moves.queued[other] > 0 and not put_in_order(points, other):
            return u
        v, w, middle = min(old, new), max(old, new), used
        # Far apart, each end is looked at by itself: few groups cover an entry at either.
        is_leap = not (had and has) or (w - v) * cells.scale[other] > LEAP
        if not is_leap and _stays_near(bands, points, own, s, v, w):
            now[own, s] = new
            enqueue(moves, own, s)
            continue
        # First what is lost on the way, then what the way back would lose. Who moves up loses at
        # highs, and whoever moves down would, moving back.
        for back in range(2):
            middle = used
            from_, to = (new, old) if back else (old, new)
            if from_ != from_:  # noqa: PLR0124
                continue
            if is_leap:
                many = passed(bands.covers, cells, other, from_, from_, some)
            else:
                bounds = bands.high_ends if to > from_ else bands.low_ends
                many = passed(bounds, cells, other, v, w, some)
            gone = not (had and has)
            move = Move(other, from_, 0.0 if gone else to, gone, once)
            used = _lost(bands, leaves, move, some, many, keys, used)
        ptr[u + 1] = used
        if used > len(keys):
            return u
        if once:
            ptr[u + 1] = _each_row_once(keys, ptr[u], used)
        else:
            out.split[u] = middle
            _sort(keys, ptr[u], middle)
            _sort(keys, middle, used)
            for k in range(ptr[u], used):
                out.others[k] = now[other, keys[k] & ((1 << BITS) - 1)]
        now[own, s] = new
        enqueue(moves, own, s)
    return len(updates.side)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def pairs_of(bands, leaves, side, moving, once, out, first):
    """Put, for each of some signed values, the keys of all its pairs with the entries of a side.

    Stops where there is no more room, as apply does.
    """
    ptr, keys, some = out.ptr, out.keys, out.some
    for g in range(len(some)):
        some[g] = g
    for u in range(first, len(moving)):
        move = Move(side, moving[u], 0.0, True, once)
        used = _lost(bands, leaves, move, some, len(some), keys, ptr[u])
        ptr[u + 1] = used
        if used > len(keys):
            return u
        if once:
            ptr[u + 1] = _each_row_once(keys, ptr[u], used)
        else:
            _sort(keys, ptr[u], used)
    return len(moving)
