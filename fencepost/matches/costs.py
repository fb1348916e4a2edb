"""What an index costs a point, in nanoseconds: a sum of a few terms, each with a measured weight.

The weights are those that `python -m benchmarks.matches_fit` prints. They are of one machine; what
counts is how they compare.
"""

from collections.abc import Callable, Mapping
from math import log2

FEW = 8  # boxes that are compared before anything else is thought of
MOST_SCANNED = 1000
ALONE = 16  # points together, below which the call itself is what costs

CANDIDATES: Mapping[str, Callable[[int, int], bool]] = {
    "scan": lambda _, boxes: boxes <= MOST_SCANNED,
    "ladder": lambda axes, _: axes == 1,
    "grid": lambda axes, _: axes == 2,
    "packed": lambda axes, _: axes > 0,
    "bitmaps": lambda axes, _: axes > 0,
}
"""What `auto` may take, by the number of axes and boxes."""


def terms(axes: int, boxes: int, held: float, batch: int) -> list[float]:
    """Give what a cost is a sum of: for a call, a point, the depth, all boxes, the results."""
    depth = log2(max(boxes, 2))
    return [1000.0 / batch, 1.0, depth * axes, boxes * axes / 1000.0, held, held * axes]


WEIGHTS: Mapping[tuple[str, bool], tuple[float, ...]] = {
    ("bitmaps", False): (13.39, 21.28, 0.6113, 0.4008, 0, 1.115),  # off by 1.38 x
    ("bitmaps", True): (10.79, 0, 0, 2.284, 6.515, 2.051),  # off by 1.05 x
    ("grid", False): (8.602, 22.41, 0, 0, 1.111, 0),  # off by 1.24 x
    ("grid", True): (7.025, 0, 0, 3.925, 3.771, 0),  # off by 1.08 x
    ("ladder", False): (5.244, 20.19, 0.1567, 0, 0.6679, 0),  # off by 1.13 x
    ("ladder", True): (4.531, 0, 55.58, 0, 0.5563, 0),  # off by 1.07 x
    ("packed", False): (3.111, 0, 2.015, 0.2639, 0, 1.789),  # off by 1.50 x
    ("packed", True): (2.338, 0, 9.129, 0.8178, 0, 2.467),  # off by 1.13 x
    ("scan", False): (20.5, 107.9, 9.612, 775, 27.35, 0),  # off by 1.40 x
    ("scan", True): (10.39, 0, 315.6, 631.5, 25.01, 0),  # off by 1.13 x
}
"""By the name of an index, and whether points come alone; how far off, in the mean."""


def cost(name: str, axes: int, boxes: int, held: float, batch: int) -> float:
    """Expect so many nanoseconds a point."""
    weights = WEIGHTS[name, batch < ALONE]
    told = terms(axes, boxes, held, batch)
    return sum(weight * term for weight, term in zip(weights, told, strict=True))
