"""In which cell a value lies, who is counted there, whether anybody may be between; compiled."""

import numpy as np
from numba import njit

MOST = 255
FEW = 48  # cells that are looked at; where there are more, somebody may be taken to be there
SLACK = 2.0**-50  # of what is added: more than two roundings


@njit(inline="always")
def cell_of(counts, origin, scale, side, t):
    """Give the cell of a value: never falls where values rise, so no entry is between two cells."""
    at = (t - origin[side]) * scale[side]
    if not at > 0.0:
        return 0
    many = counts.shape[1]
    return many - 1 if at >= many else np.int64(at)


@njit(inline="always")
def entered(counts, origin, scale, side, t):
    """Count an entry."""
    at = cell_of(counts, origin, scale, side, t)
    if counts[side, at] < MOST:
        counts[side, at] += np.uint8(1)


@njit(inline="always")
def went(counts, origin, scale, side, t):
    """Count an entry no more."""
    at = cell_of(counts, origin, scale, side, t)
    if counts[side, at] < MOST:
        counts[side, at] -= np.uint8(1)


@njit(inline="always")
def may_pass(counts, origin, scale, side, least, largest, v, w):
    """Say whether an entry t may be there with w + t >= least and v + t <= largest, for v <= w.

    True where it is not known: too many cells. Never False where one is, whatever is rounded.
    """
    first = cell_of(
        counts, origin, scale, side, (least - w) - (abs(least) + abs(w)) * SLACK
    )  # fmt: skip
    last = cell_of(
        counts, origin, scale, side, (largest - v) + (abs(largest) + abs(v)) * SLACK
    )  # fmt: skip
    if last - first > FEW:
        return True
    for at in range(first, last + 1):  # noqa: SIM110  a kernel has no any()
        if counts[side, at]:
            return True
    return False


@njit(cache=True, nogil=True, error_model="numpy")
def count(counts, origin, scale, side, values):
    """Count all entries of a side."""
    for t in values:
        entered(counts, origin, scale, side, t)
