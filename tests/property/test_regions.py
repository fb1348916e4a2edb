"""Queries with regions, played in all ways: the reference's rows, by the engine and on a lake."""

import tempfile
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fencepost.joins.windows.index import WindowIndex
from fencepost.joins.windows.live import Live
from fencepost.queries.joins import Conjunct, WindowJoins
from fencepost.queries.joins.regions import cut_conjuncts
from fencepost.reference import Registration, run, run_joins
from fencepost.shapes.parse import shape_of
from tests.property.test_lake import PARTS, ways
from tests.support.examples import FEW, MANY
from tests.support.lakes.story_lake import LakeWay, lake_of
from tests.support.lakes.story_lake import play as play_on_lake
from tests.support.oracles.oracles import assert_same_rows
from tests.support.stories.join_play import assert_told_by, played
from tests.support.stories.join_stories import FEEDS, JoinStory, window_join
from tests.support.stories.play import Way, play
from tests.support.stories.regions import regional_join_stories, regional_stories
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


SHORT = ("auto", "walk, index carried on, kernels")
CASES = [
    pytest.param(way, id=name, marks=[] if name in SHORT else pytest.mark.slow)
    for name, way in WAYS.items()
]
DRAWN = settings(max_examples=2 * FEW, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("way", CASES)
@DRAWN
@given(story=regional_stories())
def test_oracle_regions_are_found_in_every_way(way: Way, story: Story) -> None:
    expected = run(FEED, story.axes, story.script, story.rules)
    assert_same_rows(expected, play(story, way), PARTS)


@DRAWN
@given(story=regional_stories(), cuts=st.sets(st.integers(1, 6)))
def test_however_deliveries_are_grouped_the_regions_give_the_same_rows(
    story: Story, cuts: set[int]
) -> None:
    assert_same_rows(play(story, Way()), play(story, Way(cuts=cuts)), PARTS)


@DRAWN
@given(regional_join_stories(), st.sets(st.integers(0, 9)))
def test_oracle_regions_by_side_join_what_is_in_them(story: JoinStory, cuts: set[int]) -> None:
    expected = run_joins(story.axes, story.script, story.rules)
    assert_told_by(expected, played(story))
    assert played(story, cuts).pairs == played(story).pairs


@pytest.mark.parametrize("method", ["scan", "runs", "ranges", "bitmaps"])
def test_of_what_is_in_the_bounds_only_what_is_in_the_region_is_paired(method: str) -> None:
    axes = (("x", "y"), ("x", "y"))
    triangle, circle = (
        shape_of(each, earth=False)
        for each in ("POLYGON ((0 0, 4 0, 0 4, 0 0))", {"circle": {"center": [0, 0], "radius": 2}})
    )
    conjuncts = cut_conjuncts(
        (Conjunct(((-inf, inf),) * 4),), (triangle, circle), ((0, 1), (0, 1)), 2
    )
    query = window_join("q", axes, conjuncts=conjuncts, last=99)
    query = replace(query, regions=(triangle, circle), region_axes=((0, 1), (0, 1)))
    index = WindowIndex.build(WindowJoins.from_queries(FEEDS, axes, [query]), method=method)
    old = np.array([[0.0, 2.0, 2.0, -1.5], [0.0, 0.0, 1.0, -1.5]])  # the first two are inside
    count = np.arange(4, dtype=np.int32)
    live = Live(count, np.zeros(4, np.int64), old, count.astype(np.int64), np.zeros(4, np.int64))
    new = np.array([[1.0, 3.0, 0.0], [1.0, 3.0, 4.0]])  # the first one
    found = index.probe(0, np.zeros(3, np.int64), new, live, 0, 4)
    assert [*zip(found.new.tolist(), found.old.tolist(), strict=True)] == [(0, 0), (0, 1)]


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

    @settings(
        max_examples=60, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
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
    assert seen["of regions"] > 40
    assert seen["of regions"] > seen["events"] / 3
    assert seen["changed"] > 3
