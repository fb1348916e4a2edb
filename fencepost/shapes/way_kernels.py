"""Where on a straight way is a point inside a shape? As shares of the way: 0 where it begins.

The way is straight in the coordinates, as the edges of polygons are. A passage counts from a
millionth of a millionth of the way on: what only touches a corner is none.

Law: the way has no point inside a polygon before `enter` and behind `leave`, but for roundings of
1e-15. Of circles and corridors the nearest point of the way is searched in each piece; a piece is
convex, so what is within its reach is one stretch, and its ends are found by bisection.
"""

import math

import numpy as np
from numba import njit

from fencepost.shapes.inside_kernels import (
    HALF_DEGREE,
    _in_circle,
    _near_arc,
    _near_segment,
    sphere_place,
)
from fencepost.shapes.orientation_kernels import orientation
from fencepost.shapes.shape import CIRCLE, POLYGON

SHORTEST = 1e-12
GOLDEN = 0.6180339887498949
SEARCHED = 40  # steps of the search: to 4e-9 of the way, where a distance is flat
HALVED = 60


@njit(nogil=True, error_model="numpy")
def passage(prepared, s, x0, y0, x1, y1, begin, end):
    """Find where the way between two points is first and last in shape s, within a part of it.

    Returns the shares of the way, and (1, 0) where it is not inside.
    """
    if prepared.kind[s] == POLYGON:
        return _through_polygons(prepared, s, x0, y0, x1, y1, begin, end)
    ring = prepared.ring_ptr[prepared.part_ptr[s]]
    first, last = prepared.vertex_ptr[ring], prepared.vertex_ptr[ring + 1] - 1
    enter, leave = 1.0, 0.0
    for v in range(first, max(first + 1, last)):
        a, b = _through_piece(prepared, s, v, x0, y0, x1, y1)
        a, b = max(a, begin), min(b, end)
        if b - a > SHORTEST:
            enter, leave = min(enter, a), max(leave, b)
    return enter, leave


@njit(nogil=True, error_model="numpy")
def _through_polygons(prepared, s, x0, y0, x1, y1, begin, end):
    """Cross the edges; between an odd crossing and the next one the way is inside.

    Half-open edges hold what is infinitesimally to the right of them and, by much less, above. So
    the way is moved by that: then it meets no vertex, and a vertex on it is on one side.
    """
    enter, leave = 1.0, 0.0
    dx, dy = x1 - x0, y1 - y0
    if dx == 0.0 and dy == 0.0:
        return enter, leave
    aside = dy > 0.0 or (dy == 0.0 and dx < 0.0)
    for part in range(prepared.part_ptr[s], prepared.part_ptr[s + 1]):
        ring = prepared.ring_ptr[part]
        most = prepared.vertex_ptr[prepared.ring_ptr[part + 1]] - prepared.vertex_ptr[ring]
        shares, many = np.empty(most), 0
        for ring in range(prepared.ring_ptr[part], prepared.ring_ptr[part + 1]):
            v = prepared.vertex_ptr[ring + 1] - 1
            before = orientation(x0, y0, x1, y1, prepared.x[v], prepared.y[v])
            for w in range(prepared.vertex_ptr[ring], prepared.vertex_ptr[ring + 1]):
                turn = orientation(x0, y0, x1, y1, prepared.x[w], prepared.y[w])
                if (before > 0 or (before == 0 and aside)) != (turn > 0 or (turn == 0 and aside)):
                    on = v if before == 0 else w
                    at = before == 0 or turn == 0
                    shares[many] = _met(prepared, v, w, on, at, x0, y0, dx, dy)
                    many += 1
                v, before = w, turn
        shares = np.sort(shares[:many])
        for k in range(0, many, 2):
            a, b = max(shares[k], begin), min(shares[k + 1], end)
            if b - a > SHORTEST:
                enter, leave = min(enter, a), max(leave, b)
    return enter, leave


@njit
def _met(prepared, v, w, on, at_vertex, x0, y0, dx, dy):
    """Find the share at which the way meets an edge, or the vertex of it that is on the way."""
    if not at_vertex:
        ex, ey = prepared.x[w] - prepared.x[v], prepared.y[w] - prepared.y[v]
        cross = dx * ey - dy * ex
        if cross != 0.0:
            return ((prepared.x[v] - x0) * ey - (prepared.y[v] - y0) * ex) / cross
    if abs(dx) >= abs(dy):
        return (prepared.x[on] - x0) / dx
    return (prepared.y[on] - y0) / dy


