"""One axis as a row of cells, numbered from 0: the integer grid of S2, over any doubles.

A cell is 2**power wide and begins at a multiple of that, so that v * 2**-power, its floor and the
difference to the first cell are exact: integers that fit get the integers themselves, quarters
the quarters. Other ends are widened to whole cells.

Law: cell(v) never falls as v grows, so a box that holds v has a cell of v's own; and a value
outside all cells is held only by boxes that reach out on that side.
"""

import math
from dataclasses import dataclass

import numpy as np

from fencepost.doubles import LARGEST
from fencepost.tuples import Doubles, Int64s

POSITIONS = 256  # cells of an axis; of more than 65,536 boxes the square root
ON_LINES = 1024  # and never more than where all ends are on lines, those of integers or finer
MOST_POSITIONS = 4096
FINEST = -1000
MANTISSA = 52
LOOKED_AT = 12  # halvings of 1 that are tried for lines that go through all ends


@dataclass(frozen=True)
class Lattice:
    """`positions` cells, the first of which begins at `origin` widths."""

    power: int | None  # None: nothing ends on this axis, and all of it is one cell
    origin: float
    positions: int
    exact: bool  # every end within is on a line: what shares a cell needs no further test

    @classmethod
    def over(cls, lo: Doubles, hi: Doubles, positions: int | None = None) -> "Lattice":
        """Spread the cells over the ends of some boxes. O(n).

        A thousandth of the ends at either side may be left out: one far end must not spoil all.
        """
        ends = np.concatenate((lo, hi))
        ends = ends[np.isfinite(ends)]
        if not len(ends):
            return cls(None, 0.0, 1, exact=True)
        low, high = float(ends.min()), float(ends.max())
        power = _on_lines(ends, low, high, positions or ON_LINES)
        if power is None:
            cut = len(ends) // 1000
            kept = np.partition(ends, (cut, len(ends) - 1 - cut))
            low, high = float(kept[cut]), float(kept[len(ends) - 1 - cut])
            power = _power(low, high, positions or _enough_for(len(lo)))
        origin, count = _numbered(low, power), _count(low, high, power)
        lattice = cls(power, origin, count, exact=False)
        return cls(power, origin, count, exact=power <= 0 and lattice._stand_on_lines(ends))

    @property
    def scale(self) -> float:
        """What a value is multiplied by: cells a unit."""
        return 0.0 if self.power is None else math.ldexp(1.0, -self.power)

    @property
    def width(self) -> float:
        """How wide a cell is."""
        return math.inf if self.power is None else math.ldexp(1.0, min(self.power, 1023))

    def cells(self, values: Doubles) -> Doubles:
        """Return the cell of each finite value, as a double: it may be far outside."""
        with np.errstate(over="ignore"):
            return np.asarray(np.floor(values * self.scale) - self.origin)

    def spans(self, lo: Doubles, hi: Doubles) -> tuple[Doubles, Doubles]:
        """Widen half-open ranges: the first and the last cell that a value of each may have."""
        first = self.cells(np.maximum(lo, -LARGEST))
        with np.errstate(over="ignore"):  # nothing is below the least double
            last = self.cells(np.nextafter(hi, -np.inf))
        if self.power is None:
            return first, last
        return np.where(lo == -np.inf, -np.inf, first), np.where(hi == np.inf, np.inf, last)

    def _stand_on_lines(self, ends: Doubles) -> bool:
        with np.errstate(over="ignore"):
            at = ends * self.scale
            within = (at >= self.origin) & (at <= self.origin + self.positions)
        at = at[within]
        return bool((at == np.floor(at)).all())


def _enough_for(boxes: int) -> int:
    """A million small boxes took 2,600 ns a probe with 129 cells an axis, 840 with 513."""
    return max(POSITIONS, min(ON_LINES, math.isqrt(boxes)))


def _numbered(value: float, power: int) -> float:
    return float(np.floor(value * math.ldexp(1.0, -power)))


def _count(low: float, high: float, power: int) -> int:
    """Count the cells from low's to that of the last value below high."""
    last = _numbered(max(math.nextafter(high, -math.inf), -LARGEST), power)
    return max(1, int(last - _numbered(low, power)) + 1)


def _on_lines(ends: Doubles, low: float, high: float, positions: int) -> int | None:
    """Find the widest cells, 1 at most, whose lines go through all ends; None where too many."""
    for power in range(0, -LOOKED_AT, -1):
        scale = math.ldexp(1.0, -power)
        if (high - low) * scale > positions:
            return None
        at = ends * scale
        if (at == np.floor(at)).all():
            return power
    return None


def _power(low: float, high: float, positions: int) -> int:
    """Find the narrowest cells of which `positions` are enough, and whose numbers are exact."""
    half = high / 2 - low / 2  # the whole may overflow
    wide = math.frexp(half / positions)[1] if half > 0 else FINEST
    power = max(wide, math.frexp(max(abs(low), abs(high)))[1] - MANTISSA, FINEST)
    while _count(low, high, power) > positions:
        power += 1
    return power


def clipped(first: Doubles, last: Doubles, positions: int) -> tuple[Int64s, Int64s]:
    """Cut spans to the cells there are: where each begins, and how many cells it has left, or 0."""
    begin = np.clip(first, 0, positions).astype(np.int64)
    end = np.clip(last + 1, 0, positions).astype(np.int64)
    return begin, np.maximum(end - begin, 0)
