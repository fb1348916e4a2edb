"""Which index to take: by how many boxes there are, over how many axes, and how many hold a point.

Law: the choice depends on the boxes and on the size of a batch, on nothing else; no choice changes
a row.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from fencepost.matches.boxes import Boxes
from fencepost.matches.costs import CANDIDATES, FEW, cost
from fencepost.matches.index import Parameter
from fencepost.tuples import Doubles

AUTO = "auto"
BATCH = 10_000  # points that are asked for together, where nobody says how many
SAMPLE_BOXES, SAMPLE_POINTS = 4096, 256


@dataclass(frozen=True)
class Choice:
    """An index, and why.

    costs  what it is expected to cost, and what the others would, ns a point
    held   how many boxes are expected to hold a point
    named  whether these are the queries for named streams, whose last axis is the stream
    """

    name: str
    parameters: Mapping[str, Parameter]
    why: str
    costs: Mapping[str, float] = field(default_factory=dict)
    held: float | None = None
    boxes: int = 0
    axes: int = 0
    named: bool = False


def choose(boxes: Boxes, batch: int | None = None) -> Choice:
    """Take the index with the least expected cost for such batches. O(a sample of the boxes)."""
    if len(boxes) <= FEW:
        return Choice("scan", {}, "so few boxes are compared sooner than any index is asked")
    held = expected(boxes)
    asked = (boxes.axes, len(boxes), held, batch or BATCH)
    fits = [name for name, takes in CANDIDATES.items() if takes(boxes.axes, len(boxes))]
    costs = dict(sorted(((name, cost(name, *asked)) for name in fits), key=lambda each: each[1]))
    best, *others = costs
    against = ", ".join(f"{name} {costs[name]:,.0f}" for name in others)
    why = f"about {costs[best]:,.0f} ns a tuple, {batch or BATCH:,} together"
    return Choice(best, {}, f"{why}; {against}" if against else why, costs, held)


def expected(boxes: Boxes) -> float:
    """Estimate how many boxes hold a point: half of the points anywhere, half where boxes are."""
    return holding(boxes.lo, boxes.hi, likely(boxes, np.random.default_rng(0)))


def holding(lo: Doubles, hi: Doubles, points: Doubles) -> float:
    """Estimate how many of these boxes hold a point, on average, from a sample of the boxes."""
    n = lo.shape[1]
    if not n or not points.shape[1]:
        return 0.0
    rows = np.arange(n)
    if n > SAMPLE_BOXES:
        rows = np.random.default_rng(0).integers(0, n, SAMPLE_BOXES)
    stride = max(1, points.shape[1] // SAMPLE_POINTS)
    some = points[:, ::stride]
    held = np.ones((some.shape[1], len(rows)), np.bool_)
    for begin, end, v in zip(lo[:, rows], hi[:, rows], some, strict=True):
        held &= (begin <= v[:, None]) & (v[:, None] < end)
    return float(held.sum() / some.shape[1] * (n / len(rows)))


def likely(boxes: Boxes, rng: np.random.Generator) -> Doubles:
    """Draw points, half of them over the extent and half about the middles of boxes."""
    least, most = boxes.extent()
    half = SAMPLE_POINTS // 2
    anywhere = least[:, None] + rng.random((boxes.axes, half)) * (most - least)[:, None]
    some = boxes.take(rng.integers(0, len(boxes), half))
    lo = np.maximum(some.lo, least[:, None])
    hi = np.maximum(np.minimum(some.hi, most[:, None]), lo)
    return np.concatenate([anywhere, lo / 2 + hi / 2], axis=1)
