"""The order of rows by one key, compiled: they are counted, then put where their count says."""

import numpy as np
from numba import njit

from fencepost.row_order import SortKey
from fencepost.tuples import Int32s


@njit(nogil=True, cache=True)
def by_key(codes: Int32s, rank: Int32s, ranks: int, rows: Int32s) -> Int32s:
    """Order some rows by `rank[codes[row]]`, in 0 to ranks - 1; equal ones stay as they come."""
    place = np.zeros(ranks + 1, np.int64)
    for row in rows:
        place[rank[codes[row]] + 1] += 1
    for key in range(ranks):
        place[key + 1] += place[key]
    order = np.empty(len(rows), np.int32)
    for row in rows:
        key = rank[codes[row]]
        order[place[key]] = row
        place[key] += 1
    return order


@njit(nogil=True, cache=True)
def are_in_order(first: SortKey, second: SortKey) -> bool:
    """Say whether rows are in the order of two keys as they come. O(n) if they are."""
    before, before_second = -1, -1
    for row in range(len(first.codes)):
        key, then = first.rank[first.codes[row]], second.rank[second.codes[row]]
        if key < before or (key == before and then < before_second):
            return False
        before, before_second = key, then
    return True
