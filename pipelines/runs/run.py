"""One run over a lake: unfinished work is finished, what has landed is loaded and evaluated.

`fencepost run` does it once, `watch` again and again, Dagster for the partitions it requests.

Law: a run may end at any moment; the next one continues there, and no row is duplicated or
lost.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from pipelines import ingest
from pipelines.epochs.drive import GroupReport, Lake, advance, finish
from pipelines.files.losses import Loss
from pipelines.ingest.deliveries import IngestReport
from pipelines.ingest.refusals import Unanswered, unanswered
from pipelines.lake.lock import WriteLock
from pipelines.lake.store import Store
from pipelines.progress import Progress, no_progress
from pipelines.project.lake import PATIENCE, open_to_write
from pipelines.project.settings import Settings
from pipelines.registry import commit as registry
from pipelines.registry.queries import is_watched
from pipelines.runs.tidy import tidy
from pipelines.spark.runner import HereRunner, Runner, SparkRunner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REJECTIONS = ("late", "duplicate", "conflict")
"""The counts of an epoch that are of rows it rejected."""

PATIENCE_WITH_FILES = 10.0
"""Seconds at most to wait for files that have just landed."""


@dataclass
class RunReport:
    """The outcome of a run.

    unanswered  the unanswered refused deliveries, of this run and of earlier ones
    unwatched   by feed: tuples of this run that no registered query watched
    losses      what its deliveries lost, those that lost any row
    unpublished a line for each catalog that is not up to date
    """

    ingested: IngestReport = field(default_factory=IngestReport)
    groups: list[GroupReport] = field(default_factory=list)
    unanswered: list[Unanswered] = field(default_factory=list)
    unwatched: dict[str, int] = field(default_factory=dict)
    losses: list[Loss] = field(default_factory=list)
    unpublished: list[str] = field(default_factory=list)
    seconds: float = 0.0


def runner_of(settings: Settings, *, quick: bool = False) -> Runner:
    """Give the runner that the settings name; Spark is started when it is first needed."""
    if settings.runner == "here":
        return HereRunner()
    return SparkRunner(session_of(settings, quick=quick))


def session_of(settings: Settings, *, quick: bool = True) -> Callable[[], "SparkSession"]:
    """Give what starts the session of this process, or returns the one that runs."""

    def start() -> "SparkSession":
        from pipelines.spark.session import spark

        return spark(quick=quick, **settings.session)

    return start


@contextmanager
def writing(
    settings: Settings,
    command: str,
    runner: Runner,
    timeout: float = PATIENCE,
    *,
    store: Store | None = None,
) -> Iterator[tuple[Lake, WriteLock]]:
    """Lock a lake to write to it, with unfinished work finished; a repeated caller's by `store`."""
    finish_all = partial(recover, settings=settings, runner=runner)
    with open_to_write(settings, command, timeout, recover=finish_all, store=store) as opened:
        store, lock = opened
        yield Lake.of(store, settings, runner), lock


def recover(store: Store, settings: Settings, runner: Runner) -> list[GroupReport]:
    """Finish what an earlier process left unfinished: registrations, deliveries, epochs."""
    registry.recover(store)
    ingest.recover(store, settings, runner)
    lake = Lake.of(store, settings, runner)
    finished = [finish(lake, lane) for lane in lake.lanes()]
    return [report for report in finished if report is not None]


def run(  # noqa: PLR0913  by name, and most of them seldom
    settings: Settings,
    runner: Runner,
    *,
    command: str = "fencepost run",
    progress: Progress = no_progress,
    stopped: Callable[[], bool] = lambda: False,
    timeout: float = PATIENCE,
    store: Store | None = None,
    patient: bool = True,
) -> RunReport:
    """Load and evaluate everything that has arrived.

    Between two groups of epochs it checks whether to stop, and lets waiting processes in. A
    repeated caller may keep the `store`, with all that was read of the ledgers, and need not be
    `patient` with files that landed a moment ago: the next run loads them.
    """
    started = time.perf_counter()
    report = RunReport()
    progress("waiting for the lake", 0.0)
    with open_to_write(settings, command, timeout, store=store) as opened:
        store, lock = opened
        progress("finishing what was begun", 0.0)
        report.groups += recover(store, settings, runner)
        report.ingested = take_in(store, settings, runner, progress=progress, patient=patient)
        lake = Lake.of(store, settings, runner)
        for group in _groups(lake):
            report.groups.append(group)
            progress(f"evaluating {group.lane}, epoch {group.epochs[-1].epoch}", 0.5)
            if stopped() or lock.wanted():
                break
        report.unanswered = unanswered(store)
        report.unwatched = _unwatched(store, report.groups)
        tidy(store, settings.keep_history)
    report.losses = losses_of(settings, report.ingested, report.groups)
    report.unpublished = unpublished(settings, report.groups)
    report.seconds = time.perf_counter() - started
    return report


def take_in(
    store: Store,
    settings: Settings,
    runner: Runner,
    *,
    feeds: Sequence[str] | None = None,
    progress: Progress = no_progress,
    patient: bool = True,
) -> IngestReport:
    """Load what has landed, of these feeds or of all; the caller holds the lock.

    If `patient`, wait for files that have only just landed.
    """

    def once() -> IngestReport:
        return ingest.ingest(store, settings, runner, time.time_ns() // 1000, feeds=feeds)

    progress("reading what has landed", 0.0)
    report = once()
    if patient and report.waiting:
        progress("waiting for files that have only just landed", 0.0)
        time.sleep(_settling(settings, report))
        report.add(once())
    return report


def losses_of(
    settings: Settings, ingested: IngestReport, groups: Iterable[GroupReport]
) -> list[Loss]:
    """Say what the deliveries lost that were loaded or evaluated, in their order."""
    lossy = {each.n for each in ingested.loaded if each.rows > each.tuples}
    for group in groups:
        for epoch in () if group.lane.joins else group.epochs:
            if any(epoch.counts[reason] for reason in REJECTIONS):
                lossy |= {*epoch.arrivals}
    if not lossy:
        return []
    from pipelines.serve.losses import losses

    return list(losses(settings, lossy).values())


def unpublished(settings: Settings, groups: Iterable[GroupReport]) -> list[str]:
    """Bring the catalogs up to date that the settings name; say which are not."""
    if not settings.publish:
        return []
    from pipelines.serve.publish import keep_up

    feeds = {feed.name for group in groups if not group.lane.joins for feed in group.lane.feeds}
    return [*keep_up(settings, sorted(feeds), session_of(settings))]


def _groups(lake: Lake) -> Iterator[GroupReport]:
    """Evaluate group after group, lane after lane."""
    for lane in lake.lanes():
        yield from advance(lake, lane)


def _unwatched(store: Store, groups: Sequence[GroupReport]) -> dict[str, int]:
    """Count the tuples of feeds that no query watches or joins."""
    accepted: Counter[str] = Counter()
    for group in groups:
        if not group.lane.joins:  # which load what their feeds have loaded
            accepted[group.lane.name] += group.counts["accepted"]
    return {feed: many for feed, many in accepted.items() if many and not is_watched(store, feed)}


def _settling(settings: Settings, report: IngestReport) -> float:
    """Compute how many seconds to wait until what has just landed is complete."""
    settles = (settings.feeds[name].settle / 1e6 for name in report.waiting)
    return min(max(settles), PATIENCE_WITH_FILES)
