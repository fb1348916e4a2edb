"""The epochs in force of a lane, as the ledger `epochs` tells them.

A plan of a higher generation replaces every epoch from its first one on: so what is in force is one
chain without gaps, of generations that rise.

Law: at most the last group of the chain is planned and not done; all before it is done.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from fencepost.errors import LakeError
from fencepost.lanes import feeds_of
from fencepost.times import to_microseconds
from pipelines.planning.deliveries import Row
from schemas.arrivals import DONE
from schemas.epochs import COUNTS

HORIZON = "horizon"


@dataclass(frozen=True)
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
    horizon: bool = False  # no epoch, but the word that older states are gone
    choice: str | None = None  # how crossings and matches were found, JSON
    feed_watermarks: tuple[int | None, ...] = ()  # of two feeds that are joined: after it

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
        )


def _counts(row: Row) -> dict[str, int]:
    """Give the counts of a row; of what was not counted yet when it was done, there was none."""
    counts = {name: row[name] for name in COUNTS if row[name] is not None}
    return {**dict.fromkeys(COUNTS, 0), **counts} if row["state"] == DONE else counts


@dataclass(frozen=True)
class Chain:
    """The epochs in force of a lane, in their order, and what is known of those replaced.

    generation  the highest that was ever planned, at least 1
    horizon     the oldest epoch whose state can still be read
    replaced    epochs of older generations that no newer one has caught up with: they are stale
    """

    lane: str
    epochs: tuple[Epoch, ...]
    generation: int
    horizon: int
    replaced: tuple[Epoch, ...]

    @classmethod
    def of(cls, lane: str, told: Iterable[Epoch]) -> "Chain":
        """Find what is in force, by the rows of the ledger. O(rows)."""
        latest: dict[tuple[int, int], Epoch] = {}
        horizon = 0
        for epoch in told:
            if epoch.lane != lane:
                continue
            if epoch.horizon:
                horizon = max(horizon, epoch.epoch)
                continue
            known = latest.get((epoch.generation, epoch.epoch))
            if known is None or epoch.done:
                latest[epoch.generation, epoch.epoch] = epoch
        force: list[Epoch] = []
        replaced: list[Epoch] = []
        for _, members in groupby(sorted(latest), key=lambda key: key[0]):
            mine = [latest[key] for key in members]
            kept = mine[0].epoch - 1
            replaced = [*force[kept:], *replaced]
            force = [*force[:kept], *mine]
        covered = {n for epoch in force for n in epoch.arrivals}
        stale = tuple(e for e in replaced if not covered.issuperset(e.arrivals))
        generation = max((epoch.generation for epoch in force), default=1)
        chain = cls(lane, tuple(force), generation, horizon, stale)
        chain.check()
        return chain

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
        """The group that was planned and is not done; empty where there is none."""
        last = self.epochs[-1].plan if self.epochs else ""
        group = tuple(epoch for epoch in self.epochs if epoch.plan == last)
        return group if any(not epoch.done for epoch in group) else ()

    def upto(self, epochs: int) -> "Chain":
        """Give the chain of the first epochs alone."""
        return Chain(self.lane, self.epochs[:epochs], self.generation, self.horizon, self.replaced)

    @property
    def eras(self) -> list[tuple[int, int, int]]:
        """Say which generation is in force for which epochs: (generation, first, last)."""
        runs = [list(run) for _, run in groupby(self.epochs, key=lambda e: e.generation)]
        return [(run[0].generation, run[0].epoch, run[-1].epoch) for run in runs]

    @property
    def snapshot(self) -> int:
        """The last epoch with which the whole state was written; 0: there is none."""
        return max((epoch.epoch for epoch in self.epochs if epoch.snapshot), default=0)

    @property
    def feed_watermarks(self) -> dict[str, int | None]:
        """The watermark of each feed of the lane after the last epoch.

        As it was written down: a feed may have been given another lateness since.
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
        """The deliveries that were taken, in the order in which they were."""
        return [n for epoch in self.epochs for n in epoch.arrivals]
