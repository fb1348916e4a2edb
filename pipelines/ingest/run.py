"""Loads what has landed: found, planned, written, committed, concluded, each exactly once.

A plan takes its numbers in one commit of `arrivals`, before a row is read; then tasks write data
files; then these are committed, and the plan is concluded. After a crash it is carried out again,
and commits already made are recognised by their evidence.

Law: after `recover`, every delivery that was planned is done or refused, and the tables are those
of a run without a crash. Deliveries found together are numbered by path, bytewise, whatever feed
they belong to and however many plans they make; a refusal has its number like every delivery. The
caller has recovered the lake before it ingests. With the lake's lock nobody else is at it; without,
each delivery is still planned once, by whoever is first.
"""

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa

from pipelines.ingest import delta_source
from pipelines.ingest.candidates import Candidate, ordered, still_new
from pipelines.ingest.deliveries import (
    IngestReport,
    Outcome,
    Planned,
    Progress,
    Rejection,
    first_row,
    no_report,
    unfinished,
)
from pipelines.ingest.execute import carry_out
from pipelines.ingest.hashing import hash_by_tasks
from pipelines.ingest.landing import KnownFiles, Looked, look
from pipelines.ingest.landing.look import HashAll, one_by_one
from pipelines.ingest.landing.news import Outside, outside
from pipelines.ingest.record import record_of
from pipelines.lake.crash_points import point
from pipelines.lake.sequence import ARRIVALS, take_numbers
from pipelines.lake.store import Store
from pipelines.planning.deliveries import Arrivals
from pipelines.project.settings import Feed, Settings
from pipelines.spark.runner import Runner
from schemas.arrivals import PLANNED, REFUSED


def ingest(
    store: Store,
    settings: Settings,
    runner: Runner,
    now: int,
    progress: Progress = no_report,
    *,
    feeds: Sequence[str] | None = None,
) -> IngestReport:
    """Load all that has landed and is complete, of these feeds or of all; `now` in µs.

    What cannot be loaded stays where it is, and ledger and report say why; the others are loaded.
    """
    report = IngestReport(progress)
    wanted: list[Candidate] = []
    for feed in map(settings.feeds.__getitem__, settings.feeds if feeds is None else feeds):
        looked = looked_for(store, feed, now, partial(hash_by_tasks, runner))
        wanted += [Candidate(delivery) for delivery in (*looked.found, *looked.refused)]
        if looked.waiting:
            report.waiting[feed.name] = looked.waiting
        if looked.passed_over:
            report.passed_over[feed.name] = looked.passed_over
    judge = partial(still_new, store, settings, now)
    take_all(store, settings, runner, wanted, judge, now, report)
    return report


def looked_for(store: Store, feed: Feed, now: int, hash_all: HashAll = one_by_one) -> Looked:
    """Find what has landed for a feed, given the ledger; changes nothing."""
    if feed.form == delta_source.FORM:
        return delta_source.look(feed, store.rows(ARRIVALS), now)
    return look(feed, store.fold(ARRIVALS, KnownFiles).of(feed.name), now, hash_all)


def left_outside(feed: Feed, arrivals: pa.Table, now: int) -> Outside:
    """Count what has landed for a feed and is not loaded, without opening a file."""
    if feed.form == delta_source.FORM:
        looked = delta_source.look(feed, arrivals, now)
        return Outside(len(looked.found), len(looked.waiting))
    return outside(feed, arrivals, now)


def recover(
    store: Store, settings: Settings, runner: Runner, progress: Progress = no_report
) -> IngestReport:
    """Finish what a crash left half done: every plan that is not concluded is carried out again."""
    report = IngestReport(progress)
    plans = unfinished(store.fold(ARRIVALS, Arrivals))
    for count, planned in enumerate(plans, 1):
        report.add_all(carry_out(store, settings, runner, planned, again=True))
        report.reach(count / len(plans))
    return report


MOST_BYTES = 1 << 30
MOST_DELIVERIES = 5_000
"""How much a plan holds, a single larger delivery aside: what a crash can cost."""


Judge = Callable[[Sequence[Candidate]], Sequence[Candidate]]
"""Gives what of these is still to be planned, by the ledger as it is now."""


def take_all(  # noqa: PLR0913  what is wanted and how it is judged, each in its own words
    store: Store,
    settings: Settings,
    runner: Runner,
    wanted: Sequence[Candidate],
    judge: Judge,
    now: int,
    report: IngestReport,
) -> None:
    """Plan deliveries and carry the plans out, one after the other; `now` is when they were found.

    What another run has planned meanwhile is left to it. The report is updated after each plan.
    """
    total, done = sum(each.size for each in wanted), 0
    for some in _bounded(ordered(wanted)):
        rows = _number(store, settings, some, judge, now)
        point("ingest.planned")
        report.add_all(_refused(rows))
        planned = [row for row in rows if row.row["state"] == PLANNED]
        if planned:
            report.add_all(carry_out(store, settings, runner, planned))
        done += sum(each.size for each in some)
        report.reach(done / total if total else 1.0)
    report.reach(1.0)


def _refused(rows: Iterable[Planned]) -> Iterator[tuple[Planned, Outcome]]:
    for each in rows:
        if each.row["state"] == REFUSED:
            why = Rejection(each.row["reason"], each.row["detail"])
            yield each, Outcome.refused(each.n, why)


def _bounded(wanted: Sequence[Candidate]) -> Iterator[list[Candidate]]:
    some: list[Candidate] = []
    size = 0
    for each in wanted:
        if some and (size + each.size > MOST_BYTES or len(some) == MOST_DELIVERIES):
            yield some
            some, size = [], 0
        some.append(each)
        size += each.size
    if some:
        yield some


def _number(
    store: Store, settings: Settings, wanted: Sequence[Candidate], judge: Judge, now: int
) -> list[Planned]:
    plan = uuid.uuid4().hex
    feeds = sorted({each.delivery.feed for each in wanted})
    bases = json.dumps({name: store.version(name) for name in (ARRIVALS, "quarantine", *feeds)})

    def numbered(first: int) -> pa.Table:
        arrivals = store.fold(ARRIVALS, Arrivals)
        records = {
            feed: record_of(settings.feeds[feed], arrivals.ties_of_last(feed)) for feed in feeds
        }
        rows = [
            first_row(
                each.delivery,
                plan=plan,
                found_at=now,
                bases=bases,
                declared=records[each.delivery.feed],
                lines=each.lines,
            )
            for each in judge(wanted)
        ]
        return store.as_table(ARRIVALS, [{**row, "n": first + k} for k, row in enumerate(rows)])

    planned = take_numbers(store, "plan", plan, ",".join(feeds), numbered)
    return [Planned(row) for row in planned.to_pylist()]
