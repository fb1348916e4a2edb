"""The shared strategies draw what is hard, often enough that no property over them is vacuous."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fencepost.queries import Box, StandingQuery
from fencepost.reference import (
    Delivery,
    Event,
    Registration,
    Rows,
    Sighting,
    Transition,
    holds,
    holds_by_text,
    run,
)
from tests.oracles import epochs
from tests.strategies import FEED, Story, axis_names, queries, stories

DRAWS = 400
OFTEN = 4  # of the draws, at the least
ANYWHERE = (-math.inf, math.inf)

HARD = {
    "six axes",
    "one axis",
    "several deliveries",
    "an empty delivery",
    "a lateness",
    "a value on a lower end",
    "a value on an upper end",
    "a leap over a box",
    "a leap over a box that holds on another axis",
    "a move from box to box of one query",
    "an entry",
    "an exit",
    "an entry at first sight",
    "a first sight inside that is silent",
    "a crossing of a query for named streams",
    "a step between two tuples of one delivery",
    "a step between two deliveries",
    "a step onto valid_from",
    "a step into the validity",
    "a step out of the validity that would have crossed",
    "a query added while a stream is inside",
    "a query removed while a stream is inside",
    "a query changed",
    "a query that came back",
    "a duplicate in a delivery",
    "a duplicate across deliveries",
    "a conflict in a delivery",
    "a conflict across deliveries",
    "a late tuple",
    "a repeat of a waiting tuple",
    "a tuple released by a later delivery",
    "two streams released out of the order of arrival",
    "a tuple that waits at the end",
    "a pass_through",
    "a short_absence",
    "a stay",
    "a departure",
    "a pair exactly t apart",
    "a pair more than t apart",
    "a time-out by the watermark",
    "a time that ends on the watermark",
    "a time that ends on valid_to",
    "an answer after the time-out",
    "a t of zero",
    "a pending crossing at the end",
    "a pending crossing forgotten with its query",
    "a pair over two deliveries",
}


@dataclass(frozen=True)
class Step:
    """A released tuple, the one before it of its stream, and where the two were released."""

    number: int
    before: int
    previous: Sighting | None
    current: Sighting


def steps(rows: Rows) -> list[Step]:
    """Every step of every stream."""
    last: dict[str, tuple[int, Sighting]] = {}
    found = []
    for number, current in rows.accepted:
        before, previous = last.get(current.stream, (-1, None))
        found.append(Step(number, before, previous, current))
        last[current.stream] = (number, current)
    return found


def in_force(story: Story) -> dict[int, tuple[StandingQuery, ...]]:
    """The queries under which each delivery is evaluated."""
    return {
        epoch.first: epoch.registration.queries
        for epoch in epochs(story.script)
        if epoch.deliveries
    }


def of_the_script(story: Story, rows: Rows) -> Iterator[str]:
    """What the story itself is made of."""
    arrived = [item for item in story.script if isinstance(item, Delivery)]
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


def of_order(story: Story, rows: Rows) -> Iterator[str]:
    """What became of the arrivals."""
    arrived = [item.tuples for item in story.script if isinstance(item, Delivery)]
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


def of_crossings(story: Story, rows: Rows) -> Iterator[str]:
    """What the steps are to the queries in force, and what the events are."""
    force = in_force(story)
    for step in steps(rows):
        for query in force[step.number]:
            if query.streams is None or step.current.stream in query.streams:
                yield from of_a_step(query, step)
    named = {q.id for queries in force.values() for q in queries if q.streams is not None}
    for event in rows.events:
        yield {"I": "an entry", "O": "an exit"}[event.type]
        if event.prev_ts is None:
            yield "an entry at first sight"
        if event.query_id in named:
            yield "a crossing of a query for named streams"


def of_registration(story: Story) -> Iterator[str]:
    """What the registrations between deliveries change, and for whom."""
    present: dict[str, StandingQuery] = {}
    past: set[str] = set()
    for number, item in enumerate(story.script):
        if isinstance(item, Delivery):
            continue
        so_far = run(FEED, story.axes, story.script[:number], story.lateness)
        after = run(FEED, story.axes, story.script[: number + 1], story.lateness)
        if so_far.pending != after.pending:
            yield "a pending crossing forgotten with its query"
        now = {query.id: query for query in item.queries}
        heads = [values for _, values in so_far.heads.values()]
        for id in now.keys() - present.keys():
            if id in past:
                yield "a query that came back"
            if any(holds(now[id], values) for values in heads):
                yield "a query added while a stream is inside"
        for id in present.keys() - now.keys():
            if any(holds(present[id], values) for values in heads):
                yield "a query removed while a stream is inside"
        if any(now[id].version != present[id].version for id in now.keys() & present.keys()):
            yield "a query changed"
        present, past = now, past | now.keys()


def of_transitions(story: Story, rows: Rows) -> Iterator[str]:
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


def next_event(rows: Rows, told: Transition) -> Event | None:
    """The crossing after the one that the transition is of."""
    later = [e for e in rows.events if key(e)[:3] == key(told)[:3] and e.ts > told.from_ts]
    return min(later, key=lambda e: e.ts, default=None)


def watermarks(story: Story) -> Iterator[int | None]:
    """The watermark after each delivery."""
    for number in range(1, len(story.script) + 1):
        yield run(FEED, story.axes, story.script[:number], story.lateness).watermark


def found_in(story: Story) -> set[str]:
    """Every hard thing that a story has."""
    rows = run(FEED, story.axes, story.script, story.lateness)
    return {
        *of_the_script(story, rows),
        *of_order(story, rows),
        *of_crossings(story, rows),
        *of_registration(story),
        *of_transitions(story, rows),
    }


@pytest.fixture(scope="module")
def counted() -> Counter[str]:
    """In how many of the draws each hard thing occurs."""
    counts: Counter[str] = Counter()

    @settings(
        max_examples=DRAWS,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(stories())
    def draw(story: Story) -> None:
        counts.update(found_in(story))

    draw()
    return counts


@pytest.mark.parametrize("thing", sorted(HARD))
def test_what_is_hard_is_drawn_often(counted, thing):
    assert counted[thing] >= OFTEN


def test_nothing_is_found_that_is_not_asked_for(counted):
    assert set(counted) <= HARD


@given(axis_names(3).flatmap(lambda axes: st.tuples(st.just(axes), queries(axes), st.data())))
def test_oracle_a_drawn_query_holds_by_its_boxes_where_it_holds_by_its_text(drawn):
    axes, query, data = drawn
    values = data.draw(st.tuples(*[st.floats(-4, 4) | st.integers(-3, 4).map(float) for _ in axes]))
    assert holds(query, values) == holds_by_text(query, axes, values)


@given(stories())
def test_every_row_of_a_story_is_accepted_or_waiting_or_rejected(story):
    rows = run(FEED, story.axes, story.script, story.lateness)
    read = sum(len(item.tuples) for item in story.script if isinstance(item, Delivery))
    assert read == len(rows.accepted) + len(rows.waiting) + len(rows.rejected)


@given(stories())
def test_an_id_and_version_never_mean_two_queries(story):
    known: dict[tuple[str, int], StandingQuery] = {}
    for item in story.script:
        if isinstance(item, Registration):
            for query in item.queries:
                assert known.setdefault((query.id, query.version), query) == query
