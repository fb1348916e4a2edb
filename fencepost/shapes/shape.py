"""One shape: polygons, a circle or a corridor, as a value.

Law: two shapes with the same text on the same ground hold the same points. A ring is stored without
its closing vertex; -0.0 is 0.0.
"""

import math
from dataclasses import dataclass

from fencepost.doubles import next_double
from fencepost.shapes import earth as globe

POLYGON, CIRCLE, CORRIDOR = range(3)
KINDS = ("polygon", "circle", "corridor")
"""What a shape is called, by its kind."""

Point = tuple[float, float]
Ring = tuple[Point, ...]
Part = tuple[Ring, ...]
Bounds = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Shape:
    """A region of the plane, or of the earth in degrees.

    `parts` are polygons, each a tuple of rings; a circle has one ring of one vertex, its centre, a
    corridor one ring, its line. `reach` is the radius, or half the width: metres on the earth.
    """

    kind: int
    parts: tuple[Part, ...]
    reach: float
    earth: bool

    @property
    def vertices(self) -> int:
        """How many vertices it has."""
        return sum(len(ring) for part in self.parts for ring in part)

    @property
    def text(self) -> str:
        """Write it as canonical JSON: its identity, and what GeoJSON says of polygons. O(n)."""
        if self.kind == CIRCLE:
            centre = _position(self.parts[0][0][0])
            return f'{{"circle":{{"center":{centre},"radius":{number(self.reach)}}}}}'
        if self.kind == CORRIDOR:
            line, width = _line(self.parts[0][0]), number(2.0 * self.reach)
            return f'{{"corridor":{{"line":{line},"width":{width}}}}}'
        polygons = [
            f"[{','.join(_line((*ring, ring[0])) for ring in part)}]" for part in self.parts
        ]
        if len(polygons) == 1:
            return f'{{"type":"Polygon","coordinates":{polygons[0]}}}'
        return f'{{"type":"MultiPolygon","coordinates":[{",".join(polygons)}]}}'

    @property
    def bounds(self) -> Bounds:
        """Give a half-open box that contains the shape: exact of polygons, else a little wide."""
        line = [vertex for part in self.parts for ring in part for vertex in ring]
        if self.kind == POLYGON:
            xs, ys = [x for x, _ in line], [y for _, y in line]
            return (min(xs), max(xs)), (min(ys), max(ys))
        return reach_of(tuple(line), self.reach, earth=self.earth)


def reach_of(line: Ring, reach: float, *, earth: bool) -> Bounds:
    """Bound what is within `reach` of a line by a half-open box."""
    if earth:
        west, east, south, north = globe.bounds_of(line, reach)
        return (west, next_double(east)), (south, next_double(north))
    xs, ys = [x for x, _ in line], [y for _, y in line]
    return _widened(min(xs), max(xs), reach), _widened(min(ys), max(ys), reach)


def _widened(lo: float, hi: float, reach: float) -> tuple[float, float]:
    """Widen a range on the plane, and by some places more than any rounding in the test."""
    slack = 1e-12 * max(abs(lo), abs(hi), reach)
    return math.nextafter(lo - reach - slack, -math.inf) + 0.0, next_double(hi + reach + slack)


def number(value: float) -> str:
    """Write a double in the fewest digits that read back as it."""
    if value == 0.0:
        return "0"
    return f"{value:.0f}" if value.is_integer() and abs(value) < 2.0**53 else repr(value)


def _position(vertex: Point) -> str:
    return f"[{number(vertex[0])},{number(vertex[1])}]"


def _line(vertices: Ring) -> str:
    return f"[{','.join(map(_position, vertices))}]"
