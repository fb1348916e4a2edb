"""Two feeds on a lake: however a past is cut into runs and epochs, joins give the same rows."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipelines.epochs.drive import advance, chain_of
from pipelines.epochs.partitions import keys_of, partitions
from pipelines.planning.plan import Limits
from pipelines.runs.run import run
from pipelines.spark.runner import HereRunner
from tests.support.lakes.builder import SECOND
from tests.support.lakes.join_past import (
    BOTH_LATE,
    NOW,
    Landing,
    Way,
    assert_told,
    happen,
    new_lake,
    past,
    play,
    reference,
)
from tests.support.lakes.join_story_lake import LANE

PAST = past()
WAYS = {
    "one run": Way(),
    "each delivery a run": Way(run_every=1),
    "three at a time": Way(run_every=3),
    "ten epochs in one group": Way(limits=Limits(group=10, epoch_deliveries=1)),
    "snapshots all the time": Way(run_every=2, limits=Limits(snapshot_every=1)),
    "small epochs, three tasks": Way(limits=Limits(epoch_rows=20, group=3), tasks=3),
    "each delivery a run of two tasks": Way(run_every=1, tasks=2),
}
LATENESS = {"no lateness": (0, 0), "both late": BOTH_LATE}
ONE_LATE = (0, 2 * SECOND)


def test_the_past_has_all_that_joins_can_find() -> None:
    for lateness in (*LATENESS.values(), ONE_LATE):
        rows = reference(PAST, lateness)
        assert len({pair.query_id for pair in rows.pairs}) == 4
        assert {(change.query_id, change.change) for change in rows.changes} >= {
            (id, sign) for id in ("spread", "over", "large", "fresh") for sign in (1, -1)
        }
        assert any(change.ts is None for change in rows.changes)
        turned = {reason for side in rows.rejected for _, _, reason in side}
        assert turned >= {"duplicate", "conflict", *["late"] * (lateness != BOTH_LATE)}
        assert len(rows.feeds[1].members) < len(rows.feeds[1].heads)


@pytest.mark.parametrize(
    "lateness",
    [
        pytest.param(LATENESS["both late"], id="both late"),
        pytest.param(LATENESS["no lateness"], id="no lateness", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_cut_into_epochs_changes_no_row_of_a_join(way: Way, lateness, tmp_path: Path) -> None:
    assert_told(play(tmp_path, PAST, way, lateness), PAST, lateness)


def test_random_cuts_change_no_row_of_a_join(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    for k in range(3):
        limits = Limits(
            epoch_rows=int(rng.integers(5, 60)),
            group=int(rng.integers(1, 5)),
            epoch_deliveries=int(rng.integers(1, 5)),
            snapshot_every=int(rng.integers(1, 6)),
        )
        way = Way(int(rng.integers(1, 6)), limits, int(rng.integers(1, 4)))
        happened = past(seed=k)
        assert_told(play(tmp_path / str(k), happened, way, ONE_LATE), happened, ONE_LATE)


@pytest.mark.parametrize("whose", ["b", "a", "bbbbbbbbbbba", "aaaaaaaaaaab"])
def test_a_side_that_is_silent_or_comes_late_is_waited_for_by_nobody(whose, tmp_path) -> None:
    happened = past(whose=whose)
    assert_told(play(tmp_path, happened, Way(run_every=2)), happened)


def test_partition_by_partition_gives_the_rows_of_a_run(tmp_path: Path) -> None:
    lake = new_lake(tmp_path, BOTH_LATE, Way(limits=Limits(epoch_deliveries=2)))
    for number, item in enumerate(PAST):
        happen(lake, item, NOW + number * SECOND)
    keys = keys_of(lake, lake.lane(LANE))
    assert len(keys) == 4
    for key in keys:
        (report,) = partitions(lake, lake.lane(LANE), [key])
        assert report.changed
        assert {epoch.key for epoch in report.epochs} == {key}
    assert_told(lake, PAST, BOTH_LATE)


def test_a_run_after_each_file_as_watch_makes_it_gives_the_same_rows(tmp_path: Path) -> None:
    lake = new_lake(tmp_path, BOTH_LATE)
    for number, item in enumerate(PAST):
        happen(lake, item, NOW + number * SECOND)
        if isinstance(item, Landing):
            done = run(lake.settings, HereRunner(), store=lake.store, patient=False)
            assert [group.lane.name for group in done.groups] == [item.feed, LANE]
    assert_told(lake, PAST, BOTH_LATE)
    assert len(chain_of(lake.store, LANE)) == sum(isinstance(item, Landing) for item in PAST)


def test_a_join_that_comes_first_after_the_deliveries_finds_the_sets_as_they_stand(tmp_path):
    rules, *others = PAST
    happened = [*(item for item in others if isinstance(item, Landing))]
    happened = [*happened[:5], rules, *happened[5:]]
    lake = new_lake(tmp_path)
    for number, item in enumerate(happened):
        happen(lake, item, NOW + number * SECOND)
        if number == 3:
            assert run(lake.settings, HereRunner(), store=lake.store).groups
    list(advance(lake, lake.lane(LANE)))
    assert_told(lake, happened)
    other = play(tmp_path / "other", happened, replace(WAYS["each delivery a run"], tasks=3))
    assert_told(other, happened)
