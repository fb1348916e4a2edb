"""The regions of queries as the registry keeps them: canonical text, and WKB for others to read.

The text is what is evaluated. With it stand the two axes that it is on, and whether they are
degrees, so that a set as of a version stays what it was, whatever is declared later.

Law: a region that is read back is the one that was written, to the bit.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from fencepost.arrays import Int32s
from fencepost.errors import InputError, LakeError
from fencepost.position import Positions
from fencepost.queries.columns import no_shapes
from fencepost.queries.joins.on import SIDES
from fencepost.queries.joins.regions import OfSides, OnAxes
from fencepost.queries.region import shapes_of
from fencepost.shapes.columns import Shapes
from fencepost.shapes.parse import shape_of
from fencepost.shapes.shape import CIRCLE, CORRIDOR, POLYGON, Ring, Shape, number
from fencepost.shapes.wkb import geometry_of, wkb_of
from fencepost.text import counted

REGION = ["region", "wkb", "region_on", "on_earth"]
"""The columns that say a region."""

Pair = tuple[int, int] | None


def region_columns(
    regions: Sequence[Shape | None], positions: Sequence[Pair]
) -> dict[str, list[Any]]:
    """Give regions, and the axes that each is on, as columns."""
    has = [region is not None for region in regions]
    on = [pair if there else None for pair, there in zip(positions, has, strict=True)]
    return {
        "region": [region and region.text for region in regions],
        "wkb": [region and wkb_of(region) for region in regions],
        "region_on": on,
        "on_earth": [region and region.earth for region in regions],
    }


def regions_of(feed: str, rows: pa.Table) -> tuple[Pair, Int32s, Shapes]:
    """Read the regions of one feed's definitions: the axes they are on, places, and shapes.

    LakeError where they are on different axes: the feed's position was declared otherwise since.
    """
    if rows["region"].null_count == rows.num_rows:
        return None, *no_shapes(rows.num_rows)
    listed = rows.select(REGION).to_pylist()
    regions = [region_of(row) for row in listed]
    on = [None if row["region_on"] is None else tuple(row["region_on"]) for row in listed]
    try:
        return shapes_of(regions, on)
    except InputError:
        raise LakeError(
            f"the regions of the queries on '{feed}' are on different axes, or in different units: "
            "its position was declared otherwise when some of them were registered. Register "
            "them all again as it is declared now."
        ) from None


def region_of(row: Mapping[str, Any]) -> Shape | None:
    """Read the region of a definition of one feed.

    Polygons are read from WKB, 0.6 µs a vertex: text takes four times as long. Of a join there is
    none: see `side_regions`.
    """
    if row["region"] is None or row["region_on"] is None:
        return None
    if not row["region"].startswith('{"type"'):
        return shape_of(json.loads(row["region"]), earth=row["on_earth"])
    geometry = geometry_of(row["wkb"])
    listed: Any = geometry["coordinates"]
    polygons = [listed] if geometry["type"] == "Polygon" else listed
    parts = tuple(tuple(_ring(ring) for ring in rings) for rings in polygons)
    return Shape(POLYGON, parts, 0.0, row["on_earth"])


def side_texts(regions: tuple[Shape | None, Shape | None]) -> str | None:
    """Write the regions of a window join, by side."""
    texts = [
        f'"{side}":{region.text}'
        for side, region in zip(SIDES, regions, strict=True)
        if region is not None
    ]
    return f"{{{','.join(texts)}}}" if texts else None


def side_regions(
    text: str | None, feeds: tuple[str, str], positions: Positions
) -> tuple[OfSides, OnAxes]:
    """Read them on the positions that the feeds have now; LakeError where one has none."""
    given = {} if text is None else json.loads(text)
    regions: list[Shape | None] = []
    axes: list[Pair] = []
    for side, feed in zip(SIDES, feeds, strict=True):
        place = positions.get(feed)
        if side in given and place is None:
            raise LakeError(
                f"queries join regions of the feed '{feed}', which has no position any more: "
                "declare it again in fencepost.toml, or remove them"
            )
        has = side in given and place is not None
        regions.append(shape_of(given[side], earth=place.earth) if has and place else None)
        axes.append(place.axes if has and place else None)
    return (regions[0], regions[1]), (axes[0], axes[1])


def _ring(closed: list[list[float]]) -> Ring:
    return tuple((x, y) for x, y in closed[:-1])


def region_text(row: Mapping[str, Any]) -> str | None:
    """Describe a definition's region in a few words: `a circle of 150 m around 116.39, 39.9`."""
    region = region_of(row)
    if region is None:
        return None
    x, y = region.parts[0][0][0]
    if region.kind == CIRCLE:
        return f"a circle of {_length(region, region.reach)} around {number(x)}, {number(y)}"
    if region.kind == CORRIDOR:
        width = _length(region, 2.0 * region.reach)
        return f"a corridor of {width} along {region.vertices} points"
    vertices = counted(region.vertices, "vertex", "vertices")
    polygons = "a polygon" if len(region.parts) == 1 else f"{len(region.parts):,} polygons"
    return f"{polygons} of {vertices}"


def _length(region: Shape, length: float) -> str:
    """Write a length on the earth in m or km, on a plane in its units."""
    if not region.earth:
        return number(length)
    return f"{number(length / 1000.0)} km" if length >= 10_000.0 else f"{number(length)} m"
