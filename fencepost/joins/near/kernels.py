"""Whom does a stream that moves come near, or leave? Compiled.

Whoever was within the distance is in the cells about where the stream was, and whoever is now in
those about where it is. Steps are short: mostly both are looked through at once. Of two that are
near each other before and after, or neither, a block's vectors are sure, and of most others the
flat square is. Whoever is left is written down as it stands: `judge_kernels` says what changes.

A loop over updates calls nothing that has to be given arrays: that costs a word for each of seven
parts of an array, and more than a look.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from fencepost.joins.near.block_kernels import LINE, LINK, NONE, WIDTH, changed
from fencepost.joins.near.cell_kernels import along, cells_about, place, sideways
from fencepost.joins.near.distance_kernels import (
    RADIANS,
    SMALL,
    cosine,
    is_somewhere,
    square_of,
)
from fencepost.joins.near.judge_kernels import GAINED, LOST, NOWHERE
from fencepost.simd import U, lowest, prefetch

COARSE = 4e-5  # of a square in cells, as blocks know places
FINEST = 2.0**30  # cells from the origin: there a place is still known as well
WIDEST = 1e6  # cells: as far as anything need be
FARTHEST = 1e25  # a square between that and nobody's
MOST = 32  # columns and rows: so far from the first one a float32 is still fine enough
ONE = np.float32(1.0)
TINY = 1e-9
AHEAD = 6  # updates: time enough for memory to answer


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


@njit(inline="always")
def _limits(frame, c, tall, beyond):
    """Give the weight of what is along x in cells, and the squares that are surely in and out.

    Another's cosine is that of a place in the cells looked at, and a block knows its places to a
    24th bit. Where that is too coarse nothing is sure.
    """
    weight, slack = 1.0, COARSE
    if frame.earth:
        share = tall * (RADIANS / frame.up) / max(c, TINY)
        weight = (c * (frame.up / frame.across)) ** 2
        slack = COARSE * (1.0 + weight) + share * (2.0 + share)
    cells = frame.up * frame.up
    if slack > 0.25:
        return 1.0, -1.0, FARTHEST
    return weight, (frame.within * cells) * (1.0 - slack), beyond * cells * (1.0 + 2.0 * slack)


@njit(inline="always")
def _offset(t, cell):
    """Give how far a place is from the begin of a cell, in cells."""
    return np.float32(min(max(t - cell, -WIDEST), WIDEST))


@njit(inline="always")
def _is_sure(frame, move, its, beyond):
    """Say whether the flat squares leave no doubt that nothing changes between two."""
    before = square_of(frame.earth, move.x, move.y, move.c, its.x, its.y, its.c)
    after = square_of(frame.earth, move.to_x, move.to_y, move.to_c, its.x, its.y, its.c)
    was, is_ = before < frame.within, after < frame.within
    return (was | (before > beyond)) & (is_ | (after > beyond)) & (was == is_)


@njit(inline="always")
def _look(frame, cells, which, move, x, y, to_x, to_y, c, doubts, used):
    """Look through the cells about two places for whom a stream that moves may win or lose."""
    aside = sideways(frame, c)
    left, right, low, high = cells_about(frame, x, to_x, y, to_y, aside)
    columns, rows = U(1) << U(frame.column_bits), U(1) << U(frame.row_bits)
    wide, tall = U(right - left) + U(1), U(high - low) + U(1)
    beyond = frame.anywhere if frame.earth and aside > SMALL else frame.beyond
    weight, inner, outer = _limits(frame, c, float(tall), beyond)
    if wide > columns or tall > rows or wide + tall > U(MOST):  # one bucket may be two cells
        wide, tall = min(wide, columns), min(tall, rows)
        weight, inner, outer = 1.0, -1.0, FARTHEST
    if max(abs(left), abs(low)) > FINEST:
        weight, inner, outer = 1.0, -1.0, FARTHEST
    weight, inner, outer = np.float32(weight), np.float32(inner), np.float32(outer)
    up, to_up = _offset(along(move.y, frame.up), low), _offset(along(move.to_y, frame.up), low)
    other_side = U(move.other_side)
    myself = move.stream if move.side == move.other_side else np.int64(-1)
    first = other_side << U(frame.column_bits + frame.row_bits)
    for row in range(tall):
        begin = first | (((U(low) + row) & (rows - U(1))) << U(frame.column_bits))
        across = _offset(along(move.x, frame.across), left)
        to_across = _offset(along(move.to_x, frame.across), left)
        for column in range(wide):
            block = begin | ((U(left) + column) & (columns - U(1)))
            while True:
                some = changed(
                    cells.places, block * U(LINE),
                    across, up, to_across, to_up, weight, inner, outer,
                )  # fmt: skip
                while some:
                    other = U(cells.codes[block * U(WIDTH) + lowest(some)])
                    some &= some - U(1)
                    its = cells.movers[other_side, other]
                    if np.int64(other) != myself and not _is_sure(frame, move, its, beyond):
                        # What does not fit is counted, and the update is done again.
                        if used < len(doubts):
                            doubt = doubts[used]
                            doubt.update, doubt.which = move.update, which
                            doubt.side, doubt.own = move.side, move.stream
                            doubt.other_side, doubt.other = move.other_side, other
                            doubt.x, doubt.y, doubt.c = move.x, move.y, move.c
                            doubt.to_x, doubt.to_y, doubt.to_c = move.to_x, move.to_y, move.to_c
                            doubt.u, doubt.v, doubt.d = its.x, its.y, its.c
                        used += 1
                block = U(cells.words[block * U(LINE) + U(LINK)])
                if block == U(NONE):
                    break
            across, to_across = across - ONE, to_across - ONE
        up, to_up = up - ONE, to_up - ONE
    return used


@njit(inline="always")
def _moved(frame, cells, move, doubts, used):
    """Write down whom a move may win or lose."""
    dx, dy = abs(move.to_x - move.x) * frame.across, abs(move.to_y - move.y) * frame.up
    is_short = dx < 1.0 and dy < 1.0
    for which in (LOST, GAINED):  # one loop, or two: what is inlined once is compiled once
        if is_short:
            which = LOST | GAINED  # noqa: PLW2901
        x, y, c = (move.x, move.y, move.c) if which & LOST else (move.to_x, move.to_y, move.to_c)
        to_x, to_y, to_c = (move.to_x, move.to_y, move.to_c) if which & GAINED else (x, y, c)
        if x < NOWHERE:
            used = _look(frame, cells, which, move, x, y, to_x, to_y, min(c, to_c), doubts, used)
        if is_short:
            break
    return used


@njit(inline="always")
def _fetch(frame, cells, side, x, y):
    """Have the cells about a place fetched."""
    column = np.int64(np.floor(along(x, frame.across) - 0.5))
    row = np.int64(np.floor(along(y, frame.up) - 0.5))
    columns, rows = np.int64(1) << frame.column_bits, np.int64(1) << frame.row_bits
    first = U(side) << U(frame.column_bits + frame.row_bits)
    for up in range(2):
        begin = first | (U((row + up) & (rows - 1)) << U(frame.column_bits))
        for across in range(2):
            prefetch(cells.places, (begin | U((column + across) & (columns - 1))) * U(LINE))


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def apply(frame, cells, one, updates, cosines, doubts, first):
    """Apply updates from one on; give the first that did not fit, what was used, and is wanted."""
    n, used, many = len(updates.side), 0, U(cells.movers.shape[1])
    for u in range(U(first), U(n)):
        if u + U(2 * AHEAD) < U(n):
            ahead = u + U(AHEAD)
            side = np.int64(updates.side[ahead])
            _fetch(frame, cells, side if one else 1 - side, updates.x[ahead], updates.y[ahead])
            further = u + U(2 * AHEAD)
            prefetch(cells.movers, U(updates.side[further]) * many + U(updates.stream[further]))
        side, stream = np.int64(updates.side[u]), np.int64(updates.stream[u])
        x, y, c = updates.x[u], updates.y[u], cosines[u]
        here = not updates.gone[u] and is_somewhere(frame.earth, x, y)
        own = cells.movers[U(side), U(stream)]
        there = own.x == own.x
        move = Shift(
            u,
            side,
            stream,
            side if one else 1 - side,
            own.x if there else NOWHERE,
            own.y if there else NOWHERE,
            own.c if there else 1.0,
            x if here else NOWHERE,
            y if here else NOWHERE,
            c,
        )
        wanted = _moved(frame, cells, move, doubts, used)
        if wanted > len(doubts):
            return u, used, wanted
        used = wanted
        place(frame, cells, side, stream, here, x, y, c)
    return n, used, used


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def cosines(earth, y, into):
    """Give the cosines of latitudes."""
    for k in range(len(y)):
        into[k] = cosine(earth, y[k])


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def enter(frame, cells, side, streams, x, y):
    """Put streams where they are; none of them is anywhere yet."""
    for k in range(len(streams)):
        if is_somewhere(frame.earth, x[k], y[k]):
            c = cosine(frame.earth, y[k])
            place(frame, cells, np.int64(side), np.int64(streams[k]), True, x[k], y[k], c)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def pairs(frame, cells, one, streams, doubts, first):
    """Find who may be near some streams of the left; of one feed both ways round."""
    other_side, used = np.int64(0 if one else 1), 0
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
        wanted = _moved(frame, cells, move, doubts, used)
        if wanted > len(doubts):
            return k, used, wanted
        used = wanted
    return len(streams), used, used
