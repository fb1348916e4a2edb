"""What a step accepts of one feed of a lane, and in which order.

Law: the order is (releasing delivery, ts, row). Of tuples that may wait the row is forgotten: with
lateness allowed those of one releasing delivery and one ts go by stream id, bytewise. A row that
is marked gone is accepted, rejected or kept waiting like any other, and stays marked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fencepost.arrow import codes_in, ranks_by_code
from fencepost.joins.state import SideState
from fencepost.order import NEVER, Admission, Past, Rejected, admit
from fencepost.tuples import Bools, Doubles, Int8s, Int32s, Int64s, TupleBatch


@dataclass(frozen=True, eq=False)
class AcceptedTuples:
    """m tuples in the order in which they were accepted: 17 + 8 d bytes each.

    `stream` is the place among the names of the state after the step, `delivery` one of the step.
    """

    stream: Int32s
    ts: Int64s
    values: Doubles  # [axis, tuple]
    delivery: Int32s
    gone: Bools

    def __len__(self) -> int:
        """How many tuples."""
        return len(self.ts)

    def part(self, begin: int, end: int) -> "AcceptedTuples":
        """Those of some rows, as views."""
        rows = slice(begin, end)
        columns = (self.stream[rows], self.ts[rows], self.values[:, rows])
        return AcceptedTuples(*columns, self.delivery[rows], self.gone[rows])

    def in_order(self, order: Int64s) -> "AcceptedTuples":
        """The same tuples in another order."""
        values = np.ascontiguousarray(self.values[:, order])
        return AcceptedTuples(
            self.stream[order], self.ts[order], values, self.delivery[order], self.gone[order]
        )


@dataclass(frozen=True, eq=False)
class Turns:
    """What both sides accepted, in one order: of each turn whose tuple, and its row there."""

    side: Int8s
    row: Int64s
    stream: Int32s  # among the names of its side
    ts: Int64s
    delivery: Int32s

    @classmethod
    def of(cls, left: AcceptedTuples, right: AcceptedTuples) -> "Turns":
        """A delivery is of one side, so the deliveries alone bring both together."""
        both = (left, right)
        side = np.repeat(np.array([0, 1], np.int8), [len(left), len(right)])
        row = np.concatenate([np.arange(len(each)) for each in both])
        stream = np.concatenate([each.stream for each in both])
        ts = np.concatenate([each.ts for each in both])
        delivery = np.concatenate([each.delivery for each in both])
        order = np.argsort(delivery, kind="stable")
        return cls(side[order], row[order], stream[order], ts[order], delivery[order])

    @classmethod
    def empty(cls) -> "Turns":
        """Nothing was accepted."""
        none, nobody = np.empty(0, np.int64), np.empty(0, np.int32)
        return cls(np.empty(0, np.int8), none, nobody, none, nobody)

    def __len__(self) -> int:
        """How many tuples, of both sides."""
        return len(self.row)


@dataclass(frozen=True, eq=False)
class SideOutcome:
    """What became of the tuples of one side, and the heads after it.

    `watermarks` has the feed's after each delivery of the step, whosever it is; NEVER where nothing
    was seen. `moved` are the streams whose head is another than before.
    """

    tuples: AcceptedTuples
    rejected: Rejected
    watermarks: Int64s
    moved: Int32s
    state: SideState  # its live tuples are still those of before

    @classmethod
    def nothing(cls, state: SideState, batch: TupleBatch, deliveries: int) -> "SideOutcome":
        """No delivery is of this side: nothing changes."""
        nobody = np.empty(0, np.int32)
        none = AcceptedTuples(nobody, batch.ts, batch.values, nobody, np.empty(0, np.bool_))
        mark = NEVER if state.watermark is None else state.watermark
        rejected = Rejected(np.empty(0, np.int64), np.empty(0, np.int8))
        return cls(none, rejected, np.full(deliveries, mark), nobody, state)


def accept(
    state: SideState,
    batch: TupleBatch,
    own: Int64s,
    deliveries: int,
    lateness: int,
    gone: Bools | None = None,
) -> SideOutcome:
    """Admit the deliveries `own`, of all of a step: O(streams + n log n) for n tuples."""
    if not len(own):
        return SideOutcome.nothing(state, batch, deliveries)
    batch = replace(batch, delivery=np.searchsorted(own, batch.delivery).astype(np.int32))
    names, (waited, arrived) = _numbered(state.names, (state.waiting, batch))
    ts = np.full(len(names), NEVER)
    ts[: len(state)] = state.ts
    values = np.zeros((len(state.axes), len(names)))
    values[:, : len(state)] = state.values
    before = NEVER if state.watermark is None else state.watermark
    past = Past(ts, values, before)
    admission = admit(arrived, waited, past, deliveries=len(own), lateness=lateness)
    is_gone = np.zeros(len(batch), np.bool_) if gone is None else gone
    accepted, waiting_gone = _in_order(state, arrived, waited, admission, is_gone, lateness)
    accepted = replace(accepted, delivery=own[accepted.delivery].astype(np.int32))
    watermarks = np.append(before, admission.watermarks)
    watermarks = watermarks[np.searchsorted(own, np.arange(deliveries), side="right")]
    after, accepted, moved = _headed(state, names, accepted)
    mark = int(watermarks[-1]) if deliveries else before
    after = replace(
        after,
        waiting=admission.waiting.compacted(),
        waiting_gone=waiting_gone,
        accepted=state.accepted + len(accepted),
        watermark=None if mark == NEVER else mark,
    )
    return SideOutcome(accepted, admission.rejected, watermarks, moved, after)


def _numbered(
    names: pa.StringArray, batches: Sequence[TupleBatch]
) -> tuple[pa.StringArray, list[TupleBatch]]:
    """Number streams as those known are, and the others behind them: one look-up a batch."""
    coded = []
    for batch in batches:
        codes = np.empty(0, np.int32)
        if len(batch.names):
            codes = codes_in(batch.names, names).copy()
            fresh = codes < 0
            if fresh.any():
                codes[fresh] = len(names) + np.arange(fresh.sum(), dtype=np.int32)
                names = pa.concat_arrays([names, batch.names.filter(pa.array(fresh))])
        coded.append((batch, codes))
    return names, [replace(b, names=names, stream=codes[b.stream]) for b, codes in coded]


def _in_order(
    state: SideState,
    arrived: TupleBatch,
    waited: TupleBatch,
    admission: Admission,
    gone: Bools,
    lateness: int,
) -> tuple[AcceptedTuples, Bools]:
    """Put what was released into the order of the lane; of what still waits, mark who is gone."""
    good = np.ones(len(arrived), np.bool_)
    good[admission.rejected.row] = False
    rows = np.flatnonzero(good)
    if lateness == 0 and len(waited) == 0:  # all that is good is released at once
        rows = rows[np.lexsort((arrived.ts[rows], arrived.delivery[rows]))]
        values = np.ascontiguousarray(arrived.values[:, rows])
        its = arrived.stream[rows], arrived.ts[rows], values, arrived.delivery[rows], gone[rows]
        return AcceptedTuples(*its), np.empty(0, np.bool_)
    out, waits = admission.released, admission.waiting
    tie = ranks_by_code(waited.names, out.stream)
    flags = np.zeros(len(out.ts) + len(waits), np.bool_)
    if lateness == 0 or gone.any() or state.waiting_gone.any():
        source = _sources(waited, arrived.take(rows), out.stream, out.ts, waits)
        flags = np.concatenate([state.waiting_gone, gone[rows]])[source]
        if lateness == 0:  # rows of this delivery are known; tuples that waited come before them
            row = source[: len(out.ts)]
            tie = np.where(row < len(waited), tie - len(tie), row)
    released = AcceptedTuples(out.stream, out.ts, out.values, out.delivery, flags[: len(out.ts)])
    order = np.lexsort((tie, out.ts, out.delivery))
    return released.in_order(order), flags[len(out.ts) :]


def _sources(
    waited: TupleBatch, arrived: TupleBatch, stream: Int32s, ts: Int64s, waits: TupleBatch
) -> Int64s:
    """Trace each tuple released, and each that waits, to its row among those before.

    No two good ones share stream and ts, so sorting both the same way pairs them up.
    """
    of = np.lexsort(
        (
            np.concatenate([waited.ts, arrived.ts]),
            np.concatenate([waited.stream, arrived.stream]),
        )
    )
    to = np.lexsort((np.concatenate([ts, waits.ts]), np.concatenate([stream, waits.stream])))
    source = np.empty(len(to), np.int64)
    source[to] = of
    return source


def _headed(
    state: SideState, names: pa.StringArray, accepted: AcceptedTuples
) -> tuple[SideState, AcceptedTuples, Int32s]:
    """Replace each stream's head by its last tuple; new streams are appended."""
    moved, from_end = np.unique(accepted.stream[::-1], return_index=True)
    last = len(accepted) - 1 - from_end
    known = len(state)
    fresh = moved[moved >= known]
    place = np.arange(len(names), dtype=np.int32)
    place[fresh] = known + np.arange(len(fresh), dtype=np.int32)
    room = len(fresh)
    ts = np.concatenate([state.ts, np.empty(room, np.int64)])
    values = np.concatenate([state.values, np.empty((len(state.axes), room))], axis=1)
    member = np.concatenate([state.member, np.empty(room, np.bool_)])
    at = place[moved]
    ts[at], values[:, at], member[at] = (
        accepted.ts[last],
        accepted.values[:, last],
        ~accepted.gone[last],
    )
    after = replace(
        state,
        names=pa.concat_arrays([state.names, names.take(pa.array(fresh))]) if room else state.names,
        ts=ts,
        values=values,
        member=member,
    )
    return after, replace(accepted, stream=place[accepted.stream]), at
