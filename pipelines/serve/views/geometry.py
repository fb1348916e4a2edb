"""The geometry of an answer's rows: a position, or a region, for maps.

A row has one by its two columns of a position, else by its column `region`. A circle is its centre,
with the property `radius`, a corridor its line, with `width`: so `queries import` reads them back.

Law: every row is a feature; one whose position is null has no geometry.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.errors import InputError
from fencepost.queries.geojson_fields import geometry_of_region
from fencepost.shapes.parse import shape_of
from fencepost.shapes.wkb import wkb_of
from fencepost.text import few
from pipelines.project.settings import Settings
from pipelines.serve.views.cells import as_json

REGION, WKB = "region", "wkb"
GEOMETRY = "geometry"
_POINT = np.dtype([("order", "u1"), ("kind", "<u4"), ("x", "<f8"), ("y", "<f8")])
_VERSION = "1.1.0"
_MOST_NAMED = 12


class PositionColumns(NamedTuple):
    """Two columns that are a position: longitude and latitude on the earth, or x and y."""

    x: str
    y: str
    earth: bool


def places_of(settings: Settings) -> list[PositionColumns]:
    """List what the feeds declare as their positions."""
    placed = [(feed, feed.place) for feed in settings.feeds.values()]
    return [
        PositionColumns(feed.axes[place.axes[0]], feed.axes[place.axes[1]], place.earth)
        for feed, place in placed
        if place is not None
    ]


class RowGeometry(NamedTuple):
    """Where the rows of an answer have their geometry: in two columns, or in one of regions."""

    columns: tuple[int, ...]
    earth: bool

    @classmethod
    def of(cls, names: Sequence[str], places: Sequence[PositionColumns]) -> "RowGeometry":
        """Find it among the columns; InputError where there is none."""
        for place in places:
            if place.x in names and place.y in names:
                return cls((names.index(place.x), names.index(place.y)), place.earth)
        if REGION in names:
            return cls((names.index(REGION),), all(place.earth for place in places))
        wanted = " or ".join(f"{place.x}, {place.y}" for place in dict.fromkeys(places))
        raise InputError(
            f"the answer has no position: its columns are {few(names, _MOST_NAMED)}. Select "
            f"{wanted or 'the axes that a feed declares as its position'}, or {REGION}"
        )

    @property
    def is_region(self) -> bool:
        """Whether the geometry is a region."""
        return len(self.columns) == 1

    def features(self, names: Sequence[str], batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
        """Give the rows as features of GeoJSON."""
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            properties = {
                name: as_json(value)
                for at, (name, value) in enumerate(zip(names, row, strict=True))
                if at not in self.columns and not (self.is_region and name == WKB)
            }
            given = [row[at] for at in self.columns]
            geometry: dict[str, Any] | None = None
            if self.is_region and given[0] is not None:
                geometry, reach = geometry_of_region(json.loads(given[0]))
                properties |= reach
            elif not self.is_region and None not in given:
                geometry = {"type": "Point", "coordinates": [float(each) for each in given]}
            yield {"type": "Feature", "properties": properties, GEOMETRY: geometry}

    def wkb(self, batch: pa.RecordBatch) -> pa.Array:
        """Give the geometries as well-known binary."""
        if self.is_region:
            (texts,) = (batch.column(at) for at in self.columns)
            regions = [None if text is None else _region_wkb(text) for text in texts.to_pylist()]
            return pa.array(regions, pa.binary())
        x, y = (pc.cast(batch.column(at), pa.float64()) for at in self.columns)
        none = pc.or_(pc.is_null(x), pc.is_null(y)).to_numpy(zero_copy_only=False)
        points = np.zeros(len(x), _POINT)
        points["order"] = points["kind"] = 1
        points["x"], points["y"] = (
            pc.fill_null(each, 0.0).to_numpy(zero_copy_only=False) for each in (x, y)
        )
        fixed = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(_POINT.itemsize), len(points), [None, pa.py_buffer(points.tobytes())]
        )
        plain = fixed.cast(pa.binary())
        return pc.replace_with_mask(plain, pa.array(none), pa.scalar(None, pa.binary()))


def feature_collection(
    geometry: RowGeometry, names: Sequence[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[str]:
    """Write GeoJSON, a feature a line."""
    yield '{"type": "FeatureCollection", "features": ['
    before = "\n"
    for batch in batches:
        for feature in geometry.features(names, batch):
            yield before + json.dumps(feature, ensure_ascii=False)
            before = ",\n"
    yield "\n]}\n"


def write_geoparquet(
    geometry: RowGeometry, schema: pa.Schema, batches: Iterator[pa.Table], file: BinaryIO
) -> None:
    """Write GeoParquet: the columns as they are, and their geometry as another."""
    import pyarrow.parquet as pq

    name = GEOMETRY
    while name in schema.names:
        name += "_"
    own = schema.append(pa.field(name, pa.binary()))
    column: dict[str, Any] = {
        "encoding": "WKB",
        "geometry_types": [] if geometry.is_region else ["Point"],
    }
    if not geometry.earth:
        column["crs"] = None  # without this it would be degrees
    metadata = {"version": _VERSION, "primary_column": name, "columns": {name: column}}
    own = own.with_metadata({"geo": json.dumps(metadata)})
    with pq.ParquetWriter(file, own) as writer:
        for batch in batches:
            plain = batch.combine_chunks().to_batches()
            for part in plain:
                columns = [*part.columns, geometry.wkb(part)]
                writer.write_table(pa.table(columns, schema=own))


def _region_wkb(text: str) -> bytes:
    return wkb_of(shape_of(json.loads(text), earth=False))
