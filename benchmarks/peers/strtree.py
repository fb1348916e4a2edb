"""Shapely's STRtree, a packed R-tree in C: its bulk query, without a predicate.

Points meet the boxes' closed rectangles, which is its fastest query; the answers
are compared after a test of the half-open bounds, which is not timed. It holds the interpreter's
lock while it works, so two threads are tried, and the better time is reported.
"""

import time
from itertools import pairwise

import numpy as np
import shapely

from fencepost.matches import Boxes
from fencepost.parallel import in_parallel
from fencepost.tuples import Doubles, Int32s

Pairs = tuple[Int32s, Int32s]


def in_shapely(boxes: Boxes, points: Doubles, threads: int = 2) -> tuple[float, Pairs]:
    """The seconds of the bulk query, and what it found."""
    tree = shapely.STRtree(shapely.box(*boxes.lo, *boxes.hi))
    given = shapely.points(*points)
    tree.query(given[:10])
    edges = np.linspace(0, len(given), threads + 1).astype(np.int64).tolist()
    begin = time.perf_counter()
    point, box = tree.query(given)
    alone = time.perf_counter() - begin
    begin = time.perf_counter()
    in_parallel(lambda a, b: tree.query(given[a:b]), list(pairwise(edges)))
    together = time.perf_counter() - begin
    held = np.ones(len(point), np.bool_)
    for lo, hi, v in zip(boxes.lo, boxes.hi, points, strict=True):
        held &= (lo[box] <= v[point]) & (v[point] < hi[box])
    return min(alone, together), (point[held].astype(np.int32), box[held].astype(np.int32))
