"""Generated workloads as files: CSV, JSON lines or Parquet by the end of the name, `.gz` allowed.

Law: a file is whole or it is not there. All files of one call are written under names that ingest
passes over, in the folders they belong in, and take their own names together at the end.
"""

import gzip
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from fencepost.errors import InputError
from fencepost.times import SECOND
from fencepost.tuples import Int64s, TupleBatch
from fencepost.workloads import RoadNetwork

CHUNK = 1 << 18  # rows that are text at one time
TABLE_FORMS = ("csv", "jsonl", "parquet")
QUERY_FORMS = ("jsonl", "parquet")
UNITS = {"m": 60 * SECOND, "s": SECOND, "ms": 1_000, "us": 1}


@dataclass(frozen=True)
class Target:
    """A file to be written: its path, and the form that its name asks for."""

    path: Path
    form: str
    packed: bool

    @classmethod
    def of(cls, path: Path, forms: Sequence[str]) -> "Target":
        """Read the form from the name's end; refuse a name that says none of these forms."""
        ends = [end.lower() for end in path.suffixes]
        packed = ends[-1:] == [".gz"]
        form = (ends[:-1] if packed else ends)[-1:]
        if not form or form[0][1:] not in forms or (packed and form[0] == ".parquet"):
            listed = ", ".join(f".{form}" for form in forms)
            raise InputError(f"{path}: expected a name that ends in {listed}; behind text also .gz")
        if path.is_dir():
            raise InputError(f"{path}: a folder stands there, expected a file to write")
        return cls(path, form[0][1:], packed)


@contextmanager
def whole_files(targets: Sequence[Target]) -> Iterator[list[IO[bytes]]]:
    """Open the targets under passing names; rename all when the block ends well, else leave none.

    Folders that do not exist are made; a file that stands there is replaced.
    """
    paths = [target.path.resolve() for target in targets]
    for path in paths:
        if paths.count(path) > 1:
            raise InputError(f"{path}: asked for twice, expected a name of its own for each file")
    passing = [path.with_name(f".{path.name}.{os.getpid()}.tmp") for path in paths]
    try:
        with ExitStack() as files:
            yield [
                files.enter_context(opened(*each)) for each in zip(targets, passing, strict=True)
            ]
        for path, name in zip(paths, passing, strict=True):
            name.replace(path)
    finally:
        for name in passing:
            name.unlink(missing_ok=True)


@contextmanager
def opened(target: Target, name: Path) -> Iterator[IO[bytes]]:
    """Open one file to write bytes, packed where its name says so, the same bytes each time."""
    name.parent.mkdir(parents=True, exist_ok=True)
    with name.open("wb") as plain:
        if not target.packed:
            yield plain
            return
        with gzip.GzipFile("", "wb", 6, plain, mtime=0) as packed:
            yield packed  # type: ignore[misc]  # typeshed: a GzipFile is no IO[bytes]


def write_tuples(tuples: TupleBatch, form: str, file: IO[bytes]) -> None:
    """Write the columns stream_id, ts and the axes, in the batch's order."""
    if form == "parquet":
        ts = pa.array(tuples.ts).cast(pa.timestamp("us", tz="UTC"))
        pq.write_table(tuple_columns(tuples, ts), file)
        return
    digits = digits_of(tuples.ts)
    starts = range(0, len(tuples), CHUNK)
    chunks = (tuples.take(slice(at, at + CHUNK)) for at in starts)
    write_text((tuple_columns(chunk, instants(chunk.ts, digits)) for chunk in chunks), form, file)


def write_text(tables: Iterable[pa.Table], form: str, file: IO[bytes]) -> None:
    """Write tables of plain names and finite numbers behind each other, as CSV or JSON lines."""
    if form == "jsonl":
        for table in tables:
            file.write(json_lines(table))
        return
    for place, table in enumerate(tables):
        if place == 0:
            file.write(",".join(table.column_names).encode() + b"\n")
        # Nothing that is generated needs quotes, and without them the file is a fifth smaller.
        plain = pcsv.WriteOptions(include_header=False, quoting_style="none", batch_size=CHUNK)
        pcsv.write_csv(table, file, plain)


