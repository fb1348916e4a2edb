"""What the circles of the earth reach, and where vertices are on the unit sphere; compiled.

The twins are in `earth.py` and give the same bits: both call the sines of the C library.
"""

import math

import numpy as np
from numba import njit

from fencepost.arrays import Doubles, Int64s
from fencepost.shapes.earth import EAST, NORTH, RADIUS, SLACK, SOUTH, WEST
from fencepost.shapes.inside_kernels import sphere_place


@njit(cache=True, nogil=True, error_model="numpy")
def bound_circles(
    rows: Int64s, vertex: Int64s, xy: Doubles, reach: Doubles, lo: Doubles, hi: Doubles
) -> None:
    """Bound the circles of these rows, each round its vertex: as `reach_of` does, 0.1 µs each."""
    for k in range(len(rows)):
        row = rows[k]
        x, y = xy[0, vertex[k]], xy[1, vertex[k]]
        angle = reach[row] / RADIUS + SLACK
        lo[1, row] = max(SOUTH, y - math.degrees(angle))
        hi[1, row] = np.nextafter(min(NORTH, y + math.degrees(angle)), math.inf) + 0.0
        west, east = WEST, EAST
        highest = math.radians(abs(y)) + angle
        if highest < math.pi / 2 and angle < math.pi / 2:
            share = min(1.0, math.sin(angle) / math.cos(highest - angle))
            aside = math.degrees(math.asin(share)) + 1e-7
            if x - aside > WEST and x + aside < EAST:
                west, east = x - aside, x + aside
        lo[0, row], hi[0, row] = west, np.nextafter(east, math.inf) + 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def on_sphere(xy: Doubles) -> Doubles:
    """Place points on the unit sphere [3, n], as `unit` does. 40 ns each."""
    placed = np.empty((3, xy.shape[1]))
    for k in range(xy.shape[1]):
        placed[0, k], placed[1, k], placed[2, k] = sphere_place(xy[0, k], xy[1, k])
    return placed
