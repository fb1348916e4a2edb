"""A lake in a catalog: what a DuckDB file shows of it, what Spark and Athena are given as SQL."""

# ruff: noqa: S608  SQL is what is tested

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
import typer
from typer.testing import CliRunner

from fencepost.errors import InputError, LakeError
from pipelines import places
from pipelines.cli.commands.publish import publish as command
from pipelines.cli.run_output import notes
from pipelines.places import place_of
from pipelines.project.settings.target import CatalogTarget, target_of
from pipelines.runs.run import run
from pipelines.serve import publish as publishing
from pipelines.serve.publish import duckdb_file, upkeep
from pipelines.serve.publish.contents import CatalogEntry, tables_alone
from pipelines.serve.views import relations, views
from pipelines.serve.views.duckdb import load_delta
from pipelines.serve.views.view import View
from pipelines.spark.runner import HereRunner
from tests.support.lakes.builder import land, new_lake, settings_of
from tests.support.lakes.ledger import AXES
from tests.support.lakes.mart_lake import TICKS, Town, in_order, refreshed, write_town


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    root: Path = tmp_path_factory.mktemp("written") / "lake"
    write_town(root)
    return root


@pytest.fixture
def town(written, tmp_path) -> Town:
    shutil.copytree(written, tmp_path / "lake")
    return Town(tmp_path / "lake")


def no_spark():
    raise AssertionError("Spark was started")


def to_file(town: Town, path: Path) -> tuple[int, int, int]:
    report = publishing.publish(town.settings, CatalogTarget("duckdb", str(path)), no_spark)
    return report.change.entries, report.change.changed, report.change.dropped


def as_user(path: Path, zone: str = "UTC") -> duckdb.DuckDBPyConnection:
    """A session of somebody who has DuckDB and its delta extension, and knows nothing of us."""
    session = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    load_delta(session)
    session.execute(f"SET TimeZone = '{zone}'")
    session.execute(f"ATTACH '{path}' AS shop (READ_ONLY)")
    return session


def shown(path: Path, view: str, feed: str, zone: str = "UTC") -> list[str]:
    with as_user(path, zone) as session:
        rows = session.execute(f"SELECT * FROM shop.{view} v WHERE v.feed = '{feed}'")
        return in_order(rows.to_arrow_table())


def names_in(path: Path) -> set[str]:
    with as_user(path) as session:
        named = "SELECT view_name FROM duckdb_views() WHERE database_name = 'shop'"
        return {name for (name,) in session.execute(named).fetchall()}


def test_a_file_shows_what_a_session_of_ours_shows_and_what_comes_later(town, tmp_path):
    path = tmp_path / "shop.duckdb"
    everything = len(relations(town.settings.tables))
    assert to_file(town, path) == (everything, everything, 0)
    compared = [("events", TICKS), ("visits", "locations"), ("inside_now", TICKS)]
    for view, feed in compared:
        assert shown(path, view, feed) == town.shows(view, feed)
    town.enter("late", 100_000)
    for view, feed in compared:
        assert shown(path, view, feed) == town.shows(view, feed)


def test_days_are_utc_in_a_session_of_any_zone(town, tmp_path):
    path = tmp_path / "shop.duckdb"
    to_file(town, path)
    days = []
    for zone in ("UTC", "Pacific/Kiritimati", "America/Los_Angeles"):
        with as_user(path, zone) as session:
            rows = "SELECT feed, day, query_id, visits_begun, visits_ended FROM shop.daily_summary"
            days.append(sorted(session.execute(rows).fetchall()))
    assert days[0] == days[1] == days[2]
    assert len(days[0]) == 4


def test_every_name_and_every_column_has_its_comment(town, tmp_path):
    path = tmp_path / "shop.duckdb"
    to_file(town, path)
    with duckdb.connect(str(path), read_only=True) as session:
        commented = dict(
            session.execute(
                "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal"
            ).fetchall()
        )
    declared = relations(town.settings.tables)
    assert commented == {name: relation.comment for name, relation in declared.items()}
    with as_user(path) as session:
        columns = session.execute(
            "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'visits'"
        ).fetchall()
    assert columns == [(c.name, c.comment) for c in declared["visits"].columns]


def test_publishing_again_changes_nothing_and_a_feed_that_is_gone_is_dropped(town, tmp_path):
    path = tmp_path / "shop.duckdb"
    entries = to_file(town, path)[0]
    before = path.read_bytes()
    assert to_file(town, path) == (entries, 0, 0)
    assert path.read_bytes() == before
    town.settings = replace(
        town.settings, feeds={name: f for name, f in town.settings.feeds.items() if name == TICKS}
    )
    left, changed, dropped = to_file(town, path)
    assert left == entries - dropped < entries
    assert 0 < changed < left  # general views have fewer columns
    assert not {"locations", "raw_locations", "locations_events"} & names_in(path)


