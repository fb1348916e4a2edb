"""What starts runs by itself, and what keeps Dagster in step with the ledgers.

    partitions_F   schedule: when an hour or day has ended, evaluate it
    every_minute   schedule: run_now, unless one is still in progress
    nightly        schedule: maintain
    landing_F      sensor: files have landed, evaluate the partitions they belong to
    ledger         sensor: report what commands and watch have evaluated
    marts          sensor: rebuild marts when their inputs are newer
    checks         sensor: run the checks of what was reported without them (`check_runs.py`)

The last three, which evaluate nothing, start switched on; the others start switched off.

Law: a tick changes nothing but Dagster's own history. A tick that is repeated, or comes after a
restart, starts no second run for the same files and reports no partition twice.
"""

import json
import time
from collections.abc import Sequence
from datetime import datetime, timedelta

import dagster as dg

from assets import jobs
from assets.graph import MARTS, key
from assets.ledger import IN_PROGRESS, ledger
from assets.partitions import FORMATS, LENGTHS, of_feed, range_tags, shown
from assets.resources import LakeAccess, plain_failures
from fencepost.text import counted, few
from pipelines.ingest import delta_source
from pipelines.ingest.landing.news import News, news
from pipelines.project.settings import Feed, Settings

AFTER = 5
"""Minutes after an hour has ended until it is evaluated: what lands at its end has settled."""

TRIES = 3
TRY_AGAIN = timedelta(minutes=10)
"""A failed run is requested again after TRY_AGAIN, TRIES times in all; then new files must land."""


def schedules(settings: Settings) -> list[dg.ScheduleDefinition]:
    """Give every schedule."""
    return [*(_partitions(settings, feed) for feed in settings.feeds.values()), *_for_all()]


def sensors(settings: Settings) -> list[dg.SensorDefinition]:
    """Give every sensor."""
    marts = dg.AssetSelection.assets(
        *(key(feed, name) for feed in settings.feeds.values() for name in MARTS)
    )
    return [
        *(_landing(settings, feed) for feed in settings.feeds.values()),
        ledger(settings),
        dg.AutomationConditionSensorDefinition(
            "marts",
            target=marts,
            default_status=dg.DefaultSensorStatus.RUNNING,
            description="Rebuilds marts when their inputs are newer.",
        ),
    ]


def _partitions(settings: Settings, feed: Feed) -> dg.ScheduleDefinition:
    """Evaluate each partition when it has ended."""
    hourly, length = feed.partition == "hour", LENGTHS[feed.partition]
    definition = of_feed(settings, feed)

    @dg.schedule(
        name=f"partitions_{feed.name}",
        job_name=f"evaluate_{feed.name}",
        cron_schedule=f"{AFTER} * * * *" if hourly else f"{AFTER} 0 * * *",
        execution_timezone="UTC",
        description=f"Evaluates each {feed.partition} of {feed.name}, {AFTER} minutes after it.",
    )
    def ended(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        name = (context.scheduled_execution_time - length).strftime(FORMATS[feed.partition])
        if not shown(definition, name):
            return dg.SkipReason(f"{feed.name} has no partition {name} in Dagster")
        return dg.RunRequest(run_key=name, partition_key=name)

    return ended


def _for_all() -> list[dg.ScheduleDefinition]:
    @dg.schedule(
        name="every_minute",
        job=jobs.run_now,
        cron_schedule="* * * * *",
        description="Loads and evaluates new deliveries every minute.",
    )
    def every_minute(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        in_progress = dg.RunsFilter(
            job_name=jobs.run_now.name,
            statuses=[*IN_PROGRESS, dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED],
        )
        if context.instance.get_runs_count(in_progress):
            return dg.SkipReason("previous run still in progress; it picks up the rest")
        return dg.RunRequest()

    nightly = dg.ScheduleDefinition(
        name="nightly",
        job=jobs.maintain,
        cron_schedule="30 3 * * *",
        execution_timezone="UTC",
        description="Compacts small files, nightly.",
    )
    return [every_minute, nightly]


def _landing(settings: Settings, feed: Feed) -> dg.SensorDefinition:
    definition = of_feed(settings, feed)

    @dg.sensor(
        name=f"landing_{feed.name}",
        job_name=f"evaluate_{feed.name}",
        minimum_interval_seconds=30,
        description=f"Evaluates the partitions of files that land for {feed.name}.",
    )
    def landing(
        context: dg.SensorEvaluationContext, lake: dg.ResourceParam[LakeAccess]
    ) -> dg.SensorResult | dg.SkipReason:
        with plain_failures():
            arrived = _arrived(lake, feed)
        if not arrived.files:
            return dg.SkipReason("nothing new has landed")
        last = json.loads(context.cursor) if context.cursor else {}
        attempt = _attempt(context.instance, last, arrived.name)
        if attempt is None:
            return dg.SkipReason(f"a run was already requested: {last['run']}")
        mine = [name for name in arrived.keys if shown(definition, name)]
        if not arrived.keys:
            return dg.SkipReason(
                f"the path of {few([file.path for file in arrived.files])} has no "
                f"{feed.partition} in it, which partition_in_path requires: rename it"
            )
        if not mine:
            return dg.SkipReason(
                f"{counted(len(arrived.files), 'file')} of {few(arrived.keys)}, which Dagster "
                "does not show: see partitions_from and partitions_to in fencepost.toml. "
                "`fencepost run` loads them."
            )
        run = f"{feed.name}-{arrived.name}-{attempt}"
        cursor = {"name": arrived.name, "attempt": attempt, "run": run, "at": time.time()}
        request = _request(run, last_stretch(mine, LENGTHS[feed.partition]))
        return dg.SensorResult(run_requests=[request], cursor=json.dumps(cursor))

    return landing


def _arrived(lake: LakeAccess, feed: Feed) -> News:
    ledger, now = lake.store().rows("arrivals"), time.time_ns() // 1000
    if feed.form == delta_source.FORM:
        return News.of_found(delta_source.look(feed, ledger, now).found)
    return news(feed, ledger, now)


def _attempt(instance: dg.DagsterInstance, last: dict[str, object], name: str) -> int | None:
    """Number the attempt at these files that is due; None: none is."""
    if last.get("name") != name:
        return 1
    attempt, at = int(str(last["attempt"])), float(str(last["at"]))
    runs = instance.get_runs(dg.RunsFilter(tags={"dagster/run_key": str(last["run"])}), limit=1)
    failed = bool(runs) and runs[0].status == dg.DagsterRunStatus.FAILURE
    due = time.time() - at > TRY_AGAIN.total_seconds()
    return attempt + 1 if failed and due and attempt < TRIES else None


def _request(run: str, names: Sequence[str]) -> dg.RunRequest:
    """Request one partition, or a range as one run."""
    first, last = names[0], names[-1]
    if first == last:
        return dg.RunRequest(run_key=run, partition_key=first)
    return dg.RunRequest(run_key=run, tags=range_tags(first, last))


def last_stretch(names: Sequence[str], length: timedelta) -> Sequence[str]:
    """Give the last partitions that follow one another; the run brings those before up to date.

    A range from an old partition to a new one would report all between, perhaps years.
    """
    times = [datetime.fromisoformat(name) for name in names]
    first = len(names) - 1
    while first and times[first] - times[first - 1] == length:
        first -= 1
    return names[first:]
