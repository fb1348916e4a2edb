"""Which column is the time of a row, or which two, and what must be said of it.

Law: a time without an offset gives a question for its zone, one whose day and month could change
places a question for its form, and a time of day without a date a question for the date.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from fencepost.position import folded
from pipelines.files.guess.draft import FoundKey, Question, quoted
from pipelines.files.guess.grid import SampleColumn, SampleGrid, is_unnamed
from pipelines.files.guess.hints import FeedHints
from pipelines.files.guess.times import (
    WrittenTimes,
    form_of_times,
    run_of_digits,
    since_midnight,
)
from pipelines.files.guess.words import MAYBE_TIMES, TIMES

BASE = {"instant": 100, "naive": 90, "count": 80, "day": 60, "midnight": 40, "hours": 40}
OF_TWO = 88
ORDER = 5
"""What it counts that times go up: too little to choose between two that differ."""
_DATES = (r"(?:19|20)\d{2}-\d{2}-\d{2}", r"(?:19|20)\d{6}")
_DATE_IN_PATH = (r"(?P<date>\d{4}-\d{2}-\d{2})", r"(?P<date>\d{8})")
TIMEZONE = '--timezone Europe/Berlin (or UTC, "America/New_York", …)'


@dataclass(frozen=True)
class RowTime:
    """The columns of a time, how they are written, and how likely they are what is meant."""

    columns: tuple[str, ...]
    form: WrittenTimes
    score: int
    example: str


def time_forms(grid: SampleGrid, hints: FeedHints) -> dict[str, WrittenTimes]:
    """Find the columns that hold times, by name."""
    named = hints.ts_column or ()
    found = {}
    for place, column in enumerate(grid.columns):
        if column.kind in ("other", "boolean"):
            continue
        form = _form(column, place, grid, is_named=column.name in named)
        if form is not None:
            found[column.name] = form
    return found


def _form(
    column: SampleColumn, place: int, grid: SampleGrid, *, is_named: bool
) -> WrittenTimes | None:
    """Find how a column's times are written; a number must also be named or stand as one."""
    word = folded(column.name)
    named = is_named or bool(MAYBE_TIMES.search(word))
    if named and (digits := run_of_digits(column.texts)):
        return digits
    form = form_of_times(column.texts)
    if not column.is_number:
        return form
    unnamed = is_unnamed(column.name, grid)
    if form is not None and (named or (form.ascends and (unnamed or word == "index"))):
        return form
    if not (named or (unnamed and not place and column.is_whole)):
        return None
    return since_midnight(column.texts)


def row_times(
    grid: SampleGrid, hints: FeedHints, forms: Mapping[str, WrittenTimes]
) -> list[RowTime]:
    """List what may be the time of a row, the likeliest first."""
    columns = {column.name: column for column in grid.columns}
    if hints.ts_column is not None:
        return _of_hint(hints, forms, columns)
    found = [
        RowTime((name,), form, _score(name, form), next(iter(columns[name].filled), ""))
        for name, form in forms.items()
    ]
    days = [name for name, form in forms.items() if form.kind == "day"]
    hours = [name for name, form in forms.items() if form.kind == "hours"]
    if len(days) == 1 and len(hours) == 1:
        found.append(_of_two(days[0], hours[0], forms, columns))
    return sorted(found, key=lambda each: -each.score)


def _of_hint(
    hints: FeedHints, forms: Mapping[str, WrittenTimes], columns: Mapping[str, SampleColumn]
) -> list[RowTime]:
    named = hints.ts_column or ()
    if len(named) == 2 and all(name in forms for name in named):
        return [_of_two(*named, forms, columns)]
    name = named[0]
    example = next(iter(columns[name].filled), "") if name in columns else ""
    if hints.ts_format or hints.ts_unit or name not in forms:
        return [RowTime(named, WrittenTimes("instant", "as you said"), 0, example)]
    return [RowTime(named, forms[name], 0, example)]


def _of_two(
    day: str, hours: str, forms: Mapping[str, WrittenTimes], columns: Mapping[str, SampleColumn]
) -> RowTime:
    first, second = forms[day], forms[hours]
    midnight = 946_684_800_000_000
    at = tuple(
        None if a is None or b is None else a + b - midnight
        for a, b in zip(first.at, second.at, strict=True)
    )
    example = f"{columns[day].filled[0]} {columns[hours].filled[0]}"
    formats = first.formats or (("%Y-%m-%d",) if second.formats else ())
    of_hours = (second.formats or (_hours_format(columns[hours].filled[0]),))[0]
    joined = tuple(f"{form} {of_hours}" for form in formats)
    said = f"{first.said} and {second.said}"
    form = WrittenTimes("naive", said, joined, at=at)
    return RowTime((day, hours), form, OF_TWO + 20, example)


def _hours_format(example: str) -> str:
    return ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f")[example.count(":") - 1 + ("." in example)]