def test_what_others_have_in_a_file_stays_and_their_names_are_refused(town, tmp_path):
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as session:
        session.execute("CREATE TABLE visits AS SELECT 1 AS mine")
    before = path.read_bytes()
    with pytest.raises(LakeError, match="already has visits, which this lake did not publish"):
        to_file(town, path)
    assert path.read_bytes() == before
    with duckdb.connect(str(path)) as session:
        session.execute("ALTER TABLE visits RENAME TO my_visits")
    to_file(town, path)
    target = CatalogTarget("duckdb", str(path))
    assert publishing.remove(town.settings, target, no_spark).change.dropped > len(AXES)
    assert names_in(path) == set()
    with duckdb.connect(str(path)) as session:
        assert session.execute("SELECT mine FROM my_visits").fetchall() == [(1,)]
        functions = "SELECT function_name FROM duckdb_functions() WHERE NOT internal"
        assert session.execute(functions).fetchall() == []
    assert town.shows("events", TICKS)
    assert publishing.remove(town.settings, target, no_spark).change.dropped == 0


def test_a_mart_that_was_written_is_in_the_file(town, tmp_path):
    path = tmp_path / "shop.duckdb"
    to_file(town, path)
    refreshed(town)
    assert to_file(town, path)[1:] == (3, 0)
    with as_user(path) as session:
        columns = [c.name for c in relations(town.settings.tables)["visits"].columns]
        rows = [
            session.execute(f"SELECT {', '.join(columns)} FROM shop.{name}").fetchall()
            for name in ("visits", "mart_visits")
        ]
    assert sorted(map(repr, rows[0])) == sorted(map(repr, rows[1])) != []


def test_a_file_that_another_process_has_open_fails_in_words_and_fails_no_run(town, tmp_path):
    path = tmp_path / "shop.duckdb"
    busy = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", busy, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(LakeError, match="If another program has it open, close it there"):
            to_file(town, path)
        town.settings = replace(town.settings, publish=(CatalogTarget("duckdb", str(path)),))
        (line,) = upkeep.keep_up(town.settings, [], no_spark)
        assert line.startswith(f"duckdb:{path} is not up to date: DuckDB cannot open")
        other.communicate("\n")


def test_a_run_looks_at_no_catalog_where_nothing_has_changed(town, tmp_path, monkeypatch):
    path = tmp_path / "shop.duckdb"
    town.settings = replace(town.settings, publish=(CatalogTarget("duckdb", str(path)),))
    assert [*upkeep.keep_up(town.settings, [TICKS], no_spark)] == []
    assert "inside_now" in names_in(path)
    monkeypatch.setattr(upkeep, "publish", lambda *_: pytest.fail("it looked at the catalog"))
    assert [*upkeep.keep_up(town.settings, [TICKS], no_spark)] == []


def test_tables_alone_have_plain_names_where_they_are_true_and_marts_stand_for_views(town):
    named = {entry.name: entry for entry in tables_alone(town.settings)}
    assert not any(entry.sql for entry in named.values())
    assert {"events", "transitions", "matches", "quarantine", "pairs", TICKS} < named.keys()
    assert {"raw_epochs", "raw_arrivals", "raw_stream_state"} < named.keys()
    assert {n: named[n].folder for n in ("events", "inside_now", "raw_epochs")} == {
        "events": "events",
        "inside_now": "marts/inside_now",
        "raw_epochs": "epochs",
    }
    by_view = {view.name: view for view in views(town.settings.tables)}
    for name in ("events", "transitions", "inside_now", "visits", TICKS):
        assert columns_of(named[name]) >= columns_of(by_view[name])


def columns_of(entry: CatalogEntry | View) -> set[tuple[str, str]]:
    return {(column.name, column.kind) for column in entry.columns}


def test_athena_gets_a_statement_a_table_of_a_lake_on_s3_and_of_no_other(town):
    target = target_of("athena:shop")
    with pytest.raises(InputError, match="Athena reads from S3 alone"):
        publishing.sql_of(town.settings, target)
    entries = tables_alone(town.settings)
    statements = [*publishing.athena.statements("shop", "s3://bucket/lake", entries)]
    assert statements[0] == "CREATE DATABASE IF NOT EXISTS shop"
    assert (
        "CREATE EXTERNAL TABLE IF NOT EXISTS shop.visits LOCATION "
        "'s3://bucket/lake/marts/visits/' TBLPROPERTIES ('table_type' = 'DELTA')"
    ) in statements
    with pytest.raises(InputError, match="--sql prints them"):
        publishing.publish(town.settings, target, no_spark)


@pytest.mark.parametrize(
    ("given", "is_"),
    [
        ("shop.duckdb", "duckdb:shop.duckdb"),
        ("duckdb:/a/b", "duckdb:/a/b"),
        ("spark:shop", "spark:shop"),
        ("spark:main.shop", "spark:main.shop"),
        ("hive:shop", "hive:shop"),
    ],
)
def test_a_target_is_read_as_it_is_written(given, is_):
    assert str(target_of(given)) == is_


