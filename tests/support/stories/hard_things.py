"""What is hard in a story, by name: borders met, boxes leapt over, times that are just up.

Law: a name is given for what the reference says of the story, so that it can be counted whether the
strategies draw it at all.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from fencepost.queries import CROSSING, MATCH, Box, StandingQuery
from fencepost.reference import (
    Event,
    FeedDelivery,
    Registration,
    RunResult,
    Sighting,
    Transition,
    holds,
    run,
)
from fencepost.reference.crossings import covers
from tests.support.oracles.oracles import epochs
from tests.support.stories.strategies import FEED, Story


@dataclass(frozen=True)
class Step:
    """A released tuple, the one before it of its stream, and where the two were released."""

    number: int
    before: int
    previous: Sighting | None
    current: Sighting


def steps(rows: RunResult) -> list[Step]:
    """Every step of every stream."""
    last: dict[str, tuple[int, Sighting]] = {}
    found = []
    for number, current in rows.accepted:
        before, previous = last.get(current.stream, (-1, None))
        found.append(Step(number, before, previous, current))
        last[current.stream] = (number, current)
    return found


def in_force(story: Story) -> dict[int, tuple[StandingQuery, ...]]:
    """The queries of either kind under which each delivery is evaluated."""
    return {
        epoch.first: epoch.registration.queries
        for epoch in epochs(story.script)
        if epoch.deliveries
    }


def of_the_script(story: Story, rows: RunResult) -> Iterator[str]:
    """What the story itself is made of."""
    arrived = [item for item in story.script if isinstance(item, FeedDelivery)]
    yield from {1: ["one axis"], 6: ["six axes"]}.get(len(story.axes), [])
    if len(arrived) > 2:
        yield "several deliveries"
    if any(not delivery.tuples for delivery in arrived):
        yield "an empty delivery"
    if story.lateness:
        yield "a lateness"
    if rows.waiting:
        yield "a tuple that waits at the end"
    if rows.pending:
        yield "a pending crossing at the end"


def of_order(story: Story, rows: RunResult) -> Iterator[str]:
    """What became of the arrivals."""
    arrived = [item.tuples for item in story.script if isinstance(item, FeedDelivery)]
    released = {(s.stream, s.ts): number for number, s in rows.accepted}
    waiting = {(a.sighting.stream, a.sighting.ts) for a in rows.waiting}
    for number, row, reason in rows.rejected:
        new = arrived[number][row]
        if reason == "late":
            yield "a late tuple"
            continue
        others = [s for n, s in enumerate(arrived[number]) if n != row]
        is_own = any((s.stream, s.ts) == (new.stream, new.ts) for s in others)
        yield f"a {reason} {'in a delivery' if is_own else 'across deliveries'}"
        place = (new.stream, new.ts)
        if place in waiting or released.get(place, -1) > number:
            yield "a repeat of a waiting tuple"
    arrival = {id(s): n for n, tuples in enumerate(arrived) for s in tuples}
    taken = [(number, arrival[id(s)]) for number, s in rows.accepted]
    if any(number > came for number, came in taken):
        yield "a tuple released by a later delivery"
    if any(n == m and came > then for (n, came), (m, then) in pairwise(taken)):
        yield "two streams released out of the order of arrival"


def judged_in(story: Story) -> set[str]:
    """What is hard about several tuples of an instant, sequences and streams' own clocks."""
    rows = run(FEED, story.axes, story.script, story.rules)
    return {*_of_places(rows), *_of_sequences(story, rows), *_of_clocks(story, rows)}


def _of_places(rows: RunResult) -> Iterator[str]:
    if any(e.place > 0 for e in rows.events):
        yield "a crossing at a later place"
    if any(m.place > 0 for m in rows.matches):
        yield "a match at a later place"
    if any(t.from_ts == t.to_ts for t in rows.transitions):
        yield "a pair within one instant"
    if any(t.to_place is None and t.from_place > 0 for t in rows.transitions):
        yield "a time-out of a crossing at a later place"
    if any(p.place > 0 for p in rows.pending):
        yield "a pending crossing at a later place"
    waits = Counter((a.sighting.stream, a.ts) for a in rows.waiting)
    if max(waits.values(), default=0) > 1:
        yield "tuples of one instant that wait"


