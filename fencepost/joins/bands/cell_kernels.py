"""In which cell a value lies, who is counted there, whether anybody may be between; compiled.

Bounds of groups are looked up among the cells first; what these leave open, among the entries.
"""

import numpy as np
from numba import njit

from fencepost.joins.bands.leaf_kernels import first_where

INF = np.inf
MOST = 255
FEW = 48  # cells that are looked at; where there are more, somebody may be taken to be there
SLACK = 2.0**-50  # of what is added: more than two roundings


@njit(inline="always")
def cell_of(cells, side, t):
    """Give the cell of a value: never falls where values rise, so no entry is between two cells."""
    at = (t - cells.origin[side]) * cells.scale[side]
    if not at > 0.0:
        return 0
    many = cells.counts.shape[1]
    return many - 1 if at >= many else np.int64(at)


@njit(inline="always")
def enter(cells, side, t):
    """Count an entry."""
    at = cell_of(cells, side, t)
    if cells.counts[side, at] < MOST:
        cells.counts[side, at] += np.uint8(1)


@njit(inline="always")
def leave(cells, side, t):
    """Count an entry no more."""
    at = cell_of(cells, side, t)
    if cells.counts[side, at] < MOST:
        cells.counts[side, at] -= np.uint8(1)


@njit(inline="always")
def may_pass(cells, side, least, largest, v, w):
    """Say whether an entry t may be there with w + t >= least and v + t <= largest, for v <= w.

    True where it is not known: too many cells. Never False where one is, whatever is rounded.
    """
    first = cell_of(cells, side, (least - w) - (abs(least) + abs(w)) * SLACK)
    last = cell_of(cells, side, (largest - v) + (abs(largest) + abs(v)) * SLACK)
    if last - first > FEW:
        return True
    for at in range(first, last + 1):  # noqa: SIM110  a kernel has no any()
        if cells.counts[side, at]:
            return True
    return False


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def count(cells, side, values):
    """Count all entries of a side."""
    for t in values:
        enter(cells, side, t)


@njit(nogil=True, error_model="numpy", _nrt=False)
def passed(bounds, cells, side, v, w, some):
    """Put the groups of which an entry may pass one of these bounds between v <= w, O(τ).

    The least and the largest bound of each group are bounds[0] and bounds[1]. Gives how many.
    """
    many = 0
    for g in range(bounds.shape[1]):
        if bounds[0, g] <= bounds[1, g] and may_pass(cells, side, bounds[0, g], bounds[1, g], v, w):
            some[many] = g
            many += 1
    return many


@njit(nogil=True, error_model="numpy", _nrt=False)
def stretch(bounds, points, side, v, w, lo, hi):
    """Cut lo and hi, about v <= w, to between where a value may move with no entry passing these.

    Strictly between: at an end it may be on a bound.

    From above to below where an entry may between v and w. O(τ), and O(log m) for each group that
    is near one.
    """
    leaves, cells = points.leaves, points.cells
    places = leaves.tally[side]
    for g in range(bounds.shape[1]):
        least, largest = bounds[0, g], bounds[1, g]
        if least > largest or places == 0:
            continue
        if not may_pass(cells, side, least, largest, lo, hi):
            continue
        place, index = first_where(leaves, side, w, least, 0.0, -INF)
        if place < places:
            t = leaves.values[leaves.order[side, place], index]
            if v + t <= largest:
                return INF, -INF
            lo = max(lo, (largest - t) + (abs(largest) + abs(t)) * SLACK)
        if index > 0 or place > 0:
            t = (
                leaves.values[leaves.order[side, place], index - 1]
                if index > 0
                else leaves.last[side, place - 1]
            )
            hi = min(hi, (least - t) - (abs(least) + abs(t)) * SLACK)
    return (lo, hi) if lo < v and w < hi else (INF, -INF)
