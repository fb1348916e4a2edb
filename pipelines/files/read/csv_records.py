"""Where each record of a CSV file begins and ends.

RFC 4180, UTF-8: fields parted by a delimiter, records by line breaks (LF or CRLF); a field in
quotation marks may hold delimiters, line breaks and doubled quotation marks. Lines without a
quotation mark are records as they are, which NumPy finds; only those that hold one are matched
against the grammar one by one.

Law: a record is accepted iff the grammar reads exactly as many fields as the header has. One that
does not match is malformed to the end of its line and reading resumes on the next, so that a stray
quotation mark costs its own row and no other.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.text import counted
from fencepost.tuples import Bools, Int64s
from pipelines.files.read.content import LONGEST_LINE, Window, why_long
from pipelines.files.read.grammar import Grammar, grammar_of

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


def are_alone(content: bytes, ends: Int64s, fields: int, grammar: Grammar) -> bool:
    """Say whether each line with a quotation mark is a record by itself; `ends` part the lines."""
    match = grammar.record_of(fields).match
    begin = 0
    for end in ends.tolist():
        if content.find(b'"', begin, end) >= 0:
            found = match(content, begin, end)
            if found is None or found.end() != end:
                return False
        begin = end
    return True
