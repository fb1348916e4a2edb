"""The difference of two sets of matches, compiled."""

from numba import njit


@njit(cache=True, nogil=True)
def subtract(before, ptr, ids, now, after_ptr, after_ids, first, seen, place, query, kind, used):
    """Mark the queries of one set, look them up from the other: both differences in one pass.

    Step s is from set `before[s]` of one list to set `now[s]` of the other; a mark is the number of
    its step, so nothing is cleared. The rows written begin at `used`; stops before the first step
    that might not fit, and returns it with the next free row.
    """
    for s in range(first, len(before)):
        a, b = ptr[before[s]], ptr[before[s] + 1]
        c, d = after_ptr[now[s]], after_ptr[now[s] + 1]
        if used + (b - a) + (d - c) > len(place):
            return s, used
        mark = 2 * s + 1
        for k in range(a, b):
            seen[ids[k]] = mark
        for k in range(c, d):
            q = after_ids[k]
            if seen[q] == mark:
                seen[q] = mark + 1
            else:
                place[used], query[used], kind[used] = s, q, 1
                used += 1
        for k in range(a, b):
            if seen[ids[k]] == mark:
                place[used], query[used], kind[used] = s, ids[k], -1
                used += 1
    return len(before), used
