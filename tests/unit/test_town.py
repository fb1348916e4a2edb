"""The invented town and who moves in it, against what S1 says of its moving objects and squares."""

import heapq
from dataclasses import replace

import numpy as np
import pyarrow.compute as pc
import pytest

from fencepost.errors import BrokenIndex
from fencepost.queries import QuerySet
from fencepost.tuples import TupleBatch
from pipelines.workloads import Garages, MovingObjects, RoadNetwork, Squares, speed_figures, town

SECOND = 1_000_000
MINUTE = 60 * SECOND


@pytest.fixture(scope="module")
def roads() -> RoadNetwork:
    return town(1)


@pytest.fixture(scope="module")
def moves(roads: RoadNetwork) -> TupleBatch:
    return MovingObjects().tuples(roads)


def of_stream(tuples: TupleBatch, stream: int) -> TupleBatch:
    return tuples.take(tuples.stream == stream)


# --- the town


@pytest.mark.parametrize("seed", range(12))
def test_every_crossing_is_reached_and_no_two_roads_cross_elsewhere(seed):
    town(seed).check()


def test_a_town_has_two_kinds_of_roads_and_fills_its_map(roads):
    assert set(roads.limit) == {40.0, 60.0}
    assert len(roads.x) <= 600
    assert len(roads.begin) > len(roads.x)
    for at in (roads.x, roads.y):
        assert at.max() - at.min() == pytest.approx(0.97 * 15_000)


def test_check_tells_what_is_wrong_with_a_town(roads):
    most = len(roads.begin) // 2
    parted = replace(roads, begin=roads.begin[:most], end=roads.end[:most])
    with pytest.raises(BrokenIndex, match=r"fall into \d+ parts"):
        parted.check()
    with pytest.raises(BrokenIndex, match=r"y runs from .* off the map"):
        replace(roads, y=roads.y - 1_000.0).check()
    x = roads.x.copy()
    x[[100, 300]] = x[[300, 100]]
    with pytest.raises(BrokenIndex, match=r"roads \d+ and \d+ cross"):
        replace(roads, x=x).check()


def test_oracle_routes_are_as_short_as_dijkstras(roads):
    leads, road = roads.arms
    turn = roads.routes(roads.length)
    for source in (0, 200, 575):
        least = dijkstra(roads, source)
        for goal in range(0, 576, 5):
            here, way = goal, 0.0  # from the goal back: all roads are two-way
            while here != source:
                arm = turn[here, source]
                way += roads.length[road[here, arm]]
                here = int(leads[here, arm])
            assert way == pytest.approx(least[goal])


def dijkstra(roads: RoadNetwork, source: int) -> list[float]:
    beside: list[list[tuple[int, float]]] = [[] for _ in roads.x]
    for a, b, length in zip(roads.begin, roads.end, roads.length, strict=True):
        beside[a].append((int(b), length))
        beside[b].append((int(a), length))
    least = [float("inf")] * len(beside)
    waiting = [(0.0, source)]
    while waiting:
        far, here = heapq.heappop(waiting)
        if far < least[here]:
            least[here] = far
            for there, length in beside[here]:
                heapq.heappush(waiting, (far + length, there))
    return least


# --- moving objects


def test_each_class_has_the_mean_and_the_highest_speed_of_s1(moves):
    made = speed_figures(moves)
    assert made["vehicle"] == pytest.approx((20.0, 60.0), rel=0.1)
    assert made["walker"] == pytest.approx((4.3, 12.0), rel=0.1)


def test_nobody_is_faster_than_the_class_allows(moves):
    slow = pc.starts_with(moves.names, "walker").to_numpy(zero_copy_only=False)[moves.stream]
    speed = moves.values[2]
    assert (speed <= np.where(slow, 12.0, 60.0)).all()
    assert (speed >= 0.0).all()


def test_every_position_lies_on_a_road(roads, moves):
    x, y, _ = moves.values[:, ::23]
    ax, ay = roads.x[roads.begin], roads.y[roads.begin]
    dx, dy = roads.x[roads.end] - ax, roads.y[roads.end] - ay
    along = ((x[:, None] - ax) * dx + (y[:, None] - ay) * dy) / (dx * dx + dy * dy)
    along = np.clip(along, 0.0, 1.0)
    away = np.hypot(ax + along * dx - x[:, None], ay + along * dy - y[:, None])
    assert away.min(axis=1).max() < 1e-6


