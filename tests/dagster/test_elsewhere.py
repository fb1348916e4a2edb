"""A run on another machine: Dagster starts a command, and learns from the ledgers what it did."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import dagster as dg
import duckdb
import pytest

from assets import graph
from pipelines import places
from pipelines.lanes import lane_named
from pipelines.places import Remote, place_of
from tests.dagster.project import Project, at, why_failed
from tests.support.commands.commands import REPOSITORY
from tests.support.lakes.on_disk import on_disk
from tests.support.stores.servers import S3

pytestmark = [pytest.mark.dagster, pytest.mark.filterwarnings("ignore:.*expected_writer_count")]


@pytest.fixture
def example(project: Project, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example, for this project; its command is this Python's."""
    monkeypatch.setenv("FENCEPOST_CONFIG", str(project.folder))
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    path = REPOSITORY / "examples" / "dagster_pipes.py"
    spec = importlib.util.spec_from_file_location("dagster_pipes", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.COMMAND[0:1] = [sys.executable, "-m", "fencepost"]
    return module


def test_what_a_command_elsewhere_has_evaluated_is_reported_by_the_ledger(
    project: Project, example: ModuleType
) -> None:
    project.land_all([at(0), at(1)])
    assert project.shown("ticks/events") == []
    job = example.defs.get_repository_def().get_job("run_elsewhere")
    assert job.execute_in_process(instance=project.instance).success
    for event in project.tick("ledger").asset_events:
        project.instance.report_runless_asset_event(event)
    assert project.shown("ticks/events") == [at(0), at(1)]


def test_a_run_elsewhere_that_fails_fails_the_op(project: Project, example: ModuleType) -> None:
    example.COMMAND[-1] = "--no-such-option"
    job = example.defs.get_repository_def().get_job("run_elsewhere")
    done = job.execute_in_process(instance=project.instance, raise_on_error=False)
    assert not done.success
    assert "External execution process failed with code 2" in why_failed(done, "run_there")


def test_a_table_is_named_where_another_machine_finds_it() -> None:
    assert graph.uri(Remote("s3://bucket", "lake") / "events") == "s3://bucket/lake/events"
    assert graph.uri(Path("/srv/lake/events")) == "file:///srv/lake/events"


def test_the_marts_bring_the_catalogs_up_to_date(project: Project) -> None:
    file = project.folder / "fencepost.toml"
    lake = '[lake]\npublish = ["duckdb:shop.duckdb"]'
    file.write_text(file.read_text().replace("[lake]", lake, 1))
    project.land(at(0))
    project.make(at(0))
    done = dg.materialize(
        [project.assets("marts_ticks")],
        instance=project.instance,
        resources={"lake": project.lake},
    )
    assert done.success
    with duckdb.connect(str(project.folder / "shop.duckdb"), read_only=True) as session:
        names = session.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal")
        assert {"events", "raw_events", "mart_visits"} <= {name for (name,) in names.fetchall()}


def test_a_lake_on_a_store_is_shown_from_any_machine(project: Project, moto_s3: S3) -> None:
    project.land_all([at(0), at(1)])
    project.by_command()
    lake = on_disk(project.settings.root)
    root = place_of(moto_s3.uri("lake"), lake)
    for file in (path for path in lake.rglob("*") if path.is_file()):
        places.replace(root / file.relative_to(lake).as_posix(), file.read_bytes())
    elsewhere = Project(project.folder)
    toml = project.folder / "fencepost.toml"
    toml.write_text(toml.read_text().replace('path = "lake"', f'path = "{root}"', 1))
    for event in elsewhere.tick("ledger").asset_events:
        elsewhere.instance.report_runless_asset_event(event)
    assert elsewhere.shown("ticks/events") == [at(0), at(1)]
    lane = lane_named(elsewhere.settings, "ticks")
    (spec,) = (s for s in graph.evaluated(elsewhere.settings, lane) if s.key.path[-1] == "events")
    assert spec.metadata["dagster/uri"] == f"{root}/events"
    assert elsewhere.job("run_now").success
    assert elsewhere.job("maintain").success
