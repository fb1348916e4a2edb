"""The walk of queries with a region: who holds in the cell of a place, compared with the last one.

Within a cell only the queries whose border runs through it can change; where there is none, a place
costs no look-up at all. From cell to cell, those that hold here are compared with those that did
there: no query is met that has nothing to do with either cell.

Law: I iff the query does not hold at p and holds at c, O iff it holds at p and does not at c.
"""

import numpy as np
from numba import njit

from fencepost.crossings.cells_kernels import (
    BORDER,
    COVERED,
    EMPTY,
    block_of,
    cell_of,
    hash_of,
    is_marked,
    list_at,
    place,
    slot_of,
)
from fencepost.crossings.columns import ENTERED, BoxColumns, CellColumns, Events, Ruled, Steps
from fencepost.crossings.confirm_kernels import holds
from fencepost.shapes.inside_kernels import inside
from fencepost.shapes.prepare import Prepared
from fencepost.simd import prefetch
from fencepost.tuples import Bools, Int32s

U = np.uint64
CHUNK = 32  # places that are looked up together
SAME = -2  # the cell of the place before; EMPTY: one without a list


@njit(inline="always")
def _in_boxes(query, first_box, bounds, values, at):
    """Say whether a box of the query holds the tuple at a place."""
    for box in range(first_box[query], first_box[query + U(1)]):
        if holds(bounds, box, values, at):
            return True
    return False


@njit(inline="always")
def _put(query, kind, at, boxes, steps, out, w):
    """Write an event of a query that is valid at it; return where the next one goes."""
    if boxes.valid_from[query] <= steps.ts[at] < boxes.valid_to[query]:
        out.place[w], out.query[w], out.type[w] = at, query + boxes.slot, kind
        return w + 1
    return w


@njit(inline="always")
def _aim(cells, xs, ys, own, begin, stop, before, aims, found, listed):
    """Say of each place and size of cells which slot its block may be in, or SAME, or EMPTY."""
    ground, shifts, slots, marks = cells.ground, cells.shifts, cells.slots, cells.marks
    x0, y0, scale, last = ground.x, ground.y, ground.scale, ground.last
    sizes, finest = U(len(shifts)), shifts[0]
    for i in range(U(begin), U(stop)):
        k = i - U(begin)
        px, py = place(xs[i], x0, scale, last) >> finest, place(ys[i], y0, scale, last) >> finest
        key = (px << 32) | py
        aims[k], listed[k] = key, False
        changed, before = key ^ before, key
        if changed == 0:
            found[k * sizes] = SAME
            continue
        for r in range(sizes):
            more = shifts[r] - finest
            at = np.int64(SAME)
            if (changed & 0xFFFFFFFF) >> more != 0 or changed >> (more + 32) != 0:
                at = np.int64(EMPTY)
                h = hash_of(block_of(r, px >> more, py >> more), own)
                if is_marked(marks, h):
                    slot = slot_of(h, len(slots))
                    prefetch(slots, U(3) * slot)
                    at, listed[k] = np.int64(slot), True
            found[k * sizes + r] = at
    return before


@njit(inline="always")
def _find(cells, own, count, aims, found, listed):
    """Look each block up: then `found` is the place of the cell's list, or EMPTY, or SAME."""
    shifts, slots, ptr = cells.shifts, cells.slots, cells.ptr
    sizes, finest = U(len(shifts)), shifts[0]
    for k in range(U(count)):
        if not listed[k]:
            continue
        listed[k] = False
        for r in range(sizes):
            at, more = found[k * sizes + r], shifts[r] - finest
            if at < 0:
                continue
            x, y = (aims[k] >> 32) >> more, (aims[k] & 0xFFFFFFFF) >> more
            cell = list_at(slots, U(at), block_of(r, x, y), own, cell_of(x, y))
            if cell != EMPTY:
                listed[k] = True
                prefetch(ptr, U(cell))
            found[k * sizes + r] = cell


