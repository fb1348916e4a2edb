"""The current values of the streams of two feeds, kept in order while they come, move and go."""

from fencepost.joins.bands.points.ordered import LEAF, Leaves, Points, Signed

__all__ = ["LEAF", "Leaves", "Points", "Signed"]
