"""What the kernels of every method share: rows within a window, and a test between two tuples.

Indices are unsigned in hot loops: a signed one costs a test for Python's negative indices.
"""

import numpy as np
from numba import njit

from fencepost.simd import lowest

NEW_LESS, NEW_AT_MOST, EQUAL, OLD_LESS, OLD_AT_MOST = range(5)
"""What a test between the sides says: new < old, new <= old, both equal, old < new, old <= new."""

SPARSE = 16  # words of a bitmap for one number, from which on sorting is cheaper

U = np.uint64


@njit(cache=True, nogil=True, error_model="numpy")
def ascend(ptr, ids, bits):
    """Sort the numbers of each point; they are distinct, so a bitmap does where they are many."""
    words = len(bits)
    for i in range(U(len(ptr) - 1)):
        start, end = U(ptr[i]), U(ptr[i + U(1)])
        if end - start < U(2):
            continue
        if np.int64(end - start) * SPARSE < words:
            ids[start:end].sort()
            continue
        for k in range(start, end):
            number = U(ids[k])
            bits[number >> U(6)] |= U(1) << (number & U(63))
        at = start
        for word in range(U(words)):
            left = bits[word]
            while left != U(0):
                ids[at] = np.int32((word << U(6)) + lowest(left))
                at += U(1)
                left &= left - U(1)
            bits[word] = U(0)


@njit(inline="always")
def first_at_least(sorted_, value, low, high):
    """Find the first place in low..high whose entry is not below the value."""
    while low < high:
        middle = (low + high) >> U(1)
        if sorted_[middle] < value:
            low = middle + U(1)
        else:
            high = middle
    return low


@njit(inline="always")
def times(new, terms, i, t):
    """Give the earliest and the latest ts that an old tuple may have."""
    window = terms.window[t]
    return max(new.ts[i], new.mark[i]) - window, new.ts[i] + window


@njit(nogil=True, error_model="numpy", _nrt=False)
def rows(new, standing, terms, i, t):
    """Give the run of rows within which all old tuples are that terms t let pair with tuple i.

    Places and registration are exact; times are where ts never falls.
    """
    none = (U(0), U(0))
    ts = new.ts[i]
    if ts < terms.valid_from[t] or ts >= terms.valid_to[t]:
        return none
    n = U(len(standing.ts))
    accepted = new.accepted[i]
    first = first_at_least(standing.place, accepted - terms.last[t], U(standing.since[t]), n)
    last = n
    if n > U(0) and standing.place[n - U(1)] >= accepted:
        last = first_at_least(standing.place, accepted, first, n)
    earliest, latest = times(new, terms, i, t)
    first = first_at_least(standing.latest, earliest, first, last)
    last = first_at_least(standing.earliest, latest + 1, first, last)
    if first >= last:
        return none
    return first, last


@njit(inline="always")
def passes(code, given, value):
    """Test the new tuple's sum against the old one's."""
    if code == NEW_LESS:
        return given < value
    if code == NEW_AT_MOST:
        return given <= value
    if code == EQUAL:
        return given == value
    if code == OLD_LESS:
        return value < given
    return value <= given


@njit(inline="always")
def compares(op, one, other):
    """Test two sums by the place of the op in OPS: less, at most, equal."""
    if op == 0:
        return one < other
    if op == 1:
        return one <= other
    return one == other


@njit(inline="always")
def run_of(sorted_, plus, code, given, low, high):
    """Give the run of a sorted axis, within low..high, that passes a test with the new tuple's sum.

    Exact, by the test itself: v + plus never falls as v rises.
    """
    if code not in (OLD_LESS, OLD_AT_MOST):
        strict, begin, end = code == NEW_LESS, low, high
        while begin < end:
            middle = (begin + end) >> U(1)
            sum_ = sorted_[middle] + plus
            if sum_ < given or (strict and sum_ == given):
                begin = middle + U(1)
            else:
                end = middle
        low = begin
    if code not in (NEW_LESS, NEW_AT_MOST):
        strict, begin, end = code == OLD_LESS, low, high
        while begin < end:
            middle = (begin + end) >> U(1)
            sum_ = sorted_[middle] + plus
            if sum_ < given or (not strict and sum_ == given):
                begin = middle + U(1)
            else:
                end = middle
        high = begin
    return low, high
