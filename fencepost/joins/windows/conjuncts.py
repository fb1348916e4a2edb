"""The conjuncts of a set of window joins, as a new tuple of one side sees them.

To a new tuple a conjunct is a box over its own axes and a box over the other side's, tests between
the two, tests within either, and what it asks of the pair's times and places: its *terms*, which
many conjuncts share, as they share tests.

Law: a pair satisfies a conjunct iff both boxes hold, all tests hold, and so do its terms. For one
value of the new tuple a test between the sides holds for a range of the old one's values: v + plus
never falls as v rises, rounded or not.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fencepost.joins.windows.kernels import EQUAL, OLD_LESS
from fencepost.matches import Boxes
from fencepost.matches.exact import OPS
from fencepost.queries.joins import WindowJoins
from fencepost.ragged import members, ptr_of
from fencepost.tuples import Bools, Doubles, Int32s, Int64s

FACTS, TERM, FIRST, LAST, REFINED = 8, 1, 2, 3, 4
"""How many facts there are, and which is which; the query is the first."""

LONGEST = 1 << 60  # µs, or tuples: beyond all that can be, and far from where int64 ends


class Terms(NamedTuple):
    """What conjuncts ask of times and places; each distinct combination once.

    The last `wide` are nobody's: of the windows of time, and of those of tuples, they let through
    whatever any of their kind does.
    """

    wide: int
    window: Int64s
    last: Int64s
    registered: Int64s
    valid_from: Int64s
    valid_to: Int64s


class Tests(NamedTuple):
    """Distinct tests between a new and an old tuple."""

    new_axis: Int32s
    code: Int32s
    old_axis: Int32s
    new_plus: Doubles
    old_plus: Doubles


class Conditions(NamedTuple):
    """What c conjuncts ask of an old tuple, once the new one satisfies what they ask of it alone.

    bounds[c, axis, 0 or 1] of the other side's axes, flat. Conjunct j has the tests between the
    sides between[between_ptr[j]:between_ptr[j + 1]], numbers in `tests`, and those of the old one
    alone within[within_ptr[j]:…]: (axis, place of the op in OPS, axis), and what is added to each.

    facts[c, FACTS], flat, is what the columns beside it say of a conjunct, in one line.
    """

    query: Int32s
    term: Int32s
    facts: Int32s
    bounds: Doubles
    between_ptr: Int64s
    between: Int32s
    tests: Tests
    within_ptr: Int64s
    within: Int32s
    within_plus: Doubles
    terms: Terms


@dataclass(frozen=True, eq=False)
class ArithmeticTests:
    """Boxes with tests of sums, an `Exact` of `matches`: all tests of a box must hold.

    Those of box b are ptr[b]:ptr[b + 1]: (axis, place of the op in OPS, other axis), and what is
    added to either before they are compared.
    """

    ptr: Int64s
    tests: Int32s  # [test, 3]
    plus: Doubles  # [test, 2]

    @property
    def asks(self) -> Bools:
        """Of each box, whether it has tests."""
        has: Bools = np.diff(self.ptr) > 0
        return has

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.ptr.nbytes + self.tests.nbytes + self.plus.nbytes

    def holds(self, points: Doubles, point: Int64s, box: Int32s) -> Bools:
        """Add, then compare; O(tests of each pair)."""
        passed = np.ones(len(box), np.bool_)
        at, end = self.ptr[box], self.ptr[box.astype(np.int64) + 1]
        left = np.flatnonzero(at < end)
        with np.errstate(over="ignore"):  # a sum may pass the largest double: it is infinite then
            while len(left):
                one, code, other = self.tests[at[left]].T
                a = points[one, point[left]] + self.plus[at[left], 0]
                b = points[other, point[left]] + self.plus[at[left], 1]
                passed[left] = np.choose(code, [op(a, b) for op in OPS])
                at[left] += 1
                left = left[passed[left] & (at[left] < end[left])]
        return passed

    def take(self, boxes: Int64s) -> "ArithmeticTests":
        """Those of some boxes, in this order, perhaps several times each."""
        ptr, rows = members(self.ptr, boxes)
        return ArithmeticTests(ptr, self.tests[rows], self.plus[rows])

    def some(self, kept: Bools) -> "ArithmeticTests":
        """The same boxes with some of the tests."""
        before = ptr_of(kept)
        return ArithmeticTests(before[self.ptr], self.tests[kept], self.plus[kept])


@dataclass(frozen=True, eq=False)
class Conjuncts:
    """All conjuncts, seen from one side: O(c d) to build, 40 + 16 d bytes a conjunct."""

    own: Boxes
    own_tests: ArithmeticTests
    conditions: Conditions

    @classmethod
    def seen_from(cls, side: int, queries: WindowJoins) -> "Conjuncts":
        """Take the conjuncts as a new tuple of the left side (0) or of the right one (1) does."""
        lefts = len(queries.axes[0])
        axes = (slice(0, lefts), slice(lefts, None))
        mine, other = axes[side], axes[1 - side]
        own = Boxes.of(queries.lo[mine], queries.hi[mine])
        tests = ArithmeticTests(queries.test_ptr, queries.tests, queries.plus)
        on_right = queries.tests[:, [0, 2]] >= lefts
        is_own = on_right == bool(side)
        local = queries.tests - np.array([lefts, 0, lefts], np.int32) * np.insert(
            on_right, 1, values=False, axis=1
        ).astype(np.int32)
        moved = ArithmeticTests(tests.ptr, local, tests.plus)
        alone = moved.some(is_own.all(axis=1))
        within = moved.some(~is_own.any(axis=1))
        across = is_own.any(axis=1) & ~is_own.all(axis=1)
        counts = np.diff(queries.ptr)
        owner = np.repeat(np.arange(len(queries), dtype=np.int32), counts)
        term, terms = _terms(queries)
        bounds = np.stack([queries.lo[other].T, queries.hi[other].T], axis=2)
        crossed = moved.some(across)
        between, distinct = _between(crossed, is_own[across, 0])
        facts = np.zeros((len(owner), FACTS), np.int32)
        facts[:, 0], facts[:, TERM] = owner, term[owner]
        facts[:, FIRST], facts[:, LAST] = crossed.ptr[:-1], crossed.ptr[1:]
        facts[:, REFINED] = np.diff(within.ptr) > 0
        return cls(
            own,
            alone,
            Conditions(
                query=owner,
                term=term[owner],
                facts=facts.reshape(-1),
                bounds=bounds.reshape(-1),
                between_ptr=crossed.ptr,
                between=between,
                tests=distinct,
                within_ptr=within.ptr,
                within=within.tests,
                within_plus=within.plus,
                terms=terms,
            ),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the columns, the boxes of its own side not counted: their index has them."""
        given = (*self.conditions, *self.conditions.tests, *self.conditions.terms)
        columns = [column for column in given if isinstance(column, np.ndarray)]
        return self.own_tests.nbytes + sum(column.nbytes for column in columns)


