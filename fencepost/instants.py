"""Tuples in the order of their streams and times, and which of its instant each of them is.

Law: of the same stream and ts, tuples keep the order in which they came, unless they are ranked.
"""

from dataclasses import replace

import numpy as np

from fencepost.tuples import Bools, Int32s, Int64s, TupleBatch, sequences_of


def is_same(stream: Int32s, ts: Int64s, rank: Int64s | None = None) -> Bools:
    """Say of each tuple but the first whether it has the same stream, ts and rank as its neighbour.

    O(n).
    """
    same: Bools = (stream[1:] == stream[:-1]) & (ts[1:] == ts[:-1])
    return same if rank is None else same & (rank[1:] == rank[:-1])


def find(waiting: TupleBatch, stream: Int32s, ts: Int64s, rank: Int64s | None) -> Int64s:
    """Find the first waiting tuple of the same stream, time and rank, -1 where there is none."""
    keys = [np.concatenate([waiting.ts, ts]), np.concatenate([waiting.stream, stream])]
    if rank is not None and waiting.rank is not None:
        keys.insert(0, np.concatenate([waiting.rank, rank]))
    order = np.lexsort(keys)
    new = np.zeros(len(order), np.bool_)
    new[:1] = True
    for key in keys:
        new[1:] |= np.diff(key[order]) != 0
    leader = order[np.flatnonzero(new)[np.cumsum(new) - 1]]
    found = np.empty(len(order), np.int64)
    found[order] = leader
    mine = found[len(waiting) :]
    return np.where(mine < len(waiting), mine, -1)


def in_order(batch: TupleBatch, rows: Int64s) -> Int64s:
    """Sort a delivery's rows by (stream, ts, rank, row); what is in order is only dealt out."""
    stream, ts = batch.stream[rows], batch.ts[rows]
    order = _by_stream_and_time(stream, ts)
    if batch.rank is None:
        return order
    rank = batch.rank[rows]
    falls = is_same(stream[order], ts[order]) & (np.diff(rank[order]) < 0)
    if not falls.any():
        return order
    sorted_rows: Int64s = np.lexsort((rank, ts, stream))
    return sorted_rows


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


def merged(waiting: TupleBatch, arrived: TupleBatch) -> TupleBatch:
    """Put what waits and what has arrived in one order: by stream, time, rank and arrival."""
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
        sequences_of([waiting, arrived]),
        _both(waiting.tag, arrived.tag),
        rank=_both(waiting.rank, arrived.rank),
    )
    order = np.lexsort((both.ts, both.stream))
    stream, ts = both.stream[order], both.ts[order]
    if not is_same(stream, ts).any():  # as nearly always: nothing is told apart by its number
        return replace(both.take(order), nth=np.zeros(len(both), np.int32))
    place = np.empty(len(both), np.int32)
    place[order] = _places(stream, ts)
    if waiting.nth is not None:
        place[: len(waiting)] = waiting.nth
    both = replace(both, nth=place)
    if both.rank is not None:
        order = np.lexsort((place, both.rank, both.ts, both.stream))
    return both.take(order)


def _both(first: Int64s | None, second: Int64s | None) -> Int64s | None:
    return None if first is None or second is None else np.concatenate([first, second])


def by_instant(waiting: TupleBatch) -> TupleBatch:
    """Bring what waits into its order, as `merged` leaves it, and number it: O(n) if it is so."""
    if len(waiting) == 0:
        return waiting
    nth = np.zeros(len(waiting), np.int32) if waiting.nth is None else waiting.nth
    keys: list[Int64s | Int32s] = [nth, waiting.ts, waiting.stream]
    if waiting.rank is not None:
        keys.insert(1, waiting.rank)
    return numbered(waiting.take(np.lexsort(keys)))


def numbered(waiting: TupleBatch) -> TupleBatch:
    """Number what waits of a stream and ts in its order, unless it is."""
    if waiting.nth is not None:
        return waiting
    return replace(waiting, nth=_places(waiting.stream, waiting.ts))


def _places(stream: Int32s, ts: Int64s) -> Int32s:
    """Number tuples, sorted by stream and ts, among those of the same stream and ts."""
    again = np.append(False, is_same(stream, ts))[: len(stream)]
    at = np.arange(len(stream), dtype=np.int32)
    return at - np.maximum.accumulate(np.where(again, 0, at))


def placed(stream: Int32s, ts: Int64s, last_ts: Int64s, last_place: Int32s | None) -> Int32s | None:
    """Number the accepted tuples of each stream and ts, after those accepted before.

    O(n); None where none ties, which costs two looks at each tuple.
    """
    is_same_stream = stream[1:] == stream[:-1]
    first = np.append(0, np.flatnonzero(~is_same_stream) + 1)[: len(stream)]
    goes_on = last_ts[stream[first]] == ts[first]
    if not ((is_same_stream & (ts[1:] == ts[:-1])).any() or goes_on.any()):
        return None
    place = _places(stream, ts)
    if goes_on.any():
        begin = np.append(np.flatnonzero(place == 0), len(stream))
        group = np.searchsorted(begin, first[goes_on])
        offset = np.zeros(len(begin) - 1, np.int32)
        offset[group] = 1
        if last_place is not None:
            offset[group] += last_place[stream[first[goes_on]]]
        place += np.repeat(offset, np.diff(begin))
    return place
