"""The edges of polygons and the segments of corridors, listed by bands of y."""

import math

import numpy as np
from numba import njit

from fencepost.shapes.earth import RADIUS
from fencepost.shapes.prepare import EdgeBands
from fencepost.shapes.shape import CIRCLE, POLYGON

FEW = 8  # edges that are looked at one by one
PER_BAND = 4
SLACK = 1e-8  # radians, 6 cm: a list may be too long, never too short


@njit(cache=True, nogil=True, error_model="numpy")
def bands(prepared):
    """List the edges of every part by bands. O(vertices)."""
    parts = len(prepared.ring_ptr) - 1
    ptr, base, scale = np.zeros(parts + 1, np.int64), np.zeros(parts), np.zeros(parts)
    _cut_all(prepared, ptr, base, scale)
    sizes = np.zeros(ptr[-1] + 1, np.int32)
    entries = _list_all(prepared, ptr, base, scale, sizes, sizes[:0])
    ends = np.zeros(ptr[-1] + 1, np.int32)
    ends[1:] = np.cumsum(sizes[:-1])
    listed = np.empty(entries, np.int32)
    sizes[:] = ends
    _list_all(prepared, ptr, base, scale, sizes, listed)
    return EdgeBands(ptr, base, scale, ends, listed)


# What makes no array counts no owners of them: see `inside_kernels.py`.


@njit(_nrt=False)
def _cut_all(prepared, ptr, base, scale):
    for s in range(len(prepared.kind)):
        for part in range(prepared.part_ptr[s], prepared.part_ptr[s + 1]):
            many = 0
            if prepared.kind[s] != CIRCLE:
                many, base[part], scale[part] = _cut(prepared, s, part)
            ptr[part + 1] = ptr[part] + many


@njit(_nrt=False)
def _list_all(prepared, ptr, base, scale, places, listed):
    entries = 0
    for s in range(len(prepared.kind)):
        for part in range(prepared.part_ptr[s], prepared.part_ptr[s + 1]):
            if ptr[part] < ptr[part + 1]:
                cut = (ptr[part], ptr[part + 1], base[part], scale[part])
                entries += _list(prepared, s, part, cut, places, listed)
    return entries


@njit(_nrt=False)
def _cut(prepared, s, part):
    """Choose the bands of a part: how many, where they begin, and how many to a unit of y."""
    edges, rise, lowest, highest = 0, 0.0, math.inf, -math.inf
    for ring in range(prepared.ring_ptr[part], prepared.ring_ptr[part + 1]):
        for v in range(prepared.vertex_ptr[ring], prepared.vertex_ptr[ring + 1]):
            low, high = _range(prepared, s, ring, v)
            if low < high:
                edges += 1
                rise += high - low
                lowest, highest = min(lowest, low), max(highest, high)
    if edges <= FEW:
        return 0, 0.0, 0.0
    height = highest - lowest
    many = np.int64(min(edges // PER_BAND, edges * height / (2.0 * rise)))
    if many < 2 or not many / height < 1e300:
        return 0, 0.0, 0.0
    return many, lowest, many / height


@njit(_nrt=False)
def _range(prepared, s, ring, v):
    """Say from where to where an edge is looked at; nowhere where it is level, or no segment."""
    last = prepared.vertex_ptr[ring + 1] - 1
    if prepared.kind[s] == POLYGON:
        ya = prepared.y[v]
        yb = prepared.y[v + 1 if v < last else prepared.vertex_ptr[ring]]
        return min(ya, yb), max(ya, yb)
    if v == last:
        return 0.0, 0.0
    low, high = min(prepared.y[v], prepared.y[v + 1]), max(prepared.y[v], prepared.y[v + 1])
    reach = prepared.reach[s]
    if prepared.earth:
        at = prepared.sphere_ptr[s] + v - prepared.vertex_ptr[ring]
        up, down = _apex(prepared.unit, at)
        low, high = min(low, down), max(high, up)
        aside = math.degrees(reach / RADIUS + SLACK)
    else:
        aside = reach + 1e-12 * max(abs(low), abs(high), reach)
    return low - aside, high + aside


@njit(_nrt=False)
def _apex(unit, v):
    """Find the latitude at which an arc turns round, to the north and to the south."""
    ax, ay, az = unit[0, v], unit[1, v], unit[2, v]
    bx, by, bz = unit[0, v + 1], unit[1, v + 1], unit[2, v + 1]
    nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    leaves, comes = nx * ay - ny * ax, nx * by - ny * bx
    if leaves * comes >= 0.0:
        return -90.0, 90.0
    steep = math.degrees(math.atan2(math.sqrt(nx * nx + ny * ny), abs(nz)))
    return (steep, 90.0) if leaves > 0.0 else (-90.0, -steep)


@njit(_nrt=False)
def _list(prepared, s, part, cut, places, listed):
    """Put each edge of a part into its bands; where there is no list yet, count them."""
    begin, end, base, scale = cut
    entries = 0
    for ring in range(prepared.ring_ptr[part], prepared.ring_ptr[part + 1]):
        last = prepared.vertex_ptr[ring + 1] - 1
        for v in range(prepared.vertex_ptr[ring], last + 1):
            low, high = _range(prepared, s, ring, v)
            if not low < high:
                continue
            first = min(end - 1, begin + np.int64((low - base) * scale))
            final = min(end - 1, begin + np.int64((high - base) * scale))
            for band in range(first, final + 1):
                if len(listed):
                    listed[places[band]] = v if v < last else ~v
                places[band] += 1
                entries += 1
    return entries
