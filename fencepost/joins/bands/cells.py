"""Where entries are, coarsely: a count for each of many even cells of a side's values.

A group whose bounds no entry can pass is passed over by a look at a cell or two, where a search
among the entries costs many times as much; and most groups are, at most moves.

Law: an entry lies in the cell that `cell_of` gives for its value, values beyond the first and the
last cell in these; a cell that says 0 has none. A count of MOST stays: it may be less than the
entries, and never falls.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fencepost.joins.bands.cell_kernels import count
from fencepost.tuples import Doubles

FEWEST, LARGEST = 1 << 10, 1 << 22
EACH = 8  # cells for an entry


class CellCounts(NamedTuple):
    """The cells of both sides: 8 to 16 bytes an entry, 1 KB at least and 4 MB at most a side."""

    counts: npt.NDArray[np.uint8]  # [side, cell]
    origin: Doubles  # [side]
    scale: Doubles  # [side]: cells to a unit

    @classmethod
    def over(cls, sides: tuple[Doubles, Doubles]) -> "CellCounts":
        """Lay cells over the values of both sides, and count. O(m)."""
        most = max(len(values) for values in sides)
        many = min(LARGEST, max(FEWEST, 1 << (EACH * most - 1).bit_length() if most else 0))
        counts = np.zeros((2, many), np.uint8)
        origin, scale = np.zeros(2), np.zeros(2)
        for side, values in enumerate(sides):
            if len(values):
                least, largest = float(values.min()), float(values.max())
                reach = min(largest / 2 - least / 2, 1e300) * 2
                origin[side] = least
                scale[side] = min(many / reach, 1e300) if reach > 0 else 0.0
        cells = cls(counts, origin, scale)
        for side, values in enumerate(sides):
            count(cells, side, values)
        return cells
