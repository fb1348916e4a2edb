"""Which tuples of a delivery are accepted, which wait, and which are rejected.

A delivery is judged whole: its tuples in the order (ts, sequence, row), each against its stream's
last released tuple and the ones that wait. What is good waits; after the delivery the watermark
moves to the largest time seen less the allowed lateness, and what waits at or below it is released.
With no lateness allowed everything is released at once.

Law: the outcome depends on the sequence of deliveries alone, never on how they are grouped into
calls.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrow import codes_in, ranks_of
from fencepost.instants import by_instant, deal, find, in_order, is_same, merged, numbered, placed
from fencepost.order_rules import AS_THEY_COME, OrderRules, Ties
from fencepost.tuples import (
    Doubles,
    Int8s,
    Int32s,
    Int64s,
    TupleBatch,
    sequence_as,
    sequences_of,
)

__all__ = [
    "AS_THEY_COME",
    "NEVER",
    "REASONS",
    "Admission",
    "Advance",
    "OrderRules",
    "Past",
    "Rejected",
    "Released",
    "Ties",
    "admit",
    "numbers_like",
    "recoded",
    "rejection_details",
]

# The watermark before anything was seen, and the time of a stream never seen.
NEVER = np.iinfo(np.int64).min
DUPLICATE, CONFLICT, LATE = 1, 2, 3
REASONS = ("", "duplicate", "conflict", "late")
DETAILS = {
    "duplicate": "the stream already has this tuple: the same ts and values",
    "conflict": "the stream already has a tuple of this ts with other values; the first one counts",
    "late": "the stream already has a newer tuple",
}
"""By reason: why a tuple was rejected, in words."""


class LastTuples(Protocol):
    """The last tuple of each stream, as a state has them."""

    @property
    def ts(self) -> Int64s:
        """Their times."""

    @property
    def values(self) -> Doubles:
        """Their values, one row an axis."""

    @property
    def ts_place(self) -> Int32s:
        """Which of its instant each of them is."""

    @property
    def sequence(self) -> pa.StringArray | None:
        """Their sequences as text; None where none has one."""


class Past(NamedTuple):
    """What arrivals are judged by: each stream's last released tuple, and the watermark."""

    last_ts: Int64s  # [stream] NEVER where none was released
    last_values: Doubles  # [axis, stream]
    watermark: int
    last_place: Int32s | None = None  # [stream] which of its instant it was; None: the first
    sequence: pa.Array | None = None  # [stream] null where it had none; None: none had any

    @classmethod
    def of(cls, heads: LastTuples, streams: int, watermark: int | None) -> "Past":
        """Make room for streams of which no tuple was accepted, behind the others."""
        room = streams - len(heads.ts)
        sequence = heads.sequence
        if sequence is not None:
            sequence = pa.concat_arrays([sequence, pa.nulls(room, pa.string())])
        return cls(
            np.append(heads.ts, np.full(room, NEVER)),
            np.concatenate([heads.values, np.zeros((len(heads.values), room))], axis=1),
            NEVER if watermark is None else watermark,
            np.append(heads.ts_place, np.zeros(room, np.int32)),
            sequence,
        )


class Advance(NamedTuple):
    """Where streams' own clocks moved: sorted by stream, then delivery; -1 is before the first.

    A stream's watermark after a delivery is its clock less the lateness, or the feed's watermark.
    """

    stream: Int32s
    delivery: Int32s
    largest: Int64s


@dataclass(frozen=True, eq=False)
class Rejected:
    """Rejected tuples: their rows in the batch, and why."""

    row: Int64s
    reason: Int8s


@dataclass(frozen=True, eq=False)
class Released:
    """Accepted tuples, sorted by (stream, releasing delivery, ts, place): the order of the walk.

    `place` is None where each is the first of its stream and ts.
    """

    stream: Int32s
    ts: Int64s
    values: Doubles
    delivery: Int32s
    place: Int32s | None
    sequence: pa.Array | None
    tag: Int64s | None


@dataclass(frozen=True, eq=False)
class Admission:
    """What became of a batch.

    Rows read = released + newly waiting + rejected, less those that waited before.
    """

    released: Released
    waiting: TupleBatch
    rejected: Rejected
    watermarks: Int64s  # after each delivery
    advance: Advance | None  # where every stream has its own clock


