"""S1 §7.3, one to nine axes: Fig. 19."""

from collections.abc import Iterator
from math import sqrt

from benchmarks.figures.figure import Curves, Figure, Panel, Point, Verdict, ratios, span
from benchmarks.many_axes import dimension
from benchmarks.matches_made import Scale

OURS, BOUND = "Fencepost", "S1's estimate, (d − 1) √d of one axis"
LIMIT = 7.0


def by_axes(scale: Scale) -> Iterator[Point]:
    """The time a tuple and the index, from one axis to nine; and the estimate from one axis."""
    first = 0.0
    for d in scale.some(tuple(range(1, 10)), 2):
        found = dimension(d, scale.of(500, 20))
        each = found.seconds / found.tuples * 1e9
        first = first or each
        yield Point("a", OURS, d, each)
        if d > 1:
            yield Point("a", BOUND, d, (d - 1) * sqrt(d) * first)
        yield Point("b", OURS, d, found.nbytes / 1e6)


def judge(drawn: Curves) -> Verdict:
    """Below the estimate from three axes on, and below 7 MB at nine."""
    below = [x for d, x in zip(range(2, 10), ratios(drawn, "a", BOUND, OURS), strict=True) if d > 2]
    most = drawn["b"][OURS][-1][1]
    return Verdict(
        min(below) > 1 and most < LIMIT,
        f"the estimate is {span(below)} our time from three axes on; {most:.2f} MB at nine",
        "A candidate is dropped at the first axis that fails, and only its own stripe is read.",
    )


FIGURES = (
    Figure(
        "s1-19",
        "S1 Fig. 19",
        "The number of axes",
        "Time grows very slowly against (d − 1) √d times that of one axis; storage linearly, below "
        "7 MB at nine (N = 10 K, FL = W = 0.1% an axis).",
        (Panel("a", "axes", "time a tuple, ns", "y"), Panel("b", "axes", "MB")),
        by_axes,
        judge,
    ),
)
