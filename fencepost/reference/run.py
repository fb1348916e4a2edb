"""All of it at once: a feed's deliveries and registrations in, every row that they lead to out.

Law: one delivery after the other, one tuple after the other, one query after the other, each rule
of the other files applied literally; so no grouping of deliveries into epochs can be seen here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.errors import InputError
from fencepost.order_rules import AS_THEY_COME, OrderRules
from fencepost.queries import CROSSING, MATCH, StandingQuery
from fencepost.reference import crossings, order, transitions
from fencepost.reference.crossings import Event, Match
from fencepost.reference.order import Arrival, FeedDelivery, Head, Registration, Sighting
from fencepost.reference.transitions import PendingEvent, Transition


@dataclass
class RunResult:
    """What a run leaves behind, in the order in which it came about.

    accepted  (delivery, tuple)    rejected  (delivery, row, reason)    heads  by stream
    """

    events: list[Event] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)
    matches: list[Match] = field(default_factory=list)
    rejected: list[tuple[int, int, str]] = field(default_factory=list)
    pending: list[PendingEvent] = field(default_factory=list)
    heads: dict[str, Head] = field(default_factory=dict)
    waiting: list[Arrival] = field(default_factory=list)
    accepted: list[tuple[int, Sighting]] = field(default_factory=list)
    watermark: int | None = None


def run(
    feed: str,
    axes: Sequence[str],
    script: Sequence[FeedDelivery | Registration | OrderRules],
    rules: OrderRules = AS_THEY_COME,
) -> RunResult:
    """Run a script in order, in O(tuples × (queries + waiting)) and no hurry.

    Order rules in it hold for the deliveries after them, and for what waits by then.
    """
    rows = RunResult()
    queries: list[StandingQuery] = []
    matching: list[StandingQuery] = []
    number = 0
    for item in script:
        if isinstance(item, OrderRules):
            rules = item
            continue
        if isinstance(item, Registration):
            queries = [q for q in item.queries if q.feed == feed and q.kind == CROSSING]
            matching = [q for q in item.queries if q.feed == feed and q.kind == MATCH]
            forget_the_gone(rows, queries)
            continue
        for arrival in arrivals(item, number, len(axes)):
            judge(rows, arrival, rules)
        good = [arrival for arrival in rows.waiting if arrival.delivery == number]
        rows.watermark = order.moved(rows.watermark, good, rules)
        marks = watermarks(rows, rules)
        for sighting in release(rows, marks):
            take(rows, queries, sighting, number)
            match(rows, matching, sighting, number)
        decide_the_overdue(rows, queries, marks, number)
        number += 1
    return rows


def arrivals(delivery: FeedDelivery, number: int, axes: int) -> list[Arrival]:
    """The tuples of a delivery are judged by ts, at one ts by sequence, then by row."""
    for seen in delivery.tuples:
        if len(seen.values) != axes:
            raise InputError(f"delivery {number}: {seen}, expected {axes} values, one an axis")
    found = [Arrival(s.ts, number, row, s) for row, s in enumerate(delivery.tuples)]
    return sorted(found, key=order.turn)


def judge(rows: RunResult, arrival: Arrival, rules: OrderRules) -> None:
    """A good tuple waits, for those judged after it too; a faulty one is rejected with a reason."""
    seen = arrival.sighting
    reason = order.fault(seen, rows.waiting, rows.heads.get(seen.stream), rules)
    if reason is None:
        rows.waiting.append(arrival)
    else:
        rows.rejected.append((arrival.delivery, arrival.row, reason))


def watermarks(rows: RunResult, rules: OrderRules) -> dict[str, int | None]:
    """Every stream has a watermark, the feed's or its own."""
    streams = {a.sighting.stream for a in rows.waiting} | rows.heads.keys()
    return {
        name: order.of_stream(name, rows.watermark, rows.waiting, rows.heads.get(name), rules)
        for name in streams
    }


def release(rows: RunResult, marks: Mapping[str, int | None]) -> list[Sighting]:
    """Every waiting tuple that its watermark has reached is released, in order."""
    ready = [a for a in rows.waiting if order.is_released(a, marks[a.sighting.stream])]
    rows.waiting = [a for a in rows.waiting if a not in ready]
    return [arrival.sighting for arrival in sorted(ready, key=order.turn)]


def take(rows: RunResult, queries: Sequence[StandingQuery], seen: Sighting, number: int) -> None:
    """A released tuple is the step from its stream's last one, and then the last one itself."""
    before = rows.heads.get(seen.stream)
    now = rows.heads[seen.stream] = order.headed(before, seen)
    for query in queries:
        crossed = crossings.event(query, seen.stream, before, now, number)
        if crossed is not None:
            rows.events.append(crossed)
            answer(rows, query, crossed)
    rows.accepted.append((number, seen))


def match(rows: RunResult, queries: Sequence[StandingQuery], seen: Sighting, number: int) -> None:
    """A released tuple, now its stream's last, matches every query that holds for it."""
    now = rows.heads[seen.stream]
    found = (crossings.match(query, seen.stream, now, number) for query in queries)
    rows.matches += [each for each in found if each is not None]


def answer(rows: RunResult, query: StandingQuery, f: Event) -> None:
    """A crossing decides the one before it, if that is still pending, and then pends itself."""
    if query.within is None:
        return
    for e in [e for e in rows.pending if transitions.is_of(e, query) and e.stream == f.stream]:
        rows.pending.remove(e)
        if transitions.answers(e, f, query.within):
            rows.transitions.append(transitions.by_pair(e, f))
        else:
            run_out(rows, query, e, f.delivery)
    later = PendingEvent(query.id, query.version, f.stream, f.type, f.ts, f.place)
    rows.pending.append(later)


def run_out(rows: RunResult, query: StandingQuery, e: PendingEvent, number: int) -> None:
    """A crossing that nothing answered in time is decided by that, or dropped at `valid_to`."""
    if query.within is not None and not transitions.outlasts(e.ts + query.within, query):
        rows.transitions.append(transitions.by_time(e, query.within, number))


def decide_the_overdue(
    rows: RunResult,
    queries: Sequence[StandingQuery],
    marks: Mapping[str, int | None],
    number: int,
) -> None:
    """After the crossings of a delivery, the watermarks decide what has run out of time."""
    for query in queries:
        for e in [e for e in rows.pending if transitions.is_of(e, query)]:
            mark = marks[e.stream]
            if query.within is not None and transitions.is_overdue(e, query.within, mark):
                rows.pending.remove(e)
                run_out(rows, query, e, number)


def forget_the_gone(rows: RunResult, queries: Sequence[StandingQuery]) -> None:
    """With a query, or a version of it, its pending crossings go without a transition."""
    rows.pending = [e for e in rows.pending if any(transitions.is_of(e, q) for q in queries)]
