"""The engine against the reference, and against itself played in other ways."""

import pytest
from hypothesis import given

from fencepost.reference import run
from tests.support.oracles.oracles import assert_same_rows
from tests.support.stories.play import Way, play
from tests.support.stories.strategies import FEED, Story, judged_stories

ALL = ("events", "transitions", "matches", "rejected", "pending", "heads", "waiting", "watermark")

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
    "difference": Way(method="difference"),
    "difference, kernels, two threads": Way(method="difference", fast=True, threads=2),
    "difference, place by place": Way(method="difference", stretches=True, cuts=()),
    "matches by a packed tree": Way(index="packed", incremental=True),
    "matches by bitmaps": Way(index="bitmaps"),
    "one epoch": Way(cuts=()),
    "one epoch, kernels": Way(fast=True, cuts=()),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
@given(story=judged_stories())
@pytest.mark.fault(34, 40, 42)
def test_oracle_engine_equals_reference(way: Way, story: Story) -> None:
    expected = run(FEED, story.axes, story.script, story.rules)
    assert_same_rows(expected, play(story, way), ALL)
