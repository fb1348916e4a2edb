"""The sensor `ledger`: reports to Dagster what commands, `watch` and other schedulers have done.

Reading Dagster's history costs some 10 ms an asset and partition (measured, SQLite), and a tick has
a minute. So the cursor keeps a hash for each day of the ledgers; a tick visits the days whose hash
has changed, as many as it has time for.

Law: a partition is reported if Dagster shows it differently from the ledgers, and not again,
whatever the cursor has forgotten.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import dagster as dg

from assets.metadata import FINGERPRINT, materializations, staleness
from assets.partitions import of_feed, shown
from assets.refusals import readability
from assets.registry import unreported
from assets.resources import LakeAccess, plain_failures
from fencepost.hashing import digest
from pipelines.epochs.accounts import Account, accounts
from pipelines.lanes import Lane, declared_lanes
from pipelines.project.settings import Settings

MOST = 100
"""Partitions that a tick visits, a single longer day aside."""

RUN_LIMIT = timedelta(hours=1)
"""A run that began longer ago is no reason to wait: it may have been killed without a trace."""

IN_PROGRESS = [
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]

Days = Mapping[tuple[str, str], Sequence[Account]]
"""By lane and day: the partitions that Dagster shows."""


def ledger(settings: Settings) -> dg.SensorDefinition:
    """Give the sensor."""
    shown_lanes = {lane.name: lane for lane in declared_lanes(settings)}

    @dg.sensor(
        name="ledger",
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Reports to Dagster what commands, `watch` and other schedulers did.",
    )
    def report_changes(
        context: dg.SensorEvaluationContext, lake: dg.ResourceParam[LakeAccess]
    ) -> dg.SensorResult | dg.SkipReason:
        if not (settings.root / "arrivals").is_dir():
            return dg.SkipReason(f"no lake at {settings.root} yet: run `fencepost init`")
        lately = datetime.now(UTC) - RUN_LIMIT
        if context.instance.get_runs_count(
            dg.RunsFilter(statuses=IN_PROGRESS, updated_after=lately)
        ):
            return dg.SkipReason("a run is in progress, and reports its own partitions")
        before = json.loads(context.cursor) if context.cursor else {}
        with plain_failures():
            store = lake.store()
            versions = [store.version(name) for name in ("arrivals", "epochs", "dismissals")]
            if versions == before.get("versions"):
                return dg.SkipReason("the ledgers have not changed")
            known = {name: list(accounts(store, name).values()) for name in shown_lanes}
        seen: dict[str, str] = dict(before.get("days", {}))
        differing = {
            day: some for day, some in _days(settings, known).items() if _differs(seen, day, some)
        }
        now = dict(_in_time(differing))
        events = [
            each
            for (name, _), some in now.items()
            for each in _unreported(context.instance, shown_lanes[name], some)
        ]
        seen |= {" ".join(day): _hash(some) for day, some in now.items()}
        stale = [
            each for name, lane in shown_lanes.items() for each in staleness(lane, known[name])
        ]
        cursor = {"versions": versions if len(now) == len(differing) else None, "days": seen}
        rules = unreported(context.instance, store)
        refused = readability(context.instance, settings, store)
        return dg.SensorResult(
            asset_events=[*rules, *events, *stale, *refused], cursor=json.dumps(cursor)
        )

    return report_changes


def _days(settings: Settings, known: Mapping[str, Sequence[Account]]) -> Days:
    """Group the partitions by day, the newest first."""
    days: dict[tuple[str, str], list[Account]] = defaultdict(list)
    for lane in declared_lanes(settings):
        definition = of_feed(settings, lane.feeds[0])
        for account in known[lane.name]:
            if shown(definition, account.key):
                days[lane.name, account.key[:10]].append(account)
    return dict(sorted(days.items(), key=lambda item: item[0][1], reverse=True))


def _hash(some: Sequence[Account]) -> str:
    """Hash what the ledgers say of partitions."""
    lines = "\n".join(f"{each.key} {each.arrived} {each.evaluated} {each.stale}" for each in some)
    return digest(lines, 8)


def _differs(seen: Mapping[str, str], day: tuple[str, str], some: Sequence[Account]) -> bool:
    return seen.get(" ".join(day)) != _hash(some)


def _in_time(days: Days) -> Iterator[tuple[tuple[str, str], Sequence[Account]]]:
    """Give the days that a tick has time for, at least one."""
    visited = 0
    for day, some in days.items():
        if visited and visited + len(some) > MOST:
            return
        visited += len(some)
        yield day, some


def _unreported(
    instance: dg.DagsterInstance, lane: Lane, known: Sequence[Account]
) -> Iterator[dg.AssetMaterialization]:
    """Give what Dagster shows differently; what is stale is reported when it no longer is."""
    fresh = (account for account in known if not account.stale)
    return materializations(lane, fresh, differs=lambda each: not _is_shown(instance, each))


def _is_shown(instance: dg.DagsterInstance, current: dg.AssetMaterialization) -> bool:
    wanted = dg.AssetRecordsFilter(current.asset_key, asset_partitions=[current.partition or ""])
    records = instance.fetch_materializations(wanted, limit=1).records
    latest = records[0].asset_materialization if records else None
    return latest is not None and latest.metadata.get(FINGERPRINT) == current.metadata[FINGERPRINT]
