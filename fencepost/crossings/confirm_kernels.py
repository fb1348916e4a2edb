"""The walk of boxes that one axis does not settle: several axes, several boxes, a validity.

A post passed only makes a candidate; the box itself, at the current tuple for an I and at the
previous one for an O, confirms it. That one test is the cross-check of the papers and the
cancellation of what was leapt over.

Law: a query is reported once a step, whatever the number of axes and boxes that changed. Of the
axes, the first on which the tuple outside is outside reports the box; of the boxes, the first that
holds the tuple inside reports the query, and only if no box of the query holds the tuple outside.
"""

import numpy as np
from numba import njit

from fencepost.crossings.columns import ENTERED, BoxColumns, Events, Posts, Steps, Stripes
from fencepost.crossings.kernels import U, _cell, rank_within
from fencepost.tuples import Int32s, Int64s

CROWD = 16


@njit
def holds(bounds, box, values, place):
    """Tell whether the box holds the tuple at this place."""
    for axis in range(bounds.shape[1]):
        value = values[axis, place]
        if not (bounds[box, axis, 0] <= value < bounds[box, axis, 1]):
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
def _answers(boxes, box, steps, inside, outside, now):
    """Tell whether the query is valid now, and this the box of several that speaks for it."""
    query = boxes.query[box]
    if not (boxes.valid_from[query] <= steps.ts[now] < boxes.valid_to[query]):
        return False
    first, last = boxes.first[query], boxes.first[query + 1]
    return last - first == 1 or speaks(
        boxes.bounds, first, last, box, steps.values, inside, outside
    )


@njit(inline="always")
def _meet_two(
    whole, k0, k1, begins, axis, query_of, slot, values, inside, outside, now, kind,
    boxes, steps, places, queries, types, w,
):  # fmt: skip
    """Confirm candidates of two axes, from what is beside their posts.

    No branch on the answer: in stripes three in four are events, and a wrong guess costs more than
    a write that the next candidate writes over.
    """
    other = U(1) - axis
    own, there, before = values[axis, inside], values[other, inside], values[other, outside]
    first = axis == U(0)  # else, outside on the first axis too: that one reports it
    for k in range(k0, k1):
        far, low, high, box = whole[k, U(0)], whole[k, U(1)], whole[k, U(2)], U(whole[k, U(3)])
        event = ((far > own) == begins) & (low <= there) & (there < high)
        event &= first | ((low <= before) & (before < high))
        if boxes.careful and event and boxes.asks[box]:
            event = _answers(boxes, box, steps, inside, outside, now)
        places[w], queries[w], types[w] = now, query_of[box] + slot, kind
        w += U(event)
    return w


@njit(inline="always")
def _meet(
    ids, k0, k1, axis, bounds, asks, query_of, slot, values, inside, outside, now, kind,
    boxes, steps, places, queries, types, w,
):  # fmt: skip
    """Confirm candidates of any number of axes: few are events, so the first to deny ends it."""
    for k in range(k0, k1):
        box = U(ids[k])
        event = True
        for other in range(U(bounds.shape[1])):
            low, high = bounds[box, other, U(0)], bounds[box, other, U(1)]
            if not (low <= values[other, inside] < high):
                event = False
                break
            if other < axis and not (low <= values[other, outside] < high):
                event = False  # outside on an earlier axis too: that one reports it
                break
        if event and (not asks[box] or _answers(boxes, box, steps, inside, outside, now)):
            places[w], queries[w], types[w] = now, query_of[box] + slot, kind
            w += U(1)
    return w


@njit(inline="always")
def _stripe(stripes, own, value):
    if stripes.stripes == 1:
        return U(own)
    return _cell(stripes.origin, stripes.scale, stripes.stripes, value)


