"""The standing queries of a feed with a position, on a map: boxes, polygons, circles, corridors.

Law: the map's aspect is right at its middle, its scale bar is of metres on the earth; a region far
from all others does not shrink them, and is cut off. Cost: O(vertices).
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from fencepost.text import counted
from pipelines.serve.pictures.canvas import BLUE, INK, OCHRE, TEAL, VIOLET, WIDTH, Canvas
from pipelines.serve.pictures.charts import compact, legend, nothing, titled
from pipelines.serve.pictures.picture import Picture
from pipelines.serve.report.outlines import DEGREE, Ground, outlines
from pipelines.serve.report.thin import Float64s, Scale, main_part


class FormLook(NamedTuple):
    """How a form of regions looks, and what several of them are called."""

    colour: str
    many: str


FORMS = {
    "box": FormLook(VIOLET, "boxes"),
    "polygon": FormLook(TEAL, "polygons"),
    "circle": FormLook(BLUE, "circles"),
    "corridor": FormLook(OCHRE, "corridors"),
}

SIDE, TOP, HIGHEST, LOWEST = 14.0, 56.0, 460.0, 120.0
SMALLEST = 4.0
AROUND = 40
ROOM = 0.04

Places = list[Float64s]
"""Rings, or lines, on the sheet."""


@dataclass(frozen=True)
class DrawnRegion:
    """What is drawn of a query: its region as JSON, or its boxes: west, south, east, north."""

    region: dict[str, Any] | None
    boxes: Sequence[Sequence[float]] = ()

    @property
    def form(self) -> str:
        """What it is called."""
        return form_of(self.region)


def form_of(region: dict[str, Any] | None) -> str:
    """Call a region by its form; without one a query has boxes."""
    if region is None:
        return "box"
    return next((form for form in ("circle", "corridor") if form in region), "polygon")


def of_regions(feed: str, rows: pa.Table, counts: Mapping[str, int], *, earth: bool) -> Picture:
    """Draw regions, the first of all that are counted by form; columns as `queries.py` gives."""
    title = f"{feed}: regions"
    words = [counted(counts[form], form, FORMS[form].many) for form in FORMS if form in counts]
    if not words:
        why = "no standing query yet"
        return Picture(nothing(title, why).png(), f"{title}: {why}.")
    more = ", ".join(words)
    if sum(counts.values()) > len(rows):
        more += f"; the first {len(rows):,} by name"
    regions = [drawn_of(row) for row in rows.to_pylist()]
    sheet = _Sheet.around(regions, earth=earth)
    if sheet is None:
        return Picture(nothing(title, f"{more}: all of them open").png(), f"{title}: {more}.")
    canvas = titled(TOP + sheet.height + 14, title, more)
    legend(canvas, 18, {form: look.colour for form, look in FORMS.items() if form in counts})
    canvas.bar(SIDE, TOP, WIDTH - 2 * SIDE, sheet.height, INK, 0.07, 4)
    _draw(canvas, sheet, regions)
    _scale_bar(canvas, sheet)
    return Picture(canvas.png(), f"{title}: {more}.")


def drawn_of(row: dict[str, Any]) -> DrawnRegion:
    """Give what is drawn of a query."""
    if row["region"] is not None:
        return DrawnRegion(json.loads(row["region"]))
    sides = (row[side] for side in ("west", "south", "east", "north"))
    return DrawnRegion(None, list(zip(*sides, strict=True)))


@dataclass(frozen=True)
class _Sheet:
    """Where on the sheet a place of the map is."""

    ground: Ground
    height: float

    @classmethod
    def around(cls, regions: Sequence[DrawnRegion], *, earth: bool) -> "_Sheet | None":
        """Fit nearly all of the regions; None if there is nothing with ends."""
        ends = chain.from_iterable(_vertices(each, earth=earth) for each in regions)
        at = np.array([*ends], np.float64).reshape(-1, 2)
        if not len(at):
            return None
        x, y = (Scale.of(np.array(main_part(at[:, axis]))) for axis in (0, 1))
        shrink = max(math.cos(math.radians((y.low + y.high) / 2)), 0.01) if earth else 1.0
        wide, high = (x.high - x.low) * shrink, y.high - y.low
        height = min(max((WIDTH - 2 * SIDE) * high / wide, LOWEST), HIGHEST)
        each = max(wide / (WIDTH - 2 * SIDE), high / height) * (1 + 2 * ROOM)
        middle = (x.low + x.high) / 2, (y.low + y.high) / 2
        half = (WIDTH - 2 * SIDE) / 2 * each / shrink, height / 2 * each
        x, y = (Scale(at - by, at + by) for at, by in zip(middle, half, strict=True))
        return cls(Ground(x, y, earth), height)

    @property
    def each(self) -> float:
        """How many metres, or units of the plane, a point of the sheet is."""
        unit = DEGREE if self.ground.earth else 1.0
        return (self.ground.y.high - self.ground.y.low) * unit / self.height

    def placed(self, flat: Sequence[float]) -> Float64s:
        """Give the places of flat differences in parts."""
        parts = np.cumsum(np.reshape(np.asarray(flat, np.float64), (-1, 2)), axis=0)
        return self.on_sheet(parts / (self.ground.x.parts, self.ground.y.parts))

    def on_sheet(self, shares: Float64s) -> Float64s:
        """Give the places of shares of the sides."""
        x = SIDE + shares[:, 0] * (WIDTH - 2 * SIDE)
        return np.column_stack([x, TOP + (1.0 - shares[:, 1]) * self.height])


def _vertices(region: DrawnRegion, *, earth: bool) -> list[Sequence[float]]:
    """Give vertices to fit: those of a region, the ends of a circle, the corners of boxes."""
    given = region.region
    if given is None:
        ends = (np.reshape(box, (2, 2)).tolist() for box in region.boxes)
        return [at for box in ends for at in box if all(map(math.isfinite, at))]
    if "circle" in given:
        (x, y), high = given["circle"]["center"], given["circle"]["radius"]
        high = high / DEGREE if earth else high
        wide = high / max(math.cos(math.radians(y)), 0.01) if earth else high
        return [(x - wide, y - high), (x + wide, y + high)]
    if "corridor" in given:
        return list(given["corridor"]["line"])
    polygons = [given["coordinates"]] if given["type"] == "Polygon" else given["coordinates"]
    return [at for polygon in polygons for at in polygon[0]]


def _draw(canvas: Canvas, sheet: _Sheet, regions: Sequence[DrawnRegion]) -> None:
    """Draw boxes, polygons, circles, and the corridors above them."""
    frame = (SIDE, TOP, WIDTH - 2 * SIDE, sheet.height)
    drawn = outlines([each.region for each in regions], sheet.ground)
    areas: dict[str, list[Places]] = {form: [] for form in FORMS}
    ribbons: Places = []
    widths: list[float] = []
    for region, outline in zip(regions, drawn, strict=True):
        if outline is None:
            areas["box"] += [[_corners(sheet, box)] for box in region.boxes]
        elif "line" in outline:
            ribbons.append(sheet.placed(outline["line"]))
            widths.append(2.0 * outline["half"] / sheet.ground.y.parts * sheet.height)
        else:
            areas[region.form].append(_rings(sheet, outline))
    for form, listed in areas.items():
        canvas.areas([*map(_visible, listed)], FORMS[form].colour, frame)
    canvas.ribbons(ribbons, widths, FORMS["corridor"].colour, frame)


def _rings(sheet: _Sheet, outline: dict[str, Any]) -> Places:
    if "circle" not in outline:
        return [sheet.placed(ring) for ring in outline["rings"]]
    x, y, wide, high = outline["circle"]
    turn = np.linspace(0.0, 2.0 * np.pi, AROUND, endpoint=False)
    parts = np.column_stack([x + wide * np.cos(turn), y + high * np.sin(turn)])
    return [sheet.on_sheet(parts / (sheet.ground.x.parts, sheet.ground.y.parts))]


def _corners(sheet: _Sheet, box: Sequence[float]) -> Float64s:
    """Give the corners of a box; an open end is beyond the sheet."""
    lo, hi = np.array(box[:2]), np.array(box[2:])
    low = np.array([sheet.ground.x.low, sheet.ground.y.low])
    high = np.array([sheet.ground.x.high, sheet.ground.y.high])
    lo, hi = np.maximum(lo, low - (high - low)), np.minimum(hi, high + (high - low))
    corners = np.array([[lo[0], lo[1]], [hi[0], lo[1]], [hi[0], hi[1]], [lo[0], hi[1]]])
    return sheet.on_sheet((corners - low) / (high - low))


def _visible(rings: Places) -> Places:
    """Replace what is too small to be seen by a square."""
    at = np.concatenate(rings)
    low, high = at.min(axis=0), at.max(axis=0)
    if (high - low).max() >= SMALLEST:
        return rings
    corners = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    return [(low + high) / 2 + SMALLEST / 2 * corners]


def _scale_bar(canvas: Canvas, sheet: _Sheet) -> None:
    """Draw a round distance, lower right."""
    most = 120 * sheet.each
    ten = 10.0 ** math.floor(math.log10(most))
    long = next(step * ten for step in (5, 2, 1) if step * ten <= most)
    right, y = WIDTH - SIDE - 10, TOP + sheet.height - 10
    left = right - long / sheet.each
    canvas.line([(left, y - 4), (left, y), (right, y), (right, y - 4)], 0.9)
    name = compact(long)
    if sheet.ground.earth:
        name = f"{long / 1000:,g} km" if long >= 1000 else f"{long:g} m"
    canvas.words((left + right) / 2, y - 9, name, "center", size=9)
