"""What an ingest did."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pipelines.ingest.deliveries import Outcome, Planned


@dataclass(frozen=True)
class LoadedDelivery:
    """A delivery that was loaded, and its counts; `ignored` are columns of no use."""

    n: int
    feed: str
    path: str
    rows: int
    tuples: int
    malformed: int
    future: int
    ignored: tuple[str, ...]


@dataclass(frozen=True)
class RefusedDelivery:
    """A delivery that was not loaded: why, in a word and in words."""

    n: int
    feed: str
    path: str
    reason: str
    detail: str


Progress = Callable[["IngestReport"], None]
"""Called with what was done so far."""


def no_report(_: "IngestReport") -> None:
    """Report nothing."""


@dataclass
class IngestReport:
    """All deliveries of an ingest, a recovery or a retry.

    progress     is called with it after each plan
    done         how much of what was found has been loaded, from 0 to 1
    waiting      by feed: what is not complete yet
    passed_over  by feed: what can never be loaded, each with the reason
    """

    progress: Progress = no_report
    loaded: list[LoadedDelivery] = field(default_factory=list)
    refused: list[RefusedDelivery] = field(default_factory=list)
    done: float = 0.0
    waiting: dict[str, list[str]] = field(default_factory=dict)
    passed_over: dict[str, list[str]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows were read."""
        return sum(each.rows for each in self.loaded)

    @property
    def tuples(self) -> int:
        """How many of them are tuples."""
        return sum(each.tuples for each in self.loaded)

    @property
    def malformed(self) -> int:
        """How many are none."""
        return sum(each.malformed for each in self.loaded)

    @property
    def future(self) -> int:
        """How many are too far ahead of the clock."""
        return sum(each.future for each in self.loaded)

    def reach(self, done: float) -> None:
        """Say how much has been done, and show it."""
        self.done = done
        self.progress(self)

    def add(self, later: "IngestReport") -> None:
        """Put what a later ingest did behind this one; what waits is what waits now."""
        self.loaded += later.loaded
        self.refused += later.refused
        self.waiting = later.waiting
        self.passed_over = later.passed_over

    def add_all(self, concluded: Iterable[tuple[Planned, Outcome]]) -> None:
        """Note what became of the deliveries of a plan."""
        for delivery, outcome in concluded:
            whose = (outcome.n, delivery.feed, delivery.path)
            if outcome.reason is not None:
                self.refused.append(RefusedDelivery(*whose, outcome.reason, outcome.detail or ""))
            else:
                counts = (outcome.rows, outcome.tuples, outcome.malformed, outcome.future)
                self.loaded.append(LoadedDelivery(*whose, *counts, outcome.ignored))
