"""The walk of queries with a region: who holds in the cell of a place, compared with the last one.

Within a cell only the queries whose border runs through it can change; where there is none, a place
costs no look-up at all. From cell to cell, those that hold here are compared with those that did
there: no query is met that has nothing to do with either cell.

Law: I iff the query does not hold at p and holds at c, O iff it holds at p and does not at c.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from fencepost.crossings.block_kernels import (
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
from fencepost.shapes.inside_kernels import inside, placed
from fencepost.shapes.prepare import Prepared
from fencepost.simd import prefetch
from fencepost.tuples import Bools, Int32s, Int64s

U = np.uint64
CHUNK = 128  # places that are looked up together, of one stream or of many
SAME = -2  # the cell of the place before; EMPTY: one without a list


class Desk(NamedTuple):
    """What the walk works with."""

    runs: Int64s  # [part of a chunk] whose it is
    begins: Int64s  # and its places
    ends: Int64s
    aims: Int64s  # [place of a chunk] its cell of the finest size
    found: Int64s  # [place and size] where its list is
    listed: Bools  # [place] whether any of its new cells has a list
    begin: Int64s  # [size] the list of the cell that the stream is in: tested from here on,
    sure: Int64s  # from here on not,
    end: Int64s  # to here
    many: Int64s  # [size] how many of those tested hold
    holders: Int32s  # [size, …] these, ascending
    fit: Int32s  # and those that hold at the next place
    stamp: Int64s  # [query] when it was last met
    tick: Int64s  # [1] the time


def desk(cells: CellColumns, queries: int) -> Desk:
    """Make room for a walk."""
    sizes = len(cells.shifts)
    runs, begins, ends, aims = np.empty((4, CHUNK), np.int64)
    begin, sure, end, many = np.zeros((4, sizes), np.int64)
    return Desk(
        runs=runs,
        begins=begins,
        ends=ends,
        aims=aims,
        found=np.empty(CHUNK * sizes, np.int64),
        listed=np.empty(CHUNK, np.bool_),
        begin=begin,
        sure=sure,
        end=end,
        many=many,
        holders=np.empty((sizes, cells.most), np.int32),
        fit=np.empty(cells.most, np.int32),
        stamp=np.zeros(queries, np.int64),
        tick=np.zeros(1, np.int64),
    )


@njit(forceinline=True, _nrt=False)
def _in_boxes(query, first_box, bounds, values, at):
    """Say whether a box of the query holds the tuple at a place."""
    for box in range(first_box[query], first_box[query + U(1)]):
        within = True
        for axis in range(bounds.shape[1]):
            within &= bounds[box, axis, 0] <= values[axis, at] < bounds[box, axis, 1]
        if within:
            return True
    return False


@njit(inline="always")
def _put(query, kind, at, limited, boxes, steps, out, w):
    """Write an event of a query that is valid at it; return where the next one goes."""
    if not limited or boxes.valid_from[query] <= steps.ts[at] < boxes.valid_to[query]:
        out.place[w], out.query[w], out.type[w] = at, query + boxes.slot, kind
        return w + 1
    return w


@njit(inline="always")
def _aim(cells, xs, ys, own, begin, stop, k, before, desk):
    """Say of each place and size of cells which slot its block may be in, or SAME, or EMPTY."""
    ground, shifts, slots, marks = cells.ground, cells.shifts, cells.slots, cells.marks
    aims, found, listed = desk.aims, desk.found, desk.listed
    x0, y0, scale, last = ground.x, ground.y, ground.scale, ground.last
    sizes, finest = U(len(shifts)), shifts[0]
    for i in range(U(begin), U(stop)):
        px, py = place(xs[i], x0, scale, last) >> finest, place(ys[i], y0, scale, last) >> finest
        key = (px << 32) | py
        aims[k], listed[k] = key, False
        changed, before = key ^ before, key
        found[k * sizes] = SAME
        if changed != 0:
            for r in range(sizes):
                more = shifts[r] - finest
                at = np.int64(SAME)
                if (changed & 0xFFFFFFFF) >> more != 0 or changed >> (more + 32) != 0:
                    at = np.int64(EMPTY)
                    block = block_of(r, px >> more, py >> more)
                    if is_marked(marks, block, own):
                        slot = slot_of(hash_of(block, own), len(slots))
                        prefetch(slots, U(3) * slot)
                        at, listed[k] = np.int64(slot), True
                found[k * sizes + r] = at
        k += U(1)
    return before


@njit(inline="always")
def _find(cells, own, begin, stop, desk):
    """Look each block up: then `found` is the place of the cell's list, or EMPTY, or SAME."""
    shifts, slots, ptr = cells.shifts, cells.slots, cells.ptr
    aims, found, listed = desk.aims, desk.found, desk.listed
    sizes, finest = U(len(shifts)), shifts[0]
    for k in range(begin, stop):
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


