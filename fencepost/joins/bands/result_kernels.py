"""From keys, row << BITS | stream, to the columns of changes and of pairs. Compiled."""

import numpy as np
from numba import njit

BITS = 32


@njit(cache=True, nogil=True, error_model="numpy")
def tell(side, stream, value, ptr, split, was, room, others, update, query, change, told, values):
    """Write the columns of all changes; `told` and `values` have a row for each side."""
    for u in range(len(side)):
        own, other = np.int64(side[u]), 1 - np.int64(side[u])
        before = was[u] if own == 0 else 0.0 - was[u]
        for k in range(ptr[u], ptr[u + 1]):
            lost = k < split[u]
            update[k] = u
            query[k] = room[k] >> BITS
            change[k] = -1 if lost else 1
            told[own, k], told[other, k] = stream[u], room[k] & ((1 << BITS) - 1)
            values[own, k] = before if lost else value[u]
            values[other, k] = others[k] if other == 0 else 0.0 - others[k]


@njit(cache=True, nogil=True, error_model="numpy")
def lay_out(ptr, room, begin, own, query, left, right):
    """Write the pairs of the streams `own` by rows: those of row q go from begin[q] on."""
    for u in range(len(own)):
        for k in range(ptr[u], ptr[u + 1]):
            row = room[k] >> BITS
            at = begin[row]
            query[at], left[at], right[at] = row, own[u], room[k] & ((1 << BITS) - 1)
            begin[row] += 1
