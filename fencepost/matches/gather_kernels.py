"""Slices of what was found, gathered point by point."""

import numpy as np
from numba import njit

from fencepost.simd import LANES, U, copy
from fencepost.tuples import Int32s, Int64s


@njit(cache=True, nogil=True, error_model="numpy")
def gather(
    found: Int32s, whose: Int32s, sizes: Int32s, slices: int, ptr: Int64s, room: Int32s
):  # fmt: skip
    """Put the slices of each point behind each other from room[ptr[0]] on, and fill ptr[1:].

    `found` holds slice after slice, and sixteen places more; `whose` each is, and its size.
    """
    many = U(len(ptr) - 1)
    ends = np.zeros(many, np.int64)
    for s in range(U(slices)):
        ends[whose[s]] += sizes[s]
    for i in range(many):
        ptr[i + U(1)] = ptr[i] + ends[i]
        ends[i] = ptr[i]
    at = U(0)
    for s in range(U(slices)):
        point, size = U(whose[s]), U(sizes[s])
        to = U(ends[point])
        for done in range(U(0), size, U(LANES)):
            copy(found, at + done, room, to + done, min(size - done, U(LANES)))
        ends[point] += np.int64(size)
        at += size
