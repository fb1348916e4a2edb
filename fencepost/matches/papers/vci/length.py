"""How long the longest virtual interval should be: S2's L, chosen by what a probe and a list cost.

S2 leaves it to simulation: too short, and queries are cut into many pieces; too long, and many
intervals cover each point, and the array of lists is long. Both are known here before anything is
built, so the length is chosen that makes the product of time and storage least.
"""

from math import inf

import numpy as np

from fencepost.errors import InputError
from fencepost.matches.boxes import Boxes
from fencepost.matches.papers.vci.construct import MOST_LENGTH, Construct
from fencepost.matches.papers.vci.grid import PositionGrid
from fencepost.tuples import Int32s

MOST_ENTRIES = 1 << 28  # pieces, and lists: a gigabyte of either

# Nanoseconds of a probe in itself, for each position that it looks back, and for each result.
PROBE, BACK, RESULT = 5.0, 2.0, 0.25

KINDS = ("sci", "lci", "lci_bv")


def optimal_length(
    boxes: Boxes, kind: str, positions: int | None = None, grid: str = "auto"
) -> int:
    """Choose L for "sci", "lci" or "lci_bv": a power of two. O(n + d log d), d distinct widths.

    The model: bytes(L) · ns(L), where ns(L) = 5 + 2 L + a quarter of the results at a point, since
    a probe copies one slice for each of L positions; and bytes(L) = 4 for each list and each piece,
    or for `lci_bv` 1/4 for each mark and 2 for each list in use. There storage counts twice:
    it is what this one is for.
    """
    if kind not in KINDS:
        raise InputError(f"kind is '{kind}', expected one of: {', '.join(KINDS)}")
    cells = PositionGrid.over(boxes, positions, grid)
    x, y = cells.places(boxes)
    return cheapest_length(y - x, cells, kind)


def cheapest_length(widths: Int32s, grid: PositionGrid, kind: str) -> int:
    """Choose L for boxes of these widths, in cells."""
    different, many = np.unique(widths, return_counts=True)
    longest = int(different[-1]) if len(different) else 1
    results = float(different @ many) / max(grid.top, 1)
    best, least = 1, inf
    length = 1
    while length <= MOST_LENGTH:
        construct = Construct.of("sci" if kind == "sci" else "lci", length)
        pieces = int(construct.pieces(different) @ many)
        lists = grid.positions * construct.each
        time = PROBE + BACK * length + RESULT * results
        cost = time * _bytes(kind, lists, pieces) ** (2 if kind == "lci_bv" else 1)
        if cost < least and max(lists, pieces) <= MOST_ENTRIES:
            best, least = length, cost
        if length >= longest:
            break
        length *= 2
    return best


def _bytes(kind: str, lists: int, pieces: int) -> float:
    if kind == "lci_bv":
        return lists / 4 + 2 * min(lists, pieces) + 4 * pieces
    return 4 * lists + 4 * pieces
