"""A plan of joins is carried out as it was made, whatever arrived or was declared since."""

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from fencepost.queries.joins import WINDOW_JOIN, JoinQuery
from fencepost.reference import FeedDelivery, JoinRegistration, Sighting
from pipelines.epochs.drive import Lake, advance, arrivals_of, chain_of, finish, plan
from pipelines.execute.joins.job import JoinJob
from tests.support.lakes.join_story_lake import AXES, FEEDS, LANE, in_force, lake_of, texted
from tests.support.lakes.story_lake import deliver, register

SECOND = 1_000_000
EVERY = JoinQuery(
    id="w",
    kind=WINDOW_JOIN,
    left=FEEDS[0],
    right=FEEDS[1],
    on="ALL",
    conjuncts=((((-inf, inf),) * 4, ()),),  # type: ignore[arg-type]
    window=10 * SECOND,
)


def lake_with_a_join(folder: Path) -> Lake:
    lake = lake_of(folder)
    register(lake, JoinRegistration((texted(EVERY, AXES),)))
    return lake


def land(lake: Lake, side: int, second: int, key: str) -> None:
    seen = Sighting(f"s{second}", second * SECOND, (1.0, 2.0))
    deliver(lake, FeedDelivery((seen,)), key, FEEDS[side])


def test_a_delivery_that_came_late_after_the_plan_moves_none_of_its_watermarks(
    tmp_path: Path,
) -> None:
    lake = lake_with_a_join(tmp_path)
    land(lake, 0, 100, "2026-01-02")
    land(lake, 1, 105, "2026-01-02")
    group = plan(lake, lake.lane(LANE))
    land(lake, 1, 900, "2026-01-01")  # of an earlier day, and far ahead in time
    chain = chain_of(lake.store, LANE)
    job = lake.lane(LANE).job(lake.store, 1, chain, group, arrivals_of(lake.store))
    assert isinstance(job, JoinJob)
    assert job.marks == {"bids": None, "asks": None}
    assert finish(lake, lake.lane(LANE)) is not None
    assert len(in_force(lake, "pairs")) == 1


@pytest.mark.parametrize("lane", [LANE, FEEDS[0]])
def test_more_lateness_than_before_moves_no_watermark_back(tmp_path: Path, lane: str) -> None:
    lake = lake_with_a_join(tmp_path)
    land(lake, 0, 100, "2026-01-01")
    land(lake, 1, 100, "2026-01-01")
    list(advance(lake, lake.lane(lane)))
    late = {
        name: replace(f, allowed_lateness=60 * SECOND) for name, f in lake.settings.feeds.items()
    }
    lake = replace(lake, settings=replace(lake.settings, feeds=late))
    for second in (110, 170):
        land(lake, 0, second, "2026-01-01")
        land(lake, 1, second, "2026-01-01")
        list(advance(lake, lake.lane(lane)))
    chain = chain_of(lake.store, lane)
    assert not chain.open
    assert chain.covered == [d.n for d in arrivals_of(lake.store).deliveries(lane)]
    assert [epoch.watermark for epoch in chain.epochs] == [100 * SECOND, 100 * SECOND, 110 * SECOND]
