"""Standing band joins, low <= r − s <= high, over the current values of two feeds' streams (S4).

The bands are in groups that a point stabs each (`partition`), the values in order (`points`); a
move of one value shows what every band loses and gains (`plane`).
"""

from fencepost.joins.bands.changes import BandChanges, BandPairs
from fencepost.joins.bands.partition import StabbingPartition
from fencepost.joins.bands.plane import LEFT, RIGHT, BandPlane, Members

__all__ = ["LEFT", "RIGHT", "BandChanges", "BandPairs", "BandPlane", "Members", "StabbingPartition"]
