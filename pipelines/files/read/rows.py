"""The rows of a delivery: as a form's reader gives them, then tuples and malformed rows apart.

Law: each row is either a tuple or malformed as a whole, with its line. All that is wrong
in a row's cells is in one detail, beside the raw record.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise

import numpy as np
import pyarrow as pa

from fencepost import cells
from fencepost.cells import UNIT_BY_OPTION, CellFaults
from fencepost.errors import Fault
from fencepost.text import did_you_mean
from fencepost.tuples import Bools, Doubles, Int64s
from pipelines.files.read.content import Form

RawOf = Callable[[Int64s], pa.StringArray]
"""Gives the records of some rows, numbers from 0 that ascend, as they stood in the file."""


@dataclass(frozen=True, eq=False)
class Malformed:
    """The rows of a file that hold no tuple, by line."""

    line: Int64s
    detail: pa.StringArray
    raw: pa.StringArray

    @classmethod
    def of(cls, rows: Iterable[tuple[int, str, str]]) -> "Malformed":
        """Take (line, detail, raw) row by row."""
        listed = list(rows)
        return cls(
            np.array([line for line, _, _ in listed], np.int64),
            pa.array([detail for _, detail, _ in listed], pa.string()),
            pa.array([raw for _, _, raw in listed], pa.string()),
        )

    def __len__(self) -> int:
        """How many rows."""
        return len(self.line)

    def at(self, places: Int64s) -> "Malformed":
        """Keep those at some places, which ascend."""
        kept = pa.array(places)
        return Malformed(self.line[places], self.detail.take(kept), self.raw.take(kept))

    @classmethod
    def merged(cls, parts: Sequence["Malformed"]) -> "Malformed":
        """Merge parts in the order of the lines."""
        parts = [part for part in parts if len(part)]
        if len(parts) < 2:
            return parts[0] if parts else cls.of([])
        line = np.concatenate([part.line for part in parts])
        order = np.argsort(line, kind="stable")
        return cls(
            line[order],
            pa.concat_arrays([part.detail for part in parts]).take(pa.array(order)),
            pa.concat_arrays([part.raw for part in parts]).take(pa.array(order)),
        )


def by_piece(lengths: Sequence[int], parts: Sequence[RawOf]) -> RawOf:
    """Make one RawOf of those of consecutive pieces."""
    if len(parts) == 1:
        return parts[0]
    bounds = np.cumsum([0, *lengths])

    def raw_of(rows: Int64s) -> pa.StringArray:
        edges = np.searchsorted(rows, bounds)
        records = [
            part(rows[first:beyond] - begin)
            for part, begin, (first, beyond) in zip(parts, bounds, pairwise(edges), strict=False)
            if first < beyond
        ]
        return pa.concat_arrays(records) if records else pa.array([], pa.string())

    return raw_of


MOST_COLUMNS = 10_000
MOST_NAMED = 50
"""Columns that a file may have, and that are named where one is missing."""
STREAM_ID = "stream_id"
TS = "ts"


@dataclass(frozen=True)
class Declared:
    """The part of a feed's declaration about its files.

    axes       their columns; None: all columns beside stream_id, ts, the clock and `deleted`
    clock      the column of the feed's clock, where it has one
    ts_unit    what an integer time counts: s, ms, us or ns; None: integers are no times
    stream_id  the column with the tuple's stream
    ts         the column with the tuple's time
    form       the format of its files; None: detected by content
    deleted    the column that marks rows that remove their streams from sets, if any
    fixed      columns with the same text, or null, in every row, stored outside the file
    unit_by, axes_by  how a user declares a unit and the axes, for messages: by option or by key

    Of times: `ts` may be two columns, a date and a time of day; `ts_format` has codes of strptime;
    `timezone` is where times without an offset are read; `date` is the day of every time.
    Of text: `columns` names those of a file without a header, `skip_lines` stand before it, the
    `delimiter` is found where it is None. `stream` is that of every row; `wide`: every column that
    nothing names is a stream. `payload` are columns that travel along, and their kinds;
    `sequence` is the column that orders tuples of one instant, an integer or a text.
    …_from_path are regular expressions that find `date` and `stream` in the path of a file.
    """

    axes: tuple[str, ...] | None = None
    clock: str | None = None
    ts_unit: str | None = None
    stream_id: str = STREAM_ID
    ts: str | tuple[str, str] = TS
    form: Form | None = None
    fixed: Mapping[str, str | None] = field(default_factory=dict)
    deleted: str | None = None
    unit_by: str = UNIT_BY_OPTION
    axes_by: str = "--axes price,volume"
    timezone: str | None = None
    ts_format: str | None = None
    date: str | None = None
    date_from_path: str | None = None
    columns: tuple[str, ...] = ()
    skip_lines: int = 0
    delimiter: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    stream: str | None = None
    stream_from_path: str | None = None
    wide: bool = False
    payload: tuple[tuple[str, str], ...] = ()
    sequence: str | None = None
    sequence_is: str = "integer"

    @property
    def times(self) -> tuple[str, ...]:
        """The columns that say when a tuple was: one, or a date and a time of day."""
        return (self.ts,) if isinstance(self.ts, str) else self.ts

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that every tuple needs, besides the axes."""
        own = (self.stream_id, *self.times)
        return own if self.clock is None else (*own, self.clock)

    @property
    def wanted(self) -> tuple[str, ...]:
        """All columns that are read: those needed, the axes that are known, and the mark."""
        marks = () if self.deleted is None else (self.deleted,)
        return (*self.needed, *(self.axes or ()), *marks)

    def axes_among(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Say which of a file's columns are axes: the declared ones, or all that remain."""
        if self.axes is not None:
            return self.axes
        own = (*self.needed, self.deleted)
        return tuple(column for column in columns if column not in own)

    def ignored_among(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Name the columns of a file that are not used."""
        wanted = {*self.wanted, *self.axes_among(columns)}
        return tuple(column for column in columns if column not in wanted)


@dataclass(frozen=True, eq=False)
class RawRows:
    """A piece of a file: m cells of each wanted column, and the rows that have no cells.

    cells      by column: text, or what Parquet holds; null where there is nothing
    refused    by column: cells that the form itself refuses, null among `cells`
    raw_of     the records of some of the m rows, verbatim
    done       how much of the file has been read with this piece, from 0 to 1
    """

    line: Int64s
    cells: Mapping[str, pa.Array]
    malformed: Malformed
    raw_of: RawOf
    done: float = 1.0
    refused: Mapping[str, CellFaults] = field(default_factory=dict)

    @classmethod
    def none(
        cls, declared: Declared, malformed: Iterable[tuple[int, str, str]] = (), done: float = 1.0
    ) -> "RawRows":
        """No row that has cells."""
        empty = pa.array([], pa.string())
        cells = dict.fromkeys(declared.wanted, empty)
        return cls(np.empty(0, np.int64), cells, Malformed.of(malformed), lambda _: empty, done)

    def merged(self, name: str, found: CellFaults) -> CellFaults:
        """Merge faults found in a column's cells with the form's own refusals, which say more."""
        refused = self.refused.get(name)
        if refused is None or not len(refused):
            return found
        news = ~np.isin(found.rows, refused.rows)
        rows = np.concatenate([refused.rows, found.rows[news]])
        details = pa.concat_arrays([refused.details, found.details.filter(pa.array(news))])
        order = np.argsort(rows, kind="stable")
        return CellFaults(rows[order], details.take(pa.array(order)))


def missing_columns(
    source: str, columns: Collection[str], declared: Declared, line: int | None = None
) -> list[Fault]:
    """List the required columns that a file lacks."""
    wanted = dict.fromkeys(declared.wanted)
    has = _listed(columns)
    faults = [
        Fault(
            source,
            f"no column '{name}'",
            line=line,
            hint=f"the columns are: {has}.{did_you_mean(name, columns)}",
        )
        for name in wanted
        if name not in columns
    ]
    if not faults and not declared.axes_among(list(columns)):
        message = f"no axis: beside {', '.join(declared.needed)} a column of numbers was expected"
        faults.append(Fault(source, message, line=line))
    return faults


def too_many_columns(source: str, columns: Sequence[str], line: int | None = None) -> list[Fault]:
    """Report a file with more columns than are read."""
    if len(columns) <= MOST_COLUMNS:
        return []
    message = f"has {len(columns):,} columns, where up to {MOST_COLUMNS:,} are read"
    return [Fault(source, message, line=line)]


def _listed(columns: Collection[str]) -> str:
    """Name the columns, or the first of many."""
    names = [name if len(name) <= 60 else f"{name[:59]}…" for name in islice(columns, MOST_NAMED)]
    more = len(columns) - len(names)
    return ", ".join([*names, *([f"and {more:,} more"] if more else [])]) or "none"


@dataclass(frozen=True, eq=False)
class TuplePiece:
    """A piece of a file: its tuples, and its malformed rows.

    times   those of ts, and of the clock where there is one
    deleted whether a tuple removes its stream from sets; None without such a column
    spoilt  by axis: how many of the piece's `cells_in_each` cells are no numbers
    """

    ids: pa.DictionaryArray
    times: tuple[Int64s, ...]
    values: Doubles
    line: Int64s
    malformed: Malformed
    spoilt: Int64s
    cells_in_each: int
    raw_of: RawOf
    deleted: Bools | None = None

    @classmethod
    def of(cls, rows: RawRows, declared: Declared) -> "TuplePiece":
        """Read the cells, and separate tuples from malformed rows."""
        axes = declared.axes or ()
        stream_id = declared.stream_id
        ids, no_id = cells.stream_ids(rows.cells[stream_id], stream_id)
        faults = [rows.merged(stream_id, no_id)]
        times = []
        for name in declared.needed[1:]:
            us, no_time = cells.instants(rows.cells[name], name, declared.ts_unit, declared.unit_by)
            times.append(us)
            faults.append(rows.merged(name, no_time))
        values = np.empty((len(axes), len(rows.line)))
        for place, name in enumerate(axes):
            values[place], no_number = cells.doubles(rows.cells[name], name)
            faults.append(rows.merged(name, no_number))
        spoilt = np.array([len(found) for found in faults[len(declared.needed) :]], np.int64)
        deleted = None
        if declared.deleted is not None:
            deleted, no_mark = cells.marks(rows.cells[declared.deleted], declared.deleted)
            faults.append(rows.merged(declared.deleted, no_mark))
        bad = CellFaults.by_row(faults)
        count = len(rows.line)
        piece = cls(
            ids,
            tuple(times),
            values,
            rows.line,
            rows.malformed,
            spoilt,
            count,
            rows.raw_of,
            deleted,
        )
        piece = piece.without(bad) if len(bad) else piece
        return piece if len(piece.line) else replace(piece, raw_of=_no_records)

    def without(self, bad: CellFaults) -> "TuplePiece":
        """Count these rows among the malformed."""
        malformed = Malformed(self.line[bad.rows], bad.details, self.raw_of(bad.rows))
        good = np.delete(np.arange(len(self.line)), bad.rows)
        return replace(self.at(good), malformed=Malformed.merged([self.malformed, malformed]))

    def at(self, rows: Int64s) -> "TuplePiece":
        """Keep some of the tuples, by their places, which ascend; the malformed rows stay."""
        raw_of = self.raw_of
        return replace(
            self,
            ids=self.ids.take(pa.array(rows)),
            times=tuple(us[rows] for us in self.times),
            values=self.values[:, rows],
            line=self.line[rows],
            deleted=None if self.deleted is None else self.deleted[rows],
            raw_of=lambda some: raw_of(rows[some]),
        )


def _no_records(_: Int64s) -> pa.StringArray:
    """Keep no bytes of a piece without tuples."""
    return pa.array([], pa.string())


@dataclass(frozen=True, eq=False)
class ReadDelivery:
    """n tuples in the order of the file, and m malformed rows.

    ids         their stream ids, dictionary-coded
    ts, clock   int64[n], µs; the clock only where one is declared
    values      float64[d, n], one row an axis
    line        int64[n], from 1
    numberless  the axes without a number in any row of the file
    deleted     bool[n]: which remove their streams from sets; only with such a column
    raw_of      gives the verbatim records of some of the n tuples
    """

    source: str
    axes: tuple[str, ...]
    ids: pa.DictionaryArray
    ts: Int64s
    values: Doubles
    clock: Int64s | None
    line: Int64s
    malformed: Malformed
    numberless: tuple[str, ...]
    raw_of: RawOf
    deleted: Bools | None = None

    @property
    def rows(self) -> int:
        """How many rows were read."""
        return len(self.ts) + len(self.malformed)

    @classmethod
    def joined(
        cls, source: str, declared: Declared, pieces: Sequence[TuplePiece]
    ) -> "ReadDelivery":
        """Concatenate the pieces of a file."""
        axes = declared.axes or ()
        pieces = pieces or [TuplePiece.of(RawRows.none(declared), declared)]
        ids = pa.chunked_array([piece.ids for piece in pieces]).unify_dictionaries()
        times = [np.concatenate(column) for column in zip(*(p.times for p in pieces), strict=True)]
        spoilt = np.sum([piece.spoilt for piece in pieces], axis=0)
        cells = sum(piece.cells_in_each for piece in pieces)
        marks = [piece.deleted for piece in pieces if piece.deleted is not None]
        return cls(
            source,
            axes,
            ids.combine_chunks(),
            times[0],
            np.concatenate([piece.values for piece in pieces], axis=1),
            times[1] if declared.clock is not None else None,
            np.concatenate([piece.line for piece in pieces]),
            Malformed.merged([piece.malformed for piece in pieces]),
            tuple(axis for axis, lost in zip(axes, spoilt, strict=True) if cells and lost == cells),
            by_piece([len(piece.line) for piece in pieces], [piece.raw_of for piece in pieces]),
            np.concatenate(marks) if marks else None,
        )
