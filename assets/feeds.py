"""What is made of deliveries: tuples and quarantine, then what is found, and the state.

A feed has a step for the one and a step for the other; a pair of feeds that are joined has one,
for what is found. All take the partitions asked for in one run and in order, and tell each as soon
as it is done. A step that fails has told those before it; the next run goes on behind them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import dagster as dg

from assets.graph import evaluated, ingested, key
from assets.lanes import Lane
from assets.resources import LakeAccess, told_plainly
from assets.telling import (
    Metadata,
    evaluated_metadata,
    ingest_metadata,
    materializations,
    seconds_of,
)
from fencepost.lanes import sides_of
from fencepost.text import counted
from pipelines.epochs.accounts import Account, accounts, without_deliveries
from pipelines.epochs.drive import Lake
from pipelines.epochs.partitions import PartitionReport, partitions
from pipelines.ingest import IngestReport
from pipelines.lanes.lane import lanes as all_lanes
from pipelines.project.settings import Feed, Settings
from pipelines.runs.run import take_in

WRITER = "lake"
"""The pool of those that write to the lake."""

AGAIN = dg.RetryPolicy(
    max_retries=2, delay=5, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS
)
"""A step may be repeated at any time: what it committed is found, and nothing comes twice."""


OF_FEED = {"I": "entered", "O": "left", "matches": "matched"}
OF_JOINS = {"pairs": "paired", "+1": "came_in", "-1": "went_out"}
"""What is logged of a partition: the count's name, by what it is called."""


class Evaluate(dg.Config):
    """How partitions are evaluated.

    again  also those that are up to date: prove that the rows stand, or replace them
    """

    again: bool = False


AFTER_FEEDS = {"dagster/priority": "-1"}
"""Of two steps that may be done, the one of joins comes second."""


def of_feed(settings: Settings, feed: Feed) -> list[dg.AssetsDefinition]:
    """Give both steps of a feed."""
    lane = Lane.of_feed(feed)
    return [_ingest(settings, feed), _evaluate(settings, lane, f"crossings_of_{lane.name}")]


def of_joins(settings: Settings, lane: Lane) -> dg.AssetsDefinition:
    """Give the step of a pair of feeds."""
    return _evaluate(settings, lane, f"joins_of_{lane.name}", AFTER_FEEDS)


