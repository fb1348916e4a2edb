"""Queries that come and go in parts that never change: each has a slot, and perhaps a row.

A part is built of some queries and numbers them on from the part before: these are their slots. A
query's row is its place in the set as it is now; `row_of` gives it by slot, None as long as slots
are rows.

Law: every query of the set has exactly one slot, and the slots of others say REMOVED.
"""

from collections.abc import Iterable

import numpy as np

from fencepost.arrays import Bools, Int32s
from fencepost.errors import BrokenIndex
from fencepost.queries.query_set import QuerySet

REMOVED = -1


def rows_with_added(row_of: Int32s | None, before: int, after: int) -> Int32s | None:
    """Return the rows after queries are added: theirs are `before` to `after` - 1. O(slots)."""
    if row_of is None:
        return None
    return np.concatenate([row_of, np.arange(before, after, dtype=np.int32)])


def rows_with_removed(row_of: Int32s | None, kept: Bools) -> Int32s:
    """Return the rows when only some of the set's queries are kept. O(slots)."""
    renumbered = np.where(kept, np.cumsum(kept) - 1, REMOVED).astype(np.int32)
    if row_of is None:
        return renumbered
    return np.where(row_of == REMOVED, np.int32(REMOVED), renumbered[row_of])


def without(queries: QuerySet, ids: Iterable[str]) -> tuple[QuerySet, Bools]:
    """Remove queries from a set; with it goes which of its rows are kept."""
    gone = list(ids)
    kept = np.ones(len(queries), np.bool_)
    if not gone:
        return queries, kept
    kept[queries.rows_of(gone)] = False
    return queries.with_removed(gone), kept


def check_slots(
    parts: Iterable[tuple[int, int]], row_of: Int32s | None, queries: int, what: str
) -> None:
    """Raise BrokenIndex unless the law holds; `parts` are (first slot, queries), one a part."""
    slots = 0
    for number, (begin, size) in enumerate(parts):
        if begin != slots:
            raise BrokenIndex(f"{what} {number} begins at slot {begin}, expected {slots}")
        slots += size
    known = np.arange(slots) if row_of is None else row_of
    rows = np.sort(known[known != REMOVED])
    if len(known) != slots or not np.array_equal(rows, np.arange(queries)):
        raise BrokenIndex(f"{slots} slots and {queries} queries: not every query has one slot")
