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

from fencepost.arrays import Int32s, Int64s
from fencepost.row_order import Ranked, SortKey, order_of, ranked, used_of
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
    order: Int32s
    days: Int64s  # where in the order each begins, and the end of all

    @classmethod
    def of(
        cls,
        pairs: PairColumns,
        ids: pa.StringArray,
        names: pa.StringArray,
        rows: Int32s | None = None,
    ) -> "Arranged":
        """Order rows that are in the order of time, or whose order of time is `rows`. O(n)."""
        queries, streams = ranked(ids, pairs.query), ranked(names, pairs.stream)
        keys = [
            queries.key(pairs.query),
            streams.key(pairs.stream),
        ]
        days = np.array([0, len(pairs.query)])
        if pairs.day is not None:
            many = int(pairs.day.max(initial=0)) + 1
            keys.insert(0, SortKey(pairs.day, np.arange(many, dtype=np.int32), many))
            days = np.append(0, np.cumsum(np.bincount(pairs.day, minlength=many)))
        return cls(pairs, queries, streams, order_of(keys, rows), days)

    def pieces(self, most: int) -> Iterator[tuple[Int32s, dict[str, pa.Array]]]:
        """Give the rows of each piece, at most so many, and their ids."""
        for begin, end in pairwise(self.days.tolist()):
            for first in range(begin, end, most):
                rows = self.order[first : min(first + most, end)]
                query = self.queries.rank[self.pairs.query[rows]]
                stream = self.streams.rank[self.pairs.stream[rows]]
                yield (
                    rows,
                    {
                        "query_id": _of_stretch(self.queries.names, query),
                        "stream_id": _of_those(self.streams.names, stream),
                    },
                )


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
