"""Positions in cells, each wide and high as a distance: who is within it is in the cells about.

The cells lie on a torus: of a cell's column and row the last bits count. So there is no edge and no
hashing, cells that touch lie beside each other in memory, and who is far away and comes to lie in
the same bucket costs a look. On the earth a whole number of turns of the torus goes round it, so
nothing is special about the antimeridian; towards the poles more columns are looked at.

Law: a stream that is somewhere is in the list of the bucket of its position, once, and in no other.
"""

import math
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from fencepost.joins.near.distance_kernels import ANYWHERE, CURVED, RADIUS, SLACK, SMALL, limits_of
from fencepost.tuples import Bools, Doubles, Int32s

NOBODY = -1
FEWEST, LARGEST = 8, 24  # of the bits of a bucket
EACH = 4  # buckets for a stream
TINY = 1e-150  # its square is no double; so near each other two are at one place
EXTREME = 1e300
MOVER = np.dtype(
    [("x", "f8"), ("y", "f8"), ("c", "f8"), ("next", "i4"), ("bucket", "i4")], align=True
)
"""Where a stream is, the cosine of its latitude, and who is next in its bucket: half a cache line.
x is NaN where it is nowhere."""


class Frame(NamedTuple):
    """Where cells are: what a kernel reads and never writes. On the earth sizes are in degrees."""

    earth: bool
    sine: float  # on the earth, of the distance as an angle
    reach: float  # how far to look up and down, and on a plane to both sides
    across: float  # cells to a unit along x
    up: float  # and along y
    column_bits: int
    row_bits: int
    within: float  # the flat square below which two are within the least distance of all joins
    beyond: float  # that above which they are not within the largest, where angles are small
    anywhere: float  # and wherever they are

    @classmethod
    def over(cls, earth: bool, distances: Doubles, x: Doubles, y: Doubles) -> Self:
        """Choose cells for joins of these distances and streams at these places. O(both)."""
        bits = min(LARGEST, max(FEWEST, (EACH * max(len(x), 1) - 1).bit_length()))
        largest, least = float(distances.max(initial=0.0)), float(distances.min(initial=math.inf))
        within, beyond = limits_of(earth, least, largest)
        if not earth:
            size = max(largest, TINY)
            columns = _share(bits, _extent(x) / size, _extent(y) / size)
            reach = largest * (1.0 + SLACK) + TINY
            rows = bits - columns
            each = 1.0 / size
            return cls(False, 0.0, reach, each, each, columns, rows, within, beyond, beyond)
        angle = min(largest / RADIUS, math.pi)
        reach = math.degrees(angle) * (1.0 + SLACK) + SLACK
        usual = max(0.01, float(np.median(np.cos(np.radians(y))))) if len(y) else 1.0
        across = min(reach / usual, 360.0)
        around = int(360.0 / across)
        columns = _share(bits, _extent(x) / across, _extent(y) / reach)
        columns = min(columns, around.bit_length() - 1)
        turn = (around >> columns << columns) / 360.0
        sine, rows = math.sin(min(angle, math.pi / 2.0)), bits - columns
        is_fine = min(columns, rows) > 3 and reach < SMALL  # strangers in a bucket are far away
        anywhere = beyond * ANYWHERE
        beyond = beyond * (1.0 + CURVED) if is_fine else anywhere
        return cls(True, sine, reach, turn, 1.0 / reach, columns, rows, within, beyond, anywhere)


class MoverLists(NamedTuple):
    """Both sides' lists: 4 bytes a bucket, 36 a stream."""

    first: Int32s  # [side, bucket]
    movers: npt.NDArray[Any]  # [side, stream]
    before: Int32s  # [side, stream]: who is before it in its bucket
    is_turned: Bools  # [1]: whether a longitude was beyond 180, so that two are of one place

    @classmethod
    def empty(cls, frame: Frame, streams: int) -> Self:
        """Nobody is anywhere; there is room for codes below a number."""
        movers = np.zeros((2, streams), MOVER)
        movers["x"] = np.nan
        buckets = 1 << (frame.column_bits + frame.row_bits)
        return cls(
            np.full((2, buckets), NOBODY, np.int32),
            movers,
            np.full((2, streams), NOBODY, np.int32),
            np.zeros(1, np.bool_),
        )


def _extent(values: Doubles) -> float:
    return min(float(values.max() / 2 - values.min() / 2), EXTREME) * 2 if len(values) else 0.0


def _share(bits: int, wide: float, high: float) -> int:
    """Give columns their share of the bits, as the places are spread over both axes."""
    slant = math.log2(max(1.0, min(wide, EXTREME))) - math.log2(max(1.0, min(high, EXTREME)))
    return max(0, min(bits, round((bits + slant) / 2)))
