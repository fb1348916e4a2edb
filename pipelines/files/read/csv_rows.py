"""Rows of a CSV file: its header, then its cells, a column at a time.

A window of lines that are like the first one is read by a pattern (`patterns.py`). Else its records
are found (`csv_records.py`), and Arrow gives their cells.

Law: a cell is the text of the file, or what all readers of cells take that text for; nothing is a
null, nothing a number: `NA` is two letters. Both ways give the same tuples and malformed rows.
"""

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import csv

from fencepost.arrow import owned
from fencepost.errors import BrokenIndex, Fault, refuse
from fencepost.tuples import Bools, Int64s
from pipelines.files.read.content import (
    LONGEST_LINE,
    PATTERNED,
    Lines,
    LineSpan,
    LongLine,
    Window,
    not_utf8,
    raw_text,
    refusal,
    stretches,
)
from pipelines.files.read.csv_records import COMMA, CR, LF, Faulty, Records, are_alone, split
from pipelines.files.read.declaration import Declared
from pipelines.files.read.grammar import (
    FIRST_ROWS,
    delimiter_of,
    first_record,
    grammar_of,
    unquoted,
)
from pipelines.files.read.records import (
    Malformed,
    RawRows,
    missing_columns,
    too_many_columns,
)

if TYPE_CHECKING:
    from fencepost.lines.pattern import LinePattern

BLOCK = 1 << 22
INDEX = "index"
NOTHING = Declared()
HEAD = LONGEST_LINE + 2
"""Bytes in which a header must stand, its line break too."""


