"""Generated workloads as files: CSV, JSON lines, Parquet or GeoJSON, by the end of the name.

Law: the files of one workload are all written, each whole, or none is.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fencepost.errors import InputError
from fencepost.text import counted
from fencepost.times import SECOND
from fencepost.tuples import TupleBatch
from pipelines.files.write.target import Target, Write, write_whole
from pipelines.files.write.text import csv_pieces, json_pieces
from pipelines.workloads import RoadNetwork
from pipelines.workloads.geojson import feature_lines, query_feature, road_features

TABLE_FORMS = ("csv", "jsonl", "parquet")
QUERY_FORMS = ("jsonl", "parquet")
GEOJSON = "geojson"
"""Besides, of queries and roads on the earth."""

UNITS = {"m": 60 * SECOND, "s": SECOND, "ms": 1_000, "us": 1}


@dataclass(frozen=True)
class Targets:
    """The files that one workload is written to."""

    tuples: Target
    queries: Target | None
    roads: Target | None

    @classmethod
    def of(
        cls,
        tuples: Path,
        queries: Path | None,
        roads: Path | None = None,
        *,
        on_earth: bool = False,
    ) -> "Targets":
        """Check the names before anything is written; refuse one that is given twice."""
        more = (GEOJSON,) if on_earth else ()
        paths = [path.resolve() for path in (tuples, queries, roads) if path is not None]
        twice = next((path for path in paths if paths.count(path) > 1), None)
        if twice is not None:
            raise InputError(f"{twice} was given twice, expected a name of its own for each file")
        return cls(
            Target.of(tuples, TABLE_FORMS),
            None if queries is None else Target.of(queries, (*more, *QUERY_FORMS)),
            None if roads is None else Target.of(roads, (*more, *TABLE_FORMS)),
        )

    def write(
        self, tuples: TupleBatch, queries: pa.Table, roads: RoadNetwork | None = None
    ) -> None:
        """Write all the files, or none."""
        jobs: list[tuple[Target, Write]] = [(self.tuples, partial(write_tuples, tuples))]
        if self.queries is not None:
            jobs.append((self.queries, partial(write_queries, queries, tuples.feed)))
        if self.roads is not None and roads is not None:
            jobs.append((self.roads, partial(write_roads, roads)))
        write_whole(jobs)

    def summary(self, tuples: TupleBatch, queries: pa.Table, realised: str) -> str:
        """Describe the files in two lines."""
        rows, streams = counted(len(tuples), "tuple"), counted(len(tuples.names), "stream")
        written = f"{self.tuples.path}: {rows} of {streams}, {realised}"
        if self.queries is None:
            return f"{written}\nno queries: --queries-out FILE writes them"
        watching = counted(len(queries), "standing query", "standing queries")
        return f"{written}\n{self.queries.path}: {watching} on '{tuples.feed}'"


def rounded(tuples: TupleBatch, decimals: int | None) -> TupleBatch:
    """Round the values to this many decimals; None leaves them unchanged."""
    if decimals is None:
        return tuples
    tens = float(10**decimals)
    return replace(tuples, values=np.rint(tuples.values * tens) / tens)


def together(*queries: pa.Table) -> pa.Table:
    """Concatenate queries; a column that some lack is null there."""
    some = [table for table in queries if len(table)]
    return pa.concat_tables(some or queries[:1], promote_options="default")


def write_tuples(tuples: TupleBatch, form: str, file: BinaryIO) -> None:
    """Write the columns stream_id, ts and the axes, in the batch's order."""
    columns = {
        "stream_id": tuples.names.take(pa.array(tuples.stream)),
        "ts": pa.array(tuples.ts).cast(pa.timestamp("us", tz="UTC")),
    }
    axes = zip(tuples.axes, tuples.values, strict=True)
    write_table(pa.table(columns | {axis: pa.array(values) for axis, values in axes}), form, file)


def write_queries(queries: pa.Table, feed: str, form: str, file: BinaryIO) -> None:
    """Write queries of one box or a region: in Parquet as columns, in JSON lines as objects.

    In GeoJSON a box is a polygon, which is the same place: half-open, too.
    """
    if form == "parquet":
        named = pa.array([feed] * len(queries), pa.string())
        write_table(queries.add_column(1, "feed", named), form, file)
        return
    axes = [name.removesuffix("_lo") for name in queries.column_names if name.endswith("_lo")]
    if form == GEOJSON:
        rows = ((row, axes, others_of(row)) for row in queries.to_pylist())
        file.writelines(feature_lines(query_feature(*each) for each in rows))
    else:
        file.writelines(query_lines(queries.to_pylist(), axes, feed))


def query_lines(rows: Iterable[dict[str, Any]], axes: Sequence[str], feed: str) -> Iterator[bytes]:
    """Give each query as a line of JSON."""
    for row in rows:
        query: dict[str, Any] = {"id": row["id"], "feed": feed}
        if row.get("region") is not None:
            query["region"] = json.loads(row["region"])
        else:
            query["where"] = where_text(row, axes)
        yield json.dumps(query | others_of(row)).encode() + b"\n"


def others_of(row: dict[str, Any]) -> dict[str, Any]:
    """Give what a query has besides its place: its streams and its `within`, as JSON has them."""
    more: dict[str, Any] = {}
    if row.get("streams") is not None:
        more["streams"] = row["streams"]
    if row.get("within") is not None:
        more["within"] = duration_text(row["within"])
    return more


def where_text(row: dict[str, Any], axes: Sequence[str]) -> str:
    """Write a box as the predicate that parses to the same doubles."""
    return " AND ".join(
        f"{axis} >= {row[f'{axis}_lo']!r} AND {axis} < {row[f'{axis}_hi']!r}" for axis in axes
    )


def duration_text(us: int) -> str:
    """Write a duration in the largest unit that divides it."""
    unit = next(unit for unit, size in UNITS.items() if us % size == 0)
    return f"{us // UNITS[unit]}{unit}"


def write_roads(roads: RoadNetwork, form: str, file: BinaryIO) -> None:
    """Write the roads, a row each: its ends in metres and its speed limit in km/h.

    In GeoJSON a line each, between ends in degrees.
    """
    if form == GEOJSON:
        file.writelines(feature_lines(road_features(roads)))
        return
    begin, end = roads.begin, roads.end
    columns = {
        "x_begin": roads.x[begin],
        "y_begin": roads.y[begin],
        "x_end": roads.x[end],
        "y_end": roads.y[end],
        "limit": roads.limit,
    }
    write_table(pa.table(columns), form, file)


def write_table(table: pa.Table, form: str, file: BinaryIO) -> None:
    """Write a table in one of the forms."""
    if form == "parquet":
        pq.write_table(table, file)
    else:
        file.writelines(csv_pieces(table) if form == "csv" else json_pieces(table))
