"""What Dagster loads: one project, that of FENCEPOST_CONFIG or else of the nearest fencepost.toml.

Law: loading reads fencepost.toml and, of the lake, only when it was created; it starts no Spark and
imports nothing heavy.
"""

import dagster as dg

from assets import alerts, automation, check_runs, feeds, graph, jobs, marts, registry
from assets.checks import checks
from assets.lanes import pairs_of
from assets.resources import LakeAccess
from pipelines.project.settings import Settings, load


def definitions(settings: Settings) -> dg.Definitions:
    """Collect what a project has: a group per feed and per pair, and what belongs to none."""
    each, pairs = settings.feeds.values(), pairs_of(settings)
    asserted = checks(settings)
    return dg.Definitions(
        assets=[
            registry.queries(settings),
            *(graph.landing(feed) for feed in each),
            *(step for feed in each for step in feeds.of_feed(settings, feed)),
            *(feeds.of_joins(settings, lane) for lane in pairs),
            *(marts.of_feed(settings, feed) for feed in each),
            marts.report(settings),
        ],
        asset_checks=asserted,
        jobs=[
            *(jobs.of_feed(settings, feed) for feed in each),
            *(jobs.of_joins(settings, lane) for lane in pairs),
            *jobs.jobs(),
            check_runs.job(asserted),
        ],
        schedules=automation.schedules(settings),
        sensors=[
            *automation.sensors(settings),
            *alerts.sensors(settings),
            check_runs.sensor(settings, asserted),
        ],
        resources=_resources(settings),
        executor=dg.in_process_executor,
    )


def _resources(settings: Settings) -> dict[str, dg.ResourceDefinition]:
    """Give the resources of steps; no run can configure them, and nothing is pickled."""
    return {
        "lake": dg.ResourceDefinition(lambda _: LakeAccess(settings), config_schema={}),
        "io_manager": dg.IOManagerDefinition(dg.mem_io_manager.resource_fn, config_schema={}),
    }


@dg.definitions
def defs() -> dg.Definitions:
    """Load the project."""
    return definitions(load())
