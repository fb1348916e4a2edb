"""The test of a point in Python and fractions: what the kernels do, readable and slow."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np

from fencepost.arrays import Bools, Doubles, Int32s, Int64s
from fencepost.shapes.earth import RADIUS, cross, dot, unit
from fencepost.shapes.prepare import Prepared
from fencepost.shapes.shape import CIRCLE, POLYGON, Point

HALF_DEGREE = math.radians(0.5)


def holds(prepared: Prepared, rows: Int64s | Int32s, x: Doubles, y: Doubles) -> Bools:
    """Test pair by pair."""
    pairs = zip(rows.tolist(), x.tolist(), y.tolist(), strict=True)
    return np.fromiter((inside(prepared, *pair) for pair in pairs), np.bool_, len(rows))


def inside(prepared: Prepared, s: int, x: float, y: float) -> bool:
    """Say whether shape s holds the point (x, y). O(vertices)."""
    if not (prepared.lo[0, s] <= x < prepared.hi[0, s]):
        return False
    if not (prepared.lo[1, s] <= y < prepared.hi[1, s]):
        return False
    parts = range(prepared.part_ptr[s], prepared.part_ptr[s + 1])
    if prepared.kind[s] == POLYGON:
        return any(_in_part(prepared, part, (x, y)) for part in parts)
    line, reach = ring_of(prepared, prepared.ring_ptr[parts[0]]), float(prepared.reach[s])
    if prepared.kind[s] == CIRCLE:
        return in_circle(line[0], reach, (x, y), earth=prepared.earth)
    near = in_strip if prepared.earth else in_flat_strip
    return near(line, reach, (x, y))


def ring_of(prepared: Prepared, ring: int) -> list[Point]:
    """List the vertices of a ring."""
    place = slice(prepared.vertex_ptr[ring], prepared.vertex_ptr[ring + 1])
    return list(zip(prepared.x[place].tolist(), prepared.y[place].tolist(), strict=True))


def _in_part(prepared: Prepared, part: int, point: Point) -> bool:
    odd = False
    for ring in range(prepared.ring_ptr[part], prepared.ring_ptr[part + 1]):
        vertices = ring_of(prepared, ring)
        for a, b in zip([vertices[-1], *vertices], vertices, strict=False):
            odd ^= passes(a, b, point)
    return odd


def passes(a: Point, b: Point, point: Point) -> bool:
    """Say whether an edge crosses the ray from the point to the right, half-open upwards."""
    if (a[1] <= point[1]) == (b[1] <= point[1]):
        return False
    if point[0] >= a[0] and point[0] >= b[0]:
        return False
    low, high = (a, b) if a[1] < b[1] else (b, a)
    return (point[0] < a[0] and point[0] < b[0]) or turn(low, high, point) > 0


def turn(a: Point, b: Point, p: Point) -> Fraction:
    """Compute (a - p) × (b - p) exactly: above 0 where p is to the left of the way from a to b."""
    (ax, ay), (bx, by), (px, py) = (map(Fraction, vertex) for vertex in (a, b, p))
    return (ax - px) * (by - py) - (ay - py) * (bx - px)


def in_circle(centre: Point, reach: float, point: Point, *, earth: bool) -> bool:
    """Test by the haversine formula on the earth, by Euclid's on a plane."""
    dx, dy = point[0] - centre[0], point[1] - centre[1]
    if not earth:
        return dx * dx + dy * dy <= reach * reach
    up, across = math.sin(HALF_DEGREE * dy), math.sin(HALF_DEGREE * dx)
    ring = math.cos(math.radians(centre[1])) * math.cos(math.radians(point[1]))
    square = min(1.0, up * up + ring * (across * across))
    return 2.0 * RADIUS * math.asin(math.sqrt(square)) <= reach


def in_flat_strip(line: list[Point], reach: float, point: Point) -> bool:
    """Test whether a point is near a vertex, or beside a segment between its ends."""
    if any(in_circle(vertex, reach, point, earth=False) for vertex in line):
        return True
    for (ax, ay), (bx, by) in pairwise(line):
        dx, dy, px, py = bx - ax, by - ay, point[0] - ax, point[1] - ay
        square, along = dx * dx + dy * dy, px * dx + py * dy
        if 0.0 < along < square and abs(dx * py - dy * px) <= reach * math.sqrt(square):
            return True
    return False


def in_strip(line: list[Point], reach: float, point: Point) -> bool:
    """Test whether a point is near a vertex, or beside an arc between its ends."""
    p = unit(*point)
    units = [unit(*vertex) for vertex in line]
    for a in units:
        square = 0.25 * dot(_less(p, a), _less(p, a))
        if 2.0 * RADIUS * math.asin(math.sqrt(min(1.0, square))) <= reach:
            return True
    for a, b in pairwise(units):
        normal = cross((b[0] + a[0], b[1] + a[1], b[2] + a[2]), _less(b, a))
        square = dot(normal, normal)
        after, before = dot(_less(p, a), cross(normal, a)), dot(_less(p, b), cross(b, normal))
        if square == 0.0 or after < 0.0 or before < 0.0:
            continue
        aside = abs(dot(_less(p, a), normal)) / math.sqrt(square)
        if RADIUS * math.asin(min(1.0, aside)) <= reach:
            return True
    return False


def _less(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, float, float]:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]
