"""The decision on every event, compiled. Its twin in `twins.py` has the same law."""

import numpy as np
from numba import njit

from fencepost.transitions.columns import (
    ANSWERED,
    BEFORE,
    DROPPED,
    TIMED_OUT,
    UNDECIDED,
    Fates,
    Sequences,
)
from fencepost.tuples import Int64s


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
def decide(events: Sequences, watermarks: Int64s, fates: Fates) -> None:
    """Decide each event by its next one, or by the watermark, whichever came first. O(n).

    `watermarks[d]` is that before delivery d, the last that after all. An event that happens in a
    delivery is looked at before the watermark of the same delivery moves; so only a later
    delivery's event can come too late for it.
    """
    n = len(events.ts)
    for k in range(n):
        due = events.ts[k] + events.within[k]
        mine = max(events.delivery[k], BEFORE + 1)
        fates.fate[k] = UNDECIDED
        fates.delivery[k] = BEFORE
        if due >= events.valid_to[k]:
            fates.fate[k] = DROPPED
            continue
        paired = (
            k + 1 < n
            and events.query[k + 1] == events.query[k]
            and events.stream[k + 1] == events.stream[k]
        )
        then = events.delivery[k + 1] if paired else np.int32(len(watermarks) - 1)
        if then > events.delivery[k] and watermarks[then] > due:
            fates.fate[k] = TIMED_OUT
            fates.delivery[k] = _passed(watermarks, mine, due)
        elif paired:
            answered = events.ts[k + 1] - events.ts[k] <= events.within[k]
            fates.fate[k] = ANSWERED if answered else TIMED_OUT
            fates.delivery[k] = then
