"""Which texts are times, and how are they written?

Law: a way of writing is found where at least 19 of 20 cells have it. Where both the day and the
month could come first both ways are given: neither is chosen.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

ENOUGH = 0.95
YEARS = (1900, 2200)
_PLAUSIBLE = (1990, 2100)
"""Years that numbers are taken to count to; a time in words may lie further away."""

_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(Z|z|[+-]\d\d(?::?\d\d)?)?)?"
)
_HOURS = re.compile(r"\d\d:\d\d(?::\d\d(?:\.\d+)?)?")
_NUMBER = re.compile(r"\d+(?:\.\d*)?")
_PARTS = re.compile(
    r"(?:(?P<ymd>\d{4})(?P<s1>[-/.])(?P<m1>\d{1,2})(?P=s1)\d{1,2}"
    r"|(?P<a>\d{1,2})(?P<s2>[-/.])(?P<b>\d{1,2})(?P=s2)(?P<y2>\d{4}|\d{2})"
    r"|(?P<dense>\d{8})"
    r"|\d{1,2}(?P<s3>[- ])(?P<named>[A-Za-z]{3,9})(?P=s3)(?P<y3>\d{4}|\d{2})"
    r"|(?P<first>[A-Za-z]{3,9}) \d{1,2}(?P<comma>,?) \d{4})"
    r"(?:(?P<gap>T|, | |-|)"
    r"(?:(?P<h>\d{1,2}:\d\d)(?::(?P<sec>\d\d)(?P<f>\.\d{1,6})?)?(?P<pm> ?[AaPp][Mm])?"
    r"|(?P<run>\d{6}|\d{4})(?P<rf>\.\d{1,6})?))?"
    r"(?P<zone> ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?"
)
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
SECONDS_OF_DAY = 86_400


@dataclass(frozen=True)
class WrittenTimes:
    """How the times of a column are written.

    kind       instant (with an offset), count, naive, day, midnight (counted since), hours
    said       in words
    formats    in strptime's codes: none for ISO 8601 and numbers, two where two are possible
    unit       what a number counts
    timezone   UTC where the texts say so in letters
    at         by row: comparable numbers, µs; None where there is no time
    """

    kind: str
    said: str
    formats: tuple[str, ...] = ()
    unit: str | None = None
    timezone: str | None = None
    at: tuple[int | None, ...] = field(default=(), repr=False)

    @property
    def is_naive(self) -> bool:
        """Whether a time zone must be declared."""
        return self.kind in ("naive", "day", "midnight", "hours") and self.timezone is None

    @property
    def ascends(self) -> bool:
        """Whether no time is before the one above it."""
        times = [us for us in self.at if us is not None]
        return all(a <= b for a, b in pairwise(times))


def form_of_times(texts: Sequence[str]) -> WrittenTimes | None:
    """Find how the times of a column are written; None where they are no times."""
    given = [text for text in texts if text]
    if not given or len(given) < ENOUGH * len(texts):
        return None
    if _NUMBER.fullmatch(given[0]):
        return _dense(texts) or _count(texts)
    return _iso(texts) or _hours(texts) or _in_words(texts)


def since_midnight(texts: Sequence[str]) -> WrittenTimes | None:
    """Read numbers as a time of day: they ascend, and stay within one."""
    numbers = _numbers(texts)
    known = [number for number in numbers if number is not None]
    if len(known) < ENOUGH * len(texts) or len(known) < 2 or not known[0] < known[-1]:
        return None
    for unit, per in _UNITS.items():
        if known[-1] < SECONDS_OF_DAY * per:
            at = tuple(None if n is None else int(n * 10**6 / per) for n in numbers)
            found = WrittenTimes("midnight", f"{unit} since midnight", unit=unit, at=at)
            return found if found.ascends else None
    return None


def _iso(texts: Sequence[str]) -> WrittenTimes | None:
    found = [_ISO.fullmatch(text) for text in texts]
    if sum(map(bool, found)) < ENOUGH * len(texts):
        return None
    at = tuple(_read(text) if match else None for text, match in zip(texts, found, strict=True))
    some = [match for match in found if match]
    if all(match[2] for match in some):
        return WrittenTimes("instant", "ISO 8601 with an offset", at=at)
    if all(len(match[0]) == len("2026-01-01") for match in some):
        return WrittenTimes("day", "dates alone", at=at)
    return WrittenTimes("naive", "ISO 8601 without an offset", at=at)


def _read(text: str, form: str | None = None) -> int | None:
    try:
        moment = datetime.strptime(text, form) if form else _of_iso(text)  # noqa: DTZ007  UTC below
    except ValueError:
        return None
    if not YEARS[0] <= moment.year <= YEARS[1]:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(aware.timestamp() * 10**6)


def _of_iso(text: str) -> datetime:
    return datetime.fromisoformat(re.sub(r"([.,]\d{6})\d+", r"\1", text).replace(",", "."))


def _hours(texts: Sequence[str]) -> WrittenTimes | None:
    if sum(bool(_HOURS.fullmatch(text)) for text in texts) < ENOUGH * len(texts):
        return None
    at = tuple(_read(f"2000-01-01T{text}") for text in texts)
    return WrittenTimes("hours", "times of day", at=at)


def _numbers(texts: Sequence[str]) -> list[float | None]:
    return [float(text) if _NUMBER.fullmatch(text) else None for text in texts]


def _count(texts: Sequence[str]) -> WrittenTimes | None:
    """Read numbers as counts since 1970, by their magnitude."""
    numbers = _numbers(texts)
    for unit, per in _UNITS.items():
        first, beyond = ((year - 1970) * 31_556_952 * per for year in _PLAUSIBLE)
        fits = [number is not None and first <= number < beyond for number in numbers]
        if sum(fits) >= ENOUGH * len(texts):
            at = tuple(
                int(number * 10**6 / per) if fit and number is not None else None
                for number, fit in zip(numbers, fits, strict=True)
            )
            return WrittenTimes("count", f"{unit} since 1970", unit=unit, at=at)
    return None


def _dense(texts: Sequence[str]) -> WrittenTimes | None:
    """Read eight or more digits as a date, and perhaps the time after it: 20131007093000."""
    forms = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
    form = forms.get(len(texts[0]))
    return None if form is None else _by_format(texts, (form,))


def _in_words(texts: Sequence[str]) -> WrittenTimes | None:
    first = next(text for text in texts if text)
    match = _PARTS.fullmatch(first)
    if match is None:
        return None
    return _by_format(texts, tuple(_formats(match)), has_utc=_is_utc(match["zone"]))


def _by_format(
    texts: Sequence[str], formats: Sequence[str], *, has_utc: bool = False
) -> WrittenTimes | None:
    fitting = {}
    for form in formats:
        at = tuple(_read(text, form) for text in texts)
        fitting[form] = (sum(us is not None for us in at), at)
    most = max((many for many, _ in fitting.values()), default=0)
    best = [form for form, (many, _) in fitting.items() if many == most]
    if most < ENOUGH * len(texts):
        return None
    form, at = best[0], fitting[best[0]][1]
    has_zone, has_time = "%z" in form, "%H" in form or "%I" in form
    kind = "instant" if has_zone else "naive" if has_time else "day"
    said = f"written as {' or '.join(best)}"
    return WrittenTimes(kind, said, tuple(best), timezone="UTC" if has_utc else None, at=at)


def _is_utc(zone: str | None) -> bool:
    return zone is not None and zone.strip() in ("Z", "UTC", "GMT")


def _formats(match: re.Match[str]) -> Iterator[str]:
    after = _after(match)
    if match["ymd"]:
        yield f"%Y{match['s1']}%m{match['s1']}%d{after}"
    elif match["dense"]:
        yield f"%Y%m%d{after}"
    elif match["a"]:
        sep, year = match["s2"], "%Y" if len(match["y2"]) == 4 else "%y"
        yield f"%d{sep}%m{sep}{year}{after}"
        yield f"%m{sep}%d{sep}{year}{after}"
    elif match["named"]:
        month = "%b" if len(match["named"]) == 3 else "%B"
        year = "%Y" if len(match["y3"]) == 4 else "%y"
        yield f"%d{match['s3']}{month}{match['s3']}{year}{after}"
    else:
        month = "%b" if len(match["first"]) == 3 else "%B"
        yield f"{month} %d{match['comma']} %Y{after}"


def _after(match: re.Match[str]) -> str:
    """Write what stands behind the date."""
    said = match["gap"] or ""
    if match["h"]:
        said += "%I:%M" if match["pm"] else "%H:%M"
        said += (":%S" if match["sec"] else "") + (".%f" if match["f"] else "")
        said += f"{' ' if (match['pm'] or '').startswith(' ') else ''}%p" if match["pm"] else ""
    elif match["run"]:
        said += "%H%M%S" if len(match["run"]) == 6 else "%H%M"
        said += ".%f" if match["rf"] else ""
    zone = match["zone"]
    if zone is None:
        return said
    return said + (zone if _is_utc(zone) else f"{' ' if zone[0] == ' ' else ''}%z")


def run_of_digits(texts: Sequence[str]) -> WrittenTimes | None:
    """Read six digits as a time of day, 093000, where every cell has them."""
    if not texts or any(re.fullmatch(r"\d{6}", text) is None for text in texts):
        return None
    found = _by_format([f"20000101{text}" for text in texts], ("%Y%m%d%H%M%S",))
    return (
        None if found is None else WrittenTimes("hours", "times of day", ("%H%M%S",), at=found.at)
    )
