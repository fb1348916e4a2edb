"""Cells to ids, doubles and instants: the fast way takes a cell only where the slow way does."""

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fencepost.cells import doubles, stream_ids
from fencepost.doubles import parse_number
from fencepost.time_cells import instants
from fencepost.time_forms import TimeForm
from fencepost.times import EARLIEST, LATEST, parse_instant

NUMBER_LIKE = st.text("0123456789+-.eE ", min_size=1, max_size=12) | st.floats().map(repr)
TIME_LIKE = st.from_regex(
    r"(19|20|22)[0-9]{2}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,9})?)?"
    r"(Z|[+-][0-2][0-9]:[0-6][0-9])?",
    fullmatch=True,
)


def one_by_one(texts, parse) -> tuple[list[float | None], list[tuple[int, str]]]:
    read, refused = [], []
    for row, text in enumerate(texts):
        try:
            read.append(parse(text))
        except ValueError as why:
            read.append(None)
            refused.append((row, f"x: {why}" if text else "x is empty"))
    return read, refused


def told(faults) -> list[tuple[int, str]]:
    return list(zip(faults.rows.tolist(), faults.details.to_pylist(), strict=True))


def kept(values, faults) -> list[float | None]:
    return [
        None if row in set(faults.rows.tolist()) else v for row, v in enumerate(values.tolist())
    ]


@given(st.lists(NUMBER_LIKE, max_size=8))
@example(["1", "+1", "-0", "1.", ".5", "1e5", "NaN", "inf", "-Infinity", "1e400", "0x10", "1_0"])
@example(["9007199254740993", "9007199254740992", "9007199254740991.9999", "1e22", "1e23"])
@example(["", " 1", "1 ", "1d", "+-1", "nan(1)", "１"])
def test_differential_a_column_of_numbers_is_read_as_each_number_is(texts):
    values, faults = doubles(pa.array(texts, pa.string()), "x")
    expected, refused = one_by_one(texts, parse_number)
    assert told(faults) == refused
    assert kept(values, faults) == expected
    assert not np.signbit(values[values == 0]).any()


@given(st.lists(TIME_LIKE, max_size=8))
@example(["2024-02-29T00:00:00Z", "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z"])
@example(["2000-02-29 00:00Z", "2026-04-31T00:00:00Z", "2026-11-18T24:00:00Z"])
@example(["2026-11-18T14:02:60Z", "2026-11-18T14:02:11", "2026-11-18T14:02:11.1234567+05:30"])
@example(["1899-12-31T23:59:59.999999Z", "1900-01-01T00:00:00Z", "2200-12-31T23:59:59.9999999Z"])
@example(["2201-01-01T00:00:00+00:01", "2201-01-01T00:00:00Z", "1900-01-01T00:00:00+01:00"])
def test_differential_a_column_of_times_is_read_as_each_time_is(texts):
    us, faults = instants(pa.array(texts, pa.string()), "x", TimeForm())
    expected, refused = one_by_one(texts, parse_instant)
    assert told(faults) == refused
    assert kept(us, faults) == expected


@pytest.mark.parametrize(("unit", "factor"), [("s", 1_000_000), ("ms", 1000), ("us", 1)])
@pytest.mark.parametrize("kind", [pa.string(), pa.int64()])
@pytest.mark.fault(37)
def test_an_integer_counts_the_declared_unit(unit, factor, kind):
    counts = [
        0,
        -1,
        EARLIEST // factor,
        LATEST // factor - 1,
        EARLIEST // factor - 1,
        LATEST // factor,
    ]
    us, faults = instants(pa.array(counts, pa.int64()).cast(kind), "ts", TimeForm(unit))
    assert faults.rows.tolist() == [4, 5]
    assert us[:4].tolist() == [count * factor for count in counts[:4]]


def test_text_may_be_a_time_or_an_integer_where_a_unit_is_declared():
    cells = pa.array(["1700000000", "+5", "2026-11-18T00:00:00Z", "1.5", "-", "9" * 5000, "--1"])
    us, faults = instants(cells, "ts", TimeForm("s"))
    assert us[:4].tolist() == [
        1_700_000_000_000_000,
        5_000_000,
        1_794_960_000_000_000,
        1_500_000,
    ]
    assert faults.rows.tolist() == [4, 5, 6]


def test_an_integer_without_a_unit_is_told_how_to_declare_one():
    _, faults = instants(pa.array(["1700000000"]), "ts", TimeForm())
    assert told(faults) == [
        (0, "ts: '1700000000' is an integer, and no unit is declared (--ts-unit s, ms or us)")
    ]


