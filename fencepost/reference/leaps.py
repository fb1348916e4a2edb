"""Did a step pass through a query between its two tuples? By fractions, and by looking closely.

Law: it did iff the query holds at neither and the straight way between them is inside over more
than a point (of a shape: over more than 1e-12 of the way). What is in boxes and polygons is found
in fractions; in circles and corridors the way is looked at in many places.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from fencepost.queries import StandingQuery
from fencepost.queries.condition import Box
from fencepost.reference import shapes
from fencepost.reference.crossings import covers, holds, is_valid
from fencepost.reference.order import Head
from fencepost.shapes.shape import POLYGON, Shape

CLOSELY = 200
SHORTEST = Fraction(1, 10**12)

Stretch = tuple[Fraction, Fraction]
Values = Sequence[float]


class Leap(NamedTuple):
    """A step through a query: the shares of the way at which it went in and out."""

    query_id: str
    version: int
    stream: str
    ts: int
    prev_ts: int
    enter: float
    leave: float
    delivery: int
    place: int = 0


def leap(
    query: StandingQuery, stream: str, previous: Head | None, current: Head, delivery: int
) -> Leap | None:
    """A leap is reported of what asks for it, and holds at neither end."""
    if previous is None or not query.leaps:
        return None
    if not (covers(query, stream) and is_valid(query, current.ts)):
        return None
    if holds(query, previous.values) or holds(query, current.values):
        return None
    found = stretches(query, previous.values, current.values)
    if not found:
        return None
    enter, leave = min(a for a, _ in found), max(b for _, b in found)
    names = (query.id, query.version, stream, current.ts, previous.ts)
    return Leap(*names, float(enter), float(leave), delivery, current.place)


def stretches(query: StandingQuery, p: Values, c: Values) -> list[Stretch]:
    """The stretches of the way that are inside: of each box, and in it of the shape."""
    region, found = query.region, []
    for here, there in ways(query, p, c):
        for box in query.boxes:
            stretch = in_box(box, here, there)
            if stretch is None:
                continue
            if region is None or query.position is None:
                found.append(stretch)
                continue
            x, y = query.position
            ends = (here[x], here[y]), (there[x], there[y])
            for a, b in in_shape(region, *ends):
                low, high = max(a, stretch[0]), min(b, stretch[1])
                if high - low > SHORTEST:
                    found.append((low, high))
    return found


def ways(query: StandingQuery, p: Values, c: Values) -> list[tuple[Values, Values]]:
    """A step of more than half the globe goes the other way, across the antimeridian."""
    if query.region is None or query.position is None or not query.region.earth:
        return [(p, c)]
    x = query.position[0]
    if abs(c[x] - p[x]) <= 180:
        return [(p, c)]
    turn = 360.0 if c[x] < p[x] else -360.0
    beyond = [v + turn if axis == x else v for axis, v in enumerate(c)]
    before = [v - turn if axis == x else v for axis, v in enumerate(p)]
    return [(p, beyond), (before, c)]


def in_box(box: Box, p: Values, c: Values) -> Stretch | None:
    """A box is passed while all axes are in their ranges, if that is more than a moment."""
    enter, leave = Fraction(0), Fraction(1)
    for (lo, hi), a, b in zip(box, p, c, strict=True):
        if a == b:
            if not lo <= a < hi:
                return None
            continue
        near, far = (lo, hi) if a < b else (hi, lo)
        way = Fraction(b) - Fraction(a)
        if abs(near) != float("inf"):
            enter = max(enter, (Fraction(near) - Fraction(a)) / way)
        elif (near > 0) != (a > b):
            return None
        if abs(far) != float("inf"):
            leave = min(leave, (Fraction(far) - Fraction(a)) / way)
    return (enter, leave) if enter < leave else None


def in_shape(shape: Shape, p: tuple[float, float], c: tuple[float, float]) -> list[Stretch]:
    """Between two meetings with edges nothing changes, so the middle speaks for all of it."""
    if shape.kind != POLYGON:
        return looked_at(shape, p, c)
    edges = [
        (a, b)
        for part in shape.parts
        for ring in part
        for a, b in zip(ring, (*ring[1:], ring[0]), strict=True)
    ]
    cuts = sorted({Fraction(0), Fraction(1), *(t for a, b in edges for t in meets(a, b, p, c))})
    found: list[Stretch] = []
    for a, b in pairwise(cuts):
        x, y = (
            Fraction(u) + (a + b) / 2 * (Fraction(v) - Fraction(u))
            for u, v in zip(p, c, strict=True)
        )
        if not any(odd(part, x, y) for part in shape.parts):
            continue
        if found and found[-1][1] == a:
            found[-1] = (found[-1][0], b)
        else:
            found.append((a, b))
    return found


def odd(part: Sequence[Sequence[tuple[float, float]]], x: Fraction, y: Fraction) -> bool:
    """The even-odd rule holds between doubles, too."""
    crossed = 0
    for ring in part:
        for a, b in zip(ring, (*ring[1:], ring[0]), strict=True):
            (xa, ya), (xb, yb) = map(exact, (a, b))
            if ya <= y < yb or yb <= y < ya:
                crossed += xa + (y - ya) / (yb - ya) * (xb - xa) > x
    return crossed % 2 == 1


def exact(point: tuple[float, float]) -> tuple[Fraction, Fraction]:
    """A point in fractions."""
    return Fraction(point[0]), Fraction(point[1])


def meets(
    a: tuple[float, float],
    b: tuple[float, float],
    p: tuple[float, float],
    c: tuple[float, float],
) -> list[Fraction]:
    """The shares of the way at which it meets the line of an edge, or one of its vertices."""
    (ax, ay), (bx, by), (px, py), (cx, cy) = map(exact, (a, b, p, c))
    dx, dy, ex, ey = cx - px, cy - py, bx - ax, by - ay
    cross = dx * ey - dy * ex
    if cross != 0:
        shares = [((ax - px) * ey - (ay - py) * ex) / cross]
    else:
        shares = [(y - py) / dy for y in (ay, by)] if dy else []
        shares += [(x - px) / dx for x in (ax, bx)] if dx else []
    return [share for share in shares if 0 < share < 1]


def looked_at(shape: Shape, p: tuple[float, float], c: tuple[float, float]) -> list[Stretch]:
    """A way is looked at in many places, and closely where the answer changes."""
    shares = [k / CLOSELY for k in range(CLOSELY + 1)]
    inside = [reaches(shape, p, c, share) for share in shares]
    found: list[Stretch] = []
    for k in range(CLOSELY + 1):
        if inside[k] and (k == 0 or not inside[k - 1]):
            begin = closer(shape, p, c, shares[k], shares[k - 1]) if k else 0.0
            last = next((n for n in range(k, CLOSELY + 1) if not inside[n]), None)
            end = 1.0 if last is None else closer(shape, p, c, shares[last - 1], shares[last])
            found.append((Fraction(begin), Fraction(end)))
    return found


def closer(
    shape: Shape, p: tuple[float, float], c: tuple[float, float], within: float, beyond: float
) -> float:
    """Between a share inside and one outside there is a border."""
    for _ in range(50):
        middle = (within + beyond) / 2
        if reaches(shape, p, c, middle):
            within = middle
        else:
            beyond = middle
    return within


def reaches(shape: Shape, p: tuple[float, float], c: tuple[float, float], share: float) -> bool:
    """A point of the way is within reach of the line or the centre."""
    here = (p[0] + share * (c[0] - p[0]), p[1] + share * (c[1] - p[1]))
    line = shape.parts[0][0]
    if len(line) == 1:
        return shapes.is_near(line[0], here, shape)
    return any(shapes.is_near(vertex, here, shape, by_chord=True) for vertex in line) or any(
        shapes.is_beside(a, b, here, shape) for a, b in pairwise(line)
    )