class _Clocks:
    """Every stream's own clock: the largest ts of its good tuples so far."""

    def __init__(self, past: Past, waiting: TupleBatch, lateness: int) -> None:
        self.largest = past.last_ts.copy()
        self.lateness = lateness
        self.moves: list[tuple[Int32s, Int32s, Int64s]] = []
        self.moved(waiting, -1)
        known = np.flatnonzero(self.largest != NEVER).astype(np.int32)
        before = np.full(len(known), -1, np.int32)
        self.moves = [(known, before, self.largest[known])]

    def moved(self, good: TupleBatch, delivery: int) -> None:
        """Take what arrived, sorted by stream and ts."""
        last = np.flatnonzero(np.diff(good.stream, append=-1))
        stream, ts = good.stream[last], good.ts[last]
        rises = ts > self.largest[stream]
        stream, ts = stream[rises], ts[rises]
        self.largest[stream] = ts
        self.moves.append((stream, np.full(len(stream), delivery, np.int32), ts))

    def watermarks(self, stream: Int32s, watermark: int) -> Int64s:
        """The watermarks of streams that have waiting tuples."""
        marks: Int64s = np.maximum(self.largest[stream] - self.lateness, watermark)
        return marks

    @property
    def advance(self) -> Advance:
        """All moves, stream by stream."""
        stream, delivery, largest = (np.concatenate(c) for c in zip(*self.moves, strict=True))
        order = deal(stream) if len(stream) else np.empty(0, np.int64)
        return Advance(stream[order], delivery[order], largest[order])


def admit(
    batch: TupleBatch,
    waiting: TupleBatch,
    past: Past,
    *,
    deliveries: int,
    rules: OrderRules,
    marks: Int64s | None = None,
) -> Admission:
    """Judge every delivery of a batch in turn.

    O(n log n) at worst; O(n) where a delivery's tuples come in order of time. `batch`, `waiting`
    and `past` share their stream codes. `marks` are the feed's watermarks after each delivery,
    where the batch is a share of its streams and cannot know them.
    """
    batch, waiting, last_rank = _ranked(batch, waiting, past)
    waiting = by_instant(waiting)
    last = _Last(past.last_ts.copy(), past.last_values.copy(), last_rank)
    watermark = past.watermark
    clocks = None if rules.idle is None else _Clocks(past, waiting, rules.lateness)
    edges = np.searchsorted(batch.delivery, np.arange(deliveries + 1, dtype=np.int32))
    watermarks = np.empty(deliveries, np.int64)
    released: list[TupleBatch] = []
    rejected: list[tuple[Int64s, Int8s]] = []
    for delivery in range(deliveries):
        rows = np.arange(edges[delivery], edges[delivery + 1])
        if len(rows):
            rows = rows[in_order(batch, rows)]
            arrived = batch.take(rows)
            verdict = _judge(arrived, waiting, last, rules)
            good = verdict == 0
            if not good.all():
                rejected.append((rows[~good], verdict[~good]))
                arrived = arrived.take(good)
            if len(arrived):
                watermark = max(watermark, int(arrived.ts.max()) - rules.behind)
                if clocks is not None:
                    clocks.moved(arrived, delivery)
            waiting = merged(waiting, arrived)
        if marks is not None:
            watermark = int(marks[delivery])
        watermarks[delivery] = watermark
        mark = watermark if clocks is None else clocks.watermarks(waiting.stream, watermark)
        ready = waiting.ts <= mark
        out, waiting = (
            (waiting, waiting.take(slice(0, 0)))
            if ready.all()
            else (waiting.take(ready), numbered(waiting.take(~ready)))
        )
        if len(out):
            released.append(out.with_delivery(delivery))
            last.become(out)
    turned = [np.concatenate(c) for c in zip(*rejected, strict=True)] if rejected else None
    row = turned[0] if turned else np.empty(0, np.int64)
    reason = turned[1] if turned else np.empty(0, np.int8)
    return Admission(
        _in_walking_order(released, batch, past),
        replace(waiting, rank=None),
        Rejected(row, reason.astype(np.int8)),
        watermarks,
        None if clocks is None else clocks.advance,
    )


@dataclass
class _Last:
    """Each stream's last released tuple, on its way through the deliveries."""

    ts: Int64s
    values: Doubles
    rank: Int64s | None

    def become(self, out: TupleBatch) -> None:
        """Take what was released, sorted by stream, ts and place."""
        ends = np.flatnonzero(np.diff(out.stream, append=-1))
        of = out.stream[ends]
        self.ts[of] = out.ts[ends]
        self.values[:, of] = out.values[:, ends]
        if self.rank is not None and out.rank is not None:
            self.rank[of] = out.rank[ends]


