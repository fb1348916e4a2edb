"""Sensors that send alerts for what needs attention, the way that [alerts] declares.

    refused_deliveries_by_W   a delivery was refused and is still unanswered
    failed_runs_by_W          a run failed

W is webhook or command. Each way has its own sensors, so that a failure of one repeats nothing on
the other. They start switched on; where nothing is declared there are none.

Law: a refusal is sent once per way, even after a restart. If sending fails, the tick fails and the
next one tries again. A failed run is tried three times within its tick.
"""

import json
from collections.abc import Iterator

import dagster as dg
from dagster._core.execution.plan.objects import StepFailureData

from assets.resources import LakeAccess, plain_failures
from fencepost.text import counted
from pipelines.ingest.refusals import unanswered
from pipelines.project.settings import Settings
from pipelines.runs.alerts import channels, of_failed_run, of_refused, send


def sensors(settings: Settings) -> Iterator[dg.SensorDefinition]:
    """Give the sensors of each way that is declared."""
    for channel in channels(settings):
        yield _refused(settings, channel)
        yield _failed(settings, channel)


def _refused(settings: Settings, channel: str) -> dg.SensorDefinition:
    @dg.sensor(
        name=f"refused_deliveries_by_{channel}",
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Sends an alert for each refused delivery, whichever process read it.",
    )
    def refused(
        context: dg.SensorEvaluationContext, lake: dg.ResourceParam[LakeAccess]
    ) -> dg.SensorResult | dg.SkipReason:
        if not (settings.root / "arrivals").is_dir():
            return dg.SkipReason(f"no lake at {settings.root} yet: run `fencepost init`")
        sent = set(json.loads(context.cursor)) if context.cursor else set()
        with plain_failures():
            refused_now = unanswered(lake.store())
        fresh = [each for each in refused_now if each.n not in sent]
        outcome = "no new refusals"
        if fresh:
            send(settings, channel, of_refused(settings, fresh))
            outcome = f"sent: {counted(len(fresh), 'refused delivery', 'refused deliveries')}"
        cursor = json.dumps([each.n for each in refused_now])
        return dg.SensorResult(skip_reason=dg.SkipReason(outcome), cursor=cursor)

    return refused


def _failed(settings: Settings, channel: str) -> dg.SensorDefinition:
    @dg.run_failure_sensor(
        name=f"failed_runs_by_{channel}",
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Sends an alert for each failed run.",
    )
    def failed(context: dg.RunFailureSensorContext) -> None:
        run = context.dagster_run
        steps = [_why(event.step_failure_data) for event in context.get_step_failure_events()]
        words = "\n".join(steps) or context.failure_event.message or "no reason was reported"
        send(settings, channel, of_failed_run(settings, run.job_name, run.run_id, words))

    return failed


def _why(failure: StepFailureData) -> str:
    """Give the message of a failed step, ours if we raised it."""
    ours = failure.user_failure_data
    if ours is not None and ours.description:
        return ours.description
    return failure.error.message.strip() if failure.error is not None else "no reason was reported"
