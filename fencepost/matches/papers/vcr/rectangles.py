"""Virtual construct rectangles, as S2 §3 defines them: their numbers, cuts, and gap array.

At each position (a, b) of an Rx × Ry grid stand B = (k + 1)² of them, of sides 2**i × 2**j up to
L = 2**k, half-open. All share the corner (a, b), and the number of one is
B (a + b Rx) + j (k + 1) + i.

Law: the rectangles that hold a cell stand at the same distances from its pivot, wherever it is.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fencepost.errors import InputError
from fencepost.tuples import Bools, Int64s

Words = npt.NDArray[np.uint64]

LONGEST = 64  # a side of 64 has 16,129 rectangles over each point


class Rectangle(NamedTuple):
    """A corner, and how many cells it is wide and high."""

    a: int
    b: int
    w: int
    h: int


def log_of_side(side: object) -> int:
    """Give the k of a longest side L = 2**k; InputError where it is none that we take."""
    known = [1 << k for k in range(LONGEST.bit_length())]
    if isinstance(side, bool) or not isinstance(side, int) or side not in known:
        raise InputError(
            f"side is {side!r}, the longest side of a rectangle; one of {known} expected"
        )
    return side.bit_length() - 1


def number(rectangle: Rectangle, k: int, columns: int) -> int:
    """Give a rectangle's id, S2's formula (1); its sides are powers of two."""
    a, b, w, h = rectangle
    return (k + 1) ** 2 * (a + b * columns) + (h.bit_length() - 1) * (k + 1) + w.bit_length() - 1


def decompose(
    a: int, b: int, w: int, h: int, side: int, *, overlapping: bool = False
) -> list[Rectangle]:
    """Cut a rectangle as the paper does; row by row from the bottom, each from the left.

    SD: strips as high as may be, the remnants by ever smaller powers of two; each strip likewise.
    OD: one size for all, the last of a row shifted back and the last row down, so that they lie
    over others. The paper leaves open what OD does where w or h is less than `side`: there it is
    the largest power of two that fits.
    """
    log_of_side(side)
    if w < 1 or h < 1:
        raise InputError(f"a rectangle of {w} × {h} cells; 1 × 1 at least expected")
    cut = _shifted if overlapping else _halved
    across = cut(a, w, side)
    return [Rectangle(x, y, wide, high) for y, high in cut(b, h, side) for x, wide in across]


def _halved(begin: int, length: int, side: int) -> list[tuple[int, int]]:
    pieces = [(begin + at, side) for at in range(0, length - side + 1, side)]
    at, rest = begin + length // side * side, length % side
    while rest:
        piece = 1 << (rest.bit_length() - 1)
        pieces.append((at, piece))
        at, rest = at + piece, rest - piece
    return pieces


def _shifted(begin: int, length: int, side: int) -> list[tuple[int, int]]:
    piece = min(side, 1 << (length.bit_length() - 1))
    return [(begin + min(at, length - piece), piece) for at in range(0, length, piece)]


def gaps(k: int, columns: int) -> Int64s:
    """Give the distances from the pivot of all (2L - 1)² rectangles that hold a cell, ascending.

    The pivot is the unit square L - 1 positions left of the cell and as many below.
    """
    masks = covering(k)
    each = (k + 1) ** 2
    row, bit = np.nonzero(masks)
    return np.asarray(row * columns * each + bit, np.int64)


def covering(k: int) -> Bools:
    """Mark those of the gap array: [row, the L x B numbers of the L positions from the pivot's].

    A rectangle of side 2**i that begins c cells before a cell reaches it iff 2**i > c.
    """
    side = 1 << k
    before = side - 1 - np.arange(side)
    reaches = (1 << np.arange(k + 1)) > before[:, None]  # [position, i]
    covers = reaches[:, None, :, None] & reaches[None, :, None, :]  # [row, column, j, i]
    return covers.reshape(side, side * (k + 1) ** 2)
