"""What the `where` of a match says beside a crossing's: comparisons of two axes, exact to the bit.

Each text is held against Python's own comparisons, on values that meet all the time.
"""

import math
import time
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.doubles import LARGEST
from fencepost.errors import QueryFault
from fencepost.queries import (
    And,
    Compare,
    CompareAxes,
    Not,
    parse_match,
    parse_where,
    read_where,
)
from fencepost.reference.crossings import COMPARES, satisfied

INF = math.inf
AXES = ("x", "y", "z")
ANY = (-INF, INF)
VALUES = (-LARGEST, -1.0, 0.0, 5e-324, 1.0, 2.0, LARGEST)


def next_of(value: float) -> float:
    return math.nextafter(value, INF) + 0.0


def refusal(text: str, axes: tuple[str, ...] = AXES) -> QueryFault:
    with pytest.raises(QueryFault) as told:
        parse_match(text, axes)
    return told.value


def holds(regions, at) -> bool:
    boxes, tests = regions
    return any(
        all(lo <= v < hi for (lo, hi), v in zip(box, at, strict=True))
        and all(COMPARES[op](at[left], at[right]) for left, op, right in its)
        for box, its in zip(boxes, tests or ((),) * len(boxes), strict=True)
    )


# ── what it means ─────────────────────────────────────────────────────────────────────────────────


def test_the_third_example_of_the_paper_is_its_bounding_box_and_a_test():
    text = "x BETWEEN 0.2 AND 0.5 AND y BETWEEN 0.2 AND 0.5 AND x > y"
    side = (0.2, next_of(0.5))
    assert parse_match(text, ("x", "y")) == (((side, side),), (((1, "<", 0),),))


@pytest.mark.parametrize(
    ("text", "tests"),
    [
        ("x < y", [((0, "<", 1),)]),
        ("y > x", [((0, "<", 1),)]),
        ("x <= y", [((0, "<=", 1),)]),
        ("x >= y", [((1, "<=", 0),)]),
        ("y = x", [((0, "=", 1),)]),
        ("NOT x < y", [((1, "<=", 0),)]),
        ("NOT x >= y", [((0, "<", 1),)]),
        ("NOT x = y", [((0, "<", 1),), ((1, "<", 0),)]),
        ("x <= y AND y <= x", [((0, "=", 1),)]),
        ("x <= y AND NOT x = y", [((0, "<", 1),)]),
        ("x < y AND z >= y AND x < y", [((0, "<", 1), (1, "<=", 2))]),
        ("x < y OR (y < z AND z = x)", [((0, "<", 1),), ((0, "=", 2), (1, "<", 2))]),
        ('"x" < "y" AND ALL', [((0, "<", 1),)]),
    ],
)
def test_a_comparison_of_axes_is_a_test_written_from_the_smaller_side(text, tests):
    boxes, found = parse_match(text, AXES)
    assert list(found) == tests
    assert boxes == ((ANY, ANY, ANY),) * len(tests)


def test_a_test_draws_the_box_in_to_where_the_other_axis_ends():
    assert parse_match("y > x AND x >= 2 AND y < 7", AXES)[0] == (((2.0, 7.0), (2.0, 7.0), ANY),)
    assert parse_match("x = y AND x >= 2 AND y < 7", AXES)[0] == (((2.0, 7.0), (2.0, 7.0), ANY),)
    assert parse_match("x < y AND y < z AND z < 1 AND x > 0", AXES)[0] == (
        ((5e-324, 1.0), (5e-324, 1.0), (5e-324, 1.0)),
    )


@pytest.mark.parametrize(
    "text",
    [
        "x < y AND x < 1 AND y >= 1",
        "x <= y AND x <= 1 AND y >= 1",
        "x = y AND x = 1 AND y = 1",
        "x <= x",
        "x = x AND NOT x > x",
    ],
)
def test_what_the_box_decides_is_tested_no_more(text):
    boxes, tests = parse_match(text, AXES)
    assert (len(boxes), tests) == (1, ())


@pytest.mark.parametrize(
    "text",
    [
        "x < x",
        "NOT x = x",
        "x < y AND y < x",
        "x = y AND x < y",
        "x < y AND y <= z AND z <= x",
        "x > y AND x < 1 AND y > 5",
        "x < y AND y < z AND x >= 1 AND z <= 1",
        f"x < y AND y < z AND x >= 1 AND z <= {next_of(1.0)!r}",
        f"x > {LARGEST:.0f} OR x > y AND y >= {LARGEST:.0f}",
        f"x < y AND y <= -{LARGEST:.0f}",
    ],
)
def test_what_no_tuple_can_be_is_dropped_and_alone_it_is_refused(text):
    assert "`where` holds for no value" in refusal(text).message
    assert parse_match(f"({text}) OR z = 1", AXES)[1] == ()
    assert len(parse_match(f"({text}) OR z = 1", AXES)[0]) == 1


