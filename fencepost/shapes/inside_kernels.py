"""Is a point inside a shape? Compiled. Its twin in `twins.py` has the same law, bit for bit."""

import math

import numpy as np
from numba import njit

from fencepost.shapes.earth import RADIUS
from fencepost.shapes.orientation_kernels import orientation
from fencepost.shapes.shape import CIRCLE, POLYGON

HALF_DEGREE = math.radians(0.5)


# No array is made here, so none has its owners counted (`_nrt`): counting them for all arrays of
# Prepared cost 200 of 250 ns a test. A kernel that calls `inside` does well to do the same. What is
# short is put into its caller by LLVM: a call with all these arrays costs 50 ns.


@njit(forceinline=True, _nrt=False)
def inside(prepared, s, x, y, on_sphere):
    """Say whether shape s holds the point (x, y). O(edges in its band).

    `on_sphere` is `placed(prepared, x, y)`: computed once for a point, however many shapes it is
    tested against. Of a circle on the earth, its ball says it, 40 bytes in a row.
    """
    if len(prepared.balls):
        square = _quarter_square(prepared.balls, s, on_sphere)
        if square <= prepared.balls[s, 3]:
            return True
        if square > prepared.balls[s, 4]:
            return False
    if not _in_bounds(prepared, s, x, y):
        return False
    kind = _kind(prepared, s)
    if kind == POLYGON:
        return _in_polygons(prepared, s, x, y)
    if kind == CIRCLE:
        return _in_circle(prepared, s, x, y)
    return _in_corridor(prepared, s, x, y, on_sphere)


@njit(forceinline=True, _nrt=False)
def placed(prepared, x, y):
    """Place a point on the unit sphere, if there are circles or corridors on the earth.

    Beyond the map it is nowhere: no ball says anything of it, and it is in no bounds.
    """
    if len(prepared.balls) == 0:
        return 0.0, 0.0, 0.0
    if not (abs(x) <= 180.0 and abs(y) <= 90.0):
        return math.nan, math.nan, math.nan
    return sphere_place(x, y)


@njit(forceinline=True, _nrt=False)
def sphere_place(x, y):
    """Place a point on the unit sphere."""
    across, up = math.radians(x), math.radians(y)
    ring = math.cos(up)
    return ring * math.cos(across), ring * math.sin(across), math.sin(up)


@njit(forceinline=True, _nrt=False)
def _quarter_square(balls, s, on_sphere):
    """Square half a chord to the centre of a ball."""
    ax, ay, az = on_sphere[0] - balls[s, 0], on_sphere[1] - balls[s, 1], on_sphere[2] - balls[s, 2]
    return 0.25 * (ax * ax + ay * ay + az * az)


@njit(forceinline=True, _nrt=False)
def _in_bounds(prepared, s, x, y):
    if not (prepared.lo[0, s] <= x < prepared.hi[0, s]):
        return False
    return prepared.lo[1, s] <= y < prepared.hi[1, s]


@njit(forceinline=True, _nrt=False)
def _kind(prepared, s):
    return prepared.kind[s]


@njit(forceinline=True, _nrt=False)
def _in_polygons(prepared, s, x, y):
    found = False
    for part in range(prepared.part_ptr[s], prepared.part_ptr[s + 1]):
        found |= _in_part(
            prepared.x,
            prepared.y,
            prepared.ring_ptr,
            prepared.vertex_ptr,
            prepared.bands,
            part,
            x,
            y,
        )
    return found


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def holds(prepared, shapes, x, y, found):
    """Test pair by pair; pairs of one point are best put behind each other."""
    last_x, last_y, on_sphere = math.nan, math.nan, (0.0, 0.0, 0.0)
    for k in range(len(shapes)):
        if x[k] != last_x or y[k] != last_y:
            last_x, last_y = x[k], y[k]
            on_sphere = placed(prepared, last_x, last_y)
        found[k] = inside(prepared, shapes[k], last_x, last_y, on_sphere)


@njit(forceinline=True, _nrt=False)
def _band(bands, part, y):
    """Find the entries of the band that y is in; none below the first."""
    first, many = bands.ptr[part], bands.ptr[part + 1] - bands.ptr[part]
    above = y - bands.base[part]
    if above < 0.0:
        return 0, 0
    band = first + min(many - 1, np.int64(above * bands.scale[part]))
    return bands.entry_ptr[band], bands.entry_ptr[band + 1]


@njit(_nrt=False)
def _in_part(xs, ys, ring_ptr, vertex_ptr, bands, part, x, y):
    """By the even-odd rule over all rings of a part."""
    odd = False
    if bands.ptr[part] < bands.ptr[part + 1]:
        begin, end = _band(bands, part, y)
        entries = bands.entries
        for at in range(begin, end):
            v, w = entries[at], entries[at] + 1
            if v < 0:
                v, w = ~v, _first_of(ring_ptr, vertex_ptr, part, ~v)
            if (ys[v] <= y) != (ys[w] <= y):
                odd ^= _passes(xs[v], ys[v], xs[w], ys[w], x, y)
        return odd
    for ring in range(ring_ptr[part], ring_ptr[part + 1]):
        v = vertex_ptr[ring + 1] - 1
        for w in range(vertex_ptr[ring], vertex_ptr[ring + 1]):
            if (ys[v] <= y) != (ys[w] <= y):
                odd ^= _passes(xs[v], ys[v], xs[w], ys[w], x, y)
            v = w
    return odd


