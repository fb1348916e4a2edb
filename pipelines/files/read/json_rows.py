"""Rows of a JSON lines file: one object a line.

Most files are written by a program: each line has the keys of the first, in its order. A pattern
made from the first line reads such lines column by column (0.6 µs a line); every line that does not
match is read on its own (5 µs).

Law: the pattern matches only lines that the slow way reads as the same cells. Numbers keep the text
in which they were written, so that no digit is lost before it is judged.
"""

import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.cells import CellFaults
from fencepost.tuples import Bools, Int64s
from pipelines.files.read.content import (
    LONGEST_LINE,
    PATTERNED,
    Lines,
    LineSpan,
    LongLine,
    Window,
    bounded_lines,
    not_utf8,
    raw_text,
    stretches,
    why_long,
)
from pipelines.files.read.csv_records import LF
from pipelines.files.read.declaration import Declared
from pipelines.files.read.names import as_spelt
from pipelines.files.read.records import Malformed, RawRows

if TYPE_CHECKING:
    from fencepost.lines.pattern import LinePattern

JsonObject = dict[str, Any]

HALF_PAIR = re.compile("[\ud800-\udfff]")
"""What JSON can escape and no UTF-8 holds."""

_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "true or false",
    type(None): "null",
}


class Literal(str):
    """A number as it was written; `NaN` and `Infinity` too, which JSON does not have."""

    __slots__ = ()


def _unambiguous(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for place, key in enumerate(keys) if key in keys[:place])
        raise ValueError(f"key {shown(twice)} occurs twice")
    return found


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unambiguous,
    parse_float=Literal,
    parse_int=Literal,
    parse_constant=Literal,
)


def read_object(line: bytes) -> JsonObject:
    """Read a line; ValueError says why it is no object."""
    if (length := len(line.rstrip(b"\r\n"))) > LONGEST_LINE:
        raise ValueError(why_long(length))
    try:
        found = _DECODER.decode(line.decode())
    except UnicodeDecodeError:
        raise ValueError("bytes that are not UTF-8") from None
    except json.JSONDecodeError as fault:
        raise ValueError(f"not JSON: {fault.msg} (column {fault.pos + 1})") from None
    except RecursionError:
        raise ValueError("not read: nested too deep") from None
    if not isinstance(found, dict):
        kind = "a number" if isinstance(found, Literal) else _KINDS[type(found)]
        raise ValueError(f"{kind}, where an object was expected")  # noqa: TRY004 the data's fault
    return found


def text_of(found: JsonObject, name: str, declared: Declared) -> str | None:
    """Give the text of a cell; ValueError says why it can be none. A null has no text.

    A mark, and what travels along, may be left out, which is how most programs write that there is
    none: it is empty then.
    """
    is_mark = name in declared.may_lack
    if name not in found and not is_mark:
        raise ValueError(f"{name} is missing")
    value = found.get(name)
    if value is None:
        return "" if is_mark else None
    if is_mark and isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Literal):
        if name == declared.stream_id and not value.lstrip("-").isdecimal():
            raise ValueError(f"{name}: {shown(value)} is a number, but not an integer")
        return str(value)
    if isinstance(value, str) and name not in declared.numbers:
        half = None if value.isascii() else HALF_PAIR.search(value)
        if half is not None:
            what = f"U+{ord(half[0]):04X}, as character {half.start() + 1}"
            raise ValueError(f"{name} holds half a surrogate pair, {what}")
        return value
    known: dict[str | None, str] = {each: "a plain value" for each, _ in declared.payload}
    known |= {declared.stream_id: "a string", declared.deleted: "true or false"}
    known |= dict.fromkeys((*declared.times, declared.clock), "a time")
    expected = known.get(name, "a number")
    kind = "a string" if isinstance(value, str) else _KINDS[type(value)]
    raise ValueError(f"{name}: {shown(value)} is {kind}, where {expected} was expected")


def shown(value: object, most: int = 40) -> str:
    """Write a value as JSON does, and no longer than a detail should be."""
    if value and isinstance(value, list | dict):
        return "[…]" if isinstance(value, list) else "{…}"
    text = value if isinstance(value, Literal) else json.dumps(value)
    return text if len(text) <= most else text[: most - 1] + "…"


