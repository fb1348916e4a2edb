"""How checks are told: by `fencepost check`, and to Dagster."""

import json
import re
from typing import Any

import dagster as dg
import pytest
import typer
from typer.testing import CliRunner

from assets.checks import checks
from assets.graph import key
from assets.metadata import NOTHING_IS_STALE, shows_partitions
from assets.resources import LakeAccess
from pipelines.checks import OWN
from pipelines.cli.commands.check import check
from pipelines.lanes import Lane, lane_named
from pipelines.project.settings import Settings
from schemas.expectations import contracts
from tests.support.lakes.sound_feed import AXES, sound, sound_settings, spoilt

TOML = """
[lake]
path = "lake"
[feeds.ticks]
axes = ["price"]
source = "landing"
"""


def asked(folder: Any, *arguments: str) -> Any:
    """Run the command on the project of a folder."""
    (folder / "fencepost.toml").write_text(TOML)
    app = typer.Typer()
    app.command()(check)
    return CliRunner().invoke(app, [*arguments, "--config", str(folder)])


def test_a_line_a_table_and_the_end_is_well_when_all_passed(tmp_path):
    sound().written(tmp_path / "lake")
    said = asked(tmp_path, "--no-contracts")
    assert said.exit_code == 0, said.output
    lines = said.stdout.splitlines()
    tables = dict.fromkeys(check.table or "ticks" for check in OWN)
    assert [line.split()[:2] for line in lines[: len(tables)]] == [
        ["✓", f"ticks/{table}"] for table in tables
    ]
    assert lines[len(tables) :] == ["", f"{1 + len(OWN)} passed · 0 failed"]


def test_what_has_not_changed_is_a_line_a_feed_and_says_so(tmp_path):
    sound().written(tmp_path / "lake")
    asked(tmp_path, "--no-contracts")
    line, _, last = asked(tmp_path, "--no-contracts").stdout.splitlines()
    assert re.fullmatch(
        rf"✓ ticks +{len(OWN)} passed, unchanged since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\dZ",
        line,
    )
    unchanged = f"{len(OWN)} unchanged (--again checks them)"
    assert last == f"{1 + len(OWN)} passed · 0 failed · {unchanged}"
    again = asked(tmp_path, "--no-contracts", "--again").stdout
    assert "unchanged" not in again


def test_verbose_prints_a_line_a_check(tmp_path):
    sound().written(tmp_path / "lake")
    said = asked(tmp_path, "--no-contracts", "-v")
    lines = said.stdout.splitlines()
    assert [line[0] for line in lines[: len(OWN)]] == ["✓"] * len(OWN)
    assert "files_are_whole" in lines[0]
    assert all(check.name in line for check, line in zip(OWN, lines[1:], strict=False))


def test_a_check_that_failed_says_on_what_and_ends_with_1(tmp_path):
    spoilt().written(tmp_path / "lake")
    said = asked(tmp_path, "ticks", "--no-contracts")
    assert said.exit_code == 1
    lines = said.stdout.splitlines()
    assert lines[0].startswith("✗ ticks/ticks")
    assert "1 failed" in lines[0]
    assert re.match("✗ ticks/ticks +deliveries_are_accounted_for", lines[1])
    assert "delivery 2 (ticks/2.csv)" in said.stdout
    assert "ledger_has_no_gaps" not in said.stdout


def test_contracts_are_held_too_and_all_of_it_is_told_as_json(tmp_path):
    sound().written(tmp_path / "lake")
    said = asked(tmp_path, "--json")
    assert said.exit_code == 0, said.output
    told = json.loads(said.stdout)
    promised = [each for c in contracts("ticks", AXES).values() for each in c.expectations]
    assert told["passed"]
    assert len(told["checks"]) == 1 + len(OWN) + len(promised)
    assert {each["lane"] for each in told["checks"]} == {"lake", "ticks"}
    assert (tmp_path / "reports" / "checks" / "index.html").is_file()


def evaluated(declared: Settings) -> dict[tuple[dg.AssetKey, str], Any]:
    """Have Dagster make every check, and give what it was told."""
    definitions = dg.Definitions(
        assets=[dg.AssetSpec(asset) for asset in _assets(declared)],
        asset_checks=checks(declared),
        resources={"lake": LakeAccess(declared)},
        jobs=[dg.define_asset_job("checks", dg.AssetSelection.all_asset_checks())],
        executor=dg.in_process_executor,
    )
    done = definitions.resolve_job_def("checks").execute_in_process(raise_on_error=False)
    return {(each.asset_key, each.check_name): each for each in done.get_asset_check_evaluations()}


def _lane(declared: Settings) -> Lane:
    (feed,) = declared.feeds
    return lane_named(declared, feed)


def _assets(declared: Settings) -> list[dg.AssetKey]:
    (feed,) = declared.feeds.values()
    return [key(feed, table) for table in contracts(feed.name, declared.axes)]


@pytest.mark.xdist_group("great-expectations")
def test_dagster_is_told_each_check_with_counts_severity_and_samples(tmp_path):
    spoilt().written(tmp_path / "lake")
    declared = sound_settings(tmp_path)
    told = evaluated(declared)
    own = {(check.table or "ticks", check.name) for check in OWN}
    promised = {(t, e.name) for t, c in contracts("ticks", AXES).items() for e in c.expectations}
    stale = {(asset.path[-1], NOTHING_IS_STALE) for asset in shows_partitions(_lane(declared))}
    assert {(asset.path[-1], name) for asset, name in told} == own | promised | stale
    found = told[dg.AssetKey(["ticks", "events"]), "type_is_known"]
    assert not found.passed
    assert found.severity == dg.AssetCheckSeverity.ERROR
    assert found.metadata["faults"].value == 1
    assert "X" in found.metadata["samples"].value
    docs = found.metadata["data_docs"]
    assert isinstance(docs, dg.UrlMetadataValue)
    assert docs.value.startswith("http://127.0.0.1:3001/checks/validations/")
    assert docs.value.endswith(".html")
    warned = told[dg.AssetKey(["ticks", "quarantine"]), "detail_says_why"]
    assert warned.severity == dg.AssetCheckSeverity.WARN


def test_what_would_spread_blocks_and_nothing_else(tmp_path):
    blocking = {
        spec.name
        for definition in checks(sound_settings(tmp_path))
        for spec in definition.check_specs
        if spec.blocking
    }
    assert blocking == {check.name for check in OWN if check.blocking}
    assert blocking == {
        "deliveries_are_accounted_for",
        "epochs_are_accounted_for",
        "crossings_alternate",
    }


def test_no_promise_has_the_name_of_a_check_of_ours_and_steps_are_few(tmp_path):
    declared = sound_settings(tmp_path)
    promised = {e.name for c in contracts("ticks", AXES).values() for e in c.expectations}
    assert not promised & {check.name for check in OWN}
    assert len(checks(declared)) == 3  # each is a process of Dagster's
    assert sum(len(list(each.check_keys)) for each in checks(declared)) > 45
