"""Is a point inside a shape? Compiled. Its twin in `twins.py` has the same law, bit for bit."""

import math

from numba import njit

from fencepost.shapes.earth import RADIUS
from fencepost.shapes.orientation_kernels import orientation
from fencepost.shapes.shape import CIRCLE, POLYGON

HALF_DEGREE = math.radians(0.5)


@njit(cache=True, nogil=True, error_model="numpy")
def inside(prepared, s, x, y):
    """Say whether shape s holds the point (x, y). O(vertices)."""
    if not (prepared.lo[0, s] <= x < prepared.hi[0, s]):
        return False
    if not (prepared.lo[1, s] <= y < prepared.hi[1, s]):
        return False
    if prepared.kind[s] == POLYGON:
        return _in_polygons(prepared, s, x, y)
    begin = prepared.vertex_ptr[prepared.ring_ptr[prepared.part_ptr[s]]]
    if prepared.kind[s] == CIRCLE:
        return _in_circle(prepared, begin, prepared.reach[s], x, y)
    end = prepared.vertex_ptr[prepared.ring_ptr[prepared.part_ptr[s]] + 1]
    if prepared.earth:
        return _in_strip(prepared, begin, end, prepared.reach[s], x, y)
    return _in_flat_strip(prepared, begin, end, prepared.reach[s], x, y)


@njit(cache=True, nogil=True, error_model="numpy")
def holds(prepared, shapes, x, y, found):
    """Test pair by pair."""
    for k in range(len(shapes)):
        found[k] = inside(prepared, shapes[k], x[k], y[k])


@njit
def _in_polygons(prepared, s, x, y):
    """By the even-odd rule over all rings of a part; in any part."""
    for part in range(prepared.part_ptr[s], prepared.part_ptr[s + 1]):
        odd = False
        for ring in range(prepared.ring_ptr[part], prepared.ring_ptr[part + 1]):
            begin, end = prepared.vertex_ptr[ring], prepared.vertex_ptr[ring + 1]
            before = end - 1
            for at in range(begin, end):
                odd ^= _passes(prepared, before, at, x, y)
                before = at
        if odd:
            return True
    return False


@njit
def _passes(prepared, one, other, x, y):
    """Say whether the edge crosses the ray from the point to the right, half-open upwards."""
    ya, yb = prepared.y[one], prepared.y[other]
    if (ya <= y) == (yb <= y):
        return False
    if ya > yb:
        one, other = other, one
    xa, xb = prepared.x[one], prepared.x[other]
    if x < xa and x < xb:
        return True
    if x >= xa and x >= xb:
        return False
    return orientation(xa, prepared.y[one], xb, prepared.y[other], x, y) > 0


@njit
def _in_circle(prepared, centre, reach, x, y):
    """By the haversine formula on the earth, by Euclid's on a plane."""
    if not prepared.earth:
        return _near(prepared.x[centre], prepared.y[centre], reach, x, y)
    up = math.sin(HALF_DEGREE * (y - prepared.y[centre]))
    across = math.sin(HALF_DEGREE * (x - prepared.x[centre]))
    ring = prepared.ring[centre] * math.cos(math.radians(y))
    square = min(1.0, up * up + ring * (across * across))
    return 2.0 * RADIUS * math.asin(math.sqrt(square)) <= reach


@njit
def _near(cx, cy, reach, x, y):
    dx, dy = x - cx, y - cy
    return dx * dx + dy * dy <= reach * reach


@njit
def _in_flat_strip(prepared, begin, end, reach, x, y):
    """Near a vertex of the line, or beside a segment between its ends."""
    for v in range(begin, end):
        ax, ay = prepared.x[v], prepared.y[v]
        if _near(ax, ay, reach, x, y):
            return True
        if v + 1 < end:
            dx, dy, px, py = prepared.x[v + 1] - ax, prepared.y[v + 1] - ay, x - ax, y - ay
            square, along = dx * dx + dy * dy, px * dx + py * dy
            if 0.0 < along < square and abs(dx * py - dy * px) <= reach * math.sqrt(square):
                return True
    return False


@njit
def _in_strip(prepared, begin, end, reach, x, y):
    """Near a vertex of the line, or beside an arc between its ends."""
    across, up = math.radians(x), math.radians(y)
    ring = math.cos(up)
    px, py, pz = ring * math.cos(across), ring * math.sin(across), math.sin(up)
    unit = prepared.unit
    for v in range(begin, end):
        ax, ay, az = px - unit[0, v], py - unit[1, v], pz - unit[2, v]
        chord = math.sqrt(ax * ax + ay * ay + az * az)
        if 2.0 * RADIUS * math.asin(min(1.0, 0.5 * chord)) <= reach:
            return True
        if v + 1 < end and _beside(unit, v, ax, ay, az, px, py, pz, reach):
            return True
    return False


@njit
def _beside(unit, v, ax, ay, az, px, py, pz, reach):
    """Say whether a point is between the ends of an arc, and near enough to its great circle.

    The normal is (b + a) × (b - a), twice a × b, and the point's distance from its plane that of
    p - a: so arcs of millimetres lose nothing.
    """
    w = v + 1
    sx, sy, sz = unit[0, w] + unit[0, v], unit[1, w] + unit[1, v], unit[2, w] + unit[2, v]
    dx, dy, dz = unit[0, w] - unit[0, v], unit[1, w] - unit[1, v], unit[2, w] - unit[2, v]
    nx, ny, nz = sy * dz - sz * dy, sz * dx - sx * dz, sx * dy - sy * dx
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    if length == 0.0:
        return False
    # n × a points from a along the arc, b × n from b back.
    ex = ny * unit[2, v] - nz * unit[1, v]
    ey = nz * unit[0, v] - nx * unit[2, v]
    ez = nx * unit[1, v] - ny * unit[0, v]
    if ax * ex + ay * ey + az * ez < 0.0:
        return False
    bx, by, bz = px - unit[0, w], py - unit[1, w], pz - unit[2, w]
    fx = unit[1, w] * nz - unit[2, w] * ny
    fy = unit[2, w] * nx - unit[0, w] * nz
    fz = unit[0, w] * ny - unit[1, w] * nx
    if bx * fx + by * fy + bz * fz < 0.0:
        return False
    aside = abs(ax * nx + ay * ny + az * nz) / length
    return RADIUS * math.asin(min(1.0, aside)) <= reach
