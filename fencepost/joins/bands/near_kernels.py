"""Which groups may a move concern, and how far may a value go until one does? Compiled.

Bounds of groups are asked for among the cells first; what these leave open, among the entries.
"""

import numpy as np
from numba import njit

from fencepost.joins.bands.cell_kernels import SLACK, may_pass
from fencepost.joins.bands.leaf_kernels import first_where

INF = np.inf


@njit(nogil=True, error_model="numpy")
def passed(bounds, counts, origin, scale, side, v, w, some):
    """Put the groups of which an entry may pass one of these bounds between v <= w, O(τ).

    The least and the largest bound of each group are bounds[0] and bounds[1]. Gives how many.
    """
    many = 0
    for g in range(bounds.shape[1]):
        if bounds[0, g] <= bounds[1, g] and may_pass(
            counts, origin, scale, side, bounds[0, g], bounds[1, g], v, w
        ):
            some[many] = g
            many += 1
    return many


@njit(nogil=True, error_model="numpy")
def stretch(
    bounds, counts, origin, scale, side, values, fill, order, last, places, v, w, lo, hi
):  # fmt: skip
    """Cut lo and hi, about v <= w, to between where a value may move with no entry passing these.

    Strictly between: at an end it may stand on a bound.

    From above to below where an entry may between v and w. O(τ), and O(log m) for each group that
    is near one.
    """
    for g in range(bounds.shape[1]):
        least, largest = bounds[0, g], bounds[1, g]
        if least > largest or places == 0:
            continue
        if not may_pass(counts, origin, scale, side, least, largest, lo, hi):
            continue
        place, index = first_where(side, values, fill, order, last, places, w, least, 0.0, -INF)
        if place < places:
            t = values[order[side, place], index]
            if v + t <= largest:
                return INF, -INF
            lo = max(lo, (largest - t) + (abs(largest) + abs(t)) * SLACK)
        if index > 0 or place > 0:
            t = values[order[side, place], index - 1] if index > 0 else last[side, place - 1]
            hi = min(hi, (least - t) - (abs(least) + abs(t)) * SLACK)
    return (lo, hi) if lo < v and w < hi else (INF, -INF)
