"""What is recorded of checks is what Dagster makes of the same results."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.evaluations import evaluations
from assets.partitions import range_tags

pytestmark = pytest.mark.dagster

PARTS = dg.StaticPartitionsDefinition(["a", "b", "c"])
RIVER, LAKE, SEA = (dg.AssetKey(["water", name]) for name in ("river", "lake", "sea"))
SPECS = [
    dg.AssetCheckSpec("clean", asset=RIVER, blocking=True),
    dg.AssetCheckSpec("cold", asset=RIVER),
    dg.AssetCheckSpec("deep", asset=LAKE),
]
Results = Iterable[dg.AssetCheckResult]
Way = Callable[[dg.AssetCheckExecutionContext, Results], Iterable[Any]]
RUNS: dict[str, dict[str, Any]] = {
    "of a partition": {"partition_key": "b"},
    "of several": {"tags": range_tags("a", "b")},
    "of all": {},
}


def by_dagster(_: dg.AssetCheckExecutionContext, results: Results) -> Iterable[Any]:
    """Leave the results to Dagster."""
    return results


def by_us(context: dg.AssetCheckExecutionContext, results: Results) -> Iterable[Any]:
    """Make evaluations of them."""
    keys = (spec.key for spec in SPECS)
    named = zip(keys, results, strict=True)
    return evaluations(context, SPECS, named)


def looked(*, clean: bool) -> Iterator[dg.AssetCheckResult]:
    """Find one thing and another."""
    yield dg.AssetCheckResult(
        passed=clean,
        asset_key=RIVER,
        check_name="clean",
        metadata={"rows": 7, "where": "upstream"},
        description="mud",
    )
    yield dg.AssetCheckResult(
        passed=False, asset_key=RIVER, check_name="cold", severity=dg.AssetCheckSeverity.WARN
    )
    yield dg.AssetCheckResult(passed=True, asset_key=LAKE, check_name="deep")


def recorded(
    folder: Path, way: Way, runs: Iterable[dict[str, Any]], *, clean: bool = True
) -> list[Any]:
    """Execute runs of two assets, their checks, and an asset behind a blocking one.

    Give the events of each run, with what later runs read of an evaluation.
    """
    instance = dg.DagsterInstance.ephemeral(tempdir=str(folder))
    return [each for how in runs for each in executed(way, instance, how, clean=clean)]


def executed(
    way: Way, instance: dg.DagsterInstance, how: dict[str, Any], *, clean: bool
) -> Iterator[Any]:
    """Execute a run."""
    parts = PARTS if how else None

    @dg.multi_asset(
        specs=[dg.AssetSpec(each, partitions_def=parts) for each in (RIVER, LAKE)],
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def fill() -> Iterator[dg.MaterializeResult[None] | dg.AssetMaterialization]:
        yield from (dg.MaterializeResult(each) for each in (RIVER, LAKE))
        if how:  # what came after is of another partition
            yield dg.AssetMaterialization(RIVER, partition="c")

    @dg.multi_asset_check(name="look", specs=SPECS, can_subset=True)
    def look(context: dg.AssetCheckExecutionContext) -> Iterable[Any]:
        yield from way(context, looked(clean=clean))

    @dg.multi_asset(
        specs=[dg.AssetSpec(SEA, deps=[RIVER], partitions_def=parts)],
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def receive() -> Iterator[dg.MaterializeResult[None]]:
        yield dg.MaterializeResult(SEA)

    job = dg.Definitions(
        [fill, receive], asset_checks=[look], executor=dg.in_process_executor
    ).resolve_implicit_global_asset_job_def()
    run = job.execute_in_process(instance=instance, raise_on_error=False, **how)
    for each in run.all_events:
        found = each.event_specific_data
        yield each.event_type_value, each.step_key
        if isinstance(found, dg.AssetCheckEvaluation):
            target = found.target_materialization_data
            assert target is not None
            yield found.asset_check_key, found.passed, found.metadata
            yield found.severity, found.description, found.blocking, found.partition
            yield target.storage_id, target.run_id == run.run_id


@pytest.mark.parametrize("kind", RUNS)
def test_the_same_is_recorded_as_of_the_results_themselves(tmp_path: Path, kind: str) -> None:
    ran = recorded(tmp_path, by_us, [RUNS[kind], RUNS[kind]])
    assert ran == recorded(tmp_path, by_dagster, [RUNS[kind], RUNS[kind]])
    assert sum(each == ("ASSET_CHECK_EVALUATION", "look") for each in ran) == 2 * len(SPECS)


def test_what_blocks_stops_the_steps_behind(tmp_path: Path) -> None:
    runs = [RUNS["of a partition"]]
    ran = recorded(tmp_path, by_us, runs, clean=False)
    assert ran == recorded(tmp_path, by_dagster, runs, clean=False)
    assert ("STEP_START", "receive") not in ran
    assert ("STEP_FAILURE", "look") in ran
