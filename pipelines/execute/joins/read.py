"""What a task of joins reads: the tuples of both feeds, and their logs.

Straight from the data files, as the tasks of feeds do. Both sides are read whole by every task: any
stream may be paired with any other.
"""

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrow import texts_of
from fencepost.joins.state import LaneState, SideState
from fencepost.tuples import Bools, TupleBatch
from pipelines.execute.joins.share import JoinShare
from pipelines.execute.logs import newest
from pipelines.execute.read import cached_columns, empty, tuples_of
from pipelines.execute.reorder import waiting_tuples
from pipelines.execute.tuples import RowOrder, sequences_of
from schemas import Table, all_tables
from schemas.tuples import DELETED


@dataclass(frozen=True, eq=False)
class Side:
    """The tuples of one feed in the order in which they arrived, and which remove their stream.

    `batch.delivery` counts over the deliveries of both feeds.
    """

    batch: TupleBatch
    gone: Bools

    def of_deliveries(self, first: int, beyond: int) -> "Side":
        """Give those of some deliveries, renumbered from 0."""
        begin, end = np.searchsorted(self.batch.delivery, np.array([first, beyond], np.int32))
        some = slice(int(begin), int(end))
        batch = self.batch.take(some)
        sequence = batch.sequence
        if sequence is not None and sequence.null_count == len(sequence):
            sequence = None  # these were loaded without
        moved = replace(batch, delivery=batch.delivery - np.int32(first), sequence=sequence)
        return Side(moved, self.gone[some])


@dataclass(frozen=True, eq=False)
class JoinShareRows:
    """What a share begins with: the tuples of both sides, and the state as of the epoch before."""

    sides: tuple[Side, Side]
    state: LaneState


def read(share: JoinShare, seconds: dict[str, float]) -> JoinShareRows:
    """Read all that a share needs, both sides at a time; note how long that took.

    Of a feed that is joined with itself the right side is empty.
    """
    started = time.perf_counter()
    tables = all_tables(share.columns)
    with ThreadPoolExecutor(1) as pool:
        one = share.feeds[0] == share.feeds[1]
        other = None if one else pool.submit(_side, share, tables, share.feeds[1])
        left = _side(share, tables, share.feeds[0])
        members = _members(share, tables["set_members"])
        live, waiting = _live(share, tables["live_windows"])
        right = left.of_deliveries(0, 0) if other is None else other.result()
    seconds["read"] = time.perf_counter() - started
    started = time.perf_counter()
    state = LaneState(
        (
            _side_state(share, 0, members, live, waiting),
            _side_state(share, 1, members, live, waiting),
        )
    )
    seconds["sort"] = time.perf_counter() - started
    return JoinShareRows((left, right), state)


def _side(share: JoinShare, tables: Mapping[str, Table], feed: str) -> Side:
    """Read tuples in the order (delivery, file, line), or by content. O(n) where files hold it."""
    rows = tuples_of(share, tables[feed], marked=True)
    numbers = np.array([n for step in share.steps for n in step.arrivals], np.int64)
    by_number = np.argsort(numbers, kind="stable")
    place = by_number[np.searchsorted(numbers[by_number], rows["arrival"].to_numpy())]
    own = share.columns[feed]
    axes = own.axes
    row_order = RowOrder(own, share.unordered, each_stream=False)
    file, line = row_order.keys(rows, texts_of(rows["stream_id"]))
    order = np.lexsort((line, file, place))
    rows = rows.take(pa.array(order)) if (np.diff(order) != 1).any() else rows
    values = np.stack([rows[axis].to_numpy() for axis in axes])
    ts = rows["ts"].cast(pa.int64()).to_numpy()
    ids = texts_of(rows["stream_id"])
    delivery = place[order].astype(np.int32)
    sequence = sequences_of(rows)
    batch = TupleBatch.from_columns(feed, axes, ids, ts, values, delivery, sequence=sequence)
    return Side(batch, _flags(rows[DELETED.name]))


def _members(share: JoinShare, table: Table) -> pa.Table:
    """Read the newest row of every stream of the lane."""
    columns = list(table.arrow.names)
    every = [cached_columns(share, table, path, columns) for path in share.files[table.name]]
    rows = [_counting(share, each) for each in every]
    return newest(pa.concat_tables([empty(table, columns), *rows]), table.key)


def _live(share: JoinShare, table: Table) -> tuple[pa.Table, pa.Table]:
    """Read the tuples that may be live, and those that wait as of the very epoch before."""
    columns = list(table.arrow.names)
    every = [cached_columns(share, table, path, columns) for path in share.files[table.name]]
    rows = [_counting(share, each) for each in every]
    whole = pa.concat_tables([empty(table, columns), *rows])
    waits = pc.is_null(whole["place"])
    now = pc.and_(waits, pc.equal(whole["epoch"], share.as_of.epoch))
    return whole.filter(pc.invert(waits)), whole.filter(now)


def _counting(share: JoinShare, rows: pa.Table) -> pa.Table:
    """Keep the rows of this lane that count: a file may hold those of several lanes."""
    return share.as_of.counting(rows.filter(pc.equal(rows["lane"], share.lane)))


def _side_state(
    share: JoinShare, side: int, members: pa.Table, live: pa.Table, waiting: pa.Table
) -> SideState:
    """Build from the logs the state that the engine continues from."""
    feed = share.feeds[side]
    if side == 1 and feed == share.feeds[0]:
        return SideState.empty(feed, share.axes[feed])
    mine = [_of_feed(rows, feed) for rows in (members, live, waiting)]
    state = SideState.empty(feed, share.axes[feed]).with_heads(mine[0]).with_live(mine[1])
    batch, gone = _waiting(feed, share.axes[feed], mine[2])
    accepted = int(state.live.place[-1]) + 1 if len(state.live) else 0
    return replace(
        state, waiting=batch, waiting_gone=gone, accepted=accepted, watermark=share.watermarks[side]
    )


def _waiting(feed: str, axes: tuple[str, ...], rows: pa.Table) -> tuple[TupleBatch, Bools]:
    """Load the waiting tuples, and which of them are marked."""
    if rows.num_rows == 0:
        return TupleBatch.empty(feed, axes), np.empty(0, np.bool_)
    return waiting_tuples(feed, axes, rows), _flags(rows[DELETED.name])


def _of_feed(rows: pa.Table, feed: str) -> pa.Table:
    rows = rows.filter(pc.equal(rows["feed"], feed))
    return rows.set_column(rows.column_names.index("ts"), "ts", rows["ts"].cast(pa.int64()))


def _flags(column: pa.ChunkedArray) -> Bools:
    flags: Bools = column.fill_null(False).to_numpy(zero_copy_only=False).astype(np.bool_)
    return flags
