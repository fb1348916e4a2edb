"""The interval skip list: a skip list over the ends, whose edges carry the intervals."""

from benchmarks.baselines.is_list.index import IsList

__all__ = ["IsList"]
