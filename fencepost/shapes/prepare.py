"""What the test of a point needs beside the vertices, computed once for each set of shapes."""

import math
from typing import NamedTuple

import numpy as np

from fencepost.arrays import Doubles, Int8s, Int64s
from fencepost.shapes.columns import Shapes
from fencepost.shapes.shape import POLYGON


class Prepared(NamedTuple):
    """The columns of shapes as kernels read them, and what follows from them."""

    kind: Int8s
    part_ptr: Int64s
    ring_ptr: Int64s
    vertex_ptr: Int64s
    x: Doubles
    y: Doubles
    reach: Doubles
    earth: bool
    lo: Doubles  # [2, k]: the bounds
    hi: Doubles
    ring: Doubles  # cos(latitude) of each vertex of a circle or a corridor on the earth
    unit: Doubles  # [3, v]: these vertices on the unit sphere


def prepared(shapes: Shapes) -> Prepared:
    """Prepare shapes for tests. O(vertices)."""
    lo, hi = shapes.bounds()
    x, y = shapes.xy
    ring, unit = np.empty(0), np.empty((3, 0))
    if shapes.earth and bool((shapes.kind != POLYGON).any()):
        ring, unit = _on_the_sphere(shapes)
    return Prepared(
        shapes.kind,
        shapes.part_ptr,
        shapes.ring_ptr,
        shapes.vertex_ptr,
        np.ascontiguousarray(x),
        np.ascontiguousarray(y),
        shapes.reach,
        shapes.earth,
        lo,
        hi,
        ring,
        unit,
    )


def _on_the_sphere(shapes: Shapes) -> tuple[Doubles, Doubles]:
    ring, unit = np.zeros(shapes.xy.shape[1]), np.zeros((3, shapes.xy.shape[1]))
    ends = shapes.vertices_ptr()
    for row in np.flatnonzero(shapes.kind != POLYGON).tolist():
        for v in range(ends[row], ends[row + 1]):
            across, up = math.radians(shapes.xy[0, v]), math.radians(shapes.xy[1, v])
            ring[v] = math.cos(up)
            unit[:, v] = ring[v] * math.cos(across), ring[v] * math.sin(across), math.sin(up)
    return ring, unit
