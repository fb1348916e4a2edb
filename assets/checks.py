"""What is asserted of a lane's assets: our own checks, and the contracts by Great Expectations.

One Dagster check for each check and each expectation; those of an asset that have the same source
are one step, and each of them can be executed alone. Whether a lane has stale partitions is asked
once and said of every asset that shows them. Nothing here imports Great Expectations: a step does,
once a process.

Law: a blocking check is one SQL aggregate. A contract looks at the epochs that were last committed
together and what has arrived since, never at the whole history.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import dagster as dg

from assets.graph import key
from assets.lanes import Lane, lanes
from assets.planned import forget_planned
from assets.resources import LakeAccess, told_plainly
from assets.telling import NOTHING_IS_STALE, shows_partitions, staleness
from pipelines.checking import Checked, Moment, OwnCheck, own_checks_of
from pipelines.checking.scope import latest_run
from pipelines.epochs.accounts import accounts
from pipelines.epochs.drive import chain_of
from pipelines.planning.chain import Epoch
from pipelines.report_links import link
from pipelines.settings import Settings
from schemas.expectations import Contract, contracts

SEVERITIES = {"error": dg.AssetCheckSeverity.ERROR, "warning": dg.AssetCheckSeverity.WARN}


def checks(settings: Settings) -> list[dg.AssetChecksDefinition]:
    """Give every check of every lane that is shown."""
    return [
        definition
        for lane in lanes(settings)
        for definition in (*_own(lane), _staleness(lane), *_contracts(settings, lane))
    ]


def _own(lane: Lane) -> Iterator[dg.AssetChecksDefinition]:
    """Part our own checks by asset, and those that block from those that do not."""

    def place(check: OwnCheck) -> tuple[str, bool]:
        return check.table or lane.name, check.blocking

    own = sorted((c for c in own_checks_of(lane.lane) if c.name != NOTHING_IS_STALE), key=place)
    for (table, blocking), some in groupby(own, key=place):
        yield _of_table(lane, table, list(some), blocking=blocking)


def _of_table(
    lane: Lane, table: str, some: Sequence[OwnCheck], *, blocking: bool
) -> dg.AssetChecksDefinition:
    specs = [
        dg.AssetCheckSpec(
            check.name, asset=key(lane, table), description=check.description, blocking=blocking
        )
        for check in some
    ]
    label = "blocking" if blocking else "further"

    @dg.multi_asset_check(name=f"check_{lane.name}_{table}_{label}", specs=specs, can_subset=True)
    def made(
        context: dg.AssetCheckExecutionContext, lake: dg.ResourceParam[LakeAccess]
    ) -> Iterable[dg.AssetCheckResult]:
        """Ask the published views, an aggregate each."""
        names = [check.name for check in context.selected_asset_check_keys]
        with told_plainly():
            epochs = _epochs(lake, lane)
            with Moment(lake.settings, [lane.lane]) as moment:
                found = list(moment.own(lane.lane, epochs, names))
        yield from _told(context, lake.settings, lane, found)

    return made


def _staleness(lane: Lane) -> dg.AssetChecksDefinition:
    """Ask once whether partitions are stale, and say it of every asset that shows them."""
    (check,) = (c for c in own_checks_of(lane.lane) if c.name == NOTHING_IS_STALE)
    specs = [
        dg.AssetCheckSpec(NOTHING_IS_STALE, asset=asset, description=check.description)
        for asset in shows_partitions(lane)
    ]

    @dg.multi_asset_check(name=f"check_{lane.name}_staleness", specs=specs, can_subset=True)
    def made(
        context: dg.AssetCheckExecutionContext, lake: dg.ResourceParam[LakeAccess]
    ) -> Iterable[dg.AssetCheckResult]:
        """Compare the epochs with the deliveries that there are now."""
        with told_plainly():
            known = accounts(lake.store(), lane.lane).values()
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

    return made


def _contracts(settings: Settings, lane: Lane) -> Iterator[dg.AssetChecksDefinition]:
    for contract in contracts(lane.lane, settings.axes).values():
        yield _of_contract(lane, contract)


def _of_contract(lane: Lane, contract: Contract) -> dg.AssetChecksDefinition:
    specs = [
        dg.AssetCheckSpec(
            each.name,
            asset=key(lane, contract.table),
            description=each.means,
            # The quarantine is told again when its partitions have been evaluated.
            additional_deps=[key(lane, "pending")] if contract.table == "quarantine" else [],
            metadata={"columns": ", ".join(each.columns), "kind": each.kind},
        )
        for each in contract.expectations
    ]

    @dg.multi_asset_check(
        name=f"contract_{lane.name}_{contract.table}", specs=specs, can_subset=True
    )
    def held(
        context: dg.AssetCheckExecutionContext, lake: dg.ResourceParam[LakeAccess]
    ) -> Iterable[dg.AssetCheckResult]:
        """Hold the rows of the last run against the contract, by Great Expectations."""
        with told_plainly():
            epochs = _epochs(lake, lane)
            with Moment(lake.settings, [lane.lane]) as moment:
                found = list(moment.contracts(lane.lane, epochs, [contract.table]))
        yield from _told(context, lake.settings, lane, found)

    return held


def _epochs(lake: LakeAccess, lane: Lane) -> tuple[Epoch, ...]:
    return latest_run(chain_of(lake.store(), lane.lane))


def _told(
    context: dg.AssetCheckExecutionContext,
    settings: Settings,
    lane: Lane,
    found: Sequence[Checked],
) -> Iterator[dg.AssetCheckResult]:
    """Tell what was found of the checks that are to be executed, in Dagster's words."""
    seconds = sum(checked.seconds for checked in found)
    context.log.info(f"{len(found)} checks of {lane.lane} in {seconds:.2f} s")
    executed = context.selected_asset_check_keys
    forget_planned(context.instance, context.run.run_id, executed)
    for checked in found:
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
    told: dict[str, Any] = {
        "rows": rows,
        "faults": faults,
        "percent": round(100 * faults / rows, 4) if rows else 0.0,
        "seconds": checked.seconds,
    }
    if checked.since is not None:
        told["unchanged since"] = checked.since
    if checked.samples:
        lines = "\n".join(f"    {sample}" for sample in checked.samples)
        told["samples"] = dg.MetadataValue.md(f"\n{lines}\n")
    if checked.docs is not None:
        told["data_docs"] = dg.MetadataValue.url(link(settings, Path(checked.docs)))
    return told
