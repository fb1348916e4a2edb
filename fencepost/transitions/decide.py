"""From crossings and the watermark to transitions.

Law: every event of a query with `within` gets exactly one transition, unless its query goes first
or its time would run out at or after `valid_to`; and the deliveries alone, not their grouping, say
which and when.
"""

from dataclasses import dataclass

import numpy as np

from fencepost.transitions import twins
from fencepost.transitions.columns import (
    ANSWERED,
    BEFORE,
    TIMED_OUT,
    UNDECIDED,
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

    `to_ts` is the answering event's time, where one `answered`, and `to_place` which of its instant
    it was. A stay or a departure has none.
    """

    kind: Int8s
    query: Int32s
    stream: Int32s
    ts: Int64s
    from_ts: Int64s
    to_ts: Int64s
    delivery: Int32s
    from_place: Int32s
    to_place: Int32s

    @property
    def answered(self) -> Bools:
        """Which have an answering event."""
        return self.kind <= SHORT_ABSENCE


def decide(
    pending: Pending, crossed: Crossed, watermarks: Int64s, *, fast: bool | None = None
) -> tuple[Transitions, Pending]:
    """Decide what can be decided; return the transitions and what is pending still.

    `watermarks[d]` is that before delivery d, the last that after all. O(n log n).
    """
    queries = pending.of
    columns = {
        "query": np.concatenate([pending.query, crossed.query]),
        "stream": np.concatenate([pending.stream, crossed.stream]),
        "ts": np.concatenate([pending.ts, crossed.ts]),
        "type": np.concatenate([pending.type, crossed.type]),
        "delivery": np.concatenate([np.full(len(pending), BEFORE, np.int32), crossed.delivery]),
        "place": np.concatenate([pending.place, crossed.place]),
    }
    came = np.concatenate([np.full(len(pending), -1), crossed.order])
    by_pair = np.lexsort((came, columns["stream"], columns["query"]))
    columns = {name: column[by_pair] for name, column in columns.items()}

    within = queries.within[columns["query"]]
    valid_to = queries.valid_to[columns["query"]]
    events = Sequences(
        columns["query"], columns["stream"], columns["ts"], columns["delivery"], within, valid_to
    )
    fates = Fates(np.empty(len(within), np.int8), np.empty(len(within), np.int32))
    if len(within) >= COMPILE_FROM if fast is None else fast:
        from fencepost.transitions import kernels

        kernels.decide(events, watermarks, fates)
    else:
        twins.decide(events, watermarks, fates)
    type_, place = columns["type"], columns["place"]
    kept = np.flatnonzero(fates.fate == UNDECIDED)
    left = Pending(
        queries, events.query[kept], events.stream[kept], type_[kept], events.ts[kept], place[kept]
    )
    return _decided(events, type_, place, fates), left


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
        ts,
        fates.delivery[k],
        place[k],
        place[then],
    )
