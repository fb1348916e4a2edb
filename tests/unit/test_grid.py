"""The grid: levels of cells, who covers a cell, who reaches into it, and what memory they take."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fencepost.errors import BrokenIndex, InputError
from fencepost.matches import Boxes, ProbeResult
from fencepost.matches.grid import Grid
from fencepost.matches.scan import Scan
from fencepost.tuples import Doubles

Array = npt.NDArray[Any]
INF = np.inf
SIZES = {"small": 0.01, "middling": 0.2, "large": 3.0}


def changed(array: Array, place: int | tuple[int, ...], value: float) -> Array:
    """A copy with one entry changed."""
    copy = array.copy()
    copy[place] = value
    return copy


def crowd(seed: int, many: int, widest: float, digits: int) -> tuple[Boxes, Doubles]:
    """Boxes of all shapes, most in one place, some without end; and points on their corners."""
    rng = np.random.default_rng(seed)
    there = rng.random(many) < 0.9
    lo = np.where(there, rng.normal(0, 0.1, (2, many)), rng.normal(0, 10, (2, many)))
    lo = np.round(lo * 1000, digits)
    hi = lo + np.maximum(
        np.round(1000 * widest * rng.random((2, many)) ** 3, digits), 10.0**-digits
    )
    lo[rng.random((2, many)) < 0.01] = -INF
    hi[rng.random((2, many)) < 0.01] = INF
    ends = np.concatenate((lo, hi), axis=1)
    ends = np.where(np.isfinite(ends), ends, 0.0)
    points = np.stack([rng.choice(axis, 500) for axis in ends])
    below, above = np.nextafter(points, -INF), points + 0.5
    return Boxes.of(lo, hi), np.concatenate((points, below, above), axis=1)


def assert_same(found: ProbeResult, expected: ProbeResult) -> None:
    """Both found the same."""
    found, expected = found.in_order(), expected.in_order()
    np.testing.assert_array_equal(found.ptr, expected.ptr)
    np.testing.assert_array_equal(found.ids, expected.ids)


def test_three_boxes_hold_what_their_bounds_say() -> None:
    """S2 Fig. 8: d1 lies in none of the rectangles, d2 in q1, d3 in q2."""
    lo = np.array([[3, 10, -INF], [3, 8, 20]], np.float64)
    hi = np.array([[14, 16, INF], [9, 12, INF]], np.float64)
    grid = Grid.build(Boxes.of(lo, hi))
    grid.check()
    found = grid.probe(np.array([[1, 4, 15, 12, 14, 9e9], [1, 4, 11, 8.5, 8, 1e300]])).in_order()
    held = [found.at(point).tolist() for point in range(len(found))]
    assert held == [[], [0], [1], [0, 1], [1], [2]]


@pytest.mark.parametrize("bytes_a_box", [64, None, 4000])
@pytest.mark.parametrize("digits", [0, 2])
@pytest.mark.parametrize("widest", SIZES.values(), ids=SIZES)
def test_any_cells_find_the_same(widest: float, digits: int, bytes_a_box: int | None) -> None:
    boxes, points = crowd(5, 2000, widest, digits)
    grid = Grid.build(boxes, bytes_a_box=bytes_a_box)
    grid.check()
    assert grid.whole == (digits == 0)
    assert_same(grid.probe(points), Scan.build(boxes).probe(points))


def test_whole_bounds_leave_nothing_open_where_steps_are_fine() -> None:
    """S2's setting: the boxes' own bounds are never asked, so wrong ones change nothing."""
    rng = np.random.default_rng(2)
    lo = rng.integers(0, (300, 200), (3000, 2)).T.astype(np.float64)
    boxes = Boxes.of(lo, lo + rng.integers(1, 21, (2, 3000)))
    grid = Grid.build(boxes)
    assert grid.levels[:, 7].all()
    points: Doubles = np.concatenate(
        (rng.integers(-5, 330, (2, 400)) / 1, rng.uniform(-5, 330, (2, 400))), axis=1
    )
    nowhere = Boxes(np.full_like(boxes.lo, INF), boxes.hi)
    expected = Scan.build(boxes).probe(points)
    assert_same(replace(grid, boxes=nowhere).probe(points), expected)


def test_bounds_that_share_a_step_are_told_apart_by_their_values() -> None:
    lo = np.array([[0.0, 1.0, np.nextafter(1, 2)], [0, 0, 0]])
    hi = np.array([[1.0, 1e9, 1e9], [1, 1, 1]])
    grid = Grid.build(Boxes.of(lo, hi))
    found = grid.probe(np.array([[np.nextafter(1, 0), 1, np.nextafter(1, 2)], [0, 0.5, 0.5]]))
    assert [found.at(i).tolist() for i in range(3)] == [[0], [1], [1, 2]]


def test_boxes_of_very_different_shapes_stand_on_levels_of_their_own() -> None:
    rng = np.random.default_rng(4)
    lo = rng.random((2, 40_000))
    wide = np.arange(40_000) % 2 == 0
    sides = np.stack((np.where(wide, 0.5, 0.001), np.where(wide, 0.001, 0.5)))
    grid = Grid.build(Boxes.of(lo, lo + sides))
    grid.check()
    across, up = grid.levels[:, 4], grid.levels[:, 5]
    assert (across > 8 * up).any()
    assert (up > 8 * across).any()


@pytest.mark.parametrize("widest", SIZES.values(), ids=SIZES)
def test_the_grid_keeps_within_its_memory(widest: float) -> None:
    boxes, _ = crowd(6, 50_000, widest, 3)
    for given, most in ((None, 150), (90, 90), (64, 64)):
        assert Grid.build(boxes, bytes_a_box=given).nbytes <= 1.1 * most * len(boxes)


def test_no_box_and_no_point_find_nothing() -> None:
    none = Grid.build(Boxes.of(np.empty((2, 0)), np.empty((2, 0))))
    none.check()
    assert len(none.probe(np.ones((2, 3))).ids) == 0
    one = Grid.build(Boxes.of(np.zeros((2, 1)), np.ones((2, 1))))
    assert len(one.probe(np.empty((2, 0)))) == 0


def test_a_box_over_everything_is_copied_not_tested() -> None:
    grid = Grid.build(Boxes.of(np.full((2, 1), -INF), np.full((2, 1), INF)))
    assert "0 times one reaches into a cell, 1 times it covers one" in grid.describe()
    assert grid.probe(np.array([[1e308, -1e308], [0, 5]])).ids.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cells": 3}, "'grid' has no parameter 'cells'; it has: bytes_a_box"),
        ({"bytes_a_box": 10}, "bytes_a_box is 10, expected a number from 64 to 65,536"),
        ({"bytes_a_box": "many"}, "bytes_a_box is 'many', expected a number"),
    ],
)
def test_a_parameter_it_cannot_take_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Grid.build(Boxes.of(np.zeros((2, 1)), np.ones((2, 1))), **parameters)


def test_a_grid_has_two_axes() -> None:
    with pytest.raises(InputError, match="for 2 axes, the boxes have 3"):
        Grid.build(Boxes.of(np.zeros((3, 3)), np.ones((3, 3))))


BROKEN: dict[str, tuple[Callable[[Grid], Grid], str]] = {
    "lists that do not begin": (
        lambda x: replace(x, cells=changed(x.cells, (0, 0), 1)),
        "the cells' lists do not add up",
    ),
    "lists of another length": (
        lambda x: replace(x, cells=changed(x.cells, (7, 0), int(x.cells[8, 0]))),
        "the cells' lists are not what the boxes say",
    ),
    "other steps": (
        lambda x: replace(x, words=changed(x.words, 9, 0)),
        "the steps are not what the boxes say",
    ),
    "another box that reaches in": (
        lambda x: replace(x, reaching=changed(x.reaching, 9, 0)),
        "who reaches in are not what",
    ),
    "another box that covers": (
        lambda x: replace(x, covering=changed(x.covering, 9, 0)),
        "who covers are not what",
    ),
    "a box in no cell": (
        lambda x: replace(x, reaching=x.reaching * 0, covering=x.covering * 0),
        "box 1 is in no cell",
    ),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_check_tells_what_is_broken(broken: str) -> None:
    corner = np.stack(np.divmod(np.arange(400.0), 20))
    grid = Grid.build(Boxes.of(corner + 0.5, corner + 8.25), bytes_a_box=2000)
    grid.check()
    harm, message = BROKEN[broken]
    with pytest.raises(BrokenIndex, match=message):
        harm(grid).check()
