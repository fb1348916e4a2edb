"""Times as people write them: a column is read as `strptime` and `zoneinfo` read each of them."""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fencepost.time_cells import instants
from fencepost.time_forms import TimeForm
from fencepost.times import DAY, EARLIEST, LATEST, PER_UNIT

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  a local time
ZONES = ("America/New_York", "Europe/London", "Asia/Shanghai", "America/Sao_Paulo", "UTC")
FORMATS = (
    "%Y%m%d %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S.%f",
    "%d-%b-%Y",
    "%d %B %Y %H:%M",
    "%y%m%d%H%M%S",
    "%m/%d/%y %I:%M %p",
    "%Y.%m.%d,%H:%M:%S",
    "%d/%b/%Y:%H:%M:%S %z",
    "%Y-%m-%dT%H:%M:%S.%f%z",
    "100%% %Y%m%d",
)
MICROSECONDS = st.integers(EARLIEST + DAY, LATEST - DAY - 1)


def us_of(moment: datetime) -> int:
    return (moment - EPOCH.replace(tzinfo=moment.tzinfo)) // timedelta(microseconds=1)


def zoned(naive: datetime, zone: str) -> int | None:
    """The instant of a local time by the standard library; None where it is skipped."""
    aware = naive.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    if aware.astimezone(ZoneInfo(zone)).replace(tzinfo=None) != naive:
        return None
    return us_of(aware)


def by_strptime(text: str, written: str, zone: str) -> int | None:
    """What Python makes of a text; it takes digits of other alphabets, which we do not."""
    try:
        moment = datetime.strptime(text, written)  # noqa: DTZ007  a local time
    except ValueError:
        return None
    us = us_of(moment.astimezone(UTC)) if moment.tzinfo else zoned(moment, zone)
    return us if us is not None and EARLIEST <= us < LATEST else None


def read(texts: Sequence[str], form: TimeForm) -> list[int | None]:
    us, wrong = instants(pa.array(texts, pa.string()), "ts", form)
    bad = {*wrong.rows.tolist()}
    return [None if row in bad else at for row, at in enumerate(us.tolist())]


@given(
    st.sampled_from(FORMATS),
    st.sampled_from(ZONES),
    st.lists(MICROSECONDS, min_size=1, max_size=8),
    st.sampled_from(["", "+05:30", "-0400"]),
    st.data(),
)
def test_oracle_a_declared_format_is_read_as_strptime_reads_it(written, zone, when, off, data):
    offset = timedelta(hours=5.5) if off == "+05:30" else timedelta(hours=-4)
    moments = [(EPOCH + timedelta(microseconds=us)).replace(tzinfo=UTC) for us in when]
    where = timezone(offset) if off else UTC
    texts = [each.astimezone(where).strftime(written) for each in moments]
    mangled = data.draw(st.lists(st.sampled_from(texts).map(shorter), max_size=3))
    wrong = data.draw(st.lists(st.sampled_from(texts).flatmap(spoilt), max_size=3))
    for texts_ in (texts, [*texts, *mangled, *wrong]):
        expected = [by_strptime(text, written, zone) for text in texts_]
        assert read(texts_, TimeForm(zone=zone, format=written)) == expected


def shorter(text: str) -> str:
    """Leave out leading zeros, as many programs do."""
    return re.sub(r"(?<![0-9.])0(?=[1-9](?![0-9]))", "", text)


def spoilt(text: str) -> st.SearchStrategy[str]:
    places = st.integers(0, len(text) - 1)
    letters = st.sampled_from("0123456789x/:-+ZzJjA")
    return st.builds(lambda at, letter: text[:at] + letter + text[at + 1 :], places, letters)


ISO = (
    st.datetimes(datetime(1900, 1, 2), datetime(2200, 12, 30))  # noqa: DTZ001  local times
    .map(lambda moment: moment.isoformat(sep=" "))
    .flatmap(lambda text: st.sampled_from([text, text.replace(" ", "T"), text[:10], text[:16]]))
)


