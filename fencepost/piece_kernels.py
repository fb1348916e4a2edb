"""The columns of a piece, compiled: one look at each row, where NumPy looks once for each column.

The rows of a piece are scattered over those that were found, so each look is a miss of the cache;
in one loop they overlap.
"""

import numpy as np
from numba import njit

from fencepost.crossings.columns import Events
from fencepost.pieces import CrossingColumns
from fencepost.tuples import Bools, Doubles, Int32s, Int64s


@njit(nogil=True, cache=True)
def ranks_of(rows: Int32s, codes: Int32s, rank: Int32s, out: Int32s) -> None:
    """Rank some rows by their codes."""
    for at in range(len(rows)):
        out[at] = rank[codes[rows[at]]]


@njit(nogil=True, cache=True)
def crossings(
    rows: Int32s, found: Events, ts: Int64s, delivery: Int32s, first: Bools, out: CrossingColumns
) -> None:
    """Look some crossings up, and on the path the tuples that crossed and those before."""
    for at in range(len(rows)):
        row = rows[at]
        place = found.place[row]
        out.place[at] = place
        out.query[at] = found.query[row]
        out.came[at] = np.int32(found.type[row] > 0)
        out.ts[at] = ts[place]
        out.prev_ts[at] = ts[max(place - 1, 0)]
        out.is_first[at] = first[place]
        out.delivery[at] = delivery[place]


@njit(nogil=True, cache=True)
def values(places: Int32s, column: Doubles, now: Doubles, before: Doubles) -> None:
    """Look the values of some places up, and those of the places before."""
    for at in range(len(places)):
        place = places[at]
        now[at] = column[place]
        before[at] = column[max(place - 1, 0)]
