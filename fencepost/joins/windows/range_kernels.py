"""Ranges, compiled: the narrowest range of a conjunct, and the entries in it."""

import numpy as np
from numba import njit

from fencepost.joins.windows.kernels import (
    U,
    compares,
    first_at_least,
    passes,
    rows,
    run_of,
    times,
)

FEW = U(32)  # rows that are tested before an axis is searched for fewer


@njit(inline="always")
def _holds(new, standing, conditions, i, j, old):
    """Test everything but places and registration, which the run of rows has settled."""
    values, axes = standing.values, U(len(standing.values))
    for axis in range(axes):
        v = values[axis, old]
        if not (
            conditions.bounds[(j * axes + axis) * U(2)]
            <= v
            < conditions.bounds[(j * axes + axis) * U(2) + U(1)]
        ):
            return False
    tests = conditions.tests
    for k in range(U(conditions.between_ptr[j]), U(conditions.between_ptr[j + U(1)])):
        t = U(conditions.between[k])
        given = new.values[U(tests.new_axis[t]), i] + tests.new_plus[t]
        value = values[U(tests.old_axis[t]), old] + tests.old_plus[t]
        if not passes(tests.code[t], given, value):
            return False
    for k in range(U(conditions.within_ptr[j]), U(conditions.within_ptr[j + U(1)])):
        one = values[U(conditions.within[k, 0]), old] + conditions.within_plus[k, 0]
        other = values[U(conditions.within[k, 2]), old] + conditions.within_plus[k, 1]
        if not compares(conditions.within[k, 1], one, other):
            return False
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def find(probe, along, order, old, query, ends, state):
    """Write the pairs of all new tuples behind each other, in no order among those of one.

    Returns 0 when all are done; else how much room the next conjunct may need at most, and `state`
    is where to go on.
    """
    new, standing, conditions, matched = probe
    axes, n = U(len(along)), U(len(standing.ts))
    row, searched = U(0), along.shape[1] > 0
    at, used = U(state[1]), U(state[2])
    tests = conditions.tests
    lows, highs = np.empty(axes, np.uint64), np.empty(axes, np.uint64)
    for i in range(U(state[0]), U(len(new.ts))):
        for h in range(max(U(matched.ptr[i]), at), U(matched.ptr[i + U(1)])):
            j = U(matched.ids[h])
            term = U(conditions.term[j])
            first, last = rows(new, standing, conditions.terms, i, term)
            fewest, best = last - first, U(axes)
            if fewest > FEW and searched:
                for axis in range(axes):
                    lo, hi = (
                        conditions.bounds[(j * axes + axis) * U(2)],
                        conditions.bounds[(j * axes + axis) * U(2) + U(1)],
                    )
                    low, high = U(0), n
                    if lo > -np.inf:
                        low = first_at_least(along[axis], lo, low, high)
                    if hi < np.inf:
                        high = first_at_least(along[axis], hi, low, high)
                    lows[axis], highs[axis] = low, high
                for k in range(U(conditions.between_ptr[j]), U(conditions.between_ptr[j + U(1)])):
                    t = U(conditions.between[k])
                    own = U(tests.old_axis[t])
                    given = new.values[U(tests.new_axis[t]), i] + tests.new_plus[t]
                    lows[own], highs[own] = run_of(
                        along[own], tests.old_plus[t], tests.code[t], given, lows[own], highs[own]
                    )
                for axis in range(axes):
                    if highs[axis] - lows[axis] < fewest:
                        fewest, best = highs[axis] - lows[axis], U(axis)
            if used + fewest > U(len(old)):
                state[0], state[1], state[2] = i, h, used
                return np.int64(fewest)
            earliest, latest = times(new, conditions.terms, i, term)
            for k in range(fewest):
                if best == axes:
                    row = first + k
                else:
                    row = U(order[best, lows[best] + k])
                    if row < first or row >= last:
                        continue
                if earliest <= standing.ts[row] <= latest and _holds(
                    new, standing, conditions, i, j, row
                ):
                    old[used] = np.int32(row)
                    query[used] = conditions.query[j]
                    used += U(1)
        ends[i + U(1)] = used
    state[0], state[2] = len(new.ts), used
    return np.int64(0)


@njit(cache=True, nogil=True, error_model="numpy")
def expect(probe, along, every, sums):
    """Add up, over some of the conjuncts matched, how large the narrowest range of each is.

    Of every `every` of them one. `along` has a few tuples of the window, sorted along each axis.
    `sums` becomes: how many conjuncts, rows in their windows, entries of the narrowest ranges.
    """
    new, standing, conditions, matched = probe
    axes, n = U(len(along)), float(len(standing.ts))
    some = U(along.shape[1])
    tests = conditions.tests
    i = U(0)
    for h in range(U(0), U(len(matched.ids)), U(every)):
        while U(matched.ptr[i + U(1)]) <= h:
            i += U(1)
        j = U(matched.ids[h])
        first, last = rows(new, standing, conditions.terms, i, U(conditions.term[j]))
        fewest = float(last - first)
        sums[0] += 1.0
        sums[1] += fewest
        for axis in range(axes):
            lo, hi = (
                conditions.bounds[(j * axes + axis) * U(2)],
                conditions.bounds[(j * axes + axis) * U(2) + U(1)],
            )
            low = first_at_least(along[axis], lo, U(0), some)
            high = first_at_least(along[axis], hi, low, some)
            for k in range(U(conditions.between_ptr[j]), U(conditions.between_ptr[j + U(1)])):
                t = U(conditions.between[k])
                if U(tests.old_axis[t]) == axis:
                    given = new.values[U(tests.new_axis[t]), i] + tests.new_plus[t]
                    low, high = run_of(
                        along[axis], tests.old_plus[t], tests.code[t], given, low, high
                    )
            fewest = min(fewest, (float(high - low) + 0.5) * n / float(some))
        sums[2] += fewest