def tuple_columns(tuples: TupleBatch, ts: pa.Array) -> pa.Table:
    """Return the batch as a table."""
    columns = {"stream_id": tuples.names.take(pa.array(tuples.stream)), "ts": ts}
    axes = {axis: pa.array(column) for axis, column in zip(tuples.axes, tuples.values, strict=True)}
    return pa.table(columns | axes)


def digits_of(ts: Int64s) -> int:
    """Return how many digits behind the second it takes to write these times: 0, 3 or 6."""
    for digits, unit in ((0, SECOND), (3, 1_000)):
        if not (ts % unit).any():
            return digits
    return 6


def instants(ts: Int64s, digits: int) -> pa.Array:
    """Write times as ISO 8601 in UTC, in C++: 0.3 µs each."""
    unit = {0: "s", 3: "ms", 6: "us"}[digits]
    text = pc.cast(pa.array(ts).cast(pa.timestamp("us")).cast(pa.timestamp(unit)), pa.string())
    return pc.binary_join_element_wise(pc.binary_replace_slice(text, 10, 11, "T"), "Z", "")


def json_lines(table: pa.Table) -> pa.Buffer:
    """Write a table as JSON lines, without a Python object a row.

    The strings of an Arrow array stand one behind the other: joined line by line, they are the file.
    """
    parts: list[pa.Array | str] = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        quote = '"' if pa.types.is_string(column.type) else ""
        parts += [f'{", " if parts else "{"}"{name}": {quote}', pc.cast(column, pa.string()), quote]
    lines = pc.binary_join_element_wise(*parts, "}\n", "").combine_chunks()
    ends = np.frombuffer(lines.buffers()[1], np.int32)[lines.offset + np.array([0, len(lines)])]
    return lines.buffers()[2].slice(ends[0], ends[1] - ends[0])


def write_queries(queries: pa.Table, feed: str, form: str, file: IO[bytes]) -> None:
    """Write one-box queries: in Parquet their bounds as columns, in JSON lines as `where` texts."""
    if form == "parquet":
        named = pa.array([feed] * len(queries), pa.string())
        pq.write_table(queries.add_column(1, "feed", named), file)
        return
    axes = [name[:-3] for name in queries.column_names if name.endswith("_lo")]
    for row in queries.to_pylist():
        query = {"id": row["id"], "feed": feed, "where": where_text(row, axes)}
        if row.get("streams") is not None:
            query["streams"] = row["streams"]
        if row.get("within") is not None:
            query["within"] = duration_text(row["within"])
        file.write(json.dumps(query).encode() + b"\n")


def where_text(row: dict[str, float], axes: Sequence[str]) -> str:
    """Write a box as the predicate that parses to the same doubles."""
    return " AND ".join(
        f"{axis} >= {row[f'{axis}_lo']!r} AND {axis} < {row[f'{axis}_hi']!r}" for axis in axes
    )


def duration_text(us: int) -> str:
    """Write a duration in the largest unit that counts it whole."""
    unit = next(unit for unit, size in UNITS.items() if us % size == 0)
    return f"{us // UNITS[unit]}{unit}"


def write_roads(roads: RoadNetwork, form: str, file: IO[bytes]) -> None:
    """Write the roads, a row each: its ends in metres and its speed limit in km/h."""
    table = pa.table(
        {
            "x_begin": roads.x[roads.begin],
            "y_begin": roads.y[roads.begin],
            "x_end": roads.x[roads.end],
            "y_end": roads.y[roads.end],
            "limit": roads.limit,
        }
    )
    if form == "parquet":
        pq.write_table(table, file)
    else:
        write_text([table], form, file)
