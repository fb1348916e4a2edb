"""What can be started by name: a feed's partitions, micro-batches, what is stale, maintenance.

evaluate_F   take in and evaluate partitions of the feed F
run_now      what `fencepost run` does: everything that has arrived, whichever feed
reevaluate   evaluate every stale partition, from the first on
maintain     what `fencepost maintain` does
"""

from collections.abc import Iterable, Mapping

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from assets.feeds import AGAIN, WRITER
from assets.graph import EVALUATED, key
from assets.partitions import of_feed as partitions_of_feed
from assets.partitions import shown
from assets.resources import LakeAccess, told_plainly
from assets.telling import materializations, staleness, table_of
from pipelines.epochs.accounts import Account, accounts
from pipelines.epochs.partitions import partitions, stale_keys
from pipelines.maintain import maintain as maintained
from pipelines.run import run
from pipelines.settings import Feed, Settings

Accounts = Mapping[str, Mapping[str, Account]]


def of_feed(feed: Feed) -> UnresolvedAssetJobDefinition:
    """Give the job that a feed's schedule and sensor start."""
    tables = (feed.name, "quarantine", *EVALUATED)
    return dg.define_asset_job(
        f"evaluate_{feed.name}",
        selection=dg.AssetSelection.assets(*(key(feed, table) for table in tables)),
        description=f"Take in what has landed for {feed.name}, and evaluate partitions of it.",
    )


def jobs() -> list[dg.JobDefinition]:
    """Give the jobs that belong to no feed."""
    return [run_now, reevaluate, maintain]


@dg.op(pool=WRITER, retry_policy=AGAIN, config_schema={})
def take_in_and_evaluate(
    context: dg.OpExecutionContext, lake: dg.ResourceParam[LakeAccess]
) -> None:
    """Take in and evaluate everything that has arrived, and tell the partitions it belongs to."""
    with told_plainly():
        before = _known(lake)
        report = run(
            lake.settings,
            lake.runner,
            command="dagster run_now",
            told=lambda doing, _: context.log.info(doing),
        )
    _tell(context, lake.settings, before, _known(lake))
    context.add_output_metadata(
        {"deliveries": len(report.ingested.taken), "seconds": round(report.seconds, 2)}
    )


@dg.op(pool=WRITER, retry_policy=AGAIN, config_schema={})
def evaluate_stale(context: dg.OpExecutionContext, lake: dg.ResourceParam[LakeAccess]) -> None:
    """Evaluate every stale partition anew, in order, and tell them."""
    with told_plainly():
        before = _known(lake)
    done: list[tuple[str, str]] = []
    with told_plainly(), lake.writing("reevaluate") as held:
        for name in lake.settings.feeds:
            for report in partitions(held, name, stale_keys(held, name)):
                context.log.info(f"{name} {report.key}: evaluated anew")
                done.append((name, report.key))
    _tell(context, lake.settings, before, _known(lake))
    context.add_output_metadata({"evaluated anew": table_of(("feed", "partition"), done)})


@dg.op(pool=WRITER, retry_policy=AGAIN, config_schema={})
def put_together(context: dg.OpExecutionContext, lake: dg.ResourceParam[LakeAccess]) -> None:
    """Put small files together, take out what no longer counts, delete old files."""
    with told_plainly(), lake.writing("maintain") as held:
        done = maintained(held.store, list(lake.settings.feeds), told=context.log.info)
    rows = [(name, before, after) for name, (before, after) in done.put_together.items()]
    context.add_output_metadata(
        {
            "files": table_of(("table", "files before", "after"), rows),
            "rows taken out": table_of(("table", "rows"), list(done.taken_out.items())),
            "old files deleted": done.deleted,
        }
    )


@dg.job(description="Take in and evaluate everything that has arrived, of every feed.")
def run_now() -> None:
    """Do what `fencepost run` does."""
    take_in_and_evaluate()


@dg.job(description="Evaluate every stale partition, from the first on.")
def reevaluate() -> None:
    """Bring up to date what a change of an earlier partition made stale."""
    evaluate_stale()


@dg.job(description="Put small files together, take out what no longer counts.")
def maintain() -> None:
    """Do what `fencepost maintain` does."""
    put_together()


def _known(lake: LakeAccess) -> Accounts:
    store = lake.store()
    return {name: accounts(store, name) for name in lake.settings.feeds}


def _tell(
    context: dg.OpExecutionContext, settings: Settings, before: Accounts, now: Accounts
) -> None:
    """Tell the partitions that are not what they were."""
    for name, feed in settings.feeds.items():
        if before[name] == now[name]:
            continue
        definition = partitions_of_feed(settings, feed)
        here = [each for each in changed(before[name], now[name]) if shown(definition, each.key)]
        for told in materializations(feed, here):
            context.log_event(told)
        context.instance.report_runless_asset_event(staleness(feed, now[name].values()))


def changed(before: Mapping[str, Account], now: Mapping[str, Account]) -> Iterable[Account]:
    """Give the accounts that are new or other than they were, stale ones aside."""
    return [
        account
        for name, account in now.items()
        if account != before.get(name) and not account.stale
    ]
