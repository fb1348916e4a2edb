"""The boxes that steps meet between their ends: found by even cells over one or two axes.

A cell lists the boxes that overlap it. A step looks at the cells of its own bounding box; a box is
met in one of these only, the first that both overlap.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from fencepost.arrays import Doubles, Int32s, Int64s
from fencepost.shapes.inside_kernels import inside, placed
from fencepost.shapes.orientation_kernels import orientation
from fencepost.shapes.prepare import Prepared
from fencepost.shapes.way_kernels import passage

U = np.uint64
SURE = 1e-9  # shares so far apart are in the order that divisions say


class LeapCells(NamedTuple):
    """Boxes by segments, and in each by cells over two axes."""

    axes: Int64s  # the two; the same twice where one is enough
    origin: Doubles  # [2, segment]
    scale: Doubles  # [2, segment] cells a unit
    sides: Int64s  # [2, segment] cells along each
    cell_ptr: Int64s  # [segment + 1]
    ptr: Int64s  # [cell + 1]
    entries: Int32s  # boxes


class LeapBoxes(NamedTuple):
    """The queries with `leaps` and their boxes."""

    lo: Doubles
    hi: Doubles
    query: Int32s  # [box]
    box_ptr: Int64s  # [query + 1]
    valid_from: Int64s
    valid_to: Int64s
    shape: Int32s
    prepared: Prepared
    position: Int64s  # the axes of the place; empty: no shapes


class LeapSteps(NamedTuple):
    """A path, and the segment of each run: of all streams, and its own or -1."""

    starts: Int64s
    values: Doubles
    ts: Int64s
    own: Int64s


# Each step is looked at without any array being made, and without counting who has them: see
# `fencepost/shapes/inside_kernels.py`. Shapes are looked into afterwards, by `through_shapes`.


@njit(forceinline=True, _nrt=False)
def _cell(value, origin, scale, count):
    """Find the cell of a value; what is outside is in the first or the last, NaN in the first."""
    at, last = (value - origin) * scale, np.float64(count - 1)
    at = max(0.0, at)  # in this order: NaN is not above 0
    return np.int64(min(at, last))


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def listed(cells, lo, hi, rows, segment, places, room):
    """List each box in its cells, or count them where there is no room yet."""
    a, b = cells.axes
    for k in range(len(rows)):
        box, s = rows[k], segment[k]
        x0 = _cell(lo[a, box], cells.origin[0, s], cells.scale[0, s], cells.sides[0, s])
        x1 = _cell(hi[a, box], cells.origin[0, s], cells.scale[0, s], cells.sides[0, s])
        y0 = _cell(lo[b, box], cells.origin[1, s], cells.scale[1, s], cells.sides[1, s])
        y1 = _cell(hi[b, box], cells.origin[1, s], cells.scale[1, s], cells.sides[1, s])
        for y in range(y0, y1 + 1):
            for x in range(x0, x1 + 1):
                cell = cells.cell_ptr[s] + y * cells.sides[0, s] + x
                if len(room):
                    room[places[cell]] = box
                places[cell] += 1


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def leaps(cells, boxes, steps, place, box_of, share):
    """Write the boxes that steps meet whose queries hold at neither end; return how many.

    With each the shares of the way that are in the box: of a shape, that may be in it.
    """
    many = 0
    segments = len(cells.cell_ptr) - 1
    xs, ys = steps.values[cells.axes[0]], steps.values[cells.axes[1]]
    round_x = steps.values[boxes.position[0]] if _is_round(boxes) else xs
    half = 180.0 if _is_round(boxes) else math.inf
    for run in range(len(steps.starts) - 1):
        for kind in range(2):
            s = 0 if kind == 0 else steps.own[run]
            if s < kind or s >= segments:
                continue
            if cells.ptr[cells.cell_ptr[s]] == cells.ptr[cells.cell_ptr[s + 1]]:
                continue
            first, wide, tall = cells.cell_ptr[s], cells.sides[0, s], cells.sides[1, s]
            x0, across, y0, up = _ground(cells, s)
            begin, end = U(steps.starts[run]), U(steps.starts[run + 1])
            before_x, before_y = (
                _cell(xs[begin], x0, across, wide),
                _cell(ys[begin], y0, up, tall),
            )
            for c in range(begin + U(1), end):
                x, y = _cell(xs[c], x0, across, wide), _cell(ys[c], y0, up, tall)
                left, right, low, high = (
                    min(x, before_x),
                    max(x, before_x),
                    min(y, before_y),
                    max(y, before_y),
                )
                before_x, before_y = x, y
                if abs(round_x[c] - round_x[c - U(1)]) > half:
                    left, right, low, high = 0, wide - 1, 0, tall - 1
                elif high - low < 2:
                    row, over = U(first + low * wide), U(first + high * wide)
                    some = cells.ptr[row + U(right + 1)] - cells.ptr[row + U(left)]
                    some |= cells.ptr[over + U(right + 1)] - cells.ptr[over + U(left)]
                    if some == 0:  # mostly there is nothing in the rows that it is in
                        continue
                about = left, right, low, high
                many = _of_step(
                    cells, boxes, steps, s, np.int64(c), about, place, box_of, share, many
                )
    return many


@njit(forceinline=True, _nrt=False)
def _ground(cells, s):
    """Give where the cells of a segment begin, and how many there are to a unit."""
    return cells.origin[0, s], cells.scale[0, s], cells.origin[1, s], cells.scale[1, s]


@njit(forceinline=True, _nrt=False)
def _is_round(boxes):
    """Say whether there is an antimeridian that a step may go across."""
    return len(boxes.position) > 0 and boxes.prepared.earth


@njit(forceinline=True, _nrt=False)
def _of_step(cells, boxes, steps, s, c, about, place, box_of, share, many):
    """Look at the boxes in the cells about one step."""
    a, b = cells.axes[0], cells.axes[1]
    values = steps.values
    ax, ay = min(values[a, c - 1], values[a, c]), min(values[b, c - 1], values[b, c])
    bx, by = max(values[a, c - 1], values[a, c]), max(values[b, c - 1], values[b, c])
    if _goes_round(boxes, values, c):
        if a == boxes.position[0]:
            ax, bx = -math.inf, math.inf
        if b == boxes.position[0]:
            ay, by = -math.inf, math.inf
    wide, tall = cells.sides[0, s], cells.sides[1, s]
    x0, x1, y0, y1 = about
    for y in range(y0, y1 + 1):
        row = cells.cell_ptr[s] + y * wide
        if cells.ptr[row + x0] == cells.ptr[row + x1 + 1]:  # mostly there is nothing in it
            continue
        for x in range(x0, x1 + 1):
            for k in range(cells.ptr[row + x], cells.ptr[row + x + 1]):
                box = cells.entries[k]
                if not (boxes.lo[a, box] <= bx and ax <= boxes.hi[a, box]):
                    continue
                if not (boxes.lo[b, box] <= by and ay <= boxes.hi[b, box]):
                    continue
                first_x = _cell(boxes.lo[a, box], cells.origin[0, s], cells.scale[0, s], wide)
                first_y = _cell(boxes.lo[b, box], cells.origin[1, s], cells.scale[1, s], tall)
                if x != max(x0, first_x) or y != max(y0, first_y):
                    continue
                enter, leave = _met(boxes, values, steps.ts[c], box, c)
                if enter > leave:
                    continue
                if many < len(place):
                    place[many], box_of[many] = c, box
                    share[0, many], share[1, many] = enter, leave
                many += 1
    return many


@njit(cache=True, nogil=True, error_model="numpy")
def through_shapes(boxes, values, place, box_of, share, many):
    """Look into the shapes: make the shares those of them, and (1, 0) where a step is in none."""
    for k in range(many):
        shape = boxes.shape[boxes.query[box_of[k]]]
        if shape < 0:
            continue
        c, box = place[k], box_of[k]
        if _goes_round(boxes, values, c):
            share[0, k], share[1, k] = _round(boxes, values, box, c, shape)
            continue
        x, y = boxes.position
        share[0, k], share[1, k] = passage(
            boxes.prepared, shape,
            values[x, c - 1], values[y, c - 1], values[x, c], values[y, c],
            share[0, k], share[1, k],
        )  # fmt: skip


@njit(forceinline=True, _nrt=False)
def _goes_round(boxes, values, c):
    """Say whether a step is shorter across the antimeridian."""
    if not _is_round(boxes):
        return False
    x = boxes.position[0]
    return abs(values[x, c] - values[x, c - 1]) > 180.0


@njit(_nrt=False)
def _met(boxes, values, ts, box, c):
    """Find where a step is in a box whose query holds at neither end; (1, 0) where it is not."""
    query = boxes.query[box]
    enter, leave = 0.0, 1.0
    if boxes.shape[query] < 0:  # mostly it holds at an end, which is sooner seen than divided
        if _contains(boxes, box, values, c - 1) or _contains(boxes, box, values, c):
            return 1.0, 0.0
        enter, leave = _within(boxes, values, box, c, -1, 0.0, 0.0)
    elif not _goes_round(boxes, values, c):
        enter, leave = _within(boxes, values, box, c, -1, 0.0, 0.0)
    if enter > leave or not boxes.valid_from[query] <= ts < boxes.valid_to[query]:
        return 1.0, 0.0
    if _holds(boxes, query, values, c - 1) or _holds(boxes, query, values, c):
        return 1.0, 0.0
    return enter, leave


@njit(nogil=True, error_model="numpy")
def _round(boxes, values, box, c, shape):
    """Go across the antimeridian: the same way twice, as seen from either side of it."""
    x, y = boxes.position
    turn = 360.0 if values[x, c] < values[x, c - 1] else -360.0
    enter, leave = 1.0, 0.0
    for side in range(2):
        x0 = values[x, c - 1] - (turn if side == 1 else 0.0)
        x1 = values[x, c] + (turn if side == 0 else 0.0)
        a, b = _within(boxes, values, box, c, x, x0, x1)
        if a <= b:
            a, b = passage(
                boxes.prepared, shape, x0, values[y, c - 1], x1, values[y, c], a, b
            )  # fmt: skip
            if a <= b:
                enter, leave = min(enter, a), max(leave, b)
    return enter, leave


@njit(_nrt=False)
def _holds(boxes, query, values, place):
    """Say whether a query holds at a place of the path."""
    shape = boxes.shape[query]
    for box in range(boxes.box_ptr[query], boxes.box_ptr[query + 1]):
        if _contains(boxes, box, values, place):
            if shape < 0:
                return True
            x, y = boxes.position[0], boxes.position[1]
            at = values[x, place], values[y, place]
            return inside(boxes.prepared, shape, at[0], at[1], placed(boxes.prepared, *at))
    return False


@njit(_nrt=False)
def _contains(boxes, box, values, place):
    for axis in range(len(values)):
        if not boxes.lo[axis, box] <= values[axis, place] < boxes.hi[axis, box]:
            return False
    return True


@njit(_nrt=False)
def _ends(boxes, values, box, c, axis, moved, x0, x1):
    """Give a step's ends on an axis, and the ends of the box as the step comes to them."""
    p, q = values[axis, c - 1], values[axis, c]
    if axis == moved:
        p, q = x0, x1
    near, far = boxes.lo[axis, box], boxes.hi[axis, box]
    return (p, q, near, far) if p < q else (p, q, far, near)


