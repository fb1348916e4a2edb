"""What passed is not looked at again while nothing has changed; and any change is noticed."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.checks import Checked, Moment
from pipelines.checks import fingerprint as fingerprints
from pipelines.checks.site import Site
from pipelines.epochs.drive import chain_of
from pipelines.lake.evidence import Evidence
from pipelines.lake.store import Store
from pipelines.lanes import lane_named
from pipelines.project.settings import Settings
from tests.support.lakes.on_disk import on_disk
from tests.support.lakes.sound_feed import sound, sound_settings, spoilt
from tests.support.lakes.sound_join import LANE
from tests.support.lakes.sound_join import sound as sound_joins
from tests.support.lakes.sound_join import sound_settings as join_settings

KEPT = 2
FEW = ("deliveries_are_accounted_for", "crossings_alternate", "state_is_the_newest")


def looked(declared: Settings, lane: str = "ticks", *, again: bool = False) -> list[Checked]:
    """Make some checks of ours, and hold every contract of a lane."""
    wanted = lane_named(declared, lane)
    with Moment(declared, [wanted], again=again) as moment:
        return [*moment.own(wanted, names=FEW), *moment.contracts(wanted)]


def fresh(made: list[Checked]) -> list[Checked]:
    return [each for each in made if each.since is None]


@pytest.fixture(scope="module")
def checked(tmp_path_factory) -> Path:
    """The project of a sound lake that was checked once."""
    project: Path = tmp_path_factory.mktemp("checked")
    sound().written(project / "lake")
    settings = sound_settings(project)
    assert len(fresh(looked(settings))) == len(looked(settings)) > 40
    return project


@pytest.fixture
def declared(checked, tmp_path) -> Settings:
    """A copy of it, as old as it is."""
    shutil.copytree(checked, tmp_path, dirs_exist_ok=True)
    return sound_settings(tmp_path)


def test_what_passed_is_told_again_without_being_looked_at(declared, monkeypatch):
    monkeypatch.setattr("pipelines.checks.moment.session_of", None)
    made = looked(declared)
    assert fresh(made) == []
    assert all(each.passed and each.seconds == 0.0 for each in made)
    assert len({each.since for each in made}) == 1


def test_again_looks_at_all(declared):
    assert len(fresh(looked(declared, again=True))) == len(looked(declared))


def test_an_epoch_more_is_looked_at(declared):
    store = Store.open(declared.root, declared.tables)
    with_more(store, "epochs")
    assert len(fresh(looked(declared))) > 40
    assert fresh(looked(declared)) == []


def with_more(store: Store, table: str) -> None:
    """Commit a file more to a table, with a row that is there already."""
    files = store.write(table, store.rows(table).slice(0, 1))
    more = Evidence("test", "more", "ticks", 0, 0, 0, 1, 0)
    store.append(table, store.version(table), files, more)


@pytest.mark.parametrize("change", ["gone", "touched"])
def test_a_data_file_that_changed_is_looked_at(declared, change):
    file = next((declared.root / "events").rglob("*.parquet"))
    if change == "touched":
        os.utime(file, ns=(1, 1))
    else:
        file.unlink()
    made = looked(declared)
    assert len(fresh(made)) == len(made)
    could_not_be_read = [each for each in made if not each.passed]
    assert bool(could_not_be_read) == (change == "gone")
    assert all("events" in str(each.samples) for each in could_not_be_read)


def test_a_contract_that_changed_is_looked_at(declared, monkeypatch):
    monkeypatch.setattr(fingerprints, "_code", lambda: "another")
    assert len(fresh(looked(declared))) == len(looked(declared, again=True))


@pytest.mark.xdist_group("great-expectations")
def test_what_failed_is_looked_at_each_time_and_what_passed_beside_it_is_not(tmp_path):
    spoilt().written(tmp_path / "lake")
    declared = sound_settings(tmp_path)
    first, second = looked(declared), looked(declared)
    assert {each.name for each in first if each.passed} == {
        each.name for each in second if each.since is not None
    }
    told = [
        [replace(each, seconds=0.0, since=None, docs=None) for each in made]
        for made in (first, second)
    ]
    assert told[0] == told[1]


def test_of_two_feeds_the_one_that_moved_is_looked_at(tmp_path):
    sound_joins().written(tmp_path / "lake")
    declared = join_settings(tmp_path)
    for lane in ("bids", "asks", LANE):
        looked(declared, lane)
    store = Store.open(declared.root, declared.tables)
    with_more(store, "bids")
    assert [each.name for each in fresh(looked(declared, "asks")) if each.passed] == []
    assert [each.name for each in fresh(looked(declared, "bids")) if each.passed]
    assert [each.name for each in fresh(looked(declared, LANE)) if each.passed]


def test_a_run_and_all_of_a_lane_are_remembered_apart(declared):
    epochs = chain_of(Store.to_read(declared.root, declared.tables), "ticks").epochs[1:]
    for expected in (None, "remembered"):
        with Moment(declared, [lane_named(declared, "ticks")]) as moment:
            made = list(moment.contracts(lane_named(declared, "ticks"), epochs))
        assert all((each.since is None) == (expected is None) for each in made)
    assert fresh(looked(declared)) == []


@pytest.mark.parametrize("torn", ["", "{", '{"format": 0}', '{"format": 1, "units": {"a": 1}}'])
def test_a_memory_that_is_torn_costs_a_check_and_nothing_else(declared, torn):
    (kept,) = (declared.root / "_cache").glob("checks-*.json")
    kept.write_text(torn)
    assert len(fresh(looked(declared))) > 40
    assert fresh(looked(declared)) == []


def test_a_lake_that_can_only_be_read_is_checked_all_the_same(declared, monkeypatch):
    (kept,) = (declared.root / "_cache").glob("checks-*.json")
    kept.unlink()

    def refused(*_: object, **__: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(Path, "replace", refused)
    with Moment(declared, [lane_named(declared, "ticks")]) as moment:
        assert all(each.passed for each in moment.own(lane_named(declared, "ticks")))


def test_the_index_is_current_and_lists_the_newest_runs(declared, monkeypatch):
    monkeypatch.setattr("pipelines.checks.site.KEPT", KEPT)
    for _ in range(KEPT):
        looked(declared, again=True)
    made = looked(declared, again=True)
    site = Site.of(declared)
    text = site.index.read_text()
    runs = list(site.runs())
    assert len([run for run in runs if run.table == "events"]) == KEPT
    newest = {run.table: run for run in reversed(runs)}
    for table, run in newest.items():
        promised = [each for each in made if each.table == table and each.docs]
        assert [each.name for each in run.checks] == [each.name for each in promised]
        assert run.at in text
    for each in made:
        assert each.docs is None or each.docs == str(site.index)
        assert each.docs is None or f"<b>{each.name}</b>" in text


def test_the_index_comes_again_where_it_was_thrown_away_though_nothing_is_looked_at(declared):
    site = Site.of(declared)
    before = [run.file for run in site.runs()]
    shutil.rmtree(on_disk(site.root))
    assert fresh(looked(declared)) == []
    assert [run.file for run in site.runs()] == before
    assert on_disk(site.index).is_file()