@njit(forceinline=True, _nrt=False)
def _first_of(ring_ptr, vertex_ptr, part, last):
    """Find the vertex that a ring begins with, by its last."""
    low, high = ring_ptr[part], ring_ptr[part + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if vertex_ptr[middle + 1] > last:
            high = middle
        else:
            low = middle + 1
    return vertex_ptr[low]


@njit(forceinline=True, _nrt=False)
def _passes(xa, ya, xb, yb, x, y):
    """Say whether an edge that y is on the height of is strictly to the right of x."""
    if x >= xa and x >= xb:
        return False
    if x < xa and x < xb:
        return True
    if ya > yb:
        xa, ya, xb, yb = xb, yb, xa, ya
    return orientation(xa, ya, xb, yb, x, y) > 0


@njit(forceinline=True, _nrt=False)
def _in_circle(prepared, s, x, y):
    """By the haversine formula on the earth, by Euclid's on a plane."""
    centre = prepared.vertex_ptr[prepared.ring_ptr[prepared.part_ptr[s]]]
    if not prepared.earth:
        return _near(prepared, centre, prepared.reach[s], x, y)
    up = math.sin(HALF_DEGREE * (y - prepared.y[centre]))
    across = math.sin(HALF_DEGREE * (x - prepared.x[centre]))
    ring = math.cos(math.radians(prepared.y[centre])) * math.cos(math.radians(y))
    return _is_within(prepared, s, up * up + ring * (across * across))


@njit(forceinline=True, _nrt=False)
def _is_near(prepared, s, square):
    """Compare an arc with the reach, by the square of half its chord on the unit sphere."""
    if square <= prepared.sure[0, s]:
        return True
    if square > prepared.sure[1, s]:
        return False
    return _is_within(prepared, s, square)


@njit(forceinline=True, _nrt=False)
def _is_within(prepared, s, square):
    return 2.0 * RADIUS * math.asin(math.sqrt(min(1.0, square))) <= prepared.reach[s]


@njit(forceinline=True, _nrt=False)
def _near(prepared, v, reach, x, y):
    dx, dy = x - prepared.x[v], y - prepared.y[v]
    return dx * dx + dy * dy <= reach * reach


@njit(_nrt=False)
def _in_corridor(prepared, s, x, y, on_sphere):
    """Near a vertex of the line, or beside a segment between its ends."""
    part = prepared.part_ptr[s]
    ring = prepared.ring_ptr[part]
    first, last = prepared.vertex_ptr[ring], prepared.vertex_ptr[ring + 1] - 1
    banded = prepared.bands.ptr[part] < prepared.bands.ptr[part + 1]
    begin, end = _band(prepared.bands, part, y) if banded else (first, last)
    for at in range(begin, end):
        v = prepared.bands.entries[at] if banded else at
        if prepared.earth:
            w = prepared.sphere_ptr[s] + v - first
            if _near_arc(prepared, s, w, v + 1 == last, on_sphere):
                return True
        elif _near_segment(prepared, v, v + 1 == last, prepared.reach[s], x, y):
            return True
    return False


@njit(_nrt=False)
def _near_segment(prepared, v, is_last, reach, x, y):
    """Say whether a point is beside a segment or near its first end, of the last one either."""
    if _near(prepared, v, reach, x, y) or (is_last and _near(prepared, v + 1, reach, x, y)):
        return True
    ax, ay = prepared.x[v], prepared.y[v]
    dx, dy, px, py = prepared.x[v + 1] - ax, prepared.y[v + 1] - ay, x - ax, y - ay
    square, along = dx * dx + dy * dy, px * dx + py * dy
    return 0.0 < along < square and abs(dx * py - dy * px) <= reach * math.sqrt(square)


@njit(_nrt=False)
def _near_arc(prepared, s, v, is_last, on_sphere):
    """Say so of an arc.

    Its normal is (b + a) × (b - a), twice a × b, and the point's distance from its plane that of
    p - a: so arcs of millimetres lose nothing.
    """
    (px, py, pz), u, w = on_sphere, prepared.unit, v + 1
    ax, ay, az = px - u[0, v], py - u[1, v], pz - u[2, v]
    bx, by, bz = px - u[0, w], py - u[1, w], pz - u[2, w]
    if _is_near(prepared, s, 0.25 * (ax * ax + ay * ay + az * az)):
        return True
    if is_last and _is_near(prepared, s, 0.25 * (bx * bx + by * by + bz * bz)):
        return True
    sx, sy, sz = u[0, w] + u[0, v], u[1, w] + u[1, v], u[2, w] + u[2, v]
    dx, dy, dz = u[0, w] - u[0, v], u[1, w] - u[1, v], u[2, w] - u[2, v]
    nx, ny, nz = sy * dz - sz * dy, sz * dx - sx * dz, sx * dy - sy * dx
    square = nx * nx + ny * ny + nz * nz
    # n × a points from a along the arc, b × n from b back.
    after = ax * (ny * u[2, v] - nz * u[1, v])
    after += ay * (nz * u[0, v] - nx * u[2, v])
    after += az * (nx * u[1, v] - ny * u[0, v])
    before = bx * (u[1, w] * nz - u[2, w] * ny)
    before += by * (u[2, w] * nx - u[0, w] * nz)
    before += bz * (u[0, w] * ny - u[1, w] * nx)
    if square == 0.0 or after < 0.0 or before < 0.0:
        return False
    aside = abs(ax * nx + ay * ny + az * nz) / math.sqrt(square)
    return RADIUS * math.asin(min(1.0, aside)) <= prepared.reach[s]
