"""Guttman's R-tree: boxes inserted one by one, nodes split by the quadratic rule."""

from benchmarks.baselines.guttman.index import Guttman

__all__ = ["Guttman"]
