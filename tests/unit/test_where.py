"""A `where` means what SQL means by it, in half-open boxes; all else is refused in its place."""

import math
import sys
import time

import pytest

from fencepost.errors import Fault, QueryFault
from fencepost.queries import All, And, Compare, Not, Or, parse_where, read_where

INF = math.inf
LARGEST = sys.float_info.max
AXES = ("price", "volume", "my axis", "and", 'a "b"', "Größe")


def next_of(x):
    return math.nextafter(x, INF)


def refusal(text, axes=("price", "volume"), feed=None):
    with pytest.raises(QueryFault) as caught:
        parse_where(text, axes, feed)
    return caught.value


# ── the law of comparisons ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("a", [200.0, 0.0, -0.1, 5e-324, -5e-324, 2.0**53])
@pytest.mark.fault(40)
def test_every_comparison_is_a_half_open_range(a):
    text = f"{a!r}"
    assert parse_where(f"x >= {text}", ("x",)) == (((a, INF),),)
    assert parse_where(f"x > {text}", ("x",)) == (((next_of(a), INF),),)
    assert parse_where(f"x <= {text}", ("x",)) == (((-INF, next_of(a)),),)
    assert parse_where(f"x < {text}", ("x",)) == (((-INF, a),),)
    assert parse_where(f"x = {text}", ("x",)) == (((a, next_of(a)),),)
    assert parse_where(f"NOT (x = {text})", ("x",)) == (((-INF, a),), ((next_of(a), INF),))
    assert parse_where(f"x BETWEEN {text} AND {text}", ("x",)) == (((a, next_of(a)),),)


def test_the_ends_of_the_doubles():
    largest = str(int(LARGEST))
    assert parse_where(f"x <= {largest}", ("x",)) == (((-INF, INF),),)
    assert parse_where(f"x >= {largest}", ("x",)) == (((LARGEST, INF),),)
    assert parse_where(f"x = {largest}", ("x",)) == (((LARGEST, INF),),)
    assert parse_where(f"x <= -{largest}", ("x",)) == (((-INF, next_of(-LARGEST)),),)
    assert "holds for no value" in str(refusal(f"x > {largest}", ("x",)))
    assert "holds for no value" in str(refusal(f"x < -{largest}", ("x",)))


@pytest.mark.fault(38)
def test_minus_zero_is_zero():
    for text in ("x >= -0.0", "x >= -0", "x >= -0e5"):
        (((lo, _),),) = parse_where(text, ("x",))
        assert math.copysign(1, lo) == 1.0
    assert parse_where("x > -0.0", ("x",)) == (((5e-324, INF),),)


# ── the language ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("price > 5", Compare(0, ">", 5.0)),
        ("5 < price", Compare(0, ">", 5.0)),
        ("5>=price", Compare(0, "<=", 5.0)),
        ("5 = price", Compare(0, "=", 5.0)),
        ("price>-5", Compare(0, ">", -5.0)),
        ("price > +.5e1", Compare(0, ">", 5.0)),
        ("ALL", All()),
        ("  all\n", All()),
        ("(ALL)", All()),
        ("NOT price > 5", Not(Compare(0, ">", 5.0))),
        ("NOT NOT price > 5", Not(Not(Compare(0, ">", 5.0)))),
        ("price between 1 and 2", And((Compare(0, ">=", 1.0), Compare(0, "<=", 2.0)))),
        ("price NOT BETWEEN 1 AND 2", Not(And((Compare(0, ">=", 1.0), Compare(0, "<=", 2.0))))),
        ('"my axis" = 1', Compare(2, "=", 1.0)),
        ('"and" = 1 aNd price = 1', And((Compare(3, "=", 1.0), Compare(0, "=", 1.0)))),
        ('"a ""b""" = 1', Compare(4, "=", 1.0)),
        ('"price" = 1', Compare(0, "=", 1.0)),
        ("Größe = 1", Compare(5, "=", 1.0)),
        ('"price">5 and(volume<1)', And((Compare(0, ">", 5.0), Compare(1, "<", 1.0)))),
    ],
)
def test_one_text_one_meaning(text, condition):
    assert read_where(text, AXES) == condition


