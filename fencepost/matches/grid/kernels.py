"""The grid, compiled: the lists of every cell, and a probe of them.

A box that only reaches into a cell is one word there, four fields of 16 bits: by how much a point
must stand right of its left edge, above its lower one, left of its right one and below its upper
one, counted in steps of the cell. A point is such a word too, and one subtraction compares all
four: a field that borrows has lost its top bit. A candidate takes 8 bytes, where four doubles take
32, and 0.2 to 0.4 ns, sixteen at a time.

A field that comes out even says nothing (values at the same step): such a list is gone through
again with the bounds themselves, unless steps are so fine that equal steps are equal bounds.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from fencepost.arrays import UInt64s
from fencepost.matches.ladder.kernels import COPY, copy, position
from fencepost.matches.ladder.lane_kernels import keep_steps
from fencepost.matches.ladder.ruler import Marks
from fencepost.simd import LANES, prefetch
from fencepost.tuples import Doubles, Int32s, Int64s

U = np.uint64
BLOCK = 16  # points whose lists are fetched together
FULL = U(1 << 14)  # steps of a cell; a field's top bit stands above all
TOPS = U(0x8000800080008000)


class CellLists(NamedTuple):
    """Who covers each cell, who reaches into it and by what word, and the boxes' bounds."""

    cells: Int32s
    words: UInt64s
    reaching: Int32s
    covering: Int32s
    lo: Doubles
    hi: Doubles


@njit(inline="always")
def _before(at, cell, shift, drop):
    """Say how far right of a cell's edge a point must stand: 0 where a box begins before it."""
    if at < 0 or at >> shift < cell:
        return U(0)
    return (U(at & ((1 << shift) - 1)) >> U(drop)) + U(1)


@njit(inline="always")
def _behind(at, cell, shift, drop):
    """Say the same from the other edge: 0 where a box ends after the cell."""
    if at >> shift > cell:
        return U(0)
    return FULL - (U(at & ((1 << shift) - 1)) >> U(drop))


@njit(cache=True, nogil=True, error_model="numpy")
def place(
    level: Int64s,  # shift and drop of x, shift and drop of y, cells of x, of y, first cell, fine
    rows: Int64s,
    west: Int64s,
    east: Int64s,
    south: Int64s,
    north: Int64s,
    cells: Int64s,  # [cell + 1, (reaching, covering)]: counts, then where the next one goes
    words: UInt64s,
    reaching: Int32s,
    covering: Int32s,
    writing: bool,
):
    """Count, or write, the boxes of a level into the lists of the cells that they meet."""
    sx, dx, sy, dy, nx, ny, first = (
        level[0],
        level[1],
        level[2],
        level[3],
        level[4],
        level[5],
        level[6],
    )
    for row in rows:
        x0, x1 = max(west[row], 0) >> sx, min(east[row] >> sx, nx - 1)
        y0, y1 = max(south[row], 0) >> sy, min(north[row] >> sy, ny - 1)
        for y in range(y0, y1 + 1):
            low, high = _before(south[row], y, sy, dy), _behind(north[row], y, sy, dy)
            for x in range(x0, x1 + 1):
                left, right = _before(west[row], x, sx, dx), _behind(east[row], x, sx, dx)
                word = left | (low << U(16)) | (right << U(32)) | (high << U(48))
                cell, kind = first + y * nx + x, 1 if word == U(0) else 0
                if writing:
                    at = cells[cell, kind]
                    if word == U(0):
                        covering[at] = row
                    else:
                        reaching[at] = row
                        words[at] = word
                cells[cell, kind] += 1


@njit(inline="always")
def _test(word, words, ids, begin, end, room, w):
    """Write those of a list whose fields are all left, and say whether one came out even."""
    k, evens = begin, U(0)
    while k < end:
        w, even = keep_steps(words, word, ids, k, end, room, w)
        evens |= even
        k += U(LANES)
    return w, evens


