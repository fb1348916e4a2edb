"""Rows of a result in the order of their table, piece by piece: by day, query, stream and time.

Law: the pieces together are all rows, each once, in that order; a piece has rows of one day. Their
texts stay codes: of a piece's own stretch of the queries' sorted ids, and of the streams' sorted
names. So nothing is sorted but integers, and no text is copied but once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from fencepost.arrays import Bools, Codes, Doubles, Int32s, Int64s
from fencepost.crossings.columns import Events
from fencepost.crossings.path import Path
from fencepost.row_order import (
    COMPILE_FROM,
    PairNames,
    Ranked,
    SortKey,
    are_in_order,
    order_of,
    used_of,
)
from fencepost.times import DAY

FEW = 8
"""For so many rows a name, those that do not occur are not worth leaving out."""


class PairColumns(NamedTuple):
    """Rows of queries and streams, by the rows of their sets; `day` is None where all have one."""

    query: Int32s
    stream: Int32s
    day: Int32s | None


@dataclass(frozen=True, eq=False)
class Arranged:
    """The order of some rows, with the names that they have."""

    pairs: PairColumns
    queries: Ranked
    streams: Ranked
    order: Int32s | None  # None: as they come
    days: Int64s  # where in the order each begins, and the end of all

    @classmethod
    def of(
        cls,
        pairs: PairColumns,
        names: PairNames,
        rows: Int32s | None = None,
    ) -> "Arranged":
        """Order rows that are in the order of time, or whose order of time is `rows`. O(n)."""
        queries, streams = names.ranked(pairs.query, pairs.stream)
        keys = [
            queries.key(pairs.query),
            streams.key(pairs.stream),
        ]
        days = np.array([0, len(pairs.query)])
        if pairs.day is not None:
            many = int(pairs.day.max(initial=0)) + 1
            keys.insert(0, SortKey(pairs.day, np.arange(many, dtype=np.int32), many))
            days = np.append(0, np.cumsum(np.bincount(pairs.day, minlength=many)))
        if rows is None and pairs.day is None and are_in_order(*keys):
            return cls(pairs, queries, streams, None, days)
        return cls(pairs, queries, streams, order_of(keys, rows), days)

    def pieces(self, most: int) -> Iterator[tuple[Int32s | slice, dict[str, pa.Array]]]:
        """Give the rows of each piece, at most so many, and their ids."""
        for begin, end in pairwise(self.days.tolist()):
            for first in range(begin, end, most):
                rows: Int32s | slice = slice(first, min(first + most, end))
                rows = rows if self.order is None else self.order[rows]
                query = _ranks_of(rows, self.pairs.query, self.queries.rank)
                stream = _ranks_of(rows, self.pairs.stream, self.streams.rank)
                yield (
                    rows,
                    {
                        "query_id": _of_stretch(self.queries.names, query),
                        "stream_id": _of_those(self.streams.names, stream),
                    },
                )


def _ranks_of(rows: Int32s | slice, codes: Int32s, rank: Int32s) -> Int32s:
    """Rank some rows by their codes."""
    if isinstance(rows, slice) or len(rows) < COMPILE_FROM:
        return rank[codes[rows]]
    from fencepost import piece_kernels

    ranks = np.empty(len(rows), np.int32)
    piece_kernels.ranks_of(rows, codes, rank, ranks)
    return ranks


def _of_stretch(names: pa.StringArray, ranks: Int32s) -> pa.DictionaryArray:
    """Code names by the stretch of them that ascending ranks are in."""
    first = int(ranks[0])
    own = names.slice(first, int(ranks[-1]) + 1 - first)
    return pa.DictionaryArray.from_arrays(pa.array(ranks - np.int32(first)), own)


def _of_those(names: pa.StringArray, ranks: Int32s) -> pa.DictionaryArray:
    """Code names by those that occur, where these are few."""
    if len(names) <= len(ranks) // FEW:
        return pa.DictionaryArray.from_arrays(pa.array(ranks), names)
    used = used_of(len(names), ranks)
    place = np.empty(len(names), np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(place[ranks]), names.take(pa.array(used)))


def days_of(ts: Int64s, at: Int32s | None = None) -> Int32s | None:
    """Number the days of times, or of those at some places; None if all are of one. O(n)."""
    if not len(ts) or int(ts.min()) // DAY == int(ts.max()) // DAY:
        return None
    day = ts // DAY if at is None else (ts // DAY)[at]
    return (day - int(ts.min()) // DAY).astype(np.int32)


class CrossingColumns(NamedTuple):
    """Some crossings."""

    place: Int32s
    query: Int32s
    came: Int32s  # 1: it entered, 0: it left
    ts: Int64s
    prev_ts: Int64s
    is_first: Bools  # the stream has no tuple before
    delivery: Int32s


def crossing_columns(
    found: Events, path: Path, rows: Codes | slice, *, fast: bool | None = None
) -> CrossingColumns:
    """Look some of the crossings up. `fast` chooses the kernel or NumPy, None by their number."""
    if isinstance(rows, slice) or not (len(rows) >= COMPILE_FROM if fast is None else fast):
        place = found.place[rows]
        before, is_first = path.before(place)
        came = (found.type[rows] > 0).astype(np.int32)
        ts = path.ts
        return CrossingColumns(
            place, found.query[rows], came, ts[place], ts[before], is_first, path.delivery[place]
        )
    from fencepost import piece_kernels

    n = len(rows)
    place, query, came, delivery = (np.empty(n, np.int32) for _ in range(4))
    ts, prev_ts = np.empty(n, np.int64), np.empty(n, np.int64)
    out = CrossingColumns(place, query, came, ts, prev_ts, np.empty(n, np.bool_), delivery)
    piece_kernels.crossings(rows, found, path.ts, path.delivery, path.is_first, out)
    return out


def now_and_before(
    column: Doubles, places: Int32s, *, fast: bool | None = None
) -> tuple[Doubles, Doubles]:
    """Look the values of some places up, and those of the places before; of the first its own."""
    if not (len(places) >= COMPILE_FROM if fast is None else fast):
        return column[places], column[np.maximum(places - 1, 0)]
    from fencepost import piece_kernels

    now, before = np.empty(len(places)), np.empty(len(places))
    piece_kernels.values(places, column, now, before)
    return now, before
