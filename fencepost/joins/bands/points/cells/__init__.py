"""Where entries are, coarsely."""

from fencepost.joins.bands.points.cells.grid import Cells

__all__ = ["Cells"]
