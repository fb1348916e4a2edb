"""Where each record of a CSV file begins and ends, before anything in it is read.

RFC 4180: fields parted by commas, records by line breaks (LF or CRLF); a field in quotation marks
may hold commas, line breaks and doubled quotation marks. Lines without a quotation mark are records
as they are, which NumPy finds; only those that hold one are matched against the grammar one by one.

Law: a record is taken iff the grammar reads exactly as many fields as the header has. One that does
not match is malformed to the end of its line and reading resumes on the next, so that a stray
quotation mark costs its own row and no other.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.plurals import counted
from fencepost.tuples import Bools, Int64s
from pipelines.files.read.lines import LONGEST as LONGEST_LINE
from pipelines.files.read.lines import Window, why_long

LONGEST = 1 << 20
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
    """Give the grammar of a record of exactly so many fields, and of its line break."""
    return re.compile(rb"(%b(?:,%b){%d})(?:\r?\n|\Z)" % (FIELD, FIELD, fields - 1))


def split(window: Window, fields: int) -> Records:
    """Split a window: O(bytes), 1 µs a record of many lines."""
    content, stop, line = window.content, window.stop, window.line
    piece = np.frombuffer(content, np.uint8, stop)
    lines = _lines(content, piece, stop)
    commas = np.flatnonzero(piece == COMMA)
    counts = np.searchsorted(commas, lines.ends) - np.searchsorted(commas, lines.begins)
    too_long = lines.ends - lines.begins > LONGEST_LINE
    taken = (counts == fields - 1) & ~lines.strays & ~too_long
    left = ~taken & (lines.ends > lines.begins)
    next_begin = stop
    if content.find(b'"', 0, stop) >= 0:
        quoted = lines.marked(np.flatnonzero(piece == QUOTE)) & ~too_long
        next_begin = max(stop, _take_quoted(lines, quoted, taken, left, fields))
    faulty = [
        (line + row, detail, int(lines.begins[row]), int(lines.ends[row]))
        for row in np.flatnonzero(left).tolist()
        if (detail := _why(lines, row, fields)) is not None
    ]
    rows = np.flatnonzero(taken)
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


def _take_quoted(lines: _Lines, quoted: Bools, taken: Bools, left: Bools, fields: int) -> int:
    """Match the records that begin in lines with quotation marks; say where the last one ends."""
    match = record_of(fields).match
    content, begins = lines.content, lines.begins
    alone = _alone(lines, np.flatnonzero(quoted), fields)
    taken[alone], left[alone], quoted[alone] = True, False, False
    resume = 0
    for row, begin in zip(np.flatnonzero(quoted).tolist(), begins[quoted].tolist(), strict=True):
        if begin < resume:
            continue
        found = match(content, begin, begin + LONGEST)
        taken[row] = found is not None and _is_whole(content, found.end(), begin + LONGEST)
        left[row] = not taken[row]
        if found is None or left[row]:
            continue
        lines.ends[row] = found.end(1)
        if found.end() > lines.breaks[row] + 1:
            resume = found.end()
            beyond = np.searchsorted(begins, resume)
            taken[row + 1 : beyond] = left[row + 1 : beyond] = False
    return resume


def _alone(lines: _Lines, rows: Int64s, fields: int) -> Int64s:
    """Say which of these lines are records that end with them, all at once (0.3 µs a line)."""
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
    """A record that stops where the pattern was told to stop has not been read to its end."""
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
