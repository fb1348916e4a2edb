"""The sensor `checks`: runs the checks of what was evaluated without them.

What a command, `watch` or `run_now` evaluates is reported to Dagster without any check, and its
assets then show none as executed. So a run of the job `check` follows.

Law: checks are requested once for what an asset shows, again only if that run failed, and for each
lane at most every ten minutes, however often it changes.
"""

import json
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg

from assets.graph import key
from assets.lanes import group_of
from assets.ledger import IN_PROGRESS, RUN_LIMIT
from pipelines.lanes import Lane, declared_lanes
from pipelines.project.settings import Settings

JOB = "check"
OFTEN = timedelta(minutes=10)
TRIES = 3
LEDGER_HAS_NO_GAPS = "ledger_has_no_gaps"
"""A check that every lane has, and that is executed only together with the others."""


def job(definitions: Sequence[dg.AssetChecksDefinition]) -> Any:  # noqa: ANN401  Dagster's own
    """Give the job that executes checks, all of them or some."""
    return dg.define_asset_job(
        JOB,
        selection=dg.AssetSelection.checks(*definitions),
        description="Run every check: what `fencepost check` does, over the newest epochs.",
    )


def sensor(
    settings: Settings, definitions: Sequence[dg.AssetChecksDefinition]
) -> dg.SensorDefinition:
    """Give the sensor."""
    shown = {lane.name: lane for lane in declared_lanes(settings)}
    every = [check for each in definitions for check in each.check_keys]

    @dg.sensor(
        name="checks",
        job_name=JOB,
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Runs the checks of what commands, `watch` and run_now have evaluated.",
    )
    def request_checks(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        lately = datetime.now(UTC) - RUN_LIMIT
        if context.instance.get_runs_count(
            dg.RunsFilter(statuses=IN_PROGRESS, updated_after=lately)
        ):
            return dg.SkipReason("a run is in progress")
        requested: dict[str, Any] = json.loads(context.cursor) if context.cursor else {}
        now = time.time()
        due = {
            name: attempt
            for name, lane in shown.items()
            if (attempt := _attempt(context.instance, lane, requested.get(name, {}), now))
            is not None
        }
        if not due:
            return dg.SkipReason("everything shown is checked, or its checks are requested")
        groups = {group_of(shown[name]) for name in due}
        wanted = [check for check in every if check.asset_key.path[0] in groups]
        named = ",".join(f"{name} {each['of']} {each['tries']}" for name, each in due.items())
        request = dg.RunRequest(run_key=f"{JOB} {named}", asset_check_keys=wanted)
        return dg.SensorResult(run_requests=[request], cursor=json.dumps({**requested, **due}))

    return request_checks


def _attempt(
    instance: dg.DagsterInstance, lane: Lane, before: Mapping[str, Any], now: float
) -> dict[str, Any] | None:
    """Number the attempt at a lane's checks that is due; None: none is."""
    asset = key(lane, lane.logs[0].name)
    newest = instance.fetch_materializations(asset, limit=1).records
    if not newest or _is_checked(instance, asset, newest[0]):
        return None
    of = newest[0].storage_id
    tries = before["tries"] + 1 if before.get("of") == of else 1
    soon = now - before.get("at", 0.0) < OFTEN.total_seconds()
    return None if soon or tries > TRIES else {"of": of, "tries": tries, "at": now}


def _is_checked(
    instance: dg.DagsterInstance, asset: dg.AssetKey, newest: dg.EventLogRecord
) -> bool:
    """Say whether the checks of an asset have seen its newest materialisation."""
    check = dg.AssetCheckKey(asset, LEDGER_HAS_NO_GAPS)
    latest = instance.event_log_storage.get_latest_asset_check_execution_by_key([check])
    record = latest.get(check)
    if record is None or record.evaluation is None:
        return False
    seen = record.evaluation.target_materialization_data
    same_run = record.run_id == newest.event_log_entry.run_id
    return same_run or (seen is not None and seen.storage_id >= newest.storage_id)
