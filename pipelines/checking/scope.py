"""Which rows a check looks at: those of some epochs of a feed, or all of the feed's.

Law: of some epochs are their rows, their deliveries, and the deliveries that no epoch has taken
yet; so what has just been ingested is looked at too.
"""

# ruff: noqa: S608  a feed's name is one that is declared, all else are numbers

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from fencepost.errors import InputError
from fencepost.queries.wording import did_you_mean
from pipelines.planning.chain import Chain, Epoch
from pipelines.planning.deliveries import Arrivals, Delivery
from pipelines.settings import Settings

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Scope:
    """A feed, and runs of its epochs: (first, last); None: all of it."""

    feed: str
    runs: tuple[tuple[int, int], ...] | None = None

    @classmethod
    def of(cls, settings: Settings, feed: str, epochs: Sequence[Epoch] | None) -> "Scope":
        """Take the epochs of a run; refuse a feed that is not declared."""
        if feed not in settings.feeds:
            near = did_you_mean(feed, settings.feeds)
            raise InputError(
                f"there is no feed '{feed}'; there are: {', '.join(settings.feeds)}.{near}"
            )
        return cls(feed, None if epochs is None else tuple(_runs(epochs)))

    @property
    def words(self) -> str:
        """Name it in a word that may stand in a path."""
        if self.runs is None:
            return "all"
        return "epochs-" + ("_".join(f"{a}-{b}" for a, b in self.runs[:3]) or "none")

    def epochs(self, column: str) -> str:
        """Write as SQL: this column holds an epoch in it."""
        if self.runs is None:
            return "TRUE"
        return _any(f"{column} BETWEEN {first:d} AND {last:d}" for first, last in self.runs)

    def deliveries(self, column: str) -> str:
        """Write as SQL: this column holds the number of a delivery in it."""
        if self.runs is None:
            return "TRUE"
        return (
            f"{column} NOT IN (SELECT EXPLODE(o.arrivals) FROM done_epochs o "
            f"WHERE o.lane = '{self.feed}' AND NOT {self.epochs('o.epoch')})"
        )


def chain_in(session: "duckdb.DuckDBPyConnection", feed: str) -> Chain:
    """Read the epochs of a feed as a session sees them."""
    rows = session.execute(f"SELECT * FROM raw_epochs e WHERE e.lane = '{feed}'").to_arrow_table()
    return Chain.of(feed, map(Epoch.of_row, rows.to_pylist()))


def deliveries_in(session: "duckdb.DuckDBPyConnection", feed: str) -> list[Delivery]:
    """Read the deliveries of a feed as a session sees them."""
    rows = session.execute(f"SELECT * FROM raw_arrivals a WHERE a.lane = '{feed}'")
    return Arrivals.of(rows.to_arrow_table().to_pylist()).deliveries(feed)


def latest_run(chain: Chain) -> tuple[Epoch, ...]:
    """Give the epochs that were last committed together."""
    done = [epoch for epoch in chain.epochs if epoch.done]
    return tuple(epoch for epoch in done if epoch.plan == done[-1].plan)


def _runs(epochs: Sequence[Epoch]) -> Iterator[tuple[int, int]]:
    numbers = sorted({epoch.epoch for epoch in epochs})
    for _, run in groupby(enumerate(numbers), lambda each: each[1] - each[0]):
        members = [number for _, number in run]
        yield members[0], members[-1]


def _any(conditions: Iterator[str]) -> str:
    return f"({' OR '.join(conditions) or 'FALSE'})"
