"""The ladder, compiled: where a value stands on the ruler, and who holds it.

Points go in blocks. For a block the cells are looked up first, then the lists that they name, then
the results are written; between the three the memory is fetched ahead. Indices are unsigned, as in
`crossings/kernels.py`: a signed one costs a test at every access.
"""

import numpy as np
from numba import njit

from fencepost.matches.ladder.lane_kernels import keep_above, keep_between
from fencepost.matches.ladder.ruler import Marks
from fencepost.simd import LANES, prefetch
from fencepost.tuples import Doubles, Int32s, Int64s

U = np.uint64
BLOCK = 16  # points whose lists are fetched together
LINES = U(8)  # lines of a list fetched before it is read
COPY = 16  # entries copied at a time: what is written past a slice's end, the next writes over


@njit(inline="always")
def position(marks, value):
    """Find the position of a value: the even cell, the piece, and the place within the piece.

    Cells are so many that few values pass a piece's begin: 4 ns. Steps without a branch, and a
    search where pieces crowd, took 16, a search alone 7 to 14.
    """
    pieces = marks.pieces
    cell = np.int64(min(max((value - marks.origin) * marks.scale, 0.0), marks.last))
    piece = U(marks.starts[U(cell)])
    while pieces[piece + U(1), U(0)] <= value:
        piece += U(1)
    within = (value - pieces[piece, U(0)]) * pieces[piece, U(1)]
    return (piece << U(14)) + U(np.int64(min(max(within, 0.0), 16383.0)))


@njit(cache=True, nogil=True, error_model="numpy")
def positions(marks: Marks, values: Doubles, out: Int64s):
    """Find the positions of many values; an infinite one gets that of the first or the last."""
    for i in range(len(values)):
        out[i] = np.int64(position(marks, values[i]))


@njit(inline="always")
def copy(ids, begin, end, room, w):
    """Copy a slice in rounds of COPY; both arrays have that much to spare."""
    n, done = end - begin, U(0)
    while done < n:
        for q in range(U(COPY)):
            room[w + done + q] = ids[begin + done + q]
        done += U(COPY)
    return w + n


@njit(inline="always")
def write(table, ids, lo, hi, row, value, room, w):
    """Write who on a rung holds the value: some of the first, all of the sure, some of the late."""
    k, sure, begun = U(table[row, U(0)]), U(table[row, U(1)]), U(table[row, U(2)])
    while k < sure:
        w = keep_above(hi, value, ids, k, sure, room, w)
        k += U(LANES)
    w = copy(ids, sure, begun, room, w)
    k, end = begun, U(table[row, U(3)])
    while k < end:
        w = keep_between(lo, hi, value, ids, k, end, room, w)
        k += U(LANES)
    return w


@njit(inline="always")
def look_up(marks, rungs, table, value, rows, at):
    """Find the row of a value in the table of each rung, and have them fetched."""
    place = position(marks, value)
    for r in range(U(len(rungs))):
        row = U(rungs[r, U(1)]) + (place >> U(rungs[r, U(0)]))
        prefetch(table, U(4) * row)
        rows[at + r] = row
    return at + U(len(rungs))


@njit(inline="always")
def fetch(table, ids, lo, hi, rows, at):
    """Have the first lines fetched of the lists to which these rows lead."""
    for k in range(at):
        row = rows[k]
        begin, sure, end = U(table[row, U(0)]), U(table[row, U(1)]), U(table[row, U(3)])
        for line in range(begin, min(end, begin + LINES * U(16)), U(16)):
            prefetch(ids, line)
        for line in range(begin, min(sure, begin + LINES * U(8)), U(8)):
            prefetch(hi, line)
        prefetch(lo, U(table[row, U(2)]))
        prefetch(hi, U(table[row, U(2)]))


@njit(cache=True, nogil=True, error_model="numpy")
def find(
    marks: Marks,
    rungs: Int64s,  # [rung, (shift, first row of its table)]
    table: Int32s,  # [row, (maybe, sure, begun, begin)]
    ids: Int32s,
    lo: Doubles,
    hi: Doubles,
    values: Doubles,
    ptr: Int64s,
    room: Int32s,
    first: int,
):
    """Write who holds each point, from the first on; stop where the room might not do.

    To count first and then fill, with the points sorted, measured no better: 3.4 against 3.6 ns a
    result at a million intervals, and worse everywhere else.
    """
    many, space, points = U(len(rungs)), U(len(room)), U(len(values))
    rows = np.empty(U(BLOCK) * many, np.uint64)
    w = U(ptr[first])
    for block in range(U(first), points, U(BLOCK)):
        stop = min(block + U(BLOCK), points)
        at = U(0)
        for i in range(block, stop):
            at = look_up(marks, rungs, table, values[i], rows, at)
        fetch(table, ids, lo, hi, rows, at)
        at = U(0)
        for i in range(block, stop):
            bound = w + U(COPY)
            for r in range(at, at + many):
                bound += U(table[rows[r], U(3)]) - U(table[rows[r], U(0)])
            if bound > space:
                return np.int64(i)
            for r in range(at, at + many):
                w = write(table, ids, lo, hi, rows[r], values[i], room, w)
            at += many
            ptr[i + U(1)] = np.int64(w)
    return np.int64(points)
