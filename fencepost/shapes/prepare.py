"""What the test of a point needs beside the vertices, computed once for each set of shapes.

The edges of a polygon, and the segments of a corridor, are listed by bands of y: a test looks at
the few of its own band. No more bands are cut than make the lists half as long again as the edges.
"""

from typing import NamedTuple

import numpy as np

from fencepost.arrays import Doubles, Int8s, Int32s, Int64s
from fencepost.shapes.columns import Shapes
from fencepost.shapes.earth import RADIUS, unit
from fencepost.shapes.shape import CIRCLE, POLYGON

COMPILE_FROM = 10_000  # vertices from which the kernels are worth loading
ASTRAY = 1e-14  # radians: more than what a point on the unit sphere is off by, and its chords


class EdgeBands(NamedTuple):
    """Lists of edges by y: those of part i are the bands ptr[i]:ptr[i+1], none for few vertices.

    Band b, from base + b / scale on, has the edges entries[entry_ptr[b]:entry_ptr[b+1]], each by
    its first vertex; ~v is the edge that closes a ring.
    """

    ptr: Int64s
    base: Doubles
    scale: Doubles
    entry_ptr: Int32s
    entries: Int32s


class Prepared(NamedTuple):
    """The columns of shapes as kernels read them, and what follows from them: 13 bytes a vertex."""

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
    sphere_ptr: Int64s  # where the vertices of a shape are in `unit`, on the earth
    unit: Doubles  # [3, …]: the vertices of circles and corridors on the unit sphere
    sure: Doubles  # [2, k]: half a chord's square up to which all is near, and beyond which nothing
    balls: Doubles  # [k, 5]: a circle's centre on the unit sphere, and its `sure`; on the earth
    bands: EdgeBands

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, those of the columns too."""
        arrays = (*self[:-1], *self.bands)
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


def prepared(shapes: Shapes, *, fast: bool | None = None) -> Prepared:
    """Prepare shapes for tests. O(vertices), 30 ns each; without `fast` there are no bands.

    None chooses by the number of vertices.
    """
    if fast is None:
        fast = shapes.xy.shape[1] >= COMPILE_FROM
    lo, hi = _bounds(shapes) if fast else shapes.bounds()
    x, y = shapes.xy
    sphere_ptr, placed, sure = _on_the_sphere(shapes, fast)
    ready = Prepared(
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
        sphere_ptr,
        placed,
        sure,
        _balls(shapes, sphere_ptr, placed, sure),
        _no_bands(len(shapes.ring_ptr) - 1),
    )
    if fast:
        from fencepost.shapes import band_kernels

        ready = ready._replace(bands=band_kernels.bands(ready))
    return ready


def _bounds(shapes: Shapes) -> tuple[Doubles, Doubles]:
    """Bound the shapes, circles of the earth by a kernel: the same bits as `bounds` gives."""
    from fencepost.shapes import reach_kernels

    lo, hi = shapes.vertex_bounds()
    reaching = shapes.kind != POLYGON
    if shapes.earth:
        circles = np.flatnonzero(shapes.kind == CIRCLE)
        at = shapes.vertices_ptr()[circles]
        reach_kernels.bound_circles(circles, at, shapes.xy, shapes.reach, lo, hi)
        reaching &= shapes.kind != CIRCLE
    shapes.bound_reaching(np.flatnonzero(reaching), lo, hi)
    return lo, hi


def _no_bands(parts: int) -> EdgeBands:
    none = np.zeros(parts)
    return EdgeBands(
        np.zeros(parts + 1, np.int64), none, none, np.zeros(1, np.int32), np.empty(0, np.int32)
    )


def _on_the_sphere(shapes: Shapes, fast: bool) -> tuple[Int64s, Doubles, Doubles]:
    """Place the centres of circles and the lines of corridors on the unit sphere."""
    reaching = shapes.kind != POLYGON
    if not (shapes.earth and bool(reaching.any())):
        return np.empty(0, np.int64), np.empty((3, 0)), np.empty((2, 0))
    vertices = np.diff(shapes.vertices_ptr())
    ptr = np.cumsum(np.where(reaching, vertices, 0)) - np.where(reaching, vertices, 0)
    of_these = np.ascontiguousarray(shapes.xy[:, np.repeat(reaching, vertices)])
    if fast:
        from fencepost.shapes import reach_kernels

        placed = reach_kernels.on_sphere(of_these)
    else:
        placed = np.array([unit(lon, lat) for lon, lat in of_these.T.tolist()]).T
    return ptr, np.ascontiguousarray(placed), _sure(shapes.reach)


def _balls(shapes: Shapes, sphere_ptr: Int64s, placed: Doubles, sure: Doubles) -> Doubles:
    """Give the circles as rows; in those of other shapes nothing is sure."""
    if not len(sphere_ptr):
        return np.empty((0, 5))
    balls = np.tile(np.array([0.0, 0.0, 0.0, -1.0, np.inf]), (len(shapes), 1))
    circles = np.flatnonzero(shapes.kind == CIRCLE)
    balls[circles, :3] = placed[:, sphere_ptr[circles]].T
    balls[circles, 3:] = sure[:, circles].T
    return balls


def _sure(reach: Doubles) -> Doubles:
    """Give the squares of half a chord up to which it is surely near, and beyond which it is not.

    Between them arc sines decide; farther than a radian these are too flat to say it beforehand.
    """
    chord = np.sin(np.minimum(reach / (2.0 * RADIUS), 0.5))
    near = np.maximum(0.0, chord - ASTRAY) ** 2 * (1.0 - 1e-12)
    far = (chord + ASTRAY) ** 2 * (1.0 + 1e-12)
    flat = reach > RADIUS
    return np.stack([np.where(flat, -1.0, near), np.where(flat, np.inf, far)])
