"""The rows of a delivery: as a form's reader gives them, then tuples and malformed rows apart.

Law: each row is either a tuple or malformed as a whole, with its line. All that is wrong
in a row's cells is in one detail, beside the raw record.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost import cells
from fencepost.cells import CellFaults
from fencepost.payload import PAYLOAD_KINDS, payload, sequences
from fencepost.time_cells import instants
from fencepost.tuples import Bools, Doubles, Int64s
from pipelines.files.read.declaration import STREAM_ID, TS, Declared
from pipelines.files.read.records import (
    Malformed,
    RawOf,
    RawRows,
    by_piece,
    missing_columns,
    too_many_columns,
)

__all__ = [
    "STREAM_ID",
    "TS",
    "Declared",
    "Malformed",
    "RawOf",
    "RawRows",
    "ReadDelivery",
    "TuplePiece",
    "by_piece",
    "missing_columns",
    "too_many_columns",
]


@dataclass(frozen=True, eq=False)
class TuplePiece:
    """A piece of a file: its tuples, and its malformed rows.

    times   those of ts, and of the clock where there is one
    deleted whether a tuple removes its stream from sets; None without such a column
    sequence, payload  what orders tuples of an instant, where declared; what travels along
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
    sequence: pa.Array | None = None
    payload: Mapping[str, pa.Array] = field(default_factory=dict)
    done: float = 1.0

    @classmethod
    def of(cls, rows: RawRows, declared: Declared) -> "TuplePiece":
        """Read the cells, and separate tuples from malformed rows."""
        reading = _Cells(rows, declared)
        ids = reading.ids()
        times = reading.times()
        spoilt_from = len(reading.faults)
        values = reading.values()
        spoilt = np.array([len(found) for found in reading.faults[spoilt_from:]], np.int64)
        piece = cls(
            ids,
            times,
            values,
            rows.line,
            rows.malformed,
            spoilt,
            len(rows.line),
            rows.raw_of,
            reading.marks(),
            reading.sequence(),
            reading.payload(),
            rows.done,
        )
        bad = CellFaults.by_row(reading.faults)
        piece = piece.without(bad) if len(bad) else piece
        piece = piece if len(piece.line) else replace(piece, raw_of=_no_records)
        return piece if rows.unlike is None else piece.beside(cls.of(rows.unlike, declared))

    def without(self, bad: CellFaults) -> "TuplePiece":
        """Count these rows among the malformed."""
        malformed = Malformed(self.line[bad.rows], bad.details, self.raw_of(bad.rows))
        good = np.delete(np.arange(len(self.line)), bad.rows)
        return replace(self.at(good), malformed=Malformed.merged([self.malformed, malformed]))

    def beside(self, other: "TuplePiece") -> "TuplePiece":
        """Merge two pieces of the same lines, in their order."""
        order = np.argsort(np.concatenate([self.line, other.line]), kind="stable")
        at = pa.array(order)
        ids = pa.chunked_array([self.ids, other.ids]).unify_dictionaries().combine_chunks()
        marks = [piece.deleted for piece in (self, other) if piece.deleted is not None]

        def merged(one: pa.Array, another: pa.Array) -> pa.Array:
            return pa.concat_arrays([one, another]).take(at)

        return replace(
            self,
            ids=ids.take(at),
            times=tuple(
                np.concatenate(pair)[order] for pair in zip(self.times, other.times, strict=True)
            ),
            values=np.concatenate([self.values, other.values], axis=1)[:, order],
            line=np.concatenate([self.line, other.line])[order],
            malformed=Malformed.merged([self.malformed, other.malformed]),
            spoilt=self.spoilt + other.spoilt,
            cells_in_each=self.cells_in_each + other.cells_in_each,
            raw_of=_interleaved(order, len(self.line), self.raw_of, other.raw_of),
            deleted=np.concatenate(marks)[order] if marks else None,
            sequence=None if self.sequence is None else merged(self.sequence, other.sequence),
            payload={
                name: merged(column, other.payload[name]) for name, column in self.payload.items()
            },
        )

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
            sequence=None if self.sequence is None else self.sequence.take(pa.array(rows)),
            payload={name: kept.take(pa.array(rows)) for name, kept in self.payload.items()},
            raw_of=lambda some: raw_of(rows[some]),
        )


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of a piece being read, column by column; `faults` gathers what is wrong."""

    rows: RawRows
    declared: Declared
    faults: list[CellFaults] = field(default_factory=list)

    def ids(self) -> pa.DictionaryArray:
        name, declared = self.declared.stream_id, self.declared
        if declared.has_stream_column:
            ids, no_id = cells.stream_ids(self.rows.cells[name], name, distinct=self.rows.distinct)
            self.faults.append(self.rows.merged(name, no_id))
            return ids
        codes = pa.array(np.zeros(len(self.rows.line), np.int32))
        return pa.DictionaryArray.from_arrays(codes, pa.array([declared.stream], pa.string()))

    def times(self) -> tuple[Int64s, ...]:
        declared, given = self.declared, self.rows.cells
        if isinstance(declared.ts, str):
            times = [self._time(declared.ts, given[declared.ts])]
        else:
            times = [self._of_two(*declared.ts)]
        if declared.clock is not None:
            us, no_time = instants(given[declared.clock], declared.clock, declared.clock_form)
            self.faults.append(self.rows.merged(declared.clock, no_time))
            times.append(us)
        return tuple(times)

    def _time(self, name: str, given: pa.Array) -> Int64s:
        us, no_time = instants(given, name, self.declared.time_form)
        self.faults.append(self.rows.merged(name, no_time))
        return us

    def _of_two(self, date: str, time: str) -> Int64s:
        """Read a date and a time of day, which are one text with a blank between."""
        parts = [pc.cast(self.rows.cells[name], pa.string()) for name in (date, time)]
        joined = pc.binary_join_element_wise(*parts, " ")
        us, no_time = instants(joined, f"{date} and {time}", self.declared.time_form)
        refused = CellFaults.by_row([self.rows.merged(n, CellFaults.none()) for n in (date, time)])
        news = ~np.isin(no_time.rows, refused.rows)
        self.faults.append(refused)
        self.faults.append(CellFaults(no_time.rows[news], no_time.details.filter(pa.array(news))))
        return us

    def values(self) -> Doubles:
        axes = self.declared.axes or ()
        values = np.empty((len(axes), len(self.rows.line)))
        for place, name in enumerate(axes):
            values[place], no_number = cells.doubles(self.rows.cells[name], name, self.rows.decimal)
            self.faults.append(self.rows.merged(name, no_number))
        return values

    def marks(self) -> Bools | None:
        name = self.declared.deleted
        if name is None:
            return None
        deleted, no_mark = cells.marks(self.rows.cells[name], name)
        self.faults.append(self.rows.merged(name, no_mark))
        return deleted

    def sequence(self) -> pa.Array | None:
        name, declared = self.declared.sequence, self.declared
        if name is None:
            return None
        found, no_number = sequences(self.rows.cells[name], name, declared.sequence_is)
        self.faults.append(self.rows.merged(name, no_number))
        return found

    def payload(self) -> dict[str, pa.Array]:
        found = {}
        for name, kind in self.declared.payload:
            given = self.rows.cells[name]
            form = self.declared.clock_form
            found[name], wrong = payload(given, name, kind, form, self.rows.decimal)
            self.faults.append(self.rows.merged(name, wrong))
        return found


def _interleaved(order: Int64s, count: int, one: RawOf, other: RawOf) -> RawOf:
    """Make one RawOf of two; `order` says which row of both, one behind the other, is where."""

    def raw_of(rows: Int64s) -> pa.StringArray:
        wanted = order[rows]
        theirs = wanted >= count
        records = [one(wanted[~theirs]), other(wanted[theirs] - count)]
        place = np.argsort(np.r_[np.flatnonzero(~theirs), np.flatnonzero(theirs)])
        return pa.concat_arrays(records).take(pa.array(place))

    return raw_of


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
    sequence    what orders the tuples of an instant, int64 or text; only with such a column
    payload     the columns that travel along, n rows; None where none is declared
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
    sequence: pa.Array | None = None
    payload: pa.Table | None = None

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
        if not pieces:
            narrow = replace(declared, wide=False)
            pieces = [TuplePiece.of(RawRows.none(narrow), narrow)]
        ids = pa.chunked_array([piece.ids for piece in pieces]).unify_dictionaries()
        times = [np.concatenate(column) for column in zip(*(p.times for p in pieces), strict=True)]
        spoilt = np.sum([piece.spoilt for piece in pieces], axis=0)
        cells = sum(piece.cells_in_each for piece in pieces)
        marks = [piece.deleted for piece in pieces if piece.deleted is not None]
        sequences = [piece.sequence for piece in pieces if piece.sequence is not None]
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
            pa.concat_arrays(sequences) if sequences else None,
            _payload_of(declared, pieces),
        )


def _payload_of(declared: Declared, pieces: Sequence[TuplePiece]) -> pa.Table | None:
    if not declared.payload:
        return None
    parts = {
        name: pa.chunked_array([piece.payload[name] for piece in pieces], PAYLOAD_KINDS[kind])
        for name, kind in declared.payload
    }
    return pa.table(parts)