_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_INTEGER = r"-?(?:0|[1-9][0-9]*)"
_CHARACTERS = r'[^"\\\x00-\x1f]*'
_ANY = rf'(?:"{_CHARACTERS}"|{_NUMBER}|true|false|null)'
_SPACE = "[ \t]*"
MOST_KEYS = 200
"""Keys up to which a line has a pattern; that of more would be too large."""
_TRIED = 1000
"""Lines that are read to find one that the others may be like."""


def named_columns(plain: io.BufferedReader, declared: Declared) -> tuple[str, ...] | None:
    """Give the columns that the first good line names; None where no line says what the axes are.

    Where the axes are declared, only the first lines are read.
    """
    some = bounded_lines(plain)
    for line in some if declared.axes is None else islice(some, _TRIED):
        found = _object(line)
        columns = tuple(found or ())
        in_file = as_spelt(declared, columns)
        has_all = found is not None and all(name in found for name in in_file.needed)
        if has_all and in_file.over(columns).numbers:
            return columns
    return None


def rows(
    lines: Lines, axes: tuple[str, ...], declared: Declared, span: LineSpan | None = None
) -> Iterator[RawRows]:
    """Read a file, or some lines of it, piece by piece: the wanted columns."""
    if span is not None:
        lines.within(span)
    declared = replace(declared, axes=axes)
    pattern: LinePattern | None = None
    while (found := lines.next()) is not None:
        if isinstance(found, LongLine):
            yield RawRows.none(declared, found.malformed, lines.done)
            continue
        if pattern is None and found.stop >= PATTERNED:
            pattern = _line_pattern(found, declared)
        lines.past(found, found.stop)
        read = None if pattern is None else _patterned(pattern, found, declared)
        if read is None:
            pattern, read = None, _lines(declared, found)
        yield replace(read, done=lines.done)


def _lines(declared: Declared, window: Window) -> RawRows:
    content, stop = window.content[: window.stop], window.stop
    breaks = np.flatnonzero(np.frombuffer(content, np.uint8) == LF) + 1
    ended = breaks.size > 0 and breaks[-1] == stop
    bounds = np.r_[0, breaks] if ended else np.r_[0, breaks, stop]
    return _piece(content, bounds, window.line, declared)


def _patterned(pattern: "LinePattern", window: Window, declared: Declared) -> RawRows | None:
    from pipelines.files.read.patterns import rows_by

    return rows_by(pattern, window, partial(_lines, declared))


def _line_pattern(window: Window, declared: Declared) -> "LinePattern | None":
    """Make a pattern of the first line of a window that has all columns."""
    from pipelines.files.read.patterns import first_lines, json_pattern

    for line in first_lines(window):
        found = _object(line)
        if found is not None and found.keys() >= {*declared.wanted}:
            return json_pattern(line, found, declared)
    return None


def _object(line: bytes) -> JsonObject | None:
    try:
        return read_object(line)
    except ValueError:
        return None


def _piece(content: bytes, bounds: Int64s, line: int, declared: Declared) -> RawRows:
    begins, ends, wanted = bounds[:-1], bounds[1:], declared.wanted
    matching, fast = _by_pattern(content, bounds, wanted, declared)
    matching &= ~not_utf8(content, begins, ends) & (ends - begins <= LONGEST_LINE)
    slow = _Slow(wanted)
    for row in np.flatnonzero(~matching).tolist():
        slow.take(content[begins[row] : ends[row]], row, line + row, declared)
    rows_in_turn = np.r_[np.flatnonzero(matching), np.array(slow.rows, np.int64)]
    order = pa.array(np.argsort(rows_in_turn, kind="stable"))
    rows_here = np.sort(rows_in_turn)
    cells = {
        name: pa.concat_arrays(
            [
                pc.cast(fast[name].filter(pa.array(matching)), pa.string()),
                pa.array(slow.cells[name], pa.string()),
            ]
        ).take(order)
        for name in wanted
    }
    refused = {
        name: CellFaults(
            np.searchsorted(rows_here, [row for row, _ in found]),
            pa.array([why for _, why in found], pa.string()),
        )
        for name, found in slow.refused.items()
    }

    def raw_of(rows: Int64s) -> pa.StringArray:
        lines = stretches(content, begins[rows_here[rows]], ends[rows_here[rows]])
        return pc.utf8_rtrim(lines, "\r\n")

    malformed = Malformed.of(slow.malformed)
    return RawRows(rows_here + line, cells, malformed, raw_of, refused=refused)


