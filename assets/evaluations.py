"""The results of checks, as Dagster records them.

Of each result Dagster looks up the materialisation that it is about: 1 ms, 5 where its history is
in files, and a step has dozens of results about a few assets. Here an asset is looked up once.

Law: what is recorded is what Dagster makes of the same results (`tests/dagster/test_evaluations`).
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import dagster as dg
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData as Target,
)

Recorded = dg.Output[None] | dg.AssetCheckEvaluation


def evaluations(
    context: dg.AssetCheckExecutionContext,
    specs: Sequence[dg.AssetCheckSpec],
    results: Iterable[tuple[dg.AssetCheckKey, dg.AssetCheckResult]],
) -> Iterator[Recorded]:
    """Give of each result the output that later steps wait for, and the evaluation.

    Each is of one of these checks, which have no partitions.
    """
    of_key = {spec.key: spec for spec in specs}
    target = cache(lambda asset: _target(context, asset))
    for check, result in results:
        yield dg.Output(None, of_key[check].get_python_identifier())
        yield dg.AssetCheckEvaluation(
            asset_key=check.asset_key,
            check_name=check.name,
            passed=result.passed,
            metadata=result.metadata,
            target_materialization_data=target(check.asset_key),
            severity=result.severity,
            description=result.description,
            blocking=of_key[check].blocking,
        )


def _target(context: dg.AssetCheckExecutionContext, asset: dg.AssetKey) -> Target | None:
    """Find the newest materialisation of an asset, of the run's partition where it has one."""
    of = dg.AssetRecordsFilter(
        asset, asset_partitions=[context.partition_key] if context.has_partition_key else None
    )
    newest = context.instance.fetch_materializations(of, limit=1).records
    if not newest:
        return None
    return Target(
        storage_id=newest[0].storage_id,
        run_id=newest[0].run_id,
        timestamp=newest[0].timestamp,
    )
