"""A plan carried out: its rows written, committed, and the plan concluded; repeatable.

Quarantined rows are committed before any tuple: so if a feed's tuples are there, all its rows are,
and a delivery whose file has been deleted since can be counted in the tables.

Law: carrying out a plan again commits nothing twice. A delivery is done only when its rows are in.
One that kills its reader is found and refused, as long as a worker can work at all; where
none can, nothing is refused, and the failure is raised unchanged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.errors import InputError
from fencepost.hashing import added
from fencepost.row_hashes import content_hash
from pipelines.disk.errors import refuse_failing
from pipelines.ingest import delta_source
from pipelines.ingest.deliveries import REWRITTEN, VANISHED, Outcome, Planned, Rejection
from pipelines.ingest.isolation import answered, refuse_unseen
from pipelines.ingest.landing.contents import file_at, hash_of, is_in_parts
from pipelines.ingest.landing.folder import File
from pipelines.ingest.record import as_recorded
from pipelines.ingest.recount import QUARANTINE, counted
from pipelines.ingest.units import FilePart, ReadJob, cut
from pipelines.lake.append import Diverged, append_once
from pipelines.lake.buckets import modulus_for, tasks_for
from pipelines.lake.crash_points import point
from pipelines.lake.data_files import DataFile
from pipelines.lake.evidence import Evidence
from pipelines.lake.obsolete import Refused
from pipelines.lake.sequence import ARRIVALS, conclude
from pipelines.lake.store import Store
from pipelines.places import Place
from pipelines.project.settings import Feed, Settings
from pipelines.spark.runner import Runner

WHAT = "ingest"
LOST = (VANISHED, REWRITTEN)
"""Reasons that come between finding and reading: the first time they may not have been there."""

ROW_BYTES = 32
"""Of a file that has landed, about, for each row."""

WORDS = ("detail",)
"""The columns of quarantine that are messages: a version may word them differently."""

CHANGED_SETTINGS = (
    "If the feed's settings in fencepost.toml were changed since, restore them, let the run finish "
    "what was begun, and change them then"
)

Concluded = list[tuple[Planned, Outcome]]


def carry_out(
    store: Store,
    settings: Settings,
    runner: Runner,
    planned: Sequence[Planned],
    *,
    again: bool = False,
) -> Concluded:
    """Read, write, commit and conclude one plan. `again`: its files are hashed before."""
    outcomes: dict[int, Outcome] = {}
    jobs: dict[str, list[ReadJob]] = {}
    feeds: dict[str, Feed] = {}
    for delivery in planned:
        feed = feeds.setdefault(delivery.feed, declared(settings, delivery))
        try:
            jobs.setdefault(feed.name, []).append(ReadJob(delivery, _files(feed, delivery, again)))
        except Rejection as why:
            outcomes[delivery.n] = Outcome.refused(delivery.n, why)
    written = _written(store, feeds, runner, jobs, outcomes)
    concluded = _Committing(store, planned, outcomes, written).all()
    return [(delivery, concluded[delivery.n]) for delivery in planned]


def declared(settings: Settings, delivery: Planned) -> Feed:
    """Give the feed of a planned delivery as it was declared then, as all of one plan are."""
    feed = settings.feeds.get(delivery.feed)
    if feed is None:
        raise InputError(
            f"delivery {delivery.n}, '{delivery.path}', is planned for the feed "
            f"'{delivery.feed}', which {settings.file or 'the settings'} does not declare: declare "
            "it again, and take it out when its deliveries are done"
        )
    return as_recorded(feed, delivery.row.get("declared"))


@dataclass(frozen=True)
class _Written:
    """The data files of a plan, not committed yet: by feed, and those of the quarantine."""

    tuples: Mapping[str, list[DataFile]]
    aside: Mapping[str, list[DataFile]]


def _written(
    store: Store,
    feeds: Mapping[str, Feed],
    runner: Runner,
    jobs: Mapping[str, Sequence[ReadJob]],
    outcomes: dict[int, Outcome],
) -> _Written:
    """Let the tasks read and write; `outcomes` gets the outcome of each delivery."""
    units = [
        unit
        for feed, own in jobs.items()
        for unit in cut(
            store.root, feeds[feed], _modulus(store, feed, own, runner.slots), own, runner.slots
        )
    ]
    read, deadly = answered(runner, units)
    refuse_unseen(read)
    for n, why in deadly.items():
        outcomes[n] = Outcome.refused(n, why)
    for _, answer in read:
        for outcome in answer.outcomes:
            before = outcomes.get(outcome.n, Outcome(outcome.n))
            outcomes[outcome.n] = before.and_then(outcome)
    tuples: dict[str, list[DataFile]] = {}
    aside: dict[str, list[DataFile]] = {}
    for unit, answer in read:
        if unit.shared or all(outcomes[part.n].reason is None for part in unit.parts):
            tuples.setdefault(unit.feed.name, []).extend(answer.tuples)
            aside.setdefault(unit.feed.name, []).extend(answer.aside)
    return _Written(tuples, aside)


def _modulus(store: Store, feed: str, own: Sequence[ReadJob], slots: int) -> int:
    """Say by which modulus a feed's streams are worth dividing, with what comes."""
    coming = sum(job.size for job in own) // ROW_BYTES
    there = sum(file.rows for file in store.files(feed))
    return modulus_for(there + coming, store.buckets, tasks_for(coming, slots))


