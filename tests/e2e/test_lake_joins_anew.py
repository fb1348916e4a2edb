"""Joins evaluated again: because a delivery came late, because someone asks, and after maintenance.

Law: the rows are those of a lake on which everything came in its order and nothing was done twice.
"""

from datetime import timedelta
from pathlib import Path

import pytest

from fencepost.errors import LakeError
from pipelines.epochs.drive import Lake, advance, chain_of
from pipelines.epochs.partitions import keys_of, partitions, stale_keys
from pipelines.lake.layout import CACHE
from pipelines.planning.plan import Limits
from pipelines.runs.maintain import SETS_KEPT, maintain
from tests.support.lakes.builder import SECOND, reopened, rows_of
from tests.support.lakes.join_past import (
    BOTH_LATE,
    NOW,
    PAIRED,
    RULES,
    Commit,
    Landing,
    Past,
    Way,
    assert_told,
    happen,
    new_lake,
    past,
    play,
)
from tests.support.lakes.join_story_lake import LANE, JoinWay, in_force, shared_out
from tests.support.lakes.on_disk import on_disk

PAST = past()
FILES = [item for item in PAST if isinstance(item, Landing)]
HELD_BACK = FILES[6:8]
"""The last two of the second hour, of bids one and of asks one."""
HOURS = [f"2026-01-01T0{hour}" for hour in range(4)]
CUT = Way(limits=Limits(group=4, epoch_deliveries=2, snapshot_every=3))
TABLES = ("pairs", "band_changes", "band_pairs", "affected_queries", "set_members")


def shown(lake: Lake) -> dict[str, list[str]]:
    """All that the views show, rows in an order of their own."""
    return {
        name: sorted(repr(sorted(row.items())) for row in rows_of(lake, f"from {name}"))
        for name in TABLES
    }


def held_back(folder: Path, commits: int) -> Lake:
    """A lake on which two files of the second hour have not come, and all others are evaluated."""
    lake = new_lake(folder, BOTH_LATE, CUT)
    rules = [item for item in PAST if isinstance(item, Commit)][:commits]
    others = [item for item in FILES if item not in HELD_BACK]
    happened: Past = [rules[0], *others, *rules[1:]]
    for number, item in enumerate(happened):
        happen(lake, item, NOW + number * SECOND)
    list(advance(lake, lake.lane(LANE)))
    return lake


def test_the_files_held_back_are_of_both_feeds_and_end_their_hour() -> None:
    assert {item.feed for item in HELD_BACK} == {"bids", "asks"}
    assert {item.name[:13] for item in HELD_BACK} == {HOURS[1]}
    assert [item.name for item in FILES if item.name.startswith(HOURS[1])][2:] == [
        item.name for item in HELD_BACK
    ]


def test_what_comes_late_makes_later_epochs_of_joins_stale_until_they_are_evaluated_anew(
    tmp_path: Path,
) -> None:
    lake = held_back(tmp_path, commits=1)
    in_time = [PAST[0], *FILES]
    before = shown(lake)
    with pytest.raises(AssertionError, match="pairs: missing"):
        assert_told(lake, in_time, BOTH_LATE)
    for item in HELD_BACK:
        happen(lake, item, NOW + 100 * SECOND)
    assert stale_keys(lake, lake.lane(LANE)) == HOURS[2:]
    assert shown(lake) == before
    (report,) = partitions(lake, lake.lane(LANE), [HOURS[1]])
    assert report.changed
    assert [epoch.generation for epoch in report.epochs] == [1, 2]
    assert stale_keys(lake, lake.lane(LANE)) == HOURS[2:]
    assert {row["epoch"] for row in rows_of(lake, "select distinct epoch from pairs")} <= {
        1,
        2,
        3,
        4,
    }
    list(advance(lake, lake.lane(LANE)))
    assert stale_keys(lake, lake.lane(LANE)) == []
    assert_told(lake, in_time, BOTH_LATE)
    assert_told(play(tmp_path / "punctual", in_time, CUT, BOTH_LATE), in_time, BOTH_LATE)


def test_what_comes_late_brings_the_registry_of_its_own_time_along(tmp_path: Path) -> None:
    lake = held_back(tmp_path, commits=3)
    for item in HELD_BACK:
        happen(lake, item, NOW + 100 * SECOND)
    list(advance(lake, lake.lane(LANE)))
    rules, *later = (item for item in PAST if isinstance(item, Commit))
    assert_told(lake, [rules, *FILES[:6], *later, *FILES[6:]], BOTH_LATE)


@pytest.mark.parametrize("tasks", [1, 3])
def test_a_partition_of_joins_evaluated_again_proves_its_rows_and_writes_none(
    tasks: int, tmp_path: Path
) -> None:
    lake = play(tmp_path, PAST, CUT, BOTH_LATE)
    before = {name: lake.store.version(name) for name in lake.store.tables}
    files = sorted(path for path in on_disk(lake.store.root).rglob("*.parquet"))
    with shared_out(JoinWay(tasks=tasks)):
        reports = list(
            partitions(lake, lake.lane(LANE), keys_of(lake, lake.lane(LANE)), again=True)
        )
    assert [report.key for report in reports] == HOURS
    assert all(report.proved and not report.changed for report in reports)
    assert {name: lake.store.version(name) for name in lake.store.tables} == before
    assert sorted(path for path in on_disk(lake.store.root).rglob("*.parquet")) == files


