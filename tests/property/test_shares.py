"""The streams parted in shares, each stepped alone with the feed's watermarks given: the same rows.

That is what lets an epoch be evaluated by tasks that know nothing of each other.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fencepost.crossings import BorderIndex
from fencepost.engine import step
from fencepost.errors import InputError
from fencepost.matches import Matcher
from fencepost.order import NEVER
from fencepost.reference import FeedDelivery, Registration, RunResult, Sighting
from fencepost.state import FeedState
from fencepost.tuples import Int64s, TupleBatch
from pipelines.planning.plan import moved
from tests.support.oracles.oracles import (
    assert_same_rows,
    batch_of,
    epochs,
    event_rows,
    match_rows,
    match_set_of,
    query_set_of,
    rejected_rows,
    transition_rows,
)
from tests.support.stories.play import Way, play, settle
from tests.support.stories.strategies import FEED, STREAMS, TICK, Story, judged_stories

PARTS = (
    "events",
    "transitions",
    "matches",
    "rejected",
    "heads",
    "waiting",
    "pending",
    "watermark",
)

shares = st.fixed_dictionaries({stream: st.integers(0, 2) for stream in STREAMS})


@given(judged_stories(), shares, st.sets(st.integers(1, 9)))
def test_shares_of_the_streams_give_together_what_one_step_gives(
    story: Story, share_of: Mapping[str, int], cuts: set[int]
) -> None:
    whole = play(story, Way(cuts=cuts))
    parts = [played(story, share_of, share, cuts) for share in range(3)]
    for part in parts:
        assert part.watermark == whole.watermark
    event(f"{sum(bool(part.events) for part in parts)} shares with events")
    event(f"waiting: {bool(whole.waiting)}, late: {any(r[2] == 'late' for r in whole.rejected)}")
    assert_same_rows(whole, together(parts), PARTS, f"{share_of} {cuts}")


@given(judged_stories(), st.sets(st.integers(1, 9)))
def test_the_planner_knows_the_watermarks_before_a_tuple_is_judged(
    story: Story, cuts: set[int]
) -> None:
    state = FeedState.empty(FEED, story.axes)
    for epoch in epochs(story.script, cuts):
        index = BorderIndex.build(query_set_of(FEED, story.axes, epoch.registration))
        batch = batch_of(FEED, story.axes, epoch.deliveries)
        many = len(epoch.deliveries)
        planned = marks_of(story, state.watermark, epoch.deliveries)
        outcome = step(state, batch, index, deliveries=many, rules=story.rules)
        assert outcome.watermarks.tolist() == planned.tolist()
        state = outcome.state


def played(story: Story, share_of: Mapping[str, int], share: int, cuts: set[int]) -> RunResult:
    """Play a story with the tuples of one share alone."""
    rows = RunResult()
    state = FeedState.empty(FEED, story.axes)
    for epoch in epochs(story.script, cuts):
        index = BorderIndex.build(query_set_of(FEED, story.axes, epoch.registration))
        whole = batch_of(FEED, story.axes, epoch.deliveries)
        mine = np.array(
            [share_of[whole.names[code].as_py()] == share for code in whole.stream], np.bool_
        )
        outcome = step(
            state,
            whole.take(mine),
            index,
            deliveries=len(epoch.deliveries),
            rules=story.rules,
            marks=marks_of(story, state.watermark, epoch.deliveries),
            matcher=Matcher.build(match_set_of(FEED, story.axes, epoch.registration)),
        )
        rows.events += event_rows(outcome.events, story.axes, epoch.first)
        rows.transitions += transition_rows(outcome.transitions, epoch.first)
        rows.matches += match_rows(outcome.matches, epoch.first)
        turned = outcome.rejected.to_pydict()
        places = np.flatnonzero(mine)[turned["row"]].tolist() if turned["row"] else []
        rows.rejected += rejected_rows(places, turned["reason"], whole, epoch.first)
        state = outcome.state
    settle(rows, state)
    return rows


def marks_of(story: Story, before: int | None, deliveries: Sequence[FeedDelivery]) -> Int64s:
    """The watermark after each delivery, as the planner foretells it."""
    latest = [max((seen.ts for seen in each.tuples), default=None) for each in deliveries]
    marks = [before := moved(before, ts, story.rules.behind) for ts in latest]
    return np.array([NEVER if mark is None else mark for mark in marks], np.int64)


def together(parts: Sequence[RunResult]) -> RunResult:
    """Put the rows of all shares together."""
    rows = RunResult(watermark=parts[0].watermark)
    for part in parts:
        rows.events += part.events
        rows.transitions += part.transitions
        rows.matches += part.matches
        rows.rejected += part.rejected
        rows.waiting += part.waiting
        rows.pending += part.pending
        rows.heads.update(part.heads)
    return rows


def two_deliveries() -> TupleBatch:
    seen = [FeedDelivery((Sighting("a", k * TICK, (1.0,)),)) for k in (5, 7)]
    return batch_of(FEED, ("x",), seen)


@pytest.mark.parametrize(
    ("marks", "fault"),
    [
        ((5,), "1 watermarks for 2 deliveries"),
        ((5, 7, 7), "3 watermarks for 2 deliveries"),
        ((7, 6), "watermarks must never fall"),
        ((5, 6), "ahead of the watermark"),
        ((4, 7), "ahead of the watermark"),
    ],
)
def test_false_watermarks_are_refused(marks: tuple[int, ...], fault: str) -> None:
    state = FeedState.empty(FEED, ("x",))
    index = BorderIndex.build(query_set_of(FEED, ("x",), Registration(())))
    given_marks = np.array(marks, np.int64) * TICK
    with pytest.raises(InputError, match=fault):
        step(state, two_deliveries(), index, deliveries=2, marks=given_marks)


def test_watermarks_that_fall_behind_the_state_are_refused() -> None:
    index = BorderIndex.build(query_set_of(FEED, ("x",), Registration(())))
    before = step(FeedState.empty(FEED, ("x",)), two_deliveries(), index, deliveries=2).state
    nothing = TupleBatch.empty(FEED, ("x",))
    with pytest.raises(InputError, match="watermarks must never fall"):
        step(before, nothing, index, deliveries=1, marks=np.array([6 * TICK], np.int64))
