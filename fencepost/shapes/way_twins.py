"""Where a straight way is inside a shape, in Python: what the kernels do, readable and slow."""

import math
from collections.abc import Iterator
from itertools import pairwise

from fencepost.shapes.earth import dot, unit
from fencepost.shapes.prepare import Prepared
from fencepost.shapes.shape import CIRCLE, POLYGON, Point
from fencepost.shapes.twins import HALF_DEGREE, in_circle, in_flat_strip, in_strip, ring_of, turn
from fencepost.shapes.way_kernels import GOLDEN, HALVED, SEARCHED, SHORTEST

Stretch = tuple[float, float]
NOWHERE: Stretch = (1.0, 0.0)


def passage(
    prepared: Prepared, s: int, here: Point, there: Point, begin: float, end: float
) -> Stretch:
    """Give the shares at which the way is first and last in shape s, within a part of it."""
    if prepared.kind[s] == POLYGON:
        stretches = _through_polygons(prepared, s, here, there)
    else:
        stretches = (
            _through_piece(prepared, s, piece, here, there) for piece in _pieces(prepared, s)
        )
    inside = [(max(a, begin), min(b, end)) for a, b in stretches]
    inside = [(a, b) for a, b in inside if b - a > SHORTEST]
    return (min(a for a, _ in inside), max(b for _, b in inside)) if inside else NOWHERE


def _through_polygons(prepared: Prepared, s: int, here: Point, there: Point) -> Iterator[Stretch]:
    """Give the stretches between an odd crossing of the edges and the next."""
    if here == there:
        return
    dx, dy = there[0] - here[0], there[1] - here[1]
    aside = dy > 0.0 or (dy == 0.0 and dx < 0.0)
    for part in range(prepared.part_ptr[s], prepared.part_ptr[s + 1]):
        shares = []
        for number in range(prepared.ring_ptr[part], prepared.ring_ptr[part + 1]):
            ring = ring_of(prepared, number)
            turns = [turn(here, there, vertex) for vertex in ring]
            for v in range(len(ring)):
                before, after = turns[v - 1], turns[v]
                if (before > 0 or (before == 0 and aside)) != (after > 0 or (after == 0 and aside)):
                    on = ring[v - 1] if before == 0 else ring[v] if after == 0 else None
                    shares.append(_met((ring[v - 1], ring[v]), on, here, (dx, dy)))
        shares.sort()
        yield from zip(shares[::2], shares[1::2], strict=True)


def _met(edge: tuple[Point, Point], on: Point | None, here: Point, way: Point) -> float:
    """Give the share at which the way meets an edge, or the vertex of it that is on the way."""
    (ax, ay), (bx, by) = edge
    (dx, dy), (ex, ey) = way, (bx - ax, by - ay)
    crossed = dx * ey - dy * ex
    if on is None and crossed != 0.0:
        return ((ax - here[0]) * ey - (ay - here[1]) * ex) / crossed
    x, y = (bx, by) if on is None else on
    return (x - here[0]) / dx if abs(dx) >= abs(dy) else (y - here[1]) / dy


def _pieces(prepared: Prepared, s: int) -> list[list[Point]]:
    """List the centre of a circle, or the segments of a corridor."""
    line = ring_of(prepared, prepared.ring_ptr[prepared.part_ptr[s]])
    return [line] if len(line) == 1 else [[a, b] for a, b in pairwise(line)]


def _through_piece(
    prepared: Prepared, s: int, piece: list[Point], here: Point, there: Point
) -> Stretch:
    """Search the nearest point of the way, and from there for the ends of the reach."""
    dx, dy = there[0] - here[0], there[1] - here[1]

    def away(share: float) -> float:
        return _away(piece, (here[0] + share * dx, here[1] + share * dy), earth=prepared.earth)

    def reaches(share: float) -> bool:
        point = (here[0] + share * dx, here[1] + share * dy)
        reach = float(prepared.reach[s])
        if prepared.kind[s] == CIRCLE:
            return in_circle(piece[0], reach, point, earth=prepared.earth)
        return (in_strip if prepared.earth else in_flat_strip)(piece, reach, point)

    low, high = 0.0, 1.0
    one, other = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    for _ in range(SEARCHED):
        if away(one) <= away(other):
            high, other = other, one
            one = high - GOLDEN * (high - low)
        else:
            low, one = one, other
            other = low + GOLDEN * (high - low)
    nearest = one if away(one) <= away(other) else other
    if not reaches(nearest):
        return NOWHERE
    ends = []
    for end in (0.0, 1.0):
        within, beyond = nearest, end
        if reaches(beyond):
            ends.append(beyond)
            continue
        for _ in range(HALVED):
            middle = 0.5 * (within + beyond)
            within, beyond = (middle, beyond) if reaches(middle) else (within, middle)
        ends.append(within)
    return ends[0], ends[1]


def _away(piece: list[Point], point: Point, *, earth: bool) -> float:
    """Measure how far a point is from a centre or a segment: what grows with the distance."""
    (x, y), (ax, ay) = point, piece[0]
    if not earth:
        px, py = x - ax, y - ay
        if len(piece) > 1:
            dx, dy = piece[1][0] - ax, piece[1][1] - ay
            square = dx * dx + dy * dy
            if square > 0.0:
                along = min(1.0, max(0.0, (px * dx + py * dy) / square))
                px, py = px - along * dx, py - along * dy
        return math.hypot(px, py)
    if len(piece) == 1:
        up, across = math.sin(HALF_DEGREE * (y - ay)), math.sin(HALF_DEGREE * (x - ax))
        ring = math.cos(math.radians(ay)) * math.cos(math.radians(y))
        return up * up + ring * (across * across)
    p, a, b = (unit(*each) for each in (point, *piece))
    chord, beside = _less(b, a), _less(p, a)
    square = dot(chord, chord)
    along = min(1.0, max(0.0, dot(beside, chord) / square)) if square > 0.0 else 0.0
    near = tuple(u + along * d for u, d in zip(a, chord, strict=True))
    size = math.sqrt(sum(u * u for u in near))
    apart = _less(p, tuple(u / size for u in near))
    return dot(apart, apart)


def _less(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, float, float]:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]
