"""IBS-JS: join conditions by a shared plan, then selections by interval binary search trees."""

from benchmarks.baselines.ibs_join.index import IbsJoin, Kept

__all__ = ["IbsJoin", "Kept"]
