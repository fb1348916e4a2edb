"""One entry into the leaves of a side or out of them, and a search among them, compiled.

An entry is (value, stream); entries of a side stand in that order, in leaves that its directory
names from the least to the largest. `last` and `last_stream` hold the largest entry of the leaf at
each place of the directory. A new leaf is taken from the end of `spare`; tally[SPARE] are left.
"""

import numpy as np
from numba import njit
from numba.core import cgutils
from numba.extending import intrinsic

U = np.uint64
SPARE = 2  # its place in a tally; before it, how many leaves each side has
HELD = 3  # and behind it, how many entries


@intrinsic
def bare(typing, array):
    """Give an array as one that nobody counts references to; whoever calls the kernel keeps it.

    Each array given to a function within a kernel is counted in and out, by two atomic additions:
    they took 57% of the time of an update.
    """

    def uncounted(context, builder, signature, given):
        own = context.make_array(signature.args[0])(context, builder, value=given[0])
        own.meminfo = cgutils.get_null_value(own.meminfo.type)
        own.parent = cgutils.get_null_value(own.parent.type)
        return own._getvalue()  # noqa: SLF001  Numba's own extensions do so

    return array(array), uncounted


@njit(inline="always")
def _first_in(array, row, many, v, least, w, above):
    # Halved without a branch down to sixteen, and those are compared at once and counted: among 520
    # doubles 10 ns, where halving with a guess each time takes 48.
    at, many = U(0), U(many)
    while many > U(16):
        half = many >> U(1)
        t = array[row, at + half - U(1)]
        found = (v + t >= least) & (w + t > above)
        at = at if found else at + half
        many -= half
    before = 0
    for k in range(at, at + many):
        t = array[row, k]
        before += not ((v + t >= least) & (w + t > above))
    return np.int64(at) + before


@njit(inline="always")
def first_where(side, values, fill, order, last, places, v, least, w, above):
    """Find the first entry t with v + t >= least and w + t > above: its place and its index.

    Both sums grow along the entries, so a search finds it by the very sums that are asked for:
    rounding shifts nothing. Without such an entry: the number of places, and 0.
    """
    place, index = _first_in(last, side, places, v, least, w, above), 0
    if place < places:
        leaf = order[side, place]
        index = _first_in(values, leaf, fill[leaf], v, least, w, above)
    return place, index


@njit(nogil=True, error_model="numpy")
def _place_of(side, values, streams, fill, order, last, last_stream, tally, value, stream):
    """Find the first entry that is not below (value, stream)."""
    place, many = 0, tally[side]
    while many > 0:
        half = many >> 1
        t = last[side, place + half]
        if t < value or (t == value and last_stream[side, place + half] < stream):
            place += half + 1
            many -= half + 1
        else:
            many = half
    if place == tally[side]:
        return place, 0
    leaf = order[side, place]
    index, many = 0, fill[leaf]
    while many > 0:
        half = many >> 1
        t = values[leaf, index + half]
        if t < value or (t == value and streams[leaf, index + half] < stream):
            index += half + 1
            many -= half + 1
        else:
            many = half
    return place, index


@njit(nogil=True, error_model="numpy")
def _told_last(side, place, values, streams, fill, order, last, last_stream):
    leaf = order[side, place]
    last[side, place] = values[leaf, fill[leaf] - 1]
    last_stream[side, place] = streams[leaf, fill[leaf] - 1]


@njit(nogil=True, error_model="numpy")
def _opened(side, place, spare, fill, order, last, last_stream, tally):
    """Take a spare leaf, empty, to a place of the directory; those from there on move up."""
    for at in range(tally[side], place, -1):
        order[side, at] = order[side, at - 1]
        last[side, at] = last[side, at - 1]
        last_stream[side, at] = last_stream[side, at - 1]
    tally[SPARE] -= 1
    tally[side] += 1
    leaf = spare[tally[SPARE]]
    order[side, place] = leaf
    fill[leaf] = 0
    return leaf


@njit(nogil=True, error_model="numpy")
def _closed(side, place, spare, fill, order, last, last_stream, tally):
    """Give the leaf of a place back; those behind it move down."""
    leaf = order[side, place]
    fill[leaf] = 0
    spare[tally[SPARE]] = leaf
    tally[SPARE] += 1
    tally[side] -= 1
    for at in range(place, tally[side]):
        order[side, at] = order[side, at + 1]
        last[side, at] = last[side, at + 1]
        last_stream[side, at] = last_stream[side, at + 1]


@njit(nogil=True, error_model="numpy")
def insert(
    side, values, streams, fill, order, last, last_stream, spare, tally, value, stream
):  # fmt: skip
    """Put an entry in, O(log m + leaf). One leaf must be to spare; a full one is halved."""
    tally[HELD + side] += 1
    if tally[side] == 0:
        leaf = _opened(side, 0, spare, fill, order, last, last_stream, tally)
        place, index = 0, 0
    else:
        place, index = _place_of(
            side, values, streams, fill, order, last, last_stream, tally, value, stream
        )
        if place == tally[side]:
            place -= 1
            index = fill[order[side, place]]
        leaf = order[side, place]
    size = values.shape[1]
    if fill[leaf] == size:
        half = size >> 1
        upper = _opened(side, place + 1, spare, fill, order, last, last_stream, tally)
        for at in range(half, size):
            values[upper, at - half] = values[leaf, at]
            streams[upper, at - half] = streams[leaf, at]
        fill[leaf], fill[upper] = half, size - half
        _told_last(side, place, values, streams, fill, order, last, last_stream)
        _told_last(side, place + 1, values, streams, fill, order, last, last_stream)
        if index > half:
            place, index, leaf = place + 1, index - half, upper
    for at in range(fill[leaf], index, -1):
        values[leaf, at] = values[leaf, at - 1]
        streams[leaf, at] = streams[leaf, at - 1]
    values[leaf, index], streams[leaf, index] = value, stream
    fill[leaf] += 1
    if index == fill[leaf] - 1:
        last[side, place], last_stream[side, place] = value, stream


@njit(nogil=True, error_model="numpy")
def delete(
    side, values, streams, fill, order, last, last_stream, spare, tally, value, stream
):  # fmt: skip
    """Take an entry out, O(log m + leaf). A leaf below a quarter joins one that has room for it."""
    place, index = _place_of(
        side, values, streams, fill, order, last, last_stream, tally, value, stream
    )
    tally[HELD + side] -= 1
    leaf = order[side, place]
    fill[leaf] -= 1
    for at in range(index, fill[leaf]):
        values[leaf, at] = values[leaf, at + 1]
        streams[leaf, at] = streams[leaf, at + 1]
    size = values.shape[1]
    if fill[leaf] == 0:
        _closed(side, place, spare, fill, order, last, last_stream, tally)
        return
    _told_last(side, place, values, streams, fill, order, last, last_stream)
    if fill[leaf] >= size >> 2:
        return
    for upper in (place + 1, place):  # the leaf takes the next one in, or the one before takes it
        if 0 < upper < tally[side]:
            one, other = order[side, upper - 1], order[side, upper]
            if fill[one] + fill[other] <= size - (size >> 2):
                for at in range(fill[other]):
                    values[one, fill[one] + at] = values[other, at]
                    streams[one, fill[one] + at] = streams[other, at]
                fill[one] += fill[other]
                _closed(side, upper, spare, fill, order, last, last_stream, tally)
                _told_last(side, upper - 1, values, streams, fill, order, last, last_stream)
                return
