"""Band joins: what an update changes, by name and against NumPy on crowds of bands and streams."""

import numpy as np
import pytest

from fencepost.errors import BrokenIndex, InputError
from fencepost.joins.bands import LEFT, RIGHT, BandChanges, BandPlane, StabbingPartition
from fencepost.joins.bands.points import Points
from fencepost.tuples import Doubles

INF = np.inf


def bands(*ends: tuple[float, float]) -> StabbingPartition:
    low, high = np.array(ends, np.float64).reshape(-1, 2).T
    return StabbingPartition.build(low, high)


def members(*values: float) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(len(values), dtype=np.int32), np.array(values, np.float64)


def moved(plane: BandPlane, side: int, stream: int, value: float | None) -> list[tuple[int, ...]]:
    """The changes of one update as (change, query, left stream, right stream)."""
    found = plane.apply(
        np.array([side], np.int8),
        np.array([stream], np.int32),
        np.array([0.0 if value is None else value]),
        np.array([value is None]),
    )
    columns = (found.change, found.query, found.left_stream, found.right_stream)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_s4_a_symmetric_band_holds_pairs_at_most_a_apart_on_either_side() -> None:
    """J(−a, a) of S4: |r − s| <= a."""
    plane = BandPlane.build(bands((-1, 1), (-2, 2)), None, members(10, 11, 12))
    assert moved(plane, LEFT, 0, 10) == [
        (1, 0, 0, 0), (1, 0, 0, 1), (1, 1, 0, 0), (1, 1, 0, 1), (1, 1, 0, 2),
    ]  # fmt: skip
    assert moved(plane, LEFT, 0, 13) == [
        (-1, 0, 0, 0), (-1, 0, 0, 1), (-1, 1, 0, 0), (1, 0, 0, 2),
    ]  # fmt: skip


def test_s4_one_sided_bands_hold_all_that_lies_on_their_side() -> None:
    """J(−∞, a) and J(a, +∞) of S4."""
    plane = BandPlane.build(bands((-INF, 0), (2, INF)), members(5), members(1, 5, 9))
    found = plane.pairs()
    assert found.query.tolist() == [0, 0, 1]
    assert found.right_stream.tolist() == [1, 2, 0]
    assert moved(plane, RIGHT, 1, 4) == [(-1, 0, 0, 1)]
    assert moved(plane, RIGHT, 1, 3) == [(1, 1, 0, 1)]
    assert moved(plane, LEFT, 0, None) == [(-1, 0, 0, 2), (-1, 1, 0, 0), (-1, 1, 0, 1)]


def test_a_band_without_ends_holds_every_pair_and_loses_none_by_a_move() -> None:
    plane = BandPlane.build(bands((-INF, INF)), members(-1.7e308), members(1.7e308, 0))
    assert len(plane.pairs()) == 2
    assert moved(plane, LEFT, 0, 1.7e308) == []
    assert moved(plane, LEFT, 1, 0.0) == [(1, 0, 1, 0), (1, 0, 1, 1)]


def test_a_difference_beyond_the_doubles_is_in_the_bands_open_there_alone() -> None:
    plane = BandPlane.build(bands((-INF, 0), (-1e308, 0), (0, INF)), None, members(1.7e308))
    assert moved(plane, LEFT, 0, -1.7e308) == [(1, 0, 0, 0)]
    assert moved(plane, LEFT, 0, None) == [(-1, 0, 0, 0)]


def test_both_ends_are_closed() -> None:
    plane = BandPlane.build(bands((1, 2), (2, 3)), None, members(0))
    assert moved(plane, LEFT, 0, 1) == [(1, 0, 0, 0)]
    assert moved(plane, LEFT, 0, 2) == [(1, 1, 0, 0)]
    assert moved(plane, LEFT, 0, 3) == [(-1, 0, 0, 0)]
    assert moved(plane, LEFT, 0, np.nextafter(3, 4)) == [(-1, 1, 0, 0)]


def test_a_pair_is_in_by_the_rounded_difference() -> None:
    """0.3 − 0.1 is 0.19999999999999998 and 0.8 − 0.6 is 0.20000000000000007 in doubles."""
    plane = BandPlane.build(bands((0.2, 0.2), (0.0, 0.2)), members(0.3, 0.8, 0.2), None)
    assert moved(plane, RIGHT, 0, 0.1) == [(1, 1, 0, 0), (1, 1, 2, 0)]
    assert moved(plane, RIGHT, 0, 0.6) == [(-1, 1, 0, 0), (-1, 1, 2, 0)]
    assert moved(plane, RIGHT, 0, 0.0) == [(1, 0, 2, 0), (1, 1, 2, 0)]


def test_a_pair_that_stays_in_is_no_change() -> None:
    plane = BandPlane.build(bands((-5, 5)), members(0), members(1))
    assert moved(plane, LEFT, 0, 3) == []
    assert moved(plane, RIGHT, 0, -2) == []