def _of_sequences(story: Story, rows: RunResult) -> Iterator[str]:
    arrived = [item.tuples for item in story.script if isinstance(item, FeedDelivery)]
    taken = {(s.stream, s.ts) for _, s in rows.accepted}
    for number, row, reason in rows.rejected:
        seen = arrived[number][row]
        if seen.sequence is not None:
            is_own = reason == "late" and (seen.stream, seen.ts) in taken
            yield "a lower sequence" if is_own else f"a {reason} by sequence"


def _of_clocks(story: Story, rows: RunResult) -> Iterator[str]:
    if story.idle is not None:
        by_feed = run(FEED, story.axes, story.script, replace(story.rules, idle=None))
        if by_feed.accepted != rows.accepted:
            yield "a release by a stream's own clock"
        if by_feed.transitions != rows.transitions:
            yield "a time-out by a stream's own clock"


def of_a_step(query: StandingQuery, step: Step) -> Iterator[str]:
    """What a step is to a query that covers its stream."""
    now = step.current
    is_in = holds(query, now.values)
    ends = [(end, v) for box in query.boxes for end, v in zip(box, now.values, strict=True)]
    if any(lo == v for (lo, _), v in ends):
        yield "a value on a lower end"
    if any(hi == v for (_, hi), v in ends):
        yield "a value on an upper end"
    if step.previous is None:
        if is_in and query.on_first == "silent":
            yield "a first sight inside that is silent"
        return
    yield "a step between two " + (
        "tuples of one delivery" if step.number == step.before else "deliveries"
    )
    was, was_in = step.previous, holds(query, step.previous.values)
    begin, end = query.valid_from, query.valid_to
    if begin is not None and now.ts == begin:
        yield "a step onto valid_from"
    if begin is not None and was.ts < begin <= now.ts:
        yield "a step into the validity"
    if end is not None and was.ts < end <= now.ts and was_in != is_in:
        yield "a step out of the validity that would have crossed"
    if not (was_in or is_in):
        yield from leaps(query, was, now)
    if (
        was_in
        and is_in
        and not any(inside(box, was.values) and inside(box, now.values) for box in query.boxes)
    ):
        yield "a move from box to box of one query"


def inside(box: Box, values: tuple[float, ...]) -> bool:
    return all(lo <= v < hi for (lo, hi), v in zip(box, values, strict=True))


def leaps(query: StandingQuery, was: Sighting, now: Sighting) -> Iterator[str]:
    """A box passed from one side to the other on one axis, with the others holding at both ends."""
    for box in query.boxes:
        for axis, (lo, hi) in enumerate(box):
            low, high = sorted((was.values[axis], now.values[axis]))
            others = (*box[:axis], (-float("inf"), float("inf")), *box[axis + 1 :])
            if (
                low < lo
                and hi <= high
                and inside(others, was.values)
                and inside(others, now.values)
            ):
                yield "a leap over a box"
                if any(end != (-float("inf"), float("inf")) for end in others):
                    yield "a leap over a box that holds on another axis"


def of_crossings(story: Story, rows: RunResult) -> Iterator[str]:
    """What the steps are to the queries in force, and what the events are."""
    force = in_force(story)
    for step in steps(rows):
        for query in force[step.number]:
            if query.kind == CROSSING and covers(query, step.current.stream):
                yield from of_a_step(query, step)
    named = {q.id for queries in force.values() for q in queries if q.streams is not None}
    like = {q.id for queries in force.values() for q in queries if q.streams_like is not None}
    for event in rows.events:
        yield {"I": "an entry", "O": "an exit"}[event.type]
        if event.prev_ts is None:
            yield "an entry at first sight"
        if event.query_id in named:
            yield "a crossing of a query for named streams"
        if event.query_id in like:
            yield "a crossing of a query for streams of a pattern"


def of_matches(story: Story, rows: RunResult) -> Iterator[str]:
    """What the tuples are to the match queries in force."""
    force = in_force(story)
    for number, seen in rows.accepted:
        matching = [q for q in force[number] if q.kind == MATCH and covers(q, seen.stream)]
        for query in matching:
            yield from of_a_tuple(query, seen)
    named = {q.id for queries in force.values() for q in queries if q.streams is not None}
    like = {q.id for queries in force.values() for q in queries if q.streams_like is not None}
    for match in rows.matches:
        yield "a match"
        if match.query_id in named:
            yield "a match of a query for named streams"
        if match.query_id in like:
            yield "a match of a query for streams of a pattern"
    if max(Counter((m.stream, m.ts) for m in rows.matches).values(), default=0) > 1:
        yield "a tuple that several queries match"


