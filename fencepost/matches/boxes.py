"""What every index is built of: boxes, each with its place.

Law: lo <= v < hi on every axis, as everywhere; a bound may be infinite; no box is empty.
"""

from dataclasses import dataclass

import numpy as np

from fencepost.errors import InputError
from fencepost.tuples import Bools, Doubles, Int32s, Int64s


@dataclass(frozen=True, eq=False)
class Boxes:
    """m boxes over d axes: lo[d, m] and hi[d, m], contiguous. Of one axis, they are intervals."""

    lo: Doubles
    hi: Doubles

    @classmethod
    def of(cls, lo: Doubles, hi: Doubles) -> "Boxes":
        """Check bounds, -0.0 read as 0.0; refuse wrong shapes, NaN, and empty boxes. O(m d)."""
        lo, hi = (np.ascontiguousarray(ends, np.float64) + 0.0 for ends in (lo, hi))
        if lo.ndim != 2 or lo.shape != hi.shape:
            raise InputError(f"bounds of shapes {lo.shape} and {hi.shape}, [axes, boxes] expected")
        for axis, box in np.argwhere(~(lo < hi))[:1]:
            raise InputError(
                f"box {box} is empty on axis {axis}: [{lo[axis, box]}, {hi[axis, box]})"
            )
        return cls(lo, hi)

    def __len__(self) -> int:
        return int(self.lo.shape[1])

    @property
    def axes(self) -> int:
        """How many axes."""
        return len(self.lo)

    def take(self, rows: Int64s | Int32s | Bools) -> "Boxes":
        """Return some of them, in this order."""
        return Boxes(np.ascontiguousarray(self.lo[:, rows]), np.ascontiguousarray(self.hi[:, rows]))

    def extent(self) -> tuple[Doubles, Doubles]:
        """Return the smallest and the largest finite bound of each axis; 0 and 1 where none is."""
        least, most = np.zeros(self.axes), np.ones(self.axes)
        for axis, ends in enumerate(zip(self.lo, self.hi, strict=True)):
            finite = np.concatenate(ends)
            finite = finite[np.isfinite(finite)]
            if len(finite):
                least[axis], most[axis] = finite.min(), finite.max()
        return least, most
