"""Rows of a CSV file: where each record begins and ends, then its cells, a column at a time.

RFC 4180, UTF-8, a header: fields parted by a delimiter, records by line breaks (LF or CRLF); a
field in quotation marks may hold delimiters, line breaks and doubled quotation marks. Lines without
a quotation mark are records as they are, which NumPy finds; only those that hold one are matched
against the grammar one by one.

Law: a record is accepted iff the grammar reads exactly as many fields as the header has. One that
does not match is malformed to the end of its line and reading resumes on the next, so that a stray
quotation mark costs its own row and no other. A cell is the text of the file; nothing is a null,
nothing a number: `NA` is two letters.
"""

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from fencepost.arrow import owned
from fencepost.errors import BrokenIndex, Fault, refuse
from fencepost.text import counted
from fencepost.tuples import Bools, Int64s
from pipelines.files.read.content import (
    LONGEST_LINE,
    Lines,
    LongLine,
    Window,
    not_utf8,
    raw_text,
    refusal,
    stretches,
    why_long,
)
from pipelines.files.read.declaration import Declared
from pipelines.files.read.grammar import (
    FIRST_ROWS,
    Grammar,
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

LONGEST_QUOTED = 1 << 20
"""Bytes of the longest record with quotation marks: how far an open one is followed."""

MOST_AT_ONCE = 50
"""Fields up to which one automaton matches whole lines; beyond it would be too large."""
LF, CR, QUOTE = b'\n\r"'
COMMA = grammar_of(",")

Faulty = tuple[int, str, int, int]
"""Line, detail, begin and end of a malformed record."""


@dataclass(frozen=True, eq=False)
class Records:
    """The records of a piece: where each begins and ends, its line break left out, and its line."""

    begin: Int64s
    end: Int64s
    line: Int64s
    faulty: list[Faulty]
    next_begin: int


@dataclass(frozen=True, eq=False)
class _Lines:
    """The lines of a piece, as if there were no quotation marks; `ends` are those of the text."""

    content: bytes
    begins: Int64s
    breaks: Int64s
    ends: Int64s
    strays: Bools

    def marked(self, places: Int64s) -> Bools:
        """Say which lines hold one of these places."""
        flags = np.zeros(len(self.begins), np.bool_)
        flags[np.searchsorted(self.breaks, places)] = True
        return flags


def split(
    window: Window, fields: int, grammar: Grammar = COMMA, named_by: str = "the header has"
) -> Records:
    """Split a window: O(bytes), 1 µs a record of many lines."""
    content, stop, line = window.content, window.stop, window.line
    piece = np.frombuffer(content, np.uint8, stop)
    lines = _lines(content, piece, stop)
    parted = np.flatnonzero(piece == grammar.byte)
    counts = np.searchsorted(parted, lines.ends) - np.searchsorted(parted, lines.begins)
    too_long = lines.ends - lines.begins > LONGEST_LINE
    accepted = (counts == fields - 1) & ~lines.strays & ~too_long
    left = ~accepted & (lines.ends > lines.begins)
    next_begin = stop
    whole = _Whole(fields, grammar, named_by)
    if content.find(b'"', 0, stop) >= 0:
        quoted = lines.marked(np.flatnonzero(piece == QUOTE)) & ~too_long
        next_begin = max(stop, _accept_quoted(lines, quoted, accepted, left, whole))
    faulty = [
        (line + row, detail, int(lines.begins[row]), int(lines.ends[row]))
        for row in np.flatnonzero(left).tolist()
        if (detail := _why(lines, row, whole)) is not None
    ]
    rows = np.flatnonzero(accepted)
    return Records(lines.begins[rows], lines.ends[rows], rows + line, faulty, next_begin)


def _lines(content: bytes, piece: npt.NDArray[np.uint8], stop: int) -> _Lines:
    breaks = np.flatnonzero(piece == LF)
    if not breaks.size or breaks[-1] != stop - 1:
        breaks = np.append(breaks, stop)
    begins = np.r_[0, breaks[:-1] + 1]
    lines = _Lines(content, begins, breaks, breaks.copy(), np.zeros(len(begins), np.bool_))
    if content.find(b"\r", 0, stop) >= 0:
        returns = np.flatnonzero(piece == CR)
        before = np.isin(returns + 1, breaks) & (returns + 1 < len(content))
        lines.ends[lines.marked(returns[before])] -= 1
        lines.strays[:] = lines.marked(returns[~before])
    return lines


class _Whole(NamedTuple):
    """What a record is: so many fields of a grammar, and by whom they are named."""

    fields: int
    grammar: Grammar
    named_by: str


def _accept_quoted(
    lines: _Lines, quoted: Bools, accepted: Bools, left: Bools, whole: _Whole
) -> int:
    """Match the records that begin in lines with quotation marks; say where the last one ends."""
    match = whole.grammar.record_of(whole.fields).match
    content, begins = lines.content, lines.begins
    alone = _alone(lines, np.flatnonzero(quoted), whole)
    accepted[alone], left[alone], quoted[alone] = True, False, False
    resume = 0
    for row, begin in zip(np.flatnonzero(quoted).tolist(), begins[quoted].tolist(), strict=True):
        if begin < resume:
            continue
        found = match(content, begin, begin + LONGEST_QUOTED)
        accepted[row] = found is not None and _is_whole(
            content, found.end(), begin + LONGEST_QUOTED
        )
        left[row] = not accepted[row]
        if found is None or left[row]:
            continue
        lines.ends[row] = found.end(1)
        if found.end() > lines.breaks[row] + 1:
            resume = found.end()
            beyond = np.searchsorted(begins, resume)
            accepted[row + 1 : beyond] = left[row + 1 : beyond] = False
    return resume


def _alone(lines: _Lines, rows: Int64s, whole: _Whole) -> Int64s:
    """Say which of these lines are records by themselves, vectorised (0.3 µs a line)."""
    if whole.fields > MOST_AT_ONCE:
        return rows[:0]
    offsets = np.r_[lines.begins, min(int(lines.breaks[-1]) + 1, len(lines.content))]
    every = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(),
        len(lines.begins),
        [None, pa.py_buffer(offsets), pa.py_buffer(lines.content)],
    )
    pattern = whole.grammar.line_of(whole.fields)
    found = pc.match_substring_regex(every.take(pa.array(rows)), pattern)
    alone: Int64s = rows[found.to_numpy(zero_copy_only=False)]
    return alone


