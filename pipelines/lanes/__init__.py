"""The lanes of a lake: each feed has one, and each ordered pair of feeds that are joined.

A lane has epochs, tables and a ledger of its own. What differs between the kinds in planning,
evaluating and committing is in `feed.py` and `join.py`; code over lanes takes them from the
lists here.

Law: a driver iterates over all lanes of a lake or those it was given, never over feeds alone.
"""

from fencepost.lanes import sides_of
from pipelines.lake.store import Store
from pipelines.lanes.feed import FeedLane
from pipelines.lanes.join import JoinLane
from pipelines.lanes.lane import Lane
from pipelines.project.settings import Settings
from pipelines.registry import joins

__all__ = ["FeedLane", "JoinLane", "Lane", "declared_lanes", "lane_named", "lanes_of"]


def lane_named(settings: Settings, name: str) -> Lane:
    """Give the lane of this name, whether its feeds are declared or not."""
    return FeedLane(name, settings) if sides_of(name) is None else JoinLane(name, settings)


def lanes_of(store: Store, settings: Settings) -> list[Lane]:
    """List the lanes of a lake: its feeds, then the pairs that ever had a join.

    A pair whose feeds are not both declared is left out: one of them gets no deliveries.
    """
    pairs = (lane_named(settings, name) for name in joins.lanes(store))
    return [*_feeds(settings), *(lane for lane in pairs if not lane.missing)]


def declared_lanes(settings: Settings) -> list[Lane]:
    """List the lanes that fencepost.toml declares, regardless of the lake."""
    return [*_feeds(settings), *(lane_named(settings, name) for name in settings.joins)]


def _feeds(settings: Settings) -> list[Lane]:
    return [lane_named(settings, name) for name in settings.feeds]