@njit(nogil=True, cache=True)
def confirm(
    posts: Posts,
    stripes: Stripes,
    boxes: BoxColumns,
    steps: Steps,
    segment: Int32s,
    first_run: int,
    last_run: int,
    out: Events,
    start: int,
):
    """Find the events of these runs on one list, one pass into the room that `out` has.

    What is entered is looked up in the stripe of the current tuple, what is left in that of the
    previous one: a box in several stripes is met in one of them only. Returns the end
    of the events, the first run that did not fit, and how many candidates were met.
    """
    axis, per, cells = U(posts.axis), U(posts.ruler_cells), posts.cells
    origin, scale, count = posts.origin, posts.scale, posts.ruler_cells
    begin_posts, begin_ids, begin_whole = posts.begin_posts, posts.begin_ids, posts.begin_whole
    end_posts, end_ids, end_whole = posts.end_posts, posts.end_ids, posts.end_whole
    starts, values, bounds, asks = steps.starts, steps.values, boxes.bounds, boxes.asks
    query_of, slot, across = boxes.query, boxes.slot, U(stripes.axis)
    places, queries, types = out.place, out.query, out.type
    two, room = bounds.shape[1] == 2, U(len(places))
    w, met = U(start), U(0)
    for run in range(first_run, last_run):
        own = segment[run]
        if own < 0:
            continue
        at_first, met_first = w, met
        for i in range(U(starts[run] + 1), U(starts[run + 1])):
            p = i - U(1)
            before, now = values[axis, p], values[axis, i]
            if before == now:
                continue
            rises = now > before
            low, high = min(before, now), max(before, now)
            first = _cell(origin, scale, count, low)
            last = _cell(origin, scale, count, high)
            into = per * _stripe(stripes, own, values[across, i])
            from_ = per * _stripe(stripes, own, values[across, p])
            # Begins are entered by a rise and left by a fall; ends the other way about.
            b, e = (into, from_) if rises else (from_, into)
            b0 = _rank_in_cell(begin_posts, cells, b + first, U(0), low)
            b1 = _rank_in_cell(begin_posts, cells, b + last, U(0), high)
            e0 = _rank_in_cell(end_posts, cells, e + first, U(1), low)
            e1 = _rank_in_cell(end_posts, cells, e + last, U(1), high)
            candidates = (b1 - b0) + (e1 - e0)
            if candidates == U(0):
                continue
            if w + candidates > room:
                return at_first, run, met_first
            met += candidates
            inside, outside = (i, p) if rises else (p, i)
            place, kind = np.int32(i), np.int8(ENTERED) if rises else np.int8(-ENTERED)
            if two:
                w = _meet_two(
                    begin_whole, b0, b1, True, axis, query_of, slot, values,
                    inside, outside, place, kind, boxes, steps, places, queries, types, w,
                )  # fmt: skip
                w = _meet_two(
                    end_whole, e0, e1, False, axis, query_of, slot, values,
                    outside, inside, place, np.int8(-kind), boxes, steps, places, queries, types, w,
                )  # fmt: skip
            else:
                w = _meet(
                    begin_ids, b0, b1, axis, bounds, asks, query_of, slot, values,
                    inside, outside, place, kind, boxes, steps, places, queries, types, w,
                )  # fmt: skip
                w = _meet(
                    end_ids, e0, e1, axis, bounds, asks, query_of, slot, values,
                    outside, inside, place, np.int8(-kind), boxes, steps, places, queries, types, w,
                )  # fmt: skip
    return w, last_run, met


@njit(inline="always")
def _rank_in_cell(posts, cells, cell, side, value):
    """Find the rank of a value in its cell: a handful of posts, walked; a crowd of them, halved."""
    k, end = U(cells[U(2) * cell + side]), U(cells[U(2) * cell + U(2) + side])
    if end - k > U(CROWD):
        return rank_within(posts, k, end, value)
    while k < end and posts[k] <= value:
        k += U(1)
    return k


@njit(nogil=True, cache=True)
def first_sight(
    begins: Int32s,
    ends: Int32s,
    axis: int,
    boxes: BoxColumns,
    steps: Steps,
    places: Int64s,
    out: Events,
    start: int,
    write: bool,
):
    """Report who holds the first tuple of a stream: a sweep over places sorted on the axis.

    `begins` and `ends` are the boxes of the sweep, sorted by either end. O(boxes + boxes met on
    this one axis).
    """
    standing = np.empty(len(begins), np.int32)  # the boxes that hold the sweep's value on this axis
    at = np.empty(len(boxes.query), np.int32)  # where in `standing` each of them is
    inside, b, e, w = 0, 0, 0, start
    for place in places:
        value = steps.values[axis, place]
        while b < len(begins) and boxes.bounds[begins[b], axis, 0] <= value:
            standing[inside], at[begins[b]] = begins[b], inside
            inside += 1
            b += 1
        while e < len(ends) and boxes.bounds[ends[e], axis, 1] <= value:
            inside -= 1
            last, gap = standing[inside], at[ends[e]]
            standing[gap], at[last] = last, gap
            e += 1
        for s in range(inside):
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
            w += 1
    return w - start