def test_a_number_ends_where_no_letter_follows():
    assert "'5and' is not a number (column 7)" in str(refusal("price>5and volume<1"))


def test_not_binds_before_and_and_and_before_or():
    a, b, c = (Compare(0, "=", float(k)) for k in (1, 2, 3))
    assert read_where("x=1 OR x=2 AND x=3", ("x",)) == Or((a, And((b, c))))
    assert read_where("x=1 AND x=2 OR x=3", ("x",)) == Or((And((a, b)), c))
    assert read_where("(x=1 OR x=2) AND x=3", ("x",)) == And((Or((a, b)), c))
    assert read_where("NOT x=1 AND x=2", ("x",)) == And((Not(a), b))
    assert read_where("NOT (x=1 AND x=2)", ("x",)) == Not(And((a, b)))
    between = And((Compare(0, ">=", 1.0), Compare(0, "<=", 2.0)))
    assert read_where("x BETWEEN 1 AND 2 AND x=3", ("x",)) == And((between, c))


def test_the_boxes_of_the_first_screen():
    axes = ("price", "volume")
    assert parse_where("price >= 231.5", axes) == (((231.5, INF), (-INF, INF)),)
    assert parse_where("volume < 1000 AND (price < 5 OR price > 500)", axes) == (
        ((-INF, 5.0), (-INF, 1000.0)),
        ((next_of(500.0), INF), (-INF, 1000.0)),
    )
    assert parse_where(
        "x BETWEEN 4200 AND 4230 AND y BETWEEN 880 AND 910", ("x", "y", "speed")
    ) == (((4200.0, next_of(4230.0)), (880.0, next_of(910.0)), (-INF, INF)),)
    assert parse_where("ALL", axes) == (((-INF, INF), (-INF, INF)),)


@pytest.mark.fault(40)
def test_an_empty_box_and_a_second_one_of_the_same_are_dropped():
    assert parse_where("x > 5 AND x < 3 OR x = 1", ("x",)) == (((1.0, next_of(1.0)),),)
    assert parse_where("x BETWEEN 5 AND 3 OR x = 1", ("x",)) == (((1.0, next_of(1.0)),),)
    assert parse_where("x > 1 OR x > 1 OR 1 < x", ("x",)) == (((next_of(1.0), INF),),)
    assert parse_where("x > 1 OR NOT ALL", ("x",)) == (((next_of(1.0), INF),),)


