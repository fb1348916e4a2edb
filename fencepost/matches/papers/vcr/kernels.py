"""Virtual construct rectangles, compiled: cutting boxes into them, and finding those over points.

`rectangles.py` has the cuts as plain Python, and `scan` says what must come out.
"""

import numpy as np
from numba import njit

from fencepost.simd import lowest, ones

U = np.uint64
ONE = np.uint64(1)
EVERY = ~np.uint64(0)
BITS = 64


# ── laying out ────────────────────────────────────────────────────────────────────────────────────


@njit(inline="always")
def _log(length):
    i = 0
    while (length >> (i + 1)) > 0:
        i += 1
    return i


@njit(inline="always")
def _cut(begin, length, k, overlapping, at, log, skip):
    """Cut one side of a box; `skip` says how many first cells of a piece the one before covers."""
    side = 1 << k
    count = 0
    if overlapping:
        i = min(k, _log(length))
        piece = 1 << i
        for first in range(0, length, piece):
            shifted = min(first, length - piece)
            at[count], log[count], skip[count] = begin + shifted, i, first - shifted
            count += 1
        return count
    while length > 0:
        i = k if length >= side else _log(length)
        at[count], log[count], skip[count] = begin, i, 0
        begin += 1 << i
        length -= 1 << i
        count += 1
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def cut(x, w, y, h, k, columns, overlapping, starts, ids, skips):
    """Number the pieces of each box; those of box m go to starts[m] and on."""
    longest = 1
    for m in range(len(x)):
        longest = max(longest, w[m], h[m])
    room = (longest >> k) + k + 2
    across, across_log, across_skip = np.empty((3, room), np.int64)
    up, up_log, up_skip = np.empty((3, room), np.int64)
    each = (k + 1) * (k + 1)
    for m in range(len(x)):
        if w[m] == 0 or h[m] == 0:
            continue
        wide = _cut(x[m], w[m], k, overlapping, across, across_log, across_skip)
        high = _cut(y[m], h[m], k, overlapping, up, up_log, up_skip)
        place = starts[m]
        for r in range(high):
            for c in range(wide):
                corner = across[c] + up[r] * columns
                ids[place] = each * corner + up_log[r] * (k + 1) + across_log[c]
                if overlapping:
                    skips[place] = np.uint16(across_skip[c] | up_skip[r] << 8)
                place += 1


@njit(cache=True, nogil=True, error_model="numpy")
def mark(ids, marks):
    """Set the bit of each id; a word of zeros stands before the first."""
    for n in range(len(ids)):
        bit = U(ids[n]) + U(BITS)
        marks[bit >> U(6), 0] |= ONE << (bit & U(63))


@njit(inline="always")
def _rank(marks, bit):
    """Count the marked before a bit."""
    word = bit >> U(6)
    return marks[word, U(1)] + ones(marks[word, U(0)] & ((ONE << (bit & U(63))) - ONE))


@njit(cache=True, nogil=True, error_model="numpy")
def ranked(ids, marks):
    """Give the place of each id among the marked."""
    places = np.empty(len(ids), np.int64)
    for n in range(len(ids)):
        places[n] = np.int64(_rank(marks, U(ids[n]) + U(BITS)))
    return places


@njit(cache=True, nogil=True, error_model="numpy")
def listed(places, starts, skips, lists):
    """Sort boxes into the lists of their places, by counting; `lists` comes in as zeros."""
    for n in range(len(places)):
        lists[places[n] + 1] += 1
    for n in range(1, len(lists)):
        lists[n] += lists[n - 1]
    entries = np.empty(len(places), np.int32)
    beside = np.empty(len(skips), np.uint16)
    for m in range(len(starts) - 1):
        for n in range(starts[m], starts[m + 1]):
            place = places[n]
            at = lists[place]
            entries[at] = m
            if len(skips):
                beside[at] = skips[n]
            lists[place] = at + 1
    for n in range(len(lists) - 1, 0, -1):
        lists[n] = lists[n - 1]
    lists[0] = 0
    return entries, beside


# ── finding ───────────────────────────────────────────────────────────────────────────────────────


@njit(inline="always")
def _holds(bounds, box, x, y):
    return (
        (bounds[box, U(0)] <= x)
        & (x < bounds[box, U(1)])
        & (bounds[box, U(2)] <= y)
        & (y < bounds[box, U(3)])
    )


@njit(inline="always")
def _outside(where, x, y, column, row, reaching, reaching_ptr, bounds, room, used):
    """Try the boxes that reach out of the grid on the side where the point lies."""
    side = 0 if column < 0 else 1 if column >= where[2] else 2 if row < 0 else 3
    low, high = reaching_ptr[side], reaching_ptr[side + 1]
    if used + high - low > len(room):
        return -1
    for n in range(U(low), U(high)):
        box = reaching[n]
        room[used] = box
        used += _holds(bounds, U(box), x, y)
    return used


