"""Which cells are about a position, and streams into their lists and out of them; compiled."""

import numpy as np
from numba import njit

from fencepost.joins.near.distance_kernels import RADIANS, SLACK

FAR = 4e18  # cells: there counting ends, and all that is beyond shares the last


@njit(inline="always")
def cell_of(t, scale):
    """Give the number of a cell along an axis: never falls where t rises."""
    return np.int64(np.floor(min(max(t * scale, -FAR), FAR)))


@njit
def bucket_of(frame, x, y):
    """Give the bucket of a position."""
    column = cell_of(x, frame.across) & ((np.int64(1) << frame.column_bits) - 1)
    row = cell_of(y, frame.up) & ((np.int64(1) << frame.row_bits) - 1)
    return (row << frame.column_bits) | column


@njit
def sideways(frame, c):
    """Give how far to look to both sides of a position, in the feed's own numbers."""
    if not frame.earth:
        return frame.reach
    if frame.sine < 0.5 * c:  # an arc is no more than its sine and a quarter of its cube
        part = frame.sine / c
        return part * (1.0 + part * part / 4.0) / RADIANS * (1.0 + SLACK) + SLACK
    return 360.0


@njit
def cells_about(frame, x, to_x, y, to_y, aside):
    """Give the first and the last column, and row, of those near any place between two."""
    return (
        cell_of(min(x, to_x) - aside, frame.across),
        cell_of(max(x, to_x) + aside, frame.across),
        cell_of(min(y, to_y) - frame.reach, frame.up),
        cell_of(max(y, to_y) + frame.reach, frame.up),
    )


@njit(nogil=True, error_model="numpy", _nrt=False)
def place(cells, side, stream, bucket, x, y, c):
    """Put a stream in its new place, in the list of a bucket, or of none: NaN and -1."""
    movers, first, before = cells.movers, cells.first, cells.before
    own = movers[side, stream]
    was_there = own.x == own.x
    if bucket != (own.bucket if was_there else -1):
        if was_there:
            after, back = own.next, before[side, stream]
            if back >= 0:
                movers[side, back].next = after
            else:
                first[side, own.bucket] = after
            if after >= 0:
                before[side, after] = back
        if bucket >= 0:
            after = first[side, bucket]
            if after >= 0:
                before[side, after] = stream
            own.next, own.bucket = after, bucket
            before[side, stream] = -1
            first[side, bucket] = stream
    own.x, own.y, own.c = x, y, c
    if abs(x) > 180.0:
        cells.is_turned[0] = True