def _ranked(
    batch: TupleBatch, waiting: TupleBatch, past: Past
) -> tuple[TupleBatch, TupleBatch, Int64s | None]:
    """Give tuples numbers that sort like their sequences, NEVER where one has none.

    Integers are their own numbers; of texts only those that this step meets are ranked.
    """
    if batch.sequence is None and waiting.sequence is None:
        return batch, waiting, None
    both: pa.Array = sequences_of([waiting, batch])
    met = np.unique(batch.stream)
    if past.sequence is None:
        known = pa.nulls(len(met), both.type)
    else:
        known = sequence_as(past.sequence.take(pa.array(met)), both.type)
    rank = numbers_like(pa.concat_arrays([both, known]))
    waits, arrives, last = np.split(rank, [len(waiting), len(both)])
    last_rank = np.full(len(past.last_ts), NEVER)
    last_rank[met] = last
    return replace(batch, rank=arrives), replace(waiting, rank=waits), last_rank


def numbers_like(sequence: pa.Array) -> Int64s:
    """Give each sequence a number, in the same order; NEVER where there is none. O(n log n)."""
    rank: Int64s
    if sequence.type == pa.int64():
        rank = pc.fill_null(sequence, NEVER).to_numpy(zero_copy_only=False)
        return rank
    rank = ranks_of(pc.fill_null(sequence, ""))
    rank[sequence.is_null().to_numpy(zero_copy_only=False)] = NEVER
    return rank


def _judge(arrived: TupleBatch, waiting: TupleBatch, last: _Last, rules: OrderRules) -> Int8s:
    """Say of each arrival, in its order, why it is rejected, or 0."""
    stream, ts, values = arrived.stream, arrived.ts, arrived.values
    before = last.ts[stream]
    verdict = np.zeros(len(ts), np.int8)
    verdict[ts < before] = LATE
    rank = arrived.rank if arrived.sequence is not None else None
    if rank is None and rules.ties == "all":
        return verdict
    meets = ts == before
    if rank is not None and last.rank is not None:
        verdict[meets & (rank < last.rank[stream])] = LATE
        meets &= rank == last.rank[stream]
    met = np.flatnonzero(meets)
    if len(met):
        same = (values[:, met] == last.values[:, stream[met]]).all(axis=0)
        verdict[met] = np.where(same, DUPLICATE, CONFLICT)
    if len(waiting):
        at = find(waiting, stream, ts, rank)
        met = np.flatnonzero((verdict == 0) & (at >= 0))
        same = (values[:, met] == waiting.values[:, at[met]]).all(axis=0)
        verdict[met] = np.where(same, DUPLICATE, CONFLICT)
    again = np.flatnonzero(is_same(stream, ts, rank)) + 1
    if len(again):  # the first of a run of equals is accepted; the others are compared with it
        is_first = np.ones(len(ts), np.bool_)
        is_first[again] = False
        first = np.flatnonzero(is_first)[np.cumsum(is_first)[again] - 1]
        same = (values[:, again] == values[:, first]).all(axis=0)
        undecided = verdict[again] == 0
        verdict[again[undecided]] = np.where(same, DUPLICATE, CONFLICT)[undecided]
    return verdict


def _in_walking_order(released: list[TupleBatch], batch: TupleBatch, past: Past) -> Released:
    """Bring the releases of all deliveries together, each stream's in the order of release."""
    if not released:
        released = [batch.take(slice(0, 0))]
    if len(released) == 1:
        one = released[0]
        place = placed(one.stream, one.ts, past.last_ts, past.last_place)
        its = (one.stream, one.ts, one.values, one.delivery)
        return Released(*its, place, one.sequence, one.tag)
    stream = np.concatenate([r.stream for r in released])
    ts = np.concatenate([r.ts for r in released])
    values = np.concatenate([r.values for r in released], axis=1)
    delivery = np.concatenate([r.delivery for r in released])
    tags = [r.tag for r in released if r.tag is not None]
    tag = np.concatenate(tags) if len(tags) == len(released) else None
    sequence = sequences_of(released)
    order = deal(stream)
    stream, ts = stream[order], ts[order]
    return Released(
        stream,
        ts,
        values[:, order],
        delivery[order],
        placed(stream, ts, past.last_ts, past.last_place),
        None if sequence is None else sequence.take(pa.array(order)),
        None if tag is None else tag[order],
    )


def recoded(batch: TupleBatch, names: pa.StringArray) -> TupleBatch:
    """Return the batch with stream codes among these names, which include all of its own."""
    return replace(batch, names=names, stream=codes_in(batch.names, names)[batch.stream])


def rejection_details(reasons: pa.StringArray) -> pa.StringArray:
    """Give the detail of each tuple that was rejected, by its reason."""
    codes = pc.index_in(reasons, value_set=pa.array(list(DETAILS)))
    return pa.array(list(DETAILS.values())).take(codes)
