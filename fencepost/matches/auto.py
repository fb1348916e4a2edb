"""Choose an index by how many boxes there are, over how many axes, and how many hold a point.

Law: the choice depends on the boxes and the size of a batch, on nothing else; no choice changes
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
BATCH = 10_000  # points of a probe, where the caller gives no number
SAMPLE_BOXES, SAMPLE_POINTS = 4096, 256
NODE = 16  # boxes in a node


@dataclass(frozen=True)
class IndexChoice:
    """An index, and why.

    costs  what it is expected to cost, and what the others would, ns a point
    hits   how many boxes are expected to hold a point
    named  whether these are the queries for named streams, whose last axis is the stream
    """

    name: str
    parameters: Mapping[str, Parameter]
    why: str
    costs: Mapping[str, float] = field(default_factory=dict)
    hits: float | None = None
    boxes: int = 0
    axes: int = 0
    named: bool = False


def choose(boxes: Boxes, batch: int | None = None) -> IndexChoice:
    """Choose the index with the least expected cost for such batches. O(a sample of the boxes)."""
    if len(boxes) <= FEW:
        return IndexChoice("scan", {}, "so few boxes are compared sooner than any index is probed")
    hits, near = expected(boxes)
    size = (boxes.axes, len(boxes), hits, near, batch or BATCH)
    fits = [name for name, takes in CANDIDATES.items() if takes(boxes.axes, len(boxes))]
    costs = dict(sorted(((name, cost(name, *size)) for name in fits), key=lambda each: each[1]))
    best, *others = costs
    against = ", ".join(f"{name} {costs[name]:,.0f}" for name in others)
    why = f"about {costs[best]:,.0f} ns a tuple, {batch or BATCH:,} together"
    return IndexChoice(best, {}, f"{why}; {against}" if against else why, costs, hits)


def expected(boxes: Boxes) -> tuple[float, float]:
    """Estimate how many boxes hold a point, and how many are near it.

    Half of the points are anywhere, half where boxes are. Near are those that would hold it if they
    were wider on each axis by what a node of an even tree measures there.
    """
    n, rng = len(boxes), np.random.default_rng(0)
    some = boxes if n <= SAMPLE_BOXES else boxes.take(rng.integers(0, n, SAMPLE_BOXES))
    with np.errstate(over="ignore", invalid="ignore"):  # the ends of doubles are far apart
        least, most = boxes.extent()
        reach = most - least
        points = _likely(some, least, most, rng)
        wider = (reach * min(1.0, NODE / n) ** (1 / boxes.axes) / 2)[:, None]
        hits = holding(some.lo, some.hi, points)
        near = holding(some.lo - wider, some.hi + wider, points)
    return hits * n / len(some), near * n / len(some)


def holding(lo: Doubles, hi: Doubles, points: Doubles) -> float:
    """Count how many of these boxes hold a point, on average. O(boxes x points)."""
    inside = np.ones((points.shape[1], lo.shape[1]), np.bool_)
    for begin, end, v in zip(lo, hi, points, strict=True):
        inside &= (begin <= v[:, None]) & (v[:, None] < end)
    return float(inside.sum() / max(1, len(inside)))


def _likely(boxes: Boxes, least: Doubles, most: Doubles, rng: np.random.Generator) -> Doubles:
    """Draw points, half of them over the extent and half about the middles of boxes."""
    half = SAMPLE_POINTS // 2
    share = rng.random((boxes.axes, half))
    anywhere = least[:, None] * (1.0 - share) + most[:, None] * share
    some = boxes.take(rng.integers(0, len(boxes), half))
    lo = np.maximum(some.lo, least[:, None])
    hi = np.maximum(np.minimum(some.hi, most[:, None]), lo)
    return np.concatenate([anywhere, lo / 2 + hi / 2], axis=1)


def likely(boxes: Boxes, seed: int) -> Doubles:
    """Draw points where probes are likely: what the costs were measured with."""
    return _likely(boxes, *boxes.extent(), np.random.default_rng(seed))