def _between(tests: ArithmeticTests, new_first: Bools) -> tuple[Int32s, Tests]:
    """Turn tests so that the new tuple comes first, and number the distinct ones."""
    code = tests.tests[:, 1].astype(np.int32)
    code[~new_first & (code < EQUAL)] += OLD_LESS
    axes = np.where(new_first[:, None], tests.tests[:, [0, 2]], tests.tests[:, [2, 0]])
    plus = np.where(new_first[:, None], tests.plus, tests.plus[:, ::-1])
    rows = np.column_stack([axes[:, 0], code, axes[:, 1], plus]).astype(np.float64)
    distinct, number = np.unique(rows.reshape(-1, 5), axis=0, return_inverse=True)
    new_axis, codes, old_axis = (np.array(distinct[:, k], np.int32) for k in range(3))
    new_plus, old_plus = (np.array(distinct[:, k]) for k in (3, 4))
    distinct_tests = Tests(new_axis, codes, old_axis, new_plus, old_plus)
    return number.reshape(-1).astype(np.int32), distinct_tests


def _terms(queries: WindowJoins) -> tuple[Int32s, Terms]:
    """Number the distinct terms."""
    columns = [
        np.minimum(queries.window, LONGEST),
        np.minimum(queries.last, LONGEST),
        queries.registered,
        queries.valid_from,
        queries.valid_to,
    ]
    distinct, number = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    distinct = distinct.reshape(-1, 5)
    timed = distinct[:, 0] < LONGEST
    wide = [_widest(distinct[kind]) for kind in (timed, ~timed) if kind.any()]
    every = np.ascontiguousarray(np.concatenate([distinct, *wide]).T)
    return number.reshape(-1).astype(np.int32), Terms(len(wide), *every)


def _widest(terms: Int64s) -> Int64s:
    """Let through what any of them does."""
    most, least = terms.max(axis=0), terms.min(axis=0)
    return np.array([[most[0], most[1], least[2], least[3], most[4]]])