@njit(inline="always")
def _again(room, begin, end, lo, hi, x, y):
    """Keep of those written last the ones whose bounds hold the point."""
    w = begin
    for k in range(begin, end):
        i = U(room[k])
        room[w] = room[k]
        holds = (lo[0, i] <= x) & (x < hi[0, i]) & (lo[1, i] <= y) & (y < hi[1, i])
        w += U(holds)
    return w


@njit(inline="always")
def _look_up(across, up, whole, levels, x, y, at_cells, at_words, at):
    """Find the cell and the word of a point on each level."""
    if whole:
        x, y = np.floor(x), np.floor(y)
    px, py = position(across, x), position(up, y)
    for r in range(U(len(levels))):
        sx, sy = U(levels[r, U(0)]), U(levels[r, U(2)])
        at_cells[at + r] = (py >> sy) * U(levels[r, U(4)]) + (px >> sx) + U(levels[r, U(6)])
        step_x = (px & ((U(1) << sx) - U(1))) >> U(levels[r, U(1)])
        step_y = (py & ((U(1) << sy) - U(1))) >> U(levels[r, U(3)])
        right = (step_x + U(1)) | ((FULL - step_x) << U(32))
        above = (step_y + U(1)) | ((FULL - step_y) << U(32))
        at_words[at + r] = TOPS | right | (above << U(16))


@njit(inline="always")
def _write(levels, lists, x, y, at_cells, at_words, at, room, w):
    """Write who holds a point: those tested, and those copied, of its cell on each level."""
    for r in range(U(len(levels))):
        cell, word = at_cells[at + r], at_words[at + r]
        begin, end = U(lists.cells[cell, U(0)]), U(lists.cells[cell + U(1), U(0)])
        start = w
        w, evens = _test(word, lists.words, lists.reaching, begin, end, room, w)
        if evens and not levels[r, U(7)]:
            w = _again(room, start, w, lists.lo, lists.hi, x, y)
        begin, end = U(lists.cells[cell, U(1)]), U(lists.cells[cell + U(1), U(1)])
        w = copy(lists.covering, begin, end, room, w)
    return w


@njit(cache=True, nogil=True, error_model="numpy")
def find(
    across: Marks,
    up: Marks,
    whole: bool,
    levels: Int64s,
    lists: CellLists,
    points: Doubles,
    ptr: Int64s,
    room: Int32s,
    first: int,
):
    """Write who holds each point, from the first on; stop where the room might not do.

    Points sorted by cell, in chunks of 64 K and their results put back in order, gained nothing
    where lists are long, and cost 70 ns a point where they are short.
    """
    many, space, count = U(len(levels)), U(len(room)), U(points.shape[1])
    at_cells = np.empty(U(BLOCK) * many, np.uint64)
    at_words = np.empty(U(BLOCK) * many, np.uint64)
    w = U(ptr[first])
    for block in range(U(first), count, U(BLOCK)):
        stop = min(block + U(BLOCK), count)
        at = U(0)
        for i in range(block, stop):
            x, y = points[U(0), i], points[U(1), i]
            _look_up(across, up, whole, levels, x, y, at_cells, at_words, at)
            for k in range(at, at + many):
                prefetch(lists.cells, U(2) * at_cells[k])
            at += many
        for k in range(at):
            begin = U(lists.cells[at_cells[k], U(0)])
            prefetch(lists.words, begin)
            prefetch(lists.words, begin + U(8))
            prefetch(lists.reaching, begin)
            prefetch(lists.covering, U(lists.cells[at_cells[k], U(1)]))
        at = U(0)
        for i in range(block, stop):
            bound = w + U(COPY)
            for k in range(at, at + many):
                cell = at_cells[k]
                bound += U(lists.cells[cell + U(1), U(0)]) - U(lists.cells[cell, U(0)])
                bound += U(lists.cells[cell + U(1), U(1)]) - U(lists.cells[cell, U(1)])
            if bound > space:
                return np.int64(i)
            x, y = points[U(0), i], points[U(1), i]
            w = _write(levels, lists, x, y, at_cells, at_words, at, room, w)
            at += many
            ptr[i + U(1)] = np.int64(w)
    return np.int64(count)
