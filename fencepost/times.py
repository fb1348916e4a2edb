"""Instants and durations: whole microseconds, UTC, counted from 1970-01-01.

Law: an instant names its offset; it is in the years 1900 to 2200 (UTC); digits beyond
microseconds are cut off, that is, rounded towards the past; a leap second is refused. A duration
has one length: years and months have none.
"""

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

SECOND = 1_000_000
DAY = 86_400 * SECOND

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1).toordinal()

EARLIEST = (date(1900, 1, 1).toordinal() - _EPOCH_DAY) * DAY
LATEST = (date(2201, 1, 1).toordinal() - _EPOCH_DAY) * DAY
"""The instants supported: EARLIEST <= ts < LATEST."""

ALWAYS_FROM = -(2**63)
ALWAYS_TO = 2**63 - 1
"""The validity of what is valid always."""

LONGEST = 146_097 * DAY
"""The longest duration: 400 years of the calendar. An instant plus it never overflows an int64."""

_UNITS = {
    "w": 7 * DAY,
    "d": DAY,
    "h": 3600 * SECOND,
    "m": 60 * SECOND,
    "s": SECOND,
    "ms": 1000,
    "us": 1,
}
_AMOUNT = r"([0-9]+)(?:\.([0-9]+))?"
_SHORT = re.compile("".join(f"(?:{_AMOUNT}{unit})?" for unit in _UNITS))
_ISO = re.compile(
    rf"P(?:{_AMOUNT}W)?(?:{_AMOUNT}D)?(?:T(?=[0-9])(?:{_AMOUNT}H)?(?:{_AMOUNT}M)?(?:{_AMOUNT}S)?)?"
)
_ISO_UNITS = tuple(_UNITS.values())[:5]

_INSTANT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]+))?)?"
    r"(?:([Zz])|([+-])([0-9]{2})(?::?([0-9]{2}))?)?"
)
PER_UNIT = {"s": (SECOND, 1), "ms": (1000, 1), "us": (1, 1), "ns": (1, 1000)}


@lru_cache(maxsize=4096)
def parse_duration(text: str) -> int:
    """Read `90s`, `3m`, `1h30m`, `1.5s` or ISO 8601's `PT3M`; ValueError says what is wrong."""
    parts = _SHORT.fullmatch(text) or _ISO.fullmatch(text)
    amounts: tuple[str | None, ...] = () if parts is None else parts.groups()
    if not any(amounts):
        raise ValueError(f"{text[:40]!r} is not a duration like '90s', '3m', '1h30m' or 'PT3M'")
    units = tuple(_UNITS.values()) if len(amounts) == 2 * len(_UNITS) else _ISO_UNITS
    total = 0
    for whole, fraction, unit in zip(amounts[::2], amounts[1::2], units, strict=True):
        if whole is not None:
            total += _microseconds(text, whole, fraction or "", unit)
    if total > LONGEST:
        raise ValueError(f"{text[:40]!r} is longer than 400 years")
    return total


def _microseconds(text: str, whole: str, fraction: str, unit: int) -> int:
    if len(whole) > 20:
        raise ValueError(f"{text[:40]!r} is longer than 400 years")
    fraction = fraction.rstrip("0")
    if len(fraction) > 20:
        raise ValueError(f"{text[:40]!r} is not a whole number of microseconds")
    part, rest = divmod(int(fraction or "0") * unit, int("1" + "0" * len(fraction)))
    if rest:
        raise ValueError(f"{text[:40]!r} is not a whole number of microseconds")
    return int(whole) * unit + part


def parse_instant(text: str) -> int:
    """Read ISO 8601 with `Z` or an offset, as `2026-11-18T14:02:11.5Z`; ValueError says why not."""
    parts = _INSTANT.fullmatch(text)
    if parts is None:
        raise ValueError(f"{text[:40]!r} is not an instant like '2026-11-18T14:02:11Z'")
    zulu, sign, off_hour, off_minute = parts.groups()[7:]
    if zulu is None and sign is None:
        raise ValueError(f"{text[:40]!r} has no offset: end it with Z or one like +01:00")
    us = _local(text, parts)
    if sign is not None:
        us -= _offset(text, sign, off_hour, off_minute or "00") * 60 * SECOND
    return in_range(us, text[:40])