class Header:
    """The names of a CSV file's columns, what parts them, and where its rows begin.

    A first column without a name is the index that pandas writes: it is called so, if nothing is.
    """

    def __init__(self, source: str, head: bytes, declared: Declared, line: int = 1) -> None:
        """Find the first record; blank lines before it are skipped.

        `head` is up to HEAD bytes, the first of them in `line`. Where the columns are declared
        there is no header.
        """
        begin = first_record(head)
        self.source = source
        self.line = line + head.count(b"\n", 0, begin)
        self.grammar = grammar_of(delimiter_of(head, declared))
        self.is_declared = bool(declared.columns)
        is_cut = len(head) >= HEAD
        if self.is_declared:
            self.text, self.names, self.rows_begin = "", declared.columns, 0
            return
        if not head[begin:].strip() and not is_cut:
            raise refusal(source, "is empty; a header with stream_id, ts and axes was expected")
        found = self.grammar.header.match(head, begin)
        if is_cut and (found is None or found.end() == len(head)):
            message = f"has no header in its first {LONGEST_LINE:,} bytes: is it CSV?"
            raise refusal(source, message, line=self.line)
        if found is None:
            raise refusal(
                source, "the header is not CSV: a quotation mark out of place", line=self.line
            )
        try:
            self.text = found[1].decode()
        except UnicodeDecodeError:
            hint = 'If it is Latin-1, declare encoding = "latin-1".'
            raise refusal(source, "the header is not UTF-8", line=self.line, hint=hint) from None
        fields = [unquoted(field.decode()) for field in self.grammar.fields_of(found[1])]
        self.has_index = fields[0] == "" and INDEX not in fields and len(fields) > 1
        self.names = (INDEX, *fields[1:]) if self.has_index else tuple(fields)
        self.rows_begin = found.end()

    has_index = False

    @property
    def named_by(self) -> str:
        """Who says how many fields a record has."""
        return "`columns` names" if self.is_declared else "the header has"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names that may be axes: not that of an index, unless a key names it."""
        return self.names[1:] if self.has_index else self.names

    def faults(self, declared: Declared) -> list[Fault]:
        """List what is wrong with the names."""
        faults = too_many_columns(self.source, self.names, self.line)
        if faults:
            return faults
        seen: set[str] = set()
        for place, name in enumerate(self.names):
            if name in seen:
                faults.append(self._fault(f"column '{name}' occurs twice in the header", place))
            elif not name and declared.axes is None:
                faults.append(self._fault(f"column {place + 1} of the header has no name", place))
            seen.add(name)
        return faults + missing_columns(self.source, self.names, declared, self.line)

    def _fault(self, message: str, place: int) -> Fault:
        if self.is_declared:
            return Fault(self.source, message)
        fields = list(re.finditer(self.grammar.next_field.pattern.decode(), self.text))
        begin, end = fields[place].span(1)
        return Fault(self.source, message, self.line, begin + 1, self.text, end - begin)


def read_header(
    source: str, plain: io.BufferedReader, declared: Declared = NOTHING, line: int = 1
) -> Header:
    """Read as much of a file as its header needs, and the first rows, which must agree with it."""
    head = b""
    while len(head) < HEAD:
        more = plain.read(min(1 << 16, HEAD - len(head)))
        head += more
        if not more or head.count(b"\n", first_record(head)) > FIRST_ROWS:
            break
        found = COMMA.header.match(head, first_record(head))
        if found is not None and found.end() < len(head) and declared.delimiter is not None:
            break
    return Header(source, head, declared, line)


def rows(
    source: str,
    lines: Lines,
    axes: tuple[str, ...],
    declared: Declared,
    span: LineSpan | None = None,
) -> Iterator[RawRows]:
    """Read a file, or some lines of it, piece by piece: the wanted columns."""
    first = lines.next()
    line = first.line if first is not None else 1
    header = Header(source, _head(first), replace(declared, axes=axes), line)
    declared = replace(declared, axes=axes)
    refuse(header.faults(declared))
    reading = _Reading(
        header, {name: header.names.index(name) for name in declared.wanted}, declared
    )
    pattern: LinePattern | None = None
    if isinstance(first, Window):
        lines.past(first, header.rows_begin)
    if span is not None:
        lines.within(span)
    while (found := lines.next()) is not None:
        if isinstance(found, LongLine):
            yield RawRows.none(declared, found.malformed, lines.done)
            continue
        if pattern is None and found.stop >= PATTERNED:
            pattern = reading.pattern(found)
        read = None if pattern is None else reading.by_pattern(pattern, found)
        used = found.stop
        if read is None:
            pattern = None
            read, used = reading.read(found)
        lines.past(found, used)
        yield replace(read, done=lines.done)


@dataclass(frozen=True)
class _Reading:
    """Reads windows of a file: by a pattern, or by the grammar, where each column is text."""

    header: Header
    places: Mapping[str, int]
    declared: Declared

    def read(self, window: Window) -> tuple[RawRows, int]:
        """Read a window, and as much behind it as its last record takes; say where that ends."""
        header = self.header
        records = split(window, len(header.names), header.grammar, header.named_by)
        content = window.content[: records.next_begin]
        rows = _piece(content, records, header, self.places)
        return replace(rows, decimal=self.declared.decimal), records.next_begin

    def pattern(self, window: Window) -> "LinePattern | None":
        """Make a pattern of one of the first lines."""
        from pipelines.files.read.patterns import csv_pattern

        return csv_pattern(window, self.header.grammar, self.header.names, self.declared)

    def by_pattern(self, pattern: "LinePattern", window: Window) -> RawRows | None:
        """Read a window by a pattern, and what is unlike by the grammar; None where that fails."""
        from pipelines.files.read.patterns import rows_by

        return rows_by(pattern, window, self._others)

    def _others(self, window: Window) -> RawRows | None:
        """Read lines that do not follow each other; None where one alone may be no record."""
        content, header = window.content, self.header
        ends = np.flatnonzero(np.frombuffer(content, np.uint8) == LF) + 1
        if b'"' in content and not are_alone(content, ends, len(header.names), header.grammar):
            return None
        return self.read(window)[0]


def _head(first: Window | LongLine | None) -> bytes:
    if isinstance(first, Window):
        return first.content[:HEAD]
    return b"" if first is None else first.head.ljust(HEAD, b"\0")


def _piece(content: bytes, records: Records, header: Header, places: Mapping[str, int]) -> RawRows:
    wrong = not_utf8(content, records.begin, records.end)
    faulty = [*records.faulty, *_undecodable(records, wrong)]
    malformed = [(line, why, raw_text(content[begin:end])) for line, why, begin, end in faulty]
    begins, ends = records.begin[~wrong], records.end[~wrong]

    def raw_of(rows: Int64s) -> pa.StringArray:
        return stretches(content, begins[rows], ends[rows])

    longest = int((ends - begins).max(initial=0))
    cells = _cells(_body(content, begins, ends), longest, header, places)
    read = min(map(len, cells.values()))
    if read != len(begins):
        raise BrokenIndex(f"{len(begins)} CSV records became {read} rows")
    by_line = sorted(malformed, key=itemgetter(0))
    return RawRows(records.line[~wrong], cells, Malformed.of(by_line), raw_of)


def _undecodable(records: Records, wrong: Bools) -> Iterator[Faulty]:
    for row in np.flatnonzero(wrong).tolist():
        begin, end = int(records.begin[row]), int(records.end[row])
        yield int(records.line[row]), "bytes that are not UTF-8", begin, end


def _body(content: bytes, begins: Int64s, ends: Int64s) -> pa.Buffer:
    """Concatenate the records with their line breaks."""
    if not len(begins):
        return pa.py_buffer(b"")
    bytes_of = np.frombuffer(content, np.uint8)
    with_break = ends + 1 + (bytes_of[np.minimum(ends, len(content) - 1)] == CR)
    torn = np.flatnonzero(begins[1:] != with_break[:-1]) + 1
    firsts, lasts = begins[np.r_[0, torn]], with_break[np.r_[torn - 1, len(ends) - 1]]
    view = memoryview(content)
    runs = zip(firsts.tolist(), lasts.tolist(), strict=True)
    return owned([view[first:last] for first, last in runs])


def _cells(
    body: pa.Buffer, longest: int, header: Header, places: Mapping[str, int]
) -> dict[str, pa.Array]:
    """Let Arrow undo the quotation marks; every cell stays text."""
    if not body.size:
        return {name: pa.array([], pa.string()) for name in places}
    names = [str(place) for place in range(len(header.names))]
    wanted = [names[place] for place in places.values()]
    table = csv.read_csv(
        pa.BufferReader(body),  # read by Arrow's threads
        read_options=csv.ReadOptions(column_names=names, block_size=max(BLOCK, longest + 2)),
        parse_options=csv.ParseOptions(
            delimiter=header.grammar.delimiter, newlines_in_values=True, ignore_empty_lines=False
        ),
        convert_options=csv.ConvertOptions(
            check_utf8=False,
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=wanted,
            strings_can_be_null=False,
        ),
    )
    columns = table.combine_chunks()
    return {
        name: columns.column(wanted_name).chunk(0)
        for name, wanted_name in zip(places, wanted, strict=True)
    }
