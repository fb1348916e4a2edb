"""The checks of joins: each passes on a lake as it should be, and fails on the fault it is for."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import HealthCheck, given, settings
from typer.testing import CliRunner

from fencepost.errors import InputError
from pipelines.checks import OF_JOINS, contract_checks, own_checks
from pipelines.cli.commands.check import check
from pipelines.epochs.drive import Lake, advance, chain_of
from pipelines.lake.store import Store
from pipelines.planning.plan import Limits
from pipelines.project.settings import Settings
from schemas import all_tables, axes_only
from schemas.expectations import contracts
from tests.support.examples import FEW, MANY
from tests.support.lakes.join_story_lake import (
    FEEDS,
    JoinWay,
    lake_of,
    play,
    with_a_delivery,
    written,
)
from tests.support.lakes.ledger import Ledger, at
from tests.support.lakes.sound_feed import failed
from tests.support.lakes.sound_join import AXES, LANE, sound, sound_settings, spoilt
from tests.support.stories.join_stories import JoinStory, judged_join_stories, long_story

NAMES = [check.name for check in OF_JOINS]


def rows(ledger: Ledger, table: str, **which: Any) -> list[dict[str, Any]]:
    """The rows of a table that have these values."""
    found = [row for row in ledger.rows[table] if which.items() <= row.items()]
    assert found
    return found


def alter(table: str, change: dict[str, Any], **which: Any) -> Callable[[Ledger], None]:
    """Write other values into some rows."""

    def fault(ledger: Ledger) -> None:
        for row in rows(ledger, table, **which):
            row.update(change)

    return fault


def lose(table: str, **which: Any) -> Callable[[Ledger], None]:
    """Take rows away."""

    def fault(ledger: Ledger) -> None:
        found = rows(ledger, table, **which)
        ledger.rows[table] = [row for row in ledger.rows[table] if row not in found]

    return fault


def of_lane(which: int, /, **change: Any) -> Callable[[Ledger], None]:
    """Write other values into an epoch of the lane."""
    return alter("epochs", change, lane=LANE, epoch=which)


def late_delivery(ledger: Ledger) -> None:
    more: dict[str, Any] = {"rows": 0, "tuples": 0, "malformed": 0, "future": 0}
    ledger.arrive("asks", partition_key="2026-11-17", **more)


FAULTS = [
    ("pairs_are_accounted_for", lose("pairs", epoch=2), "epoch 2: paired 1 and 0 there"),
    ("pairs_are_accounted_for", of_lane(1, paired=7), "epoch 1: paired 7 and 1 there"),
    (
        "pairs_are_those_of_the_queries",
        lose("pairs", epoch=2),
        "missing: w v1: b at 2026-11-18T00:00:05.000000Z and y at 2026-11-18T00:00:03.000000Z",
    ),
    ("pairs_are_those_of_the_queries", alter("pairs", {"right_z": 1.0}, epoch=1), "not a pair: w"),
    (
        "pairs_are_those_of_the_queries",
        alter("pairs", {"left_ts": at(1)}, epoch=1),
        "not a pair: w v1: b at 2026-11-18T00:00:01.000000Z and y",
    ),
    (
        "pairs_are_those_of_the_queries",
        alter("queries", {"window_us": 1_000_000}, id="w"),
        "not a pair: w v1: b at 2026-11-18T00:00:05.000000Z",
    ),
    (
        "pairs_are_those_of_the_queries",
        alter("queries", {"window_us": None, "window_count": 1, "joined_on": "ALL"}, id="w"),
        "missing: w v1: a at 2026-11-18T00:00:04.000000Z and y",
    ),
    (
        "pairs_are_those_of_the_queries",
        alter("queries", {"joined_on": "left.x = right.x + 10"}, id="w"),
        "missing: w v1: a at 2026-11-18T00:00:04.000000Z and y",
    ),
    ("changes_are_accounted_for", lose("band_changes", ts=at(5)), "went_out 2 and 1 there"),
    ("changes_are_accounted_for", of_lane(1, came_in=1), "came_in 1 and 2 there"),
    (
        "changes_alternate",
        alter("band_changes", {"change": 1}, ts=at(5)),
        "b v1, b and y: +1 at 2026-11-18 00:00:05+00 follows +1",
    ),
    (
        "changes_alternate",
        lose("band_changes", ts=at(2)),
        "-1 at 2026-11-18 00:00:04+00 follows -1",
    ),
    ("near_changes_are_accounted_for", lose("near_changes", ts=at(5)), "went_away 1 and 0 there"),
    (
        "near_changes_alternate",
        alter("near_changes", {"change": 1}, ts=at(5)),
        "n v1, b and y: +1 at 2026-11-18 00:00:05+00 follows +1",
    ),
    (
        "results_are_those_of_the_members",
        lose("band_changes", ts=at(5)),
        "not in the band: b and y in b v1",
    ),
    (
        "results_are_those_of_the_members",
        alter("set_members", {"x": 20.5}, feed="bids", epoch=2),
        "missing: a and y in b v1",
    ),
    (
        "results_are_those_of_the_members",
        alter("queries", {"at_most": 10.0}, id="b"),
        "missing: a and y in b v1",
    ),
    (
        "near_results_are_those_of_the_members",
        lose("near_changes", ts=at(5)),
        "not near: b and y in n v1",
    ),
    (
        "near_results_are_those_of_the_members",
        alter("set_members", {"x": 20.5}, feed="bids", epoch=2),
        "missing: a and y in n v1",
    ),
    ("epochs_are_accounted_for", of_lane(2, late=0), "epoch 2: 3 rows and 0 that waited are not"),
    ("epochs_are_accounted_for", of_lane(2, rows=2, accepted=1), "rows 2 and 3 of its deliveries"),
    (
        "members_are_the_newest",
        lose("set_members", feed="asks", stream_id="z"),
        "asks: z is no member",
    ),
    (
        "members_are_the_newest",
        alter("set_members", {"ts": at(1)}, stream_id="y"),
        "asks: y stands at 2026-11-18 00:00:01+00, its newest tuple is of 2026-11-18 00:00:03",
    ),
    (
        "members_are_the_newest",
        alter("set_members", {"z": 3.0}, stream_id="y"),
        "asks: y stands at other values",
    ),
    (
        "members_are_the_newest",
        alter("set_members", {"member": True}, stream_id="b"),
        "bids: b is a member, and its newest tuple took it out",
    ),
    (
        "members_are_the_newest",
        alter("set_members", {"stream_id": "zz"}, stream_id="z"),
        "asks: zz is a member and has no tuple",
    ),
    ("ledger_has_no_gaps", of_lane(2, epoch=3), "3 where 2 was expected"),
    ("ledger_has_no_gaps", of_lane(2, arrivals=[3, 4]), "3 is in 2 epochs"),
    ("ledger_has_no_gaps", of_lane(2, watermark=at(1)), "goes back"),
    ("ledger_has_no_gaps", of_lane(2, arrivals=[1]), "took 1, which is no delivery"),
    ("nothing_is_stale", late_delivery, "partition 2026-11-18"),
]


@pytest.mark.parametrize(("name", "fault", "said"), FAULTS)
def test_a_fault_in_a_lane_of_joins_is_found_and_told(tmp_path, name, fault, said):
    ledger = sound()
    fault(ledger)
    ledger.written(tmp_path / "lake")
    (checked,) = own_checks(sound_settings(tmp_path), LANE, names=[name])
    assert not checked.passed
    assert checked.counts["faults"] > 0
    assert any(said in sample for sample in checked.samples), checked.samples


@pytest.mark.fault(72)
def test_every_check_of_joins_has_a_fault_that_it_finds():
    assert {name for name, *_ in FAULTS} == set(NAMES)
    assert len(set(NAMES)) == len(NAMES)


def test_a_sound_lane_of_joins_passes_and_says_what_was_looked_at(tmp_path):
    sound().written(tmp_path / "lake")
    declared = sound_settings(tmp_path)
    made = own_checks(declared, LANE)
    assert [checked.name for checked in made] == NAMES
    assert failed(made) == []
    looked = {checked.name: checked.counts["rows"] for checked in made}
    assert looked["pairs_are_those_of_the_queries"] == 6  # every tuple that was taken
    assert looked["changes_alternate"] == looked["members_are_the_newest"] == 4
    (_, second) = chain_of(_store(declared), LANE).epochs
    of_last = own_checks(declared, LANE, [second])
    assert failed(of_last) == []
    looked = {checked.name: checked.counts["rows"] for checked in of_last}
    assert looked["pairs_are_those_of_the_queries"] == 2
    assert looked["members_are_the_newest"] == looked["changes_alternate"] == 2


def test_an_audit_reaches_back_to_what_the_other_feed_delivered_last(tmp_path, monkeypatch):
    monkeypatch.setattr("pipelines.checks.audits.pairs.STRETCH", 1)
    ledger = sound()
    lose("pairs", epoch=2)(ledger)
    lose("pairs", epoch=1)(ledger)  # of a tuple that is older than what is looked at
    ledger.written(tmp_path / "lake")
    (checked,) = own_checks(
        sound_settings(tmp_path), LANE, names=["pairs_are_those_of_the_queries"]
    )
    assert checked.counts == {"rows": 4, "faults": 1}


def test_what_no_feed_has_judged_yet_is_not_held_against_a_lane(tmp_path):
    ledger = sound()
    ledger.rows["epochs"] = [
        row for row in ledger.rows["epochs"] if (row["lane"], row["epoch"]) != ("bids", 2)
    ]
    ledger.rows["quarantine"] = []
    ledger.written(tmp_path / "lake")
    names = ["pairs_are_those_of_the_queries", "members_are_the_newest"]
    made = own_checks(sound_settings(tmp_path), LANE, names=names)
    assert failed(made) == []
    assert {checked.name: checked.counts["rows"] for checked in made} == {
        "pairs_are_those_of_the_queries": 4,
        "members_are_the_newest": 2,
    }


def _store(declared: Settings) -> Store:
    return Store.to_read(declared.root, declared.tables)


def advanced(folder: Path, story: JoinStory, way: JoinWay) -> Lake:
    """Play a story on a lake, of which the feeds have been evaluated too."""
    script = written(with_a_delivery(story.script), story.axes)
    lake = lake_of(folder, story.lateness, way, axes=story.axes, script=script)
    play(lake, script, way, story.rules)
    for feed in FEEDS:
        list(advance(lake, lake.lane(feed)))
    return lake


WAY = JoinWay(at_once=2, limits=Limits(epoch_deliveries=1, snapshot_every=3))


@settings(max_examples=FEW, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(judged_join_stories())
def test_whatever_two_feeds_do_the_checks_of_their_joins_hold(tmp_path_factory, story: JoinStory):
    checks_of_joins_hold(tmp_path_factory, story)


@pytest.mark.slow
@settings(max_examples=MANY, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(judged_join_stories())
def test_the_checks_of_joins_hold_in_many_stories(tmp_path_factory, story: JoinStory):
    checks_of_joins_hold(tmp_path_factory, story)


def checks_of_joins_hold(tmp_path_factory: pytest.TempPathFactory, story: JoinStory) -> None:
    """Play a story on a lake, and check it."""
    lake = advanced(tmp_path_factory.mktemp("lake"), story, WAY)
    assert failed(own_checks(lake.settings, LANE)) == []


@pytest.mark.parametrize("lateness", [(0, 0), (2_000_000, 1_000_000)])
def test_what_the_engine_made_of_a_long_story_passes(tmp_path, lateness):
    lake = advanced(tmp_path, long_story(5, lateness), WAY)
    made = own_checks(lake.settings, LANE)
    assert failed(made) == []
    looked = {checked.name: checked.counts["rows"] for checked in made}
    assert looked["pairs_are_those_of_the_queries"] >= 20
    assert looked["changes_alternate"] > 50
    assert looked["results_are_those_of_the_members"] > 10


# The command

TOML = """
[lake]
path = "lake"
{joins}
[feeds.bids]
axes = ["x"]
source = "in/bids"
[feeds.asks]
axes = ["x", "z"]
source = "in/asks"
"""


def asked(folder: Path, *arguments: str, joins: str = "") -> Any:
    """Run `fencepost check` on the project of a folder, the contracts aside."""
    (folder / "fencepost.toml").write_text(TOML.format(joins=joins))
    app = typer.Typer()
    app.command()(check)
    return CliRunner().invoke(app, [*arguments, "--no-contracts", "--config", str(folder)])


def test_joins_are_checked_behind_the_feeds_and_by_themselves(tmp_path):
    ledger = sound()
    lose("pairs", epoch=2)(ledger)
    ledger.written(tmp_path / "lake")
    said = asked(tmp_path, LANE)
    assert said.exit_code == 1
    assert f"✗ {LANE}/pairs" in said.stdout
    assert "epoch 2: paired 1 and 0 there" in said.stdout
    assert f"{len(NAMES) - 2} passed · 2 failed" in said.stdout
    told = json.loads(asked(tmp_path, "--json").stdout)
    lanes = list(dict.fromkeys(each["lane"] for each in told["checks"]))
    assert lanes == ["lake", "bids", "asks", LANE]


def test_a_declared_pair_that_no_query_joins_is_checked_and_passes(tmp_path):
    Ledger(AXES).written(tmp_path / "lake")
    said = asked(tmp_path, "bids~asks", joins='joins = ["bids~asks"]')
    assert said.exit_code == 0, said.output
    assert f"{len(NAMES)} passed · 0 failed" in said.stdout


def test_a_pair_that_nobody_joins_is_refused_in_words(tmp_path):
    sound().written(tmp_path / "lake")
    said = asked(tmp_path, "asks~bids")
    assert isinstance(said.exception, InputError)
    assert "unknown feed, or pair of feeds, 'asks~bids'; there are: bids, asks, bids~asks" in str(
        said.exception
    )


# Contracts


def test_every_promise_of_joins_can_be_broken(tmp_path):
    spoilt().written(tmp_path / "lake")
    found = contract_checks(sound_settings(tmp_path), LANE)
    promised = [(t, e.name) for t, c in contracts(LANE, AXES).items() for e in c.expectations]
    assert [(each.table, each.name) for each in found] == promised
    for each in found:
        assert not each.passed, each
        assert each.counts["faults"] == (2 if each.name.startswith("one_") else 1), each
        assert each.samples, each


def test_a_sound_lane_of_joins_keeps_its_contracts(tmp_path):
    sound().written(tmp_path / "lake")
    made = contract_checks(sound_settings(tmp_path), LANE)
    assert failed(made) == []
    looked = {each.table: each.counts["rows"] for each in made}
    assert looked == {"pairs": 2, "band_changes": 4, "near_changes": 2}


def test_what_the_engine_made_of_joins_keeps_their_contracts(tmp_path):
    lake = advanced(tmp_path, long_story(5), WAY)
    assert failed(contract_checks(lake.settings, LANE)) == []


def test_contracts_of_joins_speak_of_columns_that_there_are():
    tables = all_tables(axes_only(AXES))
    for name, contract in contracts(LANE, AXES).items():
        columns = {column.name for column in tables[name].columns}
        assert set(re.findall(r"\bt\.(\w+)", " ".join(contract.columns.values()))) <= columns
        assert 4 <= len({each.name for each in contract.expectations}) <= 8