@njit(inline="always")
def _fetch(cells, shapes, shape_of, many, desk):
    """Fetch the lists of the cells that have any, then the shape that is tested first in each."""
    entries, ptr, found, listed = cells.entries, cells.ptr, desk.found, desk.listed
    sizes = U(len(cells.shifts))
    for turn in range(2):
        for k in range(many):
            if not listed[k]:
                continue
            for r in range(sizes):
                cell = found[k * sizes + r]
                if cell < 0:
                    continue
                first = U(ptr[U(cell)])
                if turn == 0:
                    prefetch(entries, first)
                elif entries[first] >= 0:
                    shape = U(shape_of[U(entries[first]) >> U(2)])
                    prefetch(shapes.lo, shape)
                    prefetch(shapes.hi, shape)
                    prefetch(shapes.lo, shape + U(shapes.lo.shape[1]))
                    prefetch(shapes.hi, shape + U(shapes.lo.shape[1]))
                    prefetch(shapes.part_ptr, shape)
                    prefetch(shapes.bands.ptr, shape)


@njit(inline="always")
def _gather(starts, segment, run, at, last_run, desk):
    """Gather stretches of runs, about CHUNK places; return how many, and where to go on."""
    runs, begins, ends = desk.runs, desk.begins, desk.ends
    many, room = U(0), CHUNK
    while run < last_run and room > 0:
        if segment[run] < 0 or at == starts[run + 1]:
            run += 1
            at = starts[run]
            continue
        runs[many], begins[many] = run, at
        at += min(starts[run + 1] - at, room)
        ends[many] = at
        room -= at - begins[many]
        many += U(1)
    return many, run, at


# The room that it works in is made outside: without arrays of its own none has its owners counted,
# which costs more than a test of a shape does.
@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
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
    desk: Desk,
    out: Events,
    start: int,
):
    """Find the events of these runs, one pass into the room that `out` has.

    Returns the end of the events, the first run that did not fit, and how many queries were tested.
    """
    sizes, values, entries, ptr = len(cells.shifts), steps.values, cells.entries, cells.ptr
    shape_of, bounds, first_box, limited = ruled.shape, boxes.bounds, boxes.first, ruled.limited
    xs, ys, room = values[cells.across], values[cells.up], len(out.place)
    found, listed = desk.found, desk.listed
    begin, sure, end, many = desk.begin, desk.sure, desk.end, desk.many
    holders, fit, stamp = desk.holders, desk.fit, desk.stamp
    tick = desk.tick[0]
    w, met = start, 0
    runs, begins, ends = desk.runs, desk.begins, desk.ends
    next_run, next_place, here = first_run, steps.starts[first_run], np.int64(-1)
    at_first, met_first, calm, idle = w, met, True, True
    while next_run < last_run:
        parts, next_run, next_place = _gather(
            steps.starts, segment, next_run, next_place, last_run, desk
        )
        base = U(0)
        for part in range(parts):
            if begins[part] == steps.starts[runs[part]]:
                here = np.int64(-1)
            own, size = segment[runs[part]], U(ends[part] - begins[part])
            here = _aim(cells, xs, ys, own, begins[part], ends[part], base, here, desk)
            base += size
        base = U(0)
        for part in range(parts):
            own, size = segment[runs[part]], U(ends[part] - begins[part])
            _find(cells, own, base, base + size, desk)
            base += size
        _fetch(cells, shapes, shape_of, base, desk)
        base = U(0)
        for part in range(parts):
            run = runs[part]
            first_place = steps.starts[run]
            if begins[part] == first_place:
                at_first, met_first = w, met
                # Calm: no border runs through any of the cells; idle: none of them has a list.
                calm = idle = True
                for r in range(sizes):
                    begin[r], sure[r], end[r], many[r] = 0, 0, 0, 0
            shift = base - U(begins[part])  # of a place, to where it is on the desk
            base += U(ends[part] - begins[part])
            for i in range(U(begins[part]), U(ends[part])):
                aim = (i + shift) * U(sizes)
                if idle and not listed[i + shift]:
                    continue
                whole = found[aim] == SAME  # of the finest: then of all
                if whole and calm:
                    continue
                x, y, first = xs[i], ys[i], i == first_place
                on_sphere = placed(shapes, x, y)
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
                            within = inside(shapes, shape_of[query], x, y, on_sphere)
                        if within:
                            fit[count] = query
                            count += 1
                    met += sure[r] - begin[r]
                    changed = count + many[r] + here_sure + there_sure
                    if changed == 0:
                        continue
                    if w + changed > room:
                        desk.tick[0] = tick
                        return at_first, run, met_first
                    if not silent:
                        tick += 2
                        for k in range(many[r]):
                            stamp[holders[r, k]] = tick
                        for k in range(from_sure, from_sure + there_sure):
                            stamp[~entries[k]] = tick
                        for k in range(count):
                            if stamp[fit[k]] != tick and (not first or ruled.enters[fit[k]]):
                                w = _put(fit[k], ENTERED, i, limited, boxes, steps, out, w)
                            stamp[fit[k]] = tick + 1
                        for k in range(sure[r], sure[r] + here_sure):
                            query = ~entries[k]
                            if stamp[query] != tick and (not first or ruled.enters[query]):
                                w = _put(query, ENTERED, i, limited, boxes, steps, out, w)
                            stamp[query] = tick + 1
                        for k in range(many[r]):
                            if stamp[holders[r, k]] == tick:
                                w = _put(holders[r, k], -ENTERED, i, limited, boxes, steps, out, w)
                        for k in range(from_sure, from_sure + there_sure):
                            if stamp[~entries[k]] == tick:
                                w = _put(~entries[k], -ENTERED, i, limited, boxes, steps, out, w)
                    for k in range(count):
                        holders[r, k] = fit[k]
                    many[r] = count
    desk.tick[0] = tick
    return w, last_run, met
