"""One standing join, of any kind.

A window join's `on` and `where` come to conjuncts: boxes over the axes of both feeds, those of the
left feed first, each with the comparisons that no box can say. A band join names one axis of each
feed and the least and the largest difference. A near join names a distance between the positions of
both feeds, which may be one feed.

Law: a pair of tuples satisfies a window join iff one of its conjuncts holds for the values of both:
lo <= v < hi on every axis, and every test. A test (a, p, op, b, q) is `v[a] + p op v[b] + q`, where
`v + p` is one float64 operation rounded to nearest; with p = 0 it is v itself.
"""

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from fencepost.lanes import lane_of
from fencepost.queries.condition import Box
from fencepost.shapes.shape import Shape

WINDOW_JOIN, BAND_JOIN, NEAR_JOIN = "window_join", "band_join", "near_join"
JOINS = (WINDOW_JOIN, BAND_JOIN, NEAR_JOIN)


class JoinTest(NamedTuple):
    """`v[axis] + plus op v[other] + other_plus`; op one of OPS, axes counted over both feeds."""

    axis: int
    plus: float
    op: str
    other: int
    other_plus: float


class Conjunct(NamedTuple):
    """One way to satisfy a window join: a box over the axes of both feeds, and tests beside it."""

    box: Box
    tests: tuple[JoinTest, ...] = ()


Pair = tuple[int, int]
"""Two axes of a feed, counted from 0."""


class SomeStreams(NamedTuple):
    """The streams that a near join takes on a side: those named, and those that fit a pattern."""

    named: tuple[str, ...] = ()
    likes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinQuery:
    """One version of one join, times in µs. Without the axes of its feeds, conjuncts are ().

    A window join has `on`, perhaps `where`, `conjuncts`, and either `window` (a time) or `last` (a
    count); perhaps regions, of the left and of the right, each on two axes of that feed. A band
    join has axes and bounds: both ends closed, open ends infinite. A near join has a distance,
    perhaps the streams that it takes (left, right; None: all), and where the positions of its feeds
    are known, their axes and whether these are on the earth.
    """

    id: str
    kind: str
    left: str
    right: str
    on: str | None = None
    where: str | None = None
    conjuncts: tuple[Conjunct, ...] = ()
    window: int | None = None
    last: int | None = None
    regions: tuple[Shape | None, Shape | None] = (None, None)
    region_axes: tuple[Pair | None, Pair | None] = (None, None)
    left_axis: str | None = None
    right_axis: str | None = None
    low: float = -inf
    high: float = inf
    distance: float | None = None
    takes: tuple[SomeStreams | None, SomeStreams | None] = (None, None)
    positions: tuple[Pair, Pair] | None = None
    earth: bool = False
    valid_from: int | None = None
    valid_to: int | None = None
    owner: str | None = None
    tags: tuple[str, ...] = ()
    note: str | None = None
    version: int = 1

    @property
    def lane(self) -> str:
        """The ordered pair of feeds that it joins."""
        return lane_of(self.left, self.right)
