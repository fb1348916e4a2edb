"""What a key of a TOML file can take.

Law: `take` gives the value, or ValueError says what was given and what was expected.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from fencepost.lanes import sides_of
from fencepost.text import did_you_mean, shortened
from fencepost.time_formats import understood_format
from fencepost.times import parse_day, parse_duration
from fencepost.zones import why_no_zone

Of_co = TypeVar("Of_co", covariant=True)
_OWNER = re.compile(r"team:\S+|[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,7}")
"""Whom Dagster takes for an owner."""
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.\[\]:-]+(/[A-Za-z0-9._~/%-]*)?")
LONGEST_UNIT = 16
"""Characters of a unit: it stands beside numbers."""
_SIZE = re.compile(r"[1-9][0-9]{0,5}[kmgt]", re.IGNORECASE)


@dataclass(frozen=True)
class Read(Generic[Of_co]):
    """How a value is read.

    expected  in words, what it takes
    take      from what TOML gives
    """

    expected: str
    take: Callable[[object], Of_co]


def shown(given: object) -> str:
    """Show a value as the file has it, cut to what a message can hold."""
    if isinstance(given, bool):
        return str(given).lower()
    return f"'{shortened(given)}'" if isinstance(given, str) else shortened(str(given))


def unlike(given: object, expected: str) -> ValueError:
    """Make the error of a value that was not expected."""
    return ValueError(f"{shown(given)} was given, where {expected} was expected")


def whole(least: int, most: int | None = None) -> Read[int]:
    """Take a whole number from `least` to `most`."""
    wanted = f"of {least} or more" if most is None else f"from {least} to {most}"
    expected = f"a whole number {wanted}"

    def take(given: object) -> int:
        number = None if isinstance(given, bool) or not isinstance(given, int) else given
        if number is not None and number >= least and (most is None or number <= most):
            return number
        raise unlike(given, expected)

    return Read(expected, take)


def one_of(options: Collection[str]) -> Read[str]:
    """Take one of some words."""
    expected = f"one of {', '.join(options)}"

    def take(given: object) -> str:
        if isinstance(given, str) and given in options:
            return given
        near = did_you_mean(given, options) if isinstance(given, str) else ""
        raise ValueError(f"{unlike(given, expected)}{f'.{near}' if near else ''}")

    return Read(expected, take)


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise unlike(given, "a text")
    if not given or "\0" in given:
        raise ValueError("is empty" if not given else "holds a zero character")
    return given


def _flag(given: object) -> bool:
    if not isinstance(given, bool):
        raise unlike(given, FLAG.expected)
    return given


def _duration(given: object) -> int:
    if not isinstance(given, str):
        raise unlike(given, DURATION.expected)
    return parse_duration(given)


def _names(given: object) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise unlike(given, NAMES.expected)
    if not given:
        raise ValueError("the list is empty, where at least one was expected")
    return tuple(given)


def _owners(given: object) -> tuple[str, ...]:
    if not isinstance(given, list):
        raise unlike(given, OWNERS.expected)
    for owner in given:
        if not isinstance(owner, str) or not _OWNER.fullmatch(owner):
            raise ValueError(f'{shown(owner)} is no owner like "name@example.com" or "team:desk"')
    return tuple(given)


def _pairs(given: object) -> tuple[str, ...]:
    if not isinstance(given, list):
        raise unlike(given, PAIRS.expected)
    for pair in given:
        if not isinstance(pair, str) or not all(sides_of(pair) or ("",)):
            raise ValueError(f'{shown(pair)} is no pair of feeds like "bids~asks"')
    return tuple(given)


def _units(given: object) -> Mapping[str, str]:
    if not isinstance(given, dict):
        raise unlike(given, UNITS.expected)
    for axis, unit in given.items():
        if not isinstance(unit, str) or not unit.isprintable() or not 0 < len(unit) <= LONGEST_UNIT:
            raise ValueError(
                f"{shown(unit)} was given for {shown(axis)}, where a unit of 1 to {LONGEST_UNIT} "
                'printable characters was expected, like "USD"'
            )
    return given


def _size(given: object) -> str:
    if isinstance(given, str) and _SIZE.fullmatch(given):
        return given.lower()
    raise unlike(given, SIZE.expected)


def _address(given: object) -> str:
    """Parse an http(s) address: it becomes a link in a page, so no other scheme is accepted."""
    if isinstance(given, str) and _ADDRESS.fullmatch(given):
        return given.rstrip("/")
    raise unlike(given, ADDRESS.expected)


def _time_columns(given: object) -> str | tuple[str, str]:
    if isinstance(given, str):
        return _text(given)
    if isinstance(given, list) and len(given) == 2:
        day, time = map(_text, given)
        if day != time:
            return day, time
    raise unlike(given, TIME_COLUMNS.expected)


KINDS_OF_PAYLOAD = ("text", "long", "double", "boolean", "timestamp")
_PAYLOAD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


def _payload(given: object) -> tuple[tuple[str, str], ...]:
    if isinstance(given, list):
        kinds: Mapping[object, object] = dict.fromkeys(given, "text")
        if len(kinds) < len(given):
            raise ValueError("names a column twice")
    elif isinstance(given, dict):
        kinds = given
    else:
        raise unlike(given, PAYLOAD.expected)
    seen: dict[str, str] = {}
    for name, kind in kinds.items():
        if not isinstance(name, str) or not _PAYLOAD_NAME.fullmatch(name):
            raise ValueError(
                f"{shown(name)} is no name of a payload column: a letter or _ first, then up to 62 "
                "of letters, digits and _. `columns` can name the columns of a file anew"
            )
        if not isinstance(kind, str) or kind not in KINDS_OF_PAYLOAD:
            near = did_you_mean(kind, KINDS_OF_PAYLOAD) if isinstance(kind, str) else ""
            raise ValueError(
                f"{shown(kind)} was given for {shown(name)}, where one of "
                f"{', '.join(KINDS_OF_PAYLOAD)} was expected{near and f'.{near}'}"
            )
        if name.lower() in seen:
            raise ValueError(f"'{seen[name.lower()]}' and '{name}' are one name in SQL")
        seen[name.lower()] = name
    return tuple((name, str(kind)) for name, kind in kinds.items() if isinstance(name, str))


def _character(given: object) -> str:
    if not isinstance(given, str) or len(given) != 1 or given in '"\r\n\0' or not given.isascii():
        raise unlike(given, CHARACTER.expected)
    return given


def _day(given: object) -> str:
    text = _text(given)
    parse_day(text)
    return text


def _zone(given: object) -> str:
    text = _text(given)
    why = why_no_zone(text)
    if why is not None:
        raise ValueError(why)
    return text


def _time_format(given: object) -> str:
    return understood_format(_text(given)).text


def regex_with(group: str) -> Read[str]:
    """Take a regular expression with a group of this name."""
    expected = f"a regular expression with a group (?P<{group}>…)"

    def take(given: object) -> str:
        try:
            compiled = re.compile(_text(given))
        except re.error as why:
            raise ValueError(f"{shown(given)} is no regular expression: {why}") from None
        if group not in compiled.groupindex:
            raise unlike(given, expected)
        return compiled.pattern

    return Read(expected, take)


_VARIABLE = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]{0,127})")


def _variable(given: object) -> str:
    """Take the name of a variable. What was given is never repeated: it may be the secret."""
    found = _VARIABLE.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        raise ValueError(
            f"{VARIABLE.expected} was expected: an address is a secret, which belongs into a "
            "variable of the environment and into no file"
        )
    return found[1]


TEXT = Read("a text", _text)
FLAG = Read("true or false", _flag)
DURATION = Read('a duration like "90s" or "3m"', _duration)
"""In µs."""
NAMES = Read("a list of texts", _names)
OWNERS = Read("a list of owners", _owners)
PAIRS = Read("a list of pairs of feeds", _pairs)
"""Each as a lane is called; whether there are such feeds is for the one who asks."""
UNITS = Read("a table of texts by axis", _units)
"""Whether there are such axes is for the one who asks."""
TIME_COLUMNS = Read("a text, or a list of two: a date and a time", _time_columns)
PAYLOAD = Read("a list of texts, or a table of kinds by name", _payload)
"""Pairs of a name and a kind."""
CHARACTER = Read("one ASCII character that is no quotation mark and no line break", _character)
DAY = Read('a day like "2013-10-07"', _day)
ZONE = Read("an IANA time zone", _zone)
TIME_FORMAT = Read("a text with codes of strptime", _time_format)
SIZE = Read('a size like "4g" or "800m"', _size)
ADDRESS = Read('an address like "https://fencepost.example.com/reports"', _address)
VARIABLE = Read('a variable like "env:FENCEPOST_WEBHOOK"', _variable)
"""The variable's name."""
PLACE = Read('a path, or a place like "s3://bucket/lake"', _text)
"""As it is written, like a path."""
PATH = Read("a path", lambda given: Path(_text(given)))
"""As it is written; where it begins is for the one who asks."""
