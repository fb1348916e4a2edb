"""What a task reads: the tuples of its deliveries, and the logs as of the epoch before.

Straight from the data files of the Delta snapshot, past the JVM: (measured) two to three times as
fast as rows that travel through it. The driver says which files.

A worker keeps what it has read of a log's file for the next epoch. A data file never changes and
its name is never used again, so that is valid as long as the process lives, whatever became of the
epoch or the process that wrote it.
"""

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Int64s, UInt64s
from fencepost.arrow import texts_of
from fencepost.hashing import hashes_of_strings
from pipelines.execute.logs import newest
from pipelines.execute.lookup import WORTH, candidates, lookup_of
from pipelines.execute.share import Share
from pipelines.execute.tuples import ORIGIN, RowOrder, Tuples, sequence_of
from pipelines.lake.buckets import division_of, residues_of
from pipelines.lake.data_files import lost_file, open_verified
from pipelines.places import Place
from schemas import FeedColumns, Table, all_tables
from schemas.tuples import DELETED

BUCKET = re.compile(r"(?:^|/)bucket=(\d+)/")
"""In the path of a file of one bucket."""


class StepDeliveries(Protocol):
    """An epoch of a share: its deliveries."""

    @property
    def arrivals(self) -> tuple[int, ...]:
        """Their numbers, in order."""


class Reads(Protocol):
    """What a share says of what it reads: that of a feed, or that of joins."""

    @property
    def root(self) -> str:
        """The lake, as text."""

    @property
    def place(self) -> Place:
        """The lake."""

    @property
    def columns(self) -> Mapping[str, FeedColumns]:
        """Those that every feed declares."""

    @property
    def files(self) -> Mapping[str, tuple[str, ...]]:
        """The data files, by table."""

    @property
    def steps(self) -> Sequence[StepDeliveries]:
        """The epochs, in order."""

    @property
    def all_buckets(self) -> int:
        """The modulus that the streams are divided by."""

    @property
    def buckets(self) -> tuple[int, ...] | None:
        """Which residues are read; None: all."""


@dataclass(frozen=True, eq=False)
class ShareRows:
    """What a share begins with: its tuples, and its logs."""

    tuples: Tuples
    stream_state: pa.Table
    reorder: pa.Table
    pending: pa.Table


def read(share: Share, seconds: dict[str, float]) -> ShareRows:
    """Read all that a share needs from its files; note how long that took, and the sorting."""
    started = time.perf_counter()
    tables = all_tables(share.columns)
    tuples = in_order(share, tuples_of(share, tables[share.feed]), seconds)
    reorder = _log(share, tables["reorder"])
    pending = _log(share, tables["pending"])
    wanted = None
    if not share.snapshot:
        waiting = [pc.unique(log["stream_id"]).cast(pa.string()) for log in (reorder, pending)]
        wanted = pc.unique(pa.concat_arrays([tuples.batch.names, *waiting]))
    state = _log(share, tables["stream_state"], wanted)
    seconds["read"] = time.perf_counter() - started - seconds["sort"]
    return ShareRows(tuples, state, reorder, pending)


def in_order(share: Share, rows: pa.Table, seconds: dict[str, float]) -> Tuples:
    """Sort tuples as the engine takes them, and note how long that took."""
    started = time.perf_counter()
    numbers = np.array([n for step in share.steps for n in step.arrivals], np.int64)
    order = RowOrder(share.columns[share.feed], share.unordered)
    tuples = Tuples.of(order, share.feed, rows, numbers)
    seconds["sort"] = time.perf_counter() - started
    return tuples


def tuples_of(share: Reads, table: Table, *, marked: bool = False) -> pa.Table:
    """Read a feed's tuples of the share's deliveries, file by file in the order of what they hold.

    `marked`: with the column `deleted`, which only joins need.
    """
    columns = columns_of_tuples(share, table.name)
    columns += [DELETED.name] if marked else []
    numbers = {n for step in share.steps for n in step.arrivals}
    parts = []
    for path in share.files[table.name]:
        rows = of_deliveries(columns_of(share, table, path, columns), numbers)
        if not is_of_share(path, share):
            rows = of_share(rows, share)
        if rows.num_rows:
            parts.append(rows)
    parts.sort(key=_first)
    return pa.concat_tables([empty(table, columns), *parts])


def columns_of_tuples(share: Reads, feed: str) -> list[str]:
    """Name the columns of a feed that are read."""
    own = share.columns[feed]
    return ["stream_id", "ts", *own.axes, *ORIGIN, *sequence_of(own), *own.payload_columns]


def of_deliveries(rows: pa.Table, numbers: set[int]) -> pa.Table:
    """Keep the rows of some deliveries: a file may hold those of others, too."""
    if rows.num_rows == 0:
        return rows
    arrival = rows["arrival"].to_numpy()
    if numbers.issuperset(range(arrival.min(), arrival.max() + 1)):
        return rows
    return rows.filter(pc.is_in(rows["arrival"], value_set=pa.array(sorted(numbers), pa.int64())))


def _first(rows: pa.Table) -> tuple[int, ...]:
    return tuple(rows[name][0].as_py() for name in ORIGIN)


def _log(share: Share, table: Table, names: pa.StringArray | None = None) -> pa.Table:
    """Read a log as of the epoch before; only of the named streams, if any are named.

    A large file that was read before is searched for them; all others are filtered together, since
    a trickle of small deliveries leaves many small files.
    """
    columns = [c for c in table.arrow.names if c not in table.partitioned_by]
    parts = [empty(table, columns)]
    hashes = None if names is None else hashes_of_strings(names)
    for path in share.files[table.name]:
        again = _key(share, table, path, columns) in _cache.tables
        rows = cached_columns(share, table, path, columns)
        if hashes is not None and again and rows.num_rows >= WORTH * len(hashes):
            rows = _rows_at(rows, _candidates(share, table, path, rows, hashes))
        parts.append(rows)
    rows = pa.concat_tables(parts)
    if names is not None:
        rows = _of_streams(rows, names)
    return newest(of_share(share.as_of.counting(rows), share), table.key)


