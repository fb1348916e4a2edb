"""The tuples of a share as the engine takes them, and the rows of the files that they came from.

They stand in the order of the deliveries, and those of a stream in the order in which they came;
streams may be mixed. Files have rows in an order: (file, line). A Delta table has none: its files
are named at random, and writing the same rows again may spread them otherwise. Its rows are ordered
by content.

Data files hold rows in that order already, in runs that each belong to some of the streams. So
nothing is sorted: the runs are put behind each other, and where two of them overlap their streams
are compared. Only if these are out of order are rows sorted one by one.

Law: the order in which files are read, and how rows are spread over them, changes no tuple's place
among those of its stream; a table written twice, in other files and another order, gives the same
rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fencepost.arrow import ranks_of, texts_of
from fencepost.instants import deal
from fencepost.tuples import Bools, Int32s, Int64s, TupleBatch
from schemas import FeedColumns
from schemas.tuples import DELETED, SEQUENCE

ORIGIN = ("arrival", "file", "line")
"""The columns that say where a tuple came from."""

FEW_RUNS = 64
ROWS_OF_A_RUN = 256
"""Rows of a run, in the mean, from which on any number of runs is worth it."""


@dataclass(frozen=True)
class RowOrder:
    """How the rows of a share are ordered within a delivery.

    own          the columns of the feed
    unordered    the deliveries whose rows are unordered
    each_stream  only the rows of one stream are compared, so that most are never compared in full
    """

    own: FeedColumns
    unordered: Sequence[int] = ()
    each_stream: bool = True

    def keys(self, rows: pa.Table, streams: pa.DictionaryArray) -> tuple[Int32s, Int64s]:
        """Give each row's file and line to order by; of an unordered delivery, 0 and its rank.

        O(n) without such deliveries, else O(n log n).
        """
        file, line = rows["file"].to_numpy(), rows["line"].to_numpy()
        if not self.unordered:
            return file, line
        some = np.flatnonzero(np.isin(rows["arrival"].to_numpy(), self.unordered))
        if len(some) == 0:
            return file, line
        file, line = file.copy(), line.copy()
        line[some] = self._ranks(rows.take(pa.array(some)), streams.take(pa.array(some)))
        file[some] = 0
        return file, line

    def _ranks(self, rows: pa.Table, streams: pa.DictionaryArray) -> Int64s:
        """Number rows by (ts, axis values, mark, payload, stream id); equal ones by origin."""
        ts = rows["ts"].cast(pa.int64()).to_numpy()
        stream = ranks_of(streams)
        whose = stream if self.each_stream else np.zeros(len(ts), np.int64)
        order = np.lexsort((ts, whose))
        same = (np.diff(ts[order]) == 0) & (np.diff(whose[order]) == 0)
        tied: Bools = np.r_[False, same] | np.r_[same, False]
        if tied.any():
            few = order[tied]
            content = [rows[axis].to_numpy()[few] for axis in self.own.axes]
            if DELETED.name in rows.column_names:
                content.append(rows[DELETED.name].fill_null(False).to_numpy()[few])
            for name in self.own.payload_columns:
                content += _sortable(rows[name].take(pa.array(few)))
            origin = (rows[name].to_numpy()[few] for name in ("file", "line"))
            keys = [whose[few], ts[few], *content, stream[few], *origin]
            order[tied] = few[np.lexsort(keys[::-1])]
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        return ranks


class Keys(NamedTuple):
    """What rows are ordered by, each row's: the place of its delivery, its file and line."""

    place: Int32s
    file: Int32s
    line: Int64s

    def of(self, row: int) -> tuple[int, ...]:
        """Give those of one row."""
        return tuple(int(key[row]) for key in self)


