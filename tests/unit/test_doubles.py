"""A number means one double, or it is refused."""

import math
import struct
import sys
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fencepost.doubles import EXACT_UP_TO, NUMBER, exactly, next_double, parse_number

LARGEST = sys.float_info.max
SMALLEST = 5e-324

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5.0),
        ("+5", 5.0),
        ("-5", -5.0),
        ("5.", 5.0),
        (".5", 0.5),
        ("231.5", 231.5),
        ("1e3", 1000.0),
        ("1E-3", 0.001),
        ("-.5e+2", -50.0),
        ("007", 7.0),
        ("0.1", 0.1),
        ("1e-400", 0.0),
        ("9007199254740992", 2.0**53),
        ("9007199254740991.7", 2.0**53),
        ("9007199254740994", 2.0**53 + 2),
        ("-9007199254740994.000", -(2.0**53) - 2),
        ("1e22", 1e22),
        ("1e23", 1e23),
        ("1e300", 1e300),
        ("9007199254740993e0", 2.0**53),
        ("9007199254740992.5", 2.0**53),
        ("-9007199254740994.9", -(2.0**53) - 2),
        (f"{int(LARGEST)}", LARGEST),
        ("0e999999999999", 0.0),
    ],
)
def test_a_number_means_the_nearest_double(text, value):
    assert parse_number(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "5 ",
            " 5",
            "1d",
            "1_0",
            "NaN",
            "inf",
            "-inf",
            "0x1F",
            "1e",
            "e5",
            ".",
            "+",
            "--5",
        ),
        *("- 5", "1,5", "٣", "5\n", "1.2.3", "½", "1e5.0", "\ud800"),
    ],
)
def test_nothing_else_is_a_number(text):
    assert NUMBER.fullmatch(text) is None
    with pytest.raises(ValueError, match="is not a number"):
        parse_number(text)


@pytest.mark.parametrize(
    "text", ["9007199254740993", "-9007199254740993.", "+9007199254740993.00", "1" * 21]
)
@pytest.mark.fault(39)
def test_beyond_2_to_the_53_an_integer_is_held_exactly_or_refused(text):
    with pytest.raises(ValueError, match="has no exact double"):
        parse_number(text)


@pytest.mark.parametrize("text", ["1e309", "-1e309", "9" * 400, "1e999999999999"])
@pytest.mark.fault(38)
def test_what_overflows_is_refused(text):
    with pytest.raises(ValueError, match="overflows"):
        parse_number(text)


@pytest.mark.fault(69)
def test_a_megabyte_of_digits_is_read_in_no_time():
    assert parse_number("0" * 2**20 + "1") == 1.0
    assert parse_number("1." + "0" * 2**20) == 1.0
    with pytest.raises(ValueError, match="overflows"):
        parse_number("9" * 2**20)


@pytest.mark.parametrize("text", ["-0", "-0.0", "-.0e5", "-1e-999"])
@pytest.mark.fault(38)
def test_there_is_one_zero(text):
    assert math.copysign(1.0, parse_number(text)) == 1.0
    assert math.copysign(1.0, next_double(-SMALLEST)) == 1.0
    assert next_double(-0.0) == next_double(0.0) == SMALLEST


@given(finite)
@example(-0.0)
@example(1e23)
@example(2.0**53 + 2)
def test_what_python_prints_reads_back(x):
    for text in (repr(x), f"{x:.17e}", f"{x:f}" if x == int(x) and abs(x) < 1e15 else repr(x)):
        assert parse_number(text) == x


@given(st.from_regex(NUMBER, fullmatch=True).filter(lambda text: len(text) < 60))
@example("9007199254740993")
@example("9007199254740993.5e0")
def test_oracle_text_means_the_nearest_double_or_is_an_integer_that_none_is(text):
    mantissa, _, exponent = text.lower().partition("e")
    exact = Fraction(mantissa) * Fraction(10) ** int(exponent or 0) if len(exponent) < 5 else None
    if exact is None:
        return
    try:
        nearest = exact.numerator / exact.denominator
    except OverflowError:
        nearest = math.inf
    is_integer = not ({*"eE"} & {*text}) and exact.denominator == 1
    if math.isinf(nearest) or (is_integer and abs(exact) > EXACT_UP_TO and exact != nearest):
        with pytest.raises(ValueError, match=r"has no exact double|overflows"):
            parse_number(text)
    else:
        assert parse_number(text) == nearest


@given(st.integers(-(2**70), 2**70) | st.integers().map(lambda n: n << 60))
@example(2**1024)
@example(-(2**1024) + 1)
def test_an_integer_is_held_exactly_or_refused(n):
    try:
        held = float(n)
    except OverflowError:
        held = math.inf
    if math.isfinite(held) and int(held) == n:
        assert exactly(n) == held
    else:
        with pytest.raises(ValueError, match=r"has no exact double|overflows"):
            exactly(n)


@given(finite)
@example(0.0)
@example(-0.0)
@example(LARGEST)
@example(-LARGEST)
def test_oracle_the_next_double_is_the_next_bit_pattern(x):
    def rank(y):
        bits = struct.unpack("<q", struct.pack("<d", y))[0]
        return bits if bits >= 0 else -(bits & (2**63 - 1))

    after = next_double(x)
    assert after > x
    assert rank(after) == rank(x) + 1
