"""What the ledgers say of each time partition: what arrived, what was evaluated, what is stale.

All that shows partitions (Dagster, the command line) reads them here, so all agree, whichever
process did the work.

Law: an account depends on the ledgers alone; two accounts with the same `arrived` and `evaluated`
describe the same rows.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from fencepost.hashing import digest
from pipelines.epochs.drive import arrivals_of, chain_of
from pipelines.epochs.partitions import stale_in
from pipelines.lake.store import Store
from pipelines.planning.chain import Epoch
from pipelines.planning.deliveries import Delivery
from schemas.epochs import COUNTS


@dataclass(frozen=True)
class Account:
    """A partition of a lane.

    deliveries  those loaded
    epochs      those in force, in order
    missing     how many deliveries no epoch in force has evaluated yet
    stale       it was evaluated, and its input or that of an earlier partition has changed since
    """

    lane: str
    key: str
    deliveries: tuple[Delivery, ...]
    epochs: tuple[Epoch, ...]
    missing: int
    stale: bool

    @property
    def arrived(self) -> str:
        """Name what arrived: equal names mean equal rows."""
        numbers = ",".join(str(delivery.n) for delivery in self.deliveries)
        return digest(numbers, 8) if numbers else "none"

    @property
    def evaluated(self) -> str:
        """Name what is in force: generation and epochs."""
        if not self.epochs:
            return "none"
        last = self.epochs[-1]
        return f"generation {last.generation}, epochs {self.epochs[0].epoch}–{last.epoch}"

    @property
    def counts(self) -> dict[str, int]:
        """The counts of its epochs together; `waiting` is that of the last one."""
        total = {name: sum(epoch.counts[name] for epoch in self.epochs) for name in COUNTS}
        return {**total, "waiting": self.epochs[-1].counts["waiting"] if self.epochs else 0}

    @property
    def read(self) -> dict[str, int]:
        """The rows and tuples of its deliveries."""
        kinds = ("rows", "tuples", "malformed", "future")
        return {kind: sum(getattr(each, kind) for each in self.deliveries) for kind in kinds}

    @property
    def watermark(self) -> int | None:
        """The watermark after it, µs."""
        return self.epochs[-1].watermark if self.epochs else None


def accounts(store: Store, lane: str) -> Mapping[str, Account]:
    """Give the account of every partition that has deliveries, in order. O(rows of the ledgers)."""
    chain = chain_of(store, lane)
    deliveries = arrivals_of(store).deliveries(lane)
    epochs: dict[str, list[Epoch]] = defaultdict(list)
    for epoch in chain.epochs:
        if epoch.done:
            epochs[epoch.key].append(epoch)
    evaluated = {n for epoch in chain.epochs if epoch.done for n in epoch.arrivals}
    arrived: dict[str, list[Delivery]] = defaultdict(list)
    for delivery in deliveries:
        arrived[delivery.key].append(delivery)
    stale = set(stale_in(chain, deliveries))
    return {
        key: Account(
            lane,
            key,
            tuple(arrived[key]),
            tuple(epochs[key]),
            sum(delivery.n not in evaluated for delivery in arrived[key]),
            key in stale,
        )
        for key in sorted({*arrived, *epochs})
    }


def without_deliveries(lane: str, key: str) -> Account:
    """Give the account of a partition without deliveries."""
    return Account(lane, key, (), (), 0, stale=False)
