"""Instants and durations mean whole microseconds of UTC, or are refused."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fencepost.times import (
    EARLIEST,
    LATEST,
    LONGEST,
    format_instant,
    instant_from_integer,
    parse_duration,
    parse_instant,
)

NOON = 1_795_010_531_000_000  # 2026-11-18T14:02:11Z
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("0s", 0),
        ("90s", 90_000_000),
        ("3m", 180_000_000),
        ("PT3M", 180_000_000),
        ("1h30m", 5_400_000_000),
        ("PT1H30M", 5_400_000_000),
        ("1d", 86_400_000_000),
        ("P1D", 86_400_000_000),
        ("P1DT0.5S", 86_400_500_000),
        ("2w", 1_209_600_000_000),
        ("P2W", 1_209_600_000_000),
        ("1.5s", 1_500_000),
        ("0.25h", 900_000_000),
        ("250ms", 250_000),
        ("7us", 7),
        ("1m5ms", 60_005_000),
        ("90m", 5_400_000_000),
        ("0.000001s", 1),
        ("146097d", LONGEST),
    ],
)
def test_a_duration_has_one_length(text, us):
    assert parse_duration(text) == us


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "3",
            "m",
            "3 m",
            "-3m",
            "3M",
            "3min",
            "P",
            "PT",
            "P1DT",
            "P1Y",
            "P1M",
            "pt3m",
            "PT3m",
        ),
        *("5m1h", "1h1h", "1.m", ".5m", "3m ", "٣m", "1e3s", "\ud800"),
    ],
)
def test_nothing_else_is_a_duration(text):
    with pytest.raises(ValueError, match="is not a duration like"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["0.5us", "0.0000001s", "0." + "3" * 30 + "s"])
def test_a_duration_is_whole_microseconds(text):
    with pytest.raises(ValueError, match="not a whole number of microseconds"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["146097d1us", "401w" + "9" * 19 + "s", "9" * 100 + "s"])
def test_a_duration_is_at_most_400_years_so_that_no_instant_overflows(text):
    with pytest.raises(ValueError, match="longer than 400 years"):
        parse_duration(text)
    assert LATEST + LONGEST < 2**63


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("2026-11-18T14:02:11Z", NOON),
        ("2026-11-18 14:02:11Z", NOON),
        ("2026-11-18t14:02:11z", NOON),
        ("2026-11-18T14:02:11.000000Z", NOON),
        ("2026-11-18T14:02:11.5Z", NOON + 500_000),
        ("2026-11-18T14:02:11,25Z", NOON + 250_000),
        ("2026-11-18T15:02:11+01:00", NOON),
        ("2026-11-18T15:02:11+0100", NOON),
        ("2026-11-18T15:02:11+01", NOON),
        ("2026-11-18T08:32:11-05:30", NOON),
        ("2026-11-18T14:02Z", NOON - 11_000_000),
        ("1970-01-01T00:00:00Z", 0),
        ("1900-01-01T00:00:00Z", EARLIEST),
        ("1899-12-31T23:00:00-01:00", EARLIEST),
        ("2200-12-31T23:59:59.999999Z", LATEST - 1),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000_000),
    ],
)
def test_an_instant_names_its_offset(text, us):
    assert parse_instant(text) == us


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("2026-11-18T14:02:11", "has no offset"),
        ("2026-11-18T23:59:60Z", "leap second"),
        ("2026-11-18T24:00:00Z", "not a time of day"),
        ("2026-11-18T14:60:00Z", "not a time of day"),
        ("2026-11-18T14:02:61Z", "not a time of day"),
        ("2026-02-29T00:00:00Z", "not a calendar date"),
        ("0000-01-01T00:00:00Z", "not a calendar date"),
        ("2026-11-18T14:02:11+24:00", "offset beyond 23:59"),
        ("1899-12-31T23:59:59.999999Z", "out of range"),
        ("1900-01-01T00:59:59+01:00", "out of range"),
        ("2201-01-01T00:00:00Z", "out of range"),
        ("2026-11-18", "not an instant"),
        ("2026-11-18T14Z", "not an instant"),
        ("14:02:11Z", "not an instant"),
        ("20261118T140211Z", "not an instant"),
        ("2026-11-18T14:02:11 Z", "not an instant"),
        ("2026-11-18T14:02:11Z\n", "not an instant"),
        ("٢٠٢٦-11-18T14:02:11Z", "not an instant"),
        ("", "not an instant"),
    ],
)
@pytest.mark.fault(37)
def test_any_other_instant_is_refused_in_words(text, why):
    with pytest.raises(ValueError, match=why):
        parse_instant(text)


def test_digits_beyond_microseconds_are_cut_off_towards_the_past():
    assert parse_instant("2026-11-18T14:02:11.9999999Z") == NOON + 999_999
    assert parse_instant("1969-12-31T23:59:59.9999999Z") == -1
    assert instant_from_integer(-1, "ns") == -1
    assert instant_from_integer(1_999, "ns") == 1


@pytest.mark.parametrize(
    ("unit", "per_second"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)]
)
@pytest.mark.fault(37)
def test_an_integer_is_an_instant_in_its_unit(unit, per_second):
    assert instant_from_integer(NOON // 10**6 * per_second, unit) == NOON
    for outside in (LATEST, EARLIEST - 1_000_000, 10**400):
        with pytest.raises(ValueError, match="out of range"):
            instant_from_integer(outside // 10**6 * per_second, unit)


def test_an_unknown_unit_is_refused():
    with pytest.raises(ValueError, match="unknown unit 'min'"):
        instant_from_integer(1, "min")


@given(st.integers(EARLIEST, LATEST - 1), st.integers(-1439, 1439))
@example(EARLIEST, 0)
@example(LATEST - 1, 0)
def test_oracle_an_instant_is_what_the_calendar_of_python_says(us, minutes):
    there = (EPOCH + timedelta(microseconds=us)).astimezone(timezone(timedelta(minutes=minutes)))
    assert parse_instant(there.isoformat()) == us
    assert parse_instant(format_instant(us)) == us


def test_an_instant_is_written_in_utc_with_six_digits():
    assert format_instant(NOON) == "2026-11-18T14:02:11.000000Z"
    assert format_instant(-1) == "1969-12-31T23:59:59.999999Z"
