"""From a `region` as people write it to a shape: GeoJSON, WKT, circles and corridors.

Law: what is accepted has one meaning, and nothing in it was guessed. What is refused is named with
its polygon, ring and vertex, counted from 1. Reading is linear in the text.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from operator import sub
from typing import NamedTuple, TypeGuard

from fencepost.doubles import EXACT_UP_TO, exactly
from fencepost.errors import QueryFault
from fencepost.shapes.distances import parse_distance
from fencepost.shapes.earth import LARGEST_REACH
from fencepost.shapes.shape import CIRCLE, CORRIDOR, POLYGON, Part, Point, Ring, Shape
from fencepost.shapes.wkt import read_wkt
from fencepost.text import did_you_mean, shortened

MOST_VERTICES = 1_000_000
FARTHEST = 1e150
"""No coordinate on a plane is farther out: so the squares of distances are doubles."""

_FORMS = (
    "a Polygon or MultiPolygon of GeoJSON, or of WKT as text, "
    '{"circle": {"center": [a, b], "radius": "150m"}} or '
    '{"corridor": {"line": [[a, b], …], "width": "50m"}}'
)
_CUT = (
    "cut what crosses the antimeridian into a MultiPolygon, one part up to 180 and one from -180 "
    "on (RFC 7946, 3.1.9), as `ogr2ogr -wrapdateline out.geojson in.geojson` does"
)
_WGS_84 = ("CRS84", "EPSG::4326", "EPSG:4326")
_OTHERS = {
    "Point": "a point with a radius is a circle",
    "LineString": "a line with a width is a corridor",
    "Feature": "give its `geometry`; `fencepost queries import` reads whole files",
    "FeatureCollection": "`fencepost queries import` reads whole files",
    "GeometryCollection": "give one query for each geometry, or a MultiPolygon",
}


def shape_of(obj: object, *, earth: bool) -> Shape:
    """Read a region: a value of JSON, or WKT. QueryFault says what is wrong, and where."""
    if isinstance(obj, str):
        obj = _from_text(obj)
    if not isinstance(obj, dict):
        raise QueryFault("`region` is no object", hint=f"a region is {_FORMS}")
    if "circle" in obj or "corridor" in obj:
        return _with_reach(obj, earth=earth)
    kind = obj.get("type")
    if kind not in ("Polygon", "MultiPolygon"):
        raise _no_polygon(kind)
    _refuse_others(obj, ("type", "coordinates", "bbox", "crs"), str(kind))
    _refuse_crs(obj.get("crs"))
    reader = _Positions(earth)
    listed = obj.get("coordinates")
    if kind == "Polygon":
        return Shape(POLYGON, (reader.polygon(listed, ""),), 0.0, earth)
    polygons = _list(listed, "`coordinates`", "a list of polygons")
    parts = tuple(
        reader.polygon(each, f"polygon {place}, ") for place, each in enumerate(polygons, 1)
    )
    if not parts:
        raise QueryFault("the MultiPolygon has no polygon")
    return Shape(POLYGON, parts, 0.0, earth)


def _from_text(text: str) -> object:
    """Read a text: WKT, or JSON as files of columns have it."""
    if text.lstrip()[:1] != "{":
        return read_wkt(text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as why:
        raise QueryFault(f"`region` is no JSON: {why}") from None


def _no_polygon(kind: object) -> QueryFault:
    if kind is None:
        return QueryFault("`region` has no `type`", hint=f"a region is {_FORMS}")
    given = shortened(str(kind))
    near = did_you_mean(given, ("Polygon", "MultiPolygon")).strip()
    return QueryFault(
        f"`region` is a {given}: a Polygon or MultiPolygon was expected",
        hint=_OTHERS.get(given, near or f"a region is {_FORMS}"),
    )


def _refuse_others(obj: Mapping[str, object], own: tuple[str, ...], what: str) -> None:
    for name in obj:
        if name not in own:
            near = did_you_mean(str(name), own).strip()
            raise QueryFault(
                f"a {what} has no `{shortened(str(name))}`",
                hint=near or f"it has: {', '.join(own)}",
            )


def _refuse_crs(crs: object) -> None:
    """Accept the old way to say WGS 84, and nothing else: RFC 7946 has no other."""
    if crs is None:
        return
    name = crs
    while isinstance(name, dict):
        name = name.get("name", name.get("properties"))
    if not isinstance(name, str) or not name.endswith(_WGS_84):
        raise QueryFault(
            f"`crs` is {shortened(str(name))}: GeoJSON is in degrees of WGS 84",
            hint="transform the coordinates first: ogr2ogr -t_srs EPSG:4326 out.geojson in.geojson",
        )


def _list(value: object, what: str, of: str) -> list[object]:
    if isinstance(value, list | tuple):
        return list(value)
    raise QueryFault(f"{what} is not {of}")


class _Positions(NamedTuple):
    """Reads positions: degrees within their range, or numbers of a plane."""

    earth: bool

    def polygon(self, value: object, where: str) -> Part:
        """Read the rings of one polygon."""
        rings = _list(value, f"{where}`coordinates`", "a list of rings")
        if not rings:
            raise QueryFault(f"{where}`coordinates` has no ring")
        return tuple(self.ring(ring, f"{where}ring {at}") for at, ring in enumerate(rings, 1))

    def ring(self, value: object, where: str) -> Ring:
        """Read a ring, and leave out the vertex that closes it."""
        vertices = self.line(value, where)
        if len(vertices) > 1 and vertices[0] != vertices[-1]:
            raise QueryFault(
                f"{where} is open: it begins at {_shown(vertices[0])} and ends at "
                f"{_shown(vertices[-1])}",
                hint="the last position of a ring repeats the first",
            )
        if len(vertices) < 4:
            raise QueryFault(
                f"{where} has {len(vertices)} positions: four or more were expected, the last as "
                f"the first"
            )
        if self.earth:
            _refuse_leaps(vertices, where)
        return vertices[:-1]

    def line(self, value: object, where: str) -> Ring:
        """Read the positions of a line or a ring."""
        listed = _list(value, where, "a list of positions")
        if len(listed) > MOST_VERTICES:
            raise QueryFault(
                f"{where} has {len(listed):,} positions; the limit is {MOST_VERTICES:,}"
            )
        plain = self.plain(listed)
        if plain is not None:
            return plain
        return tuple(self.position(each, where, at) for at, each in enumerate(listed, 1))

    def plain(self, listed: Sequence[object]) -> Ring | None:
        """Read positions column by column; None where one of them is to be looked at alone.

        (Measured) 0.4 µs a position, where one at a time takes 4 µs.
        """
        if not {*map(type, listed)} <= {list, tuple}:
            return None
        try:
            columns = list(zip(*listed, strict=True))
        except ValueError:
            return None
        if not 2 <= len(columns) <= 3 or not all(map(_are_doubles, columns)):
            return None
        xs, ys = columns[:2]
        most_x, most_y = (180.0, 90.0) if self.earth else (FARTHEST, FARTHEST)
        if max(map(abs, xs)) > most_x or max(map(abs, ys)) > most_y:
            return None
        return tuple(zip([x + 0.0 for x in xs], [y + 0.0 for y in ys], strict=True))

    def position(self, value: object, where: str, at: int) -> Point:
        """Read one position; an altitude is allowed, and left out."""
        what = f"{where}, vertex {at}" if at else where
        if not isinstance(value, list | tuple) or not 2 <= len(value) <= 3:
            raise QueryFault(f"{what} is no position: a list of two numbers was expected")
        x, y, *_ = (_double(each, what) for each in value)
        if not self.earth:
            if max(abs(x), abs(y)) > FARTHEST:
                raise QueryFault(f"{what} is farther out than {FARTHEST:g}")
        elif not abs(x) <= 180.0 or not abs(y) <= 90.0:
            raise _out_of_range(x, y, what)
        return x, y


def _are_doubles(column: Sequence[object]) -> TypeGuard[Sequence[float]]:
    """Say whether all are numbers that are doubles, and finite."""
    kinds = {*map(type, column)}
    if kinds == {float}:
        return all(map(math.isfinite, column))  # type: ignore[arg-type]
    if not kinds <= {float, int}:
        return False
    return all(-EXACT_UP_TO <= value <= EXACT_UP_TO for value in column)  # type: ignore[operator]


def _double(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise QueryFault(f"{what} has a coordinate that is no number")
    try:
        double = exactly(value) if isinstance(value, int) else value
    except ValueError as why:
        raise QueryFault(f"{what}: {why}") from None
    if not math.isfinite(double):
        raise QueryFault(f"{what} has a coordinate that is no finite number")
    return float(double) + 0.0


def _out_of_range(x: float, y: float, what: str) -> QueryFault:
    if abs(y) > 90.0 and abs(x) <= 90.0 and abs(y) <= 180.0:
        hint = "longitude comes first, then latitude; these look exchanged"
    elif abs(x) <= 360.0 and abs(y) <= 90.0:
        hint = f"longitudes end at ±180: {_CUT}"
    else:
        hint = 'these are no degrees: transform them to WGS 84, or say position_in = "plane"'
    return QueryFault(
        f"{what}, {_shown((x, y))}, is not on the earth: longitude -180 to 180, latitude -90 to 90",
        hint=hint,
    )


def _refuse_leaps(vertices: Ring, where: str) -> None:
    """Refuse an edge of more than half the globe: it may be meant the other way round.

    An edge of 360° is the map's own, from its left to its right.
    """
    lengths = [x for x, _ in vertices]
    if max(map(abs, map(sub, lengths[1:], lengths))) <= 180.0:
        return
    turns = 0.0
    worst = 0
    for at, (one, other) in enumerate(pairwise(vertices), 1):
        across = other[0] - one[0]
        turns += math.remainder(across, 360.0) if abs(across) < 360.0 else across
        if 180.0 < abs(across) < 360.0:
            worst = worst or at
    if not worst:
        return
    if abs(turns) > 180.0:
        raise QueryFault(
            f"{where} goes around a pole, with the edge from vertex {worst} to {worst + 1}",
            hint="lead it along the map's border, through (-180, ±90) and (180, ±90)",
        )
    one, other = vertices[worst - 1], vertices[worst]
    raise QueryFault(
        f"{where}, the edge from vertex {worst} to {worst + 1}, {_shown(one)} to {_shown(other)}, "
        f"spans {abs(other[0] - one[0]):g}° of longitude",
        hint=f"{_CUT}; if the long way is meant, put a vertex in between",
    )


def _shown(vertex: Point) -> str:
    return f"({vertex[0]:g}, {vertex[1]:g})"


def _with_reach(obj: Mapping[str, object], *, earth: bool) -> Shape:
    """Read a circle or a corridor."""
    name = "circle" if "circle" in obj else "corridor"
    _refuse_others(obj, (name,), "region")
    inner = obj[name]
    if not isinstance(inner, dict):
        raise QueryFault(f"`{name}` is no object", hint=f"a region is {_FORMS}")
    read, own = _READERS[name]
    _refuse_others(inner, own, name)
    for field in own:
        if inner.get(field) is None:
            raise QueryFault(f"`{name}` has no `{field}`", hint=f"it has: {', '.join(own)}")
    return read(inner, earth)


def _circle(inner: Mapping[str, object], earth: bool) -> Shape:
    centre = _Positions(earth).position(inner["center"], "`center`", 0)
    radius = _distance(inner["radius"], "radius", earth=earth)
    return Shape(CIRCLE, (((centre,),),), radius, earth)


def _corridor(inner: Mapping[str, object], earth: bool) -> Shape:
    line = _Positions(earth).line(inner["line"], "`line`")
    if len(line) < 2:
        raise QueryFault(f"`line` has {len(line)} positions: two or more were expected")
    for at, (one, other) in enumerate(pairwise(line), 1):
        if earth and _opposite(one, other):
            raise QueryFault(
                f"`line`, vertex {at} and {at + 1} are opposite ends of the earth",
                hint="put a vertex between them: no one way leads from one to the other",
            )
    width = _distance(inner["width"], "width", earth=earth)
    return Shape(CORRIDOR, ((line,),), width / 2.0, earth)


def _opposite(one: Point, other: Point) -> bool:
    """Say whether two points of the globe are opposite, to within a micrometre."""
    poles = abs(one[1]) > 90.0 - 1e-11
    across = abs(math.remainder(one[0] - other[0], 360.0))
    return abs(one[1] + other[1]) < 1e-11 and (poles or abs(across - 180.0) < 1e-11)


def _distance(value: object, what: str, *, earth: bool) -> float:
    """Read a distance: a text with a unit, or a number of metres, of units on a plane."""
    try:
        given = parse_distance(value) if isinstance(value, str) else value
    except ValueError as why:
        raise QueryFault(f"`{what}`: {why}") from None
    distance = _double(given, f"`{what}`")
    if not distance > 0.0:
        raise QueryFault(f"`{what}` is {distance:g}: more than 0 was expected")
    most = LARGEST_REACH if earth else FARTHEST
    if distance > most:
        raise QueryFault(f"`{what}` is {distance:g}: {most:g} at most was expected")
    if not earth and distance < 1.0 / FARTHEST:
        raise QueryFault(f"`{what}` is {distance:g}: {1.0 / FARTHEST:g} at least was expected")
    return distance


_READERS: Mapping[str, tuple[Callable[[Mapping[str, object], bool], Shape], tuple[str, ...]]] = {
    "circle": (_circle, ("center", "radius")),
    "corridor": (_corridor, ("line", "width")),
}
