"""The decision on every event, compiled. Its twin in `twins.py` has the same law."""

import numpy as np
from numba import njit

from fencepost.transitions.columns import (
    ANSWERED,
    BEFORE,
    DROPPED,
    TIMED_OUT,
    UNDECIDED,
    Crossed,
    Fates,
    Sequences,
)
from fencepost.tuples import Int32s, Int64s


@njit
def _passed(watermarks, first, due):
    """Find the first delivery from `first` on after which the watermark is past the due time."""
    low, high = first, len(watermarks) - 1
    while low < high:
        middle = (low + high) // 2
        if watermarks[middle + 1] > due:
            high = middle
        else:
            low = middle + 1
    return low


@njit(nogil=True, cache=True)
def decide(events: Sequences, watermarks: Int64s, own: Int32s, fates: Fates) -> None:
    """Decide each event by its next one, or by a watermark, whichever came first. O(n).

    `watermarks[d]` is the feed's before delivery d, the last that after all; `own[k]` the first
    delivery after which the stream's own is past the due time of event k, empty where streams have
    none. An event that happens in a delivery is looked at before the watermark of the same delivery
    moves; so only a later delivery's event can come too late for it.
    """
    n, deliveries = len(events.ts), len(watermarks) - 1
    for k in range(n):
        due = events.ts[k] + events.within[k]
        mine = max(events.delivery[k], BEFORE + 1)
        fates.fate[k] = UNDECIDED
        fates.delivery[k] = BEFORE
        paired = (
            k + 1 < n
            and events.query[k + 1] == events.query[k]
            and events.stream[k + 1] == events.stream[k]
        )
        then = events.delivery[k + 1] if paired else np.int32(deliveries)
        by_feed = then > mine and watermarks[then] > due
        by_stream = len(own) > 0 and own[k] < then
        if by_feed or by_stream:
            passed = _passed(watermarks, mine, due) if by_feed else then
            fates.fate[k] = TIMED_OUT
            fates.delivery[k] = min(passed, own[k]) if by_stream else passed
        elif paired:
            answered = events.ts[k + 1] - events.ts[k] <= events.within[k]
            fates.fate[k] = ANSWERED if answered else TIMED_OUT
            fates.delivery[k] = then
        if fates.fate[k] == TIMED_OUT and due >= events.valid_to[k]:
            fates.fate[k] = DROPPED
            fates.delivery[k] = BEFORE


@njit(nogil=True, cache=True)
def pick(rows: Int32s, events: Crossed, out: Crossed) -> None:
    """Look some events up: one miss of the cache a row, where NumPy has one for each column."""
    for at in range(len(rows)):
        row = rows[at]
        out.query[at] = events.query[row]
        out.stream[at] = events.stream[row]
        out.ts[at] = events.ts[row]
        out.type[at] = events.type[row]
        out.delivery[at] = events.delivery[row]
        out.order[at] = events.order[row]
        out.place[at] = events.place[row]
