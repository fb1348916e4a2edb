"""All of it at once: a feed's deliveries and registrations in, every row that they lead to out.

Law: one delivery after the other, one tuple after the other, one query after the other, each rule
of the other files applied literally; so no grouping of deliveries into epochs can be seen here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from fencepost.errors import InputError
from fencepost.queries import CROSSING, MATCH, StandingQuery
from fencepost.reference import crossings, order, transitions
from fencepost.reference.crossings import Event, Match
from fencepost.reference.order import Arrival, FeedDelivery, Registration, Sighting
from fencepost.reference.transitions import PendingEvent, Transition


@dataclass
class RunResult:
    """What a run leaves behind, in the order in which it came about.

    accepted  (delivery, tuple)    rejected  (delivery, row, reason)    heads  stream: (ts, values)
    """

    events: list[Event] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)
    matches: list[Match] = field(default_factory=list)
    rejected: list[tuple[int, int, str]] = field(default_factory=list)
    pending: list[PendingEvent] = field(default_factory=list)
    heads: dict[str, tuple[int, tuple[float, ...]]] = field(default_factory=dict)
    waiting: list[Arrival] = field(default_factory=list)
    accepted: list[tuple[int, Sighting]] = field(default_factory=list)
    watermark: int | None = None


def run(
    feed: str, axes: Sequence[str], script: Sequence[FeedDelivery | Registration], lateness: int = 0
) -> RunResult:
    """Run a script in order, in O(tuples × (queries + waiting)) and no hurry."""
    rows = RunResult()
    queries: list[StandingQuery] = []
    matching: list[StandingQuery] = []
    number = 0
    for item in script:
        if isinstance(item, Registration):
            queries = [q for q in item.queries if q.feed == feed and q.kind == CROSSING]
            matching = [q for q in item.queries if q.feed == feed and q.kind == MATCH]
            forget_the_gone(rows, queries)
            continue
        for arrival in arrivals(item, number, len(axes)):
            judge(rows, arrival)
        rows.watermark = order.moved(rows.watermark, rows.waiting, lateness)
        for sighting in release(rows):
            take(rows, queries, sighting, number)
            match(rows, matching, sighting, number)
        decide_the_overdue(rows, queries, number)
        number += 1
    return rows


def arrivals(delivery: FeedDelivery, number: int, axes: int) -> list[Arrival]:
    """The tuples of a delivery are judged by ts, and at one ts by row."""
    for seen in delivery.tuples:
        if len(seen.values) != axes:
            raise InputError(f"delivery {number}: {seen}, expected {axes} values, one an axis")
    return sorted(Arrival(s.ts, number, row, s) for row, s in enumerate(delivery.tuples))


def judge(rows: RunResult, arrival: Arrival) -> None:
    """A good tuple waits, for those judged after it too; a faulty one is rejected with a reason."""
    seen = arrival.sighting
    reason = order.fault(seen, rows.waiting, head_of(rows, seen.stream))
    if reason is None:
        rows.waiting.append(arrival)
    else:
        rows.rejected.append((arrival.delivery, arrival.row, reason))


def release(rows: RunResult) -> list[Sighting]:
    """Every waiting tuple that the watermark has reached is released, in order."""
    ready = sorted(a for a in rows.waiting if order.is_released(a, rows.watermark))
    rows.waiting = [a for a in rows.waiting if a not in ready]
    return [arrival.sighting for arrival in ready]


def take(rows: RunResult, queries: Sequence[StandingQuery], now: Sighting, number: int) -> None:
    """A released tuple is the step from its stream's last one, and then the last one itself."""
    before = head_of(rows, now.stream)
    for query in queries:
        crossed = crossings.event(query, before, now, number)
        if crossed is not None:
            rows.events.append(crossed)
            answer(rows, query, crossed)
    rows.heads[now.stream] = (now.ts, now.values)
    rows.accepted.append((number, now))


def match(rows: RunResult, queries: Sequence[StandingQuery], now: Sighting, number: int) -> None:
    """A released tuple matches every query that holds for it."""
    found = (crossings.match(query, now, number) for query in queries)
    rows.matches += [each for each in found if each is not None]


def answer(rows: RunResult, query: StandingQuery, f: Event) -> None:
    """A crossing decides the one before it, if that is still pending, and then pends itself."""
    if query.within is None:
        return
    for e in [e for e in rows.pending if transitions.is_of(e, query) and e.stream == f.stream]:
        rows.pending.remove(e)
        rows.transitions.append(transitions.by_pair(e, f, query.within))
    if not transitions.outlasts(f.ts + query.within, query):
        later = PendingEvent(query.id, query.version, f.stream, f.type, f.ts)
        rows.pending.append(later)


def decide_the_overdue(rows: RunResult, queries: Sequence[StandingQuery], number: int) -> None:
    """After the crossings of a delivery, its watermark decides what has run out of time."""
    for query in queries:
        for e in [e for e in rows.pending if transitions.is_of(e, query)]:
            if query.within is not None and transitions.is_overdue(e, query.within, rows.watermark):
                rows.pending.remove(e)
                rows.transitions.append(transitions.by_time(e, query.within, number))


def forget_the_gone(rows: RunResult, queries: Sequence[StandingQuery]) -> None:
    """With a query, or a version of it, its pending crossings go without a transition."""
    rows.pending = [e for e in rows.pending if any(transitions.is_of(e, q) for q in queries)]


def head_of(rows: RunResult, stream: str) -> Sighting | None:
    """A stream's last released tuple, None before its first."""
    return Sighting(stream, *rows.heads[stream]) if stream in rows.heads else None