def local_time(text: str) -> int | None:
    """Read ISO 8601 without an offset, or a date alone as its midnight; None where it has one.

    The µs are those since 1970 that a clock would count that shows this time.
    """
    parts = _INSTANT.fullmatch(text)
    if parts is not None:
        has_offset = parts[8] is not None or parts[9] is not None
        return None if has_offset else _local(text, parts)
    if _DATE.fullmatch(text) is None or "-" not in text:
        raise ValueError(f"{text[:40]!r} is not an instant like '2026-11-18T14:02:11Z'")
    return _midnight(text)


def names_no_offset(text: str) -> bool:
    """Say whether a text has the form of a time without an offset, or of a date alone."""
    parts = _INSTANT.fullmatch(text)
    if parts is None:
        return "-" in text and _DATE.fullmatch(text) is not None
    return parts[8] is None and parts[9] is None


def time_of_day(text: str) -> int:
    """Read `HH:MM`, `HH:MM:SS` or one with a fraction as µs since midnight."""
    parts = _INSTANT.fullmatch(f"1970-01-01T{text}")
    if parts is None or parts[8] is not None or parts[9] is not None:
        raise ValueError(f"{text[:40]!r} is not a time of day like '09:30:00'")
    return _local(text, parts)


def _local(text: str, parts: re.Match[str]) -> int:
    year, month, day, hour, minute, second, fraction = parts.groups()[:7]
    if second == "60":
        raise ValueError(f"{text[:40]!r} is a leap second, which is not supported")
    if hour > "23" or minute > "59" or (second or "0") > "59":
        raise ValueError(f"{text[:40]!r} is not a time of day")
    try:
        days = date(int(year), int(month), int(day)).toordinal() - _EPOCH_DAY
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not a calendar date") from None
    us = days * DAY + ((int(hour) * 60 + int(minute)) * 60 + int(second or "0")) * SECOND
    return us + int((fraction or "0")[:6].ljust(6, "0"))


_DATE = re.compile(r"([0-9]{4})-?([0-9]{2})-?([0-9]{2})")


def parse_day(text: str) -> int:
    """Read a day, `2013-10-07` or `20131007`, as its midnight in µs; ValueError says why not."""
    return in_range(_midnight(text), text[:40])


def _midnight(text: str) -> int:
    parts = _DATE.fullmatch(text)
    if parts is None or text.count("-") == 1:
        raise ValueError(f"{text[:40]!r} is not a day like '2013-10-07' or '20131007'")
    try:
        days = date(int(parts[1]), int(parts[2]), int(parts[3])).toordinal() - _EPOCH_DAY
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not a calendar date") from None
    return days * DAY


def _offset(text: str, sign: str, hours: str, minutes: str) -> int:
    if hours > "23" or minutes > "59":
        raise ValueError(f"{text[:40]!r} has an offset beyond 23:59")
    away = int(hours) * 60 + int(minutes)
    return -away if sign == "-" else away


def instant_from_integer(n: int, unit: str) -> int:
    """Read a count of `s`, `ms`, `us` or `ns` since 1970; what is finer is cut off."""
    if unit not in PER_UNIT:
        raise ValueError(f"unknown unit {unit!r}: one of {', '.join(PER_UNIT)} was expected")
    times, per = PER_UNIT[unit]
    return in_range(n * times // per, f"{n if abs(n) < 10**30 else 'the count'} {unit}")


def in_range(us: int, given: str) -> int:
    """Give an instant back; ValueError where it is out of the years supported."""
    if not EARLIEST <= us < LATEST:
        raise ValueError(f"{given!r} is out of range: the years 1900 to 2200 (UTC) are supported")
    return us


def format_instant(us: int) -> str:
    """Write an instant as ISO 8601 in UTC with six digits: `2026-11-18T14:02:11.000000Z`."""
    return (_EPOCH + timedelta(microseconds=us)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def to_microseconds(instant: datetime | int | None) -> int | None:
    """Count the microseconds since 1970 of an instant as a table has it."""
    if isinstance(instant, datetime):
        return (instant - _EPOCH) // timedelta(microseconds=1)
    return instant
