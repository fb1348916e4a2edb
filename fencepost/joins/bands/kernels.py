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

import numpy as np
from numba import njit

from fencepost.joins.bands.leaf_kernels import bare, first_where
from fencepost.joins.bands.moving_kernels import put_in_order, queued_up
from fencepost.joins.bands.near_kernels import passed, stretch
from fencepost.joins.bands.result_kernels import BITS

INF = np.inf
U = np.uint64
SHORT = 48  # keys that are put in order one by one
LEAP = 16.0  # cells: a move over more is looked at from both of its ends
AHEAD = 2.0  # cells that a stream may go each way without a look, where nobody is near


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


@njit(nogil=True, error_model="numpy")
def _upwards(
    low, high, by_low, lows, by_high, highs, begin, end, top, p, place, index,
    side, values, streams, fill, order, last, places, v, w, gone, once, room, used,
):  # fmt: skip
    """Put what a group loses where entries, from one on, move up from v + t to w + t, or go."""
    if once:
        # Up to p an entry loses what those before it lose, so only the last is asked.
        above, inside = first_where(side, values, fill, order, last, places, v, -INF, v, p)
        if above > place or (above == place and inside > index):
            if inside > 0:
                place, index = above, inside - 1
            else:
                place, index = above - 1, fill[order[side, above - 1]] - 1
    stop = end
    while place < places:
        leaf = order[side, place]
        t, stream = values[leaf, index], streams[leaf, index]
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
        if index == fill[leaf]:
            place, index = place + 1, 0
        if leap > -INF and place < places and w + values[order[side, place], index] <= leap:
            place, index = first_where(side, values, fill, order, last, places, v, -INF, w, leap)
    return used


@njit(nogil=True, error_model="numpy")
def _downwards(
    low, high, by_low, lows, by_high, highs, begin, end, top, p, floor, place, index,
    side, values, streams, fill, order, last, places, v, w, once, room, used,
):  # fmt: skip
    """Put what a group loses where entries, from one on, move down from v + t to w + t."""
    told = begin
    while place < places:
        leaf = order[side, place]
        t, stream = values[leaf, index], streams[leaf, index]
        x, y = v + t, w + t
        if x > top or y >= p:
            break
        beyond = y < floor
        tail = begin if beyond else _first_above(lows, begin, end, y)
        leap = -INF
        if x < p:
            first = max(tail, told)
            if first == end:
                break
            k = first
            while k < end and lows[k] <= x:
                used = _put(room, used, by_low[k], stream)
                k += 1
            if once:
                told = k
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
        if index == fill[leaf]:
            place, index = place + 1, 0
        if leap > -INF and place < places and v + values[order[side, place], index] < leap:
            place, index = first_where(side, values, fill, order, last, places, v, leap, 0.0, -INF)
    return used


@njit(nogil=True, error_model="numpy")
def _lost(
    low, high, ptr, stabs, covers, by_low, lows, by_high, highs,
    side, values, streams, fill, order, last, tally, v, w, gone, once, room, used, some, many,
):  # fmt: skip
    """Put the keys of all pairs that hold at v and not at w; give what is used.

    Of the groups only the first `many` of `some` are asked, O(log m) each and O(1) a pair. `side`
    is that of the entries. With `once` a row may come for one of its pairs only, or two.
    """
    places = tally[side]
    if places == 0:
        return used
    up = gone or w > v
    passing = up and not gone
    then = w if passing else 0.0
    for k in range(many):
        g = some[k]
        floor, top, p = covers[0, g], covers[1, g], stabs[g]
        # Here and not in what is called: a call with all these arrays costs more than the search.
        place, index = first_where(
            side, values, fill, order, last, places, v, floor, then, p if passing else -INF
        )
        if place == places:
            continue
        t = values[order[side, place], index]
        if v + t > top:
            continue
        if up:
            used = _upwards(
                low, high, by_low, lows, by_high, highs, ptr[g], ptr[g + 1], top, p, place, index,
                side, values, streams, fill, order, last, places, v, w, gone, once, room, used,
            )  # fmt: skip
        elif w + t < p:
            used = _downwards(
                low, high, by_low, lows, by_high, highs, ptr[g], ptr[g + 1], top, p, floor, place,
                index, side, values, streams, fill, order, last, places, v, w, once, room, used,
            )  # fmt: skip
    return used