@njit(cache=True, nogil=True, error_model="numpy")
def cross(
    cells: CellColumns,
    shapes: Prepared,
    ruled: Ruled,
    boxes: BoxColumns,
    steps: Steps,
    segment: Int32s,
    fresh: Bools,
    first_run: int,
    last_run: int,
    out: Events,
    start: int,
):
    """Find the events of these runs, one pass into the room that `out` has.

    Returns the end of the events, the first run that did not fit, and how many queries were tested.
    """
    sizes, values, entries, ptr = len(cells.shifts), steps.values, cells.entries, cells.ptr
    shape_of, bounds, first_box = ruled.shape, boxes.bounds, boxes.first
    xs, ys, room = values[cells.across], values[cells.up], len(out.place)
    aims, found = np.empty(CHUNK, np.int64), np.empty(CHUNK * sizes, np.int64)
    listed = np.empty(CHUNK, np.bool_)  # whether any of a place's new cells has a list
    # Of each size's cell, its list: from `begin` on tested, from `sure` to `end` not.
    begin, sure, end = np.empty((3, sizes), np.int64)
    holders = np.empty((sizes, cells.most), np.int32)  # those tested that hold, ascending
    many = np.zeros(sizes, np.int64)
    fit = np.empty(cells.most, np.int32)
    stamp, tick = np.zeros(len(ruled.shape), np.int64), 0
    w, met = start, 0
    for run in range(first_run, last_run):
        own = segment[run]
        if own < 0:
            continue
        at_first, met_first = w, met
        begin[:], sure[:], end[:], many[:] = 0, 0, 0, 0
        # Calm: no border runs through any of the cells; idle: none of them has a list at all.
        first_place, calm, idle, here = steps.starts[run], True, True, np.int64(-1)
        for chunk in range(first_place, steps.starts[run + 1], CHUNK):
            stop = min(chunk + CHUNK, steps.starts[run + 1])
            here = _aim(cells, xs, ys, own, chunk, stop, here, aims, found, listed)
            _find(cells, own, stop - chunk, aims, found, listed)
            for i in range(U(chunk), U(stop)):
                aim = (i - U(chunk)) * U(sizes)
                if idle and not listed[i - U(chunk)]:
                    continue
                whole = found[aim] == SAME  # of the finest: then of all
                if whole and calm:
                    continue
                x, y, first = xs[i], ys[i], i == first_place
                silent = first and not fresh[run]
                calm = idle = True
                for r in range(U(sizes)):
                    cell = SAME if whole else found[aim + r]
                    if cell == SAME and begin[r] == sure[r]:
                        idle &= begin[r] == end[r]
                        continue
                    from_sure, from_end, here_sure, there_sure = sure[r], end[r], 0, 0
                    if cell != SAME:
                        begin[r] = sure[r] = end[r] = 0
                        if cell != EMPTY:
                            begin[r], end[r] = ptr[U(cell)], ptr[U(cell) + U(1)]
                            sure[r] = begin[r]
                            while sure[r] < end[r] and entries[sure[r]] >= 0:
                                sure[r] += 1
                        here_sure, there_sure = end[r] - sure[r], from_end - from_sure
                    calm &= begin[r] == sure[r]
                    idle &= begin[r] == end[r]
                    count = 0
                    for k in range(U(begin[r]), U(sure[r])):
                        query, kind = U(entries[k]) >> U(2), entries[k] & 3
                        within = kind == BORDER or _in_boxes(query, first_box, bounds, values, i)
                        if within and kind != COVERED:
                            within = inside(shapes, shape_of[query], x, y)
                        if within:
                            fit[count] = query
                            count += 1
                    met += sure[r] - begin[r]
                    changed = count + many[r] + here_sure + there_sure
                    if changed == 0:
                        continue
                    if w + changed > room:
                        return at_first, run, met_first
                    if not silent:
                        tick += 2
                        for k in range(many[r]):
                            stamp[holders[r, k]] = tick
                        for k in range(from_sure, from_sure + there_sure):
                            stamp[~entries[k]] = tick
                        for k in range(count):
                            if stamp[fit[k]] != tick and (not first or ruled.enters[fit[k]]):
                                w = _put(fit[k], ENTERED, i, boxes, steps, out, w)
                            stamp[fit[k]] = tick + 1
                        for k in range(sure[r], sure[r] + here_sure):
                            query = ~entries[k]
                            if stamp[query] != tick and (not first or ruled.enters[query]):
                                w = _put(query, ENTERED, i, boxes, steps, out, w)
                            stamp[query] = tick + 1
                        for k in range(many[r]):
                            if stamp[holders[r, k]] == tick:
                                w = _put(holders[r, k], -ENTERED, i, boxes, steps, out, w)
                        for k in range(from_sure, from_sure + there_sure):
                            if stamp[~entries[k]] == tick:
                                w = _put(~entries[k], -ENTERED, i, boxes, steps, out, w)
                    for k in range(count):
                        holders[r, k] = fit[k]
                    many[r] = count
    return w, last_run, met
