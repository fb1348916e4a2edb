"""The engine against the reference, and against itself played in other ways."""

from dataclasses import replace

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from fencepost.order import OrderRules
from fencepost.reference import FeedDelivery, Registration, run
from tests.support.examples import HALF
from tests.support.oracles.oracles import assert_same_rows
from tests.support.stories.play import Way, play
from tests.support.stories.strategies import FEED, TICK, Story, judged_stories

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


RULES = st.builds(
    OrderRules,
    st.sampled_from(("all", "first")),
    st.sampled_from((0, 1, 3)).map(lambda ticks: ticks * TICK),
    st.sampled_from((None, 0, 2, 9)).map(lambda ticks: None if ticks is None else ticks * TICK),
)


@pytest.mark.parametrize("ways", [[*WAYS][k::6] for k in range(6)], ids=" · ".join)
@HALF
@given(story=judged_stories())
@pytest.mark.fault(34, 40, 42)
def test_oracle_engine_equals_reference(ways: list[str], story: Story) -> None:
    """A story is drawn once for three ways: that costs as much as playing it twice."""
    expected = run(FEED, story.axes, story.script, story.rules)
    for way in ways:
        note(way)
        assert_same_rows(expected, play(story, WAYS[way]), ALL)


@given(judged_stories(), st.lists(st.tuples(st.integers(1, 8), RULES), min_size=1, max_size=3))
def test_oracle_rules_that_change_on_the_way_are_those_of_the_deliveries_after(
    story: Story, changes: list[tuple[int, OrderRules]]
) -> None:
    script: list[FeedDelivery | Registration | OrderRules] = [*story.script]
    for at, rules in changes:
        script.insert(at, rules)
    expected = run(FEED, story.axes, script, story.rules)
    changed = replace(story, script=tuple(script))  # type: ignore[arg-type]
    for way in (Way(), Way(cuts=()), Way(fast=True, cuts=())):
        assert_same_rows(expected, play(changed, way), ALL)
