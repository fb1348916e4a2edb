"""The pairs of IBS-JS, compiled: join conditions first, then the queries selected on both sides."""

import numpy as np
from numba import njit

LESS, AT_MOST, EQUAL, GREATER, AT_LEAST = range(5)
U = np.uint64


@njit(cache=True, nogil=True, error_model="numpy")
def arrange(found_ptr, found_ids, condition, ptr, ids):
    """Sort the queries of each tuple by their join condition: a sort by counting."""
    conditions = ptr.shape[1] - 1
    counts = np.empty(conditions + 1, np.int64)
    for i in range(len(ptr)):
        counts[:] = 0
        for k in range(found_ptr[i], found_ptr[i + 1]):
            counts[condition[found_ids[k]] + 1] += 1
        at = found_ptr[i]
        for c in range(conditions + 1):
            at += counts[c]
            ptr[i, c] = at
            counts[c] = at
        for k in range(found_ptr[i], found_ptr[i + 1]):
            q = found_ids[k]
            c = condition[q]
            ids[counts[c]] = q
            counts[c] += 1


@njit(inline="always")
def _holds(op, left, right):
    if op == LESS:
        return left < right
    if op == AT_MOST:
        return left <= right
    if op == EQUAL:
        return left == right
    if op == GREATER:
        return left > right
    return left >= right


# A pair is written before it is known to be one, and written over where it is none: no branch that
# the data would make a coin's toss.
@njit(cache=True, nogil=True, error_model="numpy")
def find(from_left, new, window, plan, flags, new_of, old_of, query_of, state):
    """Write the pairs of new tuples, from state[0] and old tuple state[1] on.

    Returns 0 when all are done; else how much room the next old tuple may need.
    """
    from_old, used = U(state[1]), U(state[2])
    for i in range(U(state[0]), U(new.values.shape[1])):
        first, last = U(new.ptr[i, 0]), U(new.ptr[i, len(plan)])
        for k in range(first, last):
            flags[new.ids[k]] = 1
        for old in range(from_old, U(window.values.shape[1])):
            most = U(window.ptr[old, len(plan)] - window.ptr[old, 0])
            if used + most >= U(len(query_of)):
                state[0], state[1], state[2] = i, old, used
                for k in range(first, last):
                    flags[new.ids[k]] = 0
                return np.int64(most + U(1))
            for c in range(U(len(plan))):
                mine, theirs = new.values[:, i], window.values[:, old]
                left, right = (mine, theirs) if from_left else (theirs, mine)
                if not _holds(plan[c, 1], left[plan[c, 0]], right[plan[c, 2]]):
                    continue
                for k in range(U(window.ptr[old, c]), U(window.ptr[old, c + U(1)])):
                    q = window.ids[k]
                    new_of[used] = np.int64(i)
                    old_of[used] = np.int64(old)
                    query_of[used] = q
                    used += U(flags[U(q)])
        for k in range(first, last):
            flags[new.ids[k]] = 0
        from_old = U(0)
    state[0], state[2] = new.values.shape[1], used
    return np.int64(0)
