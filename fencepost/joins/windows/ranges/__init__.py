"""Query-initiative: for each new tuple and conjunct, the few old tuples that may be in its box."""

from fencepost.joins.windows.ranges.probe import probe, runs

__all__ = ["probe", "runs"]
