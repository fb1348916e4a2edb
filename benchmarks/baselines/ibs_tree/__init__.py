"""The interval binary search tree: one for each attribute, their findings merged by counting."""

from benchmarks.baselines.ibs_tree.index import IbsTree

__all__ = ["IbsTree"]
