"""Streams into the queue of those that moved, and out of it into their places. Compiled."""

from numba import njit

from fencepost.joins.bands.cell_kernels import entered, went
from fencepost.joins.bands.leaf_kernels import SPARE, delete, insert


@njit(inline="always")
def queued_up(is_queued, queue, queued, side, stream):
    """Remember that a stream is to be put in its new place."""
    if not is_queued[side, stream]:
        is_queued[side, stream] = True
        queue[side, queued[side]] = stream
        queued[side] += 1


@njit(nogil=True, error_model="numpy")
def put_in_order(
    side, values, streams, fill, order, last, last_stream, spare, tally, counts, origin, scale, now,
    listed, is_queued, queue, queued, version,
):  # fmt: skip
    """Put the streams of a side's queue in their places; False where a leaf is wanting."""
    while queued[side] > 0:
        if tally[SPARE] == 0:
            return False
        stream = queue[side, queued[side] - 1]
        old, new = listed[side, stream], now[side, stream]
        if old == old:  # noqa: PLR0124
            delete(side, values, streams, fill, order, last, last_stream, spare, tally, old, stream)
            went(counts, origin, scale, side, old)
        if new == new:  # noqa: PLR0124
            insert(side, values, streams, fill, order, last, last_stream, spare, tally, new, stream)
            entered(counts, origin, scale, side, new)
        listed[side, stream] = new
        is_queued[side, stream] = False
        queued[side] -= 1
        version[side] += 1
    return True
