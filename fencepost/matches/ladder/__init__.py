"""Intervals of like width together, each rung sorted: most results are copied without a test."""

from fencepost.matches.ladder.index import Ladder
from fencepost.matches.ladder.ruler import DepthRuler

__all__ = ["DepthRuler", "Ladder"]
