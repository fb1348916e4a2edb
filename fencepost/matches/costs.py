"""What an index costs a point, in nanoseconds: a sum of a few terms, each with a measured weight.

`hits` is how many boxes hold a point, `near` how many are so near that they share a node, or a
cell, with one that does.

The weights are those that `python -m benchmarks.matches_fit` prints. They are of one machine; what
counts is how they compare.
"""

from collections.abc import Callable, Mapping
from math import log2

FEW = 8  # boxes that are compared before anything else is thought of
MOST_SCANNED = 1000
MOST_LISTED = 2000  # by dlist, whose size is that of all intervals end to end
ALONE, MANY = 16, 2000  # points together: fewer cost the call itself, more are worked in blocks

CANDIDATES: Mapping[str, Callable[[int, int], bool]] = {
    "scan": lambda _, boxes: boxes <= MOST_SCANNED,
    "dlist": lambda axes, boxes: axes == 1 and boxes <= MOST_LISTED,
    "ladder": lambda axes, _: axes == 1,
    "grid": lambda axes, _: axes == 2,
    "packed": lambda axes, _: axes > 0,
    "bitmaps": lambda axes, _: axes > 0,
    "spatial_join": lambda axes, _: axes > 2,
}
"""What `auto` may take, by the number of axes and boxes."""


def terms(axes: int, boxes: int, hits: float, near: float, batch: int) -> list[float]:
    """Return the terms of a cost: a call, a point, the depth, all boxes, results, neighbours."""
    depth = log2(max(boxes, 2))
    about = max(0.0, near - hits)
    return [1000.0 / batch, 1.0, depth * axes, boxes * axes / 1000.0, hits, hits * axes, about]


def company(batch: int) -> str:
    """Say how many points come together, as far as it changes what one costs."""
    return "alone" if batch < ALONE else "some" if batch < MANY else "many"


Weights = Mapping[tuple[str, str], tuple[float, ...]]
"""By the name of an index, and how many points come together; how far off, in the mean."""

WEIGHTS: Weights = {
    ("bitmaps", "alone"): (11.26, 0, 0, 2.707, 6.099, 0, 0.661),  # off by 1.12 x
    ("bitmaps", "many"): (362.4, 0, 0.5554, 0.381, 0.6388, 0.4782, 0.104),  # off by 1.45 x
    ("bitmaps", "some"): (17.68, 0, 0, 0.6591, 0.6769, 0.4222, 0.2366),  # off by 1.36 x
    ("grid", "alone"): (7.699, 0, 0, 5.818, 4.373, 0, 0),  # off by 1.08 x
    ("grid", "many"): (385.4, 0, 0, 0, 1.317, 0, 0),  # off by 1.22 x
    ("grid", "some"): (11.24, 0, 0.1402, 0.06563, 1.247, 0, 0),  # off by 1.09 x
    ("packed", "alone"): (3.817, 0, 0, 1.036, 1.183, 1.332, 1.617),  # off by 1.15 x
    ("packed", "many"): (0, 0, 0.4873, 0.2398, 0, 0.8834, 0.7985),  # off by 1.46 x
    ("packed", "some"): (2.282, 0, 0.8682, 0.324, 0, 0.8279, 1.106),  # off by 1.31 x
    ("scan", "alone"): (10.22, 0, 380, 0, 0, 10.91, 0.2839),  # off by 1.12 x
    ("scan", "many"): (2174, 0, 0, 1304, 19.53, 0, 0),  # off by 1.16 x
    ("scan", "some"): (32.85, 0, 0, 1369, 11.04, 1.377, 0),  # off by 1.09 x
    ("spatial_join", "alone"): (8.467, 0, 0, 3.777, 0, 1.788, 1.075),  # off by 1.14 x
    ("spatial_join", "many"): (469.4, 0, 3.871, 1.961, 1.193, 0, 0.6878),  # off by 1.22 x
    ("spatial_join", "some"): (6.38, 0, 5.385, 1.783, 0, 1.745, 0.5703),  # off by 1.27 x
}

ONE_AXIS: Weights = {
    ("bitmaps", "alone"): (10.48, 0, 0, 8.416, 5.354, 0, 0),  # off by 1.02 x
    ("bitmaps", "many"): (0, 0, 3.004, 6.969, 0.8381, 0, 0),  # off by 1.12 x
    ("bitmaps", "some"): (0, 0, 3.74, 7.464, 0.4926, 0, 5.747),  # off by 1.11 x
    ("dlist", "alone"): (3.187, 0, 0, 10.06, 2.326, 0, 0),  # off by 1.01 x
    ("dlist", "many"): (124.9, 0, 0, 1.31, 1.445, 0, 0),  # off by 1.20 x
    ("dlist", "some"): (4.575, 0, 0, 2.338, 1.264, 0, 0),  # off by 1.06 x
    ("ladder", "alone"): (4.864, 0, 0, 0, 0.4182, 0, 0),  # off by 1.01 x
    ("ladder", "many"): (160.9, 0, 0, 0, 0.6649, 0, 0.7207),  # off by 1.10 x
    ("ladder", "some"): (4.554, 0, 0, 0.0007599, 0.3787, 0, 1.881),  # off by 1.06 x
    ("packed", "alone"): (3.578, 0, 2.153, 0, 1.554, 0, 0),  # off by 1.01 x
    ("packed", "many"): (0, 0, 1.284, 0.08348, 0.7926, 0, 0),  # off by 1.08 x
    ("packed", "some"): (0, 0, 1.006, 0.1283, 0.6043, 0, 2.264),  # off by 1.10 x
    ("scan", "alone"): (10.99, 0, 22.2, 1729, 13.17, 0, 0),  # off by 1.00 x
    ("scan", "many"): (242.1, 0, 11.53, 3258, 0.6144, 0, 0),  # off by 1.07 x
    ("scan", "some"): (9.088, 0, 10.75, 2570, 5.023, 0, 0),  # off by 1.02 x
}
"""Of a single axis, which a sum that fits two axes to eight meets only within 1.46 ×."""


def cost(name: str, axes: int, boxes: int, hits: float, near: float, batch: int) -> float:
    """Estimate the nanoseconds a point of one index, from times measured on other boxes."""
    weights = (ONE_AXIS if axes == 1 else WEIGHTS)[name, company(batch)]
    counts = terms(axes, boxes, hits, near, batch)
    return sum(weight * term for weight, term in zip(weights, counts, strict=True))


def cheapest(axes: int, boxes: int, hits: float, near: float, batch: int) -> float:
    """Estimate the nanoseconds a point of whichever index is best there."""
    fits = [name for name, takes in CANDIDATES.items() if takes(axes, boxes)]
    return min(cost(name, axes, boxes, hits, near, batch) for name in fits)
