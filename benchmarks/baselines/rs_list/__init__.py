"""The RS list as S1 prints it: linked segments, delta queries in linked lists."""

from benchmarks.baselines.rs_list.rs_list import RsList

__all__ = ["RsList"]
