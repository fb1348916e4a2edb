"""The marts: what they hold, and what is said of them."""

# ruff: noqa: S608  SQL is what is tested

import json
import shutil
from dataclasses import replace
from pathlib import Path
from unittest import mock

import polars as pl
import pyarrow as pa
import pytest
import typer
from deltalake import DeltaTable, write_deltalake
from typer.testing import CliRunner

from fencepost.errors import InputError, LakeError
from pipelines.cli.commands.marts import marts as command
from pipelines.lake.create import make_table
from pipelines.project.settings import Feed, Settings
from pipelines.serve.marts import folder_of, refresh
from pipelines.serve.views import views
from pipelines.serve.views.duckdb import duckdb_session
from schemas.marts import MARTS
from tests.support.lakes.ledger import AXES, Ledger
from tests.support.lakes.mart_lake import TICKS, TOWN, Town, in_order, refreshed, write_town
from tests.support.lakes.on_disk import on_disk


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    root: Path = tmp_path_factory.mktemp("written") / "lake"
    write_town(root)
    return root


@pytest.fixture
def town(written, tmp_path) -> Town:
    shutil.copytree(written, tmp_path / "lake")
    return Town(tmp_path / "lake")


def test_a_mart_holds_what_its_view_shows_and_reports_it(town):
    reports = refreshed(town)
    assert town.agree()
    assert [(r.name, r.feed, r.rows, r.changed) for r in reports] == [
        ("inside_now", TICKS, 1, True),
        ("visits", TICKS, 3, True),
        ("daily_summary", TICKS, 2, True),
        ("inside_now", TOWN, 1, True),
        ("visits", TOWN, 2, True),
        ("daily_summary", TOWN, 2, True),
    ]
    for report in reports:
        assert report.path == town.settings.root / "marts" / report.name


def test_duckdb_and_polars_read_a_mart_without_us(town):
    refreshed(town)
    session = duckdb_session(town.settings.root, town.settings.tables)
    for mart, table in MARTS.items():
        folder = folder_of(town.settings.root, mart)
        expected = sorted(town.shows(mart, TICKS) + town.shows(mart, TOWN))
        found = session.execute(f"SELECT * FROM delta_scan('{folder}')").to_arrow_table()
        assert in_order(found, table.arrow) == expected, mart
        assert in_order(pl.read_delta(str(folder)).to_arrow(), table.arrow) == expected, mart
    session.close()


def test_a_mart_is_declared_as_its_view_is(town):
    refreshed(town, TICKS)
    for view in (view for view in views(town.settings.tables) if view.name in MARTS):
        delta = DeltaTable(str(folder_of(town.settings.root, view.name)))
        fields = delta.schema().fields
        assert [(f.name, f.metadata["comment"], f.nullable) for f in fields] == [
            (c.name, c.comment, c.nullable) for c in view.columns
        ]
        assert delta.metadata().description == view.comment
        assert delta.protocol().min_reader_version == 1


def test_a_refresh_that_finds_nothing_new_leaves_no_trace(town):
    refreshed(town)
    before = {path: path.stat().st_mtime_ns for path in town.settings.root.rglob("*")}
    assert not any(report.changed for report in refreshed(town))
    after = {path: path.stat().st_mtime_ns for path in town.settings.root.rglob("*")}
    assert {path: at for path, at in after.items() if path.is_file()} == {
        path: at for path, at in before.items() if path.is_file()
    }


def test_only_what_has_changed_is_written(town):
    refreshed(town)
    town.enter("c", 100, 110)
    changed = {(r.name, r.feed) for r in refreshed(town) if r.changed}
    assert changed == {("visits", TICKS), ("daily_summary", TICKS)}
    assert town.agree()


def test_as_many_other_rows_are_a_change(town):
    refreshed(town, TICKS)
    more = Ledger()
    more.event("O", "q", "a", 50)
    town.happen(more)
    town.enter("z", 60)
    (report,) = refresh(town.settings, TICKS, ["inside_now"])
    assert (report.rows, report.changed) == (1, True)
    assert town.holds("inside_now", TICKS) == town.shows("inside_now", TICKS)


def test_rows_that_a_view_shows_no_longer_go_and_no_file_is_left_in_force(town):
    refreshed(town)
    more = Ledger()
    more.event("O", "q", "a", 50)
    town.happen(more)
    (report,) = refresh(town.settings, TICKS, ["inside_now"])
    assert (report.rows, report.changed) == (0, True)
    assert town.holds("inside_now", TICKS) == []
    assert len(town.holds("inside_now", TOWN)) == 1
    assert not refresh(town.settings, TICKS, ["inside_now"])[0].changed