def of_a_tuple(query: StandingQuery, seen: Sighting) -> Iterator[str]:
    """What a tuple is to a match query that covers its stream."""
    boxes = [inside(box, seen.values) for box in query.boxes]
    if holds(query, seen.values) and not boxes[0]:
        yield "a match by a second box"
    if any(boxes) and not holds(query, seen.values):
        yield "a tuple in a box that fails its test"
    compared = [test for tests in query.tests for test in tests]
    if any(seen.values[left] == seen.values[right] for left, _, right in compared):
        yield "two axes that are equal and compared"


def of_registration(story: Story) -> Iterator[str]:
    """What the registrations between deliveries change, and for whom."""
    present: dict[str, StandingQuery] = {}
    past: set[str] = set()
    for number, item in enumerate(story.script):
        if isinstance(item, FeedDelivery):
            continue
        so_far = run(FEED, story.axes, story.script[:number], story.rules)
        after = run(FEED, story.axes, story.script[: number + 1], story.rules)
        if so_far.pending != after.pending:
            yield "a pending crossing forgotten with its query"
        now = {query.id: query for query in item.queries}
        heads = [head.values for head in so_far.heads.values()]
        for id in now.keys() - present.keys():
            if id in past:
                yield "a query that came back"
            if any(holds(now[id], values) for values in heads):
                yield "a query added while a stream is inside"
        for id in present.keys() - now.keys():
            if any(holds(present[id], values) for values in heads):
                yield "a query removed while a stream is inside"
        yield from of_changes(present, now)
        present, past = now, past | now.keys()


def of_changes(before: dict[str, StandingQuery], now: dict[str, StandingQuery]) -> Iterator[str]:
    """What became of the queries that stay."""
    for id in now.keys() & before.keys():
        if now[id].version != before[id].version:
            yield "a query changed"
        if now[id].kind != before[id].kind:
            yield f"a {before[id].kind} that became a {now[id].kind}"


def of_transitions(story: Story, rows: RunResult) -> Iterator[str]:
    """What became of the crossings, and how close it was."""
    t_of = {
        (q.id, q.version): q
        for item in story.script
        if isinstance(item, Registration)
        for q in item.queries
    }
    born = {key(e): e for e in rows.events}
    for transition in rows.transitions:
        yield f"a {transition.type}"
        query = t_of[transition.query_id, transition.version]
        born_in = born[key(transition, transition.from_ts)].delivery
        answer = next_event(rows, transition)
        yield from of_a_transition(query, transition, answer, born_in)
    marks = set(watermarks(story))
    for event in rows.events:
        query = t_of[event.query_id, event.version]
        if query.within is None:
            continue
        if query.valid_to == event.ts + query.within:
            yield "a time that ends on valid_to"
        if event.ts + query.within in marks:
            yield "a time that ends on the watermark"


def of_a_transition(
    query: StandingQuery, told: Transition, answer: Event | None, born_in: int
) -> Iterator[str]:
    """How one transition was decided."""
    if query.within == 0:
        yield "a t of zero"
    if told.to_ts is not None:
        if told.to_ts - told.from_ts == query.within:
            yield "a pair exactly t apart"
        if told.delivery != born_in:
            yield "a pair over two deliveries"
    elif answer is not None and answer.delivery == told.delivery:
        yield "a pair more than t apart"
    else:
        yield "a time-out by the watermark"
        if answer is not None and answer.ts <= told.ts:
            yield "an answer after the time-out"


def key(row: Event | Transition, ts: int | None = None) -> tuple[str, int, str, int]:
    return row.query_id, row.version, row.stream, row.ts if ts is None else ts


def next_event(rows: RunResult, told: Transition) -> Event | None:
    """The crossing after the one that the transition is of."""
    later = [e for e in rows.events if key(e)[:3] == key(told)[:3] and e.ts > told.from_ts]
    return min(later, key=lambda e: e.ts, default=None)


def watermarks(story: Story) -> Iterator[int | None]:
    """The watermark after each delivery."""
    for number in range(1, len(story.script) + 1):
        yield run(FEED, story.axes, story.script[:number], story.rules).watermark


def found_in(story: Story) -> set[str]:
    """Every hard thing that a story has."""
    rows = run(FEED, story.axes, story.script, story.rules)
    return {
        *of_the_script(story, rows),
        *of_order(story, rows),
        *of_crossings(story, rows),
        *of_matches(story, rows),
        *of_registration(story),
        *of_transitions(story, rows),
    }
