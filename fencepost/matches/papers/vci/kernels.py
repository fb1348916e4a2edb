"""Cutting boxes into pieces, and reading the lists round a point, compiled.

Slices of lists are copied in rounds of sixteen, past their ends: what is written too much, the next
slice writes over. So lists and room both have ROUND entries more than are used.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from fencepost.simd import lowest, ones
from fencepost.tuples import Doubles, Int32s, Int64s

Words = npt.NDArray[np.uint64]
Shorts = npt.NDArray[Any]  # of two bytes, or of four where they must

U = np.uint64
ROUND = 16
WORD = 64


@njit(inline="always")
def _piece(width, length, dyadic):
    """Give the longest piece that fits, and its place among those of a position."""
    piece = min(width, length)
    if not dyadic:
        return piece, piece - 1
    exponent = 0
    while piece >> (exponent + 1):
        exponent += 1
    return 1 << exponent, exponent


@njit(cache=True, nogil=True, error_model="numpy")
def cut(x: Int32s, y: Int32s, length: int, each: int, dyadic: bool, ends: Int64s, ids: Int32s):
    """Count the pieces of each interval's list in `ends`; or, given room in `ids`, fill the lists.

    Then `ends` holds where each list begins, and afterwards where it ends.
    """
    filling = len(ids) > 0
    for box in range(len(x)):
        at, end = np.int64(x[box]), np.int64(y[box])
        while at < end:
            piece, inside = _piece(end - at, length, dyadic)
            number = at * each + inside
            if filling:
                ids[ends[number]] = box
            ends[number] += 1
            at += piece


@njit(inline="always")
def _eight(ids, k, room, w):
    # All loads before all stores: only then one vector serves for each.
    a0, a1, a2, a3 = ids[k], ids[k + U(1)], ids[k + U(2)], ids[k + U(3)]
    a4, a5, a6, a7 = ids[k + U(4)], ids[k + U(5)], ids[k + U(6)], ids[k + U(7)]
    room[w], room[w + U(1)], room[w + U(2)], room[w + U(3)] = a0, a1, a2, a3
    room[w + U(4)], room[w + U(5)], room[w + U(6)], room[w + U(7)] = a4, a5, a6, a7


@njit(inline="always")
def _copied(ids, k, stop, room, w):
    # One round at least, be the slice empty: where lists are about as long as a round, how many it
    # takes is a guess each time. 100,000 queries, L = 64: 1,005 ns in rounds of 8, 544 in these.
    end = w + (stop - k)
    while True:
        _eight(ids, k, room, w)
        _eight(ids, k + U(8), room, w + U(8))
        k += U(ROUND)
        w += U(ROUND)
        if k >= stop:
            return end


@njit(inline="always")
def _holding(ids, k, stop, bounds, value, room, w):
    for at in range(k, stop):
        box = ids[at]
        room[w] = box
        w += U(bounds[U(box), U(0)] <= value) & U(value < bounds[U(box), U(1)])
    return w


@njit(cache=True, nogil=True, error_model="numpy")
def find_in_lists(
    values: Doubles,
    axis: tuple[float, float, float],
    each: int,
    runs: Int32s,
    starts: Int32s,
    ids: Int32s,
    outside: Int64s,
    bounds: Doubles,
    ptr: Int64s,
    room: Int32s,
    first: int,
):
    """Copy, for each point, the lists of all intervals round it: a slice for each position back.

    `bounds` is empty where whoever covers a cell holds all of it. Stops before a point whose
    candidates might not fit, and returns it.
    """
    scale, base, top = axis
    length, careful, last = len(runs), len(bounds) > 0, len(room) - ROUND
    w = U(ptr[first])
    for i in range(first, len(values)):
        value = values[i]
        cell = np.floor(value * scale) - base
        if cell < 0.0 or cell >= top:
            side = U(0) if cell < 0.0 else U(1)
            k, stop = U(outside[side]), U(outside[side + U(1)])
            if w + (stop - k) > U(last):
                return i
            w = _copied(ids, k, stop, room, w)
        else:
            j = np.int64(cell)
            least = (j - length) * each + each - 1
            for back in range(U(length)):
                if back > U(j):  # the rest would begin left of the first position
                    break
                k, stop = starts[U(least + runs[back, U(0)])], starts[U(least + runs[back, U(1)])]
                if w + U(stop - k) > U(last):
                    return i
                if careful:
                    w = _holding(ids, U(k), U(stop), bounds, value, room, w)
                else:
                    w = _copied(ids, U(k), U(stop), room, w)
        ptr[i + 1] = np.int64(w)
    return len(values)


@njit(inline="always")
def _window(marks, at):
    """Give 64 marks from any place on."""
    word, shift = at >> U(6), at & U(63)
    return (marks[word] >> shift) | ((marks[word + U(1)] << U(1)) << (U(63) - shift))


@njit(inline="always")
def _list_end(directory, starts, word, following):
    """Give where a list ends: where the one following it in this word begins, or the next word."""
    if following == U(directory[word + U(1), U(0)]):
        return U(directory[word + U(1), U(1)])
    return U(directory[word, U(1)]) + U(starts[following])


@njit(cache=True, nogil=True, error_model="numpy")
def find_marked(
    values: Doubles,
    axis: tuple[float, float, float],
    each: int,
    table: Words,
    marks: Words,
    directory: Int32s,
    starts: Shorts,
    ids: Int32s,
    outside: Int64s,
    bounds: Doubles,
    ptr: Int64s,
    room: Int32s,
    first: int,
):
    """Find the same by a mask over the marks: one AND leaves the lists that are not empty."""
    scale, base, top = axis
    careful, last = len(bounds) > 0, len(room) - ROUND
    w = U(ptr[first])
    for i in range(first, len(values)):
        value = values[i]
        cell = np.floor(value * scale) - base
        if cell < 0.0 or cell >= top:
            side = U(0) if cell < 0.0 else U(1)
            k, stop = U(outside[side]), U(outside[side + U(1)])
            if w + (stop - k) > U(last):
                return i
            w = _copied(ids, k, stop, room, w)
            ptr[i + 1] = np.int64(w)
            continue
        # Marks begin L positions before the first, all unset, so V_min is never negative.
        least = U(cell) * U(each) + U(each - 1)
        for block in range(U(len(table))):
            at = least + U(WORD) * block
            window = _window(marks, at) & table[block]
            while window != U(0):
                # One list at a time: to copy those side by side as one took twice as long, for
                # where they end is a guess each time.
                mark = at + lowest(window)
                window &= window - U(1)
                word, bit = mark >> U(6), mark & U(63)
                rank = U(directory[word, U(0)]) + ones(marks[word] & ((U(1) << bit) - U(1)))
                k = U(directory[word, U(1)]) + U(starts[rank])
                stop = _list_end(directory, starts, word, rank + U(1))
                if w + (stop - k) > U(last):
                    return i
                if careful:
                    w = _holding(ids, k, stop, bounds, value, room, w)
                else:
                    w = _copied(ids, k, stop, room, w)
        ptr[i + 1] = np.int64(w)
    return len(values)