def test_where_only_one_double_is_left_a_strict_test_of_two_still_fits_two():
    boxes, tests = parse_match(f"x < y AND x >= 1 AND y <= {next_of(1.0)!r}", AXES)
    assert holds((boxes, tests), (1.0, next_of(1.0), 0.0))


@st.composite
def conditions(draw, depth: int = 3) -> str:
    if depth == 0 or draw(st.booleans()):
        axis, op = draw(st.sampled_from(AXES)), draw(st.sampled_from(tuple(COMPARES)))
        other = draw(st.sampled_from((*AXES, "0", "1", "-1", "2")))
        return f"{axis} {op} {other}"
    parts = draw(st.lists(conditions(depth=depth - 1), min_size=1, max_size=3))
    joined = f" {draw(st.sampled_from(('AND', 'OR')))} ".join(f"({part})" for part in parts)
    return f"NOT ({joined})" if draw(st.booleans()) else joined


@given(conditions())
def test_oracle_regions_hold_where_the_text_s_own_comparisons_do(text):
    condition = read_where(text, AXES, compares_axes=True)
    points = list(product(VALUES, repeat=len(AXES)))
    try:
        regions = parse_match(text, AXES)
    except QueryFault:
        assert not any(satisfied(condition, at) for at in points)
        return
    assert [holds(regions, at) for at in points] == [satisfied(condition, at) for at in points]


@given(conditions())
def test_no_region_is_left_that_nothing_is_in(text):
    """The least values that fit are in it: each test raises one by a double at most."""
    try:
        boxes, tests = parse_match(text, AXES)
    except QueryFault:
        return
    for box, its in zip(boxes, tests or ((),) * len(boxes), strict=True):
        ends = [max(lo, -LARGEST) for lo, _ in box]
        near = {n for end in ends for n in (end, next_of(end), next_of(next_of(end)))}
        assert any(holds(((box,), (its,)), at) for at in product(near, repeat=len(box)))


# ── how it is read ────────────────────────────────────────────────────────────────────────────────


def test_the_tree_of_a_comparison_of_axes_is_a_value():
    read = read_where("y > x AND NOT x = 5", AXES, compares_axes=True)
    assert read == And((CompareAxes(0, "<", 1), Not(Compare(0, "=", 5.0))))
    assert read_where("b > a", None, compares_axes=True) == CompareAxes(1, "<", 0)


@pytest.mark.parametrize("text", ["x > y", '"x" = "y"', "x < y AND y < 1", "y >= x"])
def test_a_crossing_does_not_compare_two_axes(text):
    with pytest.raises(QueryFault, match="a number was expected"):
        parse_where(text, AXES)
    with pytest.raises(QueryFault, match="a number was expected"):
        read_where(text, None)


@pytest.mark.parametrize("text", ["x > 1 AND y < 5", "x > 1 OR y < 5", "NOT z BETWEEN 1 AND 2"])
def test_without_axes_compared_a_match_has_the_boxes_of_a_crossing(text):
    assert parse_match(text, AXES) == (parse_where(text, AXES), ())


@pytest.mark.parametrize(
    ("text", "message", "column", "hint"),
    [
        ("x >", "ends where a number or an axis was expected", 4, None),
        ("x > w", "unknown axis 'w' in `where` at column 5", 5, "the axes are: x, y, z"),
        ("x > 'y'", "a number or an axis was expected at column 5", 5, "streams"),
        ("x > AND", "a number or an axis was expected at column 5", 5, None),
        ("x BETWEEN y AND z", "a number was expected at column 11", 11, "a <= x AND x <= b"),
        ("x BETWEEN 1 AND z", "a number was expected at column 17", 17, "a <= x AND x <= b"),
        ("x < y < z", "AND, OR or the end was expected at column 7", 7, "one comparison at a time"),
        ("x < y + 1", "AND, OR or the end was expected at column 7", 7, "no arithmetic"),
        ("x <> y", "not `<>`", 3, "write `NOT (x = y)`"),
        ("x > abs(y)", "`abs(` at column 5 would be a function", 5, None),
    ],
)
def test_what_is_not_the_language_is_refused_at_its_column(text, message, column, hint):
    fault = refusal(text)
    assert message in fault.message
    assert fault.column == column
    assert hint is None or hint in (fault.hint or "")


def test_alternatives_that_multiply_are_refused_before_they_take_long():
    axes = tuple(f"a{k}" for k in range(40))
    start = time.perf_counter()
    unequal = " AND ".join(f"NOT {a} = {b}" for a, b in combinations(axes[:8], 2))
    assert "the limit is 1,000" in refusal(unequal, axes).message
    many = " OR ".join(f"{a} < {b} AND {a} > 1" for a, b in combinations(axes, 2))
    assert "steps to unfold" in refusal(f"({many}) AND NOT ({many})", axes).message
    assert time.perf_counter() - start < 20
    ordered = " AND ".join(f"{a} < {b}" for a, b in combinations(axes, 2))
    assert len(parse_match(ordered, axes)[0]) == 1
