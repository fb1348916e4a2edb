"""One group of epochs: divided among tasks, and committed once.

Results and logs are committed table by table, each with its evidence, and only then the
group is done. Until then no view shows a row of it; after a crash anywhere the same plan is carried
out again, and what is committed already is left alone. `Job` does so for any lane; a feed's own
is a `FeedJob`, that of two feeds a `joins.job.JoinJob`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar, Protocol

from fencepost.errors import LakeError
from fencepost.hashing import added
from fencepost.row_hashes import content_hash
from pipelines.execute.logs import AsOf
from pipelines.execute.share import FeedStep, Share, TaskResult, merged_choices
from pipelines.lake.append import append_once
from pipelines.lake.buckets import MIXED, MOST_FOUND, Shares, divided, tasks_for, usual
from pipelines.lake.crash_points import point
from pipelines.lake.data_files import DataFile
from pipelines.lake.evidence import Evidence
from pipelines.lake.obsolete import Obsolete
from pipelines.lake.store import Store
from pipelines.planning.chain import EPOCHS, Chain, Epoch
from pipelines.planning.deliveries import Delivery
from pipelines.planning.rules import unrecorded
from pipelines.project.settings import Settings
from pipelines.spark.runner import Runner
from schemas import Feeds, Table, logs_of, written_by
from schemas.arrivals import DONE
from schemas.epochs import COUNTS
from schemas.table import Owner

ONE_TASK = 200_000
_AT = ("at", "seconds", "choice")


class Task(Protocol):
    """A share of a job, as it travels."""

    def to_json(self) -> str:
        """Encode it as one line of JSON."""


@dataclass(frozen=True)
class Job(ABC):
    """What a group needs beside its plan.

    columns     those of every feed
    before      the chain of epochs that it continues
    deliveries  those of the lane, by number
    slots       how many tasks run at once
    """

    store: Store
    columns: Feeds
    before: Chain
    group: tuple[Epoch, ...]
    deliveries: Mapping[int, Delivery]
    slots: int

    owner: ClassVar[Owner]
    """Whose tables it commits to."""

    @property
    def targets(self) -> list[Table]:
        """The tables that it commits to, in this order; the logs come last."""
        return written_by(self.owner, self.store.tables.values())

    @property
    def lane(self) -> str:
        """The feed, or the ordered pair of feeds."""
        return self.group[0].lane

    @property
    def unordered(self) -> tuple[int, ...]:
        """The deliveries of the group whose rows are unordered."""
        numbers = (n for epoch in self.group for n in epoch.arrivals)
        return tuple(n for n in numbers if self.deliveries[n].unordered)

    @property
    def replaced(self) -> Obsolete | None:
        """The rows that it puts out of force, if it is the first group of its generation."""
        first, before = self.group[0], self.before.epochs
        known = before[-1].generation if before else 1
        if first.generation == known:
            return None
        return Obsolete(self.lane, since=first.first, below=first.generation)

    @abstractmethod
    def shares(self, *, snapshot: bool | None = None) -> Sequence[Task]:
        """Divide the work among tasks."""

    @abstractmethod
    def work(self) -> Callable[[str], str]:
        """Give what a task does: JSON in, JSON out."""

    def answers(
        self, settings: Settings, runner: Runner, *, snapshot: bool | None = None
    ) -> list[TaskResult]:
        """Have the runner do the tasks."""
        del settings
        lines = [share.to_json() for share in self.shares(snapshot=snapshot)]
        return [TaskResult.from_json(line) for line in runner.run(self.work(), lines)]

    def commit(self, answers: Sequence[TaskResult], seconds: Mapping[str, float]) -> list[Epoch]:
        """Commit the tasks' results, table by table, and mark the group as done.

        With the rows of a table its commit takes those away that they replace.
        """
        point("epochs.evaluated")
        done = self._counted(answers)
        first, replaced = self.group[0], self.replaced
        for name in (table.name for table in self.targets):
            rows = sum(answer.rows.get(name, 0) for answer in answers)
            if rows or (replaced is not None and self.store.has(name, replaced)):
                hashed = 0
                for answer in answers:
                    hashed = added(hashed, answer.hashes.get(name, 0))
                evidence = self._evidence("evaluate", rows, hashed)
                files = [DataFile.from_json(f) for a in answers for f in a.files.get(name, ())]
                since = first.bases.get(name, 0)  # an older plan may not know the table
                append_once(self.store, name, evidence, partial(list, files), since, replaced)
                point(f"epochs.{name}")
        at = datetime.now(UTC)
        rows = self.store.as_table(EPOCHS, [epoch.as_row(DONE, at, seconds) for epoch in done])
        evidence = self._evidence("done", rows.num_rows, content_hash(rows, _AT))
        append_once(
            self.store,
            EPOCHS,
            evidence,
            lambda: self.store.write(EPOCHS, rows),
            first.bases[EPOCHS],
        )
        point("epochs.done")
        return done

    def _evidence(self, what: str, rows: int, hashed: int) -> Evidence:
        first = self.group[0]
        return Evidence(
            what, first.plan, self.lane, first.first, first.last, first.generation, rows, hashed
        )

    def _counted(self, answers: Sequence[TaskResult]) -> list[Epoch]:
        """Add the counts up, and refuse to commit what does not balance: a bug."""
        waiting = self.before.epochs[-1].counts["waiting"] if self.before.epochs else 0
        done = []
        for epoch in self.group:
            counts = dict.fromkeys(COUNTS, 0)
            for answer in answers:
                for name, many in answer.counts.get(epoch.epoch, {}).items():
                    counts[name] += many
            for n in epoch.arrivals:
                delivery = self.deliveries[n]
                counts["rows"] += delivery.rows
                counts["malformed"] += delivery.malformed
                counts["future"] += delivery.future
            came = counts["rows"] + waiting
            went = sum(counts[name] for name in _WENT)
            if came != went:
                raise LakeError(
                    f"epoch {epoch.epoch} of '{self.lane}' does not balance: {came:,} rows came "
                    f"or waited, {went:,} were taken, wait or are in quarantine. Nothing was "
                    "committed; this is a fault of Fencepost"
                )
            waiting = counts["waiting"]
            choices = [a.choices[epoch.epoch] for a in answers if epoch.epoch in a.choices]
            done.append(replace(epoch, counts=counts, done=True, choice=merged_choices(choices)))
        return done


@dataclass(frozen=True)
class FeedJob(Job):
    """The job of a feed's own lane.

    lateness of epochs whose rules were not recorded
    queries  by registry version: the file with the query set; None if no query is active
    matches  the same, of the `match` queries
    """

    lateness: int
    queries: Mapping[int, str | None]
    matches: Mapping[int, str | None]

    owner = "feed"

    def shares(self, *, snapshot: bool | None = None) -> list[Share]:
        """Divide the work: one task where there is little, else a few for each slot."""
        files = self._files()
        tuples = sum(self.deliveries[n].tuples for epoch in self.group for n in epoch.arrivals)
        modulus = usual(map(_division, files[self.lane]), self.store.buckets)
        found = self._expected(tuples)
        if tuples <= ONE_TASK and found <= MOST_FOUND:
            return [self._share(files, Shares(modulus, ()), snapshot)]
        parts = divided(tasks_for(tuples, self.slots, found), modulus)
        return [self._share(files, part, snapshot) for part in parts]

    def work(self) -> Callable[[str], str]:
        """Give what a task does."""
        from pipelines.execute.task import work

        return work

    def answers(
        self, settings: Settings, runner: Runner, *, snapshot: bool | None = None
    ) -> list[TaskResult]:
        """Have the tasks done, on the read path that the tables allow."""
        from pipelines.execute import spark_read

        if spark_read.is_chosen(settings, self.store, runner):
            return spark_read.answers(runner, self.shares(snapshot=snapshot))
        return super().answers(settings, runner, snapshot=snapshot)

    def _expected(self, tuples: int) -> int:
        """Expect events at the rate of the epoch before; none where there is no epoch before."""
        before = self.before.epochs[-1:]
        events = sum(epoch.counts["entered"] + epoch.counts["left"] for epoch in before)
        accepted = sum(epoch.counts["accepted"] for epoch in before)
        return tuples * events // max(accepted, 1)

    def _files(self) -> dict[str, list[DataFile]]:
        as_of = self._as_of()
        numbers = [n for epoch in self.group for n in epoch.arrivals]
        files = {
            self.lane: [
                file
                for file in self.store.files(self.lane)
                if numbers and file.overlaps("arrival", min(numbers), max(numbers))
            ]
        }
        for name in (log.name for log in logs_of(self.owner, self.store.tables.values())):
            mine = [f for f in self.store.files(name) if f.partition["feed"] == self.lane]
            files[name] = [file for file in mine if as_of.may_count(file)]
        return files

    def _as_of(self) -> AsOf:
        return AsOf(tuple(self.before.eras), self.before.snapshot)

    def _may_have(self, part: Shares, file: DataFile) -> bool:
        bucket, _ = _division(file)
        return not part.residues or part.may_have(bucket, self.store.buckets)

    def _share(
        self,
        files: Mapping[str, Sequence[DataFile]],
        part: Shares,
        snapshot: bool | None,
    ) -> Share:
        """Give a task its part; one without residues has all streams."""
        steps = tuple(
            FeedStep(
                e.epoch,
                e.generation,
                e.arrivals,
                e.watermarks,
                self.queries[e.registry_version],
                self.matches[e.registry_version],
                e.rules.get(self.lane, unrecorded(self.lateness)),
            )
            for e in self.group
        )
        numbers = [n for epoch in self.group for n in epoch.arrivals]
        return Share(
            root=str(self.store.root),
            feed=self.lane,
            columns=self.columns,
            all_buckets=part.modulus,
            buckets=part.residues or None,
            watermark=self.group[0].watermark_before,
            steps=steps,
            paths={n: self.deliveries[n].files for n in numbers},
            files={
                name: tuple(file.path for file in listed if self._may_have(part, file))
                for name, listed in files.items()
            },
            as_of=self._as_of(),
            snapshot=self.group[-1].snapshot if snapshot is None else snapshot,
            unordered=self.unordered,
        )


_WENT = ("accepted", "waiting", "malformed", "future", "late", "duplicate", "conflict")


def _division(file: DataFile) -> tuple[int, int]:
    """Give a file's bucket, and how many rows it has."""
    return int(file.partition.get("bucket") or MIXED), file.rows
