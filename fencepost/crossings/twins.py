"""The walk in NumPy: what the kernels do, readable, and fast enough for a few thousand tuples.

A run too small to be worth loading a compiler takes this way; tests hold it equal to the kernels,
row for row.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fencepost.crossings.columns import ENTERED, BoxColumns, Events, Posts, Steps, Stripes
from fencepost.crossings.posts import PAD
from fencepost.tuples import Bools, Doubles, Int32s, Int64s

AT_ONCE = 1_000_000  # candidates tested side by side; beyond that, in turns


def ranks(posts: Posts, values: Doubles) -> tuple[Int32s, Int32s]:
    """Count the begins and the ends at or below each value, in a list of one segment."""
    begun = np.searchsorted(posts.begin_posts[:-PAD], values, side="right")
    ended = np.searchsorted(posts.end_posts[:-PAD], values, side="right")
    return begun.astype(np.int32), ended.astype(np.int32)


def ranks_within(posts: Posts, steps: Steps, segment: Int32s) -> tuple[Int32s, Int32s]:
    """Count them, from the start of the list, in the segment of each run's own stream.

    A run whose stream has none is at 0.
    """
    values = steps.values[posts.axis]
    found = np.zeros((2, len(values)), np.int32)
    sides = (posts.begin_posts, posts.end_posts)
    for run in np.flatnonzero(segment >= 0):
        places = slice(steps.starts[run], steps.starts[run + 1])
        for column, side in enumerate(sides):
            low, high = _segment_of(posts, column, segment[run])
            at = np.searchsorted(side[low:high], values[places], side="right")
            found[column, places] = low + at
    return found[0], found[1]


def _segment_of(posts: Posts, column: int, segment: int) -> tuple[int, int]:
    per = posts.ruler_cells
    cells = posts.cells
    return int(cells[2 * per * segment + column]), int(cells[2 * per * (segment + 1) + column])


def crossings(posts: Posts, steps: Steps, begun: Int32s, ended: Int32s) -> Events:
    """Write out the events of a plain list: the posts passed, but for boxes leapt over."""
    values = steps.values[posts.axis]
    p, c = pairs(steps)
    low, high = np.minimum(values[p], values[c]), np.maximum(values[p], values[c])
    rises = np.where(values[c] > values[p], ENTERED, -ENTERED).astype(np.int8)
    found = []
    for ids, far, rank, over, type_ in (
        (posts.begin_ids, posts.begin_far, begun, True, rises),
        (posts.end_ids, posts.end_far, ended, False, -rises),
    ):
        first, last = np.minimum(rank[p], rank[c]), np.maximum(rank[p], rank[c])
        for turn in in_turns(last - first):
            step, k = spans(first[turn], last[turn])
            step = step + turn.start
            kept = far[k] > high[step] if over else far[k] <= low[step]
            step, k = step[kept], k[kept]
            found.append(Events(c[step].astype(np.int32), ids[k], type_[step]))
    return together(found)


class _Candidates(NamedTuple):
    """Boxes that a step may have entered or left: in each, if at all, the tuple at `inside`."""

    box: Int32s
    inside: Int64s
    outside: Int64s
    now: Int64s  # which of the two is the later


def confirm(
    posts: Posts, stripes: Stripes, boxes: BoxColumns, steps: Steps, segment: Int32s
) -> tuple[Events, int]:
    """Confirm the candidates of a checked list; return the events and how many were met."""
    p, c = pairs(steps)
    run = np.repeat(np.arange(len(steps.starts) - 1), np.diff(steps.starts))[c]
    covered = segment[run] >= 0
    p, c, own = p[covered], c[covered], segment[run][covered].astype(np.int64)
    values = steps.values[posts.axis]
    rises = values[c] > values[p]
    found, examined = [], 0
    for column, ids, into in (
        (0, posts.begin_ids, rises),  # begins are entered by a rise and left by a fall
        (1, posts.end_ids, ~rises),  # ends the other way about
    ):
        inside, outside = np.where(into, c, p), np.where(into, p, c)
        at = own if stripes.stripes == 1 else stripe(stripes, steps, inside)
        low, high = np.minimum(values[p], values[c]), np.maximum(values[p], values[c])
        first, last = _ranks_at(posts, column, at, low), _ranks_at(posts, column, at, high)
        for turn in in_turns(last - first):
            step, k = spans(first[turn], last[turn])
            step = step + turn.start
            box = ids[k]
            examined += len(box)
            met = _Candidates(box, inside[step], outside[step], c[step])
            kept = _reports(boxes, met, posts.axis, steps)
            step, box = step[kept], box[kept]
            type_ = np.where(into[step], ENTERED, -ENTERED).astype(np.int8)
            query = (boxes.query[box] + boxes.slot).astype(np.int32)
            found.append(Events(c[step].astype(np.int32), query, type_))
    return together(found), examined


def stripe(stripes: Stripes, steps: Steps, place: Int64s) -> Int64s:
    """Say in which stripe each place lies."""
    with np.errstate(over="ignore"):
        at = (steps.values[stripes.axis, place] - stripes.origin) * stripes.scale
    cells: Int64s = np.clip(at, 0, stripes.stripes - 1).astype(np.int64)
    return cells


def _ranks_at(posts: Posts, column: int, segment: Int64s, values: Doubles) -> Int64s:
    """Rank each value in a segment of its own."""
    side = (posts.begin_posts, posts.end_posts)[column]
    found = np.zeros(len(values), np.int64)
    for own in np.unique(segment):
        those = segment == own
        low, high = _segment_of(posts, column, own)
        found[those] = low + np.searchsorted(side[low:high], values[those], side="right")
    return found


def _reports(boxes: BoxColumns, candidates: _Candidates, axis: int, steps: Steps) -> Bools:
    """Tell which candidates are events, each to be reported here and nowhere else."""
    box, inside, outside, now = candidates
    query = boxes.query[box]
    kept = box_holds(boxes, box, steps, inside)
    kept &= (boxes.valid_from[query] <= steps.ts[now]) & (steps.ts[now] < boxes.valid_to[query])
    for other in range(axis):  # where the tuple outside is outside too, the earlier axis reports it
        value = steps.values[other, outside]
        kept &= (boxes.bounds[box, other, 0] <= value) & (value < boxes.bounds[box, other, 1])
    several = np.flatnonzero(kept & (boxes.first[query + 1] - boxes.first[query] > 1))
    for k in several:
        boxes_of = np.arange(boxes.first[query[k]], boxes.first[query[k] + 1])
        there = np.full(len(boxes_of), 1)
        holds_outside = box_holds(boxes, boxes_of, steps, outside[k] * there)
        holds_inside = box_holds(boxes, boxes_of, steps, inside[k] * there)
        kept[k] = not holds_outside.any() and boxes_of[holds_inside][0] == box[k]
    return kept


def box_holds(boxes: BoxColumns, box: Int32s | Int64s, steps: Steps, place: Int64s) -> Bools:
    """Say, pair by pair, whether a box holds the tuple at a place."""
    inside: Bools = np.ones(len(box), np.bool_)
    for axis, values in enumerate(steps.values):
        value = values[place]
        inside &= (boxes.bounds[box, axis, 0] <= value) & (value < boxes.bounds[box, axis, 1])
    return inside


def first_sight(boxes: BoxColumns, candidates: Int64s, steps: Steps, places: Int64s) -> Events:
    """Report which of these boxes hold the first tuple of each stream."""
    found = []
    per_turn = max(1, AT_ONCE // max(1, len(candidates)))
    for start in range(0, len(places), per_turn):
        turn = places[start : start + per_turn]
        found.append(
            sighted(boxes, np.tile(candidates, len(turn)), steps, np.repeat(turn, len(candidates)))
        )
    return together(found)


def sighted(boxes: BoxColumns, box: Int64s, steps: Steps, place: Int64s) -> Events:
    """Of these boxes and places, pair by pair, report each query that holds, once."""
    query = boxes.query[box]
    kept = box_holds(boxes, box, steps, place)
    kept &= (boxes.valid_from[query] <= steps.ts[place]) & (steps.ts[place] < boxes.valid_to[query])
    pair = np.unique(np.stack([place[kept], query[kept]]), axis=1)
    slots = (pair[1] + boxes.slot).astype(np.int32)
    return Events(pair[0].astype(np.int32), slots, np.full(len(slots), ENTERED, np.int8))


def pairs(steps: Steps) -> tuple[Int64s, Int64s]:
    """Return the places of each step: from p to c, within the run of one stream."""
    after = np.ones(len(steps.ts), np.bool_)
    after[steps.starts[:-1][np.diff(steps.starts) > 0]] = False
    c = np.flatnonzero(after)
    return c - 1, c


def spans(first: Int64s | Int32s, last: Int64s | Int32s) -> tuple[Int64s, Int64s]:
    """Lay half-open spans end to end: for each entry, whose span it is of and which entry it is."""
    counts = (last - first).astype(np.int64)
    owner = np.repeat(np.arange(len(counts)), counts)
    before = np.cumsum(counts) - counts
    return owner, np.arange(len(owner)) + np.repeat(first - before, counts)


def in_turns(counts: Int64s | Int32s) -> list[slice]:
    """Cut steps into turns of about AT_ONCE entries, a step at least."""
    total = np.cumsum(counts, dtype=np.int64)
    if len(total) == 0 or total[-1] == 0:
        return []
    cuts = np.searchsorted(total, np.arange(AT_ONCE, total[-1], AT_ONCE), side="left") + 1
    edges = np.unique(np.concatenate([[0], cuts, [len(counts)]]))
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def together(found: list[Events]) -> Events:
    """Put events behind each other."""
    if not found:
        return Events(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int8))
    return Events(*(np.concatenate(columns) for columns in zip(*found, strict=True)))
