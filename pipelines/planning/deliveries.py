"""The deliveries of a lane in their order, as the ledger `arrivals` tells them.

A feed's lane has the feed's deliveries, a lane of joins those of both its feeds.

Law: the order is (partition key, n); those found together took their numbers by path. So it depends
on what arrived and when, never on how it is cut into epochs.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.lanes import feeds_of
from fencepost.times import to_microseconds
from schemas.arrivals import DELIVERY, DONE, OF_DELTA, PLANNED, REFUSED, REGISTRY

_RANK = {PLANNED: 0, DONE: 1, REFUSED: 1}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Delivery:
    """A delivery that has been taken in.

    max_ts     in µs; None where it brought no tuple
    unordered  its rows are in no order, as those of a Delta table
    """

    n: int
    feed: str
    key: str
    rows: int
    tuples: int
    malformed: int
    future: int
    max_ts: int | None
    files: tuple[str, ...]
    unordered: bool = False


@dataclass(frozen=True)
class Arrivals:
    """The ledger, read: what has arrived for each lane, and when the registry changed."""

    latest: Mapping[int, Row]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Arrivals":
        """Keep the last word on each number. O(rows)."""
        latest: dict[int, Row] = {}
        for row in rows:
            known = latest.get(row["n"])
            if known is None or _RANK[row["state"]] >= _RANK[known["state"]]:
                latest[row["n"]] = row
        return cls(latest)

    def deliveries(self, lane: str) -> list[Delivery]:
        """Give the done deliveries of a lane, in their order."""
        feeds = feeds_of(lane)
        done = [
            _delivery(row)
            for row in self.latest.values()
            if row["lane"] in feeds and row["kind"] == DELIVERY and row["state"] == DONE
        ]
        return sorted(done, key=lambda delivery: (delivery.key, delivery.n))

    def registry_version_at(self, n: int) -> int:
        """Say which registry holds for a delivery: that of the last commit before it."""
        before = [
            (row["n"], row["registry_version"])
            for row in self.latest.values()
            if row["kind"] == REGISTRY and row["state"] == DONE and row["n"] < n
        ]
        return int(max(before)[1]) if before else 0

    def registrations(self, after: int, upto: int) -> dict[int, tuple[int, int]]:
        """Give the registry commits of some versions: the number of each, and when it came, µs."""
        return {
            int(row["registry_version"]): (int(row["n"]), to_microseconds(row["found_at"]) or 0)
            for row in self.latest.values()
            if row["kind"] == REGISTRY
            and row["state"] == DONE
            and after < row["registry_version"] <= upto
        }

    def rising_versions(self, deliveries: Sequence[Delivery]) -> dict[int, int]:
        """Say the same for deliveries in their order, never less than for one before.

        For an old partition that got another delivery later: what a join holds is a sum over all
        that came before, so a query that stands for one delivery stands for those behind it.
        """
        commits = sorted(
            (row["n"], row["registry_version"])
            for row in self.latest.values()
            if row["kind"] == REGISTRY and row["state"] == DONE
        )
        numbers = [n for n, _ in commits]
        versions, newest = {}, 0
        for delivery in deliveries:
            before = bisect_left(numbers, delivery.n)
            newest = max(newest, commits[before - 1][1] if before else 0)
            versions[delivery.n] = newest
        return versions


def _delivery(row: Row) -> Delivery:
    return Delivery(
        row["n"],
        row["lane"],
        row["partition_key"],
        row["rows"],
        row["tuples"],
        row["malformed"],
        row["future"],
        to_microseconds(row["max_ts"]),
        tuple(row["files"] or (row["path"],)),
        row["path"].startswith(OF_DELTA),
    )
