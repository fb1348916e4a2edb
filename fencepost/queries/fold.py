"""A condition as a disjunction of half-open boxes, each with the tests of two axes beside it.

NOT is pushed to the comparisons, where it flips them; what is left is folded from below: OR joins
lists of regions, AND intersects every region of the one list with every region of the other.

Law: a tuple of finite doubles satisfies the condition iff it is in one of the boxes and passes the
tests of that box. None of them is empty (some tuple of finite doubles is in it and passes), none
occurs twice.
"""

import math

from fencepost.doubles import LARGEST, next_double
from fencepost.errors import QueryFault
from fencepost.queries.condition import (
    All,
    And,
    Box,
    Compare,
    CompareAxes,
    Condition,
    Not,
    Or,
    Tests,
)
from fencepost.queries.relations import Region, both, related, settled

MOST_BOXES = 1_000
MOST_ON_THE_WAY = 10_000
MOST_CELLS = 4_000_000
"""Ends of boxes that one folding may look at: a second or so; an honest query needs dozens."""

_Ranges = tuple[tuple[float, float], ...]
_SPLIT = "AND multiplies the alternatives of its sides: split the query by its ORs"
_OPPOSITE = {">": "<=", ">=": "<", "=": "≠", "<": ">=", "<=": ">"}


def boxes(condition: Condition, d: int) -> tuple[Box, ...]:
    """Fold a condition over d axes, of which it compares no two.

    QueryFault where no box is left, or more than MOST_BOXES.
    """
    found = regions(condition, d)
    refuse_none_or_many(len(found))
    return tuple(box for box, _ in found)


def tested_boxes(condition: Condition, d: int) -> tuple[tuple[Box, ...], tuple[Tests, ...]]:
    """Fold a condition over d axes: its boxes, and the tests of each, () where none has any.

    QueryFault as from boxes().
    """
    every = (settled(*region) for region in regions(condition, d))
    found = dict.fromkeys(region for region in every if region is not None)
    refuse_none_or_many(len(found))
    tests = tuple(tests for _, tests in found)
    return tuple(box for box, _ in found), tests if any(tests) else ()


def regions(condition: Condition, d: int, name: str = "`where`") -> list[Region]:
    """Fold a condition over d axes to its regions, not settled yet; messages call it `name`.

    What it compares may be more than axes: numbers from d on mean whatever the caller defines.
    """
    return _Folding(d, name).of(condition, wanted=True)


def refuse_none_or_many(found: int, name: str = "`where`") -> None:
    """QueryFault where no box is left, or more than MOST_BOXES."""
    if not found:
        raise QueryFault(
            f"{name} holds for no value",
            hint="its parts exclude one another; BETWEEN takes the lower bound first",
        )
    if found > MOST_BOXES:
        raise QueryFault(
            f"{name} comes to {found:,} boxes; the limit is {MOST_BOXES:,}", hint=_SPLIT
        )


def is_range(lo: float, hi: float) -> bool:
    """Say whether lo <= v < hi for some finite double v."""
    return lo < hi and hi > -LARGEST