def _by_pattern(
    content: bytes, bounds: Int64s, wanted: tuple[str, ...], declared: Declared
) -> tuple[Bools, Mapping[str, pa.Array]]:
    """Read the lines that are like the first good one: which they are, and their cells."""
    count = len(bounds) - 1
    first = (_object(content[bounds[row] : bounds[row + 1]]) for row in range(min(count, _TRIED)))
    must = set(wanted) - declared.may_lack
    like = next((found for found in first if found and found.keys() >= must), None)
    pattern = None if like is None else _pattern(like, wanted, declared)
    if pattern is None:
        return np.zeros(count, np.bool_), dict.fromkeys(wanted, pa.nulls(count, pa.string()))
    offsets, text = pa.py_buffer(np.ascontiguousarray(bounds)), pa.py_buffer(content)
    lines = pa.LargeBinaryArray.from_buffers(pa.large_binary(), count, [None, offsets, text])
    found = pc.extract_regex(lines, pattern)
    matching: Bools = pc.is_valid(found).to_numpy(zero_copy_only=False).copy()
    return matching, {name: found.field(f"c{place}") for place, name in enumerate(wanted)}


def _pattern(example: JsonObject, wanted: tuple[str, ...], declared: Declared) -> str | None:
    """Make the pattern of lines with the keys of the example, in its order and with its kinds."""
    lacking = {*wanted} - {*example} - {declared.deleted}
    if len(example) > MOST_KEYS or lacking:
        return None
    parts = []
    for key, value in example.items():
        cell = _ANY
        if key == declared.deleted:
            continue  # it may be left out, so its comma goes with it
        if key in declared.may_lack and key not in declared.numbers:
            cell = _mark(value, f"c{wanted.index(key)}", _NUMBER)
        elif key in wanted:
            if isinstance(value, Literal):
                number = _INTEGER if key == declared.stream_id else _NUMBER
                cell = f"(?P<c{wanted.index(key)}>{number})"
            elif isinstance(value, str) and key not in declared.numbers:
                cell = f'"(?P<c{wanted.index(key)}>{_CHARACTERS})"'
            else:
                return None
        parts.append(_keyed(key, cell))
    if declared.deleted is not None:
        place = [*example, declared.deleted].index(declared.deleted)
        cell = _mark(example.get(declared.deleted), f"c{wanted.index(declared.deleted)}")
        part = _keyed(declared.deleted, cell)
        if place:
            parts[place - 1] += f"(?:,{part})?"
        else:
            parts[0] = f"(?:{part},)?{parts[0]}"
    return f"^{_SPACE}\\{{{','.join(parts)}\\}}[ \t\r]*\n?$"


def _keyed(key: str, cell: str) -> str:
    name = re.escape(json.dumps(key, ensure_ascii=False))
    return f"{_SPACE}{name}{_SPACE}:{_SPACE}{cell}{_SPACE}"


def _mark(example: object, group: str, number: str = _INTEGER) -> str:
    """Make the pattern of a mark like the example; of a null, as of no mark, the text is empty."""
    if isinstance(example, Literal):
        return f"(?:null|(?P<{group}>{number}))"
    if isinstance(example, str):
        return f'(?:null|"(?P<{group}>{_CHARACTERS})")'
    return f"(?:null|(?P<{group}>true|false))"


@dataclass
class _Slow:
    """What the lines gave that were read one by one, column by column."""

    wanted: tuple[str, ...]
    rows: list[int] = field(default_factory=list)
    malformed: list[tuple[int, str, str]] = field(default_factory=list)
    cells: dict[str, list[str | None]] = field(default_factory=dict)
    refused: dict[str, list[tuple[int, str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cells = {name: [] for name in self.wanted}
        self.refused = {name: [] for name in self.wanted}

    def take(self, text: bytes, row: int, line: int, declared: Declared) -> None:
        """Read one line; blank ones are no rows."""
        if not text.strip():
            return
        try:
            found = read_object(text)
        except ValueError as fault:
            self.malformed.append((line, str(fault), raw_text(text.rstrip(b"\r\n"))))
            return
        self.rows.append(row)
        for name in self.wanted:
            cell = None
            try:
                cell = text_of(found, name, declared)
            except ValueError as fault:
                self.refused[name].append((row, str(fault)))
            self.cells[name].append(cell)
