"""Rectangles like those of S2's queries, and the ways to index them."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from fencepost.matches.boxes import Boxes
from fencepost.matches.papers.vcr import Vcr, VcrOd, VcrSd
from fencepost.matches.scan import Scan
from fencepost.tuples import Doubles

KINDS = (VcrSd, VcrOd)
FORMS = ("marked", "all")
WAYS = tuple(product(KINDS, FORMS))
SIDES = (1, 2, 4, 8, 16, 32, 64)


def boxes_of(*boxes: Sequence[float]) -> Boxes:
    """Boxes from (x, y, width, height), the paper's form of queries."""
    x, y, w, h = np.array(boxes, np.float64).reshape(-1, 4).T
    return Boxes.of(np.array((x, y)), np.array((x + w, y + h)))


def between(*boxes: Sequence[float]) -> Boxes:
    """Boxes given as (lo x, hi x, lo y, hi y)."""
    x, end_x, y, end_y = np.array(boxes, np.float64).reshape(-1, 4).T
    return Boxes.of(np.array((x, y)), np.array((end_x, end_y)))


def points_of(*points: Sequence[float]) -> Doubles:
    return np.ascontiguousarray(np.array(points, np.float64).reshape(-1, 2).T)


def assert_like_scan(index: Vcr, points: Doubles) -> None:
    expected, found = Scan.build(index.boxes).probe(points).in_order(), index.probe(points)
    found = found.in_order()
    assert found.ptr.tolist() == expected.ptr.tolist()
    assert found.ids.tolist() == expected.ids.tolist()


def everywhere(low: float, high: float, step: float) -> Doubles:
    """Points on and between the lines of a square, and just below each line."""
    at = np.arange(low, high, step)
    at = np.unique(np.concatenate((at, np.nextafter(at, -np.inf))))
    return np.ascontiguousarray(np.stack(np.meshgrid(at, at)).reshape(2, -1))


def crowd(count: int, widest: int, *, seed: int = 3) -> Boxes:
    """The queries of S2 Fig. 12: 300 × 200 positions, widths evenly 1 to the widest."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 300, count), rng.integers(0, 200, count)
    w, h = rng.integers(1, widest + 1, (2, count))
    end_x, end_y = np.minimum(x + w, 300), np.minimum(y + h, 200)
    return between(*np.stack((x, end_x, y, end_y), 1))


# ── the paper's definitions and examples ──────────────────────────────────────────────────────────