def test_the_same_value_again_changes_nothing() -> None:
    plane = BandPlane.build(bands((-5, 5), (0, 0)), members(0), members(0))
    assert moved(plane, LEFT, 0, 0.0) == []
    assert moved(plane, LEFT, 0, -0.0) == []
    assert plane.members(LEFT)[1].tolist() == [0.0]


def test_a_stream_that_was_not_there_leaves_without_a_change() -> None:
    plane = BandPlane.build(bands((-5, 5)), members(0), members(0))
    assert moved(plane, LEFT, 7, None) == []
    assert plane.members(LEFT)[0].tolist() == [0]


def test_streams_of_equal_value_are_pairs_of_their_own() -> None:
    plane = BandPlane.build(bands((0, 0)), None, members(*[4.0] * 9))
    assert moved(plane, LEFT, 0, 4) == [(1, 0, 0, stream) for stream in range(9)]
    assert moved(plane, RIGHT, 5, None) == [(-1, 0, 0, 5)]
    assert moved(plane, LEFT, 1, 4) == [(1, 0, 1, s) for s in range(9) if s != 5]


def test_an_empty_side_has_no_pairs() -> None:
    plane = BandPlane.build(bands((-INF, INF), (0, 1)))
    assert moved(plane, LEFT, 0, 1) == []
    assert len(plane.pairs()) == 0
    assert plane.touched(RIGHT, 1.0).tolist() == [0, 1]
    assert plane.touched(LEFT, 1.0).tolist() == []


def test_without_bands_values_move_all_the_same() -> None:
    plane = BandPlane.build(bands(), members(1), members(2))
    assert moved(plane, LEFT, 0, 5) == []
    plane.partition = bands((3, 3))
    assert plane.pairs().left_value.tolist() == [5.0]


def test_a_group_is_told_once_where_a_point_lies_on_its_stabbing_point() -> None:
    """S4's (i, j)-intervals share their ends; ours are half-open."""
    plane = BandPlane.build(bands((-1, 1), (-2, 0), (0, 2)), members(3, 4, 5), None)
    assert plane.touched(RIGHT, 4.0).tolist() == [0, 1, 2]


def test_a_pair_leapt_over_in_one_move_is_no_change() -> None:
    plane = BandPlane.build(bands((-1, 1)), members(-9), members(0))
    assert moved(plane, LEFT, 0, 9) == []


# Crowds


def crowd_of_bands(draw: np.random.Generator, n: int, hotspots: int, scale: int) -> np.ndarray:
    """Bands round hotspots, a third of them open to a side, ends in tenths."""
    centre = draw.integers(-scale, scale + 1, hotspots)[draw.integers(0, hotspots, n)]
    reach = draw.integers(0, 3 * scale, (2, n))
    ends = np.stack([centre - reach[0], centre + reach[1]]) / 10
    kind = draw.integers(0, 12, n)
    ends[0, kind < 2] = -INF
    ends[1, (kind > 0) & (kind < 4)] = INF
    return np.ascontiguousarray(ends)


def dense(ends: Doubles, left: Doubles, right: Doubles) -> np.ndarray:
    """[band, left, right]: who is in; NaN is in nothing."""
    apart = left[:, None] - right[None]
    inside: np.ndarray = (ends[0][:, None, None] <= apart) & (apart <= ends[1][:, None, None])
    return inside


def assert_rows(
    found: BandChanges, at: int, before: np.ndarray, after: np.ndarray, side: int
) -> None:
    rows = found.update == at
    for change, changed in ((-1, before & ~after), (1, after & ~before)):
        query, left, right = np.nonzero(changed)
        order = np.lexsort((right if side == LEFT else left, query))
        mine = rows & (found.change == change)
        assert np.array_equal(found.query[mine], query[order])
        assert np.array_equal(found.left_stream[mine], left[order])
        assert np.array_equal(found.right_stream[mine], right[order])


