"""Every old tuple for every new one and conjunct: the twin of all other methods, in plain NumPy.

O(conjuncts x new x old). It is the readable version of the law, and needs nothing laid out.
"""

import numpy as np

from fencepost.joins.windows.conjuncts import Sought
from fencepost.joins.windows.inputs import Held, New, Standing
from fencepost.joins.windows.kernels import compares, passes
from fencepost.joins.windows.pairs import Pairs
from fencepost.tuples import Bools

_PASSES, _COMPARES = passes.py_func, compares.py_func


def probe(new: New, standing: Standing, sought: Sought, held: Held) -> Pairs:
    """Compare all with all."""
    parts = [
        _of_one(new, standing, sought, i, held.ids[held.ptr[i] : held.ptr[i + 1]].tolist())
        for i in range(len(new.ts))
    ]
    return Pairs.together(parts)


def _of_one(new: New, standing: Standing, sought: Sought, i: int, conjuncts: list[int]) -> Pairs:
    found = [(conjunct, _olds(new, standing, sought, i, conjunct)) for conjunct in conjuncts]
    rows = [np.flatnonzero(olds) for _, olds in found]
    queries = [
        np.full(len(old), sought.query[conjunct])
        for old, (conjunct, _) in zip(rows, found, strict=True)
    ]
    if not rows:
        return Pairs.nothing()
    old = np.concatenate(rows)
    return Pairs.once_each(np.full(len(old), i, np.int64), old, np.concatenate(queries))


def _olds(new: New, standing: Standing, sought: Sought, i: int, conjunct: int) -> Bools:
    """Say of each old tuple whether it pairs with new tuple i by this conjunct."""
    terms, t = sought.terms, sought.term[conjunct]
    ts, taken = new.ts[i], new.taken[i]
    if not terms.valid_from[t] <= ts < terms.valid_to[t]:
        return np.zeros(len(standing.ts), np.bool_)
    count = taken - standing.place
    held: Bools = (count >= 1) & (count <= terms.last[t])
    held &= np.maximum(np.abs(ts - standing.ts), new.mark[i] - standing.ts) <= terms.window[t]
    held[: standing.since[t]] = False
    bounds = sought.bounds.reshape(len(sought.query), -1, 2)
    for (lo, hi), v in zip(bounds[conjunct], standing.values, strict=True):
        held &= (lo <= v) & (v < hi)
    with np.errstate(over="ignore"):
        return held & _tests(new, standing, sought, i, conjunct)


def _tests(new: New, standing: Standing, sought: Sought, i: int, conjunct: int) -> Bools:
    held, tests = np.ones(len(standing.ts), np.bool_), sought.tests
    for t in sought.between[sought.between_ptr[conjunct] : sought.between_ptr[conjunct + 1]]:
        given = new.values[tests.new_axis[t], i] + tests.new_plus[t]
        held &= _PASSES(
            tests.code[t], given, standing.values[tests.old_axis[t]] + tests.old_plus[t]
        )
    for k in range(sought.within_ptr[conjunct], sought.within_ptr[conjunct + 1]):
        one, op, other = sought.within[k]
        a, b = (
            standing.values[axis] + plus
            for axis, plus in zip((one, other), sought.within_plus[k], strict=True)
        )
        held &= _COMPARES(op, a, b)
    return held