def test_the_straight_way_between_two_updates_is_no_longer_than_the_speed_says(moves):
    for stream in range(0, 1_000, 50):
        x, y, speed = of_stream(moves, stream).values
        straight = np.hypot(np.diff(x), np.diff(y))
        assert (straight <= speed[1:] / 3.6 * 30 + 1e-6).all()
        assert straight.max() > 0


def test_each_object_has_an_update_every_thirty_seconds_and_all_stand_in_time_order(moves):
    assert (np.diff(moves.ts) >= 0).all()
    assert np.bincount(moves.stream).tolist() == [100] * 1_000
    for stream in range(0, 1_000, 50):
        assert set(np.diff(of_stream(moves, stream).ts)) == {30 * SECOND}
    assert len(np.unique(moves.ts[:1_000])) > 900


def test_objects_without_a_speed_axis_move_the_same(roads):
    few = MovingObjects(objects=20, updates=10)
    bare = replace(few, speed=False).tuples(roads)
    assert bare.axes == ("x", "y")
    assert np.array_equal(bare.values, few.tuples(roads).values[:2])


def test_a_longer_journey_begins_with_the_shorter_one(roads):
    few = MovingObjects(objects=20, updates=10)
    longer = replace(few, updates=15).tuples(roads)
    assert np.array_equal(longer.values[:, :200], few.tuples(roads).values)


def test_who_parks_in_a_garage_stands_in_it(roads):
    plan = MovingObjects(objects=100, updates=200, fast=1.0, parked=10 * MINUTE)
    tuples = plan.tuples(roads)
    garages = Garages(count=576).table(roads).to_pydict()
    lo = np.array([garages["x_lo"], garages["y_lo"]])[:, None]
    hi = np.array([garages["x_hi"], garages["y_hi"]])[:, None]
    stays = 0
    for stream in range(20):
        x, y, speed = of_stream(tuples, stream).values
        parked = np.array([x, y])[:, speed == 0.0, None]
        inside = ((lo <= parked) & (parked < hi)).all(axis=0)
        assert (inside.sum(axis=1) == 1).all()
        stays += len(parked[0])
    assert stays > 100
    assert speed_figures(tuples)["vehicle"].mean < 20.0


# --- squares and garages


@pytest.mark.parametrize("centres", ["uniform", "normal"])
def test_squares_are_square_and_their_middles_lie_on_the_map(centres):
    table = Squares(count=3_000, width=500, widest=5_000, centres=centres).table()
    queries = QuerySet.from_table("locations", ("x", "y", "speed"), table)
    width = queries.hi[:2] - queries.lo[:2]
    assert width[0] == pytest.approx(width[1])
    assert (width.min(), width.max()) == pytest.approx((500, 5_000), rel=0.01)
    middle = queries.lo[:2] + width / 2
    assert middle.min() >= 0.0
    assert middle.max() <= 15_000.0
    deviation = 15_000 / 6 if centres == "normal" else 15_000 / 12**0.5
    assert middle.std(axis=1) == pytest.approx([deviation] * 2, rel=0.05)


def test_garages_stand_at_crossings_of_their_own_and_then_along_the_roads(roads):
    table = Garages(count=700).table(roads)
    middle = np.array([table[f"{a}_lo"].to_numpy() + 15.0 for a in "xy"])
    at = np.array([roads.x, roads.y])
    away = np.abs(middle[:, :576, None] - at[:, None]).max(axis=0)
    assert sorted(away.argmin(axis=1)) == list(range(576))
    assert away.min(axis=1).max() < 1e-6
    assert table["x_hi"].to_numpy() - table["x_lo"].to_numpy() == pytest.approx([30.0] * 700)
    assert set(table["within"].to_pylist()) == {3 * MINUTE}
    assert len(QuerySet.from_table("locations", ("x", "y"), table)) == 700
