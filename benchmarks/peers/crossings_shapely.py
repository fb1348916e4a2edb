"""Crossings of boxes by shapely: its packed R-tree, asked for each tuple once, and a difference.

The tree asks with points already made, without a predicate: a box is its own bounding box. Its
boxes are closed, so what it finds is tested by the half-open bounds. It works in one thread, for
it keeps the interpreter's lock.
"""

import numpy as np
import shapely

from benchmarks.peers.crossings_given import Keys
from benchmarks.peers.fences_shapely import compared
from fencepost.crossings.path import Path
from fencepost.queries import QuerySet


class ShapelyCrossings:
    """The tree, and the tuples as points; neither is timed."""

    def __init__(self, queries: QuerySet, path: Path) -> None:
        """Build the tree of boxes on two axes, which each query has one of."""
        self.queries, self.path = queries, path
        self.tree = shapely.STRtree(shapely.box(*queries.lo, *queries.hi))
        self.points = shapely.points(*path.values)
        self.follows = np.ones(len(path), np.bool_)
        self.follows[path.starts[:-1]] = False

    def once(self) -> Keys:
        """Ask for each tuple once, and compare neighbours."""
        place, box = self.tree.query(self.points)
        lo, hi, values = self.queries.lo, self.queries.hi, self.path.values
        held = np.ones(len(place), np.bool_)
        for axis in range(len(lo)):
            v = values[axis, place]
            held &= (lo[axis, box] <= v) & (v < hi[axis, box])
        return compared(place[held], box[held], len(self.queries), self.follows)
