"""The epochs in force of a lane, by the ledger `epochs`.

A plan of a higher generation replaces every epoch from its first one on: so what is in force is one
chain without gaps, of generations that rise.

Law: at most the last group of the chain is planned and not done; all before it is done.
"""

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from typing import Any

import numpy as np

from fencepost.errors import LakeError
from fencepost.lanes import feeds_of
from fencepost.order import OrderRules
from fencepost.times import to_microseconds
from fencepost.tuples import Int64s
from pipelines.planning import rules as order_rules
from pipelines.planning.ledger import LedgerRows, NumberColumn, Row, plain_rows
from schemas.arrivals import DONE
from schemas.epochs import COUNTS, HORIZON

EPOCHS = "epochs"


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch as it was planned; `counts` once it is done. Times in µs."""

    lane: str
    epoch: int
    generation: int
    plan: str
    first: int
    last: int
    key: str
    arrivals: tuple[int, ...]
    registry_version: int
    fingerprint: str
    watermark_before: int | None
    watermarks: tuple[int | None, ...]
    snapshot: bool
    bases: Mapping[str, int]
    code: str
    counts: Mapping[str, int] = field(default_factory=dict)
    done: bool = False
    horizon: bool = False  # not an epoch, but a note that older states are deleted
    choice: str | None = None  # how crossings and matches were found, JSON
    feed_watermarks: tuple[int | None, ...] = ()  # of two feeds that are joined: after it
    rules: Mapping[str, OrderRules] = field(default_factory=dict)  # by feed; empty: not recorded

    @property
    def watermark(self) -> int | None:
        """The watermark after it."""
        return self.watermarks[-1] if self.watermarks else self.watermark_before

    def as_row(self, state: str, at: Any, seconds: Mapping[str, float] | None = None) -> Row:  # noqa: ANN401
        """Give it as a row of the ledger."""
        return {
            "lane": self.lane,
            "epoch": self.epoch,
            "generation": self.generation,
            "state": state,
            "plan": self.plan,
            "first": self.first,
            "last": self.last,
            "partition_key": self.key,
            "arrivals": list(self.arrivals),
            "registry_version": self.registry_version,
            "fingerprint": self.fingerprint,
            "watermark_before": self.watermark_before,
            "watermarks": list(self.watermarks),
            "watermark": self.watermark,
            "snapshot": self.snapshot,
            "bases": json.dumps(dict(self.bases)),
            "code": self.code,
            "at": at,
            **{name: self.counts.get(name) for name in COUNTS},
            "seconds": None if seconds is None else json.dumps(dict(seconds)),
            "choice": self.choice,
            "feed_watermarks": list(self.feed_watermarks) or None,
            "declared": order_rules.by_feed(self.rules) if self.rules else None,
        }

    @classmethod
    def of_row(cls, row: Row) -> "Epoch":
        """Take it from a row of the ledger."""
        return cls(
            row["lane"],
            row["epoch"],
            row["generation"],
            row["plan"],
            row["first"],
            row["last"],
            row["partition_key"],
            tuple(row["arrivals"]),
            row["registry_version"],
            row["fingerprint"],
            to_microseconds(row["watermark_before"]),
            tuple(to_microseconds(mark) for mark in row["watermarks"]),
            row["snapshot"],
            json.loads(row["bases"]),
            row["code"],
            _counts(row),
            row["state"] == DONE,
            row["state"] == HORIZON,
            row["choice"],
            tuple(to_microseconds(mark) for mark in row["feed_watermarks"] or ()),
            order_rules.of_feeds(row.get("declared")),
        )


def _counts(row: Row) -> dict[str, int]:
    """Give the counts of a row; a count added after the epoch was done is 0."""
    counts = {name: row[name] for name in COUNTS if row[name] is not None}
    return {**dict.fromkeys(COUNTS, 0), **counts} if row["state"] == DONE else counts


@dataclass(frozen=True, eq=False)
class Coverage:
    """The deliveries of a chain's epochs, in order, and where each epoch ends among them."""

    numbers: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    ends: Int64s = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def of(cls, epochs: Sequence[Epoch]) -> "Coverage":
        """Gather them. O(epochs)."""
        numbers = [n for epoch in epochs for n in epoch.arrivals]
        ends = np.cumsum([len(epoch.arrivals) for epoch in epochs], dtype=np.int64)
        return cls(np.array(numbers, np.int64), ends)

    def upto(self, epochs: int) -> "Coverage":
        """Give those of the first epochs."""
        ends = self.ends[:epochs]
        return Coverage(self.numbers[: ends[-1] if len(ends) else 0], ends)


