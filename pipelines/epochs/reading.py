"""What a task reads: the tuples of its deliveries, and the logs as of the epoch before.

Straight from the data files of the Delta snapshot, past the JVM: (measured) four to six times as
quick as rows that travel through it. Which files, the driver says; here they are only read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fencepost.tuples import Int64s
from pipelines.epochs.logs import codes_of, newest
from pipelines.epochs.share import Share
from pipelines.lake.buckets import buckets_of
from schemas import Table, all_tables

KEYS = {
    "stream_state": ("stream_id",),
    "reorder": ("stream_id", "ts"),
    "pending": ("query_id", "query_version", "stream_id"),
}


@dataclass(frozen=True, eq=False)
class Rows:
    """What a share begins with: its tuples in the order of arrival, and its logs."""

    tuples: pa.Table
    stream_state: pa.Table
    reorder: pa.Table
    pending: pa.Table


def read(share: Share) -> Rows:
    """Read all that a share needs from its files."""
    tables = all_tables(share.axes)
    tuples = _tuples(share, tables[share.feed])
    reorder = _log(share, tables["reorder"])
    pending = _log(share, tables["pending"])
    wanted = None
    if not share.snapshot:
        wanted = [table["stream_id"] for table in (tuples, reorder, pending)]
    state = _log(share, tables["stream_state"], wanted)
    return Rows(tuples, state, reorder, pending)


def _tuples(share: Share, table: Table) -> pa.Table:
    own = share.axes[share.feed]
    columns = ["stream_id", "ts", *own, "arrival", "file", "line"]
    wanted = pa.array([n for step in share.steps for n in step.arrivals], pa.int64())
    parts = [empty(table, columns)]
    for path in share.files[share.feed]:
        rows = _columns(share, table, path, columns)
        theirs = pc.is_in(rows["arrival"], value_set=wanted)
        if not pc.all(theirs).as_py():
            rows = rows.filter(theirs)
        parts.append(_of_share(rows, share))
    return in_order(pa.concat_tables(parts), wanted.to_numpy())


def in_order(rows: pa.Table, arrivals: Int64s) -> pa.Table:
    """Sort tuples by (delivery in the order given, file, line), unless they are so already."""
    place = np.empty(len(arrivals), np.int64)
    by_number = np.argsort(arrivals, kind="stable")
    place = by_number[np.searchsorted(arrivals[by_number], rows["arrival"].to_numpy())]
    file, line = rows["file"].to_numpy().astype(np.int64), rows["line"].to_numpy()
    falls = np.diff(place) < 0
    falls |= (np.diff(place) == 0) & (np.diff(file) < 0)
    falls |= (np.diff(place) == 0) & (np.diff(file) == 0) & (np.diff(line) < 0)
    if falls.any():
        order = pa.array(np.lexsort((line, file, place)))
        rows, place = rows.take(order), place[order.to_numpy()]
    return rows.append_column("place", pa.array(place))


def _log(share: Share, table: Table, wanted: Sequence[pa.ChunkedArray] | None = None) -> pa.Table:
    """Read a log as of the epoch before; of the streams wanted only, where these are named."""
    columns = [c for c in table.arrow.names if c not in table.partitioned_by]
    names = None if wanted is None else _distinct(wanted)
    parts = [empty(table, columns)]
    for path in share.files[table.name]:
        rows = _columns(share, table, path, columns)
        if names is not None:
            rows = rows.filter(pc.is_in(rows["stream_id"], value_set=names))
        parts.append(_of_share(share.as_of.counting(rows), share))
    return newest(pa.concat_tables(parts), KEYS[table.name])


def _distinct(columns: Sequence[pa.ChunkedArray]) -> pa.StringArray:
    distinct = [pc.unique(column).cast(pa.string()) for column in columns]
    return pc.unique(pa.concat_arrays(distinct))


def _columns(share: Share, table: Table, path: str, columns: Sequence[str]) -> pa.Table:
    """Read columns of a file, stream ids coded; a column that came later is null."""
    file = pq.ParquetFile(
        Path(share.root) / table.name / path, read_dictionary=["stream_id"], memory_map=True
    )
    has = set(file.schema_arrow.names)
    read = file.read([name for name in columns if name in has], use_threads=False)
    for name in columns:
        if name not in has:
            field = table.arrow.field(name)
            read = read.append_column(field, pa.nulls(read.num_rows, field.type))
    return read.select(list(columns))


def empty(table: Table, columns: Sequence[str]) -> pa.Table:
    """Give no rows, with the columns as they are read."""
    coded = pa.dictionary(pa.int32(), pa.string())
    fields = [table.arrow.field(name) for name in columns]
    return pa.schema(
        [pa.field(f.name, coded if f.name == "stream_id" else f.type, f.nullable) for f in fields]
    ).empty_table()


def _of_share(rows: pa.Table, share: Share) -> pa.Table:
    """Keep the rows of the share's buckets: a mixed file holds those of all."""
    if share.buckets is None or rows.num_rows == 0:
        return rows
    column = rows["stream_id"].unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0)
    bucket = buckets_of(column.dictionary.cast(pa.string()), share.all_buckets)
    mine = np.isin(bucket, share.buckets)
    if mine.all():
        return rows
    kept = mine[column.indices.to_numpy(zero_copy_only=False)]
    return rows.filter(pa.array(kept))


def codes(table: pa.Table) -> Int64s:
    """Number the streams of a table."""
    return codes_of(table["stream_id"])
