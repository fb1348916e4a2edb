"""One entry into the leaves of a side or out of them, and a search among them, compiled.

An entry is (value, stream); entries of a side are in that order, in leaves that its directory names
from the least to the largest. `last` and `last_stream` hold the largest entry of the leaf at each
place of the directory. A new leaf is taken from the end of `spare`; tally[SPARE] are left.

No kernel of this room counts references (`_nrt=False`, so they allocate nothing and make no views):
each array given to a function was counted in and out by two atomic additions, 57% of an update.
"""

import numpy as np
from numba import njit

U = np.uint64
SPARE = 2  # its place in a tally; before it, how many leaves each side has
ENTRIES = 3  # and behind it, how many entries


@njit(inline="always")
def _first_in(array, row, many, v, least, w, above):
    # Halved without a branch down to sixteen, and those are compared at once and counted: among 520
    # doubles 10 ns, where halving with a guess each time takes 48.
    at, many = U(0), U(many)
    while many > U(16):
        half = many >> U(1)
        t = array[row, at + half - U(1)]
        passes = (v + t >= least) & (w + t > above)
        at = at if passes else at + half
        many -= half
    before = 0
    for k in range(at, at + many):
        t = array[row, k]
        before += not ((v + t >= least) & (w + t > above))
    return np.int64(at) + before


@njit(inline="always")
def first_where(leaves, side, v, least, w, above):
    """Find the first entry t with v + t >= least and w + t > above: its place and its index.

    Both sums grow along the entries, so a search finds it by the very sums that are wanted:
    rounding shifts nothing. Without such an entry: the number of places, and 0.
    """
    places = leaves.tally[side]
    place, index = _first_in(leaves.last, side, places, v, least, w, above), 0
    if place < places:
        leaf = leaves.order[side, place]
        index = _first_in(leaves.values, leaf, leaves.fill[leaf], v, least, w, above)
    return place, index


@njit(nogil=True, error_model="numpy", _nrt=False)
def _place_of(leaves, side, value, stream):
    """Find the first entry that is not below (value, stream)."""
    last, last_stream = leaves.last, leaves.last_stream
    place, many = 0, leaves.tally[side]
    while many > 0:
        half = many >> 1
        t = last[side, place + half]
        if t < value or (t == value and last_stream[side, place + half] < stream):
            place += half + 1
            many -= half + 1
        else:
            many = half
    if place == leaves.tally[side]:
        return place, 0
    values, streams, leaf = leaves.values, leaves.streams, leaves.order[side, place]
    index, many = 0, leaves.fill[leaf]
    while many > 0:
        half = many >> 1
        t = values[leaf, index + half]
        if t < value or (t == value and streams[leaf, index + half] < stream):
            index += half + 1
            many -= half + 1
        else:
            many = half
    return place, index


@njit(nogil=True, error_model="numpy", _nrt=False)
def _note_last(leaves, side, place):
    leaf = leaves.order[side, place]
    leaves.last[side, place] = leaves.values[leaf, leaves.fill[leaf] - 1]
    leaves.last_stream[side, place] = leaves.streams[leaf, leaves.fill[leaf] - 1]


@njit(nogil=True, error_model="numpy", _nrt=False)
def _open(leaves, side, place):
    """Put a spare leaf, empty, at a place of the directory; those from there on move up."""
    order, last, last_stream, tally = leaves.order, leaves.last, leaves.last_stream, leaves.tally
    for at in range(tally[side], place, -1):
        order[side, at] = order[side, at - 1]
        last[side, at] = last[side, at - 1]
        last_stream[side, at] = last_stream[side, at - 1]
    tally[SPARE] -= 1
    tally[side] += 1
    leaf = leaves.spare[tally[SPARE]]
    order[side, place] = leaf
    leaves.fill[leaf] = 0
    return leaf


@njit(nogil=True, error_model="numpy", _nrt=False)
def _close(leaves, side, place):
    """Give the leaf of a place back; those behind it move down."""
    order, last, last_stream, tally = leaves.order, leaves.last, leaves.last_stream, leaves.tally
    leaf = order[side, place]
    leaves.fill[leaf] = 0
    leaves.spare[tally[SPARE]] = leaf
    tally[SPARE] += 1
    tally[side] -= 1
    for at in range(place, tally[side]):
        order[side, at] = order[side, at + 1]
        last[side, at] = last[side, at + 1]
        last_stream[side, at] = last_stream[side, at + 1]


@njit(nogil=True, error_model="numpy", _nrt=False)
def insert(leaves, side, value, stream):
    """Put an entry in, O(log m + leaf). One leaf must be to spare; a full one is halved."""
    values, streams, fill, tally = leaves.values, leaves.streams, leaves.fill, leaves.tally
    tally[ENTRIES + side] += 1
    if tally[side] == 0:
        leaf = _open(leaves, side, 0)
        place, index = 0, 0
    else:
        place, index = _place_of(leaves, side, value, stream)
        if place == tally[side]:
            place -= 1
            index = fill[leaves.order[side, place]]
        leaf = leaves.order[side, place]
    size = values.shape[1]
    if fill[leaf] == size:
        half = size >> 1
        upper = _open(leaves, side, place + 1)
        for at in range(half, size):
            values[upper, at - half] = values[leaf, at]
            streams[upper, at - half] = streams[leaf, at]
        fill[leaf], fill[upper] = half, size - half
        _note_last(leaves, side, place)
        _note_last(leaves, side, place + 1)
        if index > half:
            place, index, leaf = place + 1, index - half, upper
    for at in range(fill[leaf], index, -1):
        values[leaf, at] = values[leaf, at - 1]
        streams[leaf, at] = streams[leaf, at - 1]
    values[leaf, index], streams[leaf, index] = value, stream
    fill[leaf] += 1
    if index == fill[leaf] - 1:
        leaves.last[side, place], leaves.last_stream[side, place] = value, stream


@njit(nogil=True, error_model="numpy", _nrt=False)
def delete(leaves, side, value, stream):
    """Take an entry out, O(log m + leaf). A leaf below a quarter joins one that has room for it."""
    values, streams, fill, tally = leaves.values, leaves.streams, leaves.fill, leaves.tally
    place, index = _place_of(leaves, side, value, stream)
    tally[ENTRIES + side] -= 1
    leaf = leaves.order[side, place]
    fill[leaf] -= 1
    for at in range(index, fill[leaf]):
        values[leaf, at] = values[leaf, at + 1]
        streams[leaf, at] = streams[leaf, at + 1]
    size = values.shape[1]
    if fill[leaf] == 0:
        _close(leaves, side, place)
        return
    _note_last(leaves, side, place)
    if fill[leaf] >= size >> 2:
        return
    for upper in (place + 1, place):  # the leaf takes the next one in, or the one before takes it
        if 0 < upper < tally[side]:
            one, other = leaves.order[side, upper - 1], leaves.order[side, upper]
            if fill[one] + fill[other] <= size - (size >> 2):
                for at in range(fill[other]):
                    values[one, fill[one] + at] = values[other, at]
                    streams[one, fill[one] + at] = streams[other, at]
                fill[one] += fill[other]
                _close(leaves, side, upper)
                _note_last(leaves, side, upper - 1)
                return
