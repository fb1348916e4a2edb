"""Any story, on a lake: the reference's rows, however its deliveries are cut, shared and kept."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.order import OrderRules
from fencepost.reference import run
from pipelines.planning.plan import Limits
from tests.support.examples import FEW, MANY
from tests.support.lakes.story_lake import LakeWay, lake_of, play
from tests.support.oracles.oracles import assert_same_rows
from tests.support.stories.strategies import FEED, TICK, Story, judged_stories

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

ways = st.builds(
    LakeWay,
    at_once=st.sampled_from((None, 1, 2, 3)),
    limits=st.builds(
        Limits,
        epoch_rows=st.sampled_from((3, 10_000_000)),
        group=st.sampled_from((1, 2, 32)),
        epoch_deliveries=st.sampled_from((None, 1, 2)),
        snapshot_every=st.sampled_from((1, 2, 50)),
    ),
    tasks=st.sampled_from((1, 2, 4)),
    small_files=st.booleans(),
)


@settings(max_examples=FEW)
@given(judged_stories(), ways)
@pytest.mark.fault(32, 35)
def test_a_lake_gives_the_rows_of_the_reference(story: Story, way: LakeWay) -> None:
    gives_the_rows_of_the_reference(story, way)


@pytest.mark.slow
@settings(max_examples=MANY)
@given(judged_stories(), ways)
@pytest.mark.fault(32, 35)
def test_a_lake_gives_the_rows_of_the_reference_in_many_stories(story: Story, way: LakeWay) -> None:
    gives_the_rows_of_the_reference(story, way)


def gives_the_rows_of_the_reference(story: Story, way: LakeWay) -> None:
    """Play a story on a lake, and compare."""
    with tempfile.TemporaryDirectory() as folder:
        lake = lake_of(Path(folder), story, way)
        expected = run(FEED, story.axes, story.script, story.rules)
        assert_same_rows(expected, play(lake, story, way), PARTS, str(way))


@settings(max_examples=FEW)
@given(judged_stories(), ways)
def test_an_event_has_the_payload_of_the_tuple_that_crossed(story: Story, way: LakeWay) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = lake_of(Path(folder), story, way, payload=(("row", "text"),))
        found = play(lake, story, way)
        names = ("arrival", "line", "stream_id", "ts", *story.axes)
        came = {
            f"{row['arrival']}, {row['line']}": [row[name] for name in names[2:]]
            for row in lake.store.rows(FEED).select(names).to_pylist()
        }
        turned = lake.store.rows("quarantine").select(["arrival", "line"]).to_pylist()
        rejected = {f"{row['arrival']}, {row['line']}" for row in turned}
        events = lake.store.rows("events").to_pylist()
        assert len(events) == len(found.events)
        for event in events:
            assert event["payload_row"] not in rejected
            assert came[event["payload_row"]] == [event[name] for name in names[2:]]


declarations = st.lists(
    st.builds(
        OrderRules,
        st.sampled_from(("all", "first")),
        st.sampled_from((0, TICK, 3 * TICK)),
        st.sampled_from((None, None, 0, 2 * TICK)),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=FEW)
@given(judged_stories(), ways, declarations)
def test_differential_what_is_declared_may_change_with_any_delivery(
    story: Story, way: LakeWay, rules: list[OrderRules]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        told = [
            play(lake_of(Path(folder, f"{place}"), story, each), story, each, rules)
            for place, each in enumerate((LakeWay(), way))
        ]
        assert_same_rows(told[0], told[1], PARTS, f"{way} {rules}")