def _ingest(settings: Settings, feed: Feed) -> dg.AssetsDefinition:
    @dg.multi_asset(
        name=f"arrivals_of_{feed.name}",
        specs=ingested(settings, feed),
        pool=WRITER,
        retry_policy=AGAIN,
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def ingest(
        context: dg.AssetExecutionContext, lake: dg.ResourceParam[LakeAccess]
    ) -> Iterator[dg.MaterializeResult[None]]:
        """Take in all that has landed, whichever partition it belongs to."""
        with told_plainly(), lake.writing(context.job_name) as held:
            report = take_in(held.store, held.settings, held.runner, feeds=[feed.name])
            _log(context, report)
            known = accounts(held.store, feed.name)
        asked = context.partition_keys
        for name in asked:
            account = known.get(name, without_deliveries(feed.name, name))
            _describe(context, name, ingest_metadata(feed, account))
        changed = _keys_taken(report, known.values()) - set(asked)
        others = [known[name] for name in sorted(changed)]
        _tell(context, Lane.of_feed(feed), others, context.selected_asset_keys)
        yield from (dg.MaterializeResult(spec.key) for spec in ingested(settings, feed))

    return ingest


def _evaluate(
    settings: Settings, lane: Lane, step: str, tags: Mapping[str, str] | None = None
) -> dg.AssetsDefinition:
    # Told anew: what is late is known only now. What joins turn away, their feeds have told.
    turned_away = [] if lane.joins else [key(lane, "quarantine")]

    @dg.multi_asset(
        name=step,
        specs=evaluated(settings, lane),
        op_tags=tags,
        pool=WRITER,
        retry_policy=AGAIN,
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def evaluate(
        context: dg.AssetExecutionContext, lake: dg.ResourceParam[LakeAccess], config: Evaluate
    ) -> Iterator[dg.MaterializeResult[None] | dg.AssetMaterialization]:
        """Evaluate the partitions asked for, in order, each from where every stream stood."""
        mine = context.selected_asset_keys
        done: list[str] = []
        with told_plainly(), lake.writing(context.job_name) as held:
            before = accounts(held.store, lane.lane)
            try:
                for report in _reports(context, held, lane, again=config.again):
                    _log_partition(context, report)
                    done.append(report.key)
            except Exception:  # what is only logged is lost with a step that fails
                done_before = _these(held, lane, done)
                yield from _changed(context, lane, done_before, [*mine, *turned_away])
                raise
            now = accounts(held.store, lane.lane)
        for name in done:
            account = now.get(name, without_deliveries(lane.lane, name))
            _describe(context, name, evaluated_metadata(lane, account))
        _tell(context, lane, [now[name] for name in done if name in now], turned_away)
        changed = [a for name, a in now.items() if a != before.get(name) and name not in done]
        others = [account for account in changed if not account.stale]
        _tell(context, lane, others, [*mine, *turned_away])
        yield from (dg.MaterializeResult(spec.key) for spec in evaluated(settings, lane))

    return evaluate


def _reports(
    context: dg.AssetExecutionContext, held: Lake, lane: Lane, *, again: bool
) -> Iterator[PartitionReport]:
    """Evaluate the partitions asked for; nothing, while no query joins the feeds."""
    keys = context.partition_keys
    if lane.lane in all_lanes(held.store, held.settings):
        yield from partitions(held, lane.lane, keys, again=again)
        return
    context.log.info(f"no query joins {lane.lane} yet: nothing is to be evaluated")
    for name in sorted(keys):
        yield PartitionReport(lane.lane, name, (), changed=False, proved=False, groups=())


def _these(held: Lake, lane: Lane, names: Sequence[str]) -> list[Account]:
    known = accounts(held.store, lane.lane)
    return [known[name] for name in names if name in known]


def _describe(
    context: dg.AssetExecutionContext, name: str, told: Mapping[dg.AssetKey, Metadata]
) -> None:
    for asset, metadata in told.items():
        context.add_asset_metadata(metadata, asset_key=asset, partition_key=name)


def _tell(
    context: dg.AssetExecutionContext,
    lane: Lane,
    known: Iterable[Account],
    assets: Iterable[dg.AssetKey],
) -> None:
    """Tell partitions that the step changed and does not give in the end."""
    for told in _changed(context, lane, known, assets):
        context.log_event(told)


def _changed(
    context: dg.AssetExecutionContext,
    lane: Lane,
    known: Iterable[Account],
    assets: Iterable[dg.AssetKey],
) -> Iterator[dg.AssetMaterialization]:
    """Give partitions as they stand now; Dagster does not show all that there are."""
    definition = context.assets_def.partitions_def
    here = [each for each in known if definition and definition.has_partition_key(each.key)]
    yield from materializations(lane, here, only=list(assets))


def _keys_taken(report: IngestReport, known: Iterable[Account]) -> set[str]:
    taken = {each.n for each in report.taken}
    return {account.key for account in known if taken & {each.n for each in account.deliveries}}


def _log(context: dg.AssetExecutionContext, report: IngestReport) -> None:
    context.log.info(
        f"{counted(len(report.taken), 'delivery', 'deliveries')}: "
        f"{counted(report.rows, 'row')} read = {counted(report.tuples, 'tuple')} + "
        f"{report.malformed + report.future:,} quarantined"
    )
    for refused in report.refused:
        context.log.warning(f"{refused.feed}/{refused.path}: {refused.reason}: {refused.detail}")
    for paths in report.waiting.values():
        context.log.warning(f"not complete yet, left for the next run: {', '.join(paths)}")
    for whys in report.passed_over.values():
        for why in whys:
            context.log.warning(why)


def _log_partition(context: dg.AssetExecutionContext, report: PartitionReport) -> None:
    if not report.epochs:
        context.log.info(f"{report.key}: nothing has arrived for it")
        return
    what = "evaluated" if report.changed else "up to date"
    if report.proved:
        what = "evaluated once more, the same rows"
    counts = report.counts
    found = OF_JOINS if sides_of(report.lane) else OF_FEED
    said = " · ".join(f"{words} {counts[name]:,}" for words, name in found.items())
    context.log.info(f"{report.key}: {what}: {counted(counts['accepted'], 'tuple')} → {said}")
    for group in report.groups if report.changed else ():
        context.log.info(f"{report.key}: {dict(seconds_of(group.seconds, len(group.epochs)))}")
