"""The marks of an interval binary search tree, and the walk that counts them, compiled.

The tree over the sorted ends a..b has its root in the middle, and so on below: no pointers. Node t
has three lists, 3t + 0 for values below ends[t], 3t + 1 for ends[t] itself, 3t + 2 for those above.
"""

import numpy as np
from numba import njit

LESS, EQUAL, GREATER = 0, 1, 2
U = np.uint64


@njit(cache=True, nogil=True, error_model="numpy")
def place(ids, begin, end, first, last, at, marks):
    """Give each interval its marks; where `marks` is empty, only count them in `at`.

    An interval begins at the end of number begin[i] and ends at number end[i], which it does not
    include; first - 1 and last mean unbounded. The gap below the end t has the number t.
    """
    writing = len(marks) > 0
    stack = np.empty((64, 2), np.int64)
    for i in range(len(ids)):
        lo, hi = begin[i], end[i]
        stack[0, 0], stack[0, 1], deep = first, last, 1
        while deep:
            deep -= 1
            l, r = stack[deep, 0], stack[deep, 1]  # noqa: E741
            node = (l + r) >> 1
            for side in range(3):
                if side == EQUAL:
                    covered = lo <= node < hi
                else:
                    below, above = (l, node) if side == LESS else (node + 1, r)  # gaps, inclusive
                    covered = lo < below and above <= hi
                    if not covered and lo < above and below <= hi:
                        stack[deep, 0] = below
                        stack[deep, 1] = above  # a gap's number is that of the end above it
                        deep += 1
                if covered:
                    slot = 3 * node + side
                    if writing:
                        marks[at[slot]] = ids[i]
                    at[slot] += 1


# A counter falls from the number of predicates to none: the copy of `needed` costs a byte a query
# and point, against four of a mark. The result is written before it is known to be one.
@njit(cache=True, nogil=True, error_model="numpy")
def find(points, trees, ends, slots, marks, needed, always, ptr, room, first):
    """Walk every axis' tree, count for each query the axes that hold, report complete queries."""
    axes, count = points.shape
    many = len(needed)
    left = np.empty(many, np.uint8)
    used = U(ptr[first])
    for p in range(first, count):
        if used + U(many) > U(len(room)):
            return p
        left[:] = needed
        for q in always:
            room[used] = q
            used += U(1)
        for axis in range(axes):
            value = points[axis, p]
            l, r = trees[axis], trees[axis + 1]  # noqa: E741
            while l < r:
                node = (l + r) >> 1
                end = ends[node]
                side = LESS if value < end else (GREATER if value > end else EQUAL)
                slot = 3 * node + side
                for k in range(U(slots[slot]), U(slots[slot + 1])):
                    q = U(marks[k])
                    now = left[q] - np.uint8(1)
                    left[q] = now
                    room[used] = q
                    used += U(now == 0)
                if side == EQUAL:
                    break
                if side == LESS:
                    r = node
                else:
                    l = node + 1  # noqa: E741
        ptr[p + 1] = used
    return count
