"""What the other columns are for: axes, a position, a sequence, payload, or nothing.

Law: an axis is a number in every row, and measures something: no id, no counter, no time. What is
neither an axis nor empty travels along as payload.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fencepost.errors import InputError
from fencepost.position import DEGREES, declared_position, folded
from fencepost.tuples import Doubles
from pipelines.files.guess.draft import FoundKey, Question, listed
from pipelines.files.guess.grid import SampleColumn, SampleGrid, is_unnamed
from pipelines.files.guess.hints import FeedHints
from pipelines.files.guess.times import WrittenTimes
from pipelines.files.guess.words import (
    COUNTERS,
    EAST,
    MORE_SEQUENCES,
    NORTH,
    SEQUENCES,
    VALUES,
)

MOST_EMPTY = 0.005
"""Share of the rows in which an axis may be empty: those rows are lost."""
MOST_PAYLOAD = 32
FEW = 8
MARKS_ONLY = "a code or another clock, by its values"
NO_LETTERS = "its name has no letter of a-z: --columns gives names"
STRAIGHT = 1 - 1e-7
"""Correlation with the time from which on a number is a clock."""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
WhyNot = Callable[[str], str | None]
"""Says why a name is none for an axis; None if it is one."""


@dataclass(frozen=True)
class Roles:
    """The columns by what they are for; `unused` with the reason."""

    axes: tuple[str, ...]
    position: tuple[str, str] | None
    sequence: str | None
    payload: Mapping[str, str]
    unused: Mapping[str, str]


def roles_of(
    grid: SampleGrid,
    hints: FeedHints,
    own: Sequence[str],
    times: Mapping[str, WrittenTimes],
    why_no_axis: WhyNot,
    at: Sequence[int | None] = (),
) -> Roles:
    """Give every column a role; `own` are those of the stream and the time, `at` is that time."""
    others = [column for column in grid.columns if column.name not in own]
    sequence = hints.sequence_column or _sequence(others)
    axes: list[str] = []
    payload: dict[str, str] = {}
    unused: dict[str, str] = {}
    for column in others:
        name = column.name
        if name == sequence:
            continue
        why = _why_no_axis(column, grid, hints, times, why_no_axis, at)
        if why is None:
            axes.append(name)
        elif hints.payload is not None:
            if name not in hints.payload:
                unused[name] = why
        elif (idle := _why_idle(column, times, len(payload))) is not None:
            unused[name] = idle
        else:
            payload[payload_name(name)] = _kind(column)
    if not axes:  # a number without a name that marks or tells the time may be all there is
        axes = [column.name for column in others if _may_be_all(column, grid, payload)]
        payload = {name: kind for name, kind in payload.items() if name not in axes}
    for name in hints.payload or ():
        payload[name] = "text"
    ordered = tuple(axes) if hints.axes is None else hints.axes
    return Roles(ordered, _position(grid, ordered, hints), sequence, payload, unused)


def _why_no_axis(
    column: SampleColumn,
    grid: SampleGrid,
    hints: FeedHints,
    times: Mapping[str, WrittenTimes],
    why_no_axis: WhyNot,
    at: Sequence[int | None],
) -> str | None:
    """Say why a column is no axis; None if it is one."""
    name = column.name
    if hints.axes is not None:
        return None if name in hints.axes or axis_name(name) in hints.axes else "none of your axes"
    if not column.is_number:
        return "no number"
    if not axis_name(name):
        return NO_LETTERS
    if name in times and times[name].kind != "midnight":
        return "a time"
    return _why_no_measure(column, grid, at) or why_no_axis(axis_name(name))


def _may_be_all(column: SampleColumn, grid: SampleGrid, payload: Mapping[str, str]) -> bool:
    return column.name in payload and is_unnamed(column.name, grid) and column.is_number


def _why_no_measure(column: SampleColumn, grid: SampleGrid, at: Sequence[int | None]) -> str | None:
    """Say why numbers measure nothing, or not in every row; None if they do."""
    word = folded(column.name)
    empty = sum(not text for text in column.texts)
    if empty > MOST_EMPTY * len(column.texts):
        return f"empty in {empty:,} of {len(column.texts):,} rows"
    if word not in VALUES and (COUNTERS.search(word) or _has_zeros_before(column)):
        return "an id or a number of its kind, no measurement"
    if word not in VALUES and _counts_rows(column):
        return "counts the rows"
    if is_unnamed(column.name, grid) and _is_code(column, at):
        return MARKS_ONLY
    return None


def _has_zeros_before(column: SampleColumn) -> bool:
    return any(len(text) > 1 and text[0] == "0" and text.isdigit() for text in column.texts)


def _counts_rows(column: SampleColumn) -> bool:
    texts = column.texts[:50]
    if len(texts) < 3 or not all(text.isdecimal() and len(text) < 18 for text in texts):
        return False
    numbers = [int(text) for text in texts]
    return numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _is_code(column: SampleColumn, at: Sequence[int | None]) -> bool:
    """Recognise a number that only marks, or tells the time: few values far apart, or a line.

    Prices in whole ticks may have few values, too, but those are near each other.
    """
    texts = column.texts
    if len(texts) < FEW:
        return False
    numbers = np.array([float(text) for text in texts])
    if _tells_time(numbers, at):
        return True
    few = min(max(FEW, len(texts) // 50), len(texts) // 5)
    apart = bool(numbers.min() <= 0 or numbers.max() >= 100 * numbers.min())
    return column.is_whole and apart and len({*texts}) <= few


def _tells_time(numbers: Doubles, at: Sequence[int | None]) -> bool:
    """Recognise another clock: it goes up in a line with the time."""
    times = np.array([us for us in at if us is not None], np.float64)
    if len(times) != len(numbers) or (np.diff(numbers) < 0).any() or not np.ptp(times):
        return False
    return bool(np.ptp(numbers)) and float(np.corrcoef(times, numbers)[0, 1]) > STRAIGHT


def _sequence(columns: Sequence[SampleColumn]) -> str | None:
    """Find the number that a source gives its rows: it rises from row to row, not from 0 or 1."""
    words = {folded(column.name): column for column in columns}
    for word in (*SEQUENCES, *MORE_SEQUENCES):
        column = words.get(word)
        if column is not None and _rises(column):
            return column.name
    return None


def _rises(column: SampleColumn) -> bool:
    if len(column.texts) < 3 or not all(
        text.isdecimal() and len(text) < 19 for text in column.texts
    ):
        return False
    numbers = [int(text) for text in column.texts]
    ascend = all(a < b for a, b in pairwise(numbers))
    return ascend and numbers[0] > 1


def _why_idle(column: SampleColumn, times: Mapping[str, WrittenTimes], others: int) -> str | None:
    """Say why a column does not travel along, as `others` do."""
    if not payload_name(column.name):
        return NO_LETTERS
    if others >= MOST_PAYLOAD:
        return f"beyond {MOST_PAYLOAD} columns of payload"
    if column.kind == "other":
        return "nested, or of a type that is not read"
    if not column.filled:
        return "empty in the sample"
    if column.is_number and _counts_rows(column):
        return "counts the rows"
    return "another time" if column.name in times else None


def _kind(column: SampleColumn) -> str:
    """Find the kind of a payload column; text where in doubt: another kind may cost a row."""
    if column.kind == "boolean":
        return "boolean"
    if column.kind in ("instant", "naive"):
        return "timestamp" if column.kind == "instant" else "text"
    counts = COUNTERS.search(folded(column.name)) or _has_zeros_before(column)
    return "double" if column.is_number and not counts and "" in column.texts else "text"


def axis_name(name: str) -> str:
    """Name an axis after its column: in small letters, with `_` between words."""
    return folded(name)


def payload_name(name: str) -> str:
    """Name payload as its column, or where tables cannot hold that name, in small letters."""
    return name if _PLAIN.fullmatch(name) else folded(name)


def _position(grid: SampleGrid, axes: Sequence[str], hints: FeedHints) -> tuple[str, str] | None:
    """Give the position that was said, else one that shows; InputError where it is of no axes."""
    if hints.position is None:
        return position_of(grid, axes)
    try:
        x, y = declared_position(axes, hints.position, hints.position_in).axes
    except InputError as why:
        raise InputError(f"--position {','.join(hints.position)}: {why}") from None
    return axes[x], axes[y]


def position_of(grid: SampleGrid, axes: Sequence[str]) -> tuple[str, str] | None:
    """Find the axes that are a longitude and a latitude, by their names and ranges."""
    columns = {axis_name(column.name): column for column in grid.columns}
    columns |= {column.name: column for column in grid.columns}
    east = [axis for axis in axes if folded(axis) in EAST and _within(columns, axis, 180)]
    north = [axis for axis in axes if folded(axis) in NORTH and _within(columns, axis, 90)]
    return (east[0], north[0]) if len(east) == len(north) == 1 else None


def _within(columns: Mapping[str, SampleColumn], axis: str, most: int) -> bool:
    column = columns.get(axis)
    if column is None or not column.is_number:
        return False
    plain = folded(axis) in ("x", "y")
    degrees = [float(text) for text in column.filled]
    has_fraction = sum(len(text.partition(".")[2]) >= 4 for text in column.filled)
    fine = not plain or has_fraction >= len(degrees) / 2
    return fine and all(abs(each) <= most for each in degrees)


def keys_of_roles(roles: Roles, hints: FeedHints) -> Iterator[FoundKey | Question]:
    """Give the keys of axes, position, sequence and payload."""
    axes = list(roles.axes)
    if not axes:
        asks = "no column is a number in every row that could be an axis"
        yield Question("axes", asks, ("--axes A,B",))
        return
    yield FoundKey("axes", axes, "as you said" if hints.axes else "numbers in every row")
    if roles.position is not None:
        why = "as you said" if hints.position else "a place on the earth, in degrees"
        yield FoundKey("position", list(roles.position), why)
        if hints.position_in is not None:
            yield FoundKey("position_in", hints.position_in, "as you said")
        elif not hints.position and not declared_position(roles.position, roles.position).earth:
            yield FoundKey("position_in", DEGREES, "by the range and the digits of its numbers")
    if roles.sequence is not None:
        why = "as you said" if hints.sequence_column else "rises from row to row"
        yield FoundKey("sequence_column", roles.sequence, why)
        if hints.sequence_is is not None:
            yield FoundKey("sequence_is", hints.sequence_is, "as you said")
    if roles.payload:
        plain = all(kind == "text" for kind in roles.payload.values())
        value = list(roles.payload) if plain else dict(roles.payload)
        yield FoundKey("payload", value, "travels along onto events")


def wide_question(grid: SampleGrid, own: Sequence[str]) -> Question:
    """Ask whether each column is a stream."""
    names = [name for name in grid.names if name not in own]
    asks = f"{listed(names)} may be streams of one value, or values of one stream"
    return Question("wide", asks, ("--wide", f"--axes {','.join(names[:8])}"), ("wide", "axes"))
