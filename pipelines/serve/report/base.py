"""The base layer of maps: lines and areas of a GeoJSON file of the user's, below all else.

Law: what a page has of the file is what is near the map's extent, on a grid like the regions', and
nothing comes from the network. Points, and properties, are left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from fencepost.arrays import Bools
from fencepost.errors import Fault, Faults, InputError, QueryFault
from fencepost.queries.geojson import GeoJson
from fencepost.text import shortened
from pipelines.files.read.packed import whole
from pipelines.serve.report.outlines import Ground, thinned
from pipelines.serve.report.thin import Float64s

VERTICES = 200_000
"""Of the lines of a map's base, and of its areas, at most."""

LARGEST = 1 << 28
"""Bytes of a file."""

KEY = "[report] base"


@dataclass(frozen=True)
class Base:
    """The lines of a file, and its areas: each some rings; in degrees, or on a plane."""

    lines: list[Float64s]
    areas: list[list[Float64s]]
    earth: bool

    def drawn(self, ground: Ground) -> dict[str, Any]:
        """Give what a map shows of it, lines and rings as flat differences; {} if nothing."""
        if self.earth != ground.earth:
            return {}
        lines = [piece for line in self.lines for piece in _near(line, ground)]
        areas = [area for area in self.areas if any(_meets(ring, ground) for ring in area)]
        rings = [ring for area in areas for ring in area]
        flat = iter(thinned([*map(ground.placed, rings)], VERTICES, closed=True))
        drawn = {
            "lines": thinned([*map(ground.placed, lines)], VERTICES, closed=False),
            "areas": [[next(flat) for _ in area] for area in areas],
        }
        return {"base": drawn} if lines or areas else {}


def read_base(file: Path | None) -> Base | None:
    """Read the file, if there is one: (measured) 1 s for 20 MB. InputError where it is none."""
    if file is None:
        return None
    text = GeoJson(whole(str(file), most=LARGEST))
    lines: list[Float64s] = []
    areas: list[list[Float64s]] = []
    for line, number, value in text.entries():
        try:
            if isinstance(value, QueryFault):
                raise value
            _add(value, lines, areas)
        except QueryFault as why:
            fault = Fault(f"{KEY}: {file}", f"feature {number}: {why}", line, hint=why.hint)
            raise Faults([fault], "no report written") from None
    if text.crs is not None:
        raise InputError(f"{KEY}: {file} is in {text.crs}, where WGS 84 was expected: convert it")
    rings = (ring for area in areas for ring in area)
    everywhere = np.concatenate([np.zeros((1, 2)), *lines, *rings])
    earth = bool((np.abs(everywhere) <= (180.0, 90.0)).all())
    return Base(lines, areas, earth)


def _add(feature: object, lines: list[Float64s], areas: list[list[Float64s]]) -> None:
    geometry = feature.get("geometry") if isinstance(feature, dict) else None
    for kind, coordinates in _parts(geometry):
        if kind == "LineString":
            lines.append(_array(coordinates))
        elif kind == "Polygon":
            areas.append([_array(ring) for ring in _listed(coordinates)])


def _parts(geometry: object) -> Iterator[tuple[object, object]]:
    """Give the lines and polygons of a geometry, and of a collection's members, one by one."""
    if not isinstance(geometry, dict):
        return
    collected = geometry.get("type") == "GeometryCollection"
    for each in _listed(geometry.get("geometries")) if collected else [geometry]:
        if isinstance(each, dict):
            kind, coordinates = each.get("type"), each.get("coordinates")
            if kind in ("MultiLineString", "MultiPolygon"):
                yield from ((kind.removeprefix("Multi"), one) for one in _listed(coordinates))
            else:
                yield kind, coordinates


def _listed(value: object) -> list[object]:
    if not isinstance(value, list):
        raise QueryFault(f"a list was expected, not {shortened(str(value))}")
    return value


def _array(places: object) -> Float64s:
    """Give places [n, 2]; what is behind longitude and latitude is left out."""
    try:
        listed = [(float(at[0]), float(at[1])) for at in _listed(places)]  # type: ignore[index]
    except (TypeError, ValueError, IndexError, KeyError):
        shown = shortened(str(places))
        raise QueryFault(f"a list of positions was expected, not {shown}") from None
    found = np.array(listed, np.float64).reshape(-1, 2)
    if not np.isfinite(found).all():
        raise QueryFault("a coordinate is not finite")
    return found


def _near(line: Float64s, ground: Ground) -> Iterator[Float64s]:
    """Give the pieces of a line that are on the map, or next to it."""
    low, high = np.minimum(line[:-1], line[1:]), np.maximum(line[:-1], line[1:])
    lo, hi = _room(ground)
    kept: Bools = np.logical_and.reduce((high >= lo) & (low <= hi), axis=1)
    ends = np.flatnonzero(np.diff(np.concatenate([[0], kept, [0]])))
    for begin, end in pairwise(ends.tolist()):
        if kept[begin]:
            yield line[begin : end + 1]


def _meets(ring: Float64s, ground: Ground) -> bool:
    lo, hi = _room(ground)
    return len(ring) > 0 and bool((ring.max(axis=0) >= lo).all() and (ring.min(axis=0) <= hi).all())


def _room(ground: Ground) -> tuple[Float64s, Float64s]:
    """Give the lowest and highest coordinates of a map and of what a wide screen shows around."""
    low = np.array([ground.x.low, ground.y.low])
    high = np.array([ground.x.high, ground.y.high])
    return low - (high - low), high + (high - low)
