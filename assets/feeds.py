"""The steps that make a lane's assets: deliveries to tuples and quarantine, then to results.

A feed has two steps, one to load deliveries and one to evaluate them; a pair of joined feeds has
one, to evaluate. Each works through the requested partitions in order, in one run, and reports each
as soon as it is done. A step that fails has reported those before; the next run continues there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import dagster as dg

from assets.graph import evaluated, ingested, key
from assets.lanes import group_of
from assets.metadata import (
    Metadata,
    evaluated_metadata,
    ingest_metadata,
    lost_metadata,
    materializations,
    seconds_of,
)
from assets.resources import LakeAccess, plain_failures
from fencepost.text import counted
from pipelines.epochs.accounts import Account, accounts, without_deliveries
from pipelines.epochs.drive import Lake
from pipelines.epochs.partitions import PartitionReport, partitions
from pipelines.ingest import IngestReport
from pipelines.lanes import Lane, lane_named
from pipelines.project.settings import Feed, Settings
from pipelines.runs.run import take_in

WRITER = "lake"
"""The pool of those that write to the lake."""

AGAIN = dg.RetryPolicy(
    max_retries=2, delay=5, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS
)
"""A step may be repeated at any time: what it committed is recognised, and no row comes twice."""


class Evaluate(dg.Config):
    """How partitions are evaluated.

    again  also those that are up to date: verify their rows, replace them if different
    """

    again: bool = False


AFTER_FEEDS = {"dagster/priority": "-1"}
"""Of two steps that are ready, the one of joins comes second."""


def of_feed(settings: Settings, feed: Feed) -> list[dg.AssetsDefinition]:
    """Give both steps of a feed."""
    lane = lane_named(settings, feed.name)
    return [_ingest(settings, feed), _evaluate(settings, lane, f"crossings_of_{feed.name}")]


def of_joins(settings: Settings, lane: Lane) -> dg.AssetsDefinition:
    """Give the step of a pair of feeds."""
    return _evaluate(settings, lane, f"joins_of_{group_of(lane)}", AFTER_FEEDS)


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
        """Load everything that has landed, whichever partition it belongs to."""
        with plain_failures(), lake.writing(context.job_name) as opened:
            report = take_in(opened.store, opened.settings, opened.runner, feeds=[feed.name])
            _log(context, report)
            known = accounts(opened.store, feed.name)
        requested = context.partition_keys
        shown = {name: known.get(name, without_deliveries(feed.name, name)) for name in requested}
        lost = lost_metadata(settings, shown.values())
        for name, account in shown.items():
            _describe(context, name, ingest_metadata(feed, account, lost.get(name, {})))
        changed = _keys_loaded(report, known.values()) - set(requested)
        others = [known[name] for name in sorted(changed)]
        _log_changed(context, lane_named(settings, feed.name), others, context.selected_asset_keys)
        yield from (dg.MaterializeResult(spec.key) for spec in ingested(settings, feed))

    return ingest


def _evaluate(
    settings: Settings, lane: Lane, step: str, tags: Mapping[str, str] | None = None
) -> dg.AssetsDefinition:
    # Reported again: only now is it known what is late. What joins reject, their feeds reported.
    quarantine = [] if lane.joins else [key(lane, "quarantine")]

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
        """Evaluate the requested partitions in order, each from the state before it."""
        mine = context.selected_asset_keys
        done: list[str] = []
        with plain_failures(), lake.writing(context.job_name) as opened:
            before = accounts(opened.store, lane.name)
            try:
                for report in _reports(context, opened, lane, again=config.again):
                    _log_partition(context, report)
                    done.append(report.key)
            except Exception:  # what is only logged is lost when a step fails
                done_before = _these(opened, lane, done)
                yield from _changed(context, lane, done_before, [*mine, *quarantine])
                raise
            now = accounts(opened.store, lane.name)
        for name in done:
            account = now.get(name, without_deliveries(lane.name, name))
            _describe(context, name, evaluated_metadata(lane, account))
        _log_changed(context, lane, [now[name] for name in done if name in now], quarantine)
        changed = [a for name, a in now.items() if a != before.get(name) and name not in done]
        others = [account for account in changed if not account.stale]
        _log_changed(context, lane, others, [*mine, *quarantine])
        yield from (dg.MaterializeResult(spec.key) for spec in evaluated(settings, lane))

    return evaluate


def _reports(
    context: dg.AssetExecutionContext, opened: Lake, lane: Lane, *, again: bool
) -> Iterator[PartitionReport]:
    """Evaluate the requested partitions; none, while no query joins the feeds."""
    keys = context.partition_keys
    if lane in opened.lanes():
        yield from partitions(opened, lane, keys, again=again)
        return
    context.log.info(f"no query joins {lane} yet: nothing to evaluate")
    for name in sorted(keys):
        yield PartitionReport(lane, name, (), changed=False, proved=False, groups=())


def _these(opened: Lake, lane: Lane, names: Sequence[str]) -> list[Account]:
    known = accounts(opened.store, lane.name)
    return [known[name] for name in names if name in known]


def _describe(
    context: dg.AssetExecutionContext, name: str, by_asset: Mapping[dg.AssetKey, Metadata]
) -> None:
    for asset, metadata in by_asset.items():
        context.add_asset_metadata(metadata, asset_key=asset, partition_key=name)


def _log_changed(
    context: dg.AssetExecutionContext,
    lane: Lane,
    known: Iterable[Account],
    assets: Iterable[dg.AssetKey],
) -> None:
    """Log the partitions that the step changed and does not return."""
    for materialization in _changed(context, lane, known, assets):
        context.log_event(materialization)


def _changed(
    context: dg.AssetExecutionContext,
    lane: Lane,
    known: Iterable[Account],
    assets: Iterable[dg.AssetKey],
) -> Iterator[dg.AssetMaterialization]:
    """Give the current materialisations of partitions, of those that Dagster shows."""
    definition = context.assets_def.partitions_def
    here = [each for each in known if definition and definition.has_partition_key(each.key)]
    yield from materializations(lane, here, only=list(assets))


def _keys_loaded(report: IngestReport, known: Iterable[Account]) -> set[str]:
    loaded = {each.n for each in report.loaded}
    return {account.key for account in known if loaded & {each.n for each in account.deliveries}}


def _log(context: dg.AssetExecutionContext, report: IngestReport) -> None:
    context.log.info(
        f"{counted(len(report.loaded), 'delivery', 'deliveries')}: "
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
        context.log.info(f"{report.key}: nothing has arrived")
        return
    what = "evaluated" if report.changed else "up to date"
    if report.proved:
        what = "evaluated again, the same rows"
    counts = report.counts
    results = f"{counted(counts['accepted'], 'tuple')} → {report.lane.summary(counts)}"
    context.log.info(f"{report.key}: {what}: {results}")
    for group in report.groups if report.changed else ():
        context.log.info(f"{report.key}: {dict(seconds_of(group.seconds, len(group.epochs)))}")
