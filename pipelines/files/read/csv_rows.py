"""Rows of a CSV file: where each record begins and ends, then its cells, a column at a time.

RFC 4180, UTF-8, a header: fields parted by commas, records by line breaks (LF or CRLF); a field in
quotation marks may hold commas, line breaks and doubled quotation marks. Lines without a quotation
mark are records as they are, which NumPy finds; only those that hold one are matched against the
grammar one by one.

Law: a record is accepted iff the grammar reads exactly as many fields as the header has. One that
does not match is malformed to the end of its line and reading resumes on the next, so that a stray
quotation mark costs its own row and no other. A cell is the text of the file; nothing is a null,
nothing a number: `NA` is two letters.
"""

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import itemgetter

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

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
from pipelines.files.read.rows import (
    Declared,
    Malformed,
    RawRows,
    missing_columns,
    too_many_columns,
)

LONGEST_QUOTED = 1 << 20
"""Bytes of the longest record with quotation marks: how far an open one is followed."""

FIELD = rb'(?:"(?:[^"]++|"")*+"|[^",\r\n]*+)'
FIELD_IN_LINE = r'(?:"(?:[^"\n]|"")*"|[^",\r\n]*)'
ANY_RECORD = re.compile(rb"%b(?:,%b)*+" % (FIELD, FIELD))
NEXT_FIELD = re.compile(rb"(?:\A|,)(%b)" % FIELD)
MOST_AT_ONCE = 50
"""Fields up to which one automaton matches whole lines; beyond it would be too large."""
LF, CR, COMMA, QUOTE = b'\n\r,"'

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


@lru_cache(maxsize=8)
def record_of(fields: int) -> re.Pattern[bytes]:
    """Give the grammar of a record of exactly this many fields, and of its line break."""
    return re.compile(rb"(%b(?:,%b){%d})(?:\r?\n|\Z)" % (FIELD, FIELD, fields - 1))


def split(window: Window, fields: int) -> Records:
    """Split a window: O(bytes), 1 µs a record of many lines."""
    content, stop, line = window.content, window.stop, window.line
    piece = np.frombuffer(content, np.uint8, stop)
    lines = _lines(content, piece, stop)
    commas = np.flatnonzero(piece == COMMA)
    counts = np.searchsorted(commas, lines.ends) - np.searchsorted(commas, lines.begins)
    too_long = lines.ends - lines.begins > LONGEST_LINE
    accepted = (counts == fields - 1) & ~lines.strays & ~too_long
    left = ~accepted & (lines.ends > lines.begins)
    next_begin = stop
    if content.find(b'"', 0, stop) >= 0:
        quoted = lines.marked(np.flatnonzero(piece == QUOTE)) & ~too_long
        next_begin = max(stop, _accept_quoted(lines, quoted, accepted, left, fields))
    faulty = [
        (line + row, detail, int(lines.begins[row]), int(lines.ends[row]))
        for row in np.flatnonzero(left).tolist()
        if (detail := _why(lines, row, fields)) is not None
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


def _accept_quoted(lines: _Lines, quoted: Bools, accepted: Bools, left: Bools, fields: int) -> int:
    """Match the records that begin in lines with quotation marks; say where the last one ends."""
    match = record_of(fields).match
    content, begins = lines.content, lines.begins
    alone = _alone(lines, np.flatnonzero(quoted), fields)
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


def _alone(lines: _Lines, rows: Int64s, fields: int) -> Int64s:
    """Say which of these lines are records by themselves, vectorised (0.3 µs a line)."""
    if fields > MOST_AT_ONCE:
        return rows[:0]
    offsets = np.r_[lines.begins, min(int(lines.breaks[-1]) + 1, len(lines.content))]
    every = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(),
        len(lines.begins),
        [None, pa.py_buffer(offsets), pa.py_buffer(lines.content)],
    )
    pattern = f"^{FIELD_IN_LINE}(?:,{FIELD_IN_LINE}){{{fields - 1}}}(?:\r?\n)?$"
    found = pc.match_substring_regex(every.take(pa.array(rows)), pattern)
    alone: Int64s = rows[found.to_numpy(zero_copy_only=False)]
    return alone


def _is_whole(content: bytes, end: int, limit: int) -> bool:
    """A record that ends at the pattern's limit has not been read to its end."""
    return end < limit or end == len(content) or content[end - 1] == LF


def _why(lines: _Lines, row: int, fields: int) -> str | None:
    """Say why a line is no record; None where it is blank, and so no row."""
    record = lines.content[lines.begins[row] : lines.ends[row]]
    if not record.strip():
        return None
    if len(record) > LONGEST_LINE:
        return why_long(len(record))
    if b"\r" in record and b'"' not in record:
        return "a carriage return without a line feed"
    if ANY_RECORD.fullmatch(record) is None:
        return "a quotation mark out of place, or one that is never closed"
    count = len(NEXT_FIELD.findall(record))
    return f"{counted(count, 'field')}, where the header has {fields}"


BLANK_LINES = re.compile(rb"(?:[ \t]*\r?\n)*")
HEADER = re.compile(rb"(%b)(?:\r?\n|\Z)" % ANY_RECORD.pattern)
BLOCK = 1 << 22
HEAD = LONGEST_LINE + 2
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
            message = f"has no header in its first {LONGEST_LINE:,} bytes: is it CSV?"
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
                faults.append(self._fault(f"column '{name}' occurs twice in the header", place))
            elif not name and declared.axes is None:
                faults.append(self._fault(f"column {place + 1} of the header has no name", place))
            seen.add(name)
        return faults + missing_columns(self.source, self.names, declared, self.line)

    def _fault(self, message: str, place: int) -> Fault:
        fields = list(re.finditer(NEXT_FIELD.pattern.decode(), self.text))
        begin, end = fields[place].span(1)
        return Fault(self.source, message, self.line, begin + 1, self.text, end - begin)


def read_header(source: str, plain: io.BufferedReader) -> Header:
    """Read as much of a file as its header needs."""
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
    """Read a file piece by piece; the wanted columns, each as text."""
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
    """Concatenate the records with their line breaks; no copy if none is left out."""
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
    """Let Arrow undo the quotation marks; every cell stays text."""
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
