"""The work of a worker: read the files of a unit, separate tuples from the rest, write both.

A task is JSON in and JSON out. Nothing that it writes counts before the driver commits it.

Law: rows read = tuples + malformed + future, and each is in one file, with its origin.
A delivery that cannot be read to its end leaves no row.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.errors import Faults, FencepostError, StorageError
from fencepost.row_hashes import content_hash
from fencepost.times import format_instant
from fencepost.tuples import Bools, Int64s
from pipelines.disk.errors import refuse_failing
from pipelines.files.read.delivery import look_at, pieces
from pipelines.files.read.rows import Declared, Malformed, TuplePiece
from pipelines.ingest.at_hand import Copies, refuse_other
from pipelines.ingest.deliveries import UNREADABLE, Outcome, Rejection, Runs
from pipelines.ingest.units import DeliveryPart, FilePart, ReadUnit
from pipelines.ingest.write import TupleFiles
from pipelines.lake.data_files import DataFile, GrowingFile
from pipelines.places import is_remote, place_of
from pipelines.project.form import declared_by
from pipelines.project.settings import Feed
from schemas import Table
from schemas.quarantine import QUARANTINE
from schemas.table import PAYLOAD_PREFIX, TIME
from schemas.tuples import DELETED, SEQUENCE, tuples

READY = "stream_id,ts,price\na,2026-01-01T00:00:00Z,1\nb,2026-01-01T00:00:01Z,2.5\n"
MOST_ROWS = 2_000_000
MOST_BYTES = 1 << 28
"""Rows, and their bytes, that are kept until a delivery has proved readable; one of more is read
twice."""


@dataclass(frozen=True)
class UnitResult:
    """The result of a task: the files that it wrote, and the outcome of each of its parts."""

    tuples: list[DataFile]
    aside: list[DataFile]
    outcomes: list[Outcome]

    def to_json(self) -> str:
        """Encode it for the driver."""
        return json.dumps(
            {
                "tuples": [file.as_json() for file in self.tuples],
                "aside": [file.as_json() for file in self.aside],
                "outcomes": [outcome.as_json() for outcome in self.outcomes],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "UnitResult":
        """Decode it."""
        fields = json.loads(text)
        return cls(
            [DataFile.from_json(file) for file in fields["tuples"]],
            [DataFile.from_json(file) for file in fields["aside"]],
            [Outcome.from_json(outcome) for outcome in fields["outcomes"]],
        )


def work(task: str) -> str:
    """Do a unit's work. A third of a second a million rows of Parquet, half of CSV."""
    return take(ReadUnit.from_json(task)).to_json()


def ready(_: str) -> str:
    """Read two rows, as `work` does, into nothing: a worker that can do this can work. 10 ms."""
    with tempfile.TemporaryDirectory(prefix="fencepost-ready-") as folder:
        file = Path(folder, "rows.csv")
        file.write_text(READY)
        declared = declared_by(Feed("ready", ("price",), Path(folder)))
        rows = sum(len(piece.line) for piece in pieces(look_at(str(file), declared), declared))
    return str(rows)


def take(unit: ReadUnit) -> UnitResult:
    """Read a unit and write its rows."""
    with _UnitWriter(unit) as writing:
        outcomes = [writing.take(part) for part in unit.parts]
    return UnitResult(writing.tuples.closed(), writing.aside_files(), outcomes)


@dataclass(frozen=True, eq=False)
class _Piece:
    """A piece of a file, divided into its tuples and its rows for the quarantine."""

    tuples: pa.Table
    aside: pa.Table
    outcome: Outcome


