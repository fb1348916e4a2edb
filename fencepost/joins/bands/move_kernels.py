"""Streams into the queue of those that moved, and out of it into their places. Compiled."""

from numba import njit

from fencepost.joins.bands.cell_kernels import enter, leave
from fencepost.joins.bands.leaf_kernels import SPARE, delete, insert


@njit(inline="always")
def enqueue(moves, side, stream):
    """Remember that a stream is to be put in its new place."""
    if not moves.is_queued[side, stream]:
        moves.is_queued[side, stream] = True
        moves.queue[side, moves.queued[side]] = stream
        moves.queued[side] += 1


@njit(nogil=True, error_model="numpy", _nrt=False)
def put_in_order(points, side):
    """Put the streams of a side's queue in their places; False where a leaf is wanting."""
    leaves, cells, moves, now = points.leaves, points.cells, points.moves, points.now
    queued = moves.queued
    while queued[side] > 0:
        if leaves.tally[SPARE] == 0:
            return False
        stream = moves.queue[side, queued[side] - 1]
        old, new = moves.listed[side, stream], now[side, stream]
        if old == old:  # noqa: PLR0124
            delete(leaves, side, old, stream)
            leave(cells, side, old)
        if new == new:  # noqa: PLR0124
            insert(leaves, side, new, stream)
            enter(cells, side, new)
        moves.listed[side, stream] = new
        moves.is_queued[side, stream] = False
        queued[side] -= 1
        moves.version[side] += 1
    return True


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def settle(points):
    """Put whoever moved in place, on both sides; False where a leaf is wanting."""
    return put_in_order(points, 0) and put_in_order(points, 1)
