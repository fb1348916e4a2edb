"""Standing band joins, low <= r − s <= high, over the current values of two feeds' streams (S4).

The bands stand in groups that a point stabs each (`partition`), the values in order (`points`); a
move of one value tells what every band loses and gains (`plane`).
"""

from fencepost.joins.bands.changes import Changes, HeldPairs
from fencepost.joins.bands.plane import LEFT, RIGHT, BandPlane, Members
from fencepost.joins.bands.stabbing import StabbingPartition

__all__ = ["LEFT", "RIGHT", "BandPlane", "Changes", "HeldPairs", "Members", "StabbingPartition"]
