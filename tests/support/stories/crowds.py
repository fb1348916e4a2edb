"""Many queries and long walks, seeded: too much for Hypothesis to draw, and little for a kernel.

Law: the same arguments give the same crowd. Values and borders are on one grid, so that they meet.
"""

from dataclasses import dataclass, replace
from math import inf
from random import Random
from typing import Literal

from fencepost.queries import Box, QuerySet, StandingQuery
from fencepost.reference import FeedDelivery, Registration, Sighting
from tests.support.stories.strategies import ALL_AXES, FEED, TICK, Story

EDGE = 32.0  # every axis reaches from -EDGE to EDGE


@dataclass(frozen=True)
class Shape:
    """What a crowd is like. `grain` is the grid's, and all that is drawn is a multiple of it.

    widths   of boxes, from and to              stride   of a tuple's move along an axis, at most
    still    the share of moves that are none   bound    the share of axes that a box is bounded on
    clumped  the share of borders that fall where many others do
    """

    axes: int = 1
    queries: int = 100
    streams: int = 6
    tuples: int = 300
    deliveries: int = 2
    grain: float = 0.25
    widths: tuple[float, float] = (0.25, 8.0)
    stride: float = 2.0
    still: float = 0.1
    bound: float = 1.0
    clumped: float = 0.0
    endless: float = 0.1
    named: float = 0.0
    several: float = 0.0
    timed: float = 0.0
    sighted: float = 0.0
    within: float = 0.0


# Queries of every sort: plain and checked, for all streams and for named ones.
MIXED = Shape(named=0.2, several=0.15, timed=0.2, sighted=0.5, within=0.6)


@dataclass(frozen=True)
class Crowd:
    """Queries, and deliveries for them."""

    axes: tuple[str, ...]
    queries: tuple[StandingQuery, ...]
    deliveries: tuple[FeedDelivery, ...]

    @property
    def story(self) -> Story:
        """All of it, registered first."""
        return Story(self.axes, (Registration(self.queries), *self.deliveries), 0)


def crowd(shape: Shape, seed: int = 0) -> Crowd:
    """Draw the crowd of a shape."""
    chance = Random(f"{shape} {seed}")  # noqa: S311  no secret
    queries = tuple(_query(chance, shape, number) for number in range(shape.queries))
    return Crowd(ALL_AXES[: shape.axes], queries, tuple(_deliveries(chance, shape)))


def stream_names(shape: Shape) -> list[str]:
    """The streams of a crowd."""
    return [f"s{number}" for number in range(shape.streams)]


def _query(chance: Random, shape: Shape, number: int) -> StandingQuery:
    ticks = shape.tuples // shape.streams
    boxes = 1 + (chance.randint(1, 2) if chance.random() < shape.several else 0)
    begin = chance.randrange(ticks) if chance.random() < shape.timed else None
    lasts = chance.randint(1, ticks) if chance.random() < shape.timed else None
    end = None if lasts is None else (begin or 0) + lasts
    names = stream_names(shape)
    streams = chance.sample(names, min(len(names), chance.randint(1, 3)))
    on_first: Literal["silent", "enter"] = "enter" if chance.random() < shape.sighted else "silent"
    return StandingQuery(
        id=f"q{number}",
        feed=FEED,
        where="drawn as boxes",
        boxes=tuple(_box(chance, shape) for _ in range(boxes)),
        streams=tuple(streams) if chance.random() < shape.named else None,
        within=chance.randint(0, 5) * TICK if chance.random() < shape.within else None,
        on_first=on_first,
        valid_from=None if begin is None else begin * TICK,
        valid_to=None if end is None else end * TICK,
    )


def _box(chance: Random, shape: Shape) -> Box:
    one = chance.randrange(shape.axes)
    return tuple(
        _range(chance, shape) if axis == one or chance.random() < shape.bound else (-inf, inf)
        for axis in range(shape.axes)
    )


def _range(chance: Random, shape: Shape) -> tuple[float, float]:
    low = _on_grid(1.0 if chance.random() < shape.clumped else _anywhere(chance), shape)
    high = low + max(shape.grain, _on_grid(chance.uniform(*shape.widths), shape))
    if chance.random() < shape.endless:
        return (-inf, high) if chance.random() < 0.5 else (low, inf)
    return low, high


def _anywhere(chance: Random) -> float:
    return chance.uniform(-EDGE, EDGE)


def _on_grid(value: float, shape: Shape) -> float:
    return round(value / shape.grain) * shape.grain


def _deliveries(chance: Random, shape: Shape) -> list[FeedDelivery]:
    """Every stream a tuple a tick, some from later on; deliveries are cut from it by time."""
    here = {
        name: [_on_grid(_anywhere(chance), shape) for _ in range(shape.axes)]
        for name in stream_names(shape)
    }
    ticks = shape.tuples // shape.streams
    rows: list[list[Sighting]] = [[] for _ in range(shape.deliveries)]
    for tick in range(ticks):
        for number, (name, at) in enumerate(here.items()):
            if tick < number % 3 * ticks // 4:
                continue
            for axis in range(shape.axes):
                if chance.random() >= shape.still:
                    move = chance.uniform(-shape.stride, shape.stride)
                    at[axis] = min(max(at[axis] + _on_grid(move, shape), -EDGE), EDGE)
            seen = Sighting(name, tick * TICK, tuple(at))
            rows[tick * shape.deliveries // ticks].append(seen)
    return [FeedDelivery(tuple(some)) for some in rows]


def one_axis(*ranges: tuple[float, float], prefix: str = "q") -> QuerySet:
    """A query a range, of all streams: q0, q1, …"""
    queries = [
        StandingQuery(id=f"{prefix}{n}", feed=FEED, where="a range", boxes=((ends,),))
        for n, ends in enumerate(ranges)
    ]
    return QuerySet.from_queries(FEED, ALL_AXES[:1], queries)


def mixed(axes: int = 2, queries: int = 120) -> QuerySet:
    """Queries of every sort."""
    people = crowd(replace(MIXED, axes=axes, queries=queries, bound=0.7))
    return QuerySet.from_queries(FEED, people.axes, people.queries)
