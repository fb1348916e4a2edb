"""The contracts: every expectation holds on a sound lake, and fails on a row that breaks it."""

import re

import pytest

from pipelines.checks import Checked, contract_checks
from pipelines.epochs.drive import chain_of
from pipelines.spark.runner import HereRunner
from schemas import all_tables, axes_only
from schemas.expectations import contracts
from tests.support.commands.commands import python
from tests.support.lakes.ledger import AXES as MANY_AXES
from tests.support.lakes.sound_feed import AXES, failed, sound, sound_settings, spoilt
from tests.support.lakes.tick_past import Way
from tests.support.lakes.tick_past import play as landed

PROMISED = [
    (table, each.name) for table, c in contracts("ticks", AXES).items() for each in c.expectations
]


@pytest.fixture(scope="module")
def of_spoilt(tmp_path_factory) -> list[Checked]:
    """What is found in a lake in which every promise is broken once."""
    folder = tmp_path_factory.mktemp("spoilt")
    spoilt().written(folder / "lake")
    return contract_checks(sound_settings(folder), "ticks")


@pytest.mark.fault(72)
def test_every_expectation_can_fail(of_spoilt):
    assert [(each.table, each.name) for each in of_spoilt] == PROMISED
    assert [(each.table, each.name) for each in of_spoilt if each.passed] == []
    for each in of_spoilt:
        unique = each.name.startswith("one_")
        assert each.counts["faults"] == (2 if unique else 1), each
        assert each.samples, each


def test_a_failure_shows_what_was_found(of_spoilt):
    samples = {(each.table, each.name): each.samples[0] for each in of_spoilt}
    assert samples["ticks", "price_is_finite"] == "inf"
    assert samples["quarantine", "reason_fits_its_finder"] == "evaluation: malformed"
    assert samples["transitions", "type_fits_the_answer"] == "unanswered: pass_through"
    assert samples["events", "one_event_each"] == (
        "query_id q, query_version 1, stream_id a, ts 2026-11-18 00:00:01Z, place 0"
    )


def test_a_broken_warning_is_no_failure(of_spoilt):
    warned = {each.name for each in of_spoilt if not each.failed}
    assert warned == {"detail_says_why", "path_is_named", "index_is_named"}


def test_a_sound_lake_keeps_its_contracts(tmp_path):
    sound().written(tmp_path / "lake")
    made = contract_checks(sound_settings(tmp_path), "ticks")
    assert failed(made) == []
    looked = {each.table: each.counts["rows"] for each in made}
    assert looked == {
        "ticks": 5,
        "quarantine": 2,
        "stream_state": 1,
        "events": 2,
        "transitions": 2,
        "matches": 1,
        "leaps": 1,
        "pending": 0,
    }


def test_what_the_engine_made_of_a_day_keeps_its_contracts(tmp_path):
    lake = landed(tmp_path, HereRunner(), Way(run_every=3), 2_000_000)
    assert failed(contract_checks(lake.settings, "ticks")) == []


def test_a_run_s_epochs_are_looked_at_and_what_no_epoch_has_taken_yet(tmp_path):
    ledger = sound()
    waiting = ledger.arrive("ticks")
    ledger.add("ticks", stream_id="b", ts=ledger.rows["ticks"][0]["ts"], arrival=waiting, line=1)
    store = ledger.written(tmp_path / "lake")
    second = chain_of(store, "ticks").epochs[1:]
    made = contract_checks(sound_settings(tmp_path), "ticks", second)
    looked = {each.table: each.counts["rows"] for each in made}
    assert (looked["ticks"], looked["quarantine"], looked["events"]) == (3, 1, 0)


@pytest.mark.parametrize("axes", [AXES, MANY_AXES, {"select": ("order", "group")}])
def test_contracts_speak_of_columns_that_there_are(axes):
    tables = all_tables(axes_only(axes))
    for feed in axes:
        for name, contract in contracts(feed, axes).items():
            columns = {column.name for column in tables[name].columns}
            read = re.findall(r"\bt\.(\w+)", " ".join(contract.columns.values()))
            assert set(read) <= columns
            names = [each.name for each in contract.expectations]
            assert len(set(names)) == len(names)
            assert 4 <= len(names) <= 8


def test_an_axis_may_be_called_like_a_word_of_sql(tmp_path):
    from pipelines.project.settings import Feed, Settings
    from tests.support.lakes.ledger import Ledger

    ledger = Ledger({"select": ("order", "group")})
    arrival = ledger.arrive("select")
    ledger.add("select", stream_id="s", order=1.5, arrival=arrival, line=1)
    ledger.written(tmp_path / "lake")
    feed = Feed("select", ("order", "group"), tmp_path / "landing")
    made = contract_checks(Settings(None, tmp_path / "lake", {"select": feed}), "select")
    assert failed(made) == []


def test_declaring_checks_imports_no_great_expectations():
    said = python(
        "import sys, assets.checks, pipelines.cli.commands.check; "
        "print('great_expectations' in sys.modules)"
    )
    assert said.stdout.splitlines()[-1:] == ["False"], said.stderr
