"""What has landed, taken in: found, planned, written, committed, concluded, each exactly once.

A plan takes its numbers in one commit of `arrivals`, before a row is read; then tasks write data
files; then these are committed, and the plan is concluded. After a crash it is carried out again,
and whatever stands already is found by its evidence.

Law: after `recover`, every delivery that was planned is done or refused, and the tables are those
of a run without a crash. The caller holds the lake's lock, and has recovered before it ingests.
"""

from collections.abc import Sequence

import pyarrow as pa

from pipelines.ingest import delta_source
from pipelines.ingest.deliveries import unfinished
from pipelines.ingest.execute import carry_out
from pipelines.ingest.landing import KnownFiles, Looked, look
from pipelines.ingest.landing.news import Outside, outside
from pipelines.ingest.plan import Wanted, take_all
from pipelines.ingest.report import IngestReport, Progress, quiet
from pipelines.lake.sequence import ARRIVALS
from pipelines.lake.store import Store
from pipelines.planning.deliveries import Arrivals
from pipelines.project.settings import Feed, Settings
from pipelines.spark.runner import Runner


def ingest(
    store: Store,
    settings: Settings,
    runner: Runner,
    now: int,
    progress: Progress = quiet,
    *,
    feeds: Sequence[str] | None = None,
) -> IngestReport:
    """Take in all that has landed and is complete, of these feeds or of all; `now` in µs.

    What cannot be taken stays where it is, and ledger and report say why; everything else goes on.
    """
    report = IngestReport(progress)
    wanted: list[Wanted] = []
    for feed in map(settings.feeds.__getitem__, settings.feeds if feeds is None else feeds):
        looked = looked_for(store, feed, now)
        wanted += [Wanted(delivery) for delivery in (*looked.found, *looked.refused)]
        if looked.waiting:
            report.waiting[feed.name] = looked.waiting
        if looked.passed_over:
            report.passed_over[feed.name] = looked.passed_over
    take_all(store, settings, runner, wanted, now, report)
    return report


def looked_for(store: Store, feed: Feed, now: int) -> Looked:
    """Say what has landed for a feed, by what the ledger knows; changes nothing."""
    if feed.form == delta_source.FORM:
        return delta_source.look(feed, store.rows(ARRIVALS), now)
    return look(feed, store.fold(ARRIVALS, KnownFiles).of(feed.name), now)


def left_outside(feed: Feed, arrivals: pa.Table, now: int) -> Outside:
    """Count what has landed for a feed and is not taken in, without opening a file."""
    if feed.form == delta_source.FORM:
        looked = delta_source.look(feed, arrivals, now)
        return Outside(len(looked.found), len(looked.waiting))
    return outside(feed, arrivals, now)


def recover(
    store: Store, settings: Settings, runner: Runner, progress: Progress = quiet
) -> IngestReport:
    """Finish what a crash left half done: every plan that is not concluded is carried out again."""
    report = IngestReport(progress)
    plans = unfinished(store.fold(ARRIVALS, Arrivals))
    for count, planned in enumerate(plans, 1):
        report.add_all(carry_out(store, settings, runner, planned, again=True))
        report.reach(count / len(plans))
    return report
