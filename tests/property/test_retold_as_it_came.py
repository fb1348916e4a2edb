"""What stays the same when a story is told with other epochs, rows, queries and neighbours."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.reference import (
    Event,
    FeedDelivery,
    Match,
    Registration,
    RunResult,
    Sighting,
)
from tests.support.examples import HALF
from tests.support.oracles.oracles import assert_same_rows
from tests.support.stories.play import Way, play
from tests.support.stories.retelling import (
    ALL,
    FAR,
    deliveries_of,
    rows_without,
    ways,
    with_deliveries,
)
from tests.support.stories.strategies import Story, matches, queries, stories

# ── M1 to M4: epochs, rows, registrations, repeats ────────────────────────────────────────────────


@HALF
@given(story=stories(), one=ways(), other=ways(), data=st.data())
@pytest.mark.fault(52)
def test_any_grouping_of_the_same_deliveries_gives_the_same_rows(
    story: Story, one: Way, other: Way, data: Any
) -> None:
    regrouped = replace(other, cuts=data.draw(st.frozensets(st.integers(0, 9))))
    assert_same_rows(play(story, one), play(story, regrouped), ALL)


@HALF
@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_rows_of_a_delivery_may_come_in_any_order_where_no_times_of_a_stream_are_equal(
    story: Story, one: Way, other: Way, data: Any
) -> None:
    single = [
        FeedDelivery(tuple({(s.stream, s.ts): s for s in delivery.tuples}.values()))
        for delivery in deliveries_of(story)
    ]
    shuffled = [FeedDelivery(tuple(data.draw(st.permutations(d.tuples)))) for d in single]

    def told(deliveries: Sequence[FeedDelivery], way: Way) -> RunResult:
        rows = play(with_deliveries(story, deliveries), way)
        turned = [(d, deliveries[d].tuples[row], why) for d, row, why in rows.rejected]
        return replace(rows, rejected=turned)  # type: ignore[arg-type]

    assert_same_rows(told(single, one), told(shuffled, other), ALL)


@HALF
@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_the_order_in_which_queries_are_registered_changes_nothing(
    story: Story, one: Way, other: Way, data: Any
) -> None:
    shuffled = tuple(
        Registration(tuple(data.draw(st.permutations(item.queries))))
        if isinstance(item, Registration)
        else item
        for item in story.script
    )
    assert_same_rows(play(story, one), play(replace(story, script=shuffled), other), ALL)


@HALF
@given(story=stories(), one=ways(), other=ways(), data=st.data())
@pytest.mark.fault(43)
def test_a_query_that_comes_and_goes_leaves_no_trace_on_the_others(
    story: Story, one: Way, other: Way, data: Any
) -> None:
    guest = data.draw(queries(story.axes, "guest") | matches(story.axes, "guest"))
    begin, end = sorted(data.draw(st.tuples(*[st.integers(0, len(story.script))] * 2)))
    script: list[FeedDelivery | Registration] = []
    registered = Registration(())
    for place, item in enumerate([*story.script, None]):
        if place in (begin, end):
            guests = (guest,) if place == begin < end else ()
            script.append(Registration((*registered.queries, *guests)))
        if isinstance(item, Registration):
            registered = item
            guests = (guest,) if begin <= place < end else ()
            script.append(Registration((*guests, *item.queries)))
        elif item is not None:
            script.append(item)
    rows = play(replace(story, script=tuple(script)), other)
    assert_same_rows(play(story, one), rows_without(rows, query="guest"), ALL)
    stayed = range(
        sum(isinstance(item, FeedDelivery) for item in story.script[:begin]),
        sum(isinstance(item, FeedDelivery) for item in story.script[:end]),
    )
    found: list[Event | Match] = [*rows.events, *rows.matches]
    assert all(row.delivery in stayed for row in found if row.query_id == "guest")
    if end < len(story.script):
        assert all(e.query_id != "guest" for e in rows.pending)


@HALF
@given(story=stories(), one=ways(), other=ways())
@pytest.mark.fault(32)
def test_a_delivery_with_every_tuple_twice_gives_the_same_rows_and_that_many_duplicates(
    story: Story, one: Way, other: Way
) -> None:
    once = deliveries_of(story)
    rows = play(story, one)
    doubled = play(with_deliveries(story, [FeedDelivery(d.tuples * 2) for d in once]), other)
    why = {(d, row): reason for d, row, reason in rows.rejected}
    again = [
        (d, len(delivery.tuples) + row, why.get((d, row), "duplicate"))
        for d, delivery in enumerate(once)
        for row in range(len(delivery.tuples))
    ]
    assert_same_rows(replace(rows, rejected=[*rows.rejected, *again]), doubled, ALL)


# ── M5: what is far away ──────────────────────────────────────────────────────────────────────────


@HALF
@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_queries_far_away_change_nothing(story: Story, one: Way, other: Way, data: Any) -> None:
    free = ((-inf, inf),) * (len(story.axes) - 1)
    axis = data.draw(st.integers(0, len(story.axes) - 1))
    far = tuple(
        replace(
            data.draw(queries(story.axes, f"far {n}") | matches(story.axes, f"far {n}")),
            tests=(),
            boxes=((*free[:axis], (low, high), *free[axis:]),),
        )
        for n, (low, high) in enumerate([(FAR, FAR + 1), (FAR, inf), (-inf, -FAR)])
    )
    script = tuple(
        Registration((*far, *item.queries)) if isinstance(item, Registration) else item
        for item in story.script
    )
    assert_same_rows(play(story, one), play(replace(story, script=script), other), ALL)


@HALF
@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_a_stream_far_away_changes_nothing_of_the_others(
    story: Story, one: Way, other: Way, data: Any
) -> None:
    """Its times are some of those that arrive with it, so that it does not move the watermark."""
    beside = []
    for delivery in deliveries_of(story):
        times = {s.ts for s in delivery.tuples}
        chosen = data.draw(st.sets(st.sampled_from(sorted(times)))) if times else set()
        far = tuple(Sighting("far", ts, (FAR,) * len(story.axes)) for ts in sorted(chosen))
        beside.append(FeedDelivery(delivery.tuples + far))
    rows = play(with_deliveries(story, beside), other)
    assert all(e.prev_ts is None for e in rows.events if e.stream == "far")
    mine = [len(delivery.tuples) for delivery in deliveries_of(story)]
    others = rows_without(rows, stream="far")
    others = replace(others, rejected=[r for r in rows.rejected if r[1] < mine[r[0]]])
    assert_same_rows(play(story, one), others, ALL)