class _Folding:
    """One folding, and the work that is left to it."""

    def __init__(self, d: int, name: str) -> None:
        self.name = name
        self.cells = MOST_CELLS
        self.cells_of_one = d
        self.everywhere: Region = ((-math.inf, math.inf),) * d, ()

    def of(self, node: Condition, *, wanted: bool) -> list[Region]:
        """The regions of a node, or of its opposite where it is not wanted."""
        while isinstance(node, Not):
            node, wanted = node.term, not wanted
        if isinstance(node, Compare):
            return self.narrowed([self.everywhere], node, wanted)
        if isinstance(node, CompareAxes):
            return self.related([self.everywhere], node, wanted)
        if isinstance(node, All):
            return [self.everywhere] if wanted else []
        if isinstance(node, And) is wanted:  # NOT (a OR b) is NOT a AND NOT b
            return self.met(node.terms, wanted)
        return self.joined(node.terms, wanted)

    def met(
        self, terms: tuple[Condition, ...], wanted: bool, found: list[Region] | None = None
    ) -> list[Region]:
        """What of the regions found so far (None: of everything) all of the terms leave."""
        found = [self.everywhere] if found is None else found
        for term in terms:
            if isinstance(term, Compare):
                found = self.narrowed(found, term, wanted)
            elif isinstance(term, CompareAxes):
                found = self.related(found, term, wanted)
            elif isinstance(term, And | Or) and isinstance(term, And) is wanted:
                found = self.met(term.terms, wanted, found)
            else:
                found = self.intersected(found, self.of(term, wanted=wanted))
            if not found:
                break
        return found

    def joined(self, terms: tuple[Condition, ...], wanted: bool) -> list[Region]:
        found: list[Region] = []
        for term in terms:
            more = self.of(term, wanted=wanted)
            self.spend(len(more))
            found += more
            if (
                len(found) > 2 * MOST_ON_THE_WAY
            ):  # not at every term: what occurs twice is dropped in bulk
                found = self.distinct(found)
        return self.distinct(found)

    def narrowed(self, found: list[Region], compare: Compare, wanted: bool) -> list[Region]:
        """Intersect regions with one comparison, which touches one axis only."""
        axis = compare.axis
        self.spend(len(found))
        narrow: list[Region] = []
        for a, b in ranges(compare.op if wanted else _OPPOSITE[compare.op], compare.value):
            for box, tests in found:
                lo, hi = box[axis]
                lo, hi = a if a > lo else lo, b if b < hi else hi  # noqa: FURB136 as below
                if is_range(lo, hi):
                    narrow.append(((*box[:axis], (lo, hi), *box[axis + 1 :]), tests))
        return self.distinct(narrow)

    def related(self, found: list[Region], compare: CompareAxes, wanted: bool) -> list[Region]:
        """Intersect regions with what two axes must be to one another; boxes stay as they are."""
        self.cells_of_one += 1  # a comparison is examined with each box
        self.spend(len(found))
        alternatives = related(compare, wanted=wanted)
        left: list[Region] = []
        for box, relations in found:
            for each in alternatives:
                tests = both(relations, each)
                if tests is not None:
                    left.append((box, tests))
        return self.distinct(left)

    def intersected(self, left: list[Region], right: list[Region]) -> list[Region]:
        self.spend(len(left) * len(right))
        met: list[Region] = []
        for one in left:
            met += [region for other in right if (region := _common(one, other)) is not None]
            if len(met) > 2 * MOST_ON_THE_WAY:
                met = self.distinct(met)
        return self.distinct(met)

    def distinct(self, found: list[Region]) -> list[Region]:
        """Drop what occurs twice; refuse more boxes than one query can need on its way."""
        if len(found) > 1:
            found = list(dict.fromkeys(found))
        if len(found) > MOST_ON_THE_WAY:
            raise QueryFault(
                f"{self.name} comes to more than {MOST_ON_THE_WAY:,} boxes; "
                f"the limit is {MOST_BOXES:,}",
                hint=_SPLIT,
            )
        return found

    def spend(self, boxes: int) -> None:
        self.cells -= boxes * self.cells_of_one
        if self.cells < 0:
            raise QueryFault(
                f"{self.name} takes more than {MOST_CELLS:,} steps to unfold into boxes",
                hint=_SPLIT,
            )


def _common(one: Region, other: Region) -> Region | None:
    """Intersect two regions; None where nothing is in both."""
    box = []
    for (a, b), (c, e) in zip(one[0], other[0], strict=True):
        # (Measured) max() and min() cost 105 ns here, this costs 14.
        lo, hi = a if a > c else c, b if b < e else e  # noqa: FURB136
        if not is_range(lo, hi):
            return None
        box.append((lo, hi))
    if not one[1]:
        return tuple(box), other[1]
    tests = both(one[1], other[1])
    return None if tests is None else (tuple(box), tests)


def ranges(op: str, a: float) -> _Ranges:
    """Return the values that compare so with a, as half-open ranges."""
    if op == ">=":
        return ((a, math.inf),)
    if op == "<":
        return ((-math.inf, a),)
    if op == ">":
        return ((next_double(a), math.inf),)
    if op == "<=":
        return ((-math.inf, next_double(a)),)
    if op == "=":
        return ((a, next_double(a)),)
    return ((-math.inf, a), (next_double(a), math.inf))
