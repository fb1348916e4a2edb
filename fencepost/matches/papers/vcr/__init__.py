"""S2 in two axes: boxes cut into virtual construct rectangles, side by side or overlapping."""

from fencepost.matches.papers.vcr.index import Vcr, VcrOd, VcrSd
from fencepost.matches.papers.vcr.pieces import optimal_side
from fencepost.matches.papers.vcr.rectangles import Rectangle, decompose, gaps, number

__all__ = ["Rectangle", "Vcr", "VcrOd", "VcrSd", "decompose", "gaps", "number", "optimal_side"]
