"""The sensor `checks`: what was told without checks gets them, once, and not too often."""

import json
from typing import Any

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from assets.check_runs import OFTEN, TRIES
from assets.checks import checks
from tests.dagster.project import Project, at, hours

pytestmark = pytest.mark.dagster


def told_by_command(project: Project) -> None:
    """Evaluate what has landed by a command, and have the ledger tell Dagster of it."""
    project.by_command()
    for event in project.tick("ledger").asset_events:
        project.instance.report_runless_asset_event(event)


def execute(project: Project, wanted: list[dg.AssetCheckKey]) -> None:
    """Execute checks in a run of their own."""
    own = checks(project.settings)
    mine = [key for each in own for key in each.check_keys if key in wanted]
    made = [project.assets(f"{step}_of_ticks") for step in ("arrivals", "crossings")]
    done = dg.materialize(
        [*made, *own],
        selection=dg.AssetSelection.checks(*mine),
        instance=project.instance,
        resources={"lake": project.lake},
    )
    assert done.success


def later(cursor: str) -> str:
    """Put a cursor back by the time after which checks may be asked for again."""
    return json.dumps(
        {
            lane: {**said, "at": said["at"] - OFTEN.total_seconds() - 1}
            for lane, said in json.loads(cursor).items()
        }
    )


def requests(ticked: Any) -> list[dg.RunRequest]:
    return list(ticked.run_requests or [])


@pytest.fixture
def told(project: Project) -> Project:
    """Two hours of ticks, evaluated by a command and told."""
    project.land_all(hours(0, 1))
    told_by_command(project)
    return project


def test_what_a_command_evaluated_is_checked_once(told: Project) -> None:
    ticked = told.tick("checks")
    (request,) = requests(ticked)
    keys = list(request.asset_check_keys or [])
    of_ticks = {key for each in checks(told.settings) for key in each.check_keys}
    assert set(keys) == {key for key in of_ticks if key.asset_key.path[0] == "ticks"}
    execute(told, keys)
    again = told.tick("checks", later(ticked.cursor))
    assert requests(again) == []
    assert "is checked" in again.skip_message


def test_the_job_of_the_request_executes_checks_alone(told: Project) -> None:
    (request,) = requests(told.tick("checks"))
    job = told.definitions.resolve_job_def("check")
    (sensor,) = (
        each for each in told.definitions.get_repository_def().sensor_defs if each.name == "checks"
    )
    assert sensor.job_name == job.name
    wanted = frozenset(request.asset_check_keys or [])
    alone = job.get_subset(asset_selection=frozenset(), asset_check_selection=wanted)
    assert not alone.asset_layer.selected_asset_keys
    assert job.partitions_def is None


def test_what_a_run_of_dagsters_checked_is_not_checked_again(project: Project) -> None:
    project.land(at(0))
    own = [each for each in checks(project.settings) if "ticks_evaluated" in each.node_def.name]
    assets = [project.assets(f"{step}_of_ticks") for step in ("arrivals", "crossings")]
    done = dg.materialize(
        [*assets, *own],
        partition_key=at(0),
        instance=project.instance,
        resources={"lake": project.lake},
    )
    assert done.success
    assert requests(project.tick("checks")) == []


def test_a_lane_that_changes_all_the_time_is_checked_now_and_then(told: Project) -> None:
    ticked = told.tick("checks")
    told.land(at(2))
    told_by_command(told)
    assert requests(told.tick("checks", ticked.cursor)) == []
    (request,) = requests(told.tick("checks", later(ticked.cursor)))
    assert request.run_key != requests(ticked)[0].run_key


def test_checks_that_fail_to_run_are_asked_for_a_few_times(told: Project) -> None:
    cursor, keys = None, set()
    for _ in range(TRIES):
        ticked = told.tick("checks", cursor)
        (request,) = requests(ticked)
        keys.add(request.run_key)
        cursor = later(ticked.cursor)
    assert len(keys) == TRIES
    assert requests(told.tick("checks", cursor)) == []


def test_it_waits_for_runs_under_way(told: Project) -> None:
    create_run_for_test(told.instance, status=dg.DagsterRunStatus.STARTED)
    assert "in progress" in told.tick("checks").skip_message


def test_where_nothing_was_evaluated_nothing_is_checked(project: Project) -> None:
    assert requests(project.tick("checks")) == []