# ── refusals, each with its place ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "message", "column", "width", "hint"),
    [
        ("price >", "`price >` ends where a number was expected (column 8)", 8, 1, None),
        ("price", "`price` ends where one of >, >=, =, <, <=, BETWEEN was expected", 6, 1, None),
        ("price > 1 AND ", "`price > 1 AND` ends where an axis was expected", 14, 1, None),
        ("5 <", "`5 <` ends where an axis was expected (column 4)", 4, 1, None),
        ("price BETWEEN 1", "ends where AND and the upper bound was expected", 16, 1, None),
        ("price BETWEEN 1 AND", "ends where a number was expected (column 20)", 20, 1, None),
        ("price NOT > 5", "BETWEEN was expected at column 11, not `>`", 11, 1, None),
        ("", "`where` is empty", 1, 1, "write ALL for no condition"),
        (" \t ", "`where` is empty", 1, 1, "write ALL for no condition"),
        ("prize > 5", "unknown axis 'prize' in `where` at column 1", 1, 5, "Did you mean 'price'?"),
        ("price>5 OR Volume<1", "unknown axis 'Volume' in", 12, 6, "Did you mean 'volume'?"),
        ('"volum" < 1', "unknown axis 'volum' in `where` at column 1", 1, 7, "'volume'"),
        ("price != 1", "not `!=`", 7, 2, "write `NOT (price = 1)`"),
        ("price <> 1", "not `<>`", 7, 2, "write `NOT (price = 1)`"),
        ("price == 1", "not `==`", 7, 2, "equality is one `=`"),
        ("price => 1", "not `=>`", 7, 2, "write `>=`"),
        ("price > 1 && volume > 1", "AND, OR or the end was expected", 11, 2, "write AND"),
        ("price > volume", "a number was expected at column 9", 9, 6, "only `match` queries"),
        ("price > 'AAPL'", "a number was expected at column 9", 9, 6, "`streams`"),
        ('price > "a"', "a number was expected at column 9", 9, 3, "`streams`"),
        ("price > NaN", "a number was expected at column 9, not `NaN`", 9, 3, "finite"),
        ("price > -inf", "a number was expected at column 9, not `-`", 9, 1, "sign touches"),
        ("price > - 5", "a number was expected at column 9, not `-`", 9, 1, "sign touches"),
        ("price + 1 > 5", "not `+`", 7, 1, "there is no arithmetic"),
        ("price > 5-3", "AND, OR or the end was expected at column 10, not `-3`", 10, 2, None),
        ("price > 1d", "'1d' is not a number (column 9)", 9, 2, None),
        ("price > 1_0", "'1_0' is not a number (column 9)", 9, 3, None),
        ("price > 0x1F", "'0x1F' is not a number (column 9)", 9, 4, None),
        ("price > ٣", "'٣' is not a number (column 9)", 9, 1, None),
        ("price > 1e400", "'1e400' overflows", 9, 5, None),
        ("price>9007199254740993", "has no exact double", 7, 16, None),
        ("abs(price) > 5", "`abs(` at column 1 would be a function", 1, 3, None),
        ("1 < price < 5", "AND, OR or the end was expected", 11, 1, "one comparison at a time"),
        ("price IN (1, 2)", "not `IN`", 7, 2, "write `x = 1 OR x = 2`"),
        ("price IS NULL", "not `IS`", 7, 2, "never null"),
        ("price > 1;", "not `;`", 10, 1, "no `;` after it"),
        ("(price > 1", "`(price > 1` ends where `)` was expected", 11, 1, "`(` at column 1"),
        ("price > 1)", "the `)` at column 10 closes nothing", 10, 1, None),
        ("(price > 1 volume < 2)", "AND, OR or `)` was expected at column 12", 12, 6, None),
        ("()", "an axis was expected at column 2, not `)`", 2, 1, None),
        ("AND price > 1", "a condition was expected at column 1, not `AND`", 1, 3, None),
        ("price > 1 OR OR price < 2", "a condition was expected at column 14", 14, 2, None),
        ("5 > 3", "an axis was expected at column 5, not `3`", 5, 1, None),
        ("5 BETWEEN 1 AND 7", "one of >, >=, =, <, <= was expected at column 3", 3, 7, None),
        ("5 < and", "an axis was expected at column 5, not `and`", 5, 3, None),
        ('"price > 1', "the quote that opens at column 1 is not closed", 1, 10, None),
        ("price > 1 -- dear", "AND, OR or the end was expected at column 11", 11, 1, None),
        ("prïce > 1", "unknown axis 'prïce'", 1, 5, "'price'"),
        ("😀 > 1", "an axis was expected at column 1", 1, 1, None),
        ("price > 5 AND price < 5", "`where` holds for no value", 1, 23, "exclude one another"),
        ("NOT ALL", "`where` holds for no value", 1, 7, None),
        ("price BETWEEN 5 AND 3", "`where` holds for no value", 1, 21, "lower bound first"),
    ],
)
@pytest.mark.fault(60)
def test_what_is_not_the_language_is_refused_at_its_column(text, message, column, width, hint):
    fault = refusal(text)
    assert message in fault.message
    assert (fault.column, fault.width) == (column, width)
    assert fault.text == text
    assert hint is None or hint in (fault.hint or "")


