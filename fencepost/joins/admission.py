"""What a step accepts of one feed of a lane, and in which order.

Law: the order is (releasing delivery, ts, sequence, row). Of tuples that may wait the row is
forgotten: with lateness allowed those of one releasing delivery and one ts go by stream id,
bytewise, and by place. A row that is marked gone is accepted, rejected or kept waiting like any
other, and stays marked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fencepost.arrow import codes_in, ranks_by_code
from fencepost.joins.state import SideState
from fencepost.order import (
    NEVER,
    OrderRules,
    Past,
    Rejected,
    Released,
    admit,
    numbers_like,
)
from fencepost.tuples import Bools, Doubles, Int8s, Int32s, Int64s, TupleBatch


@dataclass(frozen=True, eq=False)
class AcceptedTuples:
    """m tuples in the order in which they were accepted: 21 + 8 d bytes each.

    `stream` is the place among the names of the state after the step, `delivery` one of the step,
    `place` which of its stream and ts a tuple is.
    """

    stream: Int32s
    ts: Int64s
    values: Doubles  # [axis, tuple]
    delivery: Int32s
    gone: Bools
    place: Int32s

    def __len__(self) -> int:
        """How many tuples."""
        return len(self.ts)

    def part(self, begin: int, end: int) -> "AcceptedTuples":
        """Those of some rows, as views."""
        rows = slice(begin, end)
        columns = (self.stream[rows], self.ts[rows], self.values[:, rows])
        return AcceptedTuples(*columns, self.delivery[rows], self.gone[rows], self.place[rows])


@dataclass(frozen=True, eq=False)
class Turns:
    """What both sides accepted, in one order: of each turn whose tuple, and its row there."""

    side: Int8s
    row: Int64s
    stream: Int32s  # among the names of its side
    ts: Int64s
    delivery: Int32s
    place: Int32s  # which of its stream and ts

    @classmethod
    def of(cls, left: AcceptedTuples, right: AcceptedTuples) -> "Turns":
        """A delivery is of one side, so the deliveries alone bring both together."""
        both = (left, right)
        side = np.repeat(np.array([0, 1], np.int8), [len(left), len(right)])
        row = np.concatenate([np.arange(len(each)) for each in both])
        stream = np.concatenate([each.stream for each in both])
        ts = np.concatenate([each.ts for each in both])
        delivery = np.concatenate([each.delivery for each in both])
        place = np.concatenate([each.place for each in both])
        order = np.argsort(delivery, kind="stable")
        first = side[order], row[order], stream[order]
        return cls(*first, ts[order], delivery[order], place[order])

    @classmethod
    def empty(cls) -> "Turns":
        """Nothing was accepted."""
        none, nobody = np.empty(0, np.int64), np.empty(0, np.int32)
        return cls(np.empty(0, np.int8), none, nobody, none, nobody, nobody)

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
        nowhere = np.empty(0, np.bool_)
        none = AcceptedTuples(nobody, batch.ts, batch.values, nobody, nowhere, nobody)
        mark = NEVER if state.watermark is None else state.watermark
        rejected = Rejected(np.empty(0, np.int64), np.empty(0, np.int8))
        return cls(none, rejected, np.full(deliveries, mark), nobody, state)


def accept(
    state: SideState,
    batch: TupleBatch,
    own: Int64s,
    deliveries: int,
    rules: OrderRules,
    gone: Bools | None = None,
) -> SideOutcome:
    """Admit the deliveries `own`, of all of a step: O(streams + n log n) for n tuples."""
    if not len(own):
        return SideOutcome.nothing(state, batch, deliveries)
    batch = replace(batch, delivery=np.searchsorted(own, batch.delivery).astype(np.int32))
    names, (waited, arrived) = _numbered(state.names, (state.waiting, batch))
    before = NEVER if state.watermark is None else state.watermark
    admission = admit(
        replace(arrived, tag=np.arange(len(arrived))),
        replace(waited, tag=-1 - np.arange(len(waited))),
        Past.of(state, len(names), state.watermark),
        deliveries=len(own),
        rules=rules,
    )
    is_gone = np.zeros(len(batch), np.bool_) if gone is None else gone
    is_gone = np.append(is_gone, state.waiting_gone[::-1])  # a tag is a place in it
    accepted, sequence = _in_order(waited, admission.released, is_gone, rules)
    accepted = replace(accepted, delivery=own[accepted.delivery].astype(np.int32))
    watermarks = np.append(before, admission.watermarks)
    watermarks = watermarks[np.searchsorted(own, np.arange(deliveries), side="right")]
    after, accepted, moved = _headed(state, names, accepted, sequence)
    mark = int(watermarks[-1]) if deliveries else before
    waits = admission.waiting
    source = np.empty(0, np.int64) if waits.tag is None else waits.tag
    after = replace(
        after,
        waiting=_tagged_as_given(waits, state.waiting, batch).compacted(),
        waiting_gone=is_gone[source],
        accepted=state.accepted + len(accepted),
        watermark=None if mark == NEVER else mark,
    )
    return SideOutcome(accepted, admission.rejected, watermarks, moved, after)


def _tagged_as_given(waits: TupleBatch, waited: TupleBatch, batch: TupleBatch) -> TupleBatch:
    """Give what waits the tags that the caller gave, instead of those by which it is traced."""
    if batch.tag is None or waits.tag is None:
        return replace(waits, tag=None)
    before = -1 - np.arange(len(waited)) if waited.tag is None else waited.tag
    return replace(waits, tag=np.append(batch.tag, before[::-1])[waits.tag])


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
    waited: TupleBatch, out: Released, gone: Bools, rules: OrderRules
) -> tuple[AcceptedTuples, pa.Array | None]:
    """Put what was released into the order of the lane; `out.tag` is the row of each, or negative.

    A tuple that waited has no row, and goes before those of its ts that have one.
    """
    row = np.empty(0, np.int64) if out.tag is None else out.tag
    place = np.zeros(len(row), np.int32) if out.place is None else out.place
    if rules.lateness > 0:
        keys: list[Int64s | Int32s] = [
            place,
            ranks_by_code(waited.names, out.stream),
            out.ts,
            out.delivery,
        ]
    else:
        tie = row
        if len(waited):
            rank = ranks_by_code(waited.names, out.stream) * (1 + place.max(initial=0)) + place
            tie = np.where(row < 0, rank - (rank.max(initial=0) + 1), row)
        keys = [tie, out.ts, out.delivery]
        if out.sequence is not None:
            keys.insert(1, numbers_like(out.sequence))
    order = np.lexsort(keys)
    accepted = AcceptedTuples(
        out.stream[order],
        out.ts[order],
        np.ascontiguousarray(out.values[:, order]),
        out.delivery[order],
        gone[row[order]],
        place[order],
    )
    sequence = None if out.sequence is None else out.sequence.take(pa.array(order))
    return accepted, sequence


def _headed(
    state: SideState,
    names: pa.StringArray,
    accepted: AcceptedTuples,
    sequence: pa.Array | None,
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
    ts_place = np.concatenate([state.ts_place, np.empty(room, np.int32)])
    at = place[moved]
    ts[at], values[:, at] = accepted.ts[last], accepted.values[:, last]
    member[at], ts_place[at] = ~accepted.gone[last], accepted.place[last]
    after = replace(
        state,
        names=pa.concat_arrays([state.names, names.take(pa.array(fresh))]) if room else state.names,
        ts=ts,
        values=values,
        member=member,
        ts_place=ts_place,
        sequence=_sequences(state, sequence, last, at, room),
    )
    return after, replace(accepted, stream=place[accepted.stream]), at


def _sequences(
    state: SideState, accepted: pa.Array | None, last: Int64s, at: Int32s, room: int
) -> pa.StringArray | None:
    """Replace the sequences of the streams `at` by those of their last tuples."""
    if accepted is None and state.sequence is None:
        return None
    source = np.append(np.arange(len(state)), np.zeros(room, np.int64))
    source[at] = len(state) + np.arange(len(at))
    new = pa.nulls(len(at), pa.string())
    if accepted is not None:
        new = accepted.take(pa.array(last)).cast(pa.string())
    return pa.concat_arrays([state.sequences, new]).take(pa.array(source))