@pytest.mark.parametrize(
    "given", ["", "shop", "spark:", "hive:a.b", "spark:a.b.c", "spark:x;y", "duckdb:", "mysql:x", 3]
)
def test_anything_else_is_no_target(given):
    with pytest.raises(ValueError, match=r"no place to publish to|a text was expected"):
        target_of(given)


def project(town: Town, tmp_path: Path) -> Path:
    file = tmp_path / "fencepost.toml"
    feeds = "\n".join(
        f'[feeds.{name}]\naxes = {json.dumps(feed.axes)}\nsource = "landing/{name}"'
        for name, feed in town.settings.feeds.items()
    )
    file.write_text(f'[lake]\npath = "lake"\npublish = ["duckdb:out/shop.duckdb"]\n{feeds}\n')
    return file


def called(*arguments: str):
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, arguments)


def test_the_command_publishes_where_the_settings_say_and_reports_it(town, tmp_path):
    file = str(project(town, tmp_path))
    first = called("--config", file, "--json")
    (said,) = json.loads(first.stdout)["published"]
    many = len(relations(town.settings.tables))
    path = tmp_path / "out" / "shop.duckdb"
    assert said == {
        "target": f"duckdb:{path}",
        "entries": many,
        "changed": many,
        "dropped": 0,
        "seconds": said["seconds"],
    }
    again = called("--config", file)
    assert f"{many} entries  unchanged" in again.stdout
    gone = called("--config", file, "--remove")
    assert f"{many} dropped" in gone.stdout
    assert called("--config", file, "mysql:shop").exit_code == 2


def test_the_command_prints_sparks_statements_without_spark(town, tmp_path):
    file = str(project(town, tmp_path))
    said = called("--config", file, "--sql", "spark:main.shop").stdout
    assert said.startswith("CREATE SCHEMA IF NOT EXISTS main.shop COMMENT")
    assert "\nUSE main.shop;\n" in said
    assert said.count("\nCREATE OR REPLACE VIEW") == len(views(town.settings.tables))
    place = f"LOCATION '{town.settings.root}/events';"
    assert f"CREATE TABLE IF NOT EXISTS `raw_events` USING delta {place}" in said
    assert "query\\'s end" in said
    removal = called("--config", file, "--sql", "--remove", "hive:shop").stdout
    assert "DROP TABLE IF EXISTS shop.`inside_now`;" in removal


def test_a_feed_that_no_run_has_seen_is_refused_in_words(town, tmp_path):
    note = json.loads((town.settings.root / "_fencepost.json").read_text())
    del note["ids"]["locations"], note["check"]
    (town.settings.root / "_fencepost.json").write_text(json.dumps(note))
    with pytest.raises(LakeError, match="no table yet for locations: `fencepost run` creates it"):
        to_file(town, tmp_path / "shop.duckdb")


def test_a_file_shows_a_lake_on_a_store_and_keeps_no_credential(town, tmp_path, moto_s3):
    path = tmp_path / "shop.duckdb"
    expected = town.shows("events", TICKS)
    root = place_of(moto_s3.uri("lake"), tmp_path)
    for file in town.settings.root.rglob("*"):
        if file.is_file():
            place = root / file.relative_to(town.settings.root).as_posix()
            places.replace(place, file.read_bytes())
    town.settings = replace(town.settings, root=root)
    target = CatalogTarget("duckdb", str(path))
    assert publishing.publish(town.settings, target, no_spark).change.changed > len(AXES)
    assert publishing.publish(town.settings, target, no_spark).change.changed == 0
    with as_user(path) as session:
        duckdb_file.reach(session, root)
        rows = session.execute(f"SELECT * FROM shop.events v WHERE v.feed = '{TICKS}'")
        assert in_order(rows.to_arrow_table()) == expected
    assert moto_s3.environment()["AWS_SECRET_ACCESS_KEY"].encode() not in path.read_bytes()


def test_a_run_publishes_and_reports_what_is_not_up_to_date(tmp_path):
    path = tmp_path / "shop.duckdb"
    targets = (CatalogTarget("duckdb", str(path)), CatalogTarget("duckdb", str(tmp_path)))
    settings = settings_of(tmp_path, {"ticks": ("price",)}, publish=targets)
    new_lake(settings)
    land(settings.feeds["ticks"], "a.csv", "stream_id,ts,price\na,2026-01-05T00:00:00Z,1\n", 1)
    report = run(settings, HereRunner(), patient=False)
    (line,) = report.unpublished
    assert line.startswith(f"duckdb:{tmp_path} is not up to date: DuckDB cannot open {tmp_path}")
    assert [*notes(report)][-1] == f"note: {line}"
    with as_user(path) as session:
        assert session.execute("SELECT stream_id, price FROM shop.ticks").fetchall() == [("a", 1)]
