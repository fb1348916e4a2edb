"""On which side of a line is a point? Exact for all finite doubles.

A filter decides nearly all: the determinant in doubles, where it is larger than its own error. Next
come expansions (Shewchuk 1997): differences and products without error, as sums of doubles. Where
these could overflow or underflow, whole numbers of 24-bit digits are left.

Law: orientation(a, b, p) is the sign of the exact (ax - px)(by - py) - (ay - py)(bx - px): +1 where
p is to the left of the way from a to b, -1 to the right, 0 on the line.
"""

import math

import numpy as np
from numba import njit

FILTER = (3.0 + 16.0 * 2.0**-53) * 2.0**-53
"""Of |left| + |right|: more than the determinant is wrong by."""

SMALLEST = 1e-290  # from here on, what underflow loses is less than the filter's slack
SPLIT = 134_217_729.0  # 2**27 + 1
TINY, HUGE = 2.0**-420, 2.0**480
"""Within these no part of a product over- or underflows: the least is a multiple of 2**-944."""

DIGIT = 24  # bits: a sum of 180 products of two digits is an int64
DIGITS = 88  # from 2**-1074 up to the largest double


@njit
def _is_plain(value):
    return value == 0.0 or TINY <= abs(value) <= HUGE


@njit
def _by_expansions(ax, ay, bx, by, px, py):
    """Add up the sixteen parts of the two products of differences."""
    sums = np.empty(16)
    n = 0
    for k in range(2):
        u_high, u_low = _difference(ax, px) if k == 0 else _difference(py, ay)
        w_high, w_low = _difference(by, py) if k == 0 else _difference(bx, px)
        for i in range(2):
            for j in range(2):
                high, low = _product(u_low if i == 0 else u_high, w_low if j == 0 else w_high)
                n = _added(sums, _added(sums, n, low), high)
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


@njit
def _by_digits(ax, ay, bx, by, px, py):
    """Multiply the differences as whole multiples of 2**-1074, with signed digits."""
    total = np.zeros(2 * DIGITS, np.int64)
    u, w = np.empty(DIGITS, np.int64), np.empty(DIGITS, np.int64)
    for k in range(2):
        u[:], w[:] = 0, 0
        _put(u, ax if k == 0 else py, 1)
        _put(u, px if k == 0 else ay, -1)
        _put(w, by if k == 0 else bx, 1)
        _put(w, py if k == 0 else px, -1)
        for i in range(DIGITS):
            if u[i] != 0:
                for j in range(DIGITS):
                    total[i + j] += u[i] * w[j]
    carry, rest = 0, False
    for k in range(2 * DIGITS):
        value = total[k] + carry
        carry = value >> DIGIT
        rest |= value != carry << DIGIT
    if carry < 0:
        return -1
    return 1 if carry > 0 or rest else 0


@njit
def _put(digits, value, sign):
    """Add a double, or take it away, digit by digit."""
    if value < 0.0:
        value, sign = -value, -sign
    part, power = math.frexp(value)
    whole, at = np.int64(math.ldexp(part, 53)), power - 53 + 1074
    if at < 0:
        whole, at = whole >> -at, 0
    place, room = at // DIGIT, DIGIT - at % DIGIT
    digits[place] += sign * ((whole & ((1 << room) - 1)) << (DIGIT - room))
    whole >>= room
    while whole:
        place += 1
        digits[place] += sign * (whole & ((1 << DIGIT) - 1))
        whole >>= DIGIT


# Its types are given, so that it is compiled by itself: its callers make no arrays, and this does.
@njit("int64(float64, float64, float64, float64, float64, float64)", cache=True, nogil=True)
def _exactly(ax, ay, bx, by, px, py):
    """Decide what the filter does not."""
    plain = _is_plain(ax) and _is_plain(ay) and _is_plain(bx) and _is_plain(by)
    if plain and _is_plain(px) and _is_plain(py):
        return _by_expansions(ax, ay, bx, by, px, py)
    return _by_digits(ax, ay, bx, by, px, py)


@njit(nogil=True, error_model="numpy", _nrt=False)  # not kept: only kernels call it
def orientation(ax, ay, bx, by, px, py):
    """Say where p is: +1 left of the way from a to b, -1 right, 0 on the line."""
    left, right = (ax - px) * (by - py), (ay - py) * (bx - px)
    turn, size = left - right, abs(left) + abs(right)
    if abs(turn) > FILTER * size and size > SMALLEST:
        return 1 if turn > 0.0 else -1
    return _exactly(ax, ay, bx, by, px, py)
