"""Orders of many rows by keys of few values: of queries and streams by their names.

Law: an order is stable, and depends on the keys alone. Rows are counted, not compared, so millions
take a few nanoseconds each; the fewer are compared (`np.lexsort`), which gives the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Codes, Int32s, Int64s
from fencepost.arrow import dictionary_of

COMPILE_FROM = 20_000
"""Rows from which the compiled kernel is worth loading."""

FEW = 4
"""Rows a name from which on all names are worth ranking, not only those that occur."""

SPARSE = 8
"""Of so many names one may occur, and rows are worth looking at rather than names."""


class SortKey(NamedTuple):
    """A key of each row: `rank[codes[row]]`, in 0 to `ranks` - 1."""

    codes: Int32s
    rank: Int32s
    ranks: int


def order_of(
    keys: Sequence[SortKey], rows: Int32s | None = None, *, fast: bool | None = None
) -> Int32s:
    """Order rows by these keys, the first one first. O(rows + ranks), 12 bytes a row.

    Equal ones stay in the order of `rows`, if it is given. `fast` chooses the compiled kernel or
    its NumPy twin, None by the number of rows.
    """
    order = np.arange(len(keys[0].codes), dtype=np.int32) if rows is None else rows
    counted = len(order) >= max(COMPILE_FROM, *(key.ranks for key in keys))
    if not (counted if fast is None else fast):
        return order[np.lexsort([key.rank[key.codes[order]] for key in reversed(keys)])]
    from fencepost.row_order_kernels import by_key

    for key in reversed(keys):
        if key.ranks > 1:
            order = by_key(key.codes, key.rank, key.ranks, order)
    return order


def ordered(table: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Sort by these columns, the first one first: O(n), and k log k for k distinct values."""
    if not len(table):
        return table
    return table.take(pa.array(order_of([_sort_key(table.column(key)) for key in keys])))


def _sort_key(column: pa.ChunkedArray) -> SortKey:
    """Rank the values that a column has."""
    coded = dictionary_of(column)
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    return ranked(coded.dictionary, codes).key(codes)


def are_in_order(first: SortKey, second: SortKey) -> bool:
    """Say whether many rows are in the order of two keys as they come; few are soon ordered."""
    if len(first.codes) < COMPILE_FROM:
        return False
    from fencepost import row_order_kernels

    return bool(row_order_kernels.are_in_order(first, second))


def in_order_of(values: Int32s | Int64s) -> Int32s | None:
    """Order rows by their values, None if they are in that order. O(n log n), O(n) if they are."""
    if (values[1:] >= values[:-1]).all():
        return None
    return np.argsort(values, kind="stable").astype(np.int32)


class Ranked(NamedTuple):
    """The names that occur, in their order, and the rank of each code; others have none."""

    names: pa.StringArray
    rank: Int32s

    def key(self, codes: Int32s) -> SortKey:
        """Give the key of rows with these codes."""
        return SortKey(codes, self.rank, len(self.names))


@dataclass(frozen=True, eq=False)
class NameRanks:
    """Names, and their ranks: all are ranked once, where several parts have rows of most."""

    names: pa.StringArray

    def of(self, codes: Codes) -> Ranked:
        """Rank the names that occur among some codes; all, where there are rows for each."""
        return self._all if len(codes) >= FEW * len(self.names) else ranked(self.names, codes)

    @cached_property
    def _all(self) -> Ranked:
        return ranked(self.names, np.arange(len(self.names), dtype=np.int32))


class PairNames(NamedTuple):
    """The names of queries, and those of streams."""

    queries: NameRanks
    streams: pa.StringArray

    def ranked(self, query: Codes, stream: Codes) -> tuple[Ranked, Ranked]:
        """Rank those of some pairs: of streams those that occur, which differ from part to part."""
        return self.queries.of(query), ranked(self.streams, stream)


def ranked(names: pa.StringArray, codes: Codes) -> Ranked:
    """Rank the names that occur among some codes: O(rows + k log k) for k of them, O(names)."""
    used = used_of(len(names), codes)
    own = names if len(used) == len(names) else names.take(pa.array(used))
    rank = np.empty(len(names), np.int32)
    if len(own) < 2 or pc.all(pc.less_equal(own[:-1], own[1:])).as_py():
        rank[used] = np.arange(len(used), dtype=np.int32)
        return Ranked(own, rank)
    order = pc.array_sort_indices(own).to_numpy()
    rank[used[order]] = np.arange(len(used), dtype=np.int32)
    return Ranked(own.take(pa.array(order)), rank)


def used_of(count: int, codes: Codes) -> Int64s:
    """List the codes that occur, ascending, of 0 to count - 1. O(rows), and O(count) for many."""
    if len(codes) < count // SPARSE:
        return np.unique(codes).astype(np.int64)
    occurs = np.zeros(count, np.bool_)
    occurs[codes] = True
    return np.flatnonzero(occurs)
