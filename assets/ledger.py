"""The sensor `ledger`: tells Dagster what commands, `watch` and other schedulers have done.

A look into Dagster's history costs some 10 ms an asset and partition (measured, SQLite), and a tick
has a minute. So the cursor keeps a name for each day as it stands in the ledgers; a tick looks at
the days whose name is another than the last time, and at no more of them than it has time for.

Law: a partition is told when Dagster shows it otherwise than it stands, and not again, whatever the
cursor has forgotten.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import dagster as dg

from assets.lanes import Lane, lanes
from assets.partitions import of_feed, shown
from assets.refused import readability
from assets.registry import untold
from assets.resources import LakeAccess, told_plainly
from assets.telling import STANDS, materializations, staleness
from pipelines.epochs.accounts import Account, accounts
from pipelines.project.settings import Settings

MOST = 100
"""Partitions that a tick looks up, a single longer day aside."""

AT_IT = timedelta(hours=1)
"""A run that began longer ago is no reason to wait: it may have been killed, and never says so."""

UNDER_WAY = [
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]

Days = Mapping[tuple[str, str], Sequence[Account]]
"""By lane and day: the partitions that Dagster shows."""


def ledger(settings: Settings) -> dg.SensorDefinition:
    """Give the sensor."""
    shown_lanes = {lane.lane: lane for lane in lanes(settings)}

    @dg.sensor(
        name="ledger",
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Tells Dagster what commands, `watch` and other schedulers have evaluated.",
    )
    def told(
        context: dg.SensorEvaluationContext, lake: dg.ResourceParam[LakeAccess]
    ) -> dg.SensorResult | dg.SkipReason:
        if not (settings.root / "arrivals").is_dir():
            return dg.SkipReason(f"there is no lake at {settings.root} yet: `fencepost init`")
        lately = datetime.now(UTC) - AT_IT
        if context.instance.get_runs_count(dg.RunsFilter(statuses=UNDER_WAY, updated_after=lately)):
            return dg.SkipReason("a run is under way, and tells its own partitions")
        before = json.loads(context.cursor) if context.cursor else {}
        with told_plainly():
            store = lake.store()
            versions = [store.version(name) for name in ("arrivals", "epochs", "dismissals")]
            if versions == before.get("versions"):
                return dg.SkipReason("the ledgers have not changed")
            known = {name: list(accounts(store, name).values()) for name in shown_lanes}
        seen: dict[str, str] = dict(before.get("days", {}))
        other = {
            day: some for day, some in _days(settings, known).items() if _is_other(seen, day, some)
        }
        now = dict(_in_time(other))
        events = [
            each
            for (name, _), some in now.items()
            for each in _untold(context.instance, shown_lanes[name], some)
        ]
        seen |= {" ".join(day): _name(some) for day, some in now.items()}
        stale = [
            each for name, lane in shown_lanes.items() for each in staleness(lane, known[name])
        ]
        cursor = {"versions": versions if len(now) == len(other) else None, "days": seen}
        rules = untold(context.instance, store)
        refused = readability(context.instance, settings, store)
        return dg.SensorResult(
            asset_events=[*rules, *events, *stale, *refused], cursor=json.dumps(cursor)
        )

    return told


def _days(settings: Settings, known: Mapping[str, Sequence[Account]]) -> Days:
    """Part the partitions by day, the newest first."""
    days: dict[tuple[str, str], list[Account]] = defaultdict(list)
    for lane in lanes(settings):
        definition = of_feed(settings, lane.feeds[0])
        for account in known[lane.lane]:
            if shown(definition, account.key):
                days[lane.lane, account.key[:10]].append(account)
    return dict(sorted(days.items(), key=lambda item: item[0][1], reverse=True))


def _name(some: Sequence[Account]) -> str:
    """Name partitions as they stand."""
    told = "\n".join(f"{each.key} {each.arrived} {each.evaluated} {each.stale}" for each in some)
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


def _is_other(seen: Mapping[str, str], day: tuple[str, str], some: Sequence[Account]) -> bool:
    return seen.get(" ".join(day)) != _name(some)


def _in_time(days: Days) -> Iterator[tuple[tuple[str, str], Sequence[Account]]]:
    """Give days as long as a tick has time for them, one at least."""
    looked = 0
    for day, some in days.items():
        if looked and looked + len(some) > MOST:
            return
        looked += len(some)
        yield day, some


def _untold(
    instance: dg.DagsterInstance, lane: Lane, known: Sequence[Account]
) -> Iterator[dg.AssetMaterialization]:
    """Give what Dagster does not show as it stands; what is stale is told when it no longer is."""
    for told in materializations(lane, (account for account in known if not account.stale)):
        if not _is_told(instance, told):
            yield told


def _is_told(instance: dg.DagsterInstance, told: dg.AssetMaterialization) -> bool:
    wanted = dg.AssetRecordsFilter(told.asset_key, asset_partitions=[told.partition or ""])
    found = instance.fetch_materializations(wanted, limit=1).records
    latest = found[0].asset_materialization if found else None
    return latest is not None and latest.metadata.get(STANDS) == told.metadata[STANDS]
