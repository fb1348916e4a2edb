"""The `on` and `where` of a window join mean what SQL means by them, exact to the bit.

Each text is held against Python's own arithmetic and comparisons, on values that meet all the time.
"""

import math
import operator
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.doubles import LARGEST
from fencepost.errors import QueryFault
from fencepost.queries.joins import Conjunct, JoinTest
from fencepost.queries.joins.on import parse_join
from fencepost.reference.crossings import COMPARES

INF = math.inf
FEEDS = ("ticks", "orders")
AXES = (("price", "volume"), ("limit", "volume", "odd name"))
ANY = (-INF, INF)
PLACES = {
    "left.price": 0,
    "left.volume": 1,
    "right.limit": 2,
    "right.volume": 3,
    'right."odd name"': 4,
}
VALUES = (-LARGEST, -10.0, 0.0, 0.1, 0.2, 0.1 + 0.2, 0.3, 1.0, 10.0, 2.0**53, LARGEST)
LARGE = str(2**1023)  # 1e308 is no double: beyond 2**53 a number must be one
PLUS = ("", " + 0.1", " - 0.1", "+.2", " -0.3", " - 10", f"-{LARGE}", f" + {LARGE}", " + 0")
OPS = {
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
}
Values = tuple[float, ...]
Written = tuple[str, Callable[[Values], bool]]
Sum = tuple[str, Callable[[Values], float]]


def next_of(value: float) -> float:
    return math.nextafter(value, INF) + 0.0


def said(value: float) -> str:
    return str(int(value)) if abs(value) > 2**53 else repr(value)


def written(on: str) -> list[tuple[JoinTest, ...]]:
    found = parse_join(on, None, FEEDS, AXES)
    assert all(conjunct.box == (ANY,) * 5 for conjunct in found)
    return [conjunct.tests for conjunct in found]


def holds(conjuncts: tuple[Conjunct, ...], at: Values) -> bool:
    return any(
        all(lo <= v < hi for (lo, hi), v in zip(box, at, strict=True))
        and all(COMPARES[t.op](at[t.axis] + t.plus, at[t.other] + t.other_plus) for t in tests)
        for box, tests in conjuncts
    )


# ── what it means ─────────────────────────────────────────────────────────────────────────────────


def test_the_example_of_the_contract_is_one_box_with_three_tests():
    on = "left.price >= right.limit AND left.volume BETWEEN right.volume - 10 AND right.volume + 10"
    assert parse_join(on, "left.price > 5", FEEDS, AXES) == (
        Conjunct(
            ((next_of(5.0), INF), ANY, ANY, ANY, ANY),
            (
                JoinTest(1, 0.0, "<=", 3, 10.0),
                JoinTest(2, 0.0, "<=", 0, 0.0),
                JoinTest(3, -10.0, "<=", 1, 0.0),
            ),
        ),
    )


@pytest.mark.parametrize("minus", ["- 10", "-10", " - 10", " -10", "  -  10", "\n- 1e1"])
def test_the_sign_of_a_number_may_touch_it_or_not(minus):
    assert written(f"left.price < right.volume{minus}") == [(JoinTest(0, 0.0, "<", 3, -10.0),)]


def test_nothing_added_is_the_axis_itself():
    for nothing in ("+ 0", "- 0", "-0.0", "+0e5"):
        assert written(f"left.price < right.volume {nothing}") == written(
            "left.price < right.volume"
        )


@pytest.mark.parametrize(
    ("on", "tests"),
    [
        ("left.price > right.limit", [(JoinTest(2, 0.0, "<", 0, 0.0),)]),
        ("left.price <= right.limit + 1", [(JoinTest(0, 0.0, "<=", 2, 1.0),)]),
        ("right.limit + 1 = left.price", [(JoinTest(0, 0.0, "=", 2, 1.0),)]),
        ("left.price + 2 = left.price + 1", [(JoinTest(0, 1.0, "=", 0, 2.0),)]),
        ("NOT left.price < right.limit", [(JoinTest(2, 0.0, "<=", 0, 0.0),)]),
        (
            "NOT left.price = right.limit - 1",
            [(JoinTest(0, 0.0, "<", 2, -1.0),), (JoinTest(2, -1.0, "<", 0, 0.0),)],
        ),
        (
            "left.price NOT BETWEEN right.limit AND right.limit + 1",
            [(JoinTest(0, 0.0, "<", 2, 0.0),), (JoinTest(2, 1.0, "<", 0, 0.0),)],
        ),
        (
            "left.price <= right.limit + 1 AND left.price >= right.limit + 1",
            [(JoinTest(0, 0.0, "=", 2, 1.0),)],
        ),
        ("left.price + 1 <= left.price + 1", [()]),
        ("ALL", [()]),
        ('left.price < right."odd name"', [(JoinTest(0, 0.0, "<", 4, 0.0),)]),
        ('left."price" < right . limit', [(JoinTest(0, 0.0, "<", 2, 0.0),)]),
    ],
)
def test_a_term_is_a_test_written_from_the_smaller_side(on, tests):
    assert written(on) == tests


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("left.price > right.limit", "NOT (right.limit >= left.price)"),
        ("left.price = right.limit - 1", "right.limit - 1 = left.price"),
        (
            "left.price < right.limit OR left.volume < right.volume",
            "left.volume < right.volume OR left.price < right.limit",
        ),
        (
            "left.price + 1 = right.limit + 2 AND left.price < right.volume + 3",
            "left.price < right.volume + 3 AND right.limit + 2 = left.price + 1",
        ),
    ],
)
def test_the_same_in_other_words_is_the_same(one, other):
    assert parse_join(one, None, FEEDS, AXES) == parse_join(other, None, FEEDS, AXES)