@njit(inline="always")
def _take(low, high, x, y, across, up, exact, entries, skips, bounds, room, used):
    """Take a slice of the lists; of pieces that overlap, only where none before covers the cell.

    To copy four entries at a time, whatever the length, measured no better.
    """
    if exact and len(skips) == 0:
        for n in range(U(low), U(high)):
            room[used] = entries[n]
            used += U(1)
        return used
    for n in range(U(low), U(high)):
        box = entries[n]
        inside = True
        if len(skips):
            skip = np.int64(skips[n])
            inside = ((skip & 255) <= across) & ((skip >> 8) <= up)
        if not exact:
            inside = inside & _holds(bounds, U(box), x, y)
        room[used] = box
        used += U(inside)
    return used


@njit(cache=True, nogil=True, error_model="numpy")
def find_marked(
    points, where, k, exact, marks, lists, entries, skips, bounds, masks,
    reaching, reaching_ptr, ptr, room, first,
):  # fmt: skip
    """Find the boxes of points, of the lists that the bits mark.

    Of the gap array only the marked are visited: it is ANDed, 64 ids at a time, with the bits from
    the pivot's on. Neighbours among the marked have neighbouring lists, taken as one slice.
    """
    side, words = masks.shape
    each = (k + 1) * (k + 1)
    columns = np.int64(where[2])
    overlapping = len(skips) > 0
    used = np.int64(ptr[first])
    for i in range(first, points.shape[1]):
        x, y = points[0, i], points[1, i]
        column = np.floor(x * where[0]) - where[1]
        row = np.floor(y * where[3]) - where[4]
        if not ((0.0 <= column < where[2]) & (0.0 <= row < where[5])):
            used = _outside(where, x, y, column, row, reaching, reaching_ptr, bounds, room, used)
            if used < 0:
                return i
            ptr[i + 1] = used
            continue
        left = np.int64(column) + 1 - side
        below = np.int64(row) + 1 - side
        clip = max(0, -left) * each  # left of the grid the numbers are those of the row before
        for r in range(max(0, -below), side):
            start = BITS + each * (left + (below + r) * columns)
            for w in range(clip >> 6, words):
                begin = U(start + BITS * w)
                word, shift = begin >> U(6), begin & U(63)
                near = (marks[word, U(0)] >> shift) | (
                    (marks[word + U(1), U(0)] << (U(63) - shift)) << ONE
                )
                some = near & masks[r, w]
                if w == clip >> 6:
                    some &= EVERY << U(clip & 63)
                while some:
                    t = lowest(some)
                    place = _rank(marks, begin + t)
                    if overlapping:
                        many = ONE
                        across = side - 1 - np.int64((U(BITS * w) + t) // U(each))
                        some &= some - ONE
                    else:
                        other = (near ^ some) >> t
                        stretch = ((other & (~other + ONE)) - ONE) if other else EVERY
                        many = ones((some >> t) & stretch)
                        across = 0
                        some &= ~(stretch << t)
                    low, high = np.int64(lists[place]), np.int64(lists[place + many])
                    if used + high - low > len(room):
                        return i
                    used = np.int64(
                        _take(
                            low, high, x, y, across, side - 1 - r, exact,
                            entries, skips, bounds, room, U(used),
                        )
                    )  # fmt: skip
        ptr[i + 1] = used
    return points.shape[1]


@njit(cache=True, nogil=True, error_model="numpy")
def find_listed(
    points, where, k, exact, lists, entries, skips, bounds, runs,
    reaching, reaching_ptr, ptr, room, first,
):  # fmt: skip
    """Find the boxes of points, where every rectangle has a list: the pivot, plus the gap array.

    Gaps of one are joined into runs: neighbours have neighbouring lists, taken as one slice.
    runs[n] is (distance from the pivot, how many, columns from the pivot, rows from it).
    """
    side = 1 << k
    each = (k + 1) * (k + 1)
    columns = np.int64(where[2])
    used = np.int64(ptr[first])
    for i in range(first, points.shape[1]):
        x, y = points[0, i], points[1, i]
        column = np.floor(x * where[0]) - where[1]
        row = np.floor(y * where[3]) - where[4]
        if not ((0.0 <= column < where[2]) & (0.0 <= row < where[5])):
            used = _outside(where, x, y, column, row, reaching, reaching_ptr, bounds, room, used)
            if used < 0:
                return i
            ptr[i + 1] = used
            continue
        left = np.int64(column) + 1 - side
        below = np.int64(row) + 1 - side
        pivot = each * (left + below * columns)
        for n in range(U(len(runs))):
            c, r = runs[n, U(2)], runs[n, U(3)]
            if (left + c < 0) | (below + r < 0):
                continue
            at = U(pivot + runs[n, U(0)])
            low, high = np.int64(lists[at]), np.int64(lists[at + U(runs[n, U(1)])])
            if low == high:
                continue
            if used + high - low > len(room):
                return i
            used = np.int64(
                _take(
                    low, high, x, y, side - 1 - c, side - 1 - r, exact,
                    entries, skips, bounds, room, U(used),
                )
            )  # fmt: skip
        ptr[i + 1] = used
    return points.shape[1]
