"""Which pairs does a stream that moves win and lose? Compiled.

Whoever was within the distance is in the cells about where the stream was, and whoever is now in
those about where it is. Steps are short: mostly both are looked through at once. Of two that are
near each other before and after, or neither, the flat square is sure; else the formula decides.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from fencepost.joins.near.cell_kernels import bucket_of, cells_about, place, sideways
from fencepost.joins.near.cover_kernels import covers, is_under
from fencepost.joins.near.distance_kernels import SMALL, cosine, distance, is_somewhere, square_of

LOST, GAINED = 1, 2
NOWHERE = np.inf  # as a position it is far from everything


class Shift(NamedTuple):
    """A stream that goes from one position to another; both NOWHERE where it is not."""

    update: int
    side: np.int64
    stream: np.int64
    other_side: np.int64
    x: float
    y: float
    c: float
    to_x: float
    to_y: float
    to_c: float


@njit(nogil=True, error_model="numpy", _nrt=False)
def _judge(found, used, cover, row, which, move, other, x, y, before, after):
    """Put what one join says of a pair that is `before` and `after` apart."""
    limit = cover.distances[row]
    is_lost = before <= limit
    if is_lost == (after <= limit) or not which & (LOST if is_lost else GAINED):
        return used
    # What does not fit is counted, and the update is done again in a larger room.
    if used < len(found.row):
        found.update[used] = move.update
        found.row[used] = row
        found.change[used] = -1 if is_lost else 1
        found.side[used] = move.side
        found.own[used], found.other[used] = move.stream, other
        found.values[used, 0] = move.x if is_lost else move.to_x
        found.values[used, 1] = move.y if is_lost else move.to_y
        found.values[used, 2], found.values[used, 3] = x, y
        found.values[used, 4] = before if is_lost else after
    return used + 1


@njit(nogil=True, error_model="numpy", _nrt=False)
def _settle(frame, found, used, cover, which, move, other, x, y, c):
    """Put what all joins that ask for a pair say of it, by the formula."""
    before = after = np.inf
    if move.x < NOWHERE:
        before = distance(frame.earth, move.x, move.y, move.c, x, y, c)
    if move.to_x < NOWHERE:
        after = distance(frame.earth, move.to_x, move.to_y, move.to_c, x, y, c)
    own, under, ptr = move.stream, cover.under, cover.under_ptr
    for at in range(len(cover.everyone)):
        row = cover.everyone[at]
        used = _judge(found, used, cover, row, which, move, other, x, y, before, after)
    if len(under) == 0:
        return used
    for second in (False, True):
        side, stream = (move.other_side, other) if second else (move.side, own)
        for at in range(ptr[side, stream], ptr[side, stream + 1]):
            row = under[at]
            if second and cover.one and is_under(cover, side, own, row):
                continue
            if covers(cover, row, move.side, own, other):
                used = _judge(found, used, cover, row, which, move, other, x, y, before, after)
    return used


@njit(inline="always")
def _look(frame, cells, cover, about, aside, which, move, found, used):
    """Look through some cells for whom a stream that moves wins or loses."""
    left, right, low, high = about
    columns, rows = np.int64(1) << frame.column_bits, np.int64(1) << frame.row_bits
    wide, tall = min(right - left + 1, columns), min(high - low + 1, rows)
    first, movers, other_side = cells.first, cells.movers, move.other_side
    myself = move.stream if move.side == other_side else np.int64(-1)
    within, beyond, turns = frame.within, frame.beyond, 0.0
    if frame.earth:
        if aside > SMALL:
            beyond = frame.anywhere
        if cells.is_turned[0] or left < -180.0 * frame.across or right + 1 > 180.0 * frame.across:
            turns = 360.0
    for row in range(tall):
        begin = ((low + row) & (rows - 1)) << frame.column_bits
        for column in range(wide):
            other = np.int64(first[other_side, begin | ((left + column) & (columns - 1))])
            while other >= 0:
                its = movers[other_side, other]
                before = square_of(move.x, move.y, move.c, its.x, its.y, its.c, turns)
                after = square_of(move.to_x, move.to_y, move.to_c, its.x, its.y, its.c, turns)
                was, is_ = before < within, after < within
                is_sure = (was | (before > beyond)) & (is_ | (after > beyond)) & (was == is_)
                if not is_sure and other != myself:
                    used = _settle(
                        frame, found, used, cover, which, move, other, its.x, its.y, its.c
                    )
                other = np.int64(its.next)
    return used


@njit(inline="always")
def _changed(frame, cells, cover, move, found, used):
    """Put what a move changes."""
    there, here = move.x < NOWHERE, move.to_x < NOWHERE
    aside = sideways(frame, move.c) if there else 0.0
    if here:
        aside = max(aside, sideways(frame, move.to_c))
    dx, dy = abs(move.to_x - move.x) * frame.across, abs(move.to_y - move.y) * frame.up
    is_short = dx < 1.0 and dy < 1.0
    for which in (LOST, GAINED):  # one loop, or two: what is inlined once is compiled once
        if is_short:
            which = LOST | GAINED  # noqa: PLW2901
        x, y = (move.x, move.y) if which & LOST else (move.to_x, move.to_y)
        to_x, to_y = (move.to_x, move.to_y) if which & GAINED else (x, y)
        if x < NOWHERE:
            about = cells_about(frame, x, to_x, y, to_y, aside)
            used = _look(frame, cells, cover, about, aside, which, move, found, used)
        if is_short:
            break
    return used


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def apply(frame, cells, cover, updates, found, first, used):
    """Apply updates from one on; give the first that did not fit, what was used, and is wanted."""
    for u in range(first, len(updates.side)):
        side, stream = np.int64(updates.side[u]), np.int64(updates.stream[u])
        x, y = updates.x[u], updates.y[u]
        here = not updates.gone[u] and is_somewhere(frame.earth, x, y)
        own = cells.movers[side, stream]
        there = own.x == own.x
        c = cosine(frame.earth, y) if here else 1.0
        move = Shift(
            u,
            side,
            stream,
            side if cover.one else 1 - side,
            own.x if there else NOWHERE,
            own.y if there else NOWHERE,
            own.c if there else 1.0,
            x if here else NOWHERE,
            y if here else NOWHERE,
            c,
        )
        wanted = _changed(frame, cells, cover, move, found, used)
        if wanted > len(found.row):
            return u, used, wanted
        used = wanted
        if here:
            place(cells, side, stream, bucket_of(frame, x, y), x, y, c)
        else:
            place(cells, side, stream, np.int64(-1), np.nan, np.nan, 1.0)
    return len(updates.side), used, used


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def enter(frame, cells, side, streams, x, y):
    """Put streams where they are; none of them is anywhere yet."""
    for k in range(len(streams)):
        if is_somewhere(frame.earth, x[k], y[k]):
            c = cosine(frame.earth, y[k])
            bucket = bucket_of(frame, x[k], y[k])
            place(cells, np.int64(side), np.int64(streams[k]), bucket, x[k], y[k], c)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def pairs(frame, cells, cover, streams, found, first, used):
    """Find the pairs that are in of some streams of the left; of one feed both ways round."""
    other_side = np.int64(0 if cover.one else 1)
    for k in range(first, len(streams)):
        stream = np.int64(streams[k])
        own = cells.movers[0, stream]
        move = Shift(
            k,
            np.int64(0),
            stream,
            other_side,
            NOWHERE,
            NOWHERE,
            1.0,
            own.x,
            own.y,
            own.c,
        )
        wanted = _changed(frame, cells, cover, move, found, used)
        if wanted > len(found.row):
            return k, used, wanted
        used = wanted
    return len(streams), used, used
