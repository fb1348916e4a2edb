"""The regions of an audit: whether they hold a point, by the oracle alone.

Law: polygons are judged in rational arithmetic, circles and corridors by the formulas of
docs/semantics.md, one by one, and only where a box of the query holds the point. No kernel, twin or
index is used. Cost: (measured) 0.13 ms for a polygon of 30 vertices, on a busy machine.
"""

from collections.abc import Sequence

import numpy as np

from fencepost.queries import QuerySet
from fencepost.reference.shapes import holds
from fencepost.tuples import Bools


def in_regions(queries: QuerySet, point: Sequence[float], boxed: Bools) -> Bools:
    """Unmark the queries whose region does not hold a point, of those with a box that does."""
    if queries.position is None:
        return boxed
    x, y = (point[axis] for axis in queries.position)
    marked = boxed.copy()
    for q in np.flatnonzero(boxed & (queries.shape >= 0)).tolist():
        marked[q] = holds(queries.shapes.shape(int(queries.shape[q])), x, y)
    return marked
