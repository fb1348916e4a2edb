"""The interface of every lane: its feeds, its tables, its plans and the jobs that carry them out.

Law: the lanes of all kinds are planned by the same function and committed by the same.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from fencepost.lanes import feeds_of
from pipelines.lake.store import Store
from pipelines.places import Place
from pipelines.planning.chain import EPOCHS, Chain, Epoch
from pipelines.planning.deliveries import Arrivals, Delivery
from pipelines.planning.plan import Context
from pipelines.project.settings import Feed, Settings
from schemas import Table, logs_of, written_by
from schemas.table import Owner

if TYPE_CHECKING:  # this imports the engine: --help stays quick
    from pipelines.execute.job import Job


class Bases(Mapping[str, int]):
    """The versions of tables before a plan: of the ledger at once, of the others if one is made.

    So a lane with nothing to plan opens none of them.
    """

    def __init__(self, store: Store, names: Sequence[str]) -> None:
        """Note the ledger's version: a plan that another one precedes must not be committed."""
        self._store = store
        self._names = (EPOCHS, *names)
        self._known = {EPOCHS: store.version(EPOCHS)}

    def __getitem__(self, name: str) -> int:
        """Give a table's version, the same each time."""
        if name not in self._names:
            raise KeyError(name)
        if name not in self._known:
            self._known[name] = self._store.version(name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        """List the tables."""
        return iter(self._names)

    def __len__(self) -> int:
        """Count them."""
        return len(self._names)


@dataclass(frozen=True)
class Lane(ABC):
    """A lane; `name` is what the ledgers call it: the feed's, or left~right."""

    name: str
    settings: Settings = field(compare=False, repr=False)

    owner: ClassVar[Owner]
    """Whose tables its epochs write."""
    noun: ClassVar[str]
    """What it is called in messages."""

    def __str__(self) -> str:
        """Give the name."""
        return self.name

    @property
    def joins(self) -> bool:
        """Whether it joins two feeds."""
        return self.owner == "join"

    @property
    def feed_names(self) -> tuple[str, ...]:
        """The feed, or the left and the right one."""
        return feeds_of(self.name)

    @property
    def feeds(self) -> tuple[Feed, ...]:
        """Its feeds, as fencepost.toml declares them."""
        return tuple(self.settings.feeds[name] for name in self.feed_names)

    @property
    def missing(self) -> list[str]:
        """Its feeds that fencepost.toml does not declare."""
        return [name for name in self.feed_names if name not in self.settings.feeds]

    @property
    def tables(self) -> list[Table]:
        """The tables that its epochs are committed to, in this order; the logs come last."""
        return written_by(self.owner, self.settings.tables.values())

    @property
    def logs(self) -> list[Table]:
        """Those of them that are logs of state; first the one of each stream's last tuple."""
        return logs_of(self.owner, self.settings.tables.values())

    @property
    def lateness(self) -> dict[str, int]:
        """How late tuples may come, by feed, µs."""
        return {feed.name: feed.allowed_lateness for feed in self.feeds}

    def context(
        self,
        store: Store,
        arrivals: Arrivals,
        deliveries: Sequence[Delivery],
        plan: str,
        code: str,
    ) -> Context:
        """Gather the inputs of a plan, besides the chain and the deliveries."""
        return Context(
            self.lateness,
            self.registry_versions(arrivals, deliveries),
            cache(lambda version: self.fingerprint(store, version) if version else ""),
            lambda chain: self.is_grown(store, chain),
            Bases(store, [table.name for table in self.tables]),
            code,
            plan,
        )

    @abstractmethod
    def is_grown(self, store: Store, chain: Chain) -> bool:
        """Whether enough has come since the chain's last snapshot for another one to pay."""

    @abstractmethod
    def registry_versions(
        self, arrivals: Arrivals, deliveries: Sequence[Delivery]
    ) -> Callable[[int], int]:
        """Give which registry holds for a delivery, by its number."""

    @abstractmethod
    def fingerprint(self, store: Store, version: int) -> str:
        """Name the content of a version of the registry for this lane; there is no version 0."""

    @abstractmethod
    def job(
        self, store: Store, slots: int, chain: Chain, group: Sequence[Epoch], arrivals: Arrivals
    ) -> "Job":
        """Gather what a planned group needs to be evaluated and committed."""

    @abstractmethod
    def summary(self, counts: Mapping[str, int]) -> str:
        """Describe in a line the results of epochs with these counts."""


def below(store: Store, path: Place) -> str:
    """Name a file of the lake as tasks do, which may see its folder under another path."""
    return str(path).removeprefix(f"{store.root}/")