def runs_of(
    codes: Int32s, keys: Keys, streams: int, pieces: Sequence[int] = ()
) -> list[slice] | None:
    """Cut rows into runs: behind each other they are in order. None: rows have to be sorted. O(n).

    `codes` are those of the rows' streams, of which there are so many; `pieces` say how many rows
    each file has that they are from.
    """
    if not len(codes):
        return []
    begins: Bools = keys.line[1:] <= keys.line[:-1]
    begins[np.cumsum(pieces, dtype=np.int64)[:-1] - 1] = True
    for column in (keys.place, keys.file):
        if (column != column[0]).any():
            begins |= column[1:] != column[:-1]
    first = np.append(0, np.flatnonzero(begins) + 1)
    if len(first) > max(FEW_RUNS, len(codes) // ROWS_OF_A_RUN):
        return None
    beyond = np.append(first[1:], len(codes))
    order = np.lexsort((keys.line[first], keys.file[first], keys.place[first]))
    begin_end = zip(first[order].tolist(), beyond[order].tolist(), strict=True)
    runs = [slice(begin, end) for begin, end in begin_end]
    apart = all(_are_apart(codes, some, streams) for some in _overlapping(keys, runs))
    return runs if apart else None


def _overlapping(keys: Keys, runs: Sequence[slice]) -> Iterator[list[slice]]:
    """Give the runs that overlap, together; those of different files never do."""
    together: list[slice] = []
    reach: tuple[int, ...] = ()
    for run in runs:
        if keys.of(run.start) > reach:
            if len(together) > 1:
                yield together
            together = []
        together.append(run)
        reach = max(reach, keys.of(run.stop - 1))
    if len(together) > 1:
        yield together


def _are_apart(codes: Int32s, runs: Sequence[slice], streams: int) -> bool:
    """Say whether no stream is in two of the runs."""
    met = np.zeros(streams, np.bool_)
    for before, run in pairwise(runs):
        met[codes[before]] = True
        if met[codes[run]].any():
            return False
    return True


def sorted_by(codes: Int32s, keys: Keys) -> Int64s:
    """Sort rows by (place, stream, file, line). O(n log n); nearly O(n) if few are out of order."""
    place, file, line = keys
    order = deal(codes)
    if place.any():
        order = order[deal(place[order])]
    same: Bools = (np.diff(codes[order]) == 0) & (np.diff(place[order]) == 0)
    files, lines = np.diff(file[order]), np.diff(line[order])
    if (same & ((files < 0) | ((files == 0) & (lines < 0)))).any():
        order = np.lexsort((line, file, codes, place))
    return order


@dataclass(frozen=True, eq=False)
class Tuples:
    """n tuples; `batch.delivery` is the place of the delivery among those of the share.

    rows     the rows that they came from
    order    of each tuple, its place among these; None: they stand as the tuples do
    deleted  of each tuple, whether it removes its stream from sets; None: not read
    """

    batch: TupleBatch
    rows: pa.Table
    order: Int64s | None
    deleted: Bools | None = None

    @classmethod
    def of(cls, order_of: RowOrder, feed: str, rows: pa.Table, arrivals: Int64s) -> "Tuples":
        """Order rows by their deliveries, in the order given, and a stream's by (file, line).

        O(n) where files are in order. The rows hold the columns of `ORIGIN`, stream_id as codes, ts
        and the axes; and `deleted`, where it was read.
        """
        ids = texts_of(rows["stream_id"])
        if len(ids) < len(ids.dictionary):  # those of a few rows of a large file
            ids = ids.cast(pa.string()).dictionary_encode()
        codes = ids.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        keys = Keys(_places(rows["arrival"], arrivals), *order_of.keys(rows, ids))
        place, order = keys.place, None
        pieces = [len(chunk) for chunk in rows["line"].chunks if len(chunk)]
        runs = runs_of(codes, keys, len(ids.dictionary), pieces)
        if runs is None:
            order = sorted_by(codes, keys)
            codes, place = codes[order], place[order]
        elif any(run.start > later.start for run, later in pairwise(runs)):
            codes, place = (np.concatenate([c[run] for run in runs]) for c in (codes, place))
            rows = pa.concat_tables([rows.slice(r.start, r.stop - r.start) for r in runs])
        axes, payload = order_of.own.axes, order_of.own.payload
        batch = TupleBatch.from_columns(
            feed,
            axes,
            pa.DictionaryArray.from_arrays(codes, ids.dictionary),
            _in(order, rows["ts"].cast(pa.int64())),
            np.stack([_in(order, rows[axis]) for axis in axes]),
            place,
            tag=(np.arange(len(codes)) if order is None else order) if payload else None,
        )
        return cls(batch, rows, order, _marks(rows, order))

    def __len__(self) -> int:
        """The number of tuples."""
        return len(self.batch)

    def of_deliveries(self, first: int, beyond: int) -> "Tuples":
        """Give those of some deliveries, renumbered from 0."""
        ends = np.array([first, beyond], np.int32)  # of another type all tuples would be cast
        begin, end = np.searchsorted(self.batch.delivery, ends).tolist()
        some = slice(begin, end)
        batch, rows = self.batch, self.rows
        if self.order is None:
            order, rows = None, rows.slice(begin, end - begin)
        else:
            order = self.order[some]
        mine = TupleBatch(
            batch.feed,
            batch.axes,
            batch.names,
            batch.stream[some],
            batch.ts[some],
            batch.values[:, some],
            batch.delivery[some] - np.int32(first),
            sequences_of(rows, order),
            None if batch.tag is None else batch.tag[some],
        )
        marks = None if self.deleted is None else self.deleted[some]
        return Tuples(mine, rows, order, marks)

    def origin(self, chosen: Int64s) -> pa.Table:
        """Give the rows that some of the tuples were read from."""
        return self.rows.take(pa.array(chosen if self.order is None else self.order[chosen]))


def sequence_of(own: FeedColumns) -> list[str]:
    """Name the column of the sequence, if the feed has one."""
    return [] if own.sequence is None else [SEQUENCE]


def sequences_of(rows: pa.Table, order: Int64s | None = None) -> pa.Array | None:
    """Give the sequences of rows in some order; None where they were loaded without."""
    if SEQUENCE not in rows.column_names or not rows.num_rows:
        return None
    sequence = rows[SEQUENCE] if order is None else rows[SEQUENCE].take(pa.array(order))
    sequence = sequence.combine_chunks()
    return None if sequence.null_count == len(sequence) else sequence


def _in(order: Int64s | None, column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """Give the cells of a column in an order of its rows; None: as they stand."""
    cells: npt.NDArray[Any] = column.to_numpy()
    return cells if order is None else cells[order]


def _marks(rows: pa.Table, order: Int64s | None) -> Bools | None:
    """Say of each tuple whether its row is marked, if there are marks; a null is no mark."""
    if DELETED.name not in rows.column_names:
        return None
    column = rows[DELETED.name]
    if column.null_count == len(column):
        return np.zeros(len(column), np.bool_)
    return _in(order, column.fill_null(False))


def _places(column: pa.ChunkedArray, arrivals: Int64s) -> Int32s:
    """Give each row the place of its delivery among these. O(rows + deliveries)."""
    if len(arrivals) == 1:
        return np.zeros(len(column), np.int32)
    by_number = np.argsort(arrivals, kind="stable")
    found = np.searchsorted(arrivals[by_number], column.to_numpy())
    places: Int32s = by_number[found].astype(np.int32)
    return places


def _sortable(column: pa.ChunkedArray) -> list[npt.NDArray[Any]]:
    """Give what a column is sorted by: whether there is a value, and the value."""
    there = column.is_valid().to_numpy()
    if column.type == pa.string():
        return [there, ranks_of(column.fill_null(""))]
    kind = column.type if column.type == pa.float64() else pa.int64()
    return [there, column.cast(kind).fill_null(0).to_numpy()]
