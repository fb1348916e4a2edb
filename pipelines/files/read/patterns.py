"""Patterns of lines, made of a line that can be read, and the rows that they give.

Most files are written by a program, and their lines are alike: the same fields or keys in the same
order, with the same quotation marks. These are read at once (`fencepost.lines`, 0.1 µs a line);
every other line goes the slow way.

Law: the rows are those that the slow way gives.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from fencepost.lines.kernels import (
    INSTANT,
    INTEGER,
    NUMBER,
    PLAIN,
    SKIPPED,
    STREAM,
    STREAM_NUMBER,
    TEXT,
)
from fencepost.lines.pattern import LineCell, LinePattern
from fencepost.time_forms import TimeForm
from fencepost.tuples import Int64s
from pipelines.files.read.content import LONGEST_LINE, Window, not_utf8, stretches
from pipelines.files.read.declaration import Declared
from pipelines.files.read.grammar import Grammar
from pipelines.files.read.records import Malformed, RawRows

HEAD, TRIED = 1 << 16, 20
"""Bytes and lines of which one line is to make a pattern."""
MOST_CELLS = 1_000
MOST_OTHERS = 0.25
"""The share of other lines up to which a pattern helps."""

_INSTANT = re.compile(
    rb"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
    rb"(?:Z|[+-][0-9]{2}:[0-9]{2})"
)
_INTEGER = re.compile(rb"-?[0-9]{1,18}")
BACKSLASH = b"\\"
_BREAK = re.compile(rb"\r?\n")
_MEMBER = re.compile(
    rb'[ \t]*"(?P<key>[^"\\\x00-\x1f]*)"[ \t]*:[ \t]*'
    rb'(?:"(?P<text>[^"\\\x00-\x1f]*)"|(?P<bare>[-+.0-9A-Za-z]+))[ \t]*(?P<end>[,}])'
)
_REST = re.compile(rb"[ \t]*\r?\n")

Others = Callable[[Window], RawRows | None]
"""Reads lines the slow way; None where they are not whole records."""


def rows_by(pattern: LinePattern, window: Window, others: Others) -> RawRows | None:
    """Read a window by a pattern; None where the slow way has to read all of it."""
    content, stop = window.content, window.stop
    if not_utf8(content, np.array([0]), np.array([stop]))[0]:
        return None
    read = pattern.read(content, stop, window.breaks)
    unlike: RawRows | None = None
    if len(read.others):
        if len(read.others) > MOST_OTHERS * len(read.lines):
            return None
        unlike = _unlike(window, read.others, others)
        if unlike is None:
            return None

    def raw_of(rows: Int64s) -> pa.StringArray:
        return stretches(content, read.begins[rows], read.ends[rows])

    line = read.lines + window.line
    return RawRows(line, read.columns, Malformed.of([]), raw_of, distinct=True, unlike=unlike)


def _unlike(window: Window, places: Int64s, others: Others) -> RawRows | None:
    """Read the lines at some places the slow way: number, begin and end of each."""
    content = b"".join(window.content[begin:end] for _, begin, end in places.tolist())
    rows = others(Window(content, len(content), 1))
    if rows is None:
        return None
    line = window.line + places[:, 0]
    malformed = replace(rows.malformed, line=line[rows.malformed.line - 1])
    return replace(rows, line=line[rows.line - 1], malformed=malformed)


def csv_pattern(
    window: Window, grammar: Grammar, names: Sequence[str], declared: Declared
) -> LinePattern | None:
    """Make the pattern of a CSV file's rows; None where no line can be one."""
    if declared.wide or len(names) > MOST_CELLS:
        return None
    for line in first_lines(window):
        ending = _BREAK.search(line)
        found = ending and grammar.record_of(len(names)).fullmatch(line)
        if not found or ending is None:
            continue
        literals, cells, delimiter = [b""], [], grammar.delimiter.encode()
        for name, field in zip(names, grammar.fields_of(line[: ending.start()]), strict=True):
            mark = b'"' if field.startswith(b'"') else b""
            text = field[1:-1] if mark else field
            literals[-1] += mark
            literals.append(mark + delimiter)
            cells.append(LineCell(*_cell(name, text, declared), mark or delimiter))
        literals[-1] = literals[-1][:-1] + ending[0]
        return LinePattern(tuple(literals), tuple(cells), LONGEST_LINE, declared.decimal)
    return None


def first_lines(window: Window) -> list[bytes]:
    """Give some lines, of which one may be what the others are like."""
    return window.content[: min(window.stop, HEAD)].splitlines(keepends=True)[:TRIED]


def _cell(name: str, text: bytes, declared: Declared) -> tuple[str | None, int]:
    """Say what a column of texts is, by its place in the declaration and an example."""
    if name not in declared.wanted:
        return None, SKIPPED
    marks = {declared.deleted, declared.sequence, *(travels for travels, _ in declared.payload)}
    is_time = name in (declared.ts, declared.clock)
    is_stream = declared.has_stream_column and name == declared.stream_id
    if name in marks or is_time + is_stream + (name in declared.numbers) != 1:
        return name, TEXT
    if not is_time:
        return name, STREAM if is_stream else NUMBER
    forms = [declared.time_form] * (name == declared.ts)
    forms += [declared.clock_form] * (name == declared.clock)
    return name, _time(text, forms)


def _time(text: bytes, forms: Sequence[TimeForm]) -> int:
    if any(form.format is not None or form.day is not None for form in forms):
        return TEXT
    if _INSTANT.fullmatch(text):
        return INSTANT
    counted = all(form.unit is not None for form in forms)
    return INTEGER if counted and _INTEGER.fullmatch(text) else TEXT


def json_pattern(line: bytes, example: Mapping[str, Any], declared: Declared) -> LinePattern | None:
    """Make the pattern of lines with the keys of an example, which `line` says; None without."""
    if declared.wide or len(example) > MOST_CELLS:
        return None
    begin = line.find(b"{") + 1
    literals, cells = [line[:begin]], []
    for key in example:
        found = _MEMBER.match(line, begin)
        if found is None or found["key"] != key.encode():
            return None
        group = "bare" if found["text"] is None else "text"
        name, kind = _cell(key, found[group], declared)
        bare = _BARE.get(kind) if group == "bare" else kind
        if bare is None or (kind == NUMBER and group == "text"):
            return None
        literals[-1] += line[begin : found.start(group)]
        literals.append(line[found.end(group) : found.end()])
        cells.append(LineCell(name, bare, BACKSLASH))
        begin = found.end()
    rest = _REST.fullmatch(line, begin)
    if rest is None:
        return None
    literals[-1] += rest[0]
    return LinePattern(tuple(literals), tuple(cells), LONGEST_LINE, is_json=True)


_BARE = {SKIPPED: PLAIN, STREAM: STREAM_NUMBER, INTEGER: INTEGER, NUMBER: NUMBER}
"""What a cell without quotation marks is, by what it would be as a text."""