class _UnitWriter:
    """A unit in progress: rows in, files out."""

    def __init__(self, unit: ReadUnit) -> None:
        self.unit = unit
        self.table = tuples(unit.feed.name, unit.feed.in_tables)
        root = place_of(unit.root, Path("/"))
        self.tuples = TupleFiles(root / self.table.name, self.table, unit.buckets)
        self.aside = GrowingFile(root / QUARANTINE.name, QUARANTINE, {"feed": unit.feed.name})
        self.any_aside = False
        self.copies = Copies()
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._open.enter_context(self.tuples)
        self._open.enter_context(self.aside)
        self._open.enter_context(self.copies)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.__exit__(kind, error, trace)

    def aside_files(self) -> list[DataFile]:
        return [self.aside.closed()] if self.any_aside else []

    def take(self, part: DeliveryPart) -> Outcome:
        """Write one delivery's part, or say why it is refused."""
        reading = _PartReader(self.unit.feed, self.table, part, self.copies)
        outcome = Outcome(part.n)
        try:
            for piece in _proved(reading) if self.unit.shared else reading.pieces():
                outcome = outcome.and_then(piece.outcome)
                self.tuples.add(piece.tuples)
                if piece.aside.num_rows:
                    self.aside.add(piece.aside)
                    self.any_aside = True
        except Rejection as why:
            return Outcome.refused(part.n, why)
        finally:
            self.copies.clear()
        return outcome


def _proved(reading: "_PartReader") -> Iterator[_Piece]:
    """Give the pieces of a delivery only after the last of them was read."""
    pieces: list[_Piece] = []
    rows = size = 0
    for piece in reading.pieces():
        rows += piece.outcome.rows
        size += piece.tuples.nbytes + piece.aside.nbytes
        if rows > MOST_ROWS or size > MOST_BYTES:
            pieces.clear()
        else:
            pieces.append(piece)
    return iter(pieces) if rows <= MOST_ROWS and size <= MOST_BYTES else reading.pieces()


@dataclass(frozen=True)
class _PartReader:
    """A delivery's part in progress, read from its files."""

    feed: Feed
    table: Table
    part: DeliveryPart
    copies: Copies

    def pieces(self) -> Iterator[_Piece]:
        """Read piece by piece; Rejection if that fails, or a file has changed since."""
        for file in self.part.files:
            path = self.copies.path_of(self.feed.source, file)
            try:
                yield from self._of_file(file, str(path))
            except StorageError:
                raise
            except (FencepostError, pa.ArrowException) as failure:
                refuse_failing(failure, path)
                self._refuse_other(path, file)
                raise Rejection(UNREADABLE, _in_words(failure, str(path), file.path)) from None
            self._refuse_other(path, file)

    def _refuse_other(self, path: Path, file: FilePart) -> None:
        """Refuse a file that has changed while it was read; a copy cannot."""
        if not is_remote(self.feed.source):
            refuse_other(path, file)

    def _of_file(self, file: FilePart, path: str) -> Iterator[_Piece]:
        declared = self._declared(file, path)
        looked = look_at(path, declared)
        yield _Piece(
            self.table.arrow.empty_table(),
            QUARANTINE.arrow.empty_table(),
            Outcome(self.part.n, ignored=looked.ignored),
        )
        for piece in pieces(looked, declared, file.stretch):
            if file.lines is not None:
                yield self._parted(file, _only(piece, file.lines))
            else:
                yield self._parted(file, piece)

    def _declared(self, file: FilePart, path: str) -> Declared:
        feed = self.feed
        fixed = dict(file.fixed or {})
        if file.columns:
            from pipelines.files.read.parquet_rows import open_file

            with Path(path).open("rb") as opened:
                has = set(open_file(path, opened).schema_arrow.names)
            fixed |= {name: None for name in file.columns if name not in has | fixed.keys()}
        return declared_by(feed, file.path, fixed)

    def _parted(self, file: FilePart, piece: TuplePiece) -> _Piece:
        """Divide tuples from what is too far ahead of the clock, and both from malformed rows."""
        ts = piece.times[0]
        has_clock = self.feed.clock_column is not None
        clock = piece.times[1] if has_clock else np.int64(self.part.found_at)
        ahead: Bools = ts - clock > self.feed.max_skew
        future, good = piece, piece
        rows = np.flatnonzero(ahead)
        if len(rows):
            future, good = piece.at(rows), piece.at(np.flatnonzero(~ahead))
        tuples_ = self._tuples(file, good)
        aside = self._aside(file, piece.malformed, future if len(rows) else None)
        outcome = Outcome(
            self.part.n,
            rows=len(ts) + len(piece.malformed),
            tuples=len(good.line),
            malformed=len(piece.malformed),
            future=len(rows),
            max_ts=int(good.times[0].max()) if len(good.line) else None,
            hash=content_hash(tuples_, self._not_hashed()) if len(good.line) else 0,
            aside=content_hash(aside) if aside.num_rows else 0,
        )
        return _Piece(tuples_, aside, outcome)

    def _tuples(self, file: FilePart, piece: TuplePiece) -> pa.Table:
        columns = {
            "stream_id": piece.ids,
            "ts": pa.array(piece.times[0]).view(TIME),
            **dict(zip(self.feed.axes, map(pa.array, piece.values), strict=True)),
            **self._place(file, pa.array(piece.line)),
            DELETED.name: _marks(piece),
            **{PAYLOAD_PREFIX + name: column for name, column in piece.payload.items()},
        }
        if piece.sequence is not None:
            columns[SEQUENCE] = piece.sequence
        return pa.table(columns)

    def _not_hashed(self) -> tuple[str, ...]:
        """Name what is null in every row, and had no place in the evidence of older formats."""
        return (DELETED.name,) if self.feed.deleted is None else ()

    def _place(self, file: FilePart, line: pa.Int64Array) -> dict[str, pa.Array]:
        return {
            "arrival": pa.repeat(pa.scalar(self.part.n, pa.int64()), len(line)),
            "file": pa.repeat(pa.scalar(file.place, pa.int32()), len(line)),
            "line": line,
        }

    def _aside(self, file: FilePart, malformed: Malformed, future: TuplePiece | None) -> pa.Table:
        parts = {"malformed": malformed}
        if future is not None:
            every = np.arange(len(future.line))
            parts["future"] = Malformed(future.line, self._how_far(future), future.raw_of(every))
        reasons = [pa.repeat(reason, len(some)) for reason, some in parts.items()]
        line = np.concatenate([some.line for some in parts.values()])
        count = len(line)
        rows = {
            "feed": pa.repeat(self.feed.name, count),
            **self._place(file, pa.array(line)),
            "reason": pa.concat_arrays(reasons),
            "detail": pa.concat_arrays([some.detail for some in parts.values()]),
            "path": pa.repeat(file.path, count),
            "raw": pa.concat_arrays([some.raw for some in parts.values()]),
            "epoch": pa.nulls(count, pa.int64()),
            "generation": pa.nulls(count, pa.int32()),
        }
        table = pa.table(rows).select(QUARANTINE.arrow.names)
        return table.take(pc.sort_indices(table["line"])) if future is not None else table

    def _how_far(self, future: TuplePiece) -> pa.StringArray:
        times = future.times[0].tolist()
        if self.feed.clock_column is None:
            what, clocks = "the time it was found", [self.part.found_at] * len(times)
        else:
            what, clocks = "the clock", future.times[1].tolist()
        words = [
            f"ts is {timedelta(microseconds=ts - clock)} ahead of {what}, {format_instant(clock)}"
            for ts, clock in zip(times, clocks, strict=True)
        ]
        return pa.array(words, pa.string())


