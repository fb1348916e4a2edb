"""The boxes that steps meet between their ends, in NumPy: each box against all the steps.

Shapes are looked into one by one, in Python.

Law: it finds what `leap_kernels.py` finds.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fencepost.arrays import Bools, Doubles, Int32s, Int64s
from fencepost.leaps.leap_kernels import SURE, LeapBoxes
from fencepost.shapes import twins
from fencepost.shapes.shape import Point
from fencepost.shapes.way_twins import NOWHERE, Stretch, passage

HALF_TURN = 180.0


class TwinSteps(NamedTuple):
    """Steps of some streams: the places that they led to, and the values before and after."""

    place: Int64s
    ts: Int64s
    before: Doubles  # [axis, step]
    after: Doubles

    @classmethod
    def of(cls, values: Doubles, ts: Int64s, place: Int64s) -> "TwinSteps":
        """Take the steps to these places, each from the place before."""
        return cls(place, ts[place], values[:, place - 1], values[:, place])


def leaps(boxes: LeapBoxes, box: int, steps: TwinSteps) -> tuple[Int64s, Int32s, Doubles]:
    """Find the steps that meet a box and whose query holds at neither end; with the shares."""
    query = int(boxes.query[box])
    shape = int(boxes.shape[query])
    enter, leave, met = stretches(boxes, box, steps.before, steps.after)
    if shape >= 0:
        met |= _go_round(boxes, steps)
    met &= (boxes.valid_from[query] <= steps.ts) & (steps.ts < boxes.valid_to[query])
    found = np.flatnonzero(met)
    for values in (steps.before, steps.after):
        found = found[~_holds(boxes, query, values[:, found])]
    share = np.stack([enter[found], leave[found]])
    if shape >= 0:
        ways = [_in_shape(boxes, box, steps, k, *share[:, n]) for n, k in enumerate(found.tolist())]
        share = np.array(ways, np.float64).reshape(-1, 2).T
    kept = share[0] <= share[1]
    return steps.place[found[kept]], np.full(kept.sum(), box, np.int32), share[:, kept]


def stretches(
    boxes: LeapBoxes, box: int, before: Doubles, after: Doubles
) -> tuple[Doubles, Doubles, Bools]:
    """Find the stretches of steps that are in a box, and of which there are any: exactly."""
    lo, hi = boxes.lo[:, box, None], boxes.hi[:, box, None]
    up, still = before < after, before == after
    near, far = np.where(up, lo, hi), np.where(up, hi, lo)
    over = np.where(up, (near < after) & (before < far), (near > after) & (before > far))
    met: Bools = np.all(np.where(still, (lo <= before) & (before < hi), over), axis=0)
    with np.errstate(all="ignore"):
        way = after - before
        enter = np.where(still, 0.0, (near - before) / way).max(axis=0, initial=0.0)
        leave = np.where(still, 1.0, (far - before) / way).min(axis=0, initial=1.0)
        apart = leave - enter
    met &= ~(apart < -SURE)
    for k in np.flatnonzero(met & (apart < SURE)).tolist():
        met[k] = _is_open(near[:, k], far[:, k], before[:, k], after[:, k])
    return np.minimum(enter, leave), leave, met


def _is_open(near: Doubles, far: Doubles, before: Doubles, after: Doubles) -> bool:
    """Say in fractions whether each axis is entered before any is left."""
    moving = [
        (n, f, Fraction(p), Fraction(q))
        for n, f, p, q in zip(*map(np.ndarray.tolist, (near, far, before, after)), strict=True)
        if p != q
    ]
    enters = [(Fraction(n) - p) / (q - p) for n, _, p, q in moving if np.isfinite(n)]
    leaves = [(Fraction(f) - p) / (q - p) for _, f, p, q in moving if np.isfinite(f)]
    return not enters or not leaves or max(enters) < min(leaves)


def _go_round(boxes: LeapBoxes, steps: TwinSteps) -> Bools:
    """Mark the steps that are shorter across the antimeridian."""
    if not len(boxes.position) or not boxes.prepared.earth:
        return np.zeros(len(steps.place), np.bool_)
    x = boxes.position[0]
    marked: Bools = np.abs(steps.after[x] - steps.before[x]) > HALF_TURN
    return marked


def _holds(boxes: LeapBoxes, query: int, values: Doubles) -> Bools:
    """Say whether a query holds, point by point."""
    own = np.arange(boxes.box_ptr[query], boxes.box_ptr[query + 1])
    inside = boxes.lo[:, own, None] <= values[:, None, :]
    inside &= values[:, None, :] < boxes.hi[:, own, None]
    holds: Bools = np.any(np.all(inside, axis=0), axis=0)
    shape = int(boxes.shape[query])
    if shape >= 0:
        x, y = boxes.position
        for k in np.flatnonzero(holds).tolist():
            holds[k] = twins.inside(boxes.prepared, shape, float(values[x, k]), float(values[y, k]))
    return holds


def _in_shape(
    boxes: LeapBoxes, box: int, steps: TwinSteps, k: int, enter: float, leave: float
) -> Stretch:
    """Find where a step is first and last in the shape of a box's query, within the box."""
    shape = int(boxes.shape[boxes.query[box]])
    x, y = boxes.position
    if not _go_round(boxes, steps)[k]:
        (here, there), _ = _ways(steps, k, int(x), int(y), 0.0)
        return passage(boxes.prepared, shape, here, there, enter, leave)
    turn = 360.0 if steps.after[x, k] < steps.before[x, k] else -360.0
    found = []
    for here, there in _ways(steps, k, int(x), int(y), turn):
        before, after = steps.before[:, k].copy(), steps.after[:, k].copy()
        before[x], after[x] = here[0], there[0]
        a, b, met = stretches(boxes, box, before[:, None], after[:, None])
        if met[0]:
            found.append(passage(boxes.prepared, shape, here, there, float(a[0]), float(b[0])))
    found = [(a, b) for a, b in found if a <= b]
    return (min(a for a, _ in found), max(b for _, b in found)) if found else NOWHERE


def _ways(steps: TwinSteps, k: int, x: int, y: int, turn: float) -> Iterator[tuple[Point, Point]]:
    """Give the way of a step as it is seen from either side of the antimeridian."""
    (x0, y0), (x1, y1) = (
        (float(values[x, k]), float(values[y, k])) for values in (steps.before, steps.after)
    )
    yield (x0, y0), (x1 + turn, y1)
    yield (x0 - turn, y0), (x1, y1)
