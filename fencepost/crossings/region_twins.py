"""The walk of queries with a region, in NumPy: who holds at each place, compared with the last."""

import numpy as np

from fencepost.crossings.columns import ENTERED, BoxColumns, Events, Steps
from fencepost.crossings.region_queries import RegionQueries
from fencepost.crossings.twins import box_holds, in_turns, spans
from fencepost.shapes.holds import holds
from fencepost.shapes.prepare import prepared
from fencepost.tuples import Bools, Int32s, Int64s


def cross(
    shaped: RegionQueries, boxes: BoxColumns, steps: Steps, segment: Int32s, fresh: Bools
) -> Events:
    """Find the events of all runs, of which `segment` and `fresh` speak."""
    m = len(steps.ts)
    starts = steps.starts[:-1][np.diff(steps.starts) > 0]
    first, final, sighted = np.zeros((3, m), np.bool_)
    first[starts], final[np.append(starts, m)[1:] - 1] = True, True
    sighted[starts] = fresh[np.diff(steps.starts) > 0]
    keys = _holding(shaped, boxes, steps, segment)
    query, place = np.divmod(keys, m)
    enters = shaped.ruled.enters[query]
    came = np.where(first[place], sighted[place] & enters, ~np.isin(keys - 1, keys))
    left = ~final[place] & ~np.isin(keys + 1, keys)
    query = np.concatenate([query[came], query[left]])
    place = np.concatenate([place[came], place[left] + 1])
    kind = np.repeat(np.array([ENTERED, -ENTERED], np.int8), [came.sum(), left.sum()])
    ts = steps.ts[place]
    valid = (boxes.valid_from[query] <= ts) & (ts < boxes.valid_to[query])
    events = Events(place.astype(np.int32), (query + boxes.slot).astype(np.int32), kind)
    return Events(*(column[valid] for column in events))  # type: ignore[arg-type]


def _holding(shaped: RegionQueries, boxes: BoxColumns, steps: Steps, segment: Int32s) -> Int64s:
    """Find who holds where: query * places + place, ascending."""
    own = np.repeat(segment, np.diff(steps.starts))
    found = [np.empty(0, np.int64)]
    for each in np.unique(own[own >= 0]):
        found += _holding_within(shaped, boxes, steps, each, np.flatnonzero(own == each))
    return np.unique(np.concatenate(found))


def _holding_within(
    shaped: RegionQueries, boxes: BoxColumns, steps: Steps, segment: int, places: Int64s
) -> list[Int64s]:
    """Find them among the queries and the places of one segment: boxes first, then shapes."""
    across, up = shaped.axes
    tests = prepared(shaped.queries.shapes, fast=False)
    places = places[np.argsort(steps.values[across, places], kind="stable")]
    values = steps.values[across, places]
    query = shaped.query[shaped.segment == segment].astype(np.int64)
    _, box = spans(boxes.first[query], boxes.first[query + 1])
    low = np.searchsorted(values, boxes.bounds[box, across, 0])
    high = np.searchsorted(values, boxes.bounds[box, across, 1])
    found = []
    for turn in in_turns(high - low):
        owner, k = spans(low[turn], high[turn])
        met, place = box[turn][owner], places[k]
        kept = box_holds(boxes, met, steps, place)
        owner, place = boxes.query[met[kept]].astype(np.int64), place[kept]
        x, y = steps.values[across, place], steps.values[up, place]
        kept = holds(tests, shaped.ruled.shape[owner], x, y)
        found.append(owner[kept] * len(steps.ts) + place[kept])
    return found
