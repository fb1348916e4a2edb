"""Every old tuple for every new one and conjunct: the twin of all other methods, in plain NumPy.

O(conjuncts x new x old). It is the readable version of the law, and needs nothing sorted.
"""

import numpy as np

from fencepost.joins.windows.inputs import WindowProbe
from fencepost.joins.windows.kernels import compares, passes
from fencepost.joins.windows.pairs import Pairs
from fencepost.tuples import Bools

_PASSES, _COMPARES = passes.py_func, compares.py_func


def compare_all(probe: WindowProbe) -> Pairs:
    """Compare all with all."""
    matched = probe.matched
    parts = [
        _of_one(probe, i, matched.ids[matched.ptr[i] : matched.ptr[i + 1]].tolist())
        for i in range(len(probe.new.ts))
    ]
    return Pairs.together(parts)


def _of_one(probe: WindowProbe, i: int, conjuncts: list[int]) -> Pairs:
    found = [(conjunct, _olds(probe, i, conjunct)) for conjunct in conjuncts]
    rows = [np.flatnonzero(olds) for _, olds in found]
    queries = [
        np.full(len(old), probe.conditions.query[conjunct])
        for old, (conjunct, _) in zip(rows, found, strict=True)
    ]
    if not rows:
        return Pairs.nothing()
    old = np.concatenate(rows)
    return Pairs.once_each(np.full(len(old), i, np.int64), old, np.concatenate(queries))


def _olds(probe: WindowProbe, i: int, conjunct: int) -> Bools:
    """Say of each old tuple whether it pairs with new tuple i by this conjunct."""
    new, standing, conditions, _ = probe
    terms, t = conditions.terms, conditions.term[conjunct]
    ts = new.ts[i]
    if not terms.valid_from[t] <= ts < terms.valid_to[t]:
        return np.zeros(len(standing.ts), np.bool_)
    count = new.accepted[i] - standing.place
    passed: Bools = (count >= 1) & (count <= terms.last[t])
    passed &= np.maximum(np.abs(ts - standing.ts), new.mark[i] - standing.ts) <= terms.window[t]
    passed[: standing.since[t]] = False
    bounds = conditions.bounds.reshape(len(conditions.query), -1, 2)
    for (lo, hi), v in zip(bounds[conjunct], standing.values, strict=True):
        passed &= (lo <= v) & (v < hi)
    with np.errstate(over="ignore"):
        return passed & _tests(probe, i, conjunct)


def _tests(probe: WindowProbe, i: int, conjunct: int) -> Bools:
    new, standing, conditions, _ = probe
    passed, tests = np.ones(len(standing.ts), np.bool_), conditions.tests
    first, last = conditions.between_ptr[conjunct : conjunct + 2]
    for t in conditions.between[first:last]:
        new_sum = new.values[tests.new_axis[t], i] + tests.new_plus[t]
        old_sum = standing.values[tests.old_axis[t]] + tests.old_plus[t]
        passed &= _PASSES(tests.code[t], new_sum, old_sum)
    for k in range(conditions.within_ptr[conjunct], conditions.within_ptr[conjunct + 1]):
        one, op, other = conditions.within[k]
        a, b = (
            standing.values[axis] + plus
            for axis, plus in zip((one, other), conditions.within_plus[k], strict=True)
        )
        passed &= _COMPARES(op, a, b)
    return passed
