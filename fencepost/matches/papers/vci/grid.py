"""Integers for an axis of doubles: the positions at which virtual constructs begin and end.

S2 assumes that the ends of queries are integers, and widens others to the nearest. Here a position
is a multiple of a power of two, of 1 where all ends are integers. A cell reaches from its position
up to the next: [j, j + 1).

Law: cell(v) never falls as v grows. A box holds no value outside the cells from that of its lo to
that of the last double below its hi; the box is widened to those, and to no more.
"""

from dataclasses import dataclass
from math import frexp
from typing import Self

import numpy as np

from fencepost.errors import InputError
from fencepost.matches.boxes import Boxes
from fencepost.tuples import Bools, Doubles, Int32s, Int64s

GRIDS = ("auto", "integers", "cells")
MOST_BY_DEFAULT = 4096
FEWEST_BY_DEFAULT = 64
FEWEST_POSITIONS = 3  # ends on both sides of zero need that many, however wide a cell is
MOST_POSITIONS = 1 << 20
_STEEPEST, _FLATTEST = 1023, -1030  # powers of two: as fine, and as coarse, as doubles require


@dataclass(frozen=True)
class PositionGrid:
    """Positions 0 to `top`, R = top + 1 of them, and the cells between: cell j begins at j.

    `exact`: every finite end is on a position, so a query that covers a cell holds all its values.
    """

    scale: float  # positions to one unit of the axis, a power of two
    base: float  # which multiple of a cell's width position 0 is
    top: int
    exact: bool

    @classmethod
    def over(cls, boxes: Boxes, positions: int | None = None, kind: str = "auto") -> Self:
        """Choose cells such that all finite ends fall on 0 to `positions` - 1. O(n).

        By default four positions a box, at most 4,096. "auto" uses the integers where all ends are
        integers and near enough to each other, else the finest cells that fit.
        """
        ends = _finite(boxes)
        if not len(ends):
            return cls(1.0, 0.0, 0, exact=True)
        if kind == "integers":
            return cls._of_integers(ends, positions or MOST_POSITIONS)
        if kind == "auto" and bool((np.floor(ends) == ends).all()):
            whole = cls._at_power(ends, 0)
            if whole.positions <= (positions or MOST_BY_DEFAULT):
                return whole
        most = positions or by_default(len(boxes))
        power = _finest(ends, most)
        while (finest := cls._at_power(ends, power)).positions > most:
            power -= 1
        return finest

    @classmethod
    def _of_integers(cls, ends: Doubles, most: int) -> Self:
        whole = cls._at_power(ends, 0)
        if whole.positions > most:
            raise InputError(
                f"the ends run from {ends.min():g} to {ends.max():g}, and of the integers between "
                f"at most {most:,} may be positions; take more positions, or grid='cells'"
            )
        return whole

    @classmethod
    def _at_power(cls, ends: Doubles, power: int) -> Self:
        scale = float(np.ldexp(1.0, power))
        at, before = _floors(ends, scale), _floors(last_below(ends), scale)
        base = float(at.min())
        # So fine that a double overflows: finer than any grid that could be had.
        top = float(before.max()) - base + 1 if np.isfinite(base) else np.inf
        exact = bool((before < at).all())
        return cls(scale, base, int(min(max(top, 0.0), MOST_POSITIONS)), exact)

    @property
    def positions(self) -> int:
        """How many: R in S2."""
        return self.top + 1

    @property
    def axis(self) -> tuple[float, float, float]:
        """What a kernel needs to find the cell of a value."""
        return self.scale, self.base, float(self.top)

    def cell(self, values: Doubles) -> Int64s:
        """Return the cell of each value: -1 below all, `top` from the last position on."""
        cells = np.clip(_floors(values, self.scale) - self.base, -1, self.top)
        whole: Int64s = cells.astype(np.int64)
        return whole

    def on_position(self, ends: Doubles) -> Bools:
        """Mark the finite ends that are in another cell than the double below them."""
        on: Bools = _floors(last_below(ends), self.scale) < _floors(ends, self.scale)
        return on

    def at(self, position: int) -> float:
        """Return the value at a position."""
        return (self.base + position) / self.scale

    def places(self, boxes: Boxes) -> tuple[Int32s, Int32s]:
        """Widen boxes to the positions [x, y] round them, clipped to those there are.

        x = y only where a box has no value between the first position and the last.
        """
        x = np.maximum(self.cell(boxes.lo[0]), 0)
        y = np.minimum(self.cell(last_below(boxes.hi[0])) + 1, self.top)
        return x.astype(np.int32), y.astype(np.int32)

    def describe(self) -> str:
        """Say where the positions are, and whether the ends are on them."""
        width = f"{1 / self.scale:g} wide" if self.scale != 1 else "the integers"
        ends = "on them" if self.exact else "between them, so checked again"
        return f"{self.positions:,} positions from {self.at(0):g}, {width}, ends {ends}"


def by_default(boxes: int) -> int:
    """Return the number of positions for a number of boxes: four each, 64 to 4,096."""
    return min(max(1 << (4 * boxes - 1).bit_length(), FEWEST_BY_DEFAULT), MOST_BY_DEFAULT)


def _finite(boxes: Boxes) -> Doubles:
    ends = np.concatenate([boxes.lo[0], boxes.hi[0]])
    finite: Doubles = ends[np.isfinite(ends)]
    return finite


def _floors(values: Doubles, scale: float) -> Doubles:
    with np.errstate(over="ignore", under="ignore"):
        floors: Doubles = np.floor(values * scale)
    return floors


def last_below(ends: Doubles) -> Doubles:
    """Return the largest double below each end; an open end stays open."""
    with np.errstate(over="ignore", under="ignore"):
        below: Doubles = np.where(np.isposinf(ends), np.inf, np.nextafter(ends, -np.inf))
    return below


def _finest(ends: Doubles, positions: int) -> int:
    """Return a power of two whose cells are surely fine enough; `over` then makes them coarser."""
    span = float(ends.max()) / 2 - float(ends.min()) / 2
    if span == 0:
        return 0
    power = positions.bit_length() - frexp(span)[1] + 1
    return min(max(power, _FLATTEST), _STEEPEST)
