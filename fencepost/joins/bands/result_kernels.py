"""From keys, row << BITS | stream, to the columns of changes and of pairs. Compiled."""

import numpy as np
from numba import njit

from fencepost.joins.bands.kernels import BITS


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def write_changes(updates, keyed, columns):
    """Write the columns of all changes; streams and values have a row for each side."""
    side, ptr = updates.side, keyed.ptr
    for u in range(len(side)):
        own, other = np.int64(side[u]), 1 - np.int64(side[u])
        stream, value = updates.stream[u], updates.value[u]
        before = keyed.was[u] if own == 0 else 0.0 - keyed.was[u]
        for k in range(ptr[u], ptr[u + 1]):
            lost, key = k < keyed.split[u], keyed.keys[k]
            columns.update[k] = u
            columns.query[k] = key >> BITS
            columns.change[k] = -1 if lost else 1
            columns.streams[own, k], columns.streams[other, k] = stream, key & ((1 << BITS) - 1)
            columns.values[own, k] = before if lost else value
            columns.values[other, k] = keyed.others[k] if other == 0 else 0.0 - keyed.others[k]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def write_pairs(keyed, begin, streams, query, left, right):
    """Write the pairs of some streams of the left by rows: those of row q go from begin[q] on."""
    for u in range(len(streams)):
        for k in range(keyed.ptr[u], keyed.ptr[u + 1]):
            row = keyed.keys[k] >> BITS
            at = begin[row]
            query[at], left[at], right[at] = row, streams[u], keyed.keys[k] & ((1 << BITS) - 1)
            begin[row] += 1
