"""A delivery that cannot be read is red in Dagster until it is answered, whoever took it in."""

from typing import Any

import dagster as dg
import pytest

from pipelines.ingest.refusals import dismiss
from pipelines.lake.store import Store
from tests.dagster.project import Project, at, hours

pytestmark = pytest.mark.dagster
CHECK = dg.AssetCheckKey(dg.AssetKey(["ticks", "ticks"]), "deliveries_were_readable")


def spoil(project: Project, hour: int) -> None:
    """Let a file land that has the wrong header."""
    path = project.land(at(hour), "-bad")
    path.write_text("stream,when\na,b\n")


def shown(project: Project) -> dg.AssetCheckEvaluation | None:
    """What Dagster shows of the check."""
    storage = project.instance.event_log_storage
    record = storage.get_latest_asset_check_execution_by_key([CHECK]).get(CHECK)
    return None if record is None else record.evaluation


def ticked(project: Project, cursor: str | None = None) -> tuple[list[Any], str | None]:
    """Let the sensor tick, keep what it tells, and give what it tells of the check."""
    tick = project.tick("ledger", cursor)
    for event in tick.asset_events or []:
        project.instance.report_runless_asset_event(event)
    told = [e for e in tick.asset_events or [] if getattr(e, "check_name", "") == CHECK.name]
    return told, tick.cursor


def dismissed(project: Project) -> None:
    """Dismiss it by a command."""
    store = Store.open(project.settings.root, project.settings.tables)
    dismiss(store, [f"ticks/{at(1)}-bad.csv"], "a test", 0)


def test_a_run_with_a_refused_delivery_succeeds_keeps_the_rest_and_is_not_green(
    project: Project,
) -> None:
    project.land_all(hours(0, 1))
    spoil(project, 1)
    result = project.job("evaluate_ticks", partition_key=at(1))
    assert result.success
    assert project.shown("ticks/events") == hours(0, 1)
    evaluation = shown(project)
    assert evaluation is not None
    assert not evaluation.passed
    assert evaluation.severity is dg.AssetCheckSeverity.ERROR
    assert not evaluation.blocking
    said = [value.value for value in evaluation.metadata.values()]
    assert any("no column 'stream_id'" in str(value) for value in said)


def test_what_a_command_refused_is_told_once_and_told_again_when_it_is_dismissed(
    project: Project,
) -> None:
    project.land(at(0))
    told, cursor = ticked(project)
    assert told == []
    spoil(project, 1)
    project.by_command()
    (red,), cursor = ticked(project, cursor)
    assert not red.passed
    assert "1 refused delivery unanswered" in red.description
    assert ticked(project)[0] == []  # a restart that forgot its cursor
    dismissed(project)
    (green,), cursor = ticked(project, cursor)
    assert green.passed
    assert ticked(project)[0] == []


def test_run_now_shows_it_without_the_sensor(project: Project) -> None:
    spoil(project, 1)
    assert project.job("run_now").success
    evaluation = shown(project)
    assert evaluation is not None
    assert not evaluation.passed
    dismissed(project)
    project.job("run_now")
    evaluation = shown(project)
    assert evaluation is not None
    assert evaluation.passed