@dataclass(frozen=True)
class Chain:
    """The epochs in force of a lane, in their order, and what is known of those replaced.

    generation  the highest generation planned so far, at least 1
    horizon     the oldest epoch whose state can still be read
    replaced    epochs of older generations not yet replaced by newer ones: they are stale
    """

    lane: str
    epochs: tuple[Epoch, ...]
    generation: int
    horizon: int
    replaced: tuple[Epoch, ...]
    coverage: Coverage = field(default_factory=Coverage, compare=False, repr=False)

    @classmethod
    def of(cls, lane: str, epochs: Iterable[Epoch]) -> "Chain":
        """Find what is in force, by the rows of the ledger. O(rows)."""
        chains = Chains()
        for epoch in epochs:
            chains.take(epoch)
        return chains.of(lane)

    def check(self) -> None:
        """Raise LakeError unless the epochs are a chain. O(epochs)."""
        for place, epoch in enumerate(self.epochs, 1):
            if epoch.epoch != place:
                raise LakeError(
                    f"the ledger of '{self.lane}' has epoch {epoch.epoch} where {place} was "
                    "expected: rows of the table 'epochs' are missing"
                )
            if not epoch.done and epoch.plan != self.epochs[-1].plan:
                raise LakeError(
                    f"epoch {place} of '{self.lane}' is not done, and later ones were planned"
                )

    def __len__(self) -> int:
        """How many epochs are in force."""
        return len(self.epochs)

    @property
    def open(self) -> tuple[Epoch, ...]:
        """The group that is planned and not done; empty if there is none."""
        last = self.epochs[-1].plan if self.epochs else ""
        group = (*takewhile(lambda epoch: epoch.plan == last, reversed(self.epochs)),)[::-1]
        return group if any(not epoch.done for epoch in group) else ()

    def upto(self, epochs: int) -> "Chain":
        """Give the chain of the first epochs alone."""
        some = self.coverage.upto(epochs)
        return Chain(
            self.lane, self.epochs[:epochs], self.generation, self.horizon, self.replaced, some
        )

    @property
    def eras(self) -> list[tuple[int, int, int]]:
        """Say which generation is in force for which epochs: (generation, first, last)."""
        found = []
        first = 0
        while first < len(self.epochs):  # generations rise along the chain
            generation = self.epochs[first].generation
            beyond = bisect_right(self.epochs, generation, first, key=lambda e: e.generation)
            found.append((generation, self.epochs[first].epoch, self.epochs[beyond - 1].epoch))
            first = beyond
        return found

    @property
    def snapshot(self) -> int:
        """The last epoch with a snapshot of the state; 0: there is none."""
        return next((epoch.epoch for epoch in reversed(self.epochs) if epoch.snapshot), 0)

    @property
    def feed_watermarks(self) -> dict[str, int | None]:
        """The watermark of each feed of the lane after the last epoch.

        As recorded: the feed's lateness may have changed since.
        """
        feeds = feeds_of(self.lane)
        if not self.epochs:
            return dict.fromkeys(feeds)
        last = self.epochs[-1]
        return dict(zip(feeds, last.feed_watermarks or (last.watermark,), strict=True))

    @property
    def watermark(self) -> int | None:
        """The watermark after the last epoch."""
        return self.epochs[-1].watermark if self.epochs else None

    @property
    def covered(self) -> list[int]:
        """The deliveries of its epochs, in order."""
        numbers: list[int] = self.deliveries.numbers.tolist()
        return numbers

    @property
    def deliveries(self) -> Coverage:
        """The same as arrays, as far as the chain goes."""
        if len(self.coverage.ends) == len(self.epochs):
            return self.coverage
        return Coverage.of(self.epochs)