def _files(feed: Feed, delivery: Planned, again: bool) -> tuple[FilePart, ...]:
    """List the files to read, as they are now; Rejection if they changed since they were found."""
    if feed.form == delta_source.FORM:
        return delta_source.parts(feed, delivery)
    row = delivery.row
    files = []
    for place, (path, size, mtime, content) in enumerate(
        zip(row["files"], row["sizes"], row["mtimes"], row["hashes"], strict=True)
    ):
        lines = delivery.lines_of(place)
        if lines != []:
            now = same(feed.source, File(path, size, mtime), content) if again else mtime
            files.append(FilePart(place, path, size, now, lines=lines))
    return tuple(files)


def same(source: Place, file: File, content: str) -> int:
    """Hash a file that was found before; its present time of change, or Rejection."""
    try:
        now = file_at(source, file.path)
        holds = hash_of(source, now, () if is_in_parts(content) else (now.size,))
    except OSError as failure:
        refuse_failing(failure, str(source / file.path))
        detail = f"'{file.path}' was found and is not there any more: {failure.strerror or failure}"
        raise Rejection(VANISHED, detail) from None
    if holds != content:
        detail = (
            f"'{file.path}' was changed after it had been found: the next run looks at it again"
        )
        raise Rejection(REWRITTEN, detail)
    return now.mtime


class _Committing:
    """The commits of a plan, in their order."""

    def __init__(
        self,
        store: Store,
        planned: Sequence[Planned],
        outcomes: Mapping[int, Outcome],
        written: _Written,
    ) -> None:
        self.store = store
        self.planned = planned
        self.outcomes = dict(outcomes)
        self.written = written
        self.plan = planned[0].plan
        self.feeds = sorted({delivery.feed for delivery in planned})

    def all(self) -> Mapping[int, Outcome]:
        """Commit the quarantined rows, then each feed's tuples, then the conclusion."""
        lane = ",".join(self.feeds)
        first = self._commit(QUARANTINE, lane, self.planned)
        point("ingest.quarantine")
        for feed in self.feeds:
            own = [delivery for delivery in self.planned if delivery.feed == feed]
            if not self._commit(feed, feed, own):
                self._count_lost(own)
            point("ingest.tuples")
        if not first:
            self._take_back()
        rows = [delivery.concluded(self.outcomes[delivery.n]) for delivery in self.planned]
        conclude(self.store, self.plan, lane, rows, self.planned[0].base(ARRIVALS))
        point("ingest.done")
        return self.outcomes

    def _take_back(self) -> None:
        """Remove what was put aside of deliveries whose files are gone, so that none is loaded."""
        for feed in self.feeds:
            own = [delivery for delivery in self.planned if delivery.feed == feed]
            gone = [each.n for each in own if self.outcomes[each.n].reason in LOST]
            if gone and self.store.log(QUARANTINE).is_plain:
                self.store.remove(QUARANTINE, Refused(feed, tuple(gone)))

    def _commit(self, table: str, lane: str, own: Sequence[Planned]) -> bool:
        """Commit a table's rows; False where they are committed and not all could be read again."""
        evidence = self._evidence(table, lane, own)
        since = own[0].base(table)
        if any(self.outcomes[delivery.n].reason in LOST for delivery in own):
            stands = {found.key for found in self.store.evidence(table, since)}
            if evidence.key in stands:
                return False
        if evidence.rows:
            try:
                append_once(self.store, table, evidence, lambda: self._files(table), since)
            except Diverged as why:
                if table == QUARANTINE and self._is_reworded(own):
                    return True
                raise Diverged(f"{why}. {CHANGED_SETTINGS}") from why
        return True

    def _is_reworded(self, own: Sequence[Planned]) -> bool:
        """Say whether the committed rows are these but for `detail`, which another version worded.

        The words of a message are part of the evidence, and may change with a version: a plan that
        an older one began has to be finished all the same. O(rows), and only after an upgrade.
        """
        numbers = pa.array([delivery.n for delivery in own], pa.int64())
        committed = [
            self.store.rows_between(QUARANTINE, feed, "arrival", own[0].n, own[-1].n)
            for feed in self.feeds
        ]
        there = pa.concat_tables(committed)
        of_plan = pc.and_(pc.is_in(there["arrival"], numbers), pc.is_null(there["epoch"]))
        ours = [self.store.read(QUARANTINE, file) for file in self._files(QUARANTINE)]
        old, new = there.filter(of_plan), pa.concat_tables(ours)
        return len(old) == len(new) and content_hash(old, WORDS) == content_hash(new, WORDS)

    # The bucket is beside the rows, not among them: how rows are divided changes no hash.
    def _evidence(self, table: str, lane: str, own: Sequence[Planned]) -> Evidence:
        rows = total = 0
        for delivery in own:
            outcome = self.outcomes[delivery.n]
            if outcome.reason is None:
                aside = table == QUARANTINE
                rows += outcome.malformed + outcome.future if aside else outcome.tuples
                total = added(total, outcome.aside if aside else outcome.hash)
        return Evidence(WHAT, self.plan, lane, own[0].n, own[-1].n, 0, rows, total)

    def _files(self, table: str) -> list[DataFile]:
        if table == QUARANTINE:
            return [file for files in self.written.aside.values() for file in files]
        return self.written.tuples.get(table, [])

    def _count_lost(self, own: Sequence[Planned]) -> None:
        """The rows of a feed are committed: a delivery whose files are gone is counted there."""
        for delivery in own:
            if self.outcomes[delivery.n].reason in LOST:
                found = counted(self.store, delivery.feed, delivery.n)
                if found.rows:
                    self.outcomes[delivery.n] = found
