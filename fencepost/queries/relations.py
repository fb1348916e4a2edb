"""What two axes of a tuple must be to one another: tests that go with a box.

Between two axes there is one relation: less, equal, more, or two neighbouring ones of them. AND
keeps what both of its sides allow. In the end a region is settled: its box is narrowed to what the
tests leave of it, and what the box decides is tested no more.

Law: settling changes no tuple's answer, and None is given iff no tuple of finite doubles is in the
region.
"""

from collections.abc import Iterator
from math import inf

from fencepost.doubles import LARGEST, next_double
from fencepost.queries.condition import Box, CompareAxes, Test, Tests

LESS, EQUAL, MORE = 1, 2, 4

Relations = tuple[tuple[int, int, int], ...]
"""(axis, a later axis, LESS | EQUAL | MORE) in order, each pair of axes once."""

Region = tuple[Box, Relations]

_ALLOWS = {"<": LESS, "<=": LESS | EQUAL, "=": EQUAL}
_TURNED = {LESS: MORE, EQUAL: EQUAL, MORE: LESS, LESS | EQUAL: MORE | EQUAL}


def related(compare: CompareAxes, *, wanted: bool) -> list[Relations]:
    """Return the comparison, or its opposite, as alternatives; an axis is equal to itself."""
    left, right = compare.left, compare.right
    allowed = _ALLOWS[compare.op]
    if left == right:
        return [()] if bool(allowed & EQUAL) is wanted else []
    if left > right:
        left, right, allowed = right, left, _TURNED[allowed]
    if wanted:
        return [((left, right, allowed),)]
    if allowed == EQUAL:
        return [((left, right, LESS),), ((left, right, MORE),)]
    return [((left, right, (LESS | EQUAL | MORE) ^ allowed),)]


def both(one: Relations, other: Relations) -> Relations | None:
    """Return what holds where both hold; None where two axes cannot be what both require."""
    if not one or not other or one == other:
        return one or other
    if one[-1][:2] < other[0][:2]:  # most texts name their axes in order
        return one + other
    pairs = {(a, b): allowed for a, b, allowed in one}
    for a, b, allowed in other:
        left = pairs.get((a, b), allowed) & allowed
        if not left:
            return None
        pairs[a, b] = left
    return tuple((a, b, allowed) for (a, b), allowed in sorted(pairs.items()))


def settled(box: Box, relations: Relations) -> tuple[Box, Tests] | None:
    """Narrow the box, and return the tests that it leaves open. O(axes × relations)."""
    if not relations:
        return box, ()
    tests = list(tests_of(relations))
    box = _drawn_in(box, tests)
    if _is_empty(box, tests):
        return None
    return box, tuple(sorted(test for test in tests if not _is_decided(box, test)))


def tests_of(relations: Relations) -> Iterator[Test]:
    """Return the relations as tests, each from the smaller side."""
    for a, b, allowed in relations:
        if allowed == EQUAL:
            yield a, "=", b
        elif allowed & LESS:
            yield a, "<=" if allowed & EQUAL else "<", b
        else:
            yield b, "<=" if allowed & EQUAL else "<", a


def _drawn_in(box: Box, tests: list[Test]) -> Box:
    """Move the ends of each axis in to those of the axes that it must not pass.

    An end moves to where another is, never one double beyond: the box keeps the bounds that
    were written.
    """
    lo, hi = [begin for begin, _ in box], [end for _, end in box]
    moved = True
    while moved:
        moved = False
        for small, large in _ascending(tests):
            if lo[large] < lo[small] or hi[small] > hi[large]:
                lo[large], hi[small] = max(lo[small], lo[large]), min(hi[small], hi[large])
                moved = True
    return tuple(zip(lo, hi, strict=True))


def _ascending(tests: list[Test]) -> Iterator[tuple[int, int]]:
    for left, op, right in tests:
        yield left, right
        if op == "=":
            yield right, left


def _is_empty(box: Box, tests: list[Test]) -> bool:
    """Try the least value on each axis that the tests allow; a ring of `<` raises it for ever."""
    least = [max(lo, -LARGEST) for lo, _ in box]
    for _ in range(len(box) + 1):
        before = list(least)
        for left, op, right in tests:
            above = next_double(least[left]) if op == "<" else least[left]
            least[right] = max(least[right], above)
            if op == "=":
                least[left] = max(least[left], least[right])
        if any(value >= end for value, (_, end) in zip(least, box, strict=True)):
            return True
        if least == before:
            return False
    return True


def _is_decided(box: Box, test: Test) -> bool:
    """Say whether every tuple in the box passes the test."""
    left, op, right = test
    begin, end = box[right][0], box[left][1]
    if op == "<":
        return end <= begin
    at_most = end <= next_double(begin) if begin > -inf else False
    return at_most and (op == "<=" or box[right][1] <= next_double(box[left][0]))