def test_a_refusal_reads_as_on_the_first_screen():
    fault = refusal("prize >= 231.5", feed="ticks")
    assert str(Fault.of("typo.jsonl", 3, fault)).splitlines() == [
        "typo.jsonl:3: unknown axis 'prize' in `where` at column 1",
        "    prize >= 231.5",
        "    ^^^^^",
        "    the feed 'ticks' has: price, volume.  Did you mean 'price'?",
    ]


def test_without_axes_any_name_is_one_and_the_rest_of_the_language_holds():
    assert read_where('a > 1 AND "b c" < 2 OR a = 3', None) == Or(
        (And((Compare(0, ">", 1.0), Compare(1, "<", 2.0))), Compare(0, "=", 3.0))
    )
    with pytest.raises(QueryFault, match="not `!=`"):
        read_where("a != 1", None)


# ── nothing exhausts it ───────────────────────────────────────────────────────────────────────────


@pytest.mark.fault(69)
def test_nesting_is_bounded_and_never_exhausts_the_stack():
    assert parse_where("(" * 200 + "x > 1" + ")" * 200, ("x",)) == (((next_of(1.0), INF),),)
    assert parse_where("NOT " * 200 + "x > 1", ("x",)) == (((next_of(1.0), INF),),)
    deep = "x > 0"
    for k in range(200):
        deep = f"({deep}) {'AND' if k % 2 else 'OR'} x > {k}"
    parse_where(deep, ("x",))
    for text in ("(" * 201 + "x > 1" + ")" * 201, "NOT (" * 150 + "x > 1" + ")" * 150):
        fault = refusal(text, ("x",))
        assert "more than 200 brackets and NOTs" in fault.message
        assert fault.text[fault.column - 1] in "(N"


LONG = 2**20


@pytest.mark.parametrize(
    "text",
    [
        "(" * LONG,
        "NOT " * (LONG // 4),
        '"' * (LONG - 1),
        "'" * LONG,
        "9" * LONG,
        "x > " + "1." + "1" * (LONG - 8) + "z",
        "x > 1 AND " * (LONG // 11),
        "a" * LONG,
        "x>1 OR " * (LONG // 7 - 1) + "x>1 OR",
        " OR ".join(f"x = {k}" for k in range(60_000)),
        "x > 1" + " " * LONG,
    ],
)
def test_a_long_text_is_answered_soon(text):
    start = time.perf_counter()
    assert str(refusal(text, ("x",)))
    assert time.perf_counter() - start < 10


def test_a_disjunction_of_a_megabyte_that_says_little_is_taken():
    text = " OR ".join(["x>1"] * 100_000)
    assert parse_where(text, ("x",)) == (((next_of(1.0), INF),),)


@pytest.mark.fault(69)
def test_up_to_a_thousand_boxes_are_taken():
    text = " OR ".join(f"x = {k}" for k in range(1000))
    assert len(parse_where(text, ("x",))) == 1000
    assert "1,001 boxes; the limit is 1,000" in refusal(f"{text} OR x = -1", ("x",)).message


@pytest.mark.fault(69)
def test_alternatives_that_multiply_are_refused_before_they_take_long():
    axes = tuple(f"a{k}" for k in range(40))
    pairs = " AND ".join(f"({axis} < 0 OR {axis} > 1)" for axis in axes)
    start = time.perf_counter()
    assert "the limit is 1,000" in refusal(pairs, axes).message
    many = " OR ".join(f"a0 = {k}" for k in range(9_000))
    assert "steps to unfold" in refusal(f"({many}) AND ({many})", axes).message
    assert time.perf_counter() - start < 10
    assert len(parse_where(" AND ".join(f"NOT x = {k}" for k in range(900)), ("x",))) == 901
