"""Positions in cells, each twice as wide and high as a distance: who is within it is in four.

The cells lie on a torus: of a cell's column and row the last bits count. So there is no edge and no
hashing, cells that touch lie beside each other in memory, and who is far away and comes to lie in
the same bucket costs a look. On the earth a whole number of turns of the torus goes round it, so
nothing is special about the antimeridian; towards the poles more columns are looked at.

Law: a stream that is somewhere is in a block of the bucket of its position, once, and in no other.
Of a bucket's blocks all but the last are full.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from fencepost.errors import BrokenIndex
from fencepost.joins.near.block_kernels import EACH, FAR, LINE, LINK, MANY, NOBODY, NONE, WIDTH
from fencepost.joins.near.distance_kernels import ANYWHERE, CURVED, RADIUS, SLACK, SMALL, limits_of
from fencepost.matches.packed.index import aligned
from fencepost.tuples import Doubles, Int32s

Floats = npt.NDArray[np.float32]

FEWEST, LARGEST = 6, 24  # of the bits of a bucket
GROWN = 4  # times as many streams as there were: then cells are made anew
TINY = 1e-150  # its square is no double; so near each other two are at one place
EXTREME = 1e300
MOVER = np.dtype(
    [("x", "f8"), ("y", "f8"), ("c", "f8"), ("bucket", "i4"), ("at", "i4")], align=True
)
"""Where a stream is, the cosine of its latitude, its bucket and its place in a block: half a cache
line. x is NaN and the bucket NOBODY where it is nowhere."""


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
        bits = min(LARGEST, max(FEWEST, (max(len(x), 1) - 1).bit_length()))
        largest, least = float(distances.max(initial=0.0)), float(distances.min(initial=math.inf))
        within, beyond = limits_of(earth, least, largest)
        if not earth:
            size = max(largest, TINY)
            columns = _share(bits, _extent(x) / size, _extent(y) / size)
            reach = largest * (1.0 + SLACK) + TINY
            rows = bits - columns
            each = 0.5 / reach
            return cls(False, 0.0, reach, each, each, columns, rows, within, beyond, beyond)
        angle = min(largest / RADIUS, math.pi)
        reach = math.degrees(angle) * (1.0 + SLACK) + SLACK
        usual = max(0.01, float(np.median(np.cos(np.radians(y))))) if len(y) else 1.0
        across = min(2.0 * reach / usual, 360.0)
        around = int(360.0 / across)
        columns = _share(bits, _extent(x) / across, _extent(y) / (2.0 * reach))
        columns = min(columns, around.bit_length() - 1)
        turn = (around >> columns << columns) / 360.0
        sine, rows = math.sin(min(angle, math.pi / 2.0)), bits - columns
        anywhere = beyond * ANYWHERE
        beyond = beyond * (1.0 + CURVED) if reach < SMALL else anywhere
        return cls(True, sine, reach, turn, 0.5 / reach, columns, rows, within, beyond, anywhere)


class MoverCells(NamedTuple):
    """Both sides' streams, 32 bytes each, and blocks of 96 bytes: one a bucket, more for crowds.

    Of two feeds the blocks of the right side's buckets come behind those of the left.
    """

    places: Floats  # [block, (x or y, of the cell's width and height)], aligned to cache lines
    words: Int32s  # the same as numbers: the next block
    codes: Int32s  # [block, stream], and how many
    movers: npt.NDArray[Any]  # [side, stream]
    free: Int32s  # [1]: the first block that is in no bucket; each knows the next

    @classmethod
    def empty(cls, frame: Frame, streams: int, sides: int) -> Self:
        """Nobody is anywhere; there is room for codes below a number.

        A block more is for seven streams that fill another, so there are always enough of them.
        """
        movers = np.zeros((2, streams), MOVER)
        movers["x"], movers["bucket"] = np.nan, NOBODY
        buckets = sides << (frame.column_bits + frame.row_bits)
        blocks = buckets + sides * streams // EACH + 1
        places = aligned((blocks, LINE), np.float32)
        places[:] = FAR
        words = places.view(np.int32)
        words[:buckets, LINK], words[buckets:, LINK] = NONE, np.arange(buckets, blocks) + 1
        codes = np.zeros((blocks, WIDTH), np.int32)
        free = np.array([buckets], np.int32)
        return cls(places.ravel(), words.ravel(), codes.ravel(), movers, free)

    def places_of(self, bucket: int) -> Iterator[int]:
        """Walk a bucket: its places where somebody is. Raise BrokenIndex where one is not dense."""
        block = bucket
        while True:
            many, after = (
                int(self.codes[block * WIDTH + MANY]),
                int(self.words[block * LINE + LINK]),
            )
            yield from range(block * WIDTH, block * WIDTH + many)
            begin = block * LINE
            if (self.places[begin + many : begin + WIDTH] != FAR).any():
                raise BrokenIndex(f"somebody stands behind the {many} of block {block}")
            after = int(self.words[begin + LINK])
            if after == NONE:
                break
            if many < EACH:
                raise BrokenIndex(f"block {block} is not full, and another comes behind it")
            block = after


def _extent(values: Doubles) -> float:
    return min(float(values.max() / 2 - values.min() / 2), EXTREME) * 2 if len(values) else 0.0


def _share(bits: int, wide: float, high: float) -> int:
    """Give columns their share of the bits, as the places are spread over both axes."""
    slant = math.log2(max(1.0, min(wide, EXTREME))) - math.log2(max(1.0, min(high, EXTREME)))
    return max(0, min(bits, round((bits + slant) / 2)))
