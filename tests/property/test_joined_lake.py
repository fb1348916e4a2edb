"""Any story of two feeds, on a lake: the reference's pairs and changes, however it is cut."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.lanes import lane_of
from fencepost.reference import (
    FeedDelivery,
    JoinRegistration,
    SideDelivery,
    Sighting,
    run_joins,
)
from pipelines.epochs.drive import advance
from pipelines.epochs.partitions import keys_of, partitions
from pipelines.planning.plan import Limits
from tests.support.examples import FEW, MANY
from tests.support.lakes.join_story_lake import (
    AXES,
    FEEDS,
    LANE,
    JoinWay,
    Script,
    lake_of,
    of_tables,
    play,
    shared_out,
    told_changes,
    told_near_changes,
    told_pairs,
    with_a_delivery,
    written,
)
from tests.support.lakes.story_lake import deliver, register
from tests.support.stories.join_stories import (
    ORIGIN,
    TICK,
    JoinStory,
    band_join,
    judged_join_stories,
    one_feed_stories,
    rules_of,
    window_join,
)

ways = st.builds(
    JoinWay,
    at_once=st.sampled_from((None, 1, 2, 3)),
    limits=st.builds(
        Limits,
        epoch_rows=st.sampled_from((3, 10_000_000)),
        group=st.sampled_from((1, 2, 32)),
        epoch_deliveries=st.sampled_from((None, 1, 2)),
        snapshot_every=st.sampled_from((1, 2, 50)),
    ),
    tasks=st.sampled_from((1, 2, 3)),
    piece=st.sampled_from((2, 1 << 20)),
)


@settings(max_examples=FEW)
@given(judged_join_stories(), ways)
def test_a_lake_joins_as_the_reference_does(story: JoinStory, way: JoinWay) -> None:
    joins_as_the_reference_does(story, way)


@settings(max_examples=FEW)
@given(one_feed_stories(), ways)
def test_a_lake_joins_a_feed_with_itself_as_the_reference_does(
    story: JoinStory, way: JoinWay
) -> None:
    joins_as_the_reference_does(story, way)


@pytest.mark.slow
@settings(max_examples=MANY)
@given(st.one_of(judged_join_stories(), one_feed_stories()), ways)
def test_a_lake_joins_as_the_reference_does_in_many_stories(story: JoinStory, way: JoinWay) -> None:
    joins_as_the_reference_does(story, way)


def joins_as_the_reference_does(story: JoinStory, way: JoinWay) -> None:
    """Play a story on a lake, and compare."""
    script = written(with_a_delivery(story.script), story.axes)
    expected = run_joins(story.axes, script, story.rules, one=story.one)
    feeds = story.feeds
    with tempfile.TemporaryDirectory() as folder:
        lake = lake_of(Path(folder), story.lateness, way, None, story.axes, script, feeds)
        play(lake, script, way, story.rules, feeds)
        for name, wanted, found in (
            ("pairs", of_tables(expected.pairs), [] if story.one else told_pairs(lake)),
            ("changes", expected.changes, [] if story.one else told_changes(lake)),
            ("near", expected.near_changes, told_near_changes(lake, lane_of(*feeds))),
        ):
            missing, extra = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
            assert not missing + extra, f"{way}\n{name}: {missing=}\n{extra=}"


DAYS = tuple(f"2026-01-0{day}" for day in range(1, 5))


days_drawn = st.lists(st.sampled_from(DAYS), min_size=12, max_size=12)


@settings(max_examples=FEW)
@given(judged_join_stories(), ways, days_drawn)
def test_whatever_day_deliveries_belong_to_they_are_joined_in_its_order(
    story: JoinStory, way: JoinWay, days: list[str]
) -> None:
    joins_in_the_order_of_days(story, way, days)


@pytest.mark.slow
@settings(max_examples=MANY)
@given(judged_join_stories(), ways, days_drawn)
def test_in_many_stories_deliveries_are_joined_in_the_order_of_their_days(
    story: JoinStory, way: JoinWay, days: list[str]
) -> None:
    joins_in_the_order_of_days(story, way, days)


def joins_in_the_order_of_days(story: JoinStory, way: JoinWay, days: list[str]) -> None:
    """Play a story whose deliveries belong to days, compare, and evaluate the days again."""
    script = written(with_a_delivery(story.script), story.axes)
    expected = run_joins(story.axes, in_order_of_days(script, days), story.rules)
    with tempfile.TemporaryDirectory() as folder:
        lake = lake_of(Path(folder), story.lateness, way, axes=story.axes, script=script)
        arrived = 0
        with shared_out(way):
            for item in script:
                if isinstance(item, JoinRegistration):
                    register(lake, item)
                    continue
                feed = FEEDS[item.side]
                rules = story.rules[item.side]
                deliver(lake, item.delivery, days[arrived], feed, item.gone, rules)
                arrived += 1
                if way.at_once is not None and arrived % way.at_once == 0:
                    list(advance(lake, lake.lane(LANE)))
            list(advance(lake, lake.lane(LANE)))
        assert Counter(told_pairs(lake)) == Counter(of_tables(expected.pairs)), way
        assert Counter(told_changes(lake)) == Counter(expected.changes), way
        if lake.lane(LANE) in lake.lanes():
            again = partitions(lake, lake.lane(LANE), keys_of(lake, lake.lane(LANE)), again=True)
            assert all(report.proved for report in again), way


def in_order_of_days(script: Script, days: Sequence[str]) -> Script:
    """Deliveries by their days; the registry of one holds for all that come behind it."""
    came: list[tuple[str, int, SideDelivery]] = []
    newest, registrations = 0, [JoinRegistration(())]
    for item in script:
        if isinstance(item, JoinRegistration):
            registrations.append(item)
            newest += 1
        else:
            came.append((days[len(came)], newest, item))
    ordered: list[SideDelivery | JoinRegistration] = []
    holds = 0
    for _, version, item in sorted(came, key=lambda each: each[0]):
        if version > holds:
            holds = version
            ordered.append(registrations[version])
        ordered.append(item)
    return ordered


@pytest.mark.parametrize("tasks", [1, 2, 3])
def test_joins_that_come_to_other_tasks_by_a_removal_are_not_registered_anew(
    tasks: int, tmp_path: Path
) -> None:
    every = [band_join(name, -1.0, 1.0) for name in "abcd"]
    windows = [window_join(f"w{n}", AXES, window=n * TICK) for n in range(3)]
    way = JoinWay(tasks=tasks)

    def came(side: int, tick: int) -> SideDelivery:
        values = (0.0,) * len(AXES[side])
        return SideDelivery(side, FeedDelivery((Sighting("a", ORIGIN + tick * TICK, values),)))

    script: Script = [
        JoinRegistration((*every, *windows)),
        came(0, 0),
        came(1, 1),
        JoinRegistration((*every[1:], *windows[1:])),
        came(1, 2),
        JoinRegistration((*every[2:], *windows[2:], band_join("e", 0.0, 0.0))),
        came(0, 3),
    ]
    lake = lake_of(tmp_path, way=way, axes=AXES)
    play(lake, script, way)
    expected = run_joins(AXES, script, rules_of())
    assert Counter(told_pairs(lake)) == Counter(expected.pairs)
    assert Counter(told_changes(lake)) == Counter(expected.changes)
    assert len(expected.changes) == 5
