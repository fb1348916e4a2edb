"""What do joins say of two that may be nearer each other now, or less near? Compiled."""

import numpy as np
from numba import njit

from fencepost.joins.near.cover_kernels import covers, is_under
from fencepost.joins.near.distance_kernels import distance

LOST, GAINED = 1, 2
NOWHERE = np.inf  # as a position it is far from everything

DOUBT = np.dtype(
    [
        *((name, "f8") for name in ("x", "y", "c", "to_x", "to_y", "to_c", "u", "v", "d")),
        *((name, "i4") for name in ("update", "which", "side", "own", "other_side", "other")),
    ],
    align=True,
)
"""A stream that goes from (x, y) to (to_x, to_y), another at (u, v), and their latitudes' cosines:
whether they were near each other is asked, or whether they are, or both. 96 bytes."""


@njit(inline="always")
def _say(found, used, row, limit, doubt, before, after):
    """Put what one join says of two that are `before` and `after` apart."""
    is_lost = before <= limit
    if is_lost == (after <= limit) or not doubt.which & (LOST if is_lost else GAINED):
        return used
    # What does not fit is counted, and the doubt is judged again in a larger room.
    if used < len(found.row):
        found.update[used] = doubt.update
        found.row[used] = row
        found.change[used] = -1 if is_lost else 1
        x, y = (doubt.x, doubt.y) if is_lost else (doubt.to_x, doubt.to_y)
        if doubt.side == 0:
            own, own_at, other, other_at = found.left, found.left_at, found.right, found.right_at
        else:
            own, own_at, other, other_at = found.right, found.right_at, found.left, found.left_at
        own[used], own_at[0, used], own_at[1, used] = doubt.own, x, y
        other[used], other_at[0, used], other_at[1, used] = doubt.other, doubt.u, doubt.v
        found.distance[used] = before if is_lost else after
    return used + 1


@njit(inline="always")
def _said(earth, cover, doubt, found, used):
    """Put what all joins that ask for a pair say of it, by the formula."""
    before = after = np.inf
    if doubt.x < NOWHERE:
        before = distance(earth, doubt.x, doubt.y, doubt.c, doubt.u, doubt.v, doubt.d)
    if doubt.to_x < NOWHERE:
        after = distance(earth, doubt.to_x, doubt.to_y, doubt.to_c, doubt.u, doubt.v, doubt.d)
    own, other, under, ptr = doubt.own, doubt.other, cover.under, cover.under_ptr
    for row in cover.everyone:
        used = _say(found, used, row, cover.distances[row], doubt, before, after)
    if len(under) == 0:
        return used
    for second in (False, True):
        side, stream = (doubt.other_side, other) if second else (doubt.side, own)
        for at in range(ptr[side, stream], ptr[side, stream + 1]):
            row = under[at]
            if second and cover.one and is_under(cover, side, own, row):
                continue
            if covers(cover, row, doubt.side, own, other):
                used = _say(found, used, row, cover.distances[row], doubt, before, after)
    return used


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def judge(earth, cover, doubts, many, found, used):
    """Judge doubts in their order; return how many changes there are, more than fit or not."""
    for k in range(many):
        used = _said(earth, cover, doubts[k], found, used)
    return used