@given(st.lists(ISO, min_size=1, max_size=10), st.sampled_from(ZONES))
@example(["2013-11-03 01:30:00", "2013-03-10 02:30:00", "2013-03-10"], "America/New_York")
@example(["2017-10-15", "2017-10-15 00:59:59.999999", "2017-10-15 01:00"], "America/Sao_Paulo")
def test_oracle_times_without_an_offset_are_those_of_the_zone(texts, zone):
    assert read(texts, TimeForm(zone=zone)) == [
        zoned(datetime.fromisoformat(text), zone) for text in texts
    ]


OFFSETS = st.sampled_from(["Z", "+00", "+0000", "+00:00", "-03:30", "+0530", "-08"])


@given(st.lists(st.tuples(ISO, OFFSETS), min_size=1, max_size=10), st.sampled_from([None, *ZONES]))
def test_oracle_times_with_an_offset_are_read_by_it_whatever_the_zone(parts, zone):
    parts = [(text, off) for text, off in parts if len(text) > 10]
    given_ = [text + off for text, off in parts]
    expected = [us_of(datetime.fromisoformat(text).astimezone(UTC)) for text in given_]
    assert read([*given_], TimeForm(zone=zone)) == expected


DIGITS = st.text("0123456789", min_size=1, max_size=12)


@given(
    st.sampled_from([*PER_UNIT]),
    st.lists(st.tuples(st.sampled_from(["", "-", "+"]), DIGITS, DIGITS | st.just("")), max_size=10),
)
@example("s", [("", "1672531436", "123456789"), ("-", "0", "0000001"), ("", "9" * 12, "9" * 12)])
@example("ms", [("", "1672531436138", "9999999"), ("-", "1", "5")])
@example("ns", [("", "999", "9"), ("-", "1", "0"), ("-", "0", "5")])
def test_oracle_a_fraction_of_a_count_is_exact_and_cut_towards_the_past(unit, parts):
    texts = [f"{sign}{whole}.{rest}" for sign, whole, rest in parts]
    times, per = PER_UNIT[unit]
    exact = [int((Decimal(text) * times / per).to_integral_value("ROUND_FLOOR")) for text in texts]
    expected = [us if EARLIEST <= us < LATEST else None for us in exact]
    assert read([*texts], TimeForm(unit)) == expected


@given(
    st.dates(date(1901, 1, 1), date(2199, 1, 1)),
    st.lists(st.integers(0, DAY + 5), min_size=1, max_size=8),
    st.sampled_from(ZONES),
)
def test_oracle_times_of_a_day_are_counted_or_written(day, since, zone):
    midnight = datetime.combine(day, datetime.min.time())
    form = TimeForm(zone=zone, day=us_of(midnight))
    moments = [midnight + timedelta(microseconds=us) for us in since]
    expected = [zoned(m, zone) if m.date() == day else None for m in moments]
    counts = TimeForm("us", zone=zone, day=form.day)
    assert read([str(us) for us in since], counts) == expected
    us, wrong = instants(pa.array(since, pa.int64()), "ts", counts)
    assert [at for at in expected if at is None] == [None] * len(wrong)
    assert us[[at is not None for at in expected]].tolist() == [
        at for at in expected if at is not None
    ]
    inside = [m for m in moments if m.date() == day]
    texts = [m.strftime("%H:%M:%S.%f") for m in inside]
    assert read([*texts], form) == [zoned(m, zone) for m in inside]
    codes = TimeForm(zone=zone, day=form.day, format="%H%M%S%f")
    assert read([m.strftime("%H%M%S%f") for m in inside], codes) == read([*texts], form)


