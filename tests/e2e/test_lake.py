"""A day on a lake: however it is cut into runs, epochs and groups, its tables are the same."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from fencepost.errors import InputError, LakeError
from pipelines.epochs.drive import advance, chain_of
from pipelines.epochs.partitions import keys_of, partitions, stale_keys
from pipelines.planning.plan import Limits
from pipelines.runs.maintain import maintain
from pipelines.runs.run import run
from pipelines.runs.tidy import tidy
from pipelines.spark.runner import HereRunner
from tests.support.lakes import builder, tick_past
from tests.support.lakes.builder import SECOND, reopened
from tests.support.lakes.on_disk import on_disk
from tests.support.lakes.tick_past import Way, deliveries, land, play, tables_of

LATENESS = 2 * SECOND
WAYS = {
    "each delivery a run": Way(run_every=1),
    "three at a time": Way(run_every=3),
    "ten epochs in one group": Way(limits=Limits(group=10, epoch_deliveries=1)),
    "snapshots all the time": Way(run_every=2, limits=Limits(snapshot_every=1)),
    "small epochs": Way(limits=Limits(epoch_rows=50, group=3, snapshot_every=3)),
}


@pytest.fixture(scope="module", params=[0, LATENESS], ids=["no lateness", "lateness"])
def in_one(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("one")
    return request.param, tables_of(play(folder, HereRunner(), Way(), request.param))


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.fault(52)
def test_the_cut_into_epochs_changes_no_row(way: Way, in_one, tmp_path: Path) -> None:
    lateness, expected = in_one
    lake = play(tmp_path, HereRunner(), way, lateness)
    assert tables_of(lake) == expected
    filled = ("events", "transitions", "matches", "quarantine", "visits")
    assert all(expected[name] for name in filled)
    assert bool(expected["reorder"]) == bool(lateness)


def test_random_cuts_change_no_row(in_one, tmp_path: Path) -> None:
    lateness, expected = in_one
    rng = np.random.default_rng(3)
    for k in range(3):
        limits = Limits(
            epoch_rows=int(rng.integers(20, 400)),
            group=int(rng.integers(1, 5)),
            epoch_deliveries=int(rng.integers(1, 5)),
            snapshot_every=int(rng.integers(1, 6)),
        )
        way = Way(int(rng.integers(1, 6)), limits)
        assert tables_of(play(tmp_path / str(k), HereRunner(), way, lateness)) == expected, way


@pytest.mark.fault(25)
def test_partition_by_partition_gives_the_rows_of_a_live_run(in_one, tmp_path: Path) -> None:
    lateness, expected = in_one
    lake = play(tmp_path, HereRunner(), Way(), lateness)
    keys = keys_of(lake, lake.lane("ticks"))
    assert len(keys) > 1
    folder = on_disk(lake.settings.root).parent
    again = tick_past.past_settings(folder, lateness)
    fresh = builder.new_lake(replace(again, root=folder / "other"), lake.runner, lake.limits)
    builder.register(fresh, tick_past.RULES, tick_past.NOW)
    names = sorted(path.name for path in fresh.settings.feeds["ticks"].source.iterdir())
    source = fresh.settings.feeds["ticks"].source
    held = {name: (source / name).read_text() for name in names}
    for name in names:
        (source / name).unlink()
    for number, name in enumerate(names, 1):
        land(fresh.settings, name, held[name])
        builder.ingest(fresh, tick_past.NOW + number * 600 * SECOND)
        if number == len(names) // 2:
            now = tick_past.NOW + number * 600 * SECOND
            builder.register(fresh, tick_past.LATER, now)
    for key in keys:
        (report,) = partitions(fresh, fresh.lane("ticks"), [key])
        assert report.changed
        assert {epoch.key for epoch in report.epochs} == {key}
    assert tables_of(fresh) == expected


def test_a_partition_evaluated_again_proves_its_rows_and_writes_none(tmp_path: Path) -> None:
    lake = play(tmp_path, HereRunner(), Way(run_every=2), LATENESS)
    before = tables_of(lake)
    versions = {name: lake.store.version(name) for name in lake.store.tables}
    for report in partitions(
        lake, lake.lane("ticks"), keys_of(lake, lake.lane("ticks")), again=True
    ):
        assert report.proved
        assert not report.changed
    assert {name: lake.store.version(name) for name in lake.store.tables} == versions
    assert tables_of(lake) == before


def test_a_late_delivery_makes_later_partitions_stale_until_they_are_evaluated(
    tmp_path: Path,
) -> None:
    folders = [tmp_path / "late", tmp_path / "punctual"]
    lakes = []
    for folder in folders:
        settings = tick_past.past_settings(folder, LATENESS)
        feed = replace(settings.feeds["ticks"], partition_in_path=True)
        settings = replace(settings, feeds={"ticks": feed})
        lake = builder.new_lake(settings, limits=Limits(epoch_deliveries=2))
        builder.register(lake, tick_past.RULES, tick_past.NOW)
        lakes.append(lake)
    files = list(deliveries(9))
    hour = [f"2026-01-01T{k // 3:02}" for k in range(9)]
    held_back = 5  # the last of the second hour
    for k, (name, text) in enumerate(files):
        for lake, is_late in zip(lakes, (True, False), strict=True):
            if not (is_late and k == held_back):
                land(lake.settings, f"{hour[k]}-{name}", text)
    for lake in lakes:
        builder.ingest(lake, tick_past.NOW)
        list(partitions(lake, lake.lane("ticks"), keys_of(lake, lake.lane("ticks"))))
    late, in_time = lakes
    assert tables_of(late) != tables_of(in_time)
    name, text = files[held_back]
    land(late.settings, f"{hour[held_back]}-{name}", text)
    builder.ingest(late, tick_past.NOW + SECOND)
    assert stale_keys(late, late.lane("ticks")) == ["2026-01-01T02"]
    (report,) = partitions(late, late.lane("ticks"), ["2026-01-01T01"])
    assert report.changed
    assert [epoch.generation for epoch in report.epochs] == [1, 2]  # what came first still stands
    assert stale_keys(late, late.lane("ticks")) == ["2026-01-01T02"]
    assert {epoch.key for epoch in chain_of(late.store, "ticks").epochs} == {
        "2026-01-01T00",
        "2026-01-01T01",
    }
    list(advance(late, late.lane("ticks")))
    assert stale_keys(late, late.lane("ticks")) == []
    order = {0: tables_of(late), 1: tables_of(in_time)}
    for name in ("events", "transitions", "matches", "inside_now", "visits"):
        assert without_arrival(order[0][name]) == without_arrival(order[1][name]), name


def without_arrival(rows: list[str]) -> list[str]:
    """The late delivery has another number, and nothing else is different."""
    return sorted(row.split("'arrival'")[0] + row.split("'day'")[-1] for row in rows)


@pytest.mark.fault(3, 23)
def test_maintenance_changes_no_row_and_old_states_are_refused_in_words(tmp_path: Path) -> None:
    way = Way(run_every=1, limits=Limits(snapshot_every=2))
    lake = play(tmp_path, HereRunner(), way, LATENESS)
    before = tables_of(lake)
    done = maintain(lake.store, lake.settings, keep_states=2, keep_files=timedelta(0))
    assert done.compacted
    assert done.deleted_rows
    assert done.deleted
    lake = reopened(lake)
    assert tables_of(lake) == before
    horizon = chain_of(lake.store, "ticks").horizon
    assert horizon > 1
    first, *_, last = keys_of(lake, lake.lane("ticks"))
    with pytest.raises(LakeError, match=f"states before epoch {horizon} are gone"):
        list(partitions(lake, lake.lane("ticks"), [first], again=True))
    (report,) = partitions(lake, lake.lane("ticks"), [last], again=True)
    assert report.proved or report.changed


def test_a_log_that_was_written_anew_in_part_is_read_like_any_other(tmp_path: Path) -> None:
    way = Way(run_every=1, limits=Limits(snapshot_every=2))
    lake = play(tmp_path, HereRunner(), way, LATENESS)
    before = tables_of(lake)
    for name in (log.name for log in lake.lane("ticks").logs):
        lake.store.delta(name).optimize.compact()
        lake.store.delta(name).delete("epoch < 6")
        assert len(lake.store.delta(name).file_uris()) == 1
    lake = reopened(lake)
    assert tables_of(lake) == before
    *_, last = keys_of(lake, lake.lane("ticks"))
    (report,) = partitions(lake, lake.lane("ticks"), [last], again=True)
    assert report.proved


def test_files_are_put_together_by_the_way(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("pipelines.runs.tidy.FAN", 3)
    lake = play(tmp_path, HereRunner(), Way(run_every=1), LATENESS)
    before, many = tables_of(lake), len(lake.store.files("epochs"))
    tidy(lake.store, 0)
    assert len(lake.store.files("epochs")) < 9 < many
    assert tables_of(reopened(lake)) == before


def test_a_run_takes_what_has_landed_and_the_next_one_finds_nothing_new(tmp_path: Path) -> None:
    lake = tick_past.new_lake(tmp_path)
    store, settings = lake.store, lake.settings
    for name, text in deliveries(3):
        land(settings, name, text)
    first = run(settings, HereRunner())
    assert [taken.path for taken in first.ingested.loaded] == ["000.csv", "001.csv", "002.csv"]
    assert sum(group.counts["rows"] for group in first.groups) == first.ingested.rows
    versions = {name: store.version(name) for name in store.tables}
    second = run(settings, HereRunner())
    assert not second.ingested.loaded
    assert not second.groups
    assert {name: store.version(name) for name in store.tables} == versions


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("2026-13-01", "no partition"),
        ("../..", "no partition"),
        ("2026-01-01' OR 1=1", "no partition"),
    ],
)
def test_a_bad_partition_key_is_refused(tmp_path: Path, key: str, told: str) -> None:
    lake = tick_past.new_lake(tmp_path)
    with pytest.raises(InputError, match=told):
        list(partitions(lake, lake.lane("ticks"), [key]))
    with pytest.raises(InputError, match=r"there is no feed 'tick'.*Did you mean 'ticks'"):
        partitions(lake, lake.lane("tick"), ["2026-01-01"])
    with pytest.raises(InputError, match="there is no feed 'tick'"):
        keys_of(lake, lake.lane("tick"))
