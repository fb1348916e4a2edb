"""From crossings and the watermark to transitions.

Law: every event of a query with `within` gets exactly one transition, unless its query goes first
or its time would run out at or after `valid_to`; and the deliveries alone, not their grouping, say
which and when.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np

from fencepost.queries import QuerySet
from fencepost.row_order import PairNames, SortKey, in_order_of, order_of
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
PIECE = 1 << 18  # events that are decided at a time
NEAR = 1 << 10  # events among which the next pair is looked for


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

    def take(self, rows: Int32s | slice) -> "Transitions":
        """Return some of them."""
        return Transitions(*(getattr(self, each.name)[rows] for each in fields(self)))

    @classmethod
    def together(cls, parts: "Sequence[Transitions]") -> "Transitions":
        """Put those of several parts behind each other."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))

    def by_time(self) -> Int32s | None:
        """Order them by time within a query and stream; None if they are in such an order. O(n).

        They are in the order of their first events; where the watermark decided before a late
        answer came, that is another.
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
    names: PairNames | None = None,
    fast: bool | None = None,
) -> tuple[Transitions, Pending]:
    """Decide what can be decided; return the transitions and what is pending still.

    `watermarks[d]` is the feed's before delivery d, the last that after all; `clocks` are the
    streams' own, where they have any. Transitions come in the order of `names`, None: of codes,
    each pair's in that of its events. O(n) from 20,000 on; beside the events and what becomes of
    them there are 8 bytes an event, and the columns of one piece.
    """
    events = _with_pending(pending, crossed)
    order = _by_pair(events, names)
    parts = [
        _decide(_picked(events, order[begin:end], fast), pending.of, watermarks, clocks, fast)
        for begin, end in pairwise((0, *_ends(events, order)))
    ]
    decided, left = zip(*parts, strict=True)
    return Transitions.together(decided), Pending.together(left)


def _with_pending(pending: Pending, crossed: Crossed) -> Crossed:
    """Put what is pending in front of the events."""
    n = len(pending)
    if n == 0:
        return crossed
    return Crossed(
        np.concatenate([pending.query, crossed.query]),
        np.concatenate([pending.stream, crossed.stream]),
        np.concatenate([pending.ts, crossed.ts]),
        np.concatenate([pending.type, crossed.type]),
        np.concatenate([np.full(n, BEFORE, np.int32), crossed.delivery]),
        np.concatenate([np.full(n, -1, crossed.order.dtype), crossed.order]),
        np.concatenate([pending.place, crossed.place]),
    )


def _by_pair(events: Crossed, names: PairNames | None) -> Int32s:
    """Order events by query, stream, and which came first."""
    columns = events.query, events.stream
    if names is None:
        most = [int(codes.max(initial=0)) + 1 for codes in columns]
        ranks = [np.arange(many, dtype=np.int32) for many in most]
        keys = [SortKey(*key) for key in zip(columns, ranks, most, strict=True)]
    else:
        ranked = names.ranked(*columns)
        keys = [each.key(codes) for each, codes in zip(ranked, columns, strict=True)]
    return order_of(keys, in_order_of(events.order))


def _picked(events: Crossed, rows: Int32s, fast: bool | None) -> Crossed:
    """Give some events."""
    if not (len(rows) >= COMPILE_FROM if fast is None else fast):
        return events.take(rows)
    from fencepost.transitions import kernels

    some = Crossed(*(np.empty(len(rows), column.dtype) for column in events))
    kernels.pick(rows, events, some)
    return some


def _ends(events: Crossed, order: Int32s) -> Iterator[int]:
    """Say where pieces of about `PIECE` events end, each with the last event of a pair."""
    end, every = PIECE, len(order)
    while end < every:
        near = order[end - 1 : end + NEAR]
        query, stream = events.query[near], events.stream[near]
        others = np.flatnonzero((query != query[0]) | (stream != stream[0]))
        if len(others):
            end += int(others[0]) - 1
            yield end
        end += PIECE if len(others) else NEAR
    yield every


def _decide(
    events: Crossed, queries: QuerySet, watermarks: Int64s, clocks: Clocks | None, fast: bool | None
) -> tuple[Transitions, Pending]:
    """Decide on the events of some pairs, in their order."""
    sequences = Sequences(
        events.query,
        events.stream,
        events.ts,
        events.delivery,
        queries.within[events.query],
        queries.valid_to[events.query],
    )
    own = np.empty(0, np.int32)
    if clocks is not None:
        own = _passed(sequences, clocks, len(watermarks) - 1)
    fates = Fates(np.empty(len(events.ts), np.int8), np.empty(len(events.ts), np.int32))
    if len(events.ts) >= COMPILE_FROM if fast is None else fast:
        from fencepost.transitions import kernels

        kernels.decide(sequences, watermarks, own, fates)
    else:
        twins.decide(sequences, watermarks, own, fates)
    some = events.take(np.flatnonzero(fates.fate == UNDECIDED))
    left = Pending(queries, some.query, some.stream, some.type, some.ts, some.place)
    return _decided(sequences, events.type, events.place, fates), left


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
