"""The cells of shapes, compiled: which cells a border runs through, and which a shape holds whole.

An edge marks the cells that it can come near, by a margin that is more than any rounding. Between
marks a shape's answer is the same all along a row of cells, so one point of it is tested. What is
within reach of a line is judged by the distance of a cell's middle, which its corners differ from
by half its diagonal at most.
"""

import math

import numpy as np
from numba import njit

from fencepost.arrays import Int32s, Int64s
from fencepost.crossings.block_kernels import (
    BORDER,
    COVERED,
    LOOSE,
    OUTSIDE,
    SURE,
    InCells,
    U,
    block_of,
    cell_of,
    place,
)
from fencepost.crossings.columns import CellFrame
from fencepost.shapes.earth import RADIUS
from fencepost.shapes.inside_kernels import inside
from fencepost.shapes.prepare import Prepared
from fencepost.shapes.shape import CORRIDOR, POLYGON
from fencepost.tuples import Bools

NEAR = 2.0**-8  # of a cell: what an edge may miss a cell by and still mark it
EXACT = 2.0**40  # places beyond which that is no longer more than any rounding
SLACK = 1.0 + 1e-9
FLAT = (0.0, 0.0, 0.0)  # polygons are on no sphere
METRE, PLACES = 1.0, 1e-11  # what a distance may be wrong by: on the earth, on a plane by size


@njit(cache=True, nogil=True, error_model="numpy")
def cover(
    shapes: Prepared,
    ground: CellFrame,
    shape: Int32s,
    loose: Bools,
    shifts: Int64s,
    size: Int64s,
    out: InCells,
):
    """Find the cells of each query's shape; return how many."""
    used = 0
    marks = np.empty(64, np.int8)
    for row in range(len(shape)):
        s, shift = shape[row], shifts[size[row]]
        x0 = place(shapes.lo[0, s], ground.x, ground.scale, ground.last) >> shift
        x1 = place(shapes.hi[0, s], ground.x, ground.scale, ground.last) >> shift
        y0 = place(shapes.lo[1, s], ground.y, ground.scale, ground.last) >> shift
        y1 = place(shapes.hi[1, s], ground.y, ground.scale, ground.last) >> shift
        wide, tall = x1 - x0 + 1, y1 - y0 + 1
        if wide * tall > len(marks):
            marks = np.empty(2 * wide * tall, np.int8)
        marks[: wide * tall] = OUTSIDE
        frame = (x0, y0, wide, tall, shift)
        if shapes.kind[s] == POLYGON:
            _mark_polygon(shapes, s, ground, frame, marks)
        else:
            _mark_line(shapes, s, ground, frame, marks)
        for j in range(tall):
            for i in range(wide):
                state = marks[j * wide + i]
                if state == OUTSIDE:
                    continue
                if state == COVERED and not loose[row]:
                    state = SURE
                elif state == BORDER and loose[row]:
                    state = LOOSE
                x, y = x0 + i, y0 + j
                block = block_of(size[row], x, y)
                out.cell[used] = (U(block) << U(4)) | U(cell_of(x, y))
                out.row[used], out.state[used] = row, state
                used += 1
    return used


@njit(inline="always")
def _middle(cell, shift, origin, scale):
    side = math.ldexp(1.0, shift)
    return origin + (cell + 0.5) * side / scale


@njit
def _is_within(cell, shift, value, origin, scale, last):
    """Say whether a value is in a cell that is none of the outermost ones."""
    at = place(value, origin, scale, last) >> shift
    return at == cell and 0 < cell < (np.int64(last) >> shift)


@njit
def _mark_polygon(shapes, s, ground, frame, marks):
    """Mark the cells that edges come near, then those between."""
    x0, y0, wide, tall, shift = frame
    unit = ground.scale * math.ldexp(1.0, -shift)
    for part in range(shapes.part_ptr[s], shapes.part_ptr[s + 1]):
        for ring in range(shapes.ring_ptr[part], shapes.ring_ptr[part + 1]):
            begin, end = shapes.vertex_ptr[ring], shapes.vertex_ptr[ring + 1]
            ax = (shapes.x[end - 1] - ground.x) * unit
            ay = (shapes.y[end - 1] - ground.y) * unit
            for v in range(begin, end):
                bx, by = (shapes.x[v] - ground.x) * unit, (shapes.y[v] - ground.y) * unit
                if not (max(abs(ax), abs(ay), abs(bx), abs(by)) < EXACT):
                    marks[: wide * tall] = BORDER
                    return
                _mark_edge(ax, ay, bx, by, frame, np.int64(ground.last) >> shift, marks)
                ax, ay = bx, by
    for j in range(tall):
        y = _middle(y0 + j, shift, ground.y, ground.scale)
        sound = _is_within(y0 + j, shift, y, ground.y, ground.scale, ground.last)
        known, state = False, OUTSIDE
        for i in range(wide):
            if marks[j * wide + i] == BORDER:
                known = False
                continue
            x = _middle(x0 + i, shift, ground.x, ground.scale)
            if not (sound and _is_within(x0 + i, shift, x, ground.x, ground.scale, ground.last)):
                marks[j * wide + i] = BORDER
                known = False
                continue
            if not known:
                known, state = True, COVERED if inside(shapes, s, x, y, FLAT) else OUTSIDE
            marks[j * wide + i] = state


