"""From the results of a step of joins to rows of the lake's tables, epoch by epoch.

The logs get what changed: heads that moved, and the accepted tuples that are live when the epoch is
done; waiting tuples are written whole each time. With a snapshot they get all of it.
"""

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa

from fencepost.arrow import codes_in
from fencepost.joins.engine import JoinOutcome
from fencepost.joins.state import LaneState, SideState
from fencepost.queries.joins import BandJoins, NearJoins
from fencepost.tuples import Int64s
from pipelines.execute.joins.share import RESULTS, JoinShare, JoinStep
from pipelines.execute.reorder import waiting_columns
from pipelines.execute.write import TableWriter
from schemas.joins import LEFT, REGISTRATION, RIGHT, SIDE
from schemas.table import TIME

SIDES = (LEFT, RIGHT, REGISTRATION)
"""By the number of a side of a lane, its name; the last one is no side's."""

PIECE = 1 << 20
"""Pairs, or changes, that are held at a time, and stand in one file."""


class JoinWriter(TableWriter):
    """The rows of a lane of joins."""

    def __init__(self, share: JoinShare, write: Callable[[str, Iterable[pa.Table]], None]) -> None:
        """Begin without rows, for the joins of a share."""
        super().__init__(share.lane, share.columns, 1, write)
        self.share = share

    def add(self, now: JoinStep, outcome: JoinOutcome) -> dict[str, int]:
        """Add the results of one epoch; count them. Many are written in pieces."""
        arrivals = np.array(now.arrivals, np.int64)
        counts = dict.fromkeys(RESULTS, 0)
        for piece in outcome.pair_pieces(PIECE):
            counts["paired"] += piece.num_rows
            self._found("pairs", now, _of_deliveries(piece, arrivals))
        for piece in outcome.band_pieces(PIECE):
            _count(counts, piece.changes, "came_in", "went_out")
            stamped = self._stamped(piece.changes, now, outcome.index.bands)
            self._found("band_changes", now, stamped)
        for rows in outcome.near_pieces(PIECE):
            _count(counts, rows, "came_near", "went_away")
            self._found("near_changes", now, self._stamped(rows, now, outcome.index.nears))
        if self.share.writes_state:
            for side, state in enumerate(outcome.state.sides):
                self.put("set_members", now, _of(state, outcome.moved(side)), snapshot=False)
                self.put("live_windows", now, _of(state, outcome.lived(side)), snapshot=False)
                self.put("live_windows", now, _of(state, _waiting(state)), snapshot=False)
        return counts

    def snapshot(self, now: JoinStep, state: LaneState) -> None:
        """Add the whole state as of an epoch."""
        if not self.share.writes_state:
            return
        for side in state.sides:
            self.put("set_members", now, _of(side, side.heads_table()), snapshot=True)
            self.put("live_windows", now, _of(side, side.live_table()), snapshot=True)
            self.put("live_windows", now, _of(side, _waiting(side)), snapshot=True)

    def _found(self, name: str, now: JoinStep, rows: pa.Table) -> None:
        self.put(name, now, rows)
        if self.buffered(name) >= PIECE:
            self.flush(name)

    def _stamped(self, rows: pa.Table, now: JoinStep, joins: BandJoins | NearJoins) -> pa.Table:
        """Give changes their side and arrival; those of a registration its commit's, and time."""
        arrivals, delivery = np.array(now.arrivals, np.int64), rows["delivery"].to_numpy()
        side = np.append(np.array(now.sides, np.int32), SIDES.index(REGISTRATION))[delivery]
        sides = pa.DictionaryArray.from_arrays(pa.array(side, pa.int32()), pa.array(SIDES))
        rows = rows.append_column(SIDE.name, sides.cast(pa.string()))
        if (delivery >= 0).all():
            return _of_deliveries(rows, arrivals)
        query = codes_in(rows["query_id"].cast(pa.string()).combine_chunks(), joins.ids)
        version, each = np.unique(joins.registered[query], return_inverse=True)
        stamp = np.array([self.share.registered[v] for v in version.tolist()], np.int64)[each]
        came = delivery >= 0
        arrival = np.where(came, arrivals[np.maximum(delivery, 0)], stamp[:, 0])
        ts = np.where(came, rows["ts"].fill_null(0).cast(pa.int64()).to_numpy(), stamp[:, 1])
        at = rows.column_names.index("ts")
        return rows.set_column(at, "ts", pa.array(ts).cast(TIME)).append_column(
            "arrival", pa.array(arrival)
        )


def _count(counts: dict[str, int], changes: pa.Table, gained: str, lost: str) -> None:
    rose = int((changes["change"].to_numpy() > 0).sum())
    counts[gained] += rose
    counts[lost] += changes.num_rows - rose


def _of_deliveries(rows: pa.Table, arrivals: Int64s) -> pa.Table:
    return rows.append_column("arrival", pa.array(arrivals[rows["delivery"].to_numpy()]))


def _of(side: SideState, rows: pa.Table) -> pa.Table:
    """Give each row the name of its feed."""
    return rows.append_column("feed", pa.repeat(side.feed, rows.num_rows))


def _waiting(side: SideState) -> pa.Table:
    """Arrange what waits for the watermark: it has no place yet."""
    columns = {
        **waiting_columns(side.waiting),
        "registry": pa.array(np.zeros(len(side.waiting), np.int64)),
        "deleted": pa.array(side.waiting_gone),
    }
    return pa.table(columns)