@pytest.mark.parametrize("name", ["pairs", "band_changes", "set_members", "live_windows"])
def test_a_partition_whose_rows_are_others_is_replaced_when_it_is_evaluated_again(
    name: str, tmp_path: Path
) -> None:
    lake = play(tmp_path, PAST, CUT)
    last = max(row["epoch"] for row in in_force(lake, name))
    assert lake.store.delta(name).delete(f"epoch = {last} AND generation = 1")["num_deleted_rows"]
    lake = reopened(lake)
    key = next(epoch.key for epoch in chain_of(lake.store, LANE).epochs if epoch.epoch == last)
    (report,) = partitions(lake, lake.lane(LANE), [key], again=True)
    assert report.changed
    assert not report.proved
    list(advance(lake, lake.lane(LANE)))
    assert_told(lake, PAST)


def test_maintenance_changes_nothing_that_is_shown_of_joins_and_the_lake_goes_on(
    tmp_path: Path,
) -> None:
    mirrored = {**PAIRED, "id": "mirrored", "on": "left.price > right.price", "window": "4s"}
    turned = {
        **mirrored,
        "id": "turned",
        "left": "asks",
        "right": "bids",
        "on": "right.price > left.price",
    }
    happened: Past = [Commit([*RULES, mirrored]), *FILES]
    lake = new_lake(tmp_path, BOTH_LATE, Way(limits=Limits(snapshot_every=2)))
    happen(lake, Commit([turned]), NOW)
    for number, item in enumerate(happened[:12]):
        happen(lake, item, NOW + number * SECOND)
        for lane in (LANE, "asks~bids"):
            list(advance(lake, lake.lane(lane)))
    both = [lane.name for lane in lake.lanes()]
    assert both == ["bids", "asks", "asks~bids", LANE]
    before = shown(lake)
    done = maintain(lake.store, lake.settings, keep_states=2, keep_files=timedelta(0))
    assert {"pairs", "band_changes", "set_members"} <= set(done.compacted)
    assert {"live_windows", "set_members"} <= set(done.deleted_rows)
    assert done.deleted
    lake = reopened(lake)
    assert shown(lake) == before
    horizon = chain_of(lake.store, LANE).horizon
    assert horizon > 1
    with pytest.raises(LakeError, match=f"states before epoch {horizon} are gone"):
        list(partitions(lake, lake.lane(LANE), [HOURS[0]], again=True))
    for lane in (LANE, "asks~bids"):
        (report,) = partitions(lake, lake.lane(lane), [HOURS[2]], again=True)
        assert report.proved
    for number, item in enumerate(happened[12:]):
        happen(lake, item, NOW + (50 + number) * SECOND)
        for lane in (LANE, "asks~bids"):
            list(advance(lake, lake.lane(lane)))
    assert_told(lake, happened, BOTH_LATE)
    pairs = "select left_stream_id, left_ts, right_stream_id, right_ts from pairs where query_id = "
    other = "select right_stream_id, right_ts, left_stream_id, left_ts from pairs where query_id = "
    assert sorted(tuple(row.values()) for row in rows_of(lake, f"{pairs} 'mirrored'")) == sorted(
        tuple(row.values()) for row in rows_of(lake, f"{other} 'turned'")
    )


def test_rows_that_were_evaluated_anew_are_taken_out_and_no_others(tmp_path: Path) -> None:
    lake = held_back(tmp_path, commits=1)
    for item in HELD_BACK:
        happen(lake, item, NOW + 100 * SECOND)
    kept = lake.store.rows("pairs").num_rows
    maintain(lake.store, lake.settings)
    assert lake.store.rows("pairs").num_rows == kept  # something is stale: nothing is thrown away
    lake = reopened(lake)
    list(advance(lake, lake.lane(LANE)))
    before = shown(lake)
    maintain(lake.store, lake.settings)
    lake = reopened(lake)
    assert shown(lake) == before
    for name in ("pairs", "band_changes"):
        assert lake.store.rows(name).num_rows == len(in_force(lake, name))


def test_old_sets_of_joins_are_forgotten_like_those_of_crossings(tmp_path: Path) -> None:
    lake = new_lake(tmp_path)
    versions = range(1, 3 + SETS_KEPT)
    for version in versions:
        rule = {**PAIRED, "id": "near", "on": "left.price = right.price", "window": version}
        happen(lake, Commit([rule]), NOW + version * SECOND)
        happen(lake, FILES[version], NOW + version * SECOND)
    list(advance(lake, lake.lane(LANE)))
    folder = on_disk(lake.settings.root / CACHE)
    files = [f"joins-{LANE}-{version}.arrow" for version in versions]
    assert {path.name for path in folder.glob("joins-*")} == set(files)
    maintain(lake.store, lake.settings)
    assert {path.name for path in folder.glob("joins-*")} == set(files[-SETS_KEPT:])
