"""The rows of a delivery, read: its tuples as columns, and what was no tuple.

Law: rows read = tuples + malformed, and each has its line.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fencepost import cells
from fencepost.cells import CellFaults
from fencepost.tuples import Bools, Doubles, Int64s
from pipelines.files.read.malformed import Malformed, RawOf, by_piece
from pipelines.files.read.raw_rows import Declared, RawRows


@dataclass(frozen=True, eq=False)
class TuplePiece:
    """A piece of a file: its tuples, and its malformed rows.

    times   those of ts, and of the clock where there is one
    deleted whether a tuple takes its stream out of sets; None where no column says
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
        """Read the cells, and part the rows that are tuples from those that are not."""
        axes = declared.axes or ()
        stream_id = declared.stream_id
        ids, no_id = cells.stream_ids(rows.cells[stream_id], stream_id)
        faults = [rows.told(stream_id, no_id)]
        times = []
        for name in declared.needed[1:]:
            us, no_time = cells.instants(rows.cells[name], name, declared.ts_unit, declared.unit_by)
            times.append(us)
            faults.append(rows.told(name, no_time))
        values = np.empty((len(axes), len(rows.line)))
        for place, name in enumerate(axes):
            values[place], no_number = cells.doubles(rows.cells[name], name)
            faults.append(rows.told(name, no_number))
        spoilt = np.array([len(found) for found in faults[len(declared.needed) :]], np.int64)
        deleted = None
        if declared.deleted is not None:
            deleted, no_mark = cells.marks(rows.cells[declared.deleted], declared.deleted)
            faults.append(rows.told(declared.deleted, no_mark))
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
    """Hold no bytes of a piece without tuples."""
    return pa.array([], pa.string())


@dataclass(frozen=True, eq=False)
class ReadDelivery:
    """n tuples in the order of the file, and m malformed rows.

    ids         their stream ids, dictionary-coded
    ts, clock   int64[n], µs; the clock only where one is declared
    values      float64[d, n], one row an axis
    line        int64[n], from 1
    numberless  the axes in which not one row of the file held a number
    deleted     bool[n]: which take their streams out of sets; only where a column says
    raw_of      gives the records of some of the n tuples as they stood
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
        """Put the pieces of a file behind each other."""
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
