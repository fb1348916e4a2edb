"""Which shapes hold which points, pair by pair: compiled, or by the twin."""

import numpy as np

from fencepost.arrays import Bools, Doubles, Int32s, Int64s
from fencepost.shapes import twins
from fencepost.shapes.columns import Shapes
from fencepost.shapes.prepare import Prepared, prepared

COMPILE_FROM = 2_000  # pairs from which the compiled kernel is worth loading


def holds(
    shapes: Shapes | Prepared,
    rows: Int64s | Int32s,
    x: Doubles,
    y: Doubles,
    *,
    fast: bool | None = None,
) -> Bools:
    """Say of each pair whether the shape of that row holds the point (x, y).

    `fast` chooses the kernel or the twin, None by the size of the work.
    """
    ready = prepared(shapes) if isinstance(shapes, Shapes) else shapes
    if not (len(rows) >= COMPILE_FROM if fast is None else fast):
        return twins.holds(ready, rows, x, y)
    from fencepost.shapes import inside_kernels

    found = np.empty(len(rows), np.bool_)
    inside_kernels.holds(ready, rows, x, y, found)
    return found