def _is_whole(content: bytes, end: int, limit: int) -> bool:
    """A record that ends at the pattern's limit has not been read to its end."""
    return end < limit or end == len(content) or content[end - 1] == LF


def _why(lines: _Lines, row: int, whole: _Whole) -> str | None:
    """Say why a line is no record; None where it is blank, and so no row."""
    record = lines.content[lines.begins[row] : lines.ends[row]]
    if not record.strip() and whole.grammar.byte not in record:
        return None
    if len(record) > LONGEST_LINE:
        return why_long(len(record))
    if b"\r" in record and b'"' not in record:
        return "a carriage return without a line feed"
    if whole.grammar.any_record.fullmatch(record) is None:
        return "a quotation mark out of place, or one that is never closed"
    count = len(whole.grammar.fields_of(record))
    return f"{counted(count, 'field')}, where {whole.named_by} {whole.fields}"


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


def rows(source: str, lines: Lines, axes: tuple[str, ...], declared: Declared) -> Iterator[RawRows]:
    """Read a file piece by piece; the wanted columns, each as text."""
    first = lines.next()
    line = first.line if first is not None else 1
    header = Header(source, _head(first), replace(declared, axes=axes), line)
    declared = replace(declared, axes=axes)
    refuse(header.faults(declared))
    places = {name: header.names.index(name) for name in declared.wanted}
    if isinstance(first, Window):
        lines.past(first, header.rows_begin)
    while (found := lines.next()) is not None:
        if isinstance(found, LongLine):
            yield RawRows.none(declared, found.malformed, lines.done)
            continue
        records = split(found, len(header.names), header.grammar, header.named_by)
        lines.past(found, records.next_begin)
        content = found.content[: records.next_begin]
        rows = _piece(content, records, header, places)
        yield replace(rows, done=lines.done, decimal=declared.decimal)


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
