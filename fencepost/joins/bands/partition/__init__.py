"""Intervals in as few groups as may be, each with a point that all of its group hold."""

from fencepost.joins.bands.partition.stabbing import StabbingPartition

__all__ = ["StabbingPartition"]
