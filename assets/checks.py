"""What is asserted of a lane's assets: our own checks, and the contracts of its tables.

One Dagster check for each check and each promise, and each can be executed alone. A step costs a
session of DuckDB, and where it is a process 2 s, so there are few: one for what is ingested, which
evaluation waits for; one for what is evaluated, which marts wait for; and one that looks for stale
partitions and reports on every asset that shows them.

Law: a blocking check is one SQL aggregate. A contract looks at the epochs that were last committed
together and what has arrived since, never at the whole history; and at nothing where nothing has
changed since it passed.
"""

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from assets.ahead import ahead
from assets.check_history import forget_planned
from assets.evaluations import Recorded, evaluations
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
        for definition in (*_steps(settings, lane), _staleness(lane))
    ]


def _steps(settings: Settings, lane: Lane) -> Iterator[dg.AssetChecksDefinition]:
    """Give a step for what is made of deliveries, and one for what epochs write."""
    specs: dict[str, list[dg.AssetCheckSpec]] = {"arrivals": [], "evaluated": []}
    for check in own_checks_of(lane):
        if check.name != NOTHING_IS_STALE:
            table = check.table or lane.name
            specs[_made_by(lane, table)].append(_spec(lane, table, check))
    for contract in contracts(lane.name, settings.axes).values():
        specs[_made_by(lane, contract.table)] += _promises(lane, contract)
    for step, some in specs.items():
        if some:
            yield _step(lane, f"check_{group_of(lane)}_{step}", some)


def _spec(lane: Lane, table: str, check: OwnCheck) -> dg.AssetCheckSpec:
    means = check.description
    return dg.AssetCheckSpec(
        check.name, asset=key(lane, table), description=means, blocking=check.blocking
    )


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
    @dg.multi_asset_check(name=name, specs=specs, can_subset=True)
    def execute(
        context: dg.AssetCheckExecutionContext, lake: dg.ResourceParam[LakeAccess]
    ) -> Iterable[Recorded]:
        """Query the published views in one session, except for what passed and has not changed."""
        chosen = context.selected_asset_check_keys
        found = list[Checked]()

        def results() -> Iterator[tuple[dg.AssetCheckKey, dg.AssetCheckResult]]:
            for checked in ahead(_found(lake, lane, chosen)):
                found.append(checked)
                check = dg.AssetCheckKey(key(lane, checked.table), checked.name)
                if check in chosen:
                    yield check, _result(lake.settings, checked)

        yield from evaluations(context, specs, results())
        forget_planned(context.instance, context.run.run_id, chosen)
        seconds = sum(checked.seconds for checked in found)
        context.log.info(f"{counted(len(found), 'check')} of {lane} in {seconds:.2f} s")

    return execute


def _found(
    lake: LakeAccess, lane: Lane, chosen: Collection[dg.AssetCheckKey]
) -> Generator[Checked]:
    """Check the contracts of whose promises some are among these, and run our own checks."""
    ours = {check.name for check in own_checks_of(lane)}
    names = [each.name for each in chosen if each.name in ours]
    promised = [each.asset_key.path[-1] for each in chosen if each.name not in ours]
    tables = {each.asset_key.path[-1] for each in chosen}
    with plain_failures():
        store = lake.store()
        epochs = latest_run(chain_of(store, lane.name))
        with Moment(lake.settings, [lane], store=store, of=tables) as moment:
            # These are many and quickly found: Dagster records them while the others are made.
            yield from moment.contracts(lane, epochs, promised)
            yield from moment.own(lane, epochs, names)


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
    ) -> Iterable[Recorded]:
        """Compare the epochs with the deliveries as they are now."""
        chosen = context.selected_asset_check_keys
        with plain_failures():
            known = accounts(lake.store(), lane.name).values()
        forget_planned(context.instance, context.run.run_id, chosen)
        results = (
            (
                each.asset_check_key,
                dg.AssetCheckResult(
                    passed=each.passed,
                    severity=each.severity,
                    description=each.description,
                    metadata=each.metadata,
                ),
            )
            for each in staleness(lane, known)
            if each.asset_check_key in chosen
        )
        yield from evaluations(context, specs, results)

    return compare


def _result(settings: Settings, checked: Checked) -> dg.AssetCheckResult:
    """Give the result of a check in Dagster's terms."""
    return dg.AssetCheckResult(
        passed=checked.passed,
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
