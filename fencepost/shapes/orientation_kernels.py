"""On which side of a line is a point? Exact for all doubles.

A filter decides nearly all: the determinant in doubles, where it is larger than its own error. Next
come expansions (Shewchuk 1997): products and differences without error, as sums of doubles.

Law: orientation(a, b, p) is the sign of the exact (ax - px)(by - py) - (ay - py)(bx - px): +1 where
p is to the left of the way from a to b, -1 to the right, 0 on the line.
"""

import numpy as np
from numba import njit

FILTER = (3.0 + 16.0 * 2.0**-53) * 2.0**-53
"""Of |left| + |right|: more than the determinant is wrong by."""

SMALLEST = 1e-290  # from here on, what underflow loses is less than the filter's slack
SPLIT = 134_217_729.0  # 2**27 + 1


@njit(cache=True, nogil=True, error_model="numpy")
def orientation(ax, ay, bx, by, px, py):
    """Say where p is: +1 left of the way from a to b, -1 right, 0 on the line."""
    left, right = (ax - px) * (by - py), (ay - py) * (bx - px)
    turn, size = left - right, abs(left) + abs(right)
    if abs(turn) > FILTER * size and size > SMALLEST:
        return 1 if turn > 0.0 else -1
    return _exact(ax, ay, bx, by, px, py)


@njit(cache=True, nogil=True, error_model="numpy")
def _exact(ax, ay, bx, by, px, py):
    """Compute the sign from the exact differences: sixteen products of two doubles each."""
    sums = np.empty(32)
    n = 0
    for sign, u, v, w, z in ((1.0, ax, px, by, py), (-1.0, ay, py, bx, px)):
        u_high, u_low = _difference(u, v)
        w_high, w_low = _difference(w, z)
        for one in (u_high, u_low):
            for other in (w_high, w_low):
                high, low = _product(one, sign * other)
                n = _added(sums, n, low)
                n = _added(sums, n, high)
    for k in range(n - 1, -1, -1):
        if sums[k] != 0.0:
            return 1 if sums[k] > 0.0 else -1
    return 0


@njit
def _difference(a, b):
    """Split a - b into the nearest double and what that lacks."""
    high = a - b
    back = a - high
    return high, (a - (high + back)) + (back - b)


@njit
def _product(a, b):
    """Split a · b into the nearest double and what that lacks."""
    high = a * b
    one, other = SPLIT * a, SPLIT * b
    a_high, b_high = one - (one - a), other - (other - b)
    a_low, b_low = a - a_high, b - b_high
    return high, a_low * b_low - (((high - a_high * b_high) - a_low * b_high) - a_high * b_low)


@njit
def _added(sums, n, value):
    """Add a double to an expansion of n parts, which ascend and do not overlap."""
    for k in range(n):
        high = value + sums[k]
        back = high - value
        sums[k] = (value - (high - back)) + (sums[k] - back)
        value = high
    sums[n] = value
    return n + 1