@njit(_nrt=False)
def _within(boxes, values, box, c, moved, x0, x1):
    """Find the stretch of a step that is in a box, decided exactly; (1, 0) where none is.

    One axis may be `moved` to other ends, x0 and x1.
    """
    enter, leave = 0.0, 1.0
    for axis in range(len(values)):
        p, q, near, far = _ends(boxes, values, box, c, axis, moved, x0, x1)
        if p == q:
            if not boxes.lo[axis, box] <= p < boxes.hi[axis, box]:
                return 1.0, 0.0
            continue
        if p < q and not (near < q and p < far):
            return 1.0, 0.0
        if p > q and not (near > q and p > far):
            return 1.0, 0.0
        enter, leave = max(enter, (near - p) / (q - p)), min(leave, (far - p) / (q - p))
    if leave - enter < -SURE:
        return 1.0, 0.0
    if leave - enter < SURE and not _is_open(boxes, values, box, c, moved, x0, x1):
        return 1.0, 0.0
    return min(enter, leave), leave


@njit(_nrt=False)
def _is_open(boxes, values, box, c, moved, x0, x1):
    """Say exactly whether each axis is entered before any is left."""
    for i in range(len(values)):
        p, q, near, _ = _ends(boxes, values, box, c, i, moved, x0, x1)
        if p == q or math.isinf(near):
            continue
        for j in range(len(values)):
            if i == j:
                continue
            r, t, _, far = _ends(boxes, values, box, c, j, moved, x0, x1)
            if r == t or math.isinf(far):
                continue
            # (near - p) / (q - p) < (far - r) / (t - r), multiplied out.
            turn = orientation(near, far, q, t, p, r)
            if (turn if (q > p) == (t > r) else -turn) >= 0:
                return False
    return True
