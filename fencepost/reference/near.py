"""Which streams of two feeds, or of one, are within a distance of each other?

Law: every pair is measured. On the earth by the haversine formula, on a sphere; a place beyond the
poles, or more than once round the earth, is near nothing. On a plane as Euclid has it.
"""

import math
from collections.abc import Mapping
from itertools import combinations, product

RADIUS = 6_371_008.8
"""Metres from the centre of the earth to its surface."""

Place = tuple[float, float]
"""Longitude and latitude in degrees, or x and y."""

Pair = tuple[str, str]


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