class Chains:
    """The chains of all lanes, updated as rows come to the ledger.

    Law: the result depends on the rows added so far, not on their order. An epoch
    that comes behind the others, or is done now, costs O(1); any other rebuilds its lane's chain.
    """

    def __init__(self) -> None:
        """Begin without rows."""
        self._lanes: dict[str, _GrowingChain] = {}

    def add(self, rows: LedgerRows) -> None:
        """Add rows of the ledger."""
        for row in plain_rows(rows):
            self.take(Epoch.of_row(row))

    def take(self, epoch: Epoch) -> None:
        """Add one row, decoded."""
        self._lanes.setdefault(epoch.lane, _GrowingChain(epoch.lane)).take(epoch)

    def of(self, lane: str) -> Chain:
        """Give the chain of a lane. LakeError if its epochs do not form one."""
        return self._lanes.setdefault(lane, _GrowingChain(lane)).chain()

    def every(self) -> dict[str, Chain]:
        """Give the chain of every lane that has one."""
        return {lane: growing.chain() for lane, growing in self._lanes.items()}


class _GrowingChain:
    """The chain of one lane as it grows; `force` is None if it must be recomputed."""

    def __init__(self, lane: str) -> None:
        self.lane = lane
        self.latest: dict[tuple[int, int], Epoch] = {}
        self.horizon = 0
        self.force: list[Epoch] | None = []
        self.replaced: list[Epoch] = []
        self.covered: set[int] = set()
        self.numbers, self.ends = NumberColumn(), NumberColumn()
        self._chain: Chain | None = None

    def take(self, epoch: Epoch) -> None:
        self._chain = None
        if epoch.horizon:
            self.horizon = max(self.horizon, epoch.epoch)
            return
        key = epoch.generation, epoch.epoch
        known = self.latest.get(key)
        if known is not None and not epoch.done:
            return
        self.latest[key] = epoch
        force = self.force
        if force is None:
            return
        if known is None and epoch.epoch == len(force) + 1 and not self._goes_back(epoch):
            self._append(epoch)
        elif known is not None and epoch.epoch <= len(force) and force[epoch.epoch - 1] is known:
            force[epoch.epoch - 1] = epoch
        else:
            self.force = None

    def chain(self) -> Chain:
        if self._chain is None:
            whole = self.force is None
            if whole:
                self._find()
            force = self.force or []
            generation = max(force[-1].generation, 1) if force else 1
            coverage = Coverage(self.numbers.view, self.ends.view)
            self.replaced = [e for e in self.replaced if not self.covered.issuperset(e.arrivals)]
            stale = tuple(self.replaced)
            chain = Chain(self.lane, tuple(force), generation, self.horizon, stale, coverage)
            if whole:
                chain.check()
            self._chain = chain
        return self._chain

    def _goes_back(self, epoch: Epoch) -> bool:
        """Say whether an epoch would follow others that are newer, or not done."""
        last = self.force[-1] if self.force else None
        if last is None or last.plan == epoch.plan:
            return False
        group = takewhile(lambda each: each.plan == last.plan, reversed(self.force or ()))
        return epoch.generation < last.generation or not all(each.done for each in group)

    def _append(self, epoch: Epoch) -> None:
        if self.force is not None:
            self.force.append(epoch)
        self.covered.update(epoch.arrivals)
        self.numbers.extend(epoch.arrivals)
        self.ends.extend((len(self.numbers),))

    def _find(self) -> None:
        """Find what is in force among all rows. O(rows)."""
        force: list[Epoch] = []
        replaced: list[Epoch] = []
        for _, members in groupby(sorted(self.latest), key=lambda key: key[0]):
            mine = [self.latest[key] for key in members]
            kept = mine[0].epoch - 1
            replaced = [*force[kept:], *replaced]
            force = [*force[:kept], *mine]
        self.force, self.replaced = [], replaced
        self.covered, self.numbers, self.ends = set(), NumberColumn(), NumberColumn()
        for epoch in force:
            self._append(epoch)