@njit(nogil=True, error_model="numpy")
def _through_piece(prepared, s, v, x0, y0, x1, y1):
    """Find the stretch of the way that is within reach of a circle's centre, or of one segment."""
    dx, dy = x1 - x0, y1 - y0
    low, high = 0.0, 1.0
    one, other = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    here = _away(prepared, s, v, x0 + one * dx, y0 + one * dy)
    there = _away(prepared, s, v, x0 + other * dx, y0 + other * dy)
    for _ in range(SEARCHED):
        if here <= there:
            high, other, there = other, one, here
            one = high - GOLDEN * (high - low)
            here = _away(prepared, s, v, x0 + one * dx, y0 + one * dy)
        else:
            low, one, here = one, other, there
            other = low + GOLDEN * (high - low)
            there = _away(prepared, s, v, x0 + other * dx, y0 + other * dy)
    nearest = one if here <= there else other
    if not _reaches(prepared, s, v, x0 + nearest * dx, y0 + nearest * dy):
        return 1.0, 0.0
    ends = np.empty(2)
    for side in range(2):
        within, beyond = nearest, np.float64(side)
        if _reaches(prepared, s, v, x0 + beyond * dx, y0 + beyond * dy):
            ends[side] = beyond
            continue
        for _ in range(HALVED):
            middle = 0.5 * (within + beyond)
            if _reaches(prepared, s, v, x0 + middle * dx, y0 + middle * dy):
                within = middle
            else:
                beyond = middle
        ends[side] = within
    return ends[0], ends[1]


@njit
def _reaches(prepared, s, v, x, y):
    """Say whether a point is within reach, wherever the map's border is."""
    if prepared.kind[s] == CIRCLE:
        return _in_circle(prepared, s, x, y)
    if not prepared.earth:
        return _near_segment(prepared, v, True, prepared.reach[s], x, y)
    at = prepared.sphere_ptr[s] + v - prepared.vertex_ptr[prepared.ring_ptr[prepared.part_ptr[s]]]
    return _near_arc(prepared, s, at, True, sphere_place(x, y))


@njit
def _away(prepared, s, v, x, y):
    """Measure how far a point is from a centre or a segment: what grows with the distance."""
    if prepared.earth:
        return _away_on_earth(prepared, s, v, x, y)
    px, py = x - prepared.x[v], y - prepared.y[v]
    if prepared.kind[s] != CIRCLE:
        dx, dy = prepared.x[v + 1] - prepared.x[v], prepared.y[v + 1] - prepared.y[v]
        square = dx * dx + dy * dy
        if square > 0.0:
            along = min(1.0, max(0.0, (px * dx + py * dy) / square))
            px, py = px - along * dx, py - along * dy
    return math.hypot(px, py)


@njit
def _away_on_earth(prepared, s, v, x, y):
    if prepared.kind[s] == CIRCLE:
        up = math.sin(HALF_DEGREE * (y - prepared.y[v]))
        across = math.sin(HALF_DEGREE * (x - prepared.x[v]))
        ring = math.cos(math.radians(prepared.y[v])) * math.cos(math.radians(y))
        return up * up + ring * (across * across)
    u = prepared.unit
    v = prepared.sphere_ptr[s] + v - prepared.vertex_ptr[prepared.ring_ptr[prepared.part_ptr[s]]]
    across, up = math.radians(x), math.radians(y)
    ring = math.cos(up)
    px, py, pz = ring * math.cos(across), ring * math.sin(across), math.sin(up)
    # The nearest point of the chord, which is all but the arc's: both have the same nearest way in.
    dx, dy, dz = u[0, v + 1] - u[0, v], u[1, v + 1] - u[1, v], u[2, v + 1] - u[2, v]
    ax, ay, az = px - u[0, v], py - u[1, v], pz - u[2, v]
    square = dx * dx + dy * dy + dz * dz
    along = 0.0
    if square > 0.0:
        along = min(1.0, max(0.0, (ax * dx + ay * dy + az * dz) / square))
    cx, cy, cz = u[0, v] + along * dx, u[1, v] + along * dy, u[2, v] + along * dz
    size = math.sqrt(cx * cx + cy * cy + cz * cz)
    ax, ay, az = px - cx / size, py - cy / size, pz - cz / size
    return ax * ax + ay * ay + az * az
