"""How the times of a column are written, and what one of them means.

Law: `TimeForm.parse` decides. What reads a whole column at once accepts only what it would, and
reads the same instant.
"""

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from fencepost.text import cut
from fencepost.time_formats import MONTHS, TimeFormat, understood_format
from fencepost.times import (
    DAY,
    PER_UNIT,
    SECOND,
    in_range,
    instant_from_integer,
    local_time,
    names_no_offset,
    parse_instant,
    time_of_day,
)
from fencepost.zones import zone_named

NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?")
"""A count that may have a fraction."""
MOST_DIGITS = 60
"""Characters of the longest number that is read as a count."""
UNIT_BY_OPTION = "--ts-unit s, ms or us"
_EPOCH_DAY = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class TimeForm:
    """How times are written.

    unit     what a number counts, since 1970, or with a day since its midnight
    zone     where a time without an offset is read; None: such a time is none
    format   codes of strptime; None: ISO 8601, or a number
    day      the day of all times, as its midnight in local µs: the cells are times of day
    unit_by, zone_by  how a user declares unit and zone, for messages; None: no way to
    """

    unit: str | None = None
    zone: str | None = None
    format: str | None = None
    day: int | None = None
    unit_by: str = UNIT_BY_OPTION
    zone_by: str | None = None

    def parse(self, text: str) -> int:
        """Read one time; ValueError says what is wrong, and what declaration would cure it."""
        if self.format is not None:
            return self._of_format(text, understood_format(self.format))
        if len(text) <= MOST_DIGITS and NUMBER.fullmatch(text):
            return self._of_number(text)
        if self.day is not None:
            return self.at(self.day + time_of_day(text), text)
        if self.zone is None and names_no_offset(text):
            return self.at(0, text)
        local = local_time(text)
        return parse_instant(text) if local is None else self.at(local, text)

    def at(self, local: int, text: str) -> int:
        """Give the instant at which a clock of the zone shows a local time."""
        if self.zone is None:
            cure = f"declare {self.zone_by}" if self.zone_by else "end it with Z or one like +01:00"
            raise ValueError(f"{cut(text)!r} has no offset: {cure}")
        try:
            return in_range(zone_named(self.zone).instant(local), text[:40])
        except ValueError as why:
            if "skipped" in str(why):
                raise ValueError(f"{cut(text)!r} {why}") from None
            raise

    def _of_number(self, text: str) -> int:
        if self.unit is None:
            what = "an integer" if text.lstrip("+-").isdecimal() else "a number"
            raise ValueError(f"{cut(text)!r} is {what}, and no unit is declared ({self.unit_by})")
        whole = text.lstrip("+-").isdecimal()
        if self.day is None and whole:
            return instant_from_integer(int(text), self.unit)
        times, per = PER_UNIT[self.unit]
        us = int((Decimal(text) * times / per).to_integral_value("ROUND_FLOOR"))
        if self.day is None:
            return in_range(us, f"{text} {self.unit}")
        if not 0 <= us < DAY:
            raise ValueError(f"{cut(text)!r} {self.unit} since midnight is no time of day")
        return self.at(self.day + us, text)

    def _of_format(self, text: str, written: TimeFormat) -> int:
        parts = re.fullmatch(written.pattern, text)
        if parts is None:
            raise ValueError(f"{cut(text)!r} is not of the form {written.text!r}")
        found = {name: part for name, part in parts.groupdict().items() if part is not None}
        if int(found.get("second", 0)) == 60:
            raise ValueError(f"{cut(text)!r} is a leap second, which is not supported")
        hour = int(found.get("hour", 0))
        if "half_hour" in found:
            hour = int(found["half_hour"]) % 12 + 12 * (found["half"].lower() == "pm")
        second = (hour * 60 + int(found.get("minute", 0))) * 60 + int(found.get("second", 0))
        us = second * SECOND + int(found.get("fraction", "0")[:6].ljust(6, "0"))
        local = us + (self._midnight(text, found) if written.has_date else self.day or 0)
        if "offset" in found:
            return in_range(local - offset_of(found["offset"], text), text[:40])
        return self.at(local, text)

    def _midnight(self, text: str, found: dict[str, str]) -> int:
        if "month_name" in found:
            name = found["month_name"].lower()
            month = next(n for n, each in enumerate(MONTHS, 1) if each[:3] == name[:3])
        else:
            month = int(found["month"])
        if "year" in found:
            year = int(found["year"])
        else:
            year = int(found["short_year"])
            year += 1900 if year > 68 else 2000
        try:
            return (date(year, month, int(found["day"])).toordinal() - _EPOCH_DAY) * DAY
        except ValueError:
            raise ValueError(f"{cut(text)!r} is not a calendar date") from None


def offset_of(given: str, text: str) -> int:
    """Read an offset: Z, +01, +0100 or +01:00, in µs."""
    if given in "Zz":
        return 0
    hours, minutes = int(given[1:3]), int(given[3:].lstrip(":") or "0")
    if hours > 23 or minutes > 59:
        raise ValueError(f"{cut(text)!r} has an offset beyond 23:59")
    return (hours * 60 + minutes) * 60 * SECOND * (-1 if given[0] == "-" else 1)
