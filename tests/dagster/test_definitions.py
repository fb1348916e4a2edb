"""What Dagster loads: quickly, without anything heavy, and with nothing that a run could bend.

Law: whatever a run is given, it works on the lake of fencepost.toml, and one writer at a time.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster import BackfillPolicy

from assets.partitions import partitions_of
from pipelines.project.settings import load
from tests.dagster.project import TOML, Project
from tests.support.commands.commands import REPOSITORY, fencepost

pytestmark = pytest.mark.dagster

WRITERS = {
    "queries",
    "arrivals_of_ticks",
    "crossings_of_ticks",
    "arrivals_of_locations",
    "crossings_of_locations",
    "load_and_evaluate",
    "evaluate_stale",
    "compact",
}
LOADING = """
import sys, time, warnings
import dagster
warnings.simplefilter("error")
began = time.process_time()
from assets.definitions import defs
dagster.Definitions.validate_loadable(defs())
spent = time.process_time() - began
heavy = {"pyspark", "great_expectations", "matplotlib", "numba"} & set(sys.modules)
print(round(spent, 2), sorted(heavy))
"""


def ops(project: Project) -> Iterator[dg.OpDefinition]:
    """Every step of every job."""
    for job in project.definitions.resolve_all_job_defs():
        for node in job.all_node_defs:
            assert isinstance(node, dg.OpDefinition)
            yield node


def test_a_project_loads(project: Project) -> None:
    dg.Definitions.validate_loadable(project.definitions)


def in_a_process(project: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own, in a project's folder."""
    return subprocess.run(
        [sys.executable, *argv],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "FENCEPOST_CONFIG": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_fresh_process_loads_it_in_less_than_five_seconds_and_nothing_heavy(
    project: Project,
) -> None:
    done = in_a_process(project.folder, "-c", LOADING)
    assert done.returncode == 0, done.stderr
    spent, _, heavy = done.stdout.strip().splitlines()[-1].partition(" ")
    assert heavy == "[]"
    assert float(spent) < 5


def test_what_init_makes_is_what_dagster_validates(tmp_path: Path) -> None:
    made = fencepost("init", tmp_path / "made")
    assert made.code == 0, made.err
    argv = ("-m", "dagster", "definitions", "validate", "-w", "workspace.yaml")
    done = in_a_process(tmp_path / "made", *argv)
    assert done.returncode == 0, done.stderr
    assert "Validation successful" in done.stdout + done.stderr


@pytest.mark.fault(20)
def test_whatever_writes_to_the_lake_is_in_its_pool_and_tried_again(project: Project) -> None:
    found = {op.name: op for op in ops(project)}
    assert {name for name, op in found.items() if op.pool == "lake"} == WRITERS
    assert {name for name, op in found.items() if op.retry_policy} == WRITERS
    for name in WRITERS:
        policy = found[name].retry_policy
        assert policy is not None
        assert (policy.max_retries, policy.backoff) == (2, dg.Backoff.EXPONENTIAL)


def test_a_run_can_be_told_to_evaluate_again_and_nothing_else(project: Project) -> None:
    for op in ops(project):
        fields = op.config_schema.config_type.fields  # type: ignore[union-attr]
        said = {name: field.config_type.given_name for name, field in fields.items()}
        if op.name.startswith("crossings_of"):
            assert list(said) == ["again"]
            assert "Bool" in fields["again"].config_type.key
        else:
            assert said == {}, op.name


@pytest.mark.fault(65)
def test_no_resource_can_be_told_anything_by_a_run(project: Project) -> None:
    for job in project.definitions.resolve_all_job_defs():
        for name, resource in job.resource_defs.items():
            fields = resource.config_schema.config_type.fields  # type: ignore[union-attr]
            assert fields == {}, (job.name, name)


@pytest.mark.parametrize(
    "config",
    [
        {"ops": {"crossings_of_ticks": {"config": {"path": "/etc"}}}},
        {"ops": {"arrivals_of_ticks": {"config": {"source": "/etc"}}}},
        {"resources": {"lake": {"config": {"root": "/etc"}}}},
        {"resources": {"io_manager": {"config": {"base_dir": "/etc"}}}},
    ],
)
@pytest.mark.fault(65)
def test_a_run_that_is_told_where_to_look_is_refused(
    project: Project, config: dict[str, object]
) -> None:
    with pytest.raises(dg.DagsterInvalidConfigError):
        project.job("evaluate_ticks", partition_key="2026-01-05T00", run_config=config)


def test_a_range_of_partitions_is_one_run_for_both_steps_of_a_feed(project: Project) -> None:
    for feed in project.settings.feeds:
        for step in ("arrivals_of", "crossings_of"):
            assets = project.assets(f"{step}_{feed}")
            assert assets.backfill_policy == BackfillPolicy.single_run()


def test_one_process_does_a_run(project: Project) -> None:
    executors = {job.executor_def.name for job in project.definitions.resolve_all_job_defs()}
    assert executors == {"in_process"}


@pytest.mark.fault(62)
def test_nothing_is_handed_from_asset_to_asset_but_the_lake(project: Project) -> None:
    project.land("2026-01-05T00")
    result = project.make("2026-01-05T00")
    kinds = {event.event_type_value for event in result.all_events}
    assert not kinds & {"HANDLED_OUTPUT", "LOADED_INPUT"}
    assert not [path for path in project.folder.parent.rglob("*") if path.suffix == ".pickle"]


def test_events_are_overdue_only_where_that_is_declared(project: Project) -> None:
    graph = project.definitions.resolve_asset_graph()
    declared = {
        key.to_user_string(): graph.get(key).freshness_policy
        for key in graph.get_all_asset_keys()
        if graph.get(key).freshness_policy is not None
    }
    assert list(declared) == ["locations/events"]


@pytest.mark.parametrize(
    ("within", "warns"), [("26h", True), ("90s", False), ("1s", False), ("2m", True)]
)
def test_a_feed_of_any_freshness_loads(project: Project, within: str, warns: bool) -> None:
    text = TOML.format(runner="here").replace("26h", within)
    (project.folder / "fencepost.toml").write_text(text)
    graph = Project(project.folder).definitions.resolve_asset_graph()
    policy = graph.get(dg.AssetKey(["locations", "events"])).freshness_policy
    assert isinstance(policy, dg.FreshnessPolicy)
    assert (getattr(policy, "warn_window", None) is not None) is warns


def test_partitions_begin_where_it_is_declared_or_on_the_day_the_lake_was_made(
    project: Project,
) -> None:
    text = TOML.format(runner="here").replace('partitions_from = "2026-01-05"\n', "")
    (project.folder / "fencepost.toml").write_text(text)
    other = Project(project.folder)
    definition = other.assets("arrivals_of_ticks").partitions_def
    assert definition is not None
    first = definition.get_partition_keys()[0]
    assert first.endswith("T00")
    assert len(definition.get_partition_keys()) <= 48
    assert load(project.folder).feeds["ticks"].partitions_from is None


def test_the_hour_that_it_is_now_is_a_partition_and_the_next_is_none() -> None:
    from datetime import UTC, datetime, timedelta

    now = datetime.now(UTC)
    keys = partitions_of("hour", "2026-01-05T00")
    assert keys.has_partition_key(now.strftime("%Y-%m-%dT%H"))
    assert not keys.has_partition_key((now + timedelta(hours=2)).strftime("%Y-%m-%dT%H"))
