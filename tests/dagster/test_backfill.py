"""A day backfilled by the daemon's own steps: as few runs as there can be, and in order."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.execution.api import execute_run
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.test_utils import create_test_daemon_workspace_context
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import InProcessWorkspaceLoadTarget
from dagster._daemon.backfill import execute_backfill_iteration
from dagster._time import get_current_timestamp
from dagster._utils.hosted_user_process import recon_job_from_origin

from assets.partitions import RANGE
from tests.dagster.project import EVALUATED, Project, hours

pytestmark = [
    pytest.mark.dagster,
    pytest.mark.filterwarnings(  # Dagster's own, when it describes a project to its daemon
        r"ignore:Property `ScheduleDefinition\.environment_vars` is deprecated:DeprecationWarning",
        r"ignore:Function `AssetSelection\.sources` is deprecated:DeprecationWarning",
    ),
]

LOG = logging.getLogger("backfill")
MADE = [dg.AssetKey(["ticks", name]) for name in ("ticks", "quarantine", *EVALUATED)]


@pytest.fixture
def daemon(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[WorkspaceProcessContext]:
    """What a daemon has before it: the project as it is loaded, and a history in files."""
    monkeypatch.setenv("FENCEPOST_CONFIG", str(project.folder / "fencepost.toml"))
    (tmp_path / "history").mkdir()
    target = LoadableTargetOrigin(executable_path=sys.executable, module_name="assets.definitions")
    launcher = {"module": "dagster._core.test_utils", "class": "MockedRunLauncher"}
    with (
        dg.instance_for_test(
            {"run_launcher": launcher},
            temp_dir=str(tmp_path / "history"),
            synchronous_run_coordinator=True,
        ) as instance,
        create_test_daemon_workspace_context(
            InProcessWorkspaceLoadTarget(InProcessCodeLocationOrigin(target)), instance
        ) as context,
    ):
        project.instance = instance
        yield context


def launched(context: WorkspaceProcessContext) -> list[dg.DagsterRun]:
    """Let the daemon look once; give the runs that it has launched since and nobody has begun."""
    assert not [fault for fault in execute_backfill_iteration(context, LOG) if fault]
    wanted = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTING])
    return list(context.instance.get_runs(wanted))


def of_job(context: WorkspaceProcessContext, job: str, keys: list[str]) -> PartitionBackfill:
    """Ask for partitions of a job."""
    (location,) = context.create_request_context().code_locations
    (repository,) = location.get_repositories().values()
    found = [each for each in repository.get_partition_sets() if each.job_name == job]
    return PartitionBackfill(
        backfill_id="of-job",
        partition_set_origin=found[0].get_remote_origin(),
        status=BulkActionStatus.REQUESTED,
        partition_names=keys,
        from_failure=False,
        reexecution_steps=None,
        tags={},
        backfill_timestamp=get_current_timestamp(),
    )


def of_assets(context: WorkspaceProcessContext, keys: list[str]) -> PartitionBackfill:
    """Ask for partitions of all that a feed makes."""
    return PartitionBackfill.from_asset_partitions(
        backfill_id="of-assets",
        asset_graph=context.create_request_context().asset_graph,
        partition_names=keys,
        asset_selection=MADE,
        backfill_timestamp=get_current_timestamp(),
        tags={},
        dynamic_partitions_store=context.instance,
        all_partitions=False,
        title=None,
        description=None,
        run_config=None,
    )


def covers(run: dg.DagsterRun) -> tuple[str, ...]:
    """The first and the last partition of a run."""
    return tuple(run.tags[name] for name in RANGE)


@pytest.mark.fault(25)
def test_a_day_of_24_partitions_of_a_feeds_job_is_one_run(daemon: WorkspaceProcessContext) -> None:
    keys = hours(0, 23)
    daemon.instance.add_backfill(of_job(daemon, "evaluate_ticks", keys))
    (run,) = launched(daemon)
    assert run.job_name == "evaluate_ticks"
    assert covers(run) == (keys[0], keys[-1])
    assert run.run_config == {}
    assert launched(daemon) == [run]


@pytest.mark.slow
def test_a_day_of_24_partitions_of_all_assets_is_one_run_a_step(
    project: Project, daemon: WorkspaceProcessContext
) -> None:
    """Dagster lets an asset that depends on itself share a run with none that it reads."""
    keys = hours(0, 23)
    project.land_all(keys)
    daemon.instance.add_backfill(of_assets(daemon, keys))
    for step in MADE[:2], MADE[2:]:
        (run,) = launched(daemon)
        assert run.asset_selection == set(step)
        assert covers(run) == (keys[0], keys[-1])
        assert run.job_code_origin is not None
        execute_run(recon_job_from_origin(run.job_code_origin), run, daemon.instance)
    assert launched(daemon) == []
    done = daemon.instance.get_backfill("of-assets")
    assert done is not None
    assert done.status == BulkActionStatus.COMPLETED_SUCCESS
    for asset in MADE:
        assert project.shown(asset.to_user_string()) == keys
    assert [len(account.epochs) for account in project.accounts().values()] == [1] * 24
