"""The tuples of a share as the engine takes them, and the rows of the files that they came from.

They are sorted once, here: by delivery, then stream, then the order within a delivery. From there
on nothing has to be sorted again. Files have rows in an order: (file, line). A Delta table has
none: its files are named at random, and writing the same rows again may spread them
otherwise. Its rows are ordered by content.

Law: the order in which files are read, and how rows are spread over them, changes no tuple's place
among those of its stream; a table written twice, in other files and another order, gives the same
rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fencepost.arrow import ranks_of, texts_of
from fencepost.instants import deal
from fencepost.tuples import Bools, Int32s, Int64s, TupleBatch
from schemas import FeedColumns
from schemas.tuples import DELETED, SEQUENCE


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
        """Give each row's file and line to sort by; of an unordered delivery, 0 and its rank.

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


ORIGIN = ("arrival", "file", "line")
"""The columns that say where a tuple came from."""


@dataclass(frozen=True, eq=False)
class Tuples:
    """n tuples; `batch.delivery` is the place of the delivery among those of the share.

    rows     the rows as they were read     order  of each tuple, its place among these
    deleted  of each tuple, whether it removes its stream from sets; None: not read
    """

    batch: TupleBatch
    rows: pa.Table
    order: Int64s
    deleted: Bools | None = None

    @classmethod
    def of(cls, order_of: RowOrder, feed: str, rows: pa.Table, arrivals: Int64s) -> "Tuples":
        """Sort rows by (delivery in the order given, stream, file, line). O(n) where files are.

        The rows hold the columns of `ORIGIN`, stream_id as codes, ts and the axes; and `deleted`,
        where it was read.
        """
        column = texts_of(rows["stream_id"])
        codes = column.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        place = _places(rows["arrival"], arrivals)
        order = _order(codes, place, *order_of.keys(rows, column))
        axes = order_of.own.axes
        values = np.empty((len(axes), rows.num_rows))
        for line, axis in zip(values, axes, strict=True):
            np.take(rows[axis].to_numpy(), order, out=line)
        ids = pa.DictionaryArray.from_arrays(codes[order], column.dictionary)
        ts = rows["ts"].cast(pa.int64()).to_numpy()[order]
        batch = TupleBatch.from_columns(
            feed,
            axes,
            ids,
            ts,
            values,
            place[order],
            tag=order if order_of.own.payload else None,
        )
        return cls(batch, rows, order, _marks(rows, order))

    def __len__(self) -> int:
        """The number of tuples."""
        return len(self.order)

    def of_deliveries(self, first: int, beyond: int) -> "Tuples":
        """Give those of some deliveries, renumbered from 0."""
        begin, end = np.searchsorted(self.batch.delivery, [first, beyond])
        some = slice(int(begin), int(end))
        batch, order = self.batch, self.order[some]
        mine = TupleBatch(
            batch.feed,
            batch.axes,
            batch.names,
            batch.stream[some],
            batch.ts[some],
            batch.values[:, some],
            batch.delivery[some] - np.int32(first),
            sequences_of(self.rows, order),
            None if batch.tag is None else batch.tag[some],
        )
        marks = None if self.deleted is None else self.deleted[some]
        return Tuples(mine, self.rows, order, marks)

    def origin(self, chosen: Int64s) -> pa.Table:
        """Give the rows that some of the tuples were read from."""
        return self.rows.take(pa.array(self.order[chosen]))


def sequence_of(own: FeedColumns) -> list[str]:
    """Name the column of the sequence, if the feed has one."""
    return [] if own.sequence is None else [SEQUENCE]


def sequences_of(rows: pa.Table, order: Int64s) -> pa.Array | None:
    """Give the sequences of some rows; None where they were loaded without."""
    if SEQUENCE not in rows.column_names or not len(order):
        return None
    sequence = rows[SEQUENCE].take(pa.array(order)).combine_chunks()
    return None if sequence.null_count == len(sequence) else sequence


def _sortable(column: pa.ChunkedArray) -> list[npt.NDArray[Any]]:
    """Give what a column is sorted by: whether there is a value, and the value."""
    there = column.is_valid().to_numpy()
    if column.type == pa.string():
        return [there, ranks_of(column.fill_null(""))]
    kind = column.type if column.type == pa.float64() else pa.int64()
    return [there, column.cast(kind).fill_null(0).to_numpy()]


def _marks(rows: pa.Table, order: Int64s) -> Bools | None:
    """Say of each tuple whether its row is marked, if there are marks; a null is no mark."""
    if DELETED.name not in rows.column_names:
        return None
    column = rows[DELETED.name]
    if column.null_count == len(column):
        return np.zeros(len(order), np.bool_)
    flags: Bools = column.fill_null(False).to_numpy()[order]
    return flags


def _places(column: pa.ChunkedArray, arrivals: Int64s) -> Int32s:
    """Give each row the place of its delivery among these."""
    if len(arrivals) == 1:
        return np.zeros(len(column), np.int32)
    by_number = np.argsort(arrivals, kind="stable")
    found = np.searchsorted(arrivals[by_number], column.to_numpy())
    places: Int32s = by_number[found].astype(np.int32)
    return places


def _order(codes: Int32s, place: Int32s, file: Int32s, line: Int64s) -> Int64s:
    """Sort by (place, codes, file, line); rows of files in order are only dealt out."""
    if len(codes) == 0:
        return np.empty(0, np.int64)
    order = deal(codes)
    if place.any():
        order = order[deal(place[order])]
    same: Bools = (np.diff(codes[order]) == 0) & (np.diff(place[order]) == 0)
    files, lines = np.diff(file[order]), np.diff(line[order])
    if (same & ((files < 0) | ((files == 0) & (lines < 0)))).any():
        order = np.lexsort((line, file, codes, place))
    return order
