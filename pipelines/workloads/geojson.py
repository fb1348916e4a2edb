"""Generated queries and roads as GeoJSON (RFC 7946): a FeatureCollection with a feature on a line.

Law: what is imported from the file are the same regions; a half-open box is its polygon.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pipelines.workloads.roads import RoadNetwork

Feature = dict[str, Any]


def feature_lines(features: Iterable[Feature]) -> Iterator[bytes]:
    """Give the lines of a file of these features."""
    yield b'{"type": "FeatureCollection", "features": [\n'
    for place, feature in enumerate(features):
        yield (b",\n" if place else b"") + json.dumps(feature).encode()
    yield b"\n]}\n"


def query_feature(row: dict[str, Any], axes: Sequence[str], others: dict[str, Any]) -> Feature:
    """Give a query of one box or a region, with its other fields as properties.

    A circle is a point with a `radius`, a corridor a line with a `width`.
    """
    properties = {"id": row["id"], **others}
    if row.get("region") is None:
        ends = [row[axis + end] for end in ("_lo", "_hi") for axis in axes]
        return feature("Polygon", [ring_of_box(*ends)], properties)
    region = json.loads(row["region"])
    if "circle" in region:
        given = region["circle"]
        return feature("Point", given["center"], properties | {"radius": given["radius"]})
    if "corridor" in region:
        given = region["corridor"]
        return feature("LineString", given["line"], properties | {"width": given["width"]})
    return feature(region["type"], region["coordinates"], properties)


def road_features(roads: RoadNetwork) -> Iterator[Feature]:
    """Give a line for each road, with its speed limit in km/h; its ends are in degrees."""
    ends = zip(roads.begin.tolist(), roads.end.tolist(), roads.limit.tolist(), strict=True)
    x, y = roads.x.tolist(), roads.y.tolist()
    for begin, end, limit in ends:
        line = [[x[begin], y[begin]], [x[end], y[end]]]
        yield feature("LineString", line, {"limit": limit})


def feature(kind: str, coordinates: list[Any], properties: dict[str, Any]) -> Feature:
    """Put a feature together."""
    geometry = {"type": kind, "coordinates": coordinates}
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def ring_of_box(west: float, south: float, east: float, north: float) -> list[list[float]]:
    """Give the closed ring of a box, counterclockwise."""
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]
