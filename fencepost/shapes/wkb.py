"""Well-known binary: how databases and geographic files store a geometry.

A circle is written as its centre, a corridor as its line: the format has no radius. Read are the
simple kinds, of either byte order, with a third or fourth coordinate, which is left out, and with
the reference system's number that PostGIS writes.

Law: `geometry_of(wkb_of(polygon))` has the polygon's vertices, to the bit. No count in damaged
bytes makes the reader take more memory than they have.
"""

import struct
from collections.abc import Iterator
from typing import Final

import numpy as np

from fencepost.errors import QueryFault
from fencepost.shapes.shape import CIRCLE, CORRIDOR, Part, Point, Ring, Shape

KINDS: Final = {
    1: "Point",
    2: "LineString",
    3: "Polygon",
    4: "MultiPoint",
    5: "MultiLineString",
    6: "MultiPolygon",
    7: "GeometryCollection",
}
_OTHERS = {8: "CircularString", 9: "CompoundCurve", 10: "CurvePolygon", 11: "MultiCurve"}
_POINT, _LINE, _POLYGON, _MULTI_POLYGON = 1, 2, 3, 6
_HAS_Z, _HAS_M, _HAS_SRID = 0x80000000, 0x40000000, 0x20000000
_DEEPEST = 32
_HEAD = struct.Struct("<BI")
_COUNTED = struct.Struct("<BII")


def wkb_of(shape: Shape) -> bytes:
    """Write a shape, little-endian. O(n)."""
    first = shape.parts[0]
    if shape.kind == CIRCLE:
        return _HEAD.pack(1, _POINT) + _packed(first[0])
    if shape.kind == CORRIDOR:
        return _COUNTED.pack(1, _LINE, len(first[0])) + _packed(first[0])
    if len(shape.parts) == 1:
        return _polygon(first)
    polygons = b"".join(map(_polygon, shape.parts))
    return _COUNTED.pack(1, _MULTI_POLYGON, len(shape.parts)) + polygons


def _polygon(part: Part) -> bytes:
    rings = [struct.pack("<I", len(ring) + 1) + _packed((*ring, ring[0])) for ring in part]
    return _COUNTED.pack(1, _POLYGON, len(part)) + b"".join(rings)


def _packed(vertices: Ring | tuple[Point, ...]) -> bytes:
    return np.array(vertices, "<f8").tobytes()


def geometry_of(wkb: bytes) -> dict[str, object]:
    """Read one as a geometry of GeoJSON; QueryFault where the bytes are none."""
    reader = _WkbReader(wkb)
    try:
        geometry = reader.geometry(0)
    except struct.error:
        raise _damaged("it is cut off") from None
    if reader.at != len(wkb):
        raise _damaged(f"{len(wkb) - reader.at:,} bytes follow")
    return geometry


def _damaged(why: str) -> QueryFault:
    return QueryFault(f"the geometry is no well-known binary: {why}")


class _WkbReader:
    """Bytes of geometries, and how far they are read."""

    def __init__(self, wkb: bytes) -> None:
        self.wkb = wkb
        self.at = 0

    def geometry(self, depth: int) -> dict[str, object]:
        """Read one geometry."""
        kind, size, order = self.head()
        if kind not in KINDS:
            raise QueryFault(f"the geometry is a {_OTHERS.get(kind, f'geometry of kind {kind}')}")
        if depth > _DEEPEST:
            raise _damaged("geometries nest too deeply")
        name = KINDS[kind]
        if kind == _POINT:
            (vertex,) = self.vertices(1, size, order)
            return {"type": name, "coordinates": vertex}
        if kind == _LINE:
            count = self.count(order, 8 * size)
            return {"type": name, "coordinates": self.vertices(count, size, order)}
        if kind == _POLYGON:
            return {"type": name, "coordinates": list(self.rings(size, order))}
        parts = [self.geometry(depth + 1) for _ in range(self.count(order, 5))]
        if name == "GeometryCollection":
            return {"type": name, "geometries": parts}
        return {"type": name, "coordinates": [part.get("coordinates") for part in parts]}

    def head(self) -> tuple[int, int, str]:
        """Read the kind, how many numbers a vertex has, and the order of bytes."""
        (mark,) = struct.unpack_from("B", self.wkb, self.at)
        if mark > 1:
            raise _damaged(f"it begins with {mark}, where 0 or 1 says the order of bytes")
        order = "<" if mark else ">"
        (code,) = struct.unpack_from(f"{order}I", self.wkb, self.at + 1)
        self.at += 9 if code & _HAS_SRID else 5
        more = bool(code & _HAS_Z) + bool(code & _HAS_M)
        thousands, kind = divmod(code & 0x0FFFFFFF, 1000)
        if thousands > 3:
            raise _damaged(f"its kind is {code}")
        return kind, 2 + max(more, (0, 1, 1, 2)[thousands]), order

    def rings(self, size: int, order: str) -> Iterator[list[list[float]]]:
        """Read the rings of a polygon."""
        for _ in range(self.count(order, 4)):
            yield self.vertices(self.count(order, 8 * size), size, order)

    def count(self, order: str, least: int) -> int:
        """Read how many follow, each of so many bytes at least."""
        (count,) = struct.unpack_from(f"{order}I", self.wkb, self.at)
        self.at += 4
        if count * least > len(self.wkb) - self.at:
            raise _damaged("it is cut off")
        return int(count)

    def vertices(self, count: int, size: int, order: str) -> list[list[float]]:
        """Read vertices, of each the first two numbers."""
        if count * size * 8 > len(self.wkb) - self.at:
            raise _damaged("it is cut off")
        flat = np.frombuffer(self.wkb, f"{order}f8", count * size, self.at)
        self.at += flat.nbytes
        vertices: list[list[float]] = flat.reshape(count, size)[:, :2].tolist()
        return vertices
