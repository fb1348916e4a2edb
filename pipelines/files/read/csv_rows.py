"""Rows of a CSV file: RFC 4180, UTF-8, a header.

Law: a cell is the text that stood there; nothing is a null, nothing a number: `NA` is two letters.
"""

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from operator import itemgetter

import numpy as np
import pyarrow as pa
from pyarrow import csv

from fencepost.errors import BrokenIndex, Fault, refuse
from fencepost.tuples import Bools, Int64s
from pipelines.files.read.content import not_utf8, refusal, stretches
from pipelines.files.read.csv_records import ANY_RECORD, CR, NEXT_FIELD, Faulty, Records, split
from pipelines.files.read.lines import LONGEST, Lines, LongLine, Window, raw_text
from pipelines.files.read.malformed import Malformed
from pipelines.files.read.raw_rows import (
    Declared,
    RawRows,
    missing_columns,
    too_many_columns,
)

BLANK_LINES = re.compile(rb"(?:[ \t]*\r?\n)*")
HEADER = re.compile(rb"(%b)(?:\r?\n|\Z)" % ANY_RECORD.pattern)
BLOCK = 1 << 22
HEAD = LONGEST + 2
"""Bytes in which a header must stand, its line break too."""


class Header:
    """The names of a CSV file's columns, and where its rows begin."""

    def __init__(self, source: str, head: bytes) -> None:
        """Find the first record; blank lines before it are skipped. `head` is up to HEAD bytes."""
        begin = _first_record(head)
        self.source = source
        self.line = 1 + head.count(b"\n", 0, begin)
        is_cut = len(head) >= HEAD
        if not head[begin:].strip() and not is_cut:
            raise refusal(source, "is empty; a header with stream_id, ts and axes was expected")
        found = HEADER.match(head, begin)
        if is_cut and (found is None or found.end() == len(head)):
            message = f"has no header in its first {LONGEST:,} bytes: is it CSV?"
            raise refusal(source, message, line=self.line)
        if found is None:
            raise refusal(
                source, "the header is not CSV: a quotation mark out of place", line=self.line
            )
        try:
            self.text = found[1].decode()
        except UnicodeDecodeError:
            raise refusal(source, "the header is not UTF-8", line=self.line) from None
        self.names = tuple(_unquoted(field.decode()) for field in NEXT_FIELD.findall(found[1]))
        self.rows_begin = found.end()

    def faults(self, declared: Declared) -> list[Fault]:
        """List what is wrong with the names."""
        faults = too_many_columns(self.source, self.names, self.line)
        if faults:
            return faults
        seen: set[str] = set()
        for place, name in enumerate(self.names):
            if name in seen:
                faults.append(self._fault(f"column '{name}' stands twice in the header", place))
            elif not name and declared.axes is None:
                faults.append(self._fault(f"column {place + 1} of the header has no name", place))
            seen.add(name)
        return faults + missing_columns(self.source, self.names, declared, self.line)

    def _fault(self, message: str, place: int) -> Fault:
        fields = list(re.finditer(NEXT_FIELD.pattern.decode(), self.text))
        begin, end = fields[place].span(1)
        return Fault(self.source, message, self.line, begin + 1, self.text, end - begin)


def read_header(source: str, plain: io.BufferedReader) -> Header:
    """Read no more of a file than its header takes."""
    head = b""
    while len(head) < HEAD:
        more = plain.read(min(1 << 16, HEAD - len(head)))
        head += more
        found = HEADER.match(head, _first_record(head))
        if not more or (found is not None and found.end() < len(head)):
            break
    return Header(source, head)


def _unquoted(field: str) -> str:
    return field[1:-1].replace('""', '"') if field.startswith('"') else field


def _first_record(head: bytes) -> int:
    blank = BLANK_LINES.match(head)
    return 0 if blank is None else blank.end()


def rows(source: str, lines: Lines, axes: tuple[str, ...], declared: Declared) -> Iterator[RawRows]:
    """Read a file piece by piece; the columns asked for, each as text."""
    first = lines.next()
    header = Header(source, _head(first))
    declared = replace(declared, axes=axes)
    refuse(header.faults(declared))
    places = {name: header.names.index(name) for name in declared.wanted}
    if isinstance(first, Window):
        lines.past(first, header.rows_begin)
    while (found := lines.next()) is not None:
        if isinstance(found, LongLine):
            yield RawRows.none(declared, found.malformed, lines.done)
            continue
        records = split(found, len(header.names))
        lines.past(found, records.next_begin)
        content = found.content[: records.next_begin]
        yield _piece(content, records, len(header.names), places, lines.done)


def _head(first: Window | LongLine | None) -> bytes:
    if isinstance(first, Window):
        return first.content[:HEAD]
    return b"" if first is None else first.head.ljust(HEAD, b"\0")


def _piece(
    content: bytes, records: Records, fields: int, places: Mapping[str, int], done: float
) -> RawRows:
    wrong = not_utf8(content, records.begin, records.end)
    faulty = [*records.faulty, *_undecodable(records, wrong)]
    malformed = [(line, why, raw_text(content[begin:end])) for line, why, begin, end in faulty]
    begins, ends = records.begin[~wrong], records.end[~wrong]

    def raw_of(rows: Int64s) -> pa.StringArray:
        return stretches(content, begins[rows], ends[rows])

    longest = int((ends - begins).max(initial=0))
    cells = _cells(_body(content, begins, ends), longest, fields, places)
    read = min(map(len, cells.values()))
    if read != len(begins):
        raise BrokenIndex(f"{len(begins)} CSV records became {read} rows")
    by_line = sorted(malformed, key=itemgetter(0))
    return RawRows(records.line[~wrong], cells, Malformed.of(by_line), raw_of, done)


def _undecodable(records: Records, wrong: Bools) -> Iterator[Faulty]:
    for row in np.flatnonzero(wrong).tolist():
        begin, end = int(records.begin[row]), int(records.end[row])
        yield int(records.line[row]), "bytes that are not UTF-8", begin, end


def _body(content: bytes, begins: Int64s, ends: Int64s) -> pa.Buffer:
    """Put the records behind each other, line breaks and all; no copy if none is left out."""
    if not len(begins):
        return pa.py_buffer(b"")
    bytes_of = np.frombuffer(content, np.uint8)
    with_break = ends + 1 + (bytes_of[np.minimum(ends, len(content) - 1)] == CR)
    torn = np.flatnonzero(begins[1:] != with_break[:-1]) + 1
    firsts, lasts = begins[np.r_[0, torn]], with_break[np.r_[torn - 1, len(ends) - 1]]
    if not torn.size:
        end = min(int(lasts[0]), len(content))
        return pa.py_buffer(content).slice(int(firsts[0]), end - int(firsts[0]))
    runs = zip(firsts.tolist(), lasts.tolist(), strict=True)
    return pa.py_buffer(b"".join(content[first:last] for first, last in runs))


def _cells(
    body: pa.Buffer, longest: int, fields: int, places: Mapping[str, int]
) -> dict[str, pa.Array]:
    """Let Arrow undo the quotation marks; every cell stays the text that it is."""
    if not body.size:
        return {name: pa.array([], pa.string()) for name in places}
    names = [str(place) for place in range(fields)]
    wanted = [names[place] for place in places.values()]
    table = csv.read_csv(
        pa.BufferReader(body),
        read_options=csv.ReadOptions(column_names=names, block_size=max(BLOCK, longest + 2)),
        parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
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