def test_a_comparison_of_bare_axes_draws_the_box_in():
    (found,) = parse_join("left.price < right.limit", "left.price >= 5", FEEDS, AXES)
    assert found.box[2] == (5.0, INF)
    (found,) = parse_join(
        "left.price < right.limit", "left.price < 5 AND right.limit >= 5", FEEDS, AXES
    )
    assert found.tests == ()


@st.composite
def sums(draw: st.DrawFn) -> Sum:
    name, plus = draw(st.sampled_from([*PLACES])), draw(st.sampled_from(PLUS))
    place, amount = PLACES[name], float(plus.replace(" ", "") or 0)
    return name + plus, lambda v: v[place] + amount


@st.composite
def terms(draw: st.DrawFn) -> Written:
    (one, f), (two, g), (three, h) = (draw(sums()) for _ in range(3))
    form = draw(st.sampled_from([*OPS, "BETWEEN", "NOT BETWEEN"]))
    if form == "BETWEEN":
        return f"{one} BETWEEN {two} AND {three}", lambda v: g(v) <= f(v) <= h(v)
    if form == "NOT BETWEEN":
        return f"{one} NOT BETWEEN {two} AND {three}", lambda v: not g(v) <= f(v) <= h(v)
    return f"{one} {form} {two}", lambda v: OPS[form](f(v), g(v))


@st.composite
def selections(draw: st.DrawFn) -> Written:
    name, op = draw(st.sampled_from([*PLACES])), draw(st.sampled_from([*OPS]))
    a = draw(st.sampled_from(VALUES))
    place = PLACES[name]
    if draw(st.booleans()):
        return f"{name} {op} {said(a)}", lambda v: OPS[op](v[place], a)
    return f"{said(a)} {op} {name}", lambda v: OPS[op](a, v[place])


@st.composite
def conditions(draw: st.DrawFn, leaves: st.SearchStrategy[Written], depth: int = 2) -> Written:
    form = draw(st.sampled_from(["leaf", "leaf", "NOT", "AND", "OR"])) if depth else "leaf"
    if form == "leaf":
        return draw(leaves)
    one, f = draw(conditions(leaves, depth - 1))
    if form == "NOT":
        return f"NOT ({one})", lambda v: not f(v)
    other, g = draw(conditions(leaves, depth - 1))
    if form == "AND":
        return f"({one}) AND ({other})", lambda v: f(v) and g(v)
    return f"({one}) OR ({other})", lambda v: f(v) or g(v)


def read(on: str, where: str | None) -> tuple[Conjunct, ...]:
    """Read texts; those that hold for nothing come to no conjunct."""
    try:
        return parse_join(on, where, FEEDS, AXES)
    except QueryFault as told:
        if "holds for no value" in told.message:
            return ()
        raise


@given(
    conditions(terms()),
    st.none() | conditions(selections(), depth=1),
    st.lists(st.tuples(*[st.sampled_from(VALUES)] * 5), min_size=20, max_size=40),
)
def test_oracle_conjuncts_hold_where_the_texts_own_arithmetic_does(on, where, points):
    text = None if where is None else where[0]
    found = read(on[0], text)
    for at in points:
        expected = on[1](at) and (where is None or where[1](at))
        assert holds(found, at) == expected, (on[0], text, at)


def test_what_is_added_is_added_in_one_operation_and_rounded():
    (found,) = parse_join("left.price + 0.2 = right.limit", None, FEEDS, AXES)
    at = (0.1, 0.0, 0.1 + 0.2, 0.0, 0.0)
    assert 0.1 + 0.2 != 0.3
    assert holds((found,), at)
    assert not holds((found,), (0.1, 0.0, 0.3, 0.0, 0.0))


def test_a_sum_beyond_all_doubles_is_infinite_and_not_is_still_its_opposite():
    on = f"left.price + {LARGE} < right.limit + {LARGE}"
    for at in product((-LARGEST, 0.0, LARGEST), repeat=2):
        values = (at[0], 0.0, at[1], 0.0, 0.0)
        one, other = (parse_join(text, None, FEEDS, AXES) for text in (on, f"NOT ({on})"))
        assert holds(one, values) != holds(other, values)


def test_differential_the_short_way_and_the_long_way_agree():
    for text in (
        "left.price < right.limit AND left.price < right.limit + 1 AND right.limit = left.volume",
        "left.price BETWEEN right.limit - 1 AND right.limit + 1 AND ALL",
        "left.price <= right.limit AND right.limit <= left.price",
        "left.price + 1 <= left.price + 1 AND left.price < left.volume",
    ):
        (short,) = parse_join(text, "left.price > 1 AND right.limit <= 5", FEEDS, AXES)
        long = parse_join(f"({text}) OR left.price + 1 < left.price + 1", None, FEEDS, AXES)
        both = parse_join(f"NOT (NOT ({text}))", "left.price > 1 AND right.limit <= 5", FEEDS, AXES)
        assert (short,) == both
        assert len(long) == 1
        assert long[0].tests == parse_join(text, None, FEEDS, AXES)[0].tests
