"""Lines by a pattern, column by column: streams as codes, times and numbers as such.

Law: what a pattern reads of a line is what the slow readers of cells read of it; any line may be
left to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Bytes, Doubles, Int32s, Int64s, UInt64s
from fencepost.arrow import cut_out
from fencepost.doubles import EXACT_UP_TO
from fencepost.lines import kernels
from fencepost.lines.kernels import INSTANT, INTEGER, NUMBER, STREAM, STREAM_NUMBER, TEXT
from fencepost.lines.known_streams import KnownStreams

TIME = pa.timestamp("us", "UTC")
AT_ONCE = 1 << 8
"""Lines whose streams are looked up in a row: their text is still in the cache."""
ROWS_OF = {INSTANT: "counts", INTEGER: "counts", NUMBER: "numbers", TEXT: "texts"}
"""Which of the results has a row for each cell of a kind."""


@dataclass(frozen=True)
class LineCell:
    """A cell of a line.

    name   its column; None where nobody wants it
    never  a byte that it does not hold, beside quotation marks and control characters
    """

    name: str | None
    kind: int
    never: bytes


@dataclass(frozen=True, eq=False)
class ReadLines:
    """The lines of a piece that fit a pattern, and the others.

    lines, begins, ends  of each that fits: its number from 0, where it begins, where its text ends
    columns              their cells
    others               int64[m, 3], of each other line: number, begin, end with its line break
    """

    lines: Int64s
    begins: Int64s
    ends: Int64s
    columns: Mapping[str, pa.Array]
    others: Int64s

    def without(self, rows: Int64s, break_size: int) -> "ReadLines":
        """Count some of the lines that fit among the others."""
        kept = np.delete(np.arange(len(self.lines)), rows)
        more = np.stack([self.lines[rows], self.begins[rows], self.ends[rows] + break_size], axis=1)
        others = np.concatenate([self.others, more])
        return ReadLines(
            self.lines[kept],
            self.begins[kept],
            self.ends[kept],
            {name: column.take(pa.array(kept)) for name, column in self.columns.items()},
            others[np.argsort(others[:, 0])],
        )


@dataclass(frozen=True)
class LinePattern:
    """Literals and cells in turn; the last literal ends with the line break.

    longest  bytes of a line that fits, at most
    decimal  what stands before the decimals of a number
    is_json  whether numbers and texts are those of JSON
    streams  those of the lines that were read: the next piece of a file has mostly the same
    """

    literals: tuple[bytes, ...]
    cells: tuple[LineCell, ...]
    longest: int
    decimal: str = "."
    is_json: bool = False
    streams: KnownStreams = field(default_factory=KnownStreams, compare=False)

    def read(self, content: bytes, stop: int, breaks: int) -> ReadLines:
        """Read `content[:stop]`, lines in UTF-8 with so many breaks. O(bytes), 2 ns a byte.

        The streams' names may be more than those of these lines.
        """
        room = _Room.of(self._compiled, breaks + 1)
        self.streams.make_room(breaks + 1, stop)
        if len(content) < stop + kernels.BEHIND:
            content = content[:stop] + bytes(kernels.BEHIND)
        fit, other, names, hard = kernels.read_lines(
            np.frombuffer(content, np.uint8),
            np.ndarray((len(content) - 7,), np.uint64, content, 0, (1,)),
            stop,
            *self._compiled,
            ord(self.decimal),
            self.is_json,
            self._break_size,
            self.longest,
            *self.streams.room,
            *room,
        )
        self.streams.learn(names)
        doubtful = self._hard(content, room.hard[:hard], room.numbers)
        columns = {
            cell.name: self._column(content, room, cell.kind, slot, fit)
            for cell, slot in zip(self.cells, self._compiled.slots.tolist(), strict=True)
            if cell.name is not None
        }
        found = ReadLines(
            room.lines[:fit], room.begins[:fit], room.ends[:fit], columns, room.others[:other]
        )
        return found.without(doubtful, self._break_size) if len(doubtful) else found

    def _column(self, content: bytes, room: "_Room", kind: int, slot: int, fit: int) -> pa.Array:
        if kind in (STREAM, STREAM_NUMBER):
            codes = pa.array(room.codes[:fit])
            return pa.DictionaryArray.from_arrays(codes, self.streams.names)
        return room.column(content, kind, slot, fit)

    @property
    def _break_size(self) -> int:
        return 2 if self.literals[-1].endswith(b"\r\n") else 1

    @cached_property
    def _compiled(self) -> "_PatternArrays":
        slots, used = [], dict.fromkeys((*ROWS_OF.values(), None), 0)
        for cell in self.cells:
            slots.append(used[ROWS_OF.get(cell.kind)])
            used[ROWS_OF.get(cell.kind)] += 1
        return _PatternArrays(
            np.frombuffer(b"".join(self.literals), np.uint8),
            np.cumsum([len(literal) for literal in self.literals]),
            np.array([cell.kind for cell in self.cells], np.int64),
            np.frombuffer(b"".join(cell.never for cell in self.cells), np.uint8),
            np.array(slots, np.int64),
        )

    def _hard(self, content: bytes, hard: Int64s, numbers: Doubles) -> Int64s:
        """Read the numbers that take more than a division; give the rows that stay doubtful."""
        if not len(hard):
            return np.empty(0, np.int64)
        text = pc.cast(cut_out(content, hard[:, 2], hard[:, 3]), pa.string())
        if self.decimal != ".":
            text = pc.replace_substring(text, self.decimal, ".")
        values = pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False) + 0.0
        numbers[hard[:, 1], hard[:, 0]] = values
        return np.unique(hard[~(np.abs(values) < EXACT_UP_TO), 0])


class _PatternArrays(NamedTuple):
    """A pattern as its kernel takes it: literals in a row, their ends, and what cells are."""

    literals: Bytes
    ends: Int64s
    kinds: Int64s
    nevers: Bytes
    slots: Int64s


class _Room(NamedTuple):
    """Room for what is read of a piece, as the kernel says it."""

    lines: Int64s
    begins: Int64s
    ends: Int64s
    codes: Int32s
    spans: Int64s
    hashes: UInt64s
    counts: Int64s
    numbers: Doubles
    texts: Int64s
    hard: Int64s
    others: Int64s

    @classmethod
    def of(cls, compiled: _PatternArrays, most: int) -> "_Room":
        """Make room for so many lines."""
        results = [ROWS_OF.get(kind) for kind in compiled.kinds.tolist()]
        counts, numbers, texts = (results.count(each) for each in ("counts", "numbers", "texts"))
        return cls(
            np.empty(most, np.int64),
            np.empty(most, np.int64),
            np.empty(most, np.int64),
            np.zeros(most, np.int32),
            np.empty((AT_ONCE, 2), np.int64),
            np.empty(AT_ONCE, np.uint64),
            np.empty((counts, most), np.int64),
            np.empty((numbers, most)),
            np.empty((texts, 2, most), np.int64),
            np.empty((most * numbers, 4), np.int64),
            np.empty((most, 3), np.int64),
        )

    def column(self, content: bytes, kind: int, slot: int, fit: int) -> pa.Array:
        """Give a column of the lines that fit, but for that of their streams."""
        if kind == TEXT:
            begins, ends = self.texts[slot, :, :fit]
            return pc.cast(cut_out(content, begins, ends), pa.string())
        if kind == NUMBER:
            return pa.array(self.numbers[slot, :fit])
        counts = pa.array(self.counts[slot, :fit])
        return counts.view(TIME) if kind == INSTANT else counts
