"""Outlines, as a map draws them: in the parts of its sides, and few enough that it stays quick.

Polygons are rings, a circle is an ellipse, a corridor a thick line; a circle that is too large to
be an ellipse on the map is a ring, too.

Law: all vertices are rounded to one grid, and if there are too many, which of them stay depends on
where they are, and on the two beside them. So neighbours that share an edge share it on the page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fencepost.arrays import Bools
from fencepost.shapes.earth import RADIUS
from pipelines.serve.report.thin import FAR, Float64s, Int64s, Scale

VERTICES = 250_000
"""Of all outlines of a map, at most."""

LARGE = 50_000.0
"""Metres: a circle with a larger radius, or near a pole, is drawn as a ring."""

NEAR_POLE = 80.0
FEW = 6
"""Vertices of a line that is not thinned."""

JUNCTION = 3
"""Lines that meet where a vertex always stays."""

SCATTER = np.uint64(0x5851F42D4C957F2D)
"""An odd factor that scatters neighbouring places."""

AROUND = 96
"""Vertices of such a ring."""

DEGREE = RADIUS * np.pi / 180.0
"""Metres of a degree northward."""


@dataclass(frozen=True)
class Ground:
    """What a map shows: its sides, and whether they are degrees."""

    x: Scale
    y: Scale
    earth: bool

    def placed(self, vertices: Float64s) -> Int64s:
        """Give vertices [n, 2] in parts of the sides."""
        return np.column_stack([self.x.placed(vertices[:, 0]), self.y.placed(vertices[:, 1])])

    def reach(self, centre: Sequence[float], metres: float) -> tuple[float, float]:
        """Give a distance from a place in parts, eastward and northward."""
        wide, high = metres, metres
        if self.earth:
            high = metres / DEGREE
            wide = high / max(float(np.cos(np.radians(centre[1]))), 1e-9)
        return _parts(wide, self.x), _parts(high, self.y)


def outlines(
    regions: Sequence[dict[str, Any] | None], ground: Ground
) -> list[dict[str, Any] | None]:
    """Give the outline of each region, given as JSON, None of those that are boxes.

    Of a polygon the `rings`, of a circle its centre and radii, of a corridor its `line` and half
    its width; rings and lines as differences: x, y, and so on.
    """
    drawn = [None if region is None else _drawn(region, ground) for region in regions]
    grids = [ground.placed(ring) for each in drawn if each is not None for ring in each.vertices]
    coded = iter(thinned(grids, VERTICES, closed=True))
    return [
        None if each is None else each.coded([next(coded) for _ in each.vertices]) for each in drawn
    ]


def thinned(lines: Sequence[Int64s], most: int, *, closed: bool) -> list[list[int]]:
    """Give lines in parts as flat differences, thinned until they have that many vertices.

    A vertex stays if it is a corner, or by its own coordinates: so what two rings share stays the
    same in both. Of lines that are not `closed` the ends stay.
    """
    sizes = np.array([len(line) for line in lines], np.int64)
    if not len(sizes):
        return []
    at = np.concatenate(lines)
    line = np.repeat(np.arange(len(lines)), sizes)
    every = 1
    while True:
        ends = np.r_[True, line[1:] != line[:-1]]
        fresh = ends | np.r_[True, (at[1:] != at[:-1]).any(axis=1)]
        kept = fresh if every == 1 else fresh & _stays(at, line, every, closed=closed)
        at, line = at[kept], line[kept]
        if len(at) <= max(most, 8 * len(lines)) or every > 1 << 10:
            break
        every *= 2
    begins = np.searchsorted(line, np.arange(len(lines) + 1)).tolist()
    pieces = (at[begin:end] for begin, end in pairwise(begins))
    return [np.diff(piece, axis=0, prepend=0).ravel().tolist() for piece in pieces]


def _stays(at: Int64s, line: Int64s, every: int, *, closed: bool) -> Bools:
    """Say which vertices stay: corners, junctions, short lines, of the others one in `every`.

    What stays in one line stays in all.
    """
    begins = np.flatnonzero(np.r_[True, line[1:] != line[:-1]])
    sizes = np.diff(np.r_[begins, len(at)])
    last, first = np.repeat(begins + sizes - 1, sizes), np.repeat(begins, sizes)
    here = np.arange(len(at))
    before = at[np.where(here == first, last, here - 1)] - at
    after = at[np.where(here == last, first, here + 1)] - at
    corner = np.abs(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]) > every * every
    stays = corner | (np.repeat(sizes, sizes) <= FEW)
    if not closed:
        stays |= (here == first) | (here == last)
    place = at[:, 0] * (4 * FAR) + at[:, 1]
    _, which, lines = np.unique(place, return_inverse=True, return_counts=True)
    anywhere = lines >= JUNCTION
    anywhere[which[stays]] = True
    drawn = (place.astype(np.uint64) * SCATTER >> np.uint64(40)) % np.uint64(every) == 0
    return np.asarray(anywhere[which] | drawn, np.bool_)


@dataclass(frozen=True)
class _Outline:
    """What is drawn of a region: lines of vertices, and what else is known of them."""

    vertices: list[Float64s]
    circle: tuple[float, float] | None = None
    half: float | None = None

    def coded(self, lines: list[list[int]]) -> dict[str, Any]:
        if self.circle is not None:
            return {"circle": [*lines[0][:2], *self.circle]}
        if self.half is not None:
            return {"line": lines[0], "half": self.half}
        return {"rings": lines}


def _drawn(region: dict[str, Any], ground: Ground) -> _Outline:
    if "circle" in region:
        centre, reach = region["circle"]["center"], float(region["circle"]["radius"])
        if ground.earth and (reach > LARGE or abs(centre[1]) > NEAR_POLE):
            return _Outline([ring_about(centre[0], centre[1], reach)])
        return _Outline([_array([centre])], circle=ground.reach(centre, reach))
    if "corridor" in region:
        line = region["corridor"]["line"]
        half = float(region["corridor"]["width"]) / 2.0
        return _Outline([_array(line)], half=ground.reach(line[0], half)[1])
    parts = region["coordinates"]
    polygons = [parts] if region["type"] == "Polygon" else parts
    return _Outline([_array(ring[:-1]) for polygon in polygons for ring in polygon])


def ring_about(lon: float, lat: float, metres: float) -> Float64s:
    """Give places that are this far from one on the earth; round a pole, the belt up to it."""
    far = metres / RADIUS
    bearing = np.linspace(0.0, 2.0 * np.pi, AROUND, endpoint=False)
    north, cos = np.radians(lat), np.cos(np.radians(lat))
    there = np.sin(north) * np.cos(far) + cos * np.sin(far) * np.cos(bearing)
    latitude = np.arcsin(np.clip(there, -1.0, 1.0))
    if abs(lat) + np.degrees(far) >= 90.0:
        pole, end = (90.0, float(latitude.min())) if lat >= 0 else (-90.0, float(latitude.max()))
        edge = float(np.degrees(end))
        return _array([[-180.0, edge], [180.0, edge], [180.0, pole], [-180.0, pole]])
    across = np.sin(bearing) * np.sin(far) * cos
    turn = np.arctan2(across, np.cos(far) - np.sin(north) * np.sin(latitude))
    return np.column_stack([lon + np.degrees(turn), np.degrees(latitude)])


def _parts(distance: float, side: Scale) -> float:
    return round(distance / (side.high - side.low) * side.parts, 1)


def _array(places: Sequence[Sequence[float]]) -> Float64s:
    return np.array(places, np.float64).reshape(-1, 2)