def cached_columns(share: Reads, table: Table, path: str, columns: Sequence[str]) -> pa.Table:
    """Read columns of a file, or give them as they were read before."""

    def read() -> pa.Table:
        rows = columns_of(share, table, path, columns).combine_chunks()
        place = rows.column_names.index("stream_id")
        return rows.set_column(place, rows.field(place), texts_of(rows["stream_id"]))

    return cached(_key(share, table, path, columns), read)


def _key(share: Reads, table: Table, path: str, columns: Sequence[str]) -> tuple[str, ...]:
    return (share.root, table.name, path, *columns)


def _candidates(share: Share, table: Table, path: str, rows: pa.Table, hashes: UInt64s) -> Int64s:
    """Find a file's rows of some streams, and few others, by a look-up that is kept beside it."""
    lookup = cached(
        _key(share, table, path, ["lookup"]), lambda: lookup_of(texts_of(rows["stream_id"]))
    )
    return candidates(lookup, hashes)


def _of_streams(rows: pa.Table, names: pa.StringArray) -> pa.Table:
    """Keep the rows of some streams; their ids get new codes, one per id."""
    if rows.num_rows == 0:
        return rows
    ids = texts_of(rows["stream_id"])
    mine = pc.is_in(ids.dictionary, value_set=names).to_numpy(zero_copy_only=False)
    return _rows_at(rows, np.flatnonzero(mine[ids.indices.to_numpy(zero_copy_only=False)]))


def _rows_at(rows: pa.Table, at: Int64s) -> pa.Table:
    """Take some rows, with no more ids than they have."""
    place = rows.column_names.index("stream_id")
    few = rows.take(pa.array(at))
    ids = few["stream_id"].cast(pa.string()).dictionary_encode()
    return few.set_column(place, rows.field(place), ids)


def columns_of(share: Reads, table: Table, path: str, columns: Sequence[str]) -> pa.Table:
    """Read columns of a file, stream ids coded; a column that came later is null.

    A file that delta-rs rewrote has string_view columns, which few kernels support.
    """
    try:
        file = open_verified(share.place / table.name, path, coded=["stream_id"])
        has = set(file.schema_arrow.names)
        read = file.read([name for name in columns if name in has], use_threads=False)
    except (OSError, pa.ArrowException) as why:
        raise lost_file(table.name, path, why) from why
    for name in columns:
        field = table.arrow.field(name)
        if name not in has:
            read = read.append_column(field, pa.nulls(read.num_rows, field.type))
        elif name != "stream_id" and read[name].type != field.type:
            place = read.column_names.index(name)
            read = read.set_column(place, field, read[name].cast(field.type))
    return read.select(list(columns))


def empty(table: Table, columns: Sequence[str]) -> pa.Table:
    """Give an empty table, with the columns as they are read."""
    ids = pa.dictionary(pa.int32(), pa.string())
    fields = [table.arrow.field(name) for name in columns]
    return pa.schema(
        [pa.field(f.name, ids if f.name == "stream_id" else f.type, f.nullable) for f in fields]
    ).empty_table()


def is_of_share(path: str, share: Reads) -> bool:
    """Say whether all rows of a file are the share's, by the bucket that its folder names."""
    if share.buckets is None:
        return True
    named = BUCKET.search(path)
    modulus, residue = division_of(int(named[1]), 0) if named else (0, 0)
    if not modulus or share.all_buckets % modulus:
        return False
    return set(share.buckets).issuperset(range(residue, share.all_buckets, modulus))


def of_share(rows: pa.Table, share: Reads) -> pa.Table:
    """Keep the rows of the share's residues: a file may hold those of others, too."""
    if share.buckets is None or rows.num_rows == 0:
        return rows
    column = texts_of(rows["stream_id"])
    wanted = np.zeros(share.all_buckets, np.bool_)
    wanted[list(share.buckets)] = True
    mine = wanted[residues_of(column.dictionary, share.all_buckets)]
    if mine.all():
        return rows
    kept = mine[column.indices.to_numpy(zero_copy_only=False)]
    return rows.filter(pa.array(kept))


MOST_BYTES = 256 << 20
"""Cached at most; what was used least recently goes first."""

MOST_FILES = 1 << 11
"""Cached at most: a table of ten rows takes more than its bytes."""


class FileCache:
    """Tables by name, least recently used first, within a limit of bytes."""

    def __init__(self) -> None:
        """Begin without tables."""
        self.tables: OrderedDict[tuple[str, ...], pa.Table] = OrderedDict()
        self.size = 0

    def put(self, key: tuple[str, ...], rows: pa.Table) -> None:
        """Add a table, and drop others to make room."""
        self.tables[key] = rows
        self.size += rows.nbytes
        while self.size > MOST_BYTES or len(self.tables) > MOST_FILES:
            _, gone = self.tables.popitem(last=False)
            self.size -= gone.nbytes


_cache = FileCache()


def cached(key: tuple[str, ...], read: Callable[[], pa.Table]) -> pa.Table:
    """Give what was read of a file before, or read it; the key names the file and its columns."""
    if key in _cache.tables:
        _cache.tables.move_to_end(key)
        return _cache.tables[key]
    rows = read()
    if rows.nbytes <= MOST_BYTES // 2:
        _cache.put(key, rows)
    return rows
