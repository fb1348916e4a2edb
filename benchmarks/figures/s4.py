"""S4, band joins kept up: an update against n, and against τ."""

from collections.abc import Iterator
from math import log2

from benchmarks import joins_bands
from benchmarks.figures.figure import Curves, Figure, Panel, Point, Verdict
from benchmarks.matches_made import Scale

OURS, SHAPE = "Fencepost", "log(mτ) + k, through the first point"
ALLOWED = 2.0
"""By how much an update may be dearer at a million bands than at a thousand, k being the same."""


def updates(scale: Scale) -> Iterator[Point]:
    """The time of an update with as many changes each: at more bands, then in more groups."""
    members = scale.of(10_000, 1_000)
    for n in scale.some((1_000, 10_000, 100_000, 1_000_000), 2):
        took = joins_bands.each_of(n, joins_bands.HOTSPOTS, members, scale.of(200_000, 500), scale)
        yield Point("a", OURS, n, took.seconds * 1e6)
    first = 0.0
    for hotspots in scale.some((1, 3, 10, 30, 100, 300, 1000), 2):
        took = joins_bands.each_of(10_000, hotspots, members, scale.of(20_000, 500), scale)
        steps = log2(2 * members * took.tau) + took.changes
        first = first or took.seconds / steps
        yield Point("b", OURS, took.tau, took.seconds * 1e6)
        yield Point("b", SHAPE, took.tau, first * steps * 1e6)


def judge(drawn: Curves) -> Verdict:
    """Level in n; in τ no steeper than the bound."""
    by_bands, by_groups = drawn["a"][OURS], drawn["b"][OURS]
    level = max(y for _, y in by_bands) / min(y for _, y in by_bands)
    rise = by_groups[-1][1] / by_groups[0][1]
    bound = drawn["b"][SHAPE][-1][1] / drawn["b"][SHAPE][0][1]
    many = by_groups[-1][0]
    return Verdict(
        level <= ALLOWED and rise <= bound,
        f"an update is within {level:.2f} × from 1 K to 1 M bands; from one group to "
        f"{many:,.0f} it takes {rise:.1f} ×, where the bound has {bound:.1f} ×",
        "Bands that are not met cost nothing. Ours visits the groups near a value one by one, in "
        "the order of memory, where S4 searches all by their logarithm: many groups cost more.",
    )


FIGURES = (
    Figure(
        "s4-updates",
        "S4 §3",
        "Band joins: an update",
        "An update takes O(log(mτ) + k): it does not depend on the number of bands, and on that "
        "of groups only by the logarithm.",
        (
            Panel("a", "bands", "time an update, µs", "x"),
            Panel("b", "groups τ", "time an update, µs", "xy"),
        ),
        updates,
        judge,
    ),
)
