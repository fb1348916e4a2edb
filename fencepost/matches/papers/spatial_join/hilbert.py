"""The data index: the points of a batch in the order of a Hilbert curve.

Points near each other on the curve are near each other; clusters are cut from the order. It is
made for a batch and forgotten with it.

Law: each cell of the grid has one place on the curve, and cells of neighbouring places are
neighbours: they differ by one step on one axis.
"""

import numpy as np

from fencepost.matches.papers.spatial_join import kernels
from fencepost.matches.papers.spatial_join.kernels import STEEPEST
from fencepost.tuples import Doubles, Int64s

KEY_BITS = 62
SPARE = 2  # bits an axis beyond those that would separate evenly spread points


def order_of(points: Doubles, least: Doubles, most: Doubles) -> Int64s:
    """Return the order of points[d, n] along the curve. O(n log n).

    Points outside [least, most] count as on its border: there are no boxes to tell them apart.
    """
    axes, count = points.shape
    bits = min(KEY_BITS // axes, int(np.log2(count + 1)) // axes + SPARE)
    low = np.clip(points.min(axis=1), least, most)
    high = np.clip(points.max(axis=1), least, most)
    return np.argsort(places_of(cells_of(points, low, high, max(bits, 1)), max(bits, 1)))


def cells_of(points: Doubles, low: Doubles, high: Doubles, bits: int) -> Int64s:
    """Return the cell of each point on a grid of 2 ** bits cells an axis."""
    cells = 1 << bits
    with np.errstate(over="ignore", divide="ignore"):
        scale = np.clip(np.divide(cells, high - low), 1 / STEEPEST, STEEPEST)
        at = (points - low[:, None]) * np.where(high > low, scale, 1.0)[:, None]
    return np.clip(at, 0, cells - 1).astype(np.int64)


def places_of(cells: Int64s, bits: int) -> Int64s:
    """Return the place on the curve of cells[d, n], numbers below 2 ** bits. O(n d bits)."""
    keys = np.empty(cells.shape[1], np.int64)
    kernels.hilbert_keys(cells.copy(), bits, keys)
    return keys
