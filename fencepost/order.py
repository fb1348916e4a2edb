"""Which tuples of a delivery are accepted, which wait, and which are rejected.

A delivery is judged whole: its tuples in the order (ts, row), each against its stream's last
released tuple and the ones that wait. What is good waits; after the delivery the watermark moves to
the largest time seen less the allowed lateness, and what waits at or below it is released. With no
lateness allowed everything is released at once.

Law: the outcome depends on the sequence of deliveries alone, never on how they are grouped into
calls.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.tuples import Doubles, Int8s, Int32s, Int64s, TupleBatch

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


class Past(NamedTuple):
    """What arrivals are judged by: each stream's last released tuple, and the watermark."""

    last_ts: Int64s  # [stream] NEVER where none was released
    last_values: Doubles  # [axis, stream]
    watermark: int


@dataclass(frozen=True, eq=False)
class Rejected:
    """Rejected tuples: their rows in the batch, and why."""

    row: Int64s
    reason: Int8s


@dataclass(frozen=True, eq=False)
class Released:
    """Accepted tuples, sorted by (stream, releasing delivery, ts): the order of the walk."""

    stream: Int32s
    ts: Int64s
    values: Doubles
    delivery: Int32s


@dataclass(frozen=True, eq=False)
class Admission:
    """What became of a batch.

    Rows read = released + newly waiting + rejected, less those that waited before.
    """

    released: Released
    waiting: TupleBatch
    rejected: Rejected
    watermarks: Int64s  # after each delivery


def admit(
    batch: TupleBatch,
    waiting: TupleBatch,
    past: Past,
    *,
    deliveries: int,
    lateness: int,
    marks: Int64s | None = None,
) -> Admission:
    """Judge every delivery of a batch in turn.

    O(n log n) at worst; O(n) where a delivery's tuples come in order of time. `batch`, `waiting`
    and `past` share their stream codes. `marks` are the watermarks after each delivery, where the
    batch is a share of the feed's streams and cannot know them.
    """
    last_ts, last_values = past.last_ts.copy(), past.last_values.copy()
    watermark = past.watermark
    edges = np.searchsorted(batch.delivery, np.arange(deliveries + 1))
    watermarks = np.empty(deliveries, np.int64)
    released: list[TupleBatch] = []
    rejected: list[tuple[Int64s, Int8s]] = []
    for delivery in range(deliveries):
        rows = np.arange(edges[delivery], edges[delivery + 1])
        if len(rows):
            rows = rows[_by_stream_and_time(batch.stream[rows], batch.ts[rows])]
            arrived = batch.take(rows)
            verdict = _judge(arrived, waiting, last_ts, last_values)
            good = verdict == 0
            if not good.all():
                rejected.append((rows[~good], verdict[~good]))
                arrived = arrived.take(good)
            if len(arrived):
                watermark = max(watermark, int(arrived.ts.max()) - lateness)
            waiting = _merge(waiting, arrived)
        if marks is not None:
            watermark = int(marks[delivery])
        watermarks[delivery] = watermark
        ready = waiting.ts <= watermark
        out, waiting = (
            (waiting, waiting.take(slice(0, 0)))
            if ready.all()
            else (waiting.take(ready), waiting.take(~ready))
        )
        if len(out):
            released.append(out.with_delivery(delivery))
            ends = np.flatnonzero(np.diff(out.stream, append=-1))
            last_ts[out.stream[ends]] = out.ts[ends]
            last_values[:, out.stream[ends]] = out.values[:, ends]
    turned = [np.concatenate(c) for c in zip(*rejected, strict=True)] if rejected else None
    row = turned[0] if turned else np.empty(0, np.int64)
    reason = turned[1] if turned else np.empty(0, np.int8)
    return Admission(
        _in_walking_order(released, batch),
        waiting,
        Rejected(row, reason.astype(np.int8)),
        watermarks,
    )


