"""Every box for every point: the twin of all other indexes, in plain NumPy.

O(boxes x axes) a point. It is the readable version of every kernel beside it, and for a handful of
boxes nothing is quicker.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from fencepost.matches.boxes import Boxes
from fencepost.matches.index import Parameter
from fencepost.matches.parameters import only
from fencepost.matches.result import ProbeResult
from fencepost.tuples import Doubles

AT_ONCE = 1 << 22  # pairs compared together


@dataclass(frozen=True, eq=False)
class Scan:
    """No index at all."""

    name: ClassVar[str] = "scan"
    boxes: Boxes

    @classmethod
    def build(cls, boxes: Boxes, **parameters: Parameter) -> Self:
        """Keep the boxes as they are; there is nothing to choose."""
        only(cls.name, parameters)
        return cls(boxes)

    @property
    def nbytes(self) -> int:
        """Bytes of the bounds."""
        return self.boxes.lo.nbytes + self.boxes.hi.nbytes

    def probe(self, points: Doubles) -> ProbeResult:
        """Compare each point with each box, four million pairs at a time."""
        count, many = points.shape[1], len(self.boxes)
        if not count or not many:
            return ProbeResult.nothing(count)
        share = max(1, AT_ONCE // many)
        parts = [self._some(points[:, at : at + share]) for at in range(0, count, share)]
        return ProbeResult.together(parts)

    def _some(self, points: Doubles) -> ProbeResult:
        inside = np.ones((points.shape[1], len(self.boxes)), np.bool_)
        for lo, hi, v in zip(self.boxes.lo, self.boxes.hi, points, strict=True):
            inside &= (lo <= v[:, None]) & (v[:, None] < hi)
        point, box = np.nonzero(inside)
        ptr = np.searchsorted(point, np.arange(len(inside) + 1))
        return ProbeResult(ptr.astype(np.int64), box.astype(np.int32))

    def check(self) -> None:
        """There is nothing that could be broken."""

    def describe(self) -> str:
        """Say how many boxes each point is compared with: all."""
        return "every box for every point"
