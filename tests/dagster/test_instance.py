"""dagster.yaml, ours and that of a new project: what Dagster says, keeps and forgets."""

import contextlib
from collections.abc import Iterator

import dagster as dg
import pytest
from dagster._core.instance.ref import InstanceRef

from pipelines.project.templates import content
from tests.dagster.project import Project, at
from tests.support.commands.commands import REPOSITORY

pytestmark = pytest.mark.dagster

KEPT = {"STARTED": 1, "SKIPPED": 1, "SUCCESS": 30, "FAILURE": 90}


@pytest.fixture
def on_disk(project: Project) -> Iterator[Project]:
    """A project whose history is kept as its dagster.yaml says."""
    with contextlib.chdir(project.folder):
        ref = InstanceRef.from_dir(".dagster", config_dir=".")
        with dg.DagsterInstance.from_ref(ref) as instance:
            project.instance = instance
            yield project


def test_the_repository_has_what_a_new_project_gets() -> None:
    for name in ("dagster.yaml", "workspace.yaml"):
        assert (REPOSITORY / name).read_text() == content(name)


def test_a_run_says_no_debug_lines_and_keeps_all_its_events(
    on_disk: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    on_disk.land(at(0))
    done = on_disk.make(at(0))
    said = capfd.readouterr().err
    assert " - DEBUG - " not in said
    assert " - INFO - " in said
    kinds = {
        entry.dagster_event.event_type_value
        for entry in on_disk.instance.all_logs(done.run_id)
        if entry.dagster_event
    }
    assert {"STEP_START", "STEP_SUCCESS", "ASSET_MATERIALIZATION", "PIPELINE_SUCCESS"} <= kinds
    assert on_disk.shown("ticks/events") == [at(0)]


@pytest.mark.parametrize("kind", ["SCHEDULE", "SENSOR", "AUTO_MATERIALIZE"])
def test_ticks_are_forgotten_in_time(on_disk: Project, kind: str) -> None:
    from dagster._core.definitions.run_request import InstigatorType

    days = on_disk.instance.get_tick_retention_settings(InstigatorType[kind])
    assert {status.value: many for status, many in days.items()} == KEPT
