"""An answer of SQL, as a table, one column per line, CSV, JSON lines, Parquet, or for maps.

Law: each column has a name of its own; a file is whole or not there; the text of a value in CSV is
the one that `fencepost eval` would write.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Literal

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.serve.views.cells import aligned, as_json, records, text
from pipelines.serve.views.geometry import (
    PositionColumns,
    RowGeometry,
    feature_collection,
    write_geoparquet,
)

BATCH = 1 << 14


Form = Literal["table", "lines", "csv", "json", "parquet", "geojson", "geoparquet"]
"""The format of an answer."""

BINARY: tuple[Form, ...] = ("parquet", "geoparquet")
"""The formats that are no text."""


@dataclass
class SqlAnswer:
    """The rows of an answer, batch by batch, to be read once.

    places  the pairs of columns that would be a position
    cut     whether there were more rows than requested; known after reading
    """

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    places: Sequence[PositionColumns] = ()
    cut: bool = False

    @classmethod
    def of(cls, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> "SqlAnswer":
        """Wrap an engine's batches; of columns with the same name the later ones are numbered."""
        names = _distinct(schema.names)
        own = pa.schema([f.with_name(name) for f, name in zip(schema, names, strict=True)])
        return cls(own, (pa.RecordBatch.from_arrays(b.columns, schema=own) for b in batches))

    def upto(self, rows: int) -> "SqlAnswer":
        """Give at most this many rows."""
        shorter = replace(self, batches=iter(()))

        def some() -> Iterator[pa.RecordBatch]:
            missing = rows
            for batch in self.batches:
                if batch.num_rows > missing:
                    shorter.cut = True
                    yield batch.slice(0, missing)
                    return
                missing -= batch.num_rows
                yield batch

        shorter.batches = some()
        return shorter

    def lines(self, form: Form) -> Iterator[str]:
        """Give it as text, in pieces that end with a newline."""
        if form == "geojson":
            return feature_collection(self.geometry(), self.schema.names, self.batches)
        if form == "csv":
            return _csv(self)
        if form == "lines":
            return _records(self)
        return _json_lines(self) if form == "json" else _table(self)

    def geometry(self) -> RowGeometry:
        """Say where its rows have their geometry; InputError where they have none."""
        return RowGeometry.of(self.schema.names, self.places)

    def write(self, form: Form, path: Path) -> int:
        """Write it to a file; give the number of rows."""
        from pipelines.files.write.target import Target, write_whole

        rows = 0
        if form in ("geojson", "geoparquet"):
            self.geometry()

        def counted() -> Iterator[pa.RecordBatch]:
            nonlocal rows
            for batch in self.batches:
                rows += batch.num_rows
                yield batch

        def into(_: str, file: BinaryIO) -> None:
            answer = replace(self, batches=counted())
            if form in BINARY:
                _write_parquet(answer, file, answer.geometry() if form == "geoparquet" else None)
            else:
                file.writelines(line.encode() for line in answer.lines(form))

        packed = path.suffix.lower() == ".gz" and form not in BINARY
        write_whole([(Target(path, form, packed), into)])
        return rows


def rows_of(batch: pa.Table | pa.RecordBatch) -> list[tuple[object, ...]]:
    """Give columns row by row."""
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _distinct(names: Sequence[str]) -> list[str]:
    used: set[str] = set()
    distinct = []
    for name in names:
        own, again = name, 1
        while own in used:
            again += 1
            own = f"{name}_{again}"
        used.add(own)
        distinct.append(own)
    return distinct


def _csv(answer: SqlAnswer) -> Iterator[str]:
    """Give the header, even of an answer without rows, and the rows."""
    from pipelines.files.write.text import csv_pieces  # which costs 0.2 s

    none = pa.RecordBatch.from_pylist([], answer.schema)
    for place, batch in enumerate(chain([none], answer.batches)):
        flat = [_flat(pa.chunked_array([column])) for column in batch.columns]
        header, *rows = csv_pieces(pa.table(flat, answer.schema.names))
        pieces = rows if place else [header]
        yield from (piece.to_pybytes().decode() for piece in pieces)


def _json_lines(answer: SqlAnswer) -> Iterator[str]:
    names = answer.schema.names
    for batch in answer.batches:
        for row in rows_of(batch):
            fields = {name: as_json(value) for name, value in zip(names, row, strict=True)}
            yield json.dumps(fields, ensure_ascii=False) + "\n"


def _records(answer: SqlAnswer) -> Iterator[str]:
    rows = (row for batch in answer.batches for row in rows_of(batch))
    return (f"{line}\n" for line in records(answer.schema.names, rows))


def _table(answer: SqlAnswer) -> Iterator[str]:
    rows = [row for batch in answer.batches for row in rows_of(batch)]
    return (f"{line}\n" for line in aligned(answer.schema.names, rows))


def _flat(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert to text whatever is not text, a number, a flag or a time."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz:
        return column.cast(pa.timestamp("us", kind.tz))
    if pa.types.is_floating(kind):
        return pc.cast(column, pa.float64())
    if pa.types.is_string(kind) or pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return column
    return _as_text(column)


def _as_text(column: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    texts = [None if value is None else text(value) for value in column.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.string())])


def _write_parquet(answer: SqlAnswer, file: BinaryIO, geometry: RowGeometry | None) -> None:
    """Write Parquet; intervals, which it lacks, as text."""
    import pyarrow.parquet as pq

    interval = pa.month_day_nano_interval()
    schema = pa.schema(
        [f.with_type(pa.string()) if f.type == interval else f for f in answer.schema]
    )
    batches = (
        pa.table([_as_text(c) if c.type == interval else c for c in batch.columns], schema=schema)
        for batch in answer.batches
    )
    if geometry is not None:
        write_geoparquet(geometry, schema, batches, file)
        return
    with pq.ParquetWriter(file, schema) as writer:
        for batch in batches:
            writer.write_table(batch)