@pytest.mark.parametrize(("hotspots", "scale", "step"), [(1, 8, 3), (3, 20, 4), (9, 60, 90)])
@pytest.mark.parametrize("leaf", [4, 16])
def test_oracle_crowds_change_as_numpy_says(
    hotspots: int, scale: int, step: int, leaf: int
) -> None:
    """Small steps and wide bands leap over entries; large steps cross the groups' points."""
    draw = np.random.default_rng(hotspots * 31 + leaf)
    m, n = 50, 120
    ends = crowd_of_bands(draw, n, hotspots, scale)
    partition = StabbingPartition.build(*ends)
    now = [draw.integers(-3 * scale, 3 * scale, m) / 10 for _ in range(2)]
    streams = np.arange(m, dtype=np.int32)
    planes = [
        BandPlane(partition, Points.of((streams, now[0]), (streams, now[1]), leaf))
        for _ in range(2)
    ]
    for _ in range(4):
        side, stream = draw.integers(0, 2, 40).astype(np.int8), draw.integers(0, m, 40)
        gone = draw.random(40) < 0.1
        value = np.empty(40)
        at = [each.copy() for each in now]
        for u in range(40):
            old = at[side[u]][stream[u]]
            old = float(draw.integers(-scale, scale)) if np.isnan(old) else old
            value[u] = np.round(old * 10 + draw.integers(-step, step + 1)) / 10
            at[side[u]][stream[u]] = np.nan if gone[u] else value[u]
        given = side, stream.astype(np.int32), value, gone
        found, queries = planes[0].apply(*given), planes[1].affected(*given)
        for u in range(40):
            before = dense(ends, *now)
            now[side[u]][stream[u]] = np.nan if gone[u] else value[u]
            after = dense(ends, *now)
            assert_rows(found, u, before, after, int(side[u]))
            assert np.array_equal(queries.at(u), np.flatnonzero((before != after).any((1, 2))))
        for plane in planes:
            plane.check()
        held = planes[0].pairs()
        assert np.array_equal(np.nonzero(after), (held.query, held.left_stream, held.right_stream))
        touched = dense(ends, np.array([0.3]), now[1]).any((1, 2))
        assert np.array_equal(planes[0].touched(LEFT, 0.3), np.flatnonzero(touched))


def test_results_that_outgrow_the_room_are_all_told() -> None:
    n, m = 300, 40
    low = -np.arange(n, dtype=np.float64)
    plane = BandPlane.build(StabbingPartition.build(low, -low), None, members(*[0.0] * m))
    assert len(moved(plane, LEFT, 0, 0.0)) == n * m
    side, stream = np.zeros(3, np.int8), np.array([1, 0, 1], np.int32)
    leaving = np.array([False, True, True])
    gone = plane.apply(side, stream, np.array([1.0, 0, 0]), leaving)
    assert np.bincount(gone.update).tolist() == [(n - 1) * m, n * m, (n - 1) * m]


# Refusals


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (([2], [0], [0.0], [False]), "a side is 0 for left or 1 for right"),
        (([0], [-1], [0.0], [False]), "stream -1: codes count from 0"),
        (([0], [0], [np.nan], [False]), "the value nan of update 0 is not finite"),
        (([0, 0], [0], [0.0], [False]), "2 sides, 1 streams"),
    ],
)
def test_what_is_no_update_is_refused_and_changes_nothing(
    given: tuple[list[float], ...], told: str
) -> None:
    plane = BandPlane.build(bands((0, 1)), members(1), members(1))
    with pytest.raises(InputError, match=told):
        plane.apply(*(np.array(column) for column in given))
    assert len(plane.pairs()) == 1


def test_what_is_no_set_is_refused() -> None:
    twice = np.array([3, 3], np.int32), np.array([1.0, 2.0])
    with pytest.raises(InputError, match="a stream occurs twice on the right side"):
        BandPlane.build(bands(), None, twice)
    with pytest.raises(InputError, match="stream 0 left has the value inf"):
        BandPlane.build(bands(), members(INF))


def test_check_tells_what_is_broken_in_the_points() -> None:
    plane = BandPlane.build(bands(), members(1, 2, 3), members(5))
    plane.points.leaves.values[plane.points.leaves.order[0, 0], 1] = 9
    with pytest.raises(BrokenIndex, match=r"entry 1 of the left side \(9.0, stream 1\) is out of"):
        plane.check()
    plane = BandPlane.build(bands(), members(1, 2, 3), members(5))
    plane.points.now[0, 2] = 4.0
    with pytest.raises(BrokenIndex, match="the left side's entries are not its streams' values"):
        plane.check()
    plane = BandPlane.build(bands(), members(1, 2, 3), members(5))
    plane.points.leaves.last[0, 0] = 4.0
    with pytest.raises(BrokenIndex, match="the left side's directory has other ends"):
        plane.check()


# The ordered points


def test_leaves_are_given_back_when_streams_leave() -> None:
    plane = BandPlane(bands(), Points.of(members(*range(5000)), members(), leaf=8))
    leaves = len(plane.points.leaves.fill)
    for _ in range(3):
        for gone in (True, False):
            order = np.random.default_rng(1).permutation(5000).astype(np.int32)
            plane.apply(np.zeros(5000, np.int8), order, np.arange(5000.0), np.full(5000, gone))
            plane.check()
            assert len(plane.points) == (0 if gone else 5000)
    assert len(plane.points.leaves.fill) < 2 * leaves


def test_a_few_streams_per_leaf_never_stay_behind() -> None:
    """Leaves below a quarter join their neighbours, so memory follows the streams."""
    many = np.arange(4096, dtype=np.int32)
    plane = BandPlane(bands(), Points.of(members(*range(4096)), members(), leaf=16))
    leaving = many[many % 32 > 0]
    n = len(leaving)
    plane.apply(np.zeros(n, np.int8), leaving, np.zeros(n), np.ones(n, np.bool_))
    plane.check()
    assert len(plane.points) == 128
    assert plane.points.leaves.tally[LEFT] <= 3 * 128 // 4
