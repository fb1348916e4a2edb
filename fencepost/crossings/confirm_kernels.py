"""The walk of boxes that one axis does not settle, compiled: several axes, several boxes, a validity.

A post passed only makes a candidate; the box itself, at the current tuple for an I and at the previous one for an O,
confirms it. That one test is the cross-check of the papers and the cancellation of what was leapt over.

Law: a query is reported once a step, whatever the number of axes and boxes that changed. Of the axes, the first on
which the tuple outside is outside reports the box; of the boxes, the first that holds the tuple inside reports the
query, and only if no box of the query holds the tuple outside.
"""

import numpy as np
from numba import njit

from fencepost.crossings.columns import ENTERED, Boxes, Events, Posts, Steps, Stripes
from fencepost.crossings.kernels import U, _cell, rank_within
from fencepost.tuples import Int32s, Int64s


@njit
def holds(bounds, box, values, place):
    """Tell whether the box holds the tuple at this place."""
    for axis in range(bounds.shape[1]):
        value = values[axis, place]
        if not (bounds[box, axis, 0] <= value < bounds[box, axis, 1]):
            return False
    return True


@njit
def surfaces(bounds, box, axis, values, inside, outside):
    """Tell whether this axis is the one to report that the box holds `inside` and not `outside`.

    The posts say that `outside` is outside on this axis; an earlier axis on which it is outside too reports first.
    """
    for other in range(bounds.shape[1]):
        low, high = bounds[box, other, 0], bounds[box, other, 1]
        if not (low <= values[other, inside] < high):
            return False
        if other < axis and not (low <= values[other, outside] < high):
            return False
    return True


@njit
def speaks(bounds, first_box, last_box, box, values, inside, outside):
    """Tell whether this box, which holds `inside`, speaks for a query of several boxes."""
    for other in range(first_box, last_box):
        if holds(bounds, other, values, outside):
            return False
        if other < box and holds(bounds, other, values, inside):
            return False
    return True


@njit
def _segment(stripes, own, values, place):
    if stripes.stripes == 1:
        return U(own)
    return _cell(stripes.origin, stripes.scale, stripes.stripes, values[stripes.axis, place])


@njit(nogil=True, cache=True)
def confirm(
    posts: Posts,
    stripes: Stripes,
    boxes: Boxes,
    steps: Steps,
    segment: Int32s,
    first_run: int,
    last_run: int,
    counts: Int32s,
    out: Events,
    start: int,
    write: bool,
):
    """Count (into `counts`) or write (into `out` from start) the events of these runs on one list.

    What is entered is looked up in the stripe of the current tuple, what is left in that of the previous one: a box
    that stands in several stripes is met in one of them only. Returns how many events, and how many candidates.
    """
    axis, cells, per = posts.axis, posts.cells, U(posts.ruler_cells)
    sides = ((posts.begin_posts, posts.begin_ids), (posts.end_posts, posts.end_ids))
    bounds, query_of, first = boxes.bounds, boxes.query, boxes.first
    valid_from, valid_to, slot = boxes.valid_from, boxes.valid_to, boxes.slot
    starts, values, ts = steps.starts, steps.values, steps.ts
    places, queries, types = out.place, out.query, out.type
    w, examined = U(start), U(0)
    for run in range(first_run, last_run):
        own = segment[run]
        if own < 0:
            continue
        for i in range(U(starts[run] + 1), U(starts[run + 1])):
            p = i - U(1)
            low, high = min(values[axis, p], values[axis, i]), max(values[axis, p], values[axis, i])
            if low == high:
                continue
            rises = values[axis, i] > values[axis, p]
            cell = _cell(posts.origin, posts.scale, posts.ruler_cells, low)
            before = w
            for side in range(2):
                # Begins are entered by a rise and left by a fall; ends the other way about.
                enters = rises == (side == 0)
                inside, outside = (i, p) if enters else (p, i)
                at = _segment(stripes, own, values, inside)
                c = U(2) * (at * per + cell) + U(side)
                end = U(cells[U(2) * (at + U(1)) * per + U(side)])
                side_posts, side_ids = sides[side]
                k = rank_within(side_posts, U(cells[c]), U(cells[c + U(2)]), low)
                while k < end and side_posts[k] <= high:
                    box = side_ids[k]
                    k += U(1)
                    examined += U(1)
                    if not surfaces(bounds, box, axis, values, inside, outside):
                        continue
                    query = query_of[box]
                    if not (valid_from[query] <= ts[i] < valid_to[query]):
                        continue
                    if first[query + 1] - first[query] > 1 and not speaks(
                        bounds, first[query], first[query + 1], box, values, inside, outside
                    ):
                        continue
                    if write:
                        places[w], queries[w] = i, query + slot
                        types[w] = ENTERED if enters else -ENTERED
                    w += U(1)
            if not write:
                counts[i] += np.int32(w - before)
    return w - U(start), examined


@njit(nogil=True, cache=True)
def first_sight(
    begins: Int32s,
    ends: Int32s,
    axis: int,
    boxes: Boxes,
    steps: Steps,
    places: Int64s,
    counts: Int32s,
    out: Events,
    start: int,
    write: bool,
):
    """Report who holds the first tuple of a stream: a sweep over `places`, sorted by their value on the axis.

    `begins` and `ends` are the boxes of the sweep, sorted by either end. O(boxes + boxes met on this one axis).
    """
    standing = np.empty(len(begins), np.int32)  # the boxes that hold the sweep's value on this axis
    at = np.empty(len(boxes.query), np.int32)  # where in `standing` each of them is
    held, b, e, w = 0, 0, 0, start
    for place in places:
        value = steps.values[axis, place]
        while b < len(begins) and boxes.bounds[begins[b], axis, 0] <= value:
            standing[held], at[begins[b]] = begins[b], held
            held += 1
            b += 1
        while e < len(ends) and boxes.bounds[ends[e], axis, 1] <= value:
            held -= 1
            last, gap = standing[held], at[ends[e]]
            standing[gap], at[last] = last, gap
            e += 1
        for s in range(held):
            box = standing[s]
            query = boxes.query[box]
            if not holds(boxes.bounds, box, steps.values, place):
                continue
            if not (boxes.valid_from[query] <= steps.ts[place] < boxes.valid_to[query]):
                continue
            earlier = False
            for other in range(boxes.first[query], box):
                earlier = earlier or holds(boxes.bounds, other, steps.values, place)
            if earlier:
                continue
            if write:
                out.place[w], out.query[w], out.type[w] = place, query + boxes.slot, ENTERED
            else:
                counts[place] += 1
            w += 1
    return w - start


