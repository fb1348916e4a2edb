"""Near joins by name: the closed end, the antimeridian, poles, named streams, one feed."""

import numpy as np
import pytest
from numba import njit

from fencepost.errors import BrokenIndex
from fencepost.joins.near import JoinCover, NearPlane
from fencepost.joins.near.block_kernels import FAR, changed
from fencepost.reference.near import Place, apart
from fencepost.simd import U

LEFT, RIGHT = 0, 1


def plane(*distances: float, earth: bool = False, one: bool = False) -> NearPlane:
    return NearPlane.build(JoinCover.of(np.array(distances), 8, one=one), earth=earth)


def moved(
    into: NearPlane, side: int, stream: int, place: Place | None
) -> list[tuple[int, int, int, int]]:
    """The changes of one update as (change, join, left stream, right stream)."""
    x, y = place or (np.nan, np.nan)
    found = into.apply(
        np.array([side], np.int8),
        np.array([stream], np.int32),
        np.array([x]),
        np.array([y]),
        np.array([place is None]),
    )
    columns = (found.change, found.pairs.row, found.pairs.left, found.pairs.right)
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def test_at_the_very_distance_two_are_near_and_a_step_beyond_they_are_not() -> None:
    here = plane(5.0)
    assert moved(here, LEFT, 0, (0.0, 0.0)) == []
    assert moved(here, RIGHT, 3, (3.0, 4.0)) == [(1, 0, 0, 3)]
    assert moved(here, RIGHT, 3, (3.0, np.nextafter(4.0, 5.0))) == [(-1, 0, 0, 3)]
    assert moved(here, RIGHT, 3, (0.0, 0.0)) == [(1, 0, 0, 3)]
    assert moved(here, LEFT, 0, None) == [(-1, 0, 0, 3)]
    assert moved(here, LEFT, 0, None) == []


def test_a_pair_that_stays_near_is_no_change_and_leaves_with_the_distance_it_had() -> None:
    here = plane(5.0)
    moved(here, LEFT, 0, (0.0, 0.0))
    moved(here, RIGHT, 0, (1.0, 0.0))
    assert moved(here, RIGHT, 0, (2.0, 0.0)) == []
    found = here.apply(
        np.zeros(1, np.int8) + 1, np.zeros(1, np.int32), np.array([9.0]), np.array([0.0]),
        np.zeros(1, np.bool_),
    )  # fmt: skip
    assert (found.change.tolist(), found.pairs.distance.tolist()) == ([-1], [2.0])
    assert found.pairs.left_at.T.tolist() == [[0.0, 0.0]]
    assert found.pairs.right_at.T.tolist() == [[2.0, 0.0]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((179.9999, 10.0), (-179.9999, 10.0)),
        ((180.0, 10.0), (-180.0, 10.0)),
        ((350.0, 10.0), (-10.0, 10.0)),
        ((360.0, 10.0), (-360.0, 10.0)),
        ((0.0, 89.9999), (180.0, 89.9999)),
        ((77.0, -90.0), (-33.0, -90.0)),
    ],
)
def test_nobody_is_far_for_the_numbers_of_his_place(one: Place, other: Place) -> None:
    assert apart(one, other, earth=True) < 50.0
    here = plane(50.0, earth=True)
    moved(here, LEFT, 0, one)
    assert moved(here, RIGHT, 1, other) == [(1, 0, 0, 1)]


def test_places_off_the_earth_are_near_nothing() -> None:
    here = plane(3e7, earth=True, one=True)
    moved(here, LEFT, 0, (0.0, 0.0))
    assert moved(here, LEFT, 1, (0.0, 90.1)) == []
    assert moved(here, LEFT, 1, (361.0, 0.0)) == []
    assert moved(here, LEFT, 1, (360.0, 90.0)) == [(1, 0, 1, 0)]
    assert moved(here, LEFT, 1, (0.0, 91.0)) == [(-1, 0, 1, 0)]


def test_of_one_feed_a_pair_is_in_once_and_nobody_is_near_himself() -> None:
    here = plane(1.0, one=True)
    for stream in range(3):
        moved(here, LEFT, stream, (0.0, 0.0))
    pairs = here.pairs()
    assert sorted(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)) == [
        (0, 1), (0, 2), (1, 2),
    ]  # fmt: skip


def test_of_one_feed_a_join_that_names_streams_by_side_takes_them_either_way_round() -> None:
    named = [(np.array([2]), None), (np.array([0, 1]), np.array([2])), (None, np.array([7]))]
    here = NearPlane.build(JoinCover.of(np.full(3, 1.0), 8, named, one=True), earth=False)
    moved(here, LEFT, 0, (0.0, 0.0))
    assert moved(here, LEFT, 1, (0.0, 0.0)) == []
    assert {row[:2] for row in moved(here, LEFT, 2, (0.0, 0.0))} == {(1, 0), (1, 1)}
    assert len(here.pairs()) == 4


def test_lists_that_are_not_those_of_the_positions_are_found() -> None:
    here = plane(1.0)
    for stream in range(4):
        moved(here, LEFT, stream, (float(stream % 2), 0.0))
    here.check()
    here.cells.movers["x"][LEFT, 1] = 5.0
    with pytest.raises(BrokenIndex, match="not those of its streams"):
        here.check()
    here.cells.movers["x"][LEFT, 1] = 1.0
    here.cells.movers["at"][LEFT, 1] += 1
    with pytest.raises(BrokenIndex, match="stands elsewhere"):
        here.check()


@njit
def _changed(places, at, x, y, to_x, to_y, weight, within, beyond):
    return changed(places, at, x, y, to_x, to_y, weight, within, beyond)


@pytest.mark.parametrize("seed", range(20))
def test_a_block_is_compared_as_its_plain_function_has_it(seed: int) -> None:
    draw = np.random.default_rng(seed)
    places = draw.integers(0, 4, 48).astype(np.float32)
    places[draw.random(48) < 0.2] = FAR
    numbers = draw.integers(0, 4, 4).astype(np.float32)
    limits = np.sort(draw.integers(0, 8, 2)).astype(np.float32)
    given = (places, U(16), *numbers, np.float32(0.5), *limits)
    mask = _changed(*given)
    assert mask == _changed.py_func(*given)
    assert mask < 1 << 8


def test_a_crowd_in_one_cell_comes_and_goes_in_any_order() -> None:
    draw = np.random.default_rng(5)
    many = 60
    here = NearPlane.build(JoinCover.of(np.array([1.0]), many, one=True), earth=False)
    for _ in range(6):
        stream = draw.permutation(many).astype(np.int32)
        gone = draw.random(many) < 0.5
        here.apply(np.zeros(many, np.int8), stream, np.full(many, 0.5), np.full(many, 0.5), gone)
        here.check()
        there = many - int(gone.sum())
        assert len(here.pairs()) == there * (there - 1) // 2
