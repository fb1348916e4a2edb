"""What a lane is called in Dagster, and which of its tables are assets.

A lane is a group of the graph, called like its feed. A pair `bids~asks` is called `bids_X_asks`,
since Dagster takes letters, digits and _ only: no feed has a capital letter in its name, so no two
groups have one name. The graph is made from fencepost.toml alone, so of the pairs it has those that
are declared there.
"""

from fencepost.lanes import sides_of
from pipelines.lanes import Lane, declared_lanes
from pipelines.project.settings import Feed, Settings

BETWEEN = "_X_"
NO_ASSETS = ("quarantine", "reorder")
"""Of the tables that epochs write: the one that is an asset of what has arrived, and the one whose
rows only wait."""


def group_of(lane: Lane) -> str:
    """Name the group of a lane, the first part of its assets' keys."""
    return BETWEEN.join(sides_of(lane.name) or (lane.name,))


def assets_of(lane: Lane) -> list[str]:
    """Name the tables that are assets of a lane, each after those it is made from."""
    return [table.name for table in lane.tables if table.name not in NO_ASSETS]


def owners_of(lane: Lane) -> list[str]:
    """Name the owners of a lane: all owners of its feeds."""
    return list(dict.fromkeys(owner for feed in lane.feeds for owner in feed.owners))


def pairs_of(settings: Settings, feed: Feed | None = None) -> list[Lane]:
    """List the declared pairs of feeds, or those that a feed is one of."""
    pairs = [lane for lane in declared_lanes(settings) if lane.joins]
    return [lane for lane in pairs if feed is None or feed.name in lane.feed_names]
