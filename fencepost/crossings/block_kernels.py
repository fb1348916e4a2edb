"""Where the cells of shapes are found, compiled: blocks of sixteen, by their hash.

A block has a bit for each of its cells, and a place in the lists of queries. Most places of a map
are in no block at all; the marks say so by one bit of a few kilobytes.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from fencepost.arrays import Int8s, Int32s, Int64s, UInt64s
from fencepost.crossings.columns import CellColumns
from fencepost.tuples import Doubles

U = np.uint64
BORDER, COVERED, LOOSE, SURE, OUTSIDE = 0, 1, 2, 3, 4
"""What a cell is to a query.

BORDER and LOOSE: its shape is tested; COVERED and LOOSE: its boxes are; SURE: nothing is.
"""

EMPTY = -1
MARKS = 16  # bits a block: one in seventeen of the others is marked, too


class InCells(NamedTuple):
    """The cells of each query."""

    cell: UInt64s  # size of cells, block and cell of it
    row: Int32s  # of the query
    state: Int8s


def found(room: int) -> InCells:
    """Make room for so many."""
    return InCells(np.empty(room, np.uint64), np.empty(room, np.int32), np.empty(room, np.int8))


def first(found: InCells, many: int) -> InCells:
    """Keep the first ones."""
    return InCells(found.cell[:many], found.row[:many], found.state[:many])


@njit(inline="always")
def place(value, origin, scale, last):
    """Say which place of 2^30 a value is at; whatever is outside is at the first or the last."""
    return np.int64(min(max((value - origin) * scale, 0.0), last))


@njit(inline="always")
def block_of(size, x, y):
    """Name a block by the size of its cells and by one of them."""
    return (np.int64(size) << 56) | ((x >> 2) << 28) | (y >> 2)


@njit(inline="always")
def cell_of(x, y):
    """Say which of its block's sixteen a cell is."""
    return ((y & 3) << 2) | (x & 3)


@njit(inline="always")
def hash_of(block, segment):
    """Mix a block and its segment to 64 bits."""
    h = U(block) * U(0x9E3779B97F4A7C15) ^ (U(segment) * U(0xC2B2AE3D27D4EB4F))
    return (h ^ (h >> U(29))) * U(0xBF58476D1CE4E5B9)


@njit(inline="always")
def slot_of(h, slots):
    """Say where to look for a block of this hash first, of so many slots."""
    return ((h >> U(32)) * U(slots)) >> U(32)


@njit(inline="always")
def is_marked(marks, block, segment):
    """Say whether a block may exist: one multiplication, and a bit of a few kilobytes."""
    h = _mark(block, segment)
    return (marks[((h >> U(32)) * U(len(marks))) >> U(32)] >> ((h >> U(26)) & U(63))) & U(1) != U(0)


@njit(inline="always")
def _mark(block, segment):
    return (U(block) ^ (U(segment) << U(20))) * U(0x9E3779B97F4A7C15)


