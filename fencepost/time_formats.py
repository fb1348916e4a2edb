"""What a declared `ts_format` means: the codes of strptime, as far as they make an instant.

Law: a text is of a format iff its pattern matches all of it; a number may stand without its leading
zeros where Python's strptime takes it so. Names of months and days are English, in letters of any
size.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_SHORT_MONTHS = "|".join(month[:3] for month in MONTHS)
_SHORT_DAYS = "|".join(day[:3] for day in DAYS)
CODES = {
    "Y": r"(?P<year>[0-9]{4})",
    "y": r"(?P<short_year>[0-9]{2})",
    "m": r"(?P<month>1[0-2]|0?[1-9])",
    "b": rf"(?P<month_name>(?i:{_SHORT_MONTHS}))",
    "B": rf"(?P<month_name>(?i:{'|'.join(MONTHS)}))",
    "d": r"(?P<day>3[01]|[12][0-9]|0?[1-9])",
    "H": r"(?P<hour>2[0-3]|[01]?[0-9])",
    "I": r"(?P<half_hour>1[0-2]|0?[1-9])",
    "p": r"(?P<half>(?i:am|pm))",
    "M": r"(?P<minute>[0-5]?[0-9])",
    "S": r"(?P<second>60|[0-5]?[0-9])",
    "f": r"(?P<fraction>[0-9]{1,18})",
    "z": r"(?P<offset>[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)",
    "a": rf"(?i:{_SHORT_DAYS})",
    "A": rf"(?i:{'|'.join(DAYS)})",
    "%": "%",
}
"""By code: what it matches. A fraction may have more digits than strptime takes."""
TOGETHER = {"F": "%Y-%m-%d", "D": "%m/%d/%y", "T": "%H:%M:%S", "R": "%H:%M"}
"""What stands for several codes."""
WIDTHS = {"Y": 4, "y": 2, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2}
"""Digits of a number that stands with its leading zeros."""

_PARTS = (
    ("a year (%Y or %y)", ("Y", "y")),
    ("a month (%m, %b or %B)", ("m", "b", "B")),
    ("a day (%d)", ("d",)),
    ("an hour (%H, or %I and %p)", ("H", "I")),
    ("a half of the day (%p)", ("p",)),
    ("a minute (%M)", ("M",)),
    ("a second (%S)", ("S",)),
    ("a fraction (%f)", ("f",)),
    ("an offset (%z)", ("z",)),
)


@dataclass(frozen=True)
class TimeFormat:
    """A format that was understood.

    pieces       its codes, each a letter after %, and the texts between
    pattern      what a text of it matches, with a named group for each number
    has_date     whether it names a day; otherwise it is a time of day
    has_offset   whether it names an offset, so that no zone is needed
    """

    text: str
    pieces: tuple[str, ...]
    pattern: str
    has_date: bool
    has_offset: bool


@lru_cache(maxsize=256)
def understood_format(text: str) -> TimeFormat:
    """Understand a format; ValueError says what is wrong with it."""
    pieces = _pieces(text)
    codes = [piece[1] for piece in pieces if piece.startswith("%") and piece != "%%"]
    for what, alike in _PARTS:
        if sum(code in alike for code in codes) > 1:
            raise ValueError(f"{text!r} has {what} twice")
    dates = [what for what, alike in _PARTS[:3] if not {*alike} & {*codes}]
    if dates and (len(dates) < 3 or not {"H", "I"} & {*codes}):
        raise ValueError(f"{text!r} lacks {' and '.join(dates)}")
    if ("I" in codes) != ("p" in codes):
        raise ValueError(f"{text!r}: %I and %p go together; without them an hour is %H")
    if "f" in codes and "S" not in codes:
        raise ValueError(f"{text!r} has a fraction (%f), but no second (%S)")
    pattern = "".join(
        CODES[piece[1]] if piece.startswith("%") else re.escape(piece) for piece in pieces
    )
    return TimeFormat(text, pieces, pattern, not dates, "z" in codes)


def _pieces(text: str) -> tuple[str, ...]:
    for code, codes in TOGETHER.items():
        text = re.sub(rf"(?<!%)((?:%%)*)%{code}", rf"\g<1>{codes}", text)
    pieces = re.findall(r"%.?|[^%]+", text, re.DOTALL)
    wrong = next((piece for piece in pieces if piece[0] == "%" and piece[1:] not in CODES), None)
    if wrong is not None:
        known = " ".join(f"%{code}" for code in (*CODES, *TOGETHER))
        raise ValueError(f"{text!r}: {wrong} is no code of a time; there are {known}")
    return tuple(pieces)