def _judge(
    arrived: TupleBatch, waiting: TupleBatch, last_ts: Int64s, last_values: Doubles
) -> Int8s:
    """Say of each arrival, sorted by stream and time, why it is rejected, or 0."""
    stream, ts, values = arrived.stream, arrived.ts, arrived.values
    last = last_ts[stream]
    verdict = np.zeros(len(ts), np.int8)
    verdict[ts < last] = LATE
    met = np.flatnonzero((ts == last) & (last != NEVER))
    if len(met):
        same = (values[:, met] == last_values[:, stream[met]]).all(axis=0)
        verdict[met] = np.where(same, DUPLICATE, CONFLICT)
    if len(waiting):
        at = _find(waiting, stream, ts)
        met = np.flatnonzero((verdict == 0) & (at >= 0))
        same = (values[:, met] == waiting.values[:, at[met]]).all(axis=0)
        verdict[met] = np.where(same, DUPLICATE, CONFLICT)
    again = np.flatnonzero((np.diff(stream) == 0) & (np.diff(ts) == 0)) + 1
    if len(again):  # the first of a run of equal times is accepted; the others are compared with it
        is_first = np.ones(len(ts), np.bool_)
        is_first[again] = False
        first = np.flatnonzero(is_first)[np.cumsum(is_first)[again] - 1]
        same = (values[:, again] == values[:, first]).all(axis=0)
        undecided = verdict[again] == 0
        verdict[again[undecided]] = np.where(same, DUPLICATE, CONFLICT)[undecided]
    return verdict


def _find(waiting: TupleBatch, stream: Int32s, ts: Int64s) -> Int64s:
    """Find the waiting tuple of the same stream and time, -1 where there is none."""
    both = np.concatenate([waiting.stream, stream]), np.concatenate([waiting.ts, ts])
    order = np.lexsort((np.arange(len(both[0])), both[1], both[0]))
    new = np.ones(len(order), np.bool_)
    new[1:] = (np.diff(both[0][order]) != 0) | (np.diff(both[1][order]) != 0)
    leader = order[np.flatnonzero(new)[np.cumsum(new) - 1]]
    found = np.empty(len(order), np.int64)
    found[order] = leader
    mine = found[len(waiting) :]
    return np.where(mine < len(waiting), mine, -1)


def _by_stream_and_time(stream: Int32s, ts: Int64s) -> Int64s:
    """Sort rows by (stream, ts, row); those in order of time are only dealt to their streams."""
    if (np.diff(ts) >= 0).all():
        return deal(stream)
    order = deal(stream)
    falls = (np.diff(ts[order]) < 0) & (np.diff(stream[order]) == 0)
    if not falls.any():
        return order
    sorted_rows: Int64s = np.lexsort((ts, stream))
    return sorted_rows


def deal(stream: Int32s) -> Int64s:
    """Deal rows out to their streams, each stream's in the order they had.

    O(n) for up to 65,536 streams.
    """
    if (np.diff(stream) >= 0).all():
        return np.arange(len(stream))
    if int(stream.max()) < 1 << 16:
        order: Int64s = np.argsort(stream.astype(np.uint16), kind="stable")
        return order
    low = np.argsort((stream & 0xFFFF).astype(np.uint16), kind="stable")
    high = np.argsort((stream[low] >> 16).astype(np.uint16), kind="stable")
    return low[high]


def _merge(waiting: TupleBatch, arrived: TupleBatch) -> TupleBatch:
    """Put what waits and what has arrived in one order, by stream and time; no two share both."""
    if len(waiting) == 0:
        return arrived
    if len(arrived) == 0:
        return waiting
    both = TupleBatch(
        waiting.feed,
        waiting.axes,
        waiting.names,
        np.concatenate([waiting.stream, arrived.stream]),
        np.concatenate([waiting.ts, arrived.ts]),
        np.concatenate([waiting.values, arrived.values], axis=1),
        np.concatenate([waiting.delivery, arrived.delivery]),
    )
    return both.take(np.lexsort((both.ts, both.stream)))


def _in_walking_order(released: list[TupleBatch], batch: TupleBatch) -> Released:
    """Bring the releases of all deliveries together, each stream's in the order of release."""
    if not released:
        none = batch.take(slice(0, 0))
        return Released(none.stream, none.ts, none.values, none.delivery)
    if len(released) == 1:
        one = released[0]
        return Released(one.stream, one.ts, one.values, one.delivery)
    stream = np.concatenate([r.stream for r in released])
    order = deal(stream)
    return Released(
        stream[order],
        np.concatenate([r.ts for r in released])[order],
        np.concatenate([r.values for r in released], axis=1)[:, order],
        np.concatenate([r.delivery for r in released])[order],
    )


def recoded(batch: TupleBatch, names: pa.StringArray) -> TupleBatch:
    """Return the batch with stream codes among these names, which include all of its own."""
    codes = pc.index_in(batch.names, value_set=names).to_numpy(zero_copy_only=False)
    return replace(batch, names=names, stream=codes.astype(np.int32)[batch.stream])


def rejection_details(reasons: pa.StringArray) -> pa.StringArray:
    """Give the detail of each tuple that was rejected, by its reason."""
    codes = pc.index_in(reasons, value_set=pa.array(list(DETAILS)))
    return pa.array(list(DETAILS.values())).take(codes)
