"""One group of epochs of a lane of joins: divided by queries, and committed like any other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fencepost.lanes import pair_of
from fencepost.order import OrderRules
from pipelines.execute.job import Job
from pipelines.execute.joins.share import RESULTS, JoinShare, JoinStep
from pipelines.execute.logs import AsOf
from pipelines.lake.data_files import DataFile
from pipelines.planning.chain import Epoch
from pipelines.planning.rules import unrecorded
from schemas import logs_of

ONE_TASK = 200_000
"""Tuples up to which one task takes all joins."""

DENSE = 4
"""Pairs and changes for a tuple from which on parts are worth reading everything several times."""


@dataclass(frozen=True)
class JoinJob(Job):
    """What a group of join epochs needs beside its plan.

    lateness    by feed, of epochs whose rules were not recorded
    marks  by feed: its watermark before the group
    joins       by registry version: the file with the active joins; None if there are none
    standing    the registry version of the epoch before
    registered  by registry version: the commit's number, and when it came (µs)
    """

    lateness: Mapping[str, int]
    marks: Mapping[str, int | None]
    joins: Mapping[int, str | None]
    standing: int
    registered: Mapping[int, tuple[int, int]]

    owner = "join"

    @property
    def feeds(self) -> tuple[str, str]:
        """Left and right."""
        return pair_of(self.lane)

    def shares(self, *, snapshot: bool | None = None) -> list[JoinShare]:
        """Divide the joins among tasks."""
        files, parts = self._files(), self.parts
        whole = self.group[-1].snapshot if snapshot is None else snapshot
        return [self._share(files, (part, parts), whole) for part in range(parts)]

    def work(self) -> Callable[[str], str]:
        """Give what a task does, with kernels that other jobs do not need."""
        from pipelines.execute.joins.task import work

        return work

    @property
    def parts(self) -> int:
        """The number of parts that the joins are divided into.

        Each part reads both sides, so parts pay only where there are many results: where the
        epoch before found several pairs or changes for every tuple. (Measured) a million updates
        with few results: 0.42 s by two tasks, 0.31 s by one.
        """
        tuples = sum(self.deliveries[n].tuples for epoch in self.group for n in epoch.arrivals)
        counts = self.before.epochs[-1].counts if self.before.epochs else {}
        found = sum(counts.get(name, 0) for name in RESULTS)
        dense = found > DENSE * counts.get("accepted", 0)
        return self.slots if dense and tuples > ONE_TASK else 1

    def _files(self) -> dict[str, list[DataFile]]:
        files = {}
        for feed in self.feeds:
            numbers = [n for e in self.group for n in e.arrivals if self.deliveries[n].feed == feed]
            files[feed] = [
                file
                for file in self.store.files(feed)
                if numbers and file.overlaps("arrival", min(numbers), max(numbers))
            ]
        as_of = self._as_of()
        for name in (log.name for log in logs_of(self.owner, self.store.tables.values())):
            mine = [file for file in self.store.files(name) if self._may_be_of(file)]
            files[name] = [file for file in mine if as_of.may_count(file)]
        return files

    def _may_be_of(self, file: DataFile) -> bool:
        """Say whether a file may hold rows of this lane: compacted ones may mix several."""
        least, most = file.least("lane"), file.most("lane")
        return least is None or most is None or bool(least <= self.lane <= most)

    def _as_of(self) -> AsOf:
        return AsOf(tuple(self.before.eras), self.before.snapshot)

    def _rules(self, epoch: Epoch, feed: str) -> OrderRules:
        """Give what an epoch's deliveries of a feed are judged by; any, where it has none."""
        return epoch.rules.get(feed, unrecorded(self.lateness[feed]))

    def _share(
        self, files: Mapping[str, Sequence[DataFile]], part: tuple[int, int], snapshot: bool
    ) -> JoinShare:
        left, right = self.feeds
        steps = tuple(
            JoinStep(
                epoch.epoch,
                epoch.generation,
                epoch.arrivals,
                tuple(int(self.deliveries[n].feed != left) for n in epoch.arrivals),
                epoch.registry_version,
                self.joins[epoch.registry_version],
                (self._rules(epoch, left), self._rules(epoch, right)),
            )
            for epoch in self.group
        )
        return JoinShare(
            root=str(self.store.root),
            lane=self.lane,
            feeds=(left, right),
            columns=self.columns,
            watermarks=(self.marks[left], self.marks[right]),
            steps=steps,
            part=part,
            registered=self.registered,
            standing=self.joins[self.standing],
            files={name: tuple(file.path for file in listed) for name, listed in files.items()},
            as_of=self._as_of(),
            snapshot=snapshot,
            unordered=self.unordered,
        )