@njit(nogil=True, error_model="numpy")
def _sort(room, begin, end):
    if end - begin > SHORT:
        room[begin:end].sort()
        return
    for k in range(begin + 1, end):
        key, at = room[k], k
        while at > begin and room[at - 1] > key:
            room[at] = room[at - 1]
            at -= 1
        room[at] = key


@njit(nogil=True, error_model="numpy")
def _each_row_once(room, begin, end):
    _sort(room, begin, end)
    used = begin
    for k in range(begin, end):
        if used == begin or room[k] >> BITS != room[used - 1] >> BITS:
            room[used] = room[k]
            used += 1
    return used


@njit(inline="always")
def _bare_bands(bands):
    low, high, ptr, stabs, covers, by_low, lows, by_high, highs, low_ends, high_ends = bands
    return (
        bare(low), bare(high), bare(ptr), bare(stabs), bare(covers),
        bare(by_low), bare(lows), bare(by_high), bare(highs), bare(low_ends), bare(high_ends),
    )  # fmt: skip


@njit(inline="always")
def _bare_leaves(leaves):
    values, streams, fill, order, last, last_stream, spare, tally = leaves
    return (
        bare(values), bare(streams), bare(fill), bare(order),
        bare(last), bare(last_stream), bare(spare), bare(tally),
    )  # fmt: skip


@njit(inline="always")
def _bare_moving(moving):
    listed, is_queued, queue, queued, lo, hi, stamp, version = moving
    return (
        bare(listed), bare(is_queued), bare(queue), bare(queued),
        bare(lo), bare(hi), bare(stamp), bare(version),
    )  # fmt: skip


