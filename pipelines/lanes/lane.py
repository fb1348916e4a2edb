"""What each kind of lane needs, to be planned and to be done: that of a feed, and that of joins.

Law: both are planned by the same function and committed by the same; here is all that they differ
in.
"""

from collections.abc import Sequence
from pathlib import Path

from fencepost.lanes import feeds_of, sides_of
from fencepost.queries.columns import CROSSING, MATCH
from pipelines.execute.job import EPOCHS, TARGETS, FeedJob, Job
from pipelines.execute.joins.job import TARGETS as JOINED
from pipelines.execute.joins.job import JoinJob
from pipelines.execute.joins.share import LOGS as JOINED_LOGS
from pipelines.execute.share import LOGS, Answer, Share
from pipelines.execute.task import work as work_of_feed
from pipelines.lake.store import Store
from pipelines.planning.chain import Chain, Epoch
from pipelines.planning.deliveries import Arrivals, Delivery
from pipelines.planning.plan import Context
from pipelines.project.settings import Settings
from pipelines.registry import joins
from pipelines.registry.cache import (
    compiled_joins,
    compiled_queries,
    joins_fingerprint,
    load_queries,
)
from pipelines.spark.runner import Runner


def lanes(store: Store, settings: Settings) -> list[str]:
    """List the lanes of a lake: its feeds, and behind them the pairs that a join was ever over.

    A pair whose feeds are not both declared stands still: nothing arrives for one of them.
    """
    paired = [lane for lane in joins.lanes(store) if not undeclared(settings, lane)]
    return [*settings.feeds, *paired]


def undeclared(settings: Settings, lane: str) -> list[str]:
    """Name the feeds of a lane that fencepost.toml does not declare."""
    return [feed for feed in feeds_of(lane) if feed not in settings.feeds]


def context_of(  # noqa: PLR0913  the lake's two, and what of its ledgers was read already
    store: Store,
    settings: Settings,
    lane: str,
    arrivals: Arrivals,
    deliveries: Sequence[Delivery],
    plan: str,
    code: str,
) -> Context:
    """Gather what a plan is made of."""
    joined = sides_of(lane) is not None
    return Context(
        _lateness(settings, lane),
        arrivals.rising_versions(deliveries) if joined else arrivals.registry_version_at,
        lambda version: fingerprint(store, settings, lane, version),
        {table: store.version(table) for table in (EPOCHS, *targets(lane))},
        code,
        plan,
    )


def targets(lane: str) -> tuple[str, ...]:
    """Name the tables that a lane's epochs are committed to."""
    return JOINED if sides_of(lane) else TARGETS


def logs(lane: str) -> tuple[str, ...]:
    """Name those of them that hold what is remembered between epochs."""
    return JOINED_LOGS if sides_of(lane) else LOGS


def fingerprint(store: Store, settings: Settings, lane: str, version: int) -> str:
    """Name the content of a registry for a lane: of all the sets that stand there."""
    if version == 0:
        return ""
    if sides_of(lane):
        return joins_fingerprint(compiled_joins(store, settings, lane, version))
    crossings, matches = (
        load_queries(compiled_queries(store, settings, lane, version, kind))
        for kind in (CROSSING, MATCH)
    )
    return crossings.fingerprint + (f"+{matches.fingerprint}" if len(matches) else "")


def job_of(
    store: Store,
    settings: Settings,
    slots: int,
    chain: Chain,
    group: Sequence[Epoch],
    arrivals: Arrivals,
) -> Job:
    """Gather what a group needs."""
    lane = group[0].lane
    deliveries = arrivals.by_number
    before = chain.upto(group[0].epoch - 1)
    versions = {epoch.registry_version for epoch in group}
    if sides_of(lane) is None:
        return FeedJob(
            store,
            settings.axes,
            before,
            tuple(group),
            deliveries,
            slots,
            settings.feeds[lane].allowed_lateness,
            {version: _queries(store, settings, lane, version) for version in versions},
            {version: _matches(store, settings, lane, version) for version in versions},
        )
    stood = before.epochs[-1].registry_version if before.epochs else 0
    return JoinJob(
        store,
        settings.axes,
        before,
        tuple(group),
        deliveries,
        slots,
        _lateness(settings, lane),
        before.feed_watermarks,
        {version: _joins(store, settings, lane, version) for version in {stood, *versions}},
        stood,
        arrivals.registrations(stood, max(versions)),
    )


def answers_of(
    settings: Settings, store: Store, runner: Runner, job: Job, *, snapshot: bool | None = None
) -> list[Answer]:
    """Have the tasks of a job done, a feed's by the read path that the tables allow."""
    shares = job.shares(snapshot=snapshot)
    if isinstance(job, FeedJob):
        from pipelines.execute import spark_read

        if spark_read.is_chosen(settings, store, runner):
            return spark_read.answers(runner, [s for s in shares if isinstance(s, Share)])
        work = work_of_feed
    else:
        from pipelines.execute.joins.task import work  # with kernels that others do without
    return [Answer.from_json(line) for line in runner.run(work, [s.to_json() for s in shares])]


def _lateness(settings: Settings, lane: str) -> dict[str, int]:
    return {feed: settings.feeds[feed].allowed_lateness for feed in sides_of(lane) or (lane,)}


def _queries(store: Store, settings: Settings, lane: str, version: int) -> str | None:
    """Name the file with a lane's query set as of a registry version, made if need be."""
    return None if version == 0 else _below(store, compiled_queries(store, settings, lane, version))


def _matches(store: Store, settings: Settings, lane: str, version: int) -> str | None:
    """Name the file with a lane's `match` queries; None where none stands."""
    if version == 0:
        return None
    path = compiled_queries(store, settings, lane, version, MATCH)
    return _below(store, path) if len(load_queries(path)) else None


def _joins(store: Store, settings: Settings, lane: str, version: int) -> str | None:
    """Name the file with a lane's joins; None where no query was registered yet."""
    return None if version == 0 else _below(store, compiled_joins(store, settings, lane, version))


def _below(store: Store, path: Path) -> str:
    return str(path.relative_to(store.root))