FORMS = [
    TimeForm(),
    TimeForm("s", "America/New_York"),
    TimeForm("ns"),
    TimeForm(zone="Asia/Shanghai", zone_by='timezone = "…"'),
    TimeForm("ms", "Europe/London", day=15_000 * DAY),
    *(TimeForm(zone="Europe/London", format=written) for written in FORMATS),
]
ODD = st.one_of(
    st.text("0123456789-:/TZ.+ JanFeb%é", max_size=24),
    st.sampled_from(["1e3", "1.5E9", "-1", "+0.5", "1" * 70, "2013-10-07", "24:00", "", "9" * 18]),
    ISO,
)


@given(st.sampled_from(FORMS), st.lists(ODD | st.none(), max_size=12), st.integers(0, 3))
def test_differential_a_column_is_read_as_each_of_its_times_is(form, texts, begin):
    us, wrong = instants(pa.array(texts, pa.string())[begin:], "ts", form)
    said: list[tuple[int, str]] = []
    for row, text in enumerate(texts[begin:]):
        try:
            if text:
                assert us[row] == form.parse(text)
            else:
                said.append((row, "ts is null" if text is None else "ts is empty"))
        except ValueError as why:
            said.append((row, f"ts: {why}"))
    assert list(zip(wrong.rows.tolist(), wrong.details.to_pylist(), strict=True)) == said


@pytest.mark.parametrize(
    ("cells", "form", "expected"),
    [
        (pa.array([0, None], pa.timestamp("ns")), TimeForm(zone="Asia/Kolkata"), -19_800_000_000),
        (pa.array([date(2013, 10, 7), None]), TimeForm(zone="UTC"), 1_381_104_000_000_000),
        (pa.array([1.5, None]), TimeForm("s"), 1_500_000),
        (pa.array([1672531436.138, None]), TimeForm("s"), 1_672_531_436_138_000),
        (pa.array([Decimal("1672531436.1389999"), None]), TimeForm("s"), 1_672_531_436_138_999),
        (pa.array([20131007, None]), TimeForm(zone="UTC", format="%Y%m%d"), 1_381_104_000_000_000),
        (pa.array([5, None], pa.time64("us")), TimeForm(zone="UTC", day=DAY), DAY + 5),
    ],
)
def test_typed_times_are_read_like_their_text(cells, form, expected):
    us, wrong = instants(cells, "ts", form)
    assert us[0] == expected
    assert wrong.rows.tolist() == [1]
    assert wrong.details.to_pylist() == ["ts is null"]


@pytest.mark.parametrize(
    ("text", "form", "why"),
    [
        ("2008-10-23 05:53:05", TimeForm(zone_by='timezone = "…"'), "has no offset: declare timez"),
        ("2008-10-23", TimeForm(), "has no offset: end it with Z or one like +01:00"),
        (
            "2013-03-10 02:30",
            TimeForm(zone="America/New_York"),
            "is skipped by the clocks of Ameri",
        ),
        ("7/10/2013", TimeForm(zone="UTC", format="%Y%m%d"), "is not of the form '%Y%m%d'"),
        ("20130230", TimeForm(zone="UTC", format="%Y%m%d"), "is not a calendar date"),
        ("86400", TimeForm("s", zone="UTC", day=0), "s since midnight is no time of day"),
        ("1.5", TimeForm(), "is a number, and no unit is declared (--ts-unit s, ms or us)"),
    ],
)
def test_a_time_that_cannot_be_read_is_told_with_what_would_cure_it(text, form, why):
    _, wrong = instants(pa.array([text]), "ts", form)
    assert wrong.details[0].as_py().startswith(f"ts: {text!r} {why}")


def test_a_long_column_of_several_lengths_is_read_in_parts():
    rng = np.random.default_rng(7)
    moments = [EPOCH + timedelta(seconds=int(at)) for at in rng.integers(0, 4_000_000_000, 150_000)]
    texts = [moment.strftime("%d/%m/%Y %H:%M:%S") for moment in moments]
    texts[::7] = [shorter(text) for text in texts[::7]]
    form = TimeForm(zone="UTC", format="%d/%m/%Y %H:%M:%S")
    assert read([*texts], form) == [us_of(moment) for moment in moments]
