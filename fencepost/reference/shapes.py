"""Is a point inside a shape? In fractions for polygons, by the stated formulas for the others.

Law: as docs/semantics.md has it, literally; nothing is skipped because it is far away.
"""

import math
from fractions import Fraction
from itertools import pairwise

from fencepost.shapes.earth import RADIUS
from fencepost.shapes.shape import CIRCLE, POLYGON, Part, Point, Shape

Vector = tuple[float, float, float]


def holds(shape: Shape, x: float, y: float) -> bool:
    """A polygon holds by the even-odd rule in any of its parts; the others reach so far."""
    if shape.kind == POLYGON:
        return any(is_odd(part, x, y) for part in shape.parts)
    (x_lo, x_hi), (y_lo, y_hi) = shape.bounds
    if not (x_lo <= x < x_hi and y_lo <= y < y_hi):
        return False  # beyond ±180 and ±90 nothing is on the earth
    line = shape.parts[0][0]
    if shape.kind == CIRCLE:
        return is_near(line[0], (x, y), shape)
    return any(is_near(vertex, (x, y), shape, by_chord=True) for vertex in line) or any(
        is_beside(a, b, (x, y), shape) for a, b in pairwise(line)
    )


def is_odd(part: Part, x: float, y: float) -> bool:
    """An edge counts that is half-open upwards at y and crosses strictly to the right of x."""
    crossed = 0
    for ring in part:
        for (xa, ya), (xb, yb) in zip(ring, (*ring[1:], ring[0]), strict=True):
            if ya <= y < yb or yb <= y < ya:
                along = (Fraction(y) - Fraction(ya)) / (Fraction(yb) - Fraction(ya))
                crossed += Fraction(xa) + along * (Fraction(xb) - Fraction(xa)) > Fraction(x)
    return crossed % 2 == 1


def is_near(centre: Point, point: Point, shape: Shape, *, by_chord: bool = False) -> bool:
    """A point is near by the haversine formula, from a corridor's vertex by its chord."""
    (lon, lat), (x, y) = centre, point
    if not shape.earth:
        return (x - lon) * (x - lon) + (y - lat) * (y - lat) <= shape.reach * shape.reach
    if by_chord:
        chord = less(placed(point), placed(centre))
        square = 0.25 * times(chord, chord)
    else:
        up = math.sin(math.radians(0.5) * (y - lat))
        across = math.sin(math.radians(0.5) * (x - lon))
        ring = math.cos(math.radians(lat)) * math.cos(math.radians(y))
        square = up * up + ring * (across * across)
    return 2.0 * RADIUS * math.asin(math.sqrt(min(1.0, square))) <= shape.reach


def is_beside(a: Point, b: Point, point: Point, shape: Shape) -> bool:
    """Between the ends of a segment its line is near enough; of an arc its great circle."""
    if not shape.earth:
        way, off = (b[0] - a[0], b[1] - a[1]), (point[0] - a[0], point[1] - a[1])
        square, along = way[0] * way[0] + way[1] * way[1], off[0] * way[0] + off[1] * way[1]
        aside = abs(way[0] * off[1] - way[1] * off[0])
        return 0.0 < along < square and aside <= shape.reach * math.sqrt(square)
    one, other, here = placed(a), placed(b), placed(point)
    total = (other[0] + one[0], other[1] + one[1], other[2] + one[2])
    normal = square_to(total, less(other, one))
    if times(normal, normal) == 0.0:
        return False
    after = times(less(here, one), square_to(normal, one))
    before = times(less(here, other), square_to(other, normal))
    aside = abs(times(less(here, one), normal)) / math.sqrt(times(normal, normal))
    return min(after, before) >= 0 and RADIUS * math.asin(min(1.0, aside)) <= shape.reach


def placed(point: Point) -> Vector:
    """A point of the globe is on the unit sphere."""
    across, up = math.radians(point[0]), math.radians(point[1])
    return math.cos(up) * math.cos(across), math.cos(up) * math.sin(across), math.sin(up)


def less(a: Vector, b: Vector) -> Vector:
    """One vector less another."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def times(a: Vector, b: Vector) -> float:
    """The product of two vectors that is a number."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def square_to(a: Vector, b: Vector) -> Vector:
    """The product of two vectors that is square to both."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
