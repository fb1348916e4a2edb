"""The lane's engine against the reference, and against itself however deliveries are grouped."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import StateError
from fencepost.joins.engine import step
from fencepost.joins.index import LaneIndex
from fencepost.joins.probe import Planes, Surroundings
from fencepost.joins.state import LaneState
from fencepost.queries.joins import JoinSets
from fencepost.reference import JoinRegistration, SideDelivery, run_joins
from tests.support.stories.join_play import Played, assert_told_by, batches, index_of, played, told
from tests.support.stories.join_stories import (
    FEEDS,
    MANY,
    TICK,
    JoinStory,
    band_join,
    judged_join_stories,
    long_story,
    one_feed_stories,
    rules_of,
)


@given(judged_join_stories())
def test_oracle_joins_equal_brute_force(story: JoinStory) -> None:
    expected = run_joins(story.axes, story.script, story.rules)
    assert_told_by(expected, played(story))


@given(one_feed_stories())
def test_oracle_a_feed_joined_with_itself_equals_brute_force(story: JoinStory) -> None:
    expected = run_joins(story.axes, story.script, story.rules, one=True)
    assert_told_by(expected, played(story))


def found(rows: Played) -> tuple[object, ...]:
    return rows.pairs, rows.changes, rows.near_changes, rows.affected


@given(st.one_of(judged_join_stories(), one_feed_stories()), st.sets(st.integers(0, 9)))
def test_differential_any_cut_of_the_deliveries_gives_the_same_rows(
    story: JoinStory, cuts: set[int]
) -> None:
    whole, cut, each = played(story, ()), played(story, cuts), played(story)
    for other in (cut, each):
        assert found(other) == found(whole)
        assert (other.rejected, other.watermarks) == (whole.rejected, whole.watermarks)
        assert told(other.state) == told(whole.state)


@given(st.one_of(judged_join_stories(), one_feed_stories()), st.sets(st.integers(0, 9)))
def test_differential_a_state_read_back_from_its_columns_goes_on_as_it_was(
    story: JoinStory, cuts: set[int]
) -> None:
    kept, read = played(story, cuts), played(story, cuts, reloaded=True)
    assert found(kept) == found(read)
    assert told(kept.state) == told(read.state)


@given(st.one_of(judged_join_stories(), one_feed_stories()), st.integers(1, 3))
def test_differential_found_in_pieces_the_rows_are_those_found_at_once(
    story: JoinStory, most: int
) -> None:
    whole, pieces = played(story, ()), played(story, (), most=most)
    assert found(whole) == found(pieces)


@pytest.mark.parametrize("lateness", [(0, 0), (2 * TICK, 0), (TICK, 3 * TICK)])
@pytest.mark.parametrize("seed", range(4))
def test_oracle_a_long_history_equals_brute_force_however_it_is_cut(
    seed: int, lateness: tuple[int, int]
) -> None:
    story = long_story(seed, lateness)
    expected = run_joins(story.axes, story.script, story.rules)
    assert len(expected.pairs) > 100
    assert sum(change.change < 0 for change in expected.changes) > 50
    whole, each = played(story, ()), played(story)
    assert_told_by(expected, each)
    assert found(whole) == found(each)
    assert told(whole.state) == told(each.state)


@given(judged_join_stories(), st.integers(0, 9), st.sampled_from(((0, 0), (TICK, 0))))
def test_differential_any_cut_is_the_same_when_the_lateness_changes_on_the_way(
    story: JoinStory, first: int, lateness: tuple[int, int]
) -> None:
    whole, each = (played(story, cuts, later=(first, rules_of(lateness))) for cuts in ((), None))
    assert (found(whole), whole.rejected) == (found(each), each.rejected)
    assert told(whole.state) == told(each.state)


@given(judged_join_stories())
def test_differential_planes_that_are_kept_find_what_those_laid_out_anew_do(
    story: JoinStory,
) -> None:
    queries = next(item for item in story.script if isinstance(item, JoinRegistration)).queries
    index = index_of(story.axes, queries, {(q.id, q.version): 0 for q in queries})
    state = LaneState.empty(FEEDS, story.axes)
    planes, surroundings = Planes(index, state), Surroundings(index, state)
    for item in story.script:
        if isinstance(item, SideDelivery):
            given_, gone = batches(story.axes, [item])
            sides = np.array([item.side], np.int8)
            outcome = step(state, given_, sides, index, rules=story.rules, gone=gone)
            kept = [row for p in outcome.band_pieces(MANY, planes) for row in p.changes.to_pylist()]
            assert kept == outcome.band_changes.to_pylist()
            near = [
                r for table in outcome.near_pieces(MANY, surroundings) for r in table.to_pylist()
            ]
            assert near == outcome.near_changes.to_pylist()
            state = outcome.state


def test_planes_of_another_state_are_refused():
    axes = (("x",), ("x",))
    index = index_of(axes, (band_join("b", 0, 1),), {})
    states = [LaneState.empty(FEEDS, axes) for _ in range(2)]
    nothing, gone = batches(axes, [])
    outcome = step(states[0], nothing, np.empty(0, np.int8), index, gone=gone)
    with pytest.raises(StateError, match="not those of the state"):
        next(outcome.band_pieces(MANY, Planes(index, states[1])))


def test_joins_shared_out_find_together_what_they_find_alone_and_keep_the_same_state():
    story = long_story(5)
    (registration, *rest) = story.script
    assert isinstance(registration, JoinRegistration)
    run = [item for item in rest if isinstance(item, SideDelivery)]
    queries = registration.queries
    registered = {(q.id, q.version): 0 for q in queries}
    whole = index_of(story.axes, queries, registered)
    parts = [
        LaneIndex.build(JoinSets(part.windows, part.bands, part.nears), whole.windows)
        for part in (index_of(story.axes, queries[n::3], registered) for n in range(3))
    ]
    found: list[list[Any]] = [[], []]
    states = [LaneState.empty(FEEDS, story.axes)] * 4
    for at in range(0, len(run), 4):
        given_, gone = batches(story.axes, run[at : at + 4])
        sides = np.array([item.side for item in run[at : at + 4]], np.int8)
        outcomes = [
            step(state, given_, sides, index, gone=gone)
            for state, index in zip(states, [whole, *parts], strict=True)
        ]
        for place, each in enumerate(outcomes):
            mine = [
                row
                for table in (each.pairs, each.band_changes, each.near_changes)
                for row in table.to_pylist()
            ]
            found[place > 0] += [(at, str(row)) for row in mine]
        states = [outcome.state for outcome in outcomes]
        assert told(states[1]) == told(states[0])
    assert len(found[0]) > 100
    assert sorted(found[0]) == sorted(found[1])
