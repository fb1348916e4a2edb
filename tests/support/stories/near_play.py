"""Near joins played by hand: every pair measured after every update, beside what a plane reports.

Law: positions come from coarse grids, and distances are those between points of them, so that the
closed end occurs in every few examples; on the earth the grids lie about the antimeridian, a pole
and a city.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from fencepost.joins.near import JoinCover, NearPairs, NearPlane
from fencepost.reference.near import Place, apart, near_pairs

STREAMS = 6
NAMES = [f"s{code}" for code in range(STREAMS)]


class Update(NamedTuple):
    side: int
    stream: int
    place: Place
    gone: bool


class Near(NamedTuple):
    """A join: how near, and which streams of either side; None: all."""

    distance: float
    left: tuple[int, ...] | None = None
    right: tuple[int, ...] | None = None


class Ground(NamedTuple):
    """A place to play: whether it is the earth, one feed or two, and the coarse grid."""

    earth: bool
    one: bool
    grid: tuple[Place, ...]


def grid(x: float, y: float, step: float) -> tuple[Place, ...]:
    return tuple((x + i * step, y + j * step) for i in range(-2, 3) for j in range(-2, 3))


def turned(places: Sequence[Place]) -> tuple[Place, ...]:
    return tuple((lon - 360.0 if lon > 180.0 else lon, lat) for lon, lat in places)


PLANES = (grid(0.0, 0.0, 1.0), grid(1e9, -3.0, 0.1), grid(0.0, 0.0, 1e200))
EARTHS = (
    turned(grid(180.0, 60.0, 0.001)),
    grid(180.0, 60.0, 0.001),
    grid(116.3, 39.9, 0.002),
    tuple((lon, 90.0 - up) for lon in (-180.0, -90.0, 0.0, 10.0, 180.0) for up in (0, 1, 0.5)),
    tuple((lon, lat) for lon in (-170.0, -60.0, 20.0, 350.0, 400.0) for lat in (-88, 5, 45, 91)),
)
GROUNDS = st.one_of(
    st.builds(Ground, st.just(False), st.booleans(), st.sampled_from(PLANES)),
    st.builds(Ground, st.just(True), st.booleans(), st.sampled_from(EARTHS)),
)
NAMED = st.none() | st.lists(st.integers(0, STREAMS - 1), max_size=3).map(tuple)


def distances(ground: Ground) -> st.SearchStrategy[float]:
    pairs = st.tuples(st.sampled_from(ground.grid), st.sampled_from(ground.grid))
    exact = pairs.map(lambda pair: apart(*pair, earth=ground.earth))
    return exact.filter(np.isfinite).map(lambda length: length or 1.0)


def nears(ground: Ground) -> st.SearchStrategy[Near]:
    return st.builds(Near, distances(ground), NAMED, NAMED)


def updates(ground: Ground) -> st.SearchStrategy[Update]:
    sides = st.just(0) if ground.one else st.integers(0, 1)
    gone = st.sampled_from([False, False, False, True])
    return st.builds(Update, sides, st.integers(0, STREAMS - 1), st.sampled_from(ground.grid), gone)


Pair = tuple[int, int, int]
"""Join, left and right stream; of one feed the lower one left."""


class Plain:
    """Where everybody is, and every pair that is in."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.sides: tuple[dict[str, Place], dict[str, Place]] = ({}, {})

    def take(self, update: Update) -> None:
        side = self.sides[update.side]
        side.pop(NAMES[update.stream], None)
        if not update.gone:
            side[NAMES[update.stream]] = update.place

    def pairs(self, joins: Sequence[Near]) -> dict[Pair, float]:
        found = {}
        for row, join in enumerate(joins):
            right = None if self.ground.one else self.sides[1]
            near = near_pairs(self.sides[0], right, join.distance, earth=self.ground.earth)
            for (a, b), length in near.items():
                left, other = NAMES.index(a), NAMES.index(b)
                if asks(join, left, other) or (self.ground.one and asks(join, other, left)):
                    found[row, left, other] = length
        return found


def asks(join: Near, left: int, right: int) -> bool:
    return (join.left is None or left in join.left) and (join.right is None or right in join.right)


def cover_of(ground: Ground, joins: Sequence[Near]) -> JoinCover:
    named = [(codes(join.left), codes(join.right)) for join in joins]
    lengths = np.array([join.distance for join in joins], np.float64)
    return JoinCover.of(lengths, STREAMS, named, one=ground.one)


def codes(streams: tuple[int, ...] | None) -> np.ndarray | None:
    return None if streams is None else np.array(streams, np.int32)


def plane_of(ground: Ground, joins: Sequence[Near]) -> NearPlane:
    return NearPlane.build(cover_of(ground, joins), earth=ground.earth)


def applied(plane: NearPlane, given: Sequence[Update]) -> list[tuple[int, int, Pair, float]]:
    """The changes as (update, change, pair, distance), sorted."""
    found = plane.apply(
        np.array([update.side for update in given], np.int8),
        np.array([update.stream for update in given], np.int32),
        np.array([update.place[0] for update in given], np.float64),
        np.array([update.place[1] for update in given], np.float64),
        np.array([update.gone for update in given], np.bool_),
    )
    assert (np.diff(found.update) >= 0).all()
    rows = zip(
        found.update.tolist(),
        found.change.tolist(),
        listed(found.pairs, one=plane.cover.one),
        found.pairs.distance.tolist(),
        strict=True,
    )
    return sorted(rows)


def listed(pairs: NearPairs, *, one: bool) -> list[Pair]:
    left, right = pairs.left, pairs.right
    if one:
        left, right = np.minimum(left, right), np.maximum(left, right)
    return list(zip(pairs.row.tolist(), left.tolist(), right.tolist(), strict=True))


def played(
    plain: Plain, joins: Sequence[Near], given: Sequence[Update]
) -> list[tuple[int, int, Pair, float]]:
    """What the updates change, by measuring every pair before and after each; sorted."""
    rows = []
    before = plain.pairs(joins)
    for number, update in enumerate(given):
        plain.take(update)
        after = plain.pairs(joins)
        rows += [(number, -1, pair, before[pair]) for pair in before.keys() - after.keys()]
        rows += [(number, 1, pair, after[pair]) for pair in after.keys() - before.keys()]
        before = after
    return sorted(rows)
