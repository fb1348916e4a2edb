"""How far two positions are apart, compiled: on the earth in metres, else as Euclid has it.

Law: a distance is that of the formula below, one float64 operation each, and the same whichever of
the two comes first. The quick test by squares decides only where the formula would say the same.
"""

import math

import numpy as np
from numba import njit

RADIUS = 6_371_008.8  # metres: the mean radius of the earth
RADIANS = math.pi / 180.0
SLACK = 1e-9  # more than all roundings of the formula and of the quick test
SMALL = 0.25  # degrees: of twice of it a sine's square is its angle's, but for 1e-5 of it
CURVED = 2e-5
ANYWHERE = 3.0  # h is no less than the 10th of the flat square, where its quarter is what counts


@njit
def is_somewhere(earth, x, y):
    """Say whether there is such a place: to 90 degrees of latitude, and 360 of longitude."""
    return not earth or (abs(y) <= 90.0 and abs(x) <= 360.0)


@njit
def cosine(earth, y):
    """Give what is kept of a position beside its two numbers: the cosine of its latitude."""
    return math.cos(y * RADIANS) if earth else 1.0


@njit
def distance(earth, x, y, c, to_x, to_y, to_c):
    """Give the distance: by the haversine formula on a sphere of RADIUS, or Euclid's."""
    if not earth:
        dx, dy = to_x - x, to_y - y
        return math.sqrt(dx * dx + dy * dy)
    up, along = math.sin((to_y - y) * RADIANS / 2.0), math.sin((to_x - x) * RADIANS / 2.0)
    h = up * up + (c * to_c) * (along * along)
    return 2.0 * RADIUS * math.asin(math.sqrt(min(1.0, h)))


@njit(inline="always")
def square_of(earth, x, y, c, to_x, to_y, to_c):
    """Give the square of the distance in the feeds' own numbers, were the sphere flat here.

    On the earth the haversine formula's h is at most its quarter in radians, whichever way round
    the earth is the shorter one.
    """
    dx, dy = abs(to_x - x), to_y - y
    if earth and dx < 1000.0:
        dx -= 360.0 * np.floor(dx * (1.0 / 360.0) + 0.5)
    return dy * dy + (c * to_c) * (dx * dx)


@njit(cache=True)
def limits_of(earth, least, largest):
    """Give the squares below which two are surely within the least, above which beyond all."""
    if not earth:
        return least * least * (1.0 - SLACK), largest * largest * (1.0 + SLACK)
    below = 2.0 * math.sin(min(least / (2.0 * RADIUS), math.pi / 2.0)) / RADIANS
    above = 2.0 * math.sin(min(largest / (2.0 * RADIUS), math.pi / 2.0)) / RADIANS
    return below * below * (1.0 - SLACK), above * above * (1.0 + SLACK)
