"""The earth as a sphere: unit vectors, distances, and how far a cap or a strip reaches.

Every sine and cosine is the C library's, by `math`: kernels call the same, so a twin gives the same
bits. (NumPy's own differ in the last place.)
"""

import math
from itertools import pairwise

RADIUS = 6_371_008.8
"""Metres from the centre of the earth to its surface: the mean radius of WGS 84."""

LARGEST_REACH = math.pi * RADIUS
WEST, EAST, SOUTH, NORTH = -180.0, 180.0, -90.0, 90.0
SLACK = 1e-9  # radians, 6 mm: bounds may be too wide, never too narrow

Vector = tuple[float, float, float]


def unit(lon: float, lat: float) -> Vector:
    """Place a point of the globe on the unit sphere."""
    across, up = math.radians(lon), math.radians(lat)
    ring = math.cos(up)
    return ring * math.cos(across), ring * math.sin(across), math.sin(up)


def haversine(lon: float, lat: float, other_lon: float, other_lat: float) -> float:
    """Measure the great-circle distance in metres by the haversine formula."""
    up = math.sin(math.radians(other_lat - lat) / 2.0)
    across = math.sin(math.radians(other_lon - lon) / 2.0)
    ring = math.cos(math.radians(lat)) * math.cos(math.radians(other_lat))
    return 2.0 * RADIUS * math.asin(math.sqrt(min(1.0, up * up + ring * (across * across))))


def cross(a: Vector, b: Vector) -> Vector:
    """Multiply two vectors: the result is square to both."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def dot(a: Vector, b: Vector) -> float:
    """Multiply two vectors to a number."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def bounds_of(line: tuple[tuple[float, float], ...], reach: float) -> tuple[float, ...]:
    """Bound what is within `reach` of a line: west, east, south, north, both ends included.

    A strip that touches the antimeridian or a pole has all longitudes. Too wide by millimetres.
    """
    angle = reach / RADIUS + SLACK
    lats = [lat for _, lat in line]
    for one, other in pairwise(line):
        lats += _apex(one, other)
    south, north = min(lats) - math.degrees(angle), max(lats) + math.degrees(angle)
    highest = math.radians(max(abs(min(lats)), abs(max(lats)))) + angle
    if highest >= math.pi / 2 or angle >= math.pi / 2:
        return WEST, EAST, max(SOUTH, south), min(NORTH, north)
    aside = math.degrees(math.asin(min(1.0, math.sin(angle) / math.cos(highest - angle)))) + 1e-7
    lons = [line[0][0]]
    for lon, _ in line[1:]:
        lons.append(lons[-1] + math.remainder(lon - lons[-1], 360.0))
    west, east = min(lons) - aside, max(lons) + aside
    if west <= WEST or east >= EAST:
        west, east = WEST, EAST
    return west, east, max(SOUTH, south), min(NORTH, north)


def _apex(one: tuple[float, float], other: tuple[float, float]) -> list[float]:
    """Find the latitude at which an arc turns round, where it does between its ends."""
    a, b = unit(*one), unit(*other)
    normal = cross(a, b)
    # At its ends the arc goes up or down: towards the pole at one, and away from it at the other.
    leaves, comes = cross(normal, a)[2], cross(normal, b)[2]
    if leaves * comes >= 0.0:
        return []
    steep = math.degrees(math.atan2(math.hypot(normal[0], normal[1]), abs(normal[2])))
    return [steep if leaves > 0.0 else -steep]
