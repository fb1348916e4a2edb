"""Which streams of two feeds, or of one, are within a distance of each other?

Law: every pair is measured. On the earth by the haversine formula, on a sphere; a place beyond the
poles, or more than once round the earth, is near nothing. On a plane as Euclid has it.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

from fencepost.queries.joins import NEAR_JOIN, JoinQuery, SomeStreams
from fencepost.queries.patterns import fits

RADIUS = 6_371_008.8
"""Metres from the centre of the earth to its surface."""

Place = tuple[float, float]
"""Longitude and latitude in degrees, or x and y."""

Pair = tuple[str, str]

Members = Mapping[str, Sequence[float]]
"""The current values of a feed's streams."""

NearResult = dict[tuple[str, int, str, str], tuple[Place, Place, float]]
"""Query id and version, left and right stream of each pair: both places, how far apart."""


class NearChange(NamedTuple):
    """A pair that came into a near join's result (+1), or left it (-1), with its places then.

    Of a registration there is no ts and no place, and the delivery is -1.
    """

    query_id: str
    version: int
    change: int
    left: str
    right: str
    left_at: Place
    right_at: Place
    distance: float
    ts: int | None
    delivery: int
    place: int | None = None


def apart(one: Place, other: Place, *, earth: bool) -> float:
    """Measure how far two places are from each other: in metres, or in units of the plane."""
    (x, y), (to_x, to_y) = one, other
    if not earth:
        return math.sqrt((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y))
    if not (is_on_earth(one) and is_on_earth(other)):
        return math.inf
    up = math.sin(math.radians(to_y - y) / 2.0)
    across = math.sin(math.radians(to_x - x) / 2.0)
    ring = math.cos(math.radians(y)) * math.cos(math.radians(to_y))
    return 2.0 * RADIUS * math.asin(math.sqrt(min(1.0, up * up + ring * (across * across))))


def is_on_earth(place: Place) -> bool:
    """Say whether degrees are a place: up to 90 of latitude, and 360 of longitude."""
    lon, lat = place
    return abs(lon) <= 360.0 and abs(lat) <= 90.0


def near_pairs(
    left: Mapping[str, Place], right: Mapping[str, Place] | None, distance: float, *, earth: bool
) -> dict[Pair, float]:
    """Give the pairs at most a distance apart; without a right side each pair of the left, once."""
    others = left if right is None else right
    by_bytes = sorted(left, key=str.encode)
    pairs = [*combinations(by_bytes, 2)] if right is None else [*product(left, right)]
    measured = {(a, b): apart(left[a], others[b], earth=earth) for a, b in pairs}
    return {pair: length for pair, length in measured.items() if length <= distance}


def near_result_of(left: Members, right: Members, queries: Sequence[JoinQuery]) -> NearResult:
    """Give every pair that is within the distance of a join that asks for it."""
    result: NearResult = {}
    for query in queries:
        if query.kind != NEAR_JOIN or query.positions is None or query.distance is None:
            continue
        one = query.left == query.right
        lefts, rights = (
            {stream: (values[x], values[y]) for stream, values in streams.items()}
            for streams, (x, y) in zip((left, right), query.positions, strict=True)
        )
        near = near_pairs(lefts, None if one else rights, query.distance, earth=query.earth)
        others = lefts if one else rights
        for (a, b), length in near.items():
            if takes(query, a, b) or (one and takes(query, b, a)):
                result[query.id, query.version, a, b] = (lefts[a], others[b], length)
    return result


def takes(query: JoinQuery, left: str, right: str) -> bool:
    """Say whether a join takes both streams, each on its side."""
    sides = zip(query.takes, (left, right), strict=True)
    return all(takes_stream(some, stream) for some, stream in sides)


def takes_stream(some: SomeStreams | None, stream: str) -> bool:
    """Say whether a stream is taken: any, or those named and those that fit a pattern."""
    if some is None:
        return True
    return stream in some.named or any(fits(pattern, stream) for pattern in some.likes)


def near_changes(
    before: NearResult, after: NearResult, ts: int | None, number: int, place: int | None
) -> list[NearChange]:
    """List what was in and is not any more, and what is in and was not."""
    lost = [(-1, pair, before[pair]) for pair in before if pair not in after]
    gained = [(+1, pair, after[pair]) for pair in after if pair not in before]
    return [
        NearChange(id, version, change, left, right, *values, ts, number, place)
        for change, (id, version, left, right), values in lost + gained
    ]
