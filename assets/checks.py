"""What is asserted of a lane's assets: our own checks, and the contracts of its tables.

One Dagster check for each check and each promise, and each can be executed alone. A step is a
process and costs 2 s, so there are few: one for what blocks, an asset each; one for the rest of
what is ingested and one for the rest of what is evaluated, where checks share one session of
DuckDB; and one that looks for stale partitions and reports on every asset that shows them.

Law: a blocking check is one SQL aggregate. A contract looks at the epochs that were last committed
together and what has arrived since, never at the whole history; and at nothing where nothing has
changed since it passed.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from assets.check_history import forget_planned
from assets.graph import key
from assets.lanes import group_of
from assets.metadata import NOTHING_IS_STALE, shows_partitions, staleness
from assets.resources import LakeAccess, plain_failures
from fencepost.text import counted
from pipelines.checks import Checked, Moment, OwnCheck, own_checks_of
from pipelines.checks.scope import latest_run
from pipelines.epochs.accounts import accounts
from pipelines.epochs.drive import chain_of
from pipelines.lanes import Lane, declared_lanes
from pipelines.planning.chain import Epoch
from pipelines.project.settings import Settings
from pipelines.serve.report.links import link
from schemas.expectations import contracts
from schemas.promises import Contract

SEVERITIES = {"error": dg.AssetCheckSeverity.ERROR, "warning": dg.AssetCheckSeverity.WARN}


def checks(settings: Settings) -> list[dg.AssetChecksDefinition]:
    """Give every check of every lane that is shown."""
    return [
        definition
        for lane in declared_lanes(settings)
        for definition in (*_blocking(lane), _staleness(lane), *_others(settings, lane))
    ]


def _own(lane: Lane, *, blocking: bool) -> list[tuple[str, OwnCheck]]:
    """List our own checks that block, or those that do not, each with its table."""
    own = [c for c in own_checks_of(lane) if c.name != NOTHING_IS_STALE]
    return [(c.table or lane.name, c) for c in own if c.blocking == blocking]


def _spec(lane: Lane, table: str, check: OwnCheck) -> dg.AssetCheckSpec:
    means = check.description
    return dg.AssetCheckSpec(
        check.name, asset=key(lane, table), description=means, blocking=check.blocking
    )


def _blocking(lane: Lane) -> Iterator[dg.AssetChecksDefinition]:
    """Give a step for each asset that others wait for."""
    by_table: dict[str, list[dg.AssetCheckSpec]] = {}
    for table, check in _own(lane, blocking=True):
        by_table.setdefault(table, []).append(_spec(lane, table, check))
    for table, specs in by_table.items():
        yield _step(lane, f"check_{group_of(lane)}_{table}_blocking", specs)


def _others(settings: Settings, lane: Lane) -> Iterator[dg.AssetChecksDefinition]:
    """Give a step for what is made of deliveries, and one for what epochs write."""
    specs: dict[str, list[dg.AssetCheckSpec]] = {"arrivals": [], "evaluated": []}
    for table, check in _own(lane, blocking=False):
        specs[_made_by(lane, table)].append(_spec(lane, table, check))
    for contract in contracts(lane.name, settings.axes).values():
        specs[_made_by(lane, contract.table)] += _promises(lane, contract)
    for step, some in specs.items():
        if some:
            yield _step(lane, f"check_{group_of(lane)}_{step}", some)


def _made_by(lane: Lane, table: str) -> str:
    """Say which step makes a table; the evaluating step reports the quarantine again."""
    return "arrivals" if table == lane.name else "evaluated"


def _promises(lane: Lane, contract: Contract) -> Iterator[dg.AssetCheckSpec]:
    for each in contract.expectations:
        yield dg.AssetCheckSpec(
            each.name,
            asset=key(lane, contract.table),
            description=each.means,
            # The quarantine is reported again when its partitions have been evaluated.
            additional_deps=[key(lane, "pending")] if contract.table == "quarantine" else [],
            metadata={"columns": ", ".join(each.columns), "kind": each.kind},
        )


def _step(lane: Lane, name: str, specs: Sequence[dg.AssetCheckSpec]) -> dg.AssetChecksDefinition:
    ours = {check.name for check in own_checks_of(lane)}

    @dg.multi_asset_check(name=name, specs=specs, can_subset=True)
    def execute(
        context: dg.AssetCheckExecutionContext, lake: dg.ResourceParam[LakeAccess]
    ) -> Iterable[dg.AssetCheckResult]:
        """Query the published views in one session, except for what passed and has not changed."""
        chosen = context.selected_asset_check_keys
        with plain_failures():
            epochs = _epochs(lake, lane)
            with Moment(lake.settings, [lane]) as moment:
                names = [each.name for each in chosen if each.name in ours]
                tables = [each.asset_key.path[-1] for each in chosen if each.name not in ours]
                results = [
                    *moment.own(lane, epochs, names),
                    *moment.contracts(lane, epochs, tables),
                ]
        yield from _results(context, lake.settings, lane, results)

    return execute


def _staleness(lane: Lane) -> dg.AssetChecksDefinition:
    """Check once whether partitions are stale, and report it on every asset that shows them."""
    (check,) = (c for c in own_checks_of(lane) if c.name == NOTHING_IS_STALE)
    specs = [
        dg.AssetCheckSpec(NOTHING_IS_STALE, asset=asset, description=check.description)
        for asset in shows_partitions(lane)
    ]

    @dg.multi_asset_check(name=f"check_{group_of(lane)}_staleness", specs=specs, can_subset=True)
    def compare(
        context: dg.AssetCheckExecutionContext, lake: dg.ResourceParam[LakeAccess]
    ) -> Iterable[dg.AssetCheckResult]:
        """Compare the epochs with the deliveries as they are now."""
        with plain_failures():
            known = accounts(lake.store(), lane.name).values()
        forget_planned(context.instance, context.run.run_id, context.selected_asset_check_keys)
        for each in staleness(lane, known):
            if each.asset_check_key in context.selected_asset_check_keys:
                yield dg.AssetCheckResult(
                    passed=each.passed,
                    asset_key=each.asset_key,
                    check_name=each.check_name,
                    severity=each.severity,
                    description=each.description,
                    metadata=each.metadata,
                )

    return compare


def _epochs(lake: LakeAccess, lane: Lane) -> tuple[Epoch, ...]:
    return latest_run(chain_of(lake.store(), lane.name))


def _results(
    context: dg.AssetCheckExecutionContext,
    settings: Settings,
    lane: Lane,
    results: Sequence[Checked],
) -> Iterator[dg.AssetCheckResult]:
    """Give the results of the checks that are to be executed, in Dagster's terms."""
    seconds = sum(checked.seconds for checked in results)
    context.log.info(f"{counted(len(results), 'check')} of {lane} in {seconds:.2f} s")
    executed = context.selected_asset_check_keys
    forget_planned(context.instance, context.run.run_id, executed)
    for checked in results:
        if dg.AssetCheckKey(key(lane, checked.table), checked.name) not in executed:
            continue
        yield dg.AssetCheckResult(
            passed=checked.passed,
            asset_key=key(lane, checked.table),
            check_name=checked.name,
            severity=SEVERITIES[checked.severity],
            description=checked.description,
            metadata=_metadata(settings, checked),
        )


def _metadata(settings: Settings, checked: Checked) -> dict[str, Any]:
    rows, faults = int(checked.counts["rows"]), int(checked.counts["faults"])
    metadata: dict[str, Any] = {
        "rows": rows,
        "faults": faults,
        "percent": round(100 * faults / rows, 4) if rows else 0.0,
        "seconds": checked.seconds,
    }
    if checked.since is not None:
        metadata["unchanged since"] = checked.since
    if checked.samples:
        lines = "\n".join(f"    {sample}" for sample in checked.samples)
        metadata["samples"] = dg.MetadataValue.md(f"\n{lines}\n")
    if checked.docs is not None:
        metadata["data_docs"] = dg.MetadataValue.url(link(settings, Path(checked.docs)))
    return metadata