def numbered(found: InCells, segment: Int32s) -> tuple[Int32s, Int64s, UInt64s]:
    """Number the blocks; return that of each cell, the table that finds them, and their marks."""
    number = np.empty(len(found.cell), np.int32)
    rough = np.full((2 * _changes(found.cell, found.row) + 1, 3), EMPTY, np.int64)
    count = _number(found.cell, found.row, segment, rough, number)
    slots = np.full((2 * count + 1, 3), EMPTY, np.int64)
    marks = np.zeros(count * MARKS // 64 + 1, np.uint64)
    _moved(rough, slots, marks)
    return number, slots, marks


@njit(cache=True, nogil=True)
def _changes(cell: UInt64s, row: Int32s):
    """Count where a block differs from the one before: at least as often as there are blocks."""
    count = 0
    for k in range(len(cell)):
        if k == 0 or cell[k] >> U(4) != cell[k - 1] >> U(4) or row[k] != row[k - 1]:
            count += 1
    return count


@njit(cache=True, nogil=True)
def _number(cell: UInt64s, row: Int32s, segment: Int32s, slots: Int64s, number: Int32s):
    count = 0
    for k in range(len(cell)):
        block, own = np.int64(cell[k] >> U(4)), np.int64(segment[row[k]])
        at = slot_of(hash_of(block, own), len(slots))
        while slots[at, 0] != EMPTY and (slots[at, 0] != block or slots[at, 1] >> 32 != own):
            at = at + U(1) if at + U(1) < U(len(slots)) else U(0)
        if slots[at, 0] == EMPTY:
            slots[at, 0], slots[at, 1], slots[at, 2] = block, (own << 32) | count, 0
            count += 1
        slots[at, 2] |= 1 << np.int64(cell[k] & U(15))
        number[k] = slots[at, 1] & 0xFFFFFFFF
    return count


@njit(cache=True, nogil=True)
def _moved(rough: Int64s, slots: Int64s, marks: UInt64s):
    """Move the blocks to a table of the right size, and mark them."""
    for k in range(len(rough)):
        if rough[k, 0] == EMPTY:
            continue
        h = hash_of(rough[k, 0], rough[k, 1] >> 32)
        m = _mark(rough[k, 0], rough[k, 1] >> 32)
        marks[((m >> U(32)) * U(len(marks))) >> U(32)] |= U(1) << ((m >> U(26)) & U(63))
        at = slot_of(h, len(slots))
        while slots[at, 0] != EMPTY:
            at = at + U(1) if at + U(1) < U(len(slots)) else U(0)
        slots[at] = rough[k]


def listed(found: InCells, number: Int32s, query: Int32s) -> tuple[Int32s, Int32s]:
    """List the queries of each cell: those to be tested first, then those that are sure."""
    blocks = int(number.max(initial=-1)) + 1
    ptr = np.zeros(16 * blocks + 2, np.int32)
    entries = np.empty(len(found.cell), np.int32)
    _list(found, number, query, ptr, entries)
    return ptr[:-1], entries


@njit(cache=True, nogil=True)
def _list(found: InCells, number: Int32s, query: Int32s, ptr: Int32s, entries: Int32s):
    cell, row, state = found.cell, found.row, found.state
    for k in range(len(cell)):
        ptr[2 + 16 * number[k] + np.int64(cell[k] & U(15))] += 1
    for k in range(1, len(ptr)):
        ptr[k] += ptr[k - 1]
    for sure in (False, True):
        for k in range(len(cell)):
            if (state[k] == SURE) != sure:
                continue
            at = 1 + 16 * number[k] + np.int64(cell[k] & U(15))
            q = query[row[k]]
            entries[ptr[at]] = ~q if sure else (q << 2) | state[k]
            ptr[at] += 1


@njit(inline="always")
def list_at(slots, at, block, segment, cell):
    """Look for a block from a slot on; return the place of its cell's list, EMPTY without one."""
    while slots[at, U(0)] != EMPTY:
        if slots[at, U(0)] == block and slots[at, U(1)] >> 32 == segment:
            if slots[at, U(2)] >> cell & 1:
                return 16 * (slots[at, U(1)] & 0xFFFFFFFF) + cell
            return np.int64(EMPTY)
        at = at + U(1) if at + U(1) < U(len(slots)) else U(0)
    return np.int64(EMPTY)


@njit(nogil=True)  # not kept: only `check` calls it
def said(cells: CellColumns, segment: int, query: int, x: Doubles, y: Doubles):
    """Say what the cell of each point says of a query: OUTSIDE, or what it is to it."""
    found = np.full(len(x), OUTSIDE, np.int8)
    ground, slots = cells.ground, cells.slots
    for k in range(len(x)):
        px = place(x[k], ground.x, ground.scale, ground.last)
        py = place(y[k], ground.y, ground.scale, ground.last)
        for r in range(len(cells.shifts)):
            cx, cy = px >> cells.shifts[r], py >> cells.shifts[r]
            block = block_of(r, cx, cy)
            if not is_marked(cells.marks, block, segment):
                continue
            at = slot_of(hash_of(block, segment), len(slots))
            cell = list_at(slots, at, block, segment, cell_of(cx, cy))
            if cell == EMPTY:
                continue
            for entry in cells.entries[cells.ptr[cell] : cells.ptr[cell + 1]]:
                if entry == ~query:
                    found[k] = SURE
                elif entry >= 0 and entry >> 2 == query:
                    found[k] = entry & 3
    return found
