"""The decision on every event, in NumPy: what the kernel does, readable."""

import numpy as np

from fencepost.transitions.columns import (
    ANSWERED,
    BEFORE,
    DROPPED,
    TIMED_OUT,
    UNDECIDED,
    Fates,
    Sequences,
)
from fencepost.tuples import Int32s, Int64s


def decide(events: Sequences, watermarks: Int64s, own: Int32s, fates: Fates) -> None:
    """Decide each event by its next one, or by a watermark, whichever came first."""
    n, deliveries = len(events.ts), len(watermarks) - 1
    due = events.ts + events.within
    paired = np.zeros(n, np.bool_)
    paired[:-1] = (np.diff(events.query) == 0) & (np.diff(events.stream) == 0)
    then = np.where(paired, np.roll(events.delivery, -1), deliveries)
    gap = np.roll(events.ts, -1) - events.ts

    # After which delivery was a watermark first past the due time? The feed's never falls, so it
    # can be looked up; the stream's own was.
    mine = np.maximum(events.delivery, BEFORE + 1)
    passed = np.maximum(np.searchsorted(watermarks[1:], due, side="right"), mine)
    if len(own):
        passed = np.minimum(passed, own)
    waited_for = passed < then
    in_time = paired & ~waited_for & (gap <= events.within)
    too_late = waited_for | (paired & ~in_time)
    dropped = too_late & (due >= events.valid_to)
    fates.fate[:] = np.select(
        [dropped, in_time, too_late], [DROPPED, ANSWERED, TIMED_OUT], default=UNDECIDED
    )
    decided = np.where(waited_for, passed, then)
    fates.delivery[:] = np.where(dropped | (fates.fate == UNDECIDED), BEFORE, decided)