def _score(name: str, form: WrittenTimes) -> int:
    word = folded(name)
    of_name = 20 if word in TIMES else 10 if MAYBE_TIMES.search(word) else 0
    return BASE[form.kind] + of_name + ORDER * form.ascends


def open_of_time(grid: SampleGrid, hints: FeedHints, found: list[RowTime]) -> Iterator[Question]:
    """Ask which column is the time, where the sample does not show it."""
    if not found:
        names = ", ".join(grid.names)
        yield Question(
            "ts_column",
            f"no column of {names} is a time that is recognised",
            ("--ts-column NAME (with --ts-unit or --ts-format)",),
        )
    elif _is_undecided(found):
        best = [each.columns[0] for each in found if each.score + ORDER >= found[0].score]
        asks = f"{' and '.join(best)} are times alike, and differ"
        options = tuple(f"--ts-column {name}" for name in best)
        yield Question("ts_column", asks, options, tuple(best))
    else:
        yield from _open_of_form(hints, found[0])


def _is_undecided(found: list[RowTime]) -> bool:
    if len(found) < 2 or found[0].score > found[1].score + ORDER:
        return False
    first, second = found[0].form.at, found[1].form.at
    same = sum(a == b for a, b in zip(first, second, strict=True))
    return same < len(first) / 2


def _open_of_form(hints: FeedHints, best: RowTime) -> Iterator[Question]:
    form, column = best.form, " and ".join(best.columns)
    if len(form.formats) > 1 and hints.ts_format is None:
        options = tuple(f"--ts-format '{code}'" for code in form.formats)
        asks = f"{quoted(best.example)} in {column} may begin with the day or the month"
        yield Question("ts_format", asks, options, form.formats)
    if needs_zone(hints, form) and hints.timezone is None:
        asks = f"{quoted(best.example)} in {column} has no offset from UTC, and its zone is unknown"
        yield Question("timezone", asks, (TIMEZONE,), usual="UTC")


def needs_zone(hints: FeedHints, form: WrittenTimes) -> bool:
    """Say whether a zone must be declared; a format that a user gave shows it by itself."""
    if hints.ts_format is None:
        return form.is_naive
    return "%z" not in hints.ts_format and form.timezone is None


def keys_of_time(hints: FeedHints, best: RowTime, paths: tuple[str, ...]) -> Iterator[FoundKey]:
    """Give the keys that say how a row's time is read."""
    form = best.form
    columns = list(best.columns)
    shown = f"{form.said}: {best.example}"
    yield FoundKey("ts_column", columns[0] if len(columns) == 1 else columns, shown)
    code = hints.ts_format or (form.formats[0] if len(form.formats) == 1 else None)
    if code is not None:
        yield FoundKey("ts_format", code, "how it is written, in strptime's codes")
    unit = hints.ts_unit or form.unit
    if unit is not None:
        yield FoundKey("ts_unit", unit, "as you said" if hints.ts_unit else "by its magnitude")
    if hints.timezone is not None and needs_zone(hints, form):
        yield FoundKey("timezone", hints.timezone, "the zone of times without an offset")
    elif form.timezone is not None:
        yield FoundKey("timezone", form.timezone, "as the times themselves say")
    yield from _keys_of_date(hints, form, paths)


def _keys_of_date(
    hints: FeedHints, form: WrittenTimes, paths: tuple[str, ...]
) -> Iterator[FoundKey]:
    if hints.date is not None:
        yield FoundKey("date", hints.date, "the day of its times")
    elif hints.date_from_path is not None:
        yield FoundKey("date_from_path", hints.date_from_path, "the day of its times")
    elif needs_date(form):
        pattern = date_in(paths)
        if pattern is not None:
            yield FoundKey("date_from_path", pattern, "its times are times of the day in the path")


def needs_date(form: WrittenTimes) -> bool:
    """Say whether times are those of a day that they do not name."""
    return form.kind in ("midnight", "hours")


def open_of_date(hints: FeedHints, best: RowTime, paths: tuple[str, ...]) -> Iterator[Question]:
    """Ask for the day, where neither the rows nor the paths have it."""
    if needs_date(best.form) and not (hints.date or hints.date_from_path or date_in(paths)):
        asks = f"{quoted(best.example)} in {best.columns[0]} is a time of day, {best.form.said}"
        options = ("--date 2013-10-07", "--date-from-path '(?P<date>[0-9]{8})'")
        yield Question("date", f"{asks}; its date is unknown", options)


def date_in(paths: tuple[str, ...]) -> str | None:
    """Find the form of the date that every path has in its last parts."""
    tails = ["/".join(PurePath(path).parts[-2:]) for path in paths]
    for date, pattern in zip(_DATES, _DATE_IN_PATH, strict=True):
        if all(re.search(rf"(?<!\d){date}(?!\d)", tail) for tail in tails):
            return pattern
    return None
