"""DiffRMQ: crossings as the difference of two sets of matches, the rival of S1."""

from benchmarks.baselines.diff_rmq.diff import DiffRmq

__all__ = ["DiffRmq"]
