"""The deliveries of a lane in their order, by the ledger `arrivals`.

A feed's lane has the feed's deliveries, a lane of joins those of both its feeds.

Law: the order is (partition key, n); those found together are numbered by path. So it depends
on what arrived and when, never on how it is cut into epochs.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from fencepost.lanes import feeds_of
from fencepost.order import OrderRules, Ties
from fencepost.times import to_microseconds
from fencepost.tuples import Int64s
from pipelines.planning.ledger import LedgerRows, NumberColumn, Row, plain_rows
from pipelines.planning.rules import Record
from schemas.arrivals import DELIVERY, DONE, OF_DELTA, PLANNED, REGISTRY


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery that is loaded.

    max_ts     in µs; None where it brought no tuple
    unordered  its rows are unordered, as in a Delta table
    rules      how it is judged, as declared when it was planned; None: not recorded
    sequenced  its tuples have a sequence
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
    rules: OrderRules | None = None
    sequenced: bool = False


class InOrder(Sequence[Delivery]):
    """The deliveries of a lane in their order; most arrive at the end."""

    def __init__(self) -> None:
        """Begin with none."""
        self._all: list[Delivery] = []
        self._numbers = NumberColumn()

    def put(self, delivery: Delivery) -> None:
        """Insert one in its place. O(1) at the end, else O(n)."""
        if not self._all or _place(self._all[-1]) < _place(delivery):
            self._all.append(delivery)
            self._numbers.extend((delivery.n,))
            return
        insort(self._all, delivery, key=_place)
        self._numbers = NumberColumn()
        self._numbers.extend(each.n for each in self._all)

    @property
    def numbers(self) -> Int64s:
        """Their numbers."""
        return self._numbers.view

    def __len__(self) -> int:
        """The number of deliveries."""
        return len(self._all)

    @overload
    def __getitem__(self, place: int) -> Delivery: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Delivery]: ...
    def __getitem__(self, place: int | slice) -> Delivery | Sequence[Delivery]:
        """Give one of them, or several."""
        return self._all[place]

    def __iter__(self) -> Iterator[Delivery]:
        """Give them one by one."""
        return iter(self._all)


def numbers_of(deliveries: Sequence[Delivery]) -> Int64s:
    """Give the numbers of deliveries in their order."""
    if isinstance(deliveries, InOrder):
        return deliveries.numbers
    return np.array([delivery.n for delivery in deliveries], np.int64)


class Arrivals:
    """The ledger, read as it grows: what has arrived for each lane, and when the registry changed.

    planned  by number: the rows of what is planned and not concluded, deliveries and registrations
    by_number  the done deliveries

    Law: the last state of each number counts, in any order of the rows.
    """

    def __init__(self) -> None:
        """Begin without rows."""
        self.planned: dict[int, Row] = {}
        self.by_number: dict[int, Delivery] = {}
        self.newest_planned_version = 0
        self._concluded: set[int] = set()
        self._last: dict[str, tuple[int, Ties]] = {}
        self._lanes: dict[str, InOrder] = {}
        self._commits: list[tuple[int, int, int]] = []

    @classmethod
    def of(cls, rows: Iterable[Row]) -> "Arrivals":
        """Add rows of the ledger. O(rows)."""
        arrivals = cls()
        for row in rows:
            arrivals.take(row)
        return arrivals

    def add(self, rows: LedgerRows) -> None:
        """Add the rows that came since."""
        for row in plain_rows(rows):
            self.take(row)

    def take(self, row: Row) -> None:
        """Add one row. O(1) at the end of the order."""
        n = row["n"]
        version = row.get("registry_version") or 0
        self.newest_planned_version = max(self.newest_planned_version, version)
        if row["kind"] == DELIVERY and n > self._last.get(row["lane"], (0,))[0]:
            self._last[row["lane"]] = n, Record.of(row.get("declared")).ties
        if row["state"] == PLANNED:
            if n not in self._concluded:
                self.planned[n] = row
            return
        self.planned.pop(n, None)
        if n in self._concluded:
            return
        self._concluded.add(n)
        if row["state"] != DONE:
            return
        if row["kind"] == REGISTRY:
            found_at = to_microseconds(row["found_at"]) or 0
            insort(self._commits, (n, int(row["registry_version"]), found_at))
        elif row["kind"] == DELIVERY:
            self._put(_delivery(row))

    def deliveries(self, lane: str) -> Sequence[Delivery]:
        """Give the done deliveries of a lane, in their order."""
        if lane not in self._lanes:
            feeds, mine = feeds_of(lane), InOrder()
            for each in sorted(self.by_number.values(), key=_place):
                if each.feed in feeds:
                    mine.put(each)
            self._lanes[lane] = mine
        return self._lanes[lane]

    def settled(self, lane: str) -> Sequence[Delivery]:
        """Give those whose registry is known: none behind a registration that is not concluded.

        With the lock there is no such registration. Without it, another process is about to
        conclude one, or has died over it, and the next to open the lake settles it.
        """
        deliveries = self.deliveries(lane)
        begun = min((n for n, row in self.planned.items() if row["kind"] == REGISTRY), default=None)
        return deliveries if begun is None else [each for each in deliveries if each.n < begun]

    def ties_of_last(self, feed: str) -> Ties | None:
        """Give the `ties` that a feed's last delivery was planned with; None: it has none yet."""
        return self._last[feed][1] if feed in self._last else None

    @property
    def registry_version(self) -> int:
        """The newest version of the registry; 0: nothing was registered yet."""
        return max((version for _, version, _ in self._commits), default=0)

    @property
    def registry_versions(self) -> list[int]:
        """The versions of the registry commits that are done."""
        return [version for _, version, _ in self._commits]

    def registry_version_at(self, n: int) -> int:
        """Give the registry in force for a delivery: that of the last commit before it."""
        before = bisect_left(self._commits, (n,))
        return self._commits[before - 1][1] if before else 0

    def registrations(self, after: int, upto: int) -> dict[int, tuple[int, int]]:
        """Give the registry commits of some versions: the number of each, and when it came, µs."""
        return {
            version: (n, found_at)
            for n, version, found_at in self._commits
            if after < version <= upto
        }

    def rising_versions(self, deliveries: Sequence[Delivery]) -> Callable[[int], int]:
        """Give the same for deliveries in their order, never decreasing.

        For late deliveries to an old partition: the result of a join is a sum over all that
        came before, so a query active for one delivery is active for those after it. That
        is the registry of the largest number up to there.
        """
        numbers = numbers_of(deliveries)
        order = np.argsort(numbers, kind="stable")
        largest = np.maximum.accumulate(numbers)

        def version_at(n: int) -> int:
            place = order[np.searchsorted(numbers, n, sorter=order)]
            return self.registry_version_at(int(largest[place]))

        return version_at

    def _put(self, delivery: Delivery) -> None:
        self.by_number[delivery.n] = delivery
        for lane, mine in self._lanes.items():
            if delivery.feed in feeds_of(lane):
                mine.put(delivery)


def _place(delivery: Delivery) -> tuple[str, int]:
    return delivery.key, delivery.n


def _delivery(row: Row) -> Delivery:
    record = Record.of(row.get("declared"))
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
        record.rules,
        record.sequenced,
    )
