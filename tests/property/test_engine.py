"""The engine against the reference, and against itself played in other ways."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.reference import run
from tests.oracles import assert_same_rows
from tests.play import Way, play
from tests.strategies import FEED, Story, stories

ALL = ("events", "transitions", "rejected", "pending", "heads", "waiting", "watermark")

WAYS = {
    "twins": Way(),
    "twins, no stripes": Way(striped=False),
    "kernels": Way(fast=True),
    "kernels, no stripes": Way(fast=True, striped=False),
    "two threads": Way(fast=True, threads=2),
    "many stripes": Way(many_stripes=True),
    "many stripes, kernels": Way(fast=True, many_stripes=True),
    "index carried on": Way(incremental=True),
    "index carried on, kernels": Way(fast=True, incremental=True),
    "state reloaded": Way(reloaded=True),
    "state reloaded, kernels": Way(fast=True, reloaded=True),
    "one epoch": Way(cuts=()),
    "one epoch, kernels": Way(fast=True, cuts=()),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
@given(story=stories())
def test_oracle_engine_equals_reference(way: Way, story: Story) -> None:
    expected = run(FEED, story.axes, story.script, story.lateness)
    assert_same_rows(expected, play(story, way), ALL)


@given(story=stories(), data=st.data())
def test_any_grouping_of_the_same_deliveries_gives_the_same_rows(story: Story, data: Any) -> None:
    cuts = data.draw(st.sets(st.integers(0, 9)))
    other = data.draw(st.sets(st.integers(0, 9)))
    one = play(story, Way(cuts=cuts, fast=data.draw(st.booleans())))
    assert_same_rows(one, play(story, Way(cuts=other, incremental=True)), ALL)