@njit
def _mark_edge(ax, ay, bx, by, frame, last, marks):
    """Mark, row by row, the cells that the edge comes near; measured in cells."""
    x0, y0, wide, tall, _ = frame
    if ay > by:
        ax, ay, bx, by = bx, by, ax, ay
    first = min(max(np.int64(math.floor(ay - NEAR)), y0), y0 + tall - 1)
    final = min(max(np.int64(math.floor(by + NEAR)), y0), y0 + tall - 1)
    slope = (bx - ax) / (by - ay) if by > ay else 0.0
    for j in range(first, final + 1):
        one, other = ax, bx
        if by > ay:
            if j > 0 and j - NEAR > ay:
                one = ax + slope * (min(j - NEAR, by) - ay)
            if j < last and j + 1 + NEAR < by:
                other = ax + slope * (max(j + 1 + NEAR, ay) - ay)
        low = min(max(np.int64(math.floor(min(one, other) - NEAR)), x0), x0 + wide - 1)
        high = min(max(np.int64(math.floor(max(one, other) + NEAR)), x0), x0 + wide - 1)
        for i in range(low, high + 1):
            marks[(j - y0) * wide + i - x0] = BORDER


@njit
def _mark_line(shapes, s, ground, frame, marks):
    """Judge every cell by how far its middle is from the line, or the centre."""
    x0, y0, wide, tall, shift = frame
    half = 0.5 * math.ldexp(1.0, shift) / ground.scale * SLACK
    reach = shapes.reach[s]
    for j in range(tall):
        y = _middle(y0 + j, shift, ground.y, ground.scale)
        sound = _is_within(y0 + j, shift, y, ground.y, ground.scale, ground.last)
        sound &= not shapes.earth or abs(y) + half < 90.0
        for i in range(wide):
            x = _middle(x0 + i, shift, ground.x, ground.scale)
            if not (sound and _is_within(x0 + i, shift, x, ground.x, ground.scale, ground.last)):
                marks[j * wide + i] = BORDER
                continue
            if shapes.earth:
                across = half * math.cos(math.radians(max(0.0, abs(y) - half)))
                aside = math.radians(math.hypot(half, across)) * RADIUS * SLACK + METRE
                away = _away_on_earth(shapes, s, x, y)
            else:
                size = max(abs(x), abs(y), abs(shapes.lo[0, s]), abs(shapes.lo[1, s]), reach)
                aside = math.hypot(half, half) * SLACK + PLACES * size
                away = _away_on_plane(shapes, s, x, y)
            within = shapes.lo[0, s] <= x - half and x + half < shapes.hi[0, s]
            within &= shapes.lo[1, s] <= y - half and y + half < shapes.hi[1, s]
            if away * SLACK + aside < reach and within:
                marks[j * wide + i] = COVERED
            elif not (away > reach * SLACK + aside * SLACK):
                marks[j * wide + i] = BORDER


@njit
def _ends(shapes, s):
    ring = shapes.ring_ptr[shapes.part_ptr[s]]
    return shapes.vertex_ptr[ring], shapes.vertex_ptr[ring + 1]


@njit
def _away_on_plane(shapes, s, x, y):
    begin, end = _ends(shapes, s)
    least = np.inf
    for v in range(begin, end):
        px, py = x - shapes.x[v], y - shapes.y[v]
        least = min(least, math.hypot(px, py))
        if v + 1 < end:
            dx, dy = shapes.x[v + 1] - shapes.x[v], shapes.y[v + 1] - shapes.y[v]
            length = math.hypot(dx, dy)
            if length > 0.0:
                ux, uy = dx / length, dy / length
                if 0.0 < px * ux + py * uy < length:
                    least = min(least, abs(ux * py - uy * px))
    return least


@njit
def _away_on_earth(shapes, s, x, y):
    """Measure by chords, and by planes through the centre of the earth."""
    begin, end = _ends(shapes, s)
    begin, end = shapes.sphere_ptr[s], shapes.sphere_ptr[s] + end - begin
    across, up = math.radians(x), math.radians(y)
    ring = math.cos(up)
    px, py, pz = ring * math.cos(across), ring * math.sin(across), math.sin(up)
    unit, least = shapes.unit, 2.0
    for v in range(begin, end):
        ax, ay, az = px - unit[0, v], py - unit[1, v], pz - unit[2, v]
        least = min(least, math.sqrt(ax * ax + ay * ay + az * az))
    least = 2.0 * math.asin(min(1.0, 0.5 * least))
    if shapes.kind[s] == CORRIDOR:
        for v in range(begin, end - 1):
            w = v + 1
            nx = unit[1, v] * unit[2, w] - unit[2, v] * unit[1, w]
            ny = unit[2, v] * unit[0, w] - unit[0, v] * unit[2, w]
            nz = unit[0, v] * unit[1, w] - unit[1, v] * unit[0, w]
            length = math.sqrt(nx * nx + ny * ny + nz * nz)
            if length < 1e-12:
                continue  # micrometres: its ends say it all
            ex = ny * unit[2, v] - nz * unit[1, v]
            ey = nz * unit[0, v] - nx * unit[2, v]
            ez = nx * unit[1, v] - ny * unit[0, v]
            fx = unit[1, w] * nz - unit[2, w] * ny
            fy = unit[2, w] * nx - unit[0, w] * nz
            fz = unit[0, w] * ny - unit[1, w] * nx
            if px * ex + py * ey + pz * ez > 0.0 and px * fx + py * fy + pz * fz > 0.0:
                aside = abs(px * nx + py * ny + pz * nz) / length
                least = min(least, math.asin(min(1.0, aside)))
    return least * RADIUS
