"""From crossings and the watermark to transitions.

Law: every event of a query with `within` gets exactly one transition, unless its query goes first
or its time would run out at or after `valid_to`; and the deliveries alone, not their grouping, say
which and when.
"""

from dataclasses import dataclass, fields

import numpy as np

from fencepost.row_order import in_order_of
from fencepost.transitions import twins
from fencepost.transitions.columns import (
    ANSWERED,
    BEFORE,
    TIMED_OUT,
    UNDECIDED,
    Clocks,
    Crossed,
    Fates,
    Sequences,
)
from fencepost.transitions.state import Pending
from fencepost.tuples import Bools, Int8s, Int32s, Int64s

KINDS = ("pass_through", "short_absence", "stay", "departure")
PASS_THROUGH, SHORT_ABSENCE, STAY, DEPARTURE = range(4)
COMPILE_FROM = 20_000  # events from which the compiled kernel is worth loading


@dataclass(frozen=True, eq=False)
class Transitions:
    """n transitions.

    Where an event `answered`, `ts` is its time, and `to_place` which of its instant it was. A stay
    or a departure has none.
    """

    kind: Int8s
    query: Int32s
    stream: Int32s
    ts: Int64s
    from_ts: Int64s
    delivery: Int32s
    from_place: Int32s
    to_place: Int32s

    @property
    def answered(self) -> Bools:
        """Which have an answering event."""
        return self.kind <= SHORT_ABSENCE

    def take(self, rows: Int32s) -> "Transitions":
        """Return some of them."""
        return Transitions(*(getattr(self, each.name)[rows] for each in fields(self)))

    def by_time(self) -> Int32s | None:
        """Order them by time within a query and stream; None if they are in such an order. O(n).

        A stay that was due before a late answer's own transition may stand behind it.
        """
        falls = self.ts[1:] < self.ts[:-1]
        falls &= (self.query[1:] == self.query[:-1]) & (self.stream[1:] == self.stream[:-1])
        return in_order_of(self.ts) if falls.any() else None


def decide(
    pending: Pending,
    crossed: Crossed,
    watermarks: Int64s,
    clocks: Clocks | None = None,
    *,
    fast: bool | None = None,
) -> tuple[Transitions, Pending]:
    """Decide what can be decided; return the transitions and what is pending still.

    `watermarks[d]` is the feed's before delivery d, the last that after all; `clocks` are the
    streams' own, where they have any. O(n log n).
    """
    queries = pending.of
    columns = {
        "query": np.concatenate([pending.query, crossed.query]),
        "stream": np.concatenate([pending.stream, crossed.stream]),
        "ts": np.concatenate([pending.ts, crossed.ts]),
        "type": np.concatenate([pending.type, crossed.type]),
        "delivery": np.concatenate([np.full(len(pending), BEFORE, np.int32), crossed.delivery]),
    }
    if crossed.place is not None or pending.place.any():
        new = np.zeros(len(crossed.ts), np.int32) if crossed.place is None else crossed.place
        columns["place"] = np.concatenate([pending.place, new])
    came = np.concatenate([np.full(len(pending), -1), crossed.order])
    by_pair = np.lexsort((came, columns["stream"], columns["query"]))
    columns = {name: column[by_pair] for name, column in columns.items()}

    within = queries.within[columns["query"]]
    valid_to = queries.valid_to[columns["query"]]
    events = Sequences(
        columns["query"], columns["stream"], columns["ts"], columns["delivery"], within, valid_to
    )
    own = np.empty(0, np.int32) if clocks is None else _passed(events, clocks, len(watermarks) - 1)
    fates = Fates(np.empty(len(within), np.int8), np.empty(len(within), np.int32))
    if len(within) >= COMPILE_FROM if fast is None else fast:
        from fencepost.transitions import kernels

        kernels.decide(events, watermarks, own, fates)
    else:
        twins.decide(events, watermarks, own, fates)
    type_ = columns["type"]
    place = columns.get("place", np.zeros(len(type_), np.int32))  # taking room costs nothing
    kept = np.flatnonzero(fates.fate == UNDECIDED)
    left = Pending(
        queries, events.query[kept], events.stream[kept], type_[kept], events.ts[kept], place[kept]
    )
    return _decided(events, type_, place, fates), left


def _passed(events: Sequences, clocks: Clocks, deliveries: int) -> Int32s:
    """Find the first delivery after which an event's stream is past its due time by its own clock.

    `deliveries` where none is. A stream's marks rise, so (stream, mark) is in order as it is:
    O(n log m) for m moves, of which only those of these streams are looked at.
    """
    if not len(events.ts):
        return np.empty(0, np.int32)
    wanted_of = np.zeros(int(events.stream.max()) + 2, np.bool_)
    wanted_of[events.stream] = True  # the place behind the last is that of all other streams
    others = len(wanted_of) - 1
    theirs = wanted_of[np.clip(clocks.stream, -1, others)]
    stream, moved_in, mark = (clocks.stream[theirs], clocks.delivery[theirs], clocks.mark[theirs])
    due = events.ts + events.within
    marks = np.unique(mark)
    width = len(marks) + 1
    keys = stream.astype(np.int64) * width + np.searchsorted(marks, mark)
    wanted = events.stream.astype(np.int64) * width + np.searchsorted(marks, due, side="right")
    at = np.searchsorted(keys, wanted)
    found = at < len(keys)
    found[found] = stream[at[found]] == events.stream[found]
    passed = np.full(len(due), deliveries, np.int32)
    passed[found] = moved_in[at[found]]
    later: Int32s = np.maximum(passed, np.maximum(events.delivery, BEFORE + 1)).astype(np.int32)
    return later


def _decided(events: Sequences, type_: Int8s, place: Int32s, fates: Fates) -> Transitions:
    k = np.flatnonzero((fates.fate == ANSWERED) | (fates.fate == TIMED_OUT))
    answered = fates.fate[k] == ANSWERED
    came_in = type_[k] > 0
    kind = np.where(
        answered,
        np.where(came_in, PASS_THROUGH, SHORT_ABSENCE),
        np.where(came_in, STAY, DEPARTURE),
    )
    due = events.ts[k] + events.within[k]
    then = np.minimum(k + 1, max(len(events.ts) - 1, 0))
    ts = np.where(answered, events.ts[then], due)
    return Transitions(
        kind.astype(np.int8),
        events.query[k],
        events.stream[k],
        ts,
        events.ts[k],
        fates.delivery[k],
        place[k],
        place[then],
    )
