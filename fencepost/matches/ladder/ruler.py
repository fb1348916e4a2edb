"""A ruler of even depth: positions along an axis, dense where bounds are dense.

The bounds are cut at quantiles into pieces, and each piece evenly into `A_PIECE` positions. A table
of even cells finds the piece, so a position costs a few loads from the nearest cache, however the
bounds are spread: outliers take a piece for themselves, and a crowd takes many.

Law: position(v) never falls as v grows. So two values at different positions stand as these do, and
only values at the same position have to be compared themselves.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from fencepost.errors import BrokenIndex
from fencepost.tuples import Doubles, Int32s, Int64s

PIECE_BITS = 14
A_PIECE = 1 << PIECE_BITS
POSTS_A_PIECE = 16
CELLS_A_PIECE = 8
SAMPLE = 1 << 16
OUTSIDE = 1 << 40  # the position of inf; -OUTSIDE that of -inf
STEEPEST = 1e300


class Marks(NamedTuple):
    """A ruler as a kernel takes it."""

    origin: float
    scale: float
    last: float  # the last even cell
    starts: Int32s  # the piece in which each even cell begins
    pieces: Doubles  # [piece, (begin, positions per unit)], and one that begins at inf


@dataclass(frozen=True, eq=False)
class DepthRuler:
    """Pieces along an axis.

    build      O(n), and sorting a sample
    position   O(1), and a comparison for each piece that begins in the same even cell
    """

    marks: Marks

    @classmethod
    def over(cls, posts: Doubles, most_pieces: int, margin: float = 0.0) -> Self:
        """Cut an axis so that every piece has as many of the posts; the infinite do not count.

        More pieces follow a crowd more closely, fewer stay in the nearest cache: one takes 32
        bytes. `margin` is left at both ends.
        """
        finite = posts[np.isfinite(posts)]
        if not len(finite):
            finite = np.zeros(1)
        least, most = finite.min() - margin, finite.max() + margin
        parts = int(np.clip(len(finite) // POSTS_A_PIECE, 1, most_pieces))
        sample = np.sort(finite[:: len(finite) // SAMPLE + 1])
        inner = np.unique(sample[np.arange(1, parts) * len(sample) // parts])
        inner = inner[(inner > least) & (inner < most)]
        begins: Doubles = np.concatenate(([least], inner))
        with np.errstate(over="ignore", divide="ignore"):
            slopes = A_PIECE / (np.append(begins[1:], most) - begins)
        slopes = np.clip(slopes, 1 / STEEPEST, STEEPEST)
        origin, scale, cells = _even(begins)
        marks = Marks(origin, scale, cells - 1.0, np.zeros(cells, np.int32), np.empty((0, 2)))
        marks.starts[1:] = np.cumsum(np.bincount(_cell(marks, inner), minlength=cells))[:-1]
        pieces = np.stack((np.append(begins, np.inf), np.append(slopes, STEEPEST)), axis=1)
        return cls(marks._replace(pieces=np.ascontiguousarray(pieces)))

    @property
    def size(self) -> int:
        """How many positions."""
        return (len(self.marks.pieces) - 1) << PIECE_BITS

    @property
    def bits(self) -> int:
        """How many bits a position takes."""
        return (self.size - 1).bit_length()

    @property
    def flattest(self) -> float:
        """The fewest positions that any piece gives a unit."""
        return float(self.marks.pieces[:-1, 1].min())

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return self.marks.starts.nbytes + self.marks.pieces.nbytes

    def positions(self, values: Doubles) -> Int64s:
        """Find the position of each value; that of an infinite one is outside."""
        from fencepost.matches.ladder.kernels import positions

        out = np.empty(len(values), np.int64)
        positions(self.marks, np.where(np.isfinite(values), values, 0.0), out)
        out[values == np.inf] = OUTSIDE
        out[values == -np.inf] = -OUTSIDE
        return out

    def check(self, name: str) -> None:
        """Raise BrokenIndex unless positions never fall, tried at the pieces and beside. O(m)."""
        begins = self.marks.pieces[:-1, 0]
        falls = np.flatnonzero(begins[1:] <= begins[:-1])
        if len(falls):
            k = int(falls[0]) + 1
            raise BrokenIndex(
                f"{name}: piece {k} ({begins[k]}) is not above piece {k - 1} ({begins[k - 1]})"
            )
        with np.errstate(over="ignore", under="ignore"):
            beside = (np.nextafter(begins, -np.inf), begins, np.nextafter(begins, np.inf))
        where = self.positions(np.sort(np.concatenate(beside)))
        pieces = self.positions(begins) >> PIECE_BITS
        if (np.diff(where) < 0).any() or (pieces != np.arange(len(begins))).any():
            raise BrokenIndex(f"{name}: the table of cells does not lead to the pieces")


def _even(begins: Doubles) -> tuple[float, float, int]:
    """Spread even cells over the pieces, but the outermost two."""
    cells = CELLS_A_PIECE * len(begins)
    low, high = float(begins[min(1, len(begins) - 1)]), float(begins[-1])
    with np.errstate(over="ignore", divide="ignore"):
        scale = float(np.divide(cells, high - low)) if high > low else 1.0
    return low, min(max(scale, 1 / STEEPEST), STEEPEST), cells


def _cell(marks: Marks, values: Doubles) -> Int64s:
    with np.errstate(over="ignore"):
        at = (values - marks.origin) * marks.scale
    cells: Int64s = np.clip(at, 0, marks.last).astype(np.int64)
    return cells
