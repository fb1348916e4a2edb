"""What can be started by name: a lane's partitions, micro-batches, what is stale, maintenance.

evaluate_F      load and evaluate partitions of the feed F, and of its joins
evaluate_F_X_G  load and evaluate partitions of both feeds, and of their joins
run_now         what `fencepost run` does: everything new, for every feed
reevaluate      evaluate every stale partition, oldest first
maintain        what `fencepost maintain` does
"""

from collections.abc import Iterable, Mapping, Sequence

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from assets.feeds import AGAIN, WRITER
from assets.graph import key
from assets.lanes import assets_of, group_of, pairs_of
from assets.metadata import materializations, staleness, table_of
from assets.partitions import of_feed as partitions_of_feed
from assets.partitions import shown
from assets.refusals import readability
from assets.resources import LakeAccess, plain_failures
from fencepost.text import counted
from pipelines.epochs.accounts import Account, accounts
from pipelines.epochs.partitions import partitions, stale_keys
from pipelines.lanes import Lane, declared_lanes, lane_named
from pipelines.progress import Progress
from pipelines.project.settings import Feed, Settings
from pipelines.runs.maintain import maintain as maintained
from pipelines.runs.run import run

Accounts = Mapping[str, Mapping[str, Account]]


def of_feed(settings: Settings, feed: Feed) -> UnresolvedAssetJobDefinition:
    """Give the job that a feed's schedule and sensor start; its joins go with it."""
    joins = pairs_of(settings, feed)
    behind = f" Then evaluate {' and '.join(lane.name for lane in joins)}." if joins else ""
    return dg.define_asset_job(
        f"evaluate_{feed.name}",
        selection=dg.AssetSelection.assets(*_of_feed(settings, feed), *_of_lanes(joins)),
        description=f"Load what has landed for {feed.name} and evaluate its partitions.{behind}",
    )


def of_joins(settings: Settings, lane: Lane) -> UnresolvedAssetJobDefinition:
    """Give the job that evaluates both feeds of a pair, and their joins."""
    feeds = [key for feed in lane.feeds for key in _of_feed(settings, feed)]
    names = " and ".join(feed.name for feed in lane.feeds)
    return dg.define_asset_job(
        f"evaluate_{group_of(lane)}",
        selection=dg.AssetSelection.assets(*feeds, *_of_lanes([lane])),
        description=f"Load what has landed for {names} and evaluate their partitions and those of "
        "their joins.",
    )


def _of_feed(settings: Settings, feed: Feed) -> list[dg.AssetKey]:
    landed = [key(feed, table) for table in (feed.name, "quarantine")]
    return [*landed, *_of_lanes([lane_named(settings, feed.name)])]


def _of_lanes(some: Sequence[Lane]) -> list[dg.AssetKey]:
    return [key(lane, table) for lane in some for table in assets_of(lane)]


def jobs() -> list[dg.JobDefinition]:
    """Give the jobs that belong to no feed."""
    return [run_now, reevaluate, maintain]


def _logged(context: dg.OpExecutionContext) -> Progress:
    """Give a progress that goes into the run's log."""
    return lambda doing, _: context.log.info(doing)


@dg.op(pool=WRITER, retry_policy=AGAIN, config_schema={})
def load_and_evaluate(context: dg.OpExecutionContext, lake: dg.ResourceParam[LakeAccess]) -> None:
    """Load and evaluate everything new, and report the partitions that changed."""
    with plain_failures():
        before = _known(lake)
        report = run(
            lake.settings,
            lake.runner,
            command="dagster run_now",
            progress=_logged(context),
        )
    _report_changes(context, lake.settings, before, _known(lake))
    for refused in report.unanswered:
        context.log.warning(f"unanswered: {refused.name}: {refused.reason}: {refused.detail}")
    for feed, many in report.unwatched.items():
        context.log.warning(f"{counted(many, 'tuple')}, no rule is registered for '{feed}'")
    for line in report.unpublished:
        context.log.warning(line)
    for evaluation in readability(context.instance, lake.settings, lake.store()):
        context.instance.report_runless_asset_event(evaluation)
    context.add_output_metadata(
        {
            "deliveries": len(report.ingested.loaded),
            "refused deliveries, unanswered": len(report.unanswered),
            "seconds": round(report.seconds, 2),
        }
    )


@dg.op(pool=WRITER, retry_policy=AGAIN, config_schema={})
def evaluate_stale(context: dg.OpExecutionContext, lake: dg.ResourceParam[LakeAccess]) -> None:
    """Evaluate every stale partition again, in order, and report them."""
    with plain_failures():
        before = _known(lake)
    done: list[tuple[str, str]] = []
    with plain_failures(), lake.writing("reevaluate") as opened:
        for lane in opened.lanes():
            for report in partitions(opened, lane, stale_keys(opened, lane)):
                context.log.info(f"{lane} {report.key}: re-evaluated")
                done.append((lane.name, report.key))
    _report_changes(context, lake.settings, before, _known(lake))
    context.add_output_metadata({"re-evaluated": table_of(("feed, or joins", "partition"), done)})


@dg.op(pool=WRITER, retry_policy=AGAIN, config_schema={})
def compact(context: dg.OpExecutionContext, lake: dg.ResourceParam[LakeAccess]) -> None:
    """Compact small files, remove obsolete rows, delete old files."""
    with plain_failures(), lake.writing("maintain") as opened:
        done = maintained(opened.store, lake.settings, progress=_logged(context))
    rows = [(name, before, after) for name, (before, after) in done.compacted.items()]
    context.add_output_metadata(
        {
            "files": table_of(("table", "files before", "after"), rows),
            "rows removed": table_of(("table", "rows"), list(done.deleted_rows.items())),
            "old files deleted": done.deleted,
        }
    )


@dg.job(description="Load and evaluate everything new, for every feed.")
def run_now() -> None:
    """Do what `fencepost run` does."""
    load_and_evaluate()


@dg.job(description="Evaluate every stale partition, oldest first.")
def reevaluate() -> None:
    """Bring up to date what a change in an earlier partition made stale."""
    evaluate_stale()


@dg.job(description="Compact small files and remove obsolete rows.")
def maintain() -> None:
    """Do what `fencepost maintain` does."""
    compact()


def _known(lake: LakeAccess) -> Accounts:
    store = lake.store()
    return {lane.name: accounts(store, lane.name) for lane in declared_lanes(lake.settings)}


def _report_changes(
    context: dg.OpExecutionContext, settings: Settings, before: Accounts, now: Accounts
) -> None:
    """Report the partitions that changed."""
    for lane in declared_lanes(settings):
        known = now[lane.name]
        if before[lane.name] == known:
            continue
        definition = partitions_of_feed(settings, lane.feeds[0])
        here = [each for each in changed(before[lane.name], known) if shown(definition, each.key)]
        for materialization in materializations(lane, here):
            context.log_event(materialization)
        for each in staleness(lane, known.values()):
            context.instance.report_runless_asset_event(each)


def changed(before: Mapping[str, Account], now: Mapping[str, Account]) -> Iterable[Account]:
    """Give the accounts that are new or changed, except stale ones."""
    return [
        account
        for name, account in now.items()
        if account != before.get(name) and not account.stale
    ]
