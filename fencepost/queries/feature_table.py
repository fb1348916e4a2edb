"""The features of a table: a column of well-known binary is the geometry, the others properties.

GeoParquet says in its metadata which column that is, and in which reference system.

Law: a row is the feature that the same row would be in GeoJSON. Memory: the table, and the rows of
a batch as objects.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal

import pyarrow as pa

from fencepost.errors import Fault, Faults, QueryFault
from fencepost.queries.geojson import FEATURE, WGS_84, FeatureEntry
from fencepost.shapes.wkb import geometry_of
from fencepost.text import shortened

GEO = b"geo"
"""The key of GeoParquet's metadata."""
_ROWS = 1 << 10


class FeatureTable:
    """Rows with a geometry; `crs` names its reference system if that is not WGS 84."""

    def __init__(self, table: pa.Table, geometry: str, crs: str | None) -> None:
        """Take a table whose column `geometry` is well-known binary."""
        self._table = _of_microseconds(table)
        self._geometry = geometry
        self.crs = None if crs is None or WGS_84.fullmatch(crs) else shortened(crs)

    @classmethod
    def of_geoparquet(cls, source: str, table: pa.Table) -> "FeatureTable | None":
        """Read what its metadata says; None of a table that is no GeoParquet."""
        said = (table.schema.metadata or {}).get(GEO)
        if said is None:
            return None
        try:
            metadata = json.loads(said)
            name = metadata["primary_column"]
            column = metadata["columns"][name]
            encoding, edges = column["encoding"], column.get("edges", "planar")
            crs = _crs_of(column.get("crs"))
        except (ValueError, LookupError, TypeError, AttributeError):
            raise Faults([Fault(source, "its metadata `geo` is not GeoParquet's")]) from None
        if name not in table.column_names:
            raise Faults([Fault(source, f"its geometry `{shortened(name)}` is no column")])
        if encoding != "WKB":
            hint = "write it as WKB: gdf.to_parquet(path, geometry_encoding='WKB')"
            fault = Fault(source, f"its geometry is encoded as '{encoding}', not as WKB", hint=hint)
            raise Faults([fault])
        if edges != "planar":
            hint = "Here edges are straight in longitude and latitude, as in GeoJSON."
            raise Faults([Fault(source, f"its edges are {shortened(str(edges))}", hint=hint)])
        return cls(table, name, crs)

    def entries(self) -> Iterator[FeatureEntry]:
        """Give the rows as features, from the first on."""
        number = 0
        for batch in self._table.to_batches(_ROWS):
            try:
                rows = batch.to_pylist()
            except (ValueError, OverflowError) as why:  # a date that Python has no value for
                fault = QueryFault(f"a value cannot be read: {why}")
                yield FeatureEntry(number + 1, 0, fault)
                return
            for row in rows:
                number += 1
                yield FeatureEntry(number, number, self._feature(row))

    def _feature(self, row: Mapping[str, object]) -> object:
        wkb = row[self._geometry]
        try:
            geometry = geometry_of(wkb) if isinstance(wkb, bytes) else None
        except QueryFault as fault:
            return fault
        properties = {
            name: _plain(value)
            for name, value in row.items()
            if name != self._geometry and not isinstance(value, bytes)
        }
        return {"type": FEATURE, "properties": properties, "geometry": geometry}


def _of_microseconds(table: pa.Table) -> pa.Table:
    """Cut off nanoseconds, which no time here has."""
    fields = [
        field.with_type(pa.timestamp("us", field.type.tz))
        if pa.types.is_timestamp(field.type)
        else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields), safe=False)


def _crs_of(projjson: Mapping[str, object] | None) -> str | None:
    """Name a reference system; None where it is not known, which is left to the coordinates."""
    if projjson is None:
        return None
    named = projjson.get("id")
    if isinstance(named, dict):
        return f"{named.get('authority')}:{named.get('code')}"
    return str(projjson.get("name", "unknown"))


def _plain(value: object) -> object:
    """Give a value as JSON would have it."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value
