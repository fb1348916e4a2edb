"""From the outcome of a step to rows of the lake's tables, epoch by epoch.

The logs get what changed: heads that moved, events that became pending or no longer are, tuples
that began to wait or no longer do. With a snapshot they get all of it.

Law: a row is put into its table's columns once; the rows of a file are in the order that the
table declares.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Protocol

import numpy as np
import pyarrow as pa

from fencepost.arrow import by_code, coded, codes_in, dictionary_of, ranks_of
from fencepost.order import REASONS, rejection_details
from fencepost.outcome import FeedOutcome, Findings
from fencepost.queries import QuerySet
from fencepost.state import FeedState
from fencepost.times import DAY, format_instant
from fencepost.transitions import KINDS, Pending
from fencepost.tuples import Bools, Int32s, Int64s, TupleBatch
from pipelines.execute.payload import Payload
from pipelines.execute.reorder import waiting_changes, waiting_columns
from pipelines.execute.share import FeedStep, Share
from pipelines.execute.tuples import Tuples
from pipelines.lake.bucket_parts import PartedStreams
from pipelines.lake.buckets import MIXED
from pipelines.lake.data_files import ROW_GROUP
from schemas import Feeds, Table, all_tables

MANY = 1 << 16
"""Rows of an epoch that stand in files of their own; fewer may share one with other epochs."""

FEW = 200_000
"""So many rows of a log may stand in one file of all buckets."""


class At(Protocol):
    """The epoch that a row belongs to."""

    @property
    def epoch(self) -> int:
        """Its number."""

    @property
    def generation(self) -> int:
        """Its generation."""


class TableWriter:
    """Rows by table, collected epoch by epoch; those of a table are written when it is flushed.

    `write` takes the rows of a table, with its declared columns and sorted, in pieces: those of one
    set of partition values one after the other.
    """

    def __init__(
        self,
        lane: str,
        columns: Feeds,
        all_buckets: int,
        write: Callable[[str, Iterable[pa.Table]], None],
    ) -> None:
        """Begin with nothing; `columns` are those of every feed."""
        self.lane = lane
        self.declared = all_tables(columns)
        self._all_buckets = all_buckets
        self._write = write
        self._parts: dict[str, list[pa.Table]] = {}

    def flush_all(self) -> None:
        """Write everything that is not written yet."""
        for name in list(self._parts):
            self.flush(name)

    def flush(self, name: str) -> None:
        """Write the rows of a table, and forget them."""
        table = self.declared[name]
        rows = in_table_order(pa.concat_tables(self._parts.pop(name)), table)
        many = "bucket" in table.partitioned_by and rows.num_rows >= FEW
        self._write(name, self._by_bucket(rows) if many else [rows])

    def put(self, name: str, at: At, rows: pa.Table, *, snapshot: bool | None = None) -> None:
        """Give rows the columns that all rows of a table have, and keep them."""
        if rows.num_rows:
            plain = self._completed(name, at, rows, snapshot).cast(self.declared[name].arrow)
            self._parts.setdefault(name, []).append(plain)

    def put_coded(self, name: str, at: At, rows: pa.Table, *, snapshot: bool) -> None:
        """Keep rows of a log likewise, their text as codes; all of the log come so."""
        if rows.num_rows:
            self._parts.setdefault(name, []).append(self._completed(name, at, rows, snapshot))

    def put_arranged(self, name: str, at: At, pieces: Iterator[pa.Table]) -> None:
        """Write pieces of rows in the order of their table; keep them if they are few.

        About a piece is in memory, whatever the number of rows.
        """
        first = next(pieces, None)
        if first is None:
            return
        second = next(pieces, None)
        if second is None and first.num_rows < MANY:
            self.put(name, at, first)
            return
        every = chain((first,), () if second is None else (second,), pieces)
        del first, second
        self._write(name, (self._completed(name, at, piece, None) for piece in every))

    def _completed(self, name: str, at: At, rows: pa.Table, snapshot: bool | None) -> pa.Table:
        """Give rows the columns that all rows of a table have; coded text stays coded."""
        n, table = rows.num_rows, self.declared[name]
        own: dict[str, pa.Array] = {
            table.lane_column or "": coded([self.lane], np.zeros(n, np.int32)),
            "epoch": repeated(at.epoch, pa.int64(), n),
            "generation": repeated(at.generation, pa.int32(), n),
        }
        if snapshot is not None:
            own["snapshot"] = every(snapshot, n)
        columns = {}
        for field in table.arrow:
            if field.name in own:
                column = own[field.name]
            elif field.name == "day":
                column = _days(rows["ts"])
            elif field.name == "bucket":
                column = repeated(MIXED, pa.int32(), n)
            elif field.name in rows.column_names:
                column = rows[field.name]
            else:
                column = pa.nulls(n, field.type)
            keeps = pa.types.is_dictionary(column.type) and field.type == pa.string()
            columns[field.name] = column if keeps else column.cast(field.type)
        return pa.table(columns)

    def buffered(self, name: str) -> int:
        """Count the rows of a table that are not written yet."""
        return sum(part.num_rows for part in self._parts.get(name, ()))

    def _by_bucket(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Split many rows of a log by bucket, each with the ids of its own streams."""
        ids = dictionary_of(rows["stream_id"])
        streams = PartedStreams.of(ids.dictionary.cast(pa.string()), self._all_buckets)
        place = rows.column_names.index("bucket")
        for bucket, part in streams.parts(rows, ids.indices.to_numpy()):
            own = repeated(bucket, pa.int32(), part.num_rows)
            yield part.set_column(place, "bucket", own)


