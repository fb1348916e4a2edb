"""Queries with regions, played in all ways: the reference's rows, by the engine and on a lake."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fencepost.reference import Registration, run
from tests.property.test_lake import PARTS, ways
from tests.support.examples import FEW, MANY
from tests.support.lakes.story_lake import LakeWay, lake_of
from tests.support.lakes.story_lake import play as play_on_lake
from tests.support.oracles.oracles import assert_same_rows
from tests.support.stories.play import Way, play
from tests.support.stories.regions import regional_stories
from tests.support.stories.strategies import FEED, Story

WAYS = {
    "auto": Way(),
    "kernels": Way(fast=True),
    "walk, one epoch": Way(method="walk", cuts=()),
    "walk, index carried on, kernels": Way(method="walk", fast=True, incremental=True),
    "state reloaded, kernels": Way(fast=True, reloaded=True),
    "difference": Way(method="difference", incremental=True),
    "difference, kernels, two threads": Way(method="difference", fast=True, threads=2),
    "matches by bitmaps": Way(index="bitmaps"),
}


SHORT = ("auto", "walk, index carried on, kernels", "difference, kernels, two threads")
CASES = [
    pytest.param(way, id=name, marks=[] if name in SHORT else pytest.mark.slow)
    for name, way in WAYS.items()
]
DRAWN = {"max_examples": 3 * FEW, "suppress_health_check": [HealthCheck.too_slow]}


@pytest.mark.parametrize("way", CASES)
@settings(**DRAWN)
@given(story=regional_stories())
def test_oracle_regions_are_found_in_every_way(way: Way, story: Story) -> None:
    expected = run(FEED, story.axes, story.script, story.rules)
    assert_same_rows(expected, play(story, way), PARTS)


@settings(**DRAWN)
@given(story=regional_stories(), cuts=st.sets(st.integers(1, 6)))
def test_however_deliveries_are_grouped_the_regions_give_the_same_rows(
    story: Story, cuts: set[int]
) -> None:
    assert_same_rows(play(story, Way()), play(story, Way(cuts=cuts)), PARTS)


@settings(max_examples=FEW, suppress_health_check=[HealthCheck.too_slow])
@given(regional_stories(), ways)
@pytest.mark.fault(32, 35)
def test_a_lake_with_regions_gives_the_rows_of_the_reference(story: Story, way: LakeWay) -> None:
    on_a_lake(story, way)


@pytest.mark.slow
@settings(max_examples=MANY, suppress_health_check=[HealthCheck.too_slow])
@given(regional_stories(), ways)
@pytest.mark.fault(32, 35)
def test_a_lake_with_regions_gives_them_in_many_stories(story: Story, way: LakeWay) -> None:
    on_a_lake(story, way)


def on_a_lake(story: Story, way: LakeWay) -> None:
    """Play a story on a lake, and compare."""
    with tempfile.TemporaryDirectory() as folder:
        lake = lake_of(Path(folder), story, way)
        expected = run(FEED, story.axes, story.script, story.rules)
        assert_same_rows(expected, play_on_lake(lake, story, way), PARTS, str(way))


def test_drawn_stories_have_what_they_are_for() -> None:
    seen = {"regions": 0, "events": 0, "of regions": 0, "changed": 0}

    @settings(max_examples=40, database=None, suppress_health_check=list(HealthCheck))
    @given(regional_stories())
    def look(story: Story) -> None:
        registered = [item for item in story.script if isinstance(item, Registration)]
        placed = {q.id for item in registered for q in item.queries if q.region is not None}
        events = run(FEED, story.axes, story.script, story.rules).events
        seen["regions"] += len(placed)
        seen["events"] += len(events)
        seen["of regions"] += sum(event.query_id in placed for event in events)
        seen["changed"] += len(registered) > 1

    look()
    assert seen["regions"] > 40
    assert seen["of regions"] > 60
    assert seen["of regions"] > seen["events"] / 3
    assert seen["changed"] > 3