def test_a_lake_in_which_nothing_happened_has_empty_marts(tmp_path):
    ledger = Ledger()
    ledger.written(tmp_path / "lake")
    settings = Settings(None, tmp_path / "lake", {TICKS: Feed(TICKS, AXES[TICKS], tmp_path / "l")})
    assert [(r.rows, r.changed) for r in refresh(settings, TICKS)] == [(0, False)] * len(MARTS)
    assert DeltaTable(str(folder_of(settings.root, "visits"))).to_pyarrow_table().num_rows == 0


def test_many_rows_lie_in_several_files_and_are_the_same_rows(town):
    for k in range(40):
        town.enter(f"s{k}", 1000 + k, 2000 + k)
    with (
        mock.patch("pipelines.serve.marts.write.FILE_ROWS", 10),
        mock.patch("pipelines.serve.marts.content.BATCH", 4),
    ):
        refreshed(town)
        assert town.agree()
        assert not any(report.changed for report in refreshed(town))
    visits = DeltaTable(str(folder_of(town.settings.root, "visits")))
    assert len(visits.file_uris()) > 3
    assert not any(report.changed for report in refreshed(town))


def test_what_is_not_there_is_refused_in_words_and_nothing_is_made(town, tmp_path):
    with pytest.raises(InputError, match=r"unknown feed 'tick'.*ticks, locations.*mean 'ticks'"):
        refresh(town.settings, "tick")
    with pytest.raises(InputError, match=r"unknown mart 'visit'.*Did you mean 'visits'"):
        refresh(town.settings, TICKS, ["visit"])
    nowhere = Settings(None, tmp_path / "nowhere", town.settings.feeds)
    with pytest.raises(LakeError, match="there is no lake"):
        refresh(nowhere, TICKS)
    assert not nowhere.root.exists()


def test_a_mart_of_an_older_version_gets_the_columns_that_it_lacks(town):
    now = MARTS["visits"]
    older = replace(now, columns=tuple(c for c in now.columns if not c.name.endswith("_place")))
    folder = on_disk(folder_of(town.settings.root, "visits"))
    refreshed(town)
    rows = DeltaTable(str(folder)).to_pyarrow_table().select(older.arrow.names)
    shutil.rmtree(folder)
    make_table(folder, older)
    write_deltalake(str(folder), rows, mode="append")
    assert len(DeltaTable(str(folder)).schema().fields) == len(now.columns) - 2
    reports = [r for r in refreshed(town) if r.name == "visits"]
    assert [r.changed for r in reports] == [True, True]
    assert town.agree()


def test_a_folder_that_is_somebody_else_s_is_left_alone(town):
    visits = folder_of(town.settings.root, "visits")
    other = pa.table({"feed": ["ticks"], "n": [1]})
    pl.from_arrow(other).write_delta(str(visits))  # type: ignore[union-attr]
    make_table(town.settings.root / "marts" / "x", MARTS["visits"])  # and no mart of ours
    with pytest.raises(
        LakeError, match=r"has the columns feed, n, where feed, query_id.* expected"
    ):
        refresh(town.settings, TICKS, ["visits"])
    assert DeltaTable(str(visits)).to_pyarrow_table().num_rows == 1
    make_table(town.settings.root / "marts", MARTS["visits"])
    with pytest.raises(LakeError, match="has a feed 'marts'"):
        refresh(town.settings, TICKS, ["inside_now"])


@pytest.mark.usefixtures("town")
def test_the_command_says_what_became_of_each_mart(tmp_path):
    (tmp_path / "fencepost.toml").write_text(
        '[feeds.ticks]\naxes = ["price", "volume"]\nsource = "landing/ticks"\n'
        '[feeds.locations]\naxes = ["x", "y", "speed"]\nsource = "landing/town"\n'
    )
    app = typer.Typer()
    app.command()(command)
    first = CliRunner().invoke(app, ["--config", str(tmp_path)])
    assert first.exit_code == 0, first.output
    assert len(first.stdout.splitlines()) == 6
    assert "visits" in first.stdout
    assert "3 rows" in first.stdout
    assert first.stdout.count("(all rows: there were none)") == 6
    again = CliRunner().invoke(app, ["ticks", "--config", str(tmp_path)])
    assert all("unchanged" in line for line in again.stdout.splitlines())
    assert all(line.endswith("(nothing new)") for line in again.stdout.splitlines())
    told = CliRunner().invoke(app, ["ticks", "--json", "--config", str(tmp_path)])
    assert [row["rows"] for row in json.loads(told.stdout)["marts"]] == [1, 3, 2]
