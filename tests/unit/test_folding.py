"""A condition becomes boxes that hold exactly what it holds, whichever way it is read."""

import math
import operator
import sys

from hypothesis import example, given
from hypothesis import strategies as st

from fencepost.errors import QueryFault
from fencepost.queries import All, And, Compare, Not, Or, boxes, parse_where, read_where
from fencepost.queries.grammar import tokens_of
from fencepost.queries.where import _plain_box

INF = math.inf
LARGEST = sys.float_info.max
COMPARE = {
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
}


def next_of(x):
    return math.nextafter(x, INF)


GRID = (-2.0, -1.0, -0.5, 0.0, 0.1, 1.0, 3.0, 5e-324, 1e22)
NAMES = ("x", "y", "not an axis")


def conditions():
    numbers = st.sampled_from(GRID)
    axis = st.integers(0, len(NAMES) - 1)
    compare = st.builds(Compare, axis, st.sampled_from(sorted(COMPARE)), numbers)
    between = st.builds(
        lambda k, a, b: And((Compare(k, ">=", a), Compare(k, "<=", b))), axis, numbers, numbers
    )
    leaves = st.one_of(compare, compare, between, st.just(All()))

    def joined(inner):
        terms = st.lists(inner, min_size=2, max_size=3).map(tuple)
        return st.one_of(st.builds(Not, inner), st.builds(And, terms), st.builds(Or, terms))

    return st.recursive(leaves, joined, max_leaves=8)


@st.composite
def texts(draw, condition):
    """Write a condition down, in one of its spellings."""

    def pick(*spellings):
        return draw(st.sampled_from(spellings))

    def name(axis):
        return pick(*(('"x"', "x"), ('"y"', "y"), ('"not an axis"',))[axis])

    if isinstance(condition, All):
        return pick("ALL", "all")
    if isinstance(condition, Compare):
        op, number = condition.op, f"{condition.value!r}"
        if pick(True, False):
            return f"{name(condition.axis)}{pick('', ' ')}{op}{pick('', ' ')}{number}"
        return f"{number} {op.translate(str.maketrans('<>', '><'))} {name(condition.axis)}"
    if isinstance(condition, Not):
        return f"{pick('NOT', 'not')} ({draw(texts(condition.term))})"
    first, last = condition.terms[0], condition.terms[-1]
    if (
        isinstance(condition, And)
        and len(condition.terms) == 2
        and (getattr(first, "op", 0), getattr(last, "op", 0)) == (">=", "<=")
        and first.axis == last.axis
    ):
        return f"{name(first.axis)} {pick('BETWEEN', 'between')} {first.value!r} AND {last.value!r}"
    word = pick(" AND ", " and ") if isinstance(condition, And) else pick(" OR ", "\nor ")
    return word.join(
        f"({draw(texts(t))})" if isinstance(t, And | Or) else draw(texts(t))
        for t in condition.terms
    )


def satisfied(condition, values):
    """Evaluate the tree with Python's comparisons."""
    if isinstance(condition, All):
        return True
    if isinstance(condition, Compare):
        return COMPARE[condition.op](values[condition.axis], condition.value)
    if isinstance(condition, Not):
        return not satisfied(condition.term, values)
    join = all if isinstance(condition, And) else any
    return join(satisfied(term, values) for term in condition.terms)


def holds(found, values):
    return any(all(lo <= v < hi for (lo, hi), v in zip(box, values, strict=True)) for box in found)


near = st.sampled_from(
    sorted({v for g in GRID for v in (g, math.nextafter(g, -INF), next_of(g))})
) | st.sampled_from((LARGEST, -LARGEST, 2.5))
points = st.lists(st.tuples(*[near] * len(NAMES)), min_size=1, max_size=30)


def folded(condition):
    """The boxes of a condition; none where it holds for no value."""
    try:
        return boxes(condition, len(NAMES))
    except QueryFault:
        return ()


@given(st.data(), points)
def test_oracle_boxes_hold_what_the_condition_holds(data, values):
    condition = data.draw(conditions())
    found = folded(condition)
    for value in values:
        assert holds(found, value) == satisfied(condition, value)
    assert len(set(found)) == len(found)
    for box in found:
        assert satisfied(condition, tuple(max(lo, -LARGEST) for lo, _ in box))


@given(st.data())
def test_a_condition_written_down_reads_back(data):
    condition = data.draw(conditions())
    text = data.draw(texts(condition))
    assert read_where(text, NAMES) == condition


plain = st.one_of(
    st.builds("{} {} {!r}".format, st.sampled_from("xy"), st.sampled_from(sorted(COMPARE)), near),
    st.builds("{} between {!r} and {!r}".format, st.sampled_from("xy"), near, near),
)
words = st.sampled_from(
    [
        *("x", "y", "z", "1", "-2", ".5", "1d", "9e99", "=", ">", ">=", "<", "<=", "!="),
        *("AND", "and", "OR", "NOT", "BETWEEN", "ALL", "(", ")", '"', '"x"', '"y', "+", "'"),
    ]
)


@given(
    st.lists(plain, min_size=1, max_size=4).map(" AND ".join)
    | st.lists(words, max_size=9).map(" ".join)
    | st.text("xy <>=(.1)aAnNdD\"'", max_size=12)
)
@example("x = 1 AND")
@example("x BETWEEN 1 AND 2 AND")
@example("x BETWEEN 2 AND 1")
def test_differential_the_short_way_and_the_long_way_agree(text):
    short = _plain_box(tokens_of(text, "where"), ("x", "y"))
    found, refusal = answer(parse_where, text)
    long, reason = answer(lambda text, axes: boxes(read_where(text, axes), 2), text)
    assert found == long
    assert short is None or (short,) == long
    assert (refusal and refusal.message) == (reason and reason.message)
    assert refusal is None or 1 <= refusal.column <= len(text) + 1


def answer(read, text):
    try:
        return read(text, ("x", "y")), None
    except QueryFault as fault:
        return None, fault


def test_the_short_way_is_taken_by_what_most_queries_say():
    for text in ("x >= 231.5 AND x < 240", "x BETWEEN 1 AND 2 and y between 3 AND 4", "x = 5"):
        assert _plain_box(tokens_of(text, "where"), ("x", "y")) is not None