def _marks(piece: TuplePiece) -> pa.BooleanArray:
    """Make the column of tuples that remove their streams from sets: true, or null."""
    if piece.deleted is None or not piece.deleted.any():
        return pa.nulls(len(piece.line), pa.bool_())
    return pa.array(piece.deleted, mask=~piece.deleted)


def _only(piece: TuplePiece, lines: Runs) -> TuplePiece:
    """Keep the rows of some lines."""
    wanted = replace(piece.malformed.at(_among(piece.malformed.line, lines)))
    return replace(piece.at(_among(piece.line, lines)), malformed=wanted)


def _among(line: Int64s, lines: Runs) -> Int64s:
    """Find the lines that are in one of the runs; give their places."""
    if not len(lines):
        return np.empty(0, np.int64)
    firsts, lasts = np.array(lines, np.int64).T
    run = np.searchsorted(firsts, line, side="right") - 1
    return np.flatnonzero((run >= 0) & (line <= lasts[np.maximum(run, 0)]))


def _in_words(failure: Exception, path: str, name: str) -> str:
    """Give the reader's message, with the file named as in the ledger."""
    if isinstance(failure, Faults):
        return "\n".join(
            str(replace(fault, source=name) if fault.source == path else fault)
            for fault in failure.faults
        )
    return f"{name}: {str(failure).splitlines()[0]}" if str(failure) else f"{name}: cannot be read"
