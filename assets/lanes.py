"""What Dagster shows as a group with a state: a feed, or an ordered pair of feeds that are joined.

The graph is made from fencepost.toml alone, so of the joins it has the pairs that stand there. A
pair `bids~asks` is called `bids_X_asks`, since Dagster takes letters, digits and _ only: no feed
has a capital letter in its name, so no two groups have one name.

Law: whatever is true of both kinds takes a `Lane`; only what a feed alone has takes a `Feed`.
"""

from dataclasses import dataclass

from fencepost.lanes import sides_of
from pipelines.project.settings import Feed, Settings

EVALUATED = ("stream_state", "events", "transitions", "matches", "pending")
JOINED = ("set_members", "live_windows", "pairs", "band_changes")
"""What an epoch writes, of a feed and of joins; first what says where each stream stands."""

BETWEEN = "_X_"


@dataclass(frozen=True)
class Lane:
    """A feed, or two.

    name   of its group, the first part of its assets' keys
    lane   the name that the ledgers have for it
    feeds  the feed, or the left and the right one
    """

    name: str
    lane: str
    feeds: tuple[Feed, ...]

    @classmethod
    def of_feed(cls, feed: Feed) -> "Lane":
        """Take a feed."""
        return cls(feed.name, feed.name, (feed,))

    @classmethod
    def of_joins(cls, settings: Settings, lane: str) -> "Lane":
        """Take a declared pair of feeds."""
        sides = sides_of(lane) or ()
        return cls(BETWEEN.join(sides), lane, tuple(settings.feeds[name] for name in sides))

    @property
    def joins(self) -> bool:
        """Whether it is a pair of feeds."""
        return len(self.feeds) > 1

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that its epochs write."""
        return JOINED if self.joins else EVALUATED

    @property
    def state(self) -> str:
        """The table that says where each stream stands."""
        return self.tables[0]

    @property
    def unit(self) -> str:
        """What a partition is: an hour, or a day."""
        return self.feeds[0].partition

    @property
    def owners(self) -> list[str]:
        """Who answers for it: all who do for its feeds."""
        return list(dict.fromkeys(owner for feed in self.feeds for owner in feed.owners))


def joined(settings: Settings) -> list[Lane]:
    """List the declared pairs."""
    return [Lane.of_joins(settings, lane) for lane in settings.joins]


def lanes(settings: Settings) -> list[Lane]:
    """List all lanes that Dagster shows: the feeds, and behind them the pairs."""
    return [*(Lane.of_feed(feed) for feed in settings.feeds.values()), *joined(settings)]


def joins_of(settings: Settings, feed: Feed) -> list[Lane]:
    """List the pairs that a feed is one of."""
    return [lane for lane in joined(settings) if feed in lane.feeds]
