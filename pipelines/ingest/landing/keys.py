"""Which hour or day a delivery belongs to: the key of its time partition.

In a path a date is four digits, two and two, with nothing between them or the same `-`, `_` or `/`
twice. An hour is the two digits after it, parted from it by `T`, `-`, `_`, `/` or a space; minutes
and seconds may follow. Before each part a name may stand, as in `dt=2026-11-18/hr=09`. The first
place in the path that reads so and is a date of the calendar counts.

Law: keys sort as times do.
"""

import re
from datetime import date

from fencepost.times import format_instant

_NAMED = r"(?:[A-Za-z]+=)?"
_DATE = rf"(?<!\d)(\d{{4}})([-_/]?){_NAMED}(\d\d)\2{_NAMED}(\d\d)"
_HOUR = rf"[T_\-/ ]{_NAMED}([01]\d|2[0-3])(?::?[0-5]\d){{0,2}}"
_DAY_IN_PATH = re.compile(rf"{_DATE}(?!\d)", re.ASCII)
_HOUR_IN_PATH = re.compile(rf"{_DATE}{_HOUR}(?!\d)", re.ASCII)

IN_WORDS = {
    "day": "a day like 2026-11-18 or 20261118",
    "hour": "an hour like 2026-11-18T09, 20261118-09 or 2026-11-18/09",
}


def key_in_path(path: str, partition: str) -> str | None:
    """Read the key that a path names; None if it names none."""
    pattern = _HOUR_IN_PATH if partition == "hour" else _DAY_IN_PATH
    for place in pattern.finditer(path):
        year, _, month, day, *hour = place.groups()
        try:
            date(int(year), int(month), int(day))
        except ValueError:
            continue
        return "T".join([f"{year}-{month}-{day}", *hour])
    return None


def key_of_time(now: int, partition: str) -> str:
    """Give the key of an instant, in µs."""
    return format_instant(now)[: 13 if partition == "hour" else 10]
