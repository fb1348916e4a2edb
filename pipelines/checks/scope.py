"""Which rows a check covers: those of some epochs of a lane, or all of the lane's.

Law: some epochs cover their rows, their deliveries, and the deliveries that no epoch has
yet; so what has just been loaded is checked too.
"""

# ruff: noqa: S608  a feed's name is one that is declared, all else are numbers

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from fencepost.errors import InputError
from fencepost.text import did_you_mean
from pipelines.lanes import Lane
from pipelines.planning import rules
from pipelines.planning.chain import Chain, Epoch
from pipelines.planning.deliveries import Arrivals, Delivery

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class CheckScope:
    """A lane, and runs of its epochs: (first, last); None: all of it.

    own_clocks  feeds whose streams wait for their own clocks, in some epoch of the lane
    judged      whether that was read from the ledger
    """

    lane: Lane
    runs: tuple[tuple[int, int], ...] | None = None
    own_clocks: frozenset[str] = frozenset()
    judged: bool = False

    @classmethod
    def of(cls, lane: Lane, epochs: Sequence[Epoch] | None) -> "CheckScope":
        """Cover the epochs of a run; refuse a lane of feeds that are not declared."""
        declared = lane.settings.feeds
        for feed in lane.missing:
            near = did_you_mean(feed, declared)
            raise InputError(f"there is no feed '{feed}'; there are: {', '.join(declared)}.{near}")
        return cls(lane, None if epochs is None else tuple(_runs(epochs)))

    def as_judged(self, session: "duckdb.DuckDBPyConnection") -> "CheckScope":
        """Give the scope with what the ledger says of its feeds' clocks, which is read once."""
        if self.judged:
            return self
        records = session.execute(
            f"SELECT DISTINCT d.declared FROM done_epochs d WHERE d.lane = '{self.lane}' "
            "AND d.declared IS NOT NULL"
        ).fetchall()
        feeds = {
            feed
            for (record,) in records
            for feed, own in rules.of_feeds(record).items()
            if own.idle is not None
        }
        return replace(self, own_clocks=frozenset(feeds), judged=True)

    @property
    def feed(self) -> str:
        """The feed, whose lane has its name."""
        return self.lane.name

    @property
    def sides(self) -> tuple[str, ...]:
        """The feeds of the lane, the left one first."""
        return self.lane.feed_names

    def of_lane(self, column: str) -> str:
        """Write as SQL: this column holds a feed of the lane."""
        feeds = "', '".join(self.lane.feed_names)
        return f"{column} IN ('{feeds}')"

    @property
    def words(self) -> str:
        """Name it in a word that is safe in a path."""
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
            f"WHERE o.lane = '{self.lane}' AND NOT {self.epochs('o.epoch')})"
        )


def chain_in(session: "duckdb.DuckDBPyConnection", lane: str) -> Chain:
    """Read the epochs of a lane as a session sees them."""
    rows = session.execute(f"SELECT * FROM raw_epochs e WHERE e.lane = '{lane}'").to_arrow_table()
    return Chain.of(lane, map(Epoch.of_row, rows.to_pylist()))


def deliveries_in(session: "duckdb.DuckDBPyConnection", scope: CheckScope) -> Sequence[Delivery]:
    """Read the deliveries of a lane as a session sees them."""
    rows = session.execute(f"SELECT * FROM raw_arrivals a WHERE {scope.of_lane('a.lane')}")
    return Arrivals.of(rows.to_arrow_table().to_pylist()).deliveries(scope.lane.name)


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
