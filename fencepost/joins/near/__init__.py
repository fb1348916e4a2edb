"""Standing near joins: streams of two feeds, or of one, within a distance of each other.

The streams' current positions are in cells as wide as the distance (`cells`), so a stream that
moves looks at those about it alone; a move shows what every join loses and gains (`plane`).
"""

from fencepost.joins.near.changes import NearChanges, NearPairs
from fencepost.joins.near.cover import JoinCover
from fencepost.joins.near.plane import NearPlane

__all__ = ["JoinCover", "NearChanges", "NearPairs", "NearPlane"]