def repeated(number: int, kind: pa.DataType, n: int) -> pa.Array:
    """Repeat a number for n rows: a piece has a slice of what others have."""
    if n > ROW_GROUP:
        return pa.repeat(pa.scalar(number, kind), n)
    return _repeated(number, kind, 1 << max(n - 1, 0).bit_length()).slice(0, n)


@lru_cache(maxsize=16)
def _repeated(number: int, kind: pa.DataType, n: int) -> pa.Array:
    return pa.repeat(pa.scalar(number, kind), n)


def _days(ts: pa.ChunkedArray) -> pa.Array:
    times = ts.cast(pa.int64()).to_numpy()
    first, last = int(times.min()) // DAY, int(times.max()) // DAY
    if first == last:
        return repeated(first, pa.int32(), len(times)).view(pa.date32())
    return pa.array((times // DAY).astype(np.int32)).view(pa.date32())


def every(flag: bool, n: int) -> pa.BooleanArray:
    """Repeat them for n rows."""
    return pa.repeat(pa.scalar(flag), n)


def in_table_order(rows: pa.Table, table: Table) -> pa.Table:
    """Sort rows as the table wants them: by texts in the order of their ranks."""
    if not table.sorted_by or table.sorted_by == ("epoch",):
        return rows  # they come epoch by epoch
    keys = []
    for name in reversed(table.sorted_by):
        column = rows[name]
        if column.type == pa.string():
            keys.append(ranks_of(column))
        else:
            keys.append(column.cast(pa.int64()).to_numpy())
    order = np.lexsort(keys)
    return rows if (np.diff(order) > 0).all() else rows.take(pa.array(order))


PIECE = 1 << 21
"""Matches that are held at a time, and stand in one file."""


def reasons(outcome: FeedOutcome) -> dict[str, int]:
    """Count the rejected rows, by reason."""
    counts = np.bincount(outcome.turned.reason, minlength=len(REASONS))
    return {reason: int(counts[code]) for code, reason in enumerate(REASONS) if reason}


def kinds(outcome: FeedOutcome) -> dict[str, int]:
    """Count the transitions."""
    return dict(zip(KINDS, outcome.counts.kinds, strict=True))


class FeedWriter(TableWriter):
    """The rows of a feed's lane."""

    def __init__(
        self,
        share: Share,
        payload: Payload,
        write: Callable[[str, Iterable[pa.Table]], None],
    ) -> None:
        """Begin without rows, for the streams of a share."""
        super().__init__(share.feed, share.columns, share.all_buckets, write)
        self.share = share
        self.payload = payload

    def add(
        self,
        now: FeedStep,
        outcome: FeedOutcome,
        tuples: Tuples,
        before: tuple[TupleBatch, Pending],
    ) -> None:
        """Add the other results of one epoch. `before` is what waited and was pending."""
        waited, pended = before
        arrivals = np.array(now.arrivals, np.int64)
        if outcome.leapt is not None and len(outcome.leapt):
            self.put("leaps", now, _of_deliveries(outcome.leaps, arrivals))
        if len(outcome.turned.row):
            self.put("quarantine", now, self._quarantined(outcome, tuples))
        if len(outcome.changed):
            self.put_coded("stream_state", now, outcome.moved, snapshot=False)
        state = outcome.state
        for gone, rows in waiting_changes(waited, state.waiting):
            self.put("reorder", now, self._waiting_table(rows, gone=gone), snapshot=False)
        for gone, some in _pending_changes(pended, state.pending):
            table = some.to_table(state.heads.names).append_column("gone", every(gone, len(some)))
            self.put("pending", now, table, snapshot=False)

    def find(self, now: FeedStep, findings: Findings) -> None:
        """Add crossings of an epoch, and what became of crossings."""
        arrivals = np.array(now.arrivals, np.int64)
        if len(findings.found.type):
            pieces = findings.event_pieces(ROW_GROUP)
            crossings = (self._with_payload(_of_deliveries(piece, arrivals)) for piece in pieces)
            self.put_arranged("events", now, crossings)
        if len(findings.decided.kind):
            became = findings.transition_pieces(ROW_GROUP)
            became = (_of_deliveries(piece, arrivals) for piece in became)
            self.put_arranged("transitions", now, became)

    def match(self, now: FeedStep, outcome: FeedOutcome) -> int:
        """Look up the matches of an epoch; write them piece by piece; count them.

        There may be a thousand per tuple, so at most about two pieces are in memory.
        """
        arrivals, count = np.array(now.arrivals, np.int64), 0
        for piece in outcome.match_pieces(PIECE):
            count += piece.num_rows
            self.put("matches", now, _of_deliveries(piece, arrivals))
            if self.buffered("matches") >= PIECE:
                self.flush("matches")
        return count

    def lost(self, now: FeedStep, rows: pa.Table) -> None:
        """Mark pending events as gone whose query ended before the first epoch."""
        if rows.num_rows:
            gone = rows.select(["query_id", "query_version", "stream_id", "type", "ts"])
            gone = gone.append_column("gone", every(True, rows.num_rows))
            self.put("pending", now, gone, snapshot=False)

    def snapshot(self, state: FeedState, now: FeedStep) -> None:
        """Add the whole state as of an epoch."""
        heads = state.heads
        ids = by_code(heads.names, np.arange(len(heads)))
        self.put_coded("stream_state", now, heads.coded(ids), snapshot=True)
        self.put("reorder", now, self._waiting_table(state.waiting, gone=False), snapshot=True)
        pending = state.pending.to_table(state.heads.names)
        pending = pending.append_column("gone", every(False, pending.num_rows))
        self.put("pending", now, pending, snapshot=True)

    def _with_payload(self, rows: pa.Table) -> pa.Table:
        """Give events the payload of their tuples."""
        if "tag" not in rows.column_names:
            return rows
        for name, column in self.payload.of(rows["tag"].to_numpy()).items():
            rows = rows.append_column(name, column)
        return rows

    def _waiting_table(self, waiting: TupleBatch, *, gone: bool) -> pa.Table:
        columns = {**waiting_columns(waiting), "gone": every(gone, len(waiting))}
        if waiting.tag is not None:
            columns |= self.payload.of(waiting.tag)
        return pa.table(columns)

    def _quarantined(self, outcome: FeedOutcome, tuples: Tuples) -> pa.Table:
        rejected = outcome.rejected
        rows = tuples.origin(rejected["row"].to_numpy())
        reason = rejected["reason"].combine_chunks()
        files = rows["file"].to_pylist()
        paths = [
            self.share.paths[n][file] if n in self.share.paths else ""
            for n, file in zip(rows["arrival"].to_pylist(), files, strict=True)
        ]
        return pa.table(
            {
                "arrival": rows["arrival"],
                "reason": reason,
                "detail": rejection_details(reason),
                "path": pa.array(paths, pa.string()),
                "file": rows["file"],
                "line": rows["line"],
                "raw": pa.array(_as_json(rows, self.share.axes[self.share.feed]), pa.string()),
            }
        )


def _of_deliveries(rows: pa.Table, arrivals: Int64s) -> pa.Table:
    return rows.append_column("arrival", pa.array(arrivals[rows["delivery"].to_numpy()]))


def _as_json(rows: pa.Table, axes: tuple[str, ...]) -> list[str]:
    """Write tuples as the records they might have been."""
    times = rows["ts"].cast(pa.int64()).to_pylist()
    ids = rows["stream_id"].to_pylist()
    values = [rows[axis].to_pylist() for axis in axes]
    return [
        json.dumps(
            {"stream_id": name, "ts": format_instant(ts), **dict(zip(axes, point, strict=True))},
            ensure_ascii=False,
        )
        for name, ts, *point in zip(ids, times, *values, strict=True)
    ]


def _pending_changes(before: Pending, after: Pending) -> list[tuple[bool, Pending]]:
    """Give the events that are no longer pending, and those that became so.

    If a pair's pending event is followed by another, the new row is enough.
    """
    dropped = ~in_force(before, after.of)
    changes = [(True, before.take(dropped))] if dropped.any() else []
    kept = before.under(after.of)
    mine, theirs = _pairs(kept), _pairs(after)
    changes.append((True, kept.take(~np.isin(mine, theirs))))
    order = np.argsort(mine)
    at = np.searchsorted(mine, theirs, sorter=order)
    at = order[np.minimum(at, max(len(order) - 1, 0))] if len(order) else np.zeros(len(theirs), int)
    same = np.zeros(len(theirs), np.bool_)
    if len(mine):
        same = (mine[at] == theirs) & (kept.ts[at] == after.ts) & (kept.place[at] == after.place)
    changes.append((False, after.take(~same)))
    return changes


def in_force(pending: Pending, queries: QuerySet) -> Bools:
    """Say which pending events have their query active in this very version."""
    if pending.of is queries or len(pending) == 0:
        return np.ones(len(pending), np.bool_)
    row: Int32s = codes_in(pending.of.ids.take(pa.array(pending.query)), queries.ids)
    stands: Bools = row >= 0
    stands[stands] = queries.versions[row[stands]] == pending.of.versions[pending.query[stands]]
    return stands


def _pairs(pending: Pending) -> Int64s:
    return pending.query.astype(np.int64) << 32 | pending.stream