@njit(cache=True, nogil=True, error_model="numpy")
def settle(leaves, cells, moving, now):
    """Put whoever moved in place, on both sides; False where a leaf is wanting."""
    values, streams, fill, order, last, last_stream, spare, tally = _bare_leaves(leaves)
    counts, origin, scale = cells
    listed, is_queued, queue, queued, _, _, _, version = _bare_moving(moving)
    for side in range(2):
        if not put_in_order(
            side, values, streams, fill, order, last, last_stream, spare, tally, counts, origin,
            scale, now, listed, is_queued, queue, queued, version,
        ):  # fmt: skip
            return False
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def apply(
    bands, leaves, cells, moving, now, side, stream, value, gone, once, ptr, split, was, room,
    others, some, first,
):  # fmt: skip
    """Take updates in their order, and put the keys of what each loses, then of what it gains.

    Update u has room[ptr[u]:ptr[u + 1]], from split[u] on what is gained; `others` are the signed
    values of the other side's streams, `was` that of the stream before. With `once`, each row that
    loses or gains. Stops before an update for which a leaf is wanting, or more room; then
    ptr[u + 1] tells how much. Gives the update at which it stopped. In the end `settle` is to be
    called: the last to move may not be in their places.
    """
    low, high, cuts, stabs, covers, by_low, lows, by_high, highs, low_ends, high_ends = _bare_bands(
        bands
    )
    values, streams, fill, order, last, last_stream, spare, tally = _bare_leaves(leaves)
    counts, origin, scale = bare(cells[0]), bare(cells[1]), bare(cells[2])
    listed, is_queued, queue, queued, lo, hi, stamp, version = _bare_moving(moving)
    room, some, now = bare(room), bare(some), bare(now)
    for u in range(first, len(side)):
        own, s, used = np.int64(side[u]), stream[u], ptr[u]
        other = 1 - own
        ptr[u + 1], split[u] = used, used
        old = now[own, s]
        new = np.nan if gone[u] else (value[u] if own == 0 else 0.0 - value[u])
        was[u] = old
        had, has = old == old, new == new  # noqa: PLR0124
        if old == new or not (had or has):
            continue
        if queued[other] > 0 and not put_in_order(
            other, values, streams, fill, order, last, last_stream, spare, tally, counts, origin,
            scale, now, listed, is_queued, queue, queued, version,
        ):  # fmt: skip
            return u
        v, w, middle = min(old, new), max(old, new), used
        # Far apart, each end is looked at by itself: few groups cover an entry at either.
        is_leap = not (had and has) or (w - v) * scale[other] > LEAP
        if not is_leap:
            if stamp[own, s] != version[other]:
                stamp[own, s], lo[own, s], hi[own, s] = version[other], INF, -INF
            elif not (lo[own, s] < v and w < hi[own, s]):
                # It moves again while the other side stands still: that is worth a stretch.
                ahead = AHEAD / scale[other] if scale[other] > 0.0 else 0.0
                from_, to = v - ahead, w + ahead
                for bounds in (low_ends, high_ends):
                    if from_ <= to:
                        from_, to = stretch(
                            bounds, counts, origin, scale, other, values, fill, order, last,
                            tally[other], v, w, from_, to,
                        )  # fmt: skip
                lo[own, s], hi[own, s] = from_, to
            if lo[own, s] < v and w < hi[own, s]:
                now[own, s] = new
                queued_up(is_queued, queue, queued, own, s)
                continue
        if had:
            if is_leap:
                many = passed(covers, counts, origin, scale, other, old, old, some)
            else:  # who moves up loses at highs
                bounds = high_ends if new > old else low_ends
                many = passed(bounds, counts, origin, scale, other, v, w, some)
            used = _lost(
                low, high, cuts, stabs, covers, by_low, lows, by_high, highs, other, values,
                streams, fill, order, last, tally, old, new if has else 0.0, not has, once, room,
                used, some, many,
            )  # fmt: skip
        middle = used
        if has:
            if is_leap:
                many = passed(covers, counts, origin, scale, other, new, new, some)
            else:
                bounds = low_ends if new > old else high_ends
                many = passed(bounds, counts, origin, scale, other, v, w, some)
            used = _lost(
                low, high, cuts, stabs, covers, by_low, lows, by_high, highs, other, values,
                streams, fill, order, last, tally, new, old if had else 0.0, not had, once, room,
                used, some, many,
            )  # fmt: skip
        ptr[u + 1] = used
        if used > len(room):
            return u
        if once:
            ptr[u + 1] = _each_row_once(room, ptr[u], used)
        else:
            split[u] = middle
            _sort(room, ptr[u], middle)
            _sort(room, middle, used)
            for k in range(ptr[u], used):
                others[k] = now[1 - own, room[k] & ((1 << BITS) - 1)]
        now[own, s] = new
        queued_up(is_queued, queue, queued, own, s)
    return len(side)


@njit(cache=True, nogil=True, error_model="numpy")
def hold(bands, leaves, side, moving, once, ptr, room, some, first):
    """Put, for each of some signed values, the keys of all its pairs with the entries of a side.

    Stops where there is no more room, as apply does.
    """
    low, high, cuts, stabs, covers, by_low, lows, by_high, highs, _, _ = _bare_bands(bands)
    values, streams, fill, order, last, _, _, tally = _bare_leaves(leaves)
    room, some = bare(room), bare(some)
    for g in range(len(some)):
        some[g] = g
    for u in range(first, len(moving)):
        used = _lost(
            low, high, cuts, stabs, covers, by_low, lows, by_high, highs, side, values, streams,
            fill, order, last, tally, moving[u], 0.0, True, once, room, ptr[u],
            some, len(some),
        )  # fmt: skip
        ptr[u + 1] = used
        if used > len(room):
            return u
        if once:
            ptr[u + 1] = _each_row_once(room, ptr[u], used)
        else:
            _sort(room, ptr[u], used)
    return len(moving)
