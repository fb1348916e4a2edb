"""Which cells are about a position, and streams into them and out of them; compiled."""

import numpy as np
from numba import njit

from fencepost.joins.near.block_kernels import NOBODY, rehouse, stand
from fencepost.joins.near.distance_kernels import RADIANS, SLACK
from fencepost.simd import U

FAR = 4e18  # cells: there counting ends, and all that is beyond shares the last


@njit(inline="always")
def along(t, scale):
    """Give how far along an axis a place is, in cells: never falls where t rises."""
    return min(max(t * scale, -FAR), FAR)


@njit(inline="always")
def cell_of(t, scale):
    """Give the number of a cell along an axis."""
    return np.int64(np.floor(along(t, scale)))


@njit
def sideways(frame, c):
    """Give how far to look to both sides of a position, in the feed's own numbers."""
    if not frame.earth:
        return frame.reach
    if frame.sine < 0.5 * c:  # an arc is no more than its sine and a quarter of its cube
        part = frame.sine / c
        return part * (1.0 + part * part / 4.0) * (1.0 / RADIANS) * (1.0 + SLACK) + SLACK
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


@njit(inline="always")
def place(frame, cells, side, stream, here, x, y, c):
    """Put a stream in its new place, or in none if it is not here."""
    own, bucket = cells.movers[U(side), U(stream)], np.int64(NOBODY)
    if here:
        across, up = along(x, frame.across), along(y, frame.up)
        column, row = np.floor(across), np.floor(up)
        bits = frame.column_bits
        bucket = np.int64(column) & ((np.int64(1) << bits) - 1)
        bucket |= (np.int64(row) & ((np.int64(1) << frame.row_bits) - 1)) << bits
        bucket += side << (bits + frame.row_bits)
    if bucket != own.bucket:
        rehouse(cells, side, stream, np.int64(own.bucket), np.int64(own.at), bucket)
    if bucket != NOBODY:
        stand(cells, U(own.at), across - column, up - row)
    own.x, own.y, own.c = (x, y, c) if here else (np.nan, np.nan, 1.0)