@pytest.mark.fault(37)
def test_nanoseconds_are_cut_towards_the_past():
    cells = pa.array([1999, -1, None], pa.timestamp("ns", "Europe/Paris"))
    us, faults = instants(cells, "ts", TimeForm())
    assert us[:2].tolist() == [1, -1]
    assert told(faults) == [(2, "ts is null")]


@pytest.mark.fault(37)
def test_a_timestamp_outside_the_years_taken_is_refused():
    cells = pa.array([EARLIEST - 1, LATEST, 2**62], pa.timestamp("us", "UTC"))
    _, faults = instants(cells, "ts", TimeForm())
    assert faults.rows.tolist() == [0, 1, 2]
    assert "1900 to 2200" in faults.details[0].as_py()


INTEGERS = [2**53, 2**53 + 1, -(2**53) - 1, 2**60, 2**63 - 1, None]


@pytest.mark.fault(39)
def test_an_integer_that_no_double_holds_is_refused():
    values, faults = doubles(pa.array(INTEGERS, pa.int64()), "volume")
    assert faults.rows.tolist() == [1, 2, 4, 5]
    assert values[[0, 3]].tolist() == [2.0**53, 2.0**60]
    assert "9007199254740993" in faults.details[0].as_py()
    assert faults.details[3].as_py() == "volume is null"


def test_unsigned_and_small_types_are_read_exactly():
    for kind in (np.uint8, np.int16, np.uint64, np.float16, np.float32):
        values, faults = doubles(pa.array(np.array([0, 1, 120], kind)), "x")
        assert (values.tolist(), len(faults)) == ([0.0, 1.0, 120.0], 0)
    values, faults = doubles(pa.array([2**64 - 1, 2**63], pa.uint64()), "x")
    assert (faults.rows.tolist(), values[1]) == ([0], 2.0**63)


@pytest.mark.fault(38)
def test_a_float_that_is_no_number_is_refused_and_minus_zero_is_zero():
    values, faults = doubles(pa.array([math.nan, math.inf, -math.inf, None, -0.0, 5e-324]), "x")
    assert told(faults) == [
        (0, "x: nan is not a finite number"),
        (1, "x: inf is not a finite number"),
        (2, "x: -inf is not a finite number"),
        (3, "x is null"),
    ]
    assert (math.copysign(1, values[4]), values[5]) == (1.0, 5e-324)


@pytest.mark.parametrize("kind", [pa.decimal128(38, 10), pa.decimal256(50, 10)])
@pytest.mark.fault(39)
def test_a_decimal_is_the_nearest_double_and_exact_beyond_2_53(kind):
    given_ = [
        Decimal("0.1"),
        Decimal("-231.5"),
        Decimal("1e-10"),
        Decimal(2**53 + 1),
        Decimal(2**54),
    ]
    values, faults = doubles(pa.array(given_, kind), "x")
    assert values[[0, 1, 2, 4]].tolist() == [0.1, -231.5, 1e-10, 2.0**54]
    assert faults.rows.tolist() == [3]


def test_a_column_of_nulls_has_no_number():
    _, faults = doubles(pa.nulls(2), "x")
    assert told(faults) == [(0, "x is null"), (1, "x is null")]


LONG = "é" * 256


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
)
@pytest.mark.fault(44)
def test_an_id_has_1_to_256_characters_and_no_control_character(kind):
    given_ = ["AAPL", "", LONG, LONG + "é", "a\x07b", "a\x85", 'q"u, o', None, "AAPL", " ", "NA"]
    ids, faults = stream_ids(pa.array(given_).cast(kind), "stream_id")
    assert faults.rows.tolist() == [1, 3, 4, 5, 7]
    details = faults.details.to_pylist()
    assert details[0] == "stream_id is empty"
    assert "257 characters" in details[1]
    assert "U+0007" in details[2]
    assert details[4] == "stream_id is null"
    good = [row for row in range(len(given_)) if row not in faults.rows]
    assert ids.take(pa.array(good)).to_pylist() == ["AAPL", LONG, 'q"u, o', "AAPL", " ", "NA"]


def test_integer_ids_are_their_decimal_text():
    ids, faults = stream_ids(pa.array([7, -3, None], pa.int32()), "stream_id")
    assert (ids.to_pylist()[:2], faults.rows.tolist()) == (["7", "-3"], [2])
