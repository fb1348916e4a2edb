"""Refused deliveries and quarantined rows, read again: after a declaration or a file was fixed.

A refused delivery is planned again under a new number; so are the rows in quarantine that
were malformed or from the future, as a delivery that names the same files and only these rows of
them. What is still wrong is quarantined again, under the new number.

Law: no row is loaded twice. A row that a later arrival retried is that arrival's from then on.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.errors import InputError
from fencepost.text import did_you_mean
from fencepost.tuples import Int64s
from pipelines.disk.errors import refuse_failing
from pipelines.ingest import delta_source
from pipelines.ingest.candidates import Candidate
from pipelines.ingest.deliveries import (
    REWRITTEN,
    UNREADABLE,
    UPDATES,
    VANISHED,
    IngestReport,
    Planned,
    Rejection,
    Runs,
)
from pipelines.ingest.execute import same
from pipelines.ingest.landing import Known, LandedDelivery, NewDelivery, key_of_time
from pipelines.ingest.landing.contents import content_of, file_at, hash_of
from pipelines.ingest.landing.folder import File
from pipelines.ingest.recount import quarantined
from pipelines.ingest.refusals import REPEAT, refuse_unnamed, unanswered
from pipelines.ingest.run import take_all
from pipelines.lake.sequence import ARRIVALS, latest
from pipelines.lake.store import Store
from pipelines.project.settings import Feed, Settings
from pipelines.spark.runner import Runner
from schemas.arrivals import DELIVERY, DONE, REFUSED

OF_ROWS = ("malformed", "future")
OF_DELIVERIES = (UNREADABLE, VANISHED, REWRITTEN)
ON_REQUEST = ("changed", REPEAT, UPDATES)
"""Reasons that are retried only where they are named: to load such a delivery is a decision."""

USUAL = (*OF_ROWS, *OF_DELIVERIES)
ELSEWHERE = {
    "no_key": "rename the file so that it names its hour or day, and it is loaded as a new one",
    "late": "a late tuple stays out; allowed_lateness applies to later ones only",
    "duplicate": "the stream has the tuple already",
    "conflict": "the stream has a tuple of that time already, and the first one counts",
}


def retry(  # noqa: PLR0913  by name, and most of them seldom
    store: Store,
    settings: Settings,
    runner: Runner,
    now: int,
    *,
    feed: str | None = None,
    reasons: Collection[str] = USUAL,
    names: Collection[str] = (),
) -> IngestReport:
    """Retry what was refused or quarantined for these reasons; the caller has the lock.

    One feed, or all of them; with `names`, each FEED/PATH, only of those deliveries, and then of
    dismissed ones too. `now`, in µs, is the clock that `future` is judged by this time.
    """
    _refuse_unknown(reasons)
    report = IngestReport()
    rows = latest(store.rows(ARRIVALS))
    deliveries = rows.filter(pc.field("kind") == DELIVERY)
    refuse_unnamed(names, deliveries)
    open_refusals = {each.n for each in unanswered(store, dismissed_too=bool(names))}
    wanted: list[Candidate] = []
    for one in _feeds(settings, feed):
        ledger = _Ledger.of(one, deliveries, store.rows(ARRIVALS), now)
        ledger = replace(ledger, names=frozenset(names), unanswered=open_refusals)
        wanted += _deliveries(ledger, reasons)
        wanted += _rows(store, ledger, [reason for reason in OF_ROWS if reason in reasons])
        if ledger.passed_over:
            report.passed_over[one.name] = ledger.passed_over
    judge = partial(_still_open, store, max(rows["n"].to_pylist(), default=0))
    take_all(store, settings, runner, wanted, judge, now, report)
    return report


def _still_open(store: Store, since: int, some: Sequence[Candidate]) -> list[Candidate]:
    """Leave out what another retry has planned since, under a number above `since`."""
    later = store.rows(ARRIVALS).filter((pc.field("n") > since) & (pc.field("kind") == DELIVERY))
    others = [Planned(row) for row in later.to_pylist()]
    return [each for each in some if not any(_is_in_work(each, other) for other in others)]


def _is_in_work(wanted: Candidate, other: Planned) -> bool:
    """Whether an arrival retries what is to be retried, or some of its rows."""
    if other.feed != wanted.delivery.feed or (wanted.lines is None) != (other.row["lines"] is None):
        return False
    if wanted.lines is None:
        same = other.path == wanted.delivery.path
        return same or not set(other.files).isdisjoint(wanted.delivery.files)
    if (other.path, other.row["content"]) != (wanted.delivery.path, wanted.delivery.content):
        return False
    return any(
        _overlap([*runs, *(other.lines_of(place) or ())]) for place, runs in enumerate(wanted.lines)
    )


def _overlap(runs: Runs) -> bool:
    ascending = sorted(runs)
    return any(then[0] <= one[1] for one, then in pairwise(ascending))


def _refuse_unknown(reasons: Collection[str]) -> None:
    known = (*USUAL, *ON_REQUEST)
    for reason in reasons:
        if reason in ELSEWHERE:
            raise InputError(f"'{reason}' cannot be retried: {ELSEWHERE[reason]}")
        if reason not in known:
            raise InputError(
                f"unknown reason '{reason}': one of {', '.join(known)} was expected."
                f"{did_you_mean(reason, known)}"
            )


def _feeds(settings: Settings, name: str | None) -> list[Feed]:
    if name is None:
        return list(settings.feeds.values())
    if name not in settings.feeds:
        raise InputError(
            f"unknown feed '{name}': {', '.join(settings.feeds)} are declared."
            f"{did_you_mean(name, settings.feeds)}"
        )
    return [settings.feeds[name]]


@dataclass(frozen=True)
class _Ledger:
    """A feed's deliveries by number, from the ledger; and the key that a new one gets.

    names       if any: only these deliveries, each FEED/PATH
    unanswered  the refused deliveries that may be retried
    """

    feed: Feed
    by_number: Mapping[int, Planned]
    known: Known
    now_key: str
    names: Collection[str] = frozenset()
    unanswered: Collection[int] = frozenset()
    passed_over: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, feed: Feed, deliveries: pa.Table, arrivals: pa.Table, now: int) -> "_Ledger":
        own = deliveries.filter(pc.field("lane") == feed.name).to_pylist()
        known = Known.of(arrivals, feed.name)
        key = max(known.newest_key, key_of_time(now, feed.partition))
        return cls(feed, {row["n"]: Planned(row) for row in own}, known, key)

    def key(self, delivery: Planned) -> str:
        """Give the partition of a retried delivery: that of its path, or the current one."""
        return str(delivery.row["partition_key"]) if self.feed.partition_in_path else self.now_key

    def is_named(self, delivery: Planned) -> bool:
        """Whether a delivery is among those that were named."""
        return not self.names or f"{delivery.feed}/{delivery.path}" in self.names

    def pass_over(self, delivery: Planned, why: str) -> None:
        """Note why something is not retried."""
        self.passed_over.append(f"delivery {delivery.n}, {delivery.path}: {why}")


def _deliveries(ledger: _Ledger, reasons: Collection[str]) -> Iterator[Candidate]:
    """Find the refused deliveries; if a file was refused several times, the newest counts."""
    claimed: set[str] = set()
    for n in sorted(ledger.by_number, reverse=True):
        delivery = ledger.by_number[n]
        row = delivery.row
        if row["lines"] is not None:
            continue
        files = [file for file in delivery.files if file not in claimed]
        claimed.update(delivery.files)
        if row["state"] != REFUSED or row["reason"] not in reasons:
            continue
        if not ledger.is_named(delivery) or not (n in ledger.unanswered or row["reason"] == REPEAT):
            continue
        if ledger.feed.form == delta_source.FORM:
            found = _version(ledger, delivery)
        else:
            found = _found(ledger, delivery, files)
        if found is not None:
            yield Candidate(found)


def _version(ledger: _Ledger, delivery: Planned) -> NewDelivery | None:
    later = (each.n for each in ledger.by_number.values() if each.path == delivery.path)
    if max(later) > delivery.n:
        return None
    version = delta_source.Version.read(ledger.feed.source, delta_source.number_of(delivery.path))
    if version is None:
        ledger.pass_over(delivery, "is not there any more")
        return None
    return NewDelivery(**vars(version.delivery(ledger.feed, ledger.now_key)))


def _found(ledger: _Ledger, delivery: Planned, files: Sequence[str]) -> NewDelivery | None:
    """Check the files of a refused delivery as they are now."""
    source = ledger.feed.source
    if not files:
        return None
    found, hashes = [], []
    for name in files:
        try:
            file = file_at(source, name)
            content = hash_of(source, file, ledger.known.whole)
        except OSError as failure:
            refuse_failing(failure, str(source / name))
            why = failure.strerror or failure
            ledger.pass_over(delivery, f"'{name}' cannot be read: {why}")
            return None
        if content is None:
            ledger.pass_over(delivery, f"'{name}' is being written")
            return None
        found.append(file)
        hashes.append(content)
    return NewDelivery(
        ledger.feed.name,
        delivery.path,
        tuple(file.path for file in found),
        tuple(file.size for file in found),
        tuple(file.mtime for file in found),
        tuple(hashes),
        content_of(hashes),
        ledger.key(delivery) or ledger.now_key,
    )


def _rows(store: Store, ledger: _Ledger, reasons: Sequence[str]) -> Iterator[Candidate]:
    """Find the rows in quarantine, as one delivery for each that they came with."""
    if not reasons:
        return
    rows = quarantined(store, ledger.feed.name, reasons)
    arrival, place, line = (rows[name].to_numpy() for name in ("arrival", "file", "line"))
    for n in np.unique(arrival).tolist():
        delivery = ledger.by_number.get(n)
        if delivery is None or delivery.row["state"] != DONE or not ledger.is_named(delivery):
            continue
        own = arrival == n
        later = [other for other in ledger.by_number.values() if _takes_up(other, delivery)]
        lines = [
            _left(line[own & (place == at)], [other.lines_of(at) or [] for other in later])
            for at in range(len(delivery.files))
        ]
        if any(len(each) for each in lines):
            wanted = _again(ledger, delivery, [_runs(each) for each in lines])
            if wanted is not None:
                yield wanted


def _takes_up(other: Planned, delivery: Planned) -> bool:
    """Whether an arrival retried rows of another: the same files, later, and not refused."""
    if other.n <= delivery.n or other.row["lines"] is None or other.row["state"] == REFUSED:
        return False
    return all(other.row[name] == delivery.row[name] for name in ("path", "files", "content"))


def _left(line: Int64s, loaded: Sequence[Runs]) -> Int64s:
    """Leave out the rows that were retried already."""
    left = np.unique(line)
    for runs in loaded:
        for first, last in runs:
            left = left[(left < first) | (left > last)]
    return left


def _runs(line: Int64s) -> list[tuple[int, int]]:
    """Write ascending numbers as runs: first and last of each."""
    if not len(line):
        return []
    breaks = np.flatnonzero(np.diff(line) > 1)
    firsts, lasts = line[np.r_[0, breaks + 1]], line[np.r_[breaks, len(line) - 1]]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def _again(
    ledger: _Ledger, delivery: Planned, lines: list[list[tuple[int, int]]]
) -> Candidate | None:
    """Plan rows of files that are there and unchanged; note the others."""
    row: Mapping[str, Any] = delivery.row
    mtimes = list(row["mtimes"])
    for at, name in enumerate(delivery.files):
        if not lines[at] or ledger.feed.form == delta_source.FORM:
            continue
        try:
            file = File(name, row["sizes"][at], mtimes[at])
            mtimes[at] = same(ledger.feed.source, file, row["hashes"][at])
        except Rejection as why:
            ledger.pass_over(delivery, why.detail)
            lines[at] = []
    if not any(lines):
        return None
    whose = LandedDelivery(
        ledger.feed.name,
        delivery.path,
        tuple(row["files"]),
        tuple(row["sizes"]),
        tuple(mtimes),
        tuple(row["hashes"]),
        row["content"],
        ledger.key(delivery),
    )
    return Candidate(whose, lines)
