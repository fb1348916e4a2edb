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

from fencepost.errors import BrokenIndex, Fault
from fencepost.tuples import Bools, Int64s
from pipelines.reading.content import not_utf8, refusal, stretches
from pipelines.reading.csv_records import (
    ANY_RECORD,
    CR,
    LONGEST,
    NEXT_FIELD,
    Faulty,
    Records,
    split,
)
from pipelines.reading.malformed import Malformed
from pipelines.reading.raw_rows import Declared, RawRows, missing_columns, refuse

BLANK_LINES = re.compile(rb"(?:[ \t]*\r?\n)*")
HEADER = re.compile(rb"(%b)(?:\r?\n|\Z)" % ANY_RECORD.pattern)
BLOCK = 1 << 22


class Header:
    """The names of a CSV file's columns, and where its rows begin."""

    def __init__(self, source: str, head: bytes) -> None:
        """Find the first record; blank lines before it are skipped."""
        begin = _first_record(head)
        self.source = source
        self.line = 1 + head.count(b"\n", 0, begin)
        if not head[begin:].strip():
            raise refusal(source, "is empty; a header with stream_id, ts and axes was expected")
        found = HEADER.match(head, begin)
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
        self.rows_line = self.line + head.count(b"\n", begin, found.end())

    def faults(self, declared: Declared) -> list[Fault]:
        """List what is wrong with the names."""
        faults = []
        for place, name in enumerate(self.names):
            if name in self.names[:place]:
                faults.append(self._fault(f"column '{name}' stands twice in the header", place))
            elif not name and declared.axes is None:
                faults.append(self._fault(f"column {place + 1} of the header has no name", place))
        return faults + missing_columns(self.source, self.names, declared, self.line)

    def _fault(self, message: str, place: int) -> Fault:
        fields = list(re.finditer(NEXT_FIELD.pattern.decode(), self.text))
        begin, end = fields[place].span(1)
        return Fault(self.source, message, self.line, begin + 1, self.text, end - begin)


def read_header(source: str, plain: io.BufferedReader) -> Header:
    """Read no more of a file than its header takes."""
    head = b""
    while len(head) <= LONGEST:
        more = plain.read(1 << 16)
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


def rows(
    source: str, content: bytes, axes: tuple[str, ...], declared: Declared
) -> Iterator[RawRows]:
    """Read a file piece by piece; the columns asked for, each as text."""
    header = Header(source, content[: 2 * LONGEST])
    declared = replace(declared, axes=axes)
    refuse(header.faults(declared))
    places = {name: header.names.index(name) for name in declared.wanted}
    begin, line = header.rows_begin, header.rows_line
    while begin < len(content):
        records = split(content, begin, line, len(header.names))
        yield _piece(content, records, len(header.names), places)
        begin, line = records.next_begin, records.next_line


def _piece(content: bytes, records: Records, fields: int, places: Mapping[str, int]) -> RawRows:
    wrong = not_utf8(content, records.begin, records.end)
    faulty = [*records.faulty, *_undecodable(records, wrong)]
    malformed = [(line, why, _raw(content, begin, end)) for line, why, begin, end in faulty]
    begins, ends = records.begin[~wrong], records.end[~wrong]

    def raw_of(rows: Int64s) -> pa.StringArray:
        return stretches(content, begins[rows], ends[rows])

    longest = int((ends - begins).max(initial=0))
    cells = _cells(_body(content, begins, ends), longest, fields, places)
    read = min(map(len, cells.values()))
    if read != len(begins):
        raise BrokenIndex(f"{len(begins)} CSV records became {read} rows")
    by_line = sorted(malformed, key=itemgetter(0))
    done = records.next_begin / len(content)
    return RawRows(records.line[~wrong], cells, Malformed.of(by_line), raw_of, done)


def _undecodable(records: Records, wrong: Bools) -> Iterator[Faulty]:
    for row in np.flatnonzero(wrong).tolist():
        begin, end = int(records.begin[row]), int(records.end[row])
        yield int(records.line[row]), "bytes that are not UTF-8", begin, end


def _raw(content: bytes, begin: int, end: int) -> str:
    return content[begin:end].decode(errors="backslashreplace")


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
