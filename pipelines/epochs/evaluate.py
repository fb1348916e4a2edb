"""The work of a task: a share's tuples through the engine, epoch by epoch, and out as data files.

Law: the shares of a feed together give what one step over all of it would give; and doing the work
again gives the same rows.
"""

import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from fencepost.crossings.index import BorderIndex
from fencepost.crossings.state import Heads
from fencepost.engine import FeedState, Outcome, step
from fencepost.queries import QuerySet
from fencepost.transitions import Pending
from fencepost.tuples import TupleBatch, codes_in
from pipelines.epochs import outputs
from pipelines.epochs.reading import Rows, read
from pipelines.epochs.share import Answer, Share, Step
from pipelines.epochs.tuples import coded
from pipelines.lake.data_files import content_hash, write_files
from pipelines.registry.standing import load
from schemas import all_tables
from schemas.epochs import COUNTS

NOT_HASHED = ("place", "index", "bucket")
"""What depends on how the work was shared out, and says nothing to anybody else."""

_indexes: dict[str, BorderIndex] = {}
_MOST_INDEXES = 4


def work(line: str) -> str:
    """Do a task: JSON in, JSON out."""
    share = Share.from_json(line)
    seconds: dict[str, float] = {}
    return evaluate(share, read(share, seconds), seconds).to_json()


def evaluate(share: Share, rows: Rows, seconds: dict[str, float]) -> Answer:
    """Evaluate a share whose rows have been read; write what comes of it."""
    started = time.perf_counter()
    going = _Going(share, rows)
    for place in range(len(share.steps)):
        going.take(place)
    if share.snapshot:
        going.found.snapshot(going.state, share.steps[-1])
    seconds["evaluate"] = time.perf_counter() - started
    started = time.perf_counter()
    tables = going.found.tables()
    declared = all_tables(share.axes)
    files = {
        name: write_files(Path(share.root) / name, declared[name], table)
        for name, table in tables.items()
    }
    seconds["write"] = time.perf_counter() - started
    return Answer(
        {name: [file.as_json() for file in written] for name, written in files.items()},
        {name: table.num_rows for name, table in tables.items()},
        {name: content_hash(table, NOT_HASHED) for name, table in tables.items()},
        going.counts,
        seconds,
    )


class _Going:
    """A share on its way through its epochs."""

    def __init__(self, share: Share, rows: Rows) -> None:
        self.share = share
        self.tuples = rows.tuples
        self.found = outputs.Found(share)
        self.counts: dict[int, dict[str, int]] = {}
        self.index = _index(share, share.steps[0])
        self.state = _state(share, rows, self.index)
        if len(self.state.pending) < rows.pending.num_rows:
            self.found.lost(share.steps[0], _out_of_force(rows.pending, self.index.queries))

    def take(self, place: int) -> None:
        """Take the deliveries of one epoch."""
        share, now = self.share, self.share.steps[place]
        self.index = _index(share, now)
        begin = sum(len(step.arrivals) for step in share.steps[:place])
        mine = self.tuples.of_deliveries(begin, begin + len(now.arrivals))
        outcome = step(
            self.state,
            mine.batch,
            self.index,
            deliveries=len(now.arrivals),
            lateness=share.lateness,
            marks=now.marks,
        )
        before = self.state.waiting, self.state.pending
        self.state = outcome.state
        self.found.add(now, outcome, mine, before)
        self.counts[now.epoch] = _counts(outcome)


def _index(share: Share, now: Step) -> BorderIndex:
    """Build the index of a query set, or take it from the process that built it before. O(n)."""
    if now.queries is None:
        return BorderIndex.build(QuerySet.empty(share.feed, share.axes[share.feed]))
    path = Path(share.root) / now.queries
    key = f"{path}:{path.stat().st_mtime_ns}:{path.stat().st_ino}"
    if key not in _indexes:
        while len(_indexes) >= _MOST_INDEXES:
            del _indexes[next(iter(_indexes))]
        _indexes[key] = BorderIndex.build(load(path))
    return _indexes[key]


def _state(share: Share, rows: Rows, index: BorderIndex) -> FeedState:
    """Lay the logs out as the state that the engine goes on from."""
    axes = share.axes[share.feed]
    heads = Heads.from_table(axes, _as_integers(rows.stream_state), index.base)
    waiting = _waiting(share.feed, axes, rows.reorder)
    pending = _as_integers(rows.pending)
    held = Pending.from_table(index.queries, heads.names, pending)
    return FeedState(share.feed, heads, waiting, held, share.watermark)


def _out_of_force(pending: pa.Table, queries: QuerySet) -> pa.Table:
    """Give the pending events whose query no longer stands in their version."""
    row = codes_in(pending["query_id"].combine_chunks(), queries.ids)
    versions = np.append(queries.versions, 0)[row]
    stands = (row >= 0) & (versions == pending["query_version"].to_numpy())
    return pending.filter(pa.array(~stands))


def _as_integers(table: pa.Table) -> pa.Table:
    table = table.set_column(table.column_names.index("ts"), "ts", table["ts"].cast(pa.int64()))
    place = table.column_names.index("stream_id")
    return table.set_column(place, "stream_id", table["stream_id"].cast(pa.string()))


def _waiting(feed: str, axes: tuple[str, ...], rows: pa.Table) -> TupleBatch:
    """Take up the tuples that wait, in the order in which the engine keeps them."""
    if rows.num_rows == 0:
        return TupleBatch.empty(feed, axes)
    values = np.stack([rows[axis].to_numpy() for axis in axes])
    ts = rows["ts"].cast(pa.int64()).to_numpy()
    batch = TupleBatch.from_columns(feed, axes, coded(rows["stream_id"]), ts, values)
    return batch.take(np.lexsort((batch.ts, batch.stream)))


def _counts(outcome: Outcome) -> dict[str, int]:
    counts = dict.fromkeys(COUNTS, 0)
    counts["accepted"] = outcome.accepted
    counts["waiting"] = len(outcome.state.waiting)
    entered = int((outcome.found.type > 0).sum())
    counts["entered"], counts["left"] = entered, len(outcome.found.type) - entered
    for name, many in outputs.reasons(outcome).items():
        counts[name] = many
    for name, many in outputs.kinds(outcome).items():
        counts[name] = many
    return counts
