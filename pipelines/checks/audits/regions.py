"""The regions of an audit: whether they hold a point, by the oracle alone.

Law: polygons are judged in rational arithmetic, circles and corridors by the formulas of
docs/semantics.md, one by one, and only where a box of the query holds the point. No kernel, twin or
index is used. Cost: (measured) 0.13 ms for a polygon of 30 vertices, on a busy machine.
"""

import numpy as np

from fencepost.arrays import Doubles
from fencepost.queries import QuerySet
from fencepost.reference.shapes import holds
from fencepost.tuples import Bools


def in_regions(queries: QuerySet, points: Doubles, boxed: Bools) -> Bools:
    """Unmark for each point the queries whose region does not hold it, where a box does."""
    if queries.position is None:
        return boxed
    xs, ys = (points[axis].tolist() for axis in queries.position)
    marked = boxed.copy()
    shaped = np.flatnonzero(boxed.any(axis=0) & (queries.shape >= 0)).tolist()
    for query in shaped:
        shape = queries.shapes.shape(int(queries.shape[query]))
        for step in np.flatnonzero(boxed[:, query]).tolist():
            marked[step, query] = holds(shape, xs[step], ys[step])
    return marked
