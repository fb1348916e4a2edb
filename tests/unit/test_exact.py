"""Regions that are no boxes: comparisons of axes, and convex polygons."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InputError
from fencepost.matches import KINDS, Boxes, ConvexPolygons, Regions

TRIANGLE = ((0.0, 0.0), (4.0, 0.0), (0.0, 4.0))
SQUARE = ((1.0, 1.0), (3.0, 1.0), (3.0, 3.0), (1.0, 3.0))


def polygons(*shapes: tuple[tuple[float, float], ...]) -> ConvexPolygons:
    ptr = np.cumsum([0, *(len(shape) for shape in shapes)])
    corners = np.array([corner for shape in shapes for corner in shape]).reshape(-1, 2)
    return ConvexPolygons(ptr, corners[:, 0].copy(), corners[:, 1].copy())


def scaled(shape: tuple[tuple[float, float], ...], size: float) -> tuple[tuple[float, float], ...]:
    return tuple((x * size, y * size) for x, y in shape)


def inside(shape: tuple[tuple[float, float], ...], x: float, y: float) -> bool:
    """To the right of no edge, edge by edge."""
    edges = zip(shape, shape[1:] + shape[:1], strict=True)
    return all((bx - ax) * (y - ay) - (by - ay) * (x - ax) >= 0 for (ax, ay), (bx, by) in edges)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.axes in (None, 2)])
def test_oracle_polygons_are_found_through_their_boxes_by_every_index(name):
    shapes = (TRIANGLE, SQUARE, ((2.0, -1.0), (5.0, 2.0), (2.0, 5.0), (-1.0, 2.0)))
    exact = polygons(*shapes)
    regions = Regions.build(exact.boxes, name, exact=exact)
    points = np.array([[x / 2, y / 2] for x in range(-3, 12) for y in range(-3, 12)]).T.copy()
    found = regions.probe(points).in_order()
    for place, (x, y) in enumerate(points.T.tolist()):
        assert found.at(place).tolist() == [k for k, s in enumerate(shapes) if inside(s, x, y)]


def test_the_border_and_the_corners_belong_to_a_polygon():
    exact = polygons(TRIANGLE)
    regions = Regions.build(exact.boxes, "scan", exact=exact)
    out = np.nextafter(2.0, 3.0)
    points = np.array([[0.0, 4.0, 0.0, 2.0, 2.0, out], [0.0, 0.0, 4.0, 0.0, 2.0, 2.0]])
    assert regions.probe(points).counts.tolist() == [1, 1, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        (((0.0, 0.0), (1.0, 1.0)), "2 corners, three or more"),
        (((0.0, 0.0), (0.0, 4.0), (4.0, 0.0)), "not convex, or its corners do not run against"),
        (((0.0, 0.0), (4.0, 0.0), (1.0, 1.0), (0.0, 4.0)), "not convex"),
        (((0.0, 0.0), (4.0, 0.0), (8.0, 0.0)), "not convex"),
        (((0.0, 0.0), (np.inf, 0.0), (0.0, 4.0)), "no finite number"),
        (((0.0, 0.0), (np.nan, 0.0), (0.0, 4.0)), "no finite number"),
        (((0.0, 0.0), (4.0, 0.0), (4.0, 0.0), (0.0, 4.0)), r"edge of length 0 from \(4, 0\)"),
    ],
)
def test_what_is_no_convex_polygon_is_refused(shape, why):
    with pytest.raises(InputError, match=why):
        polygons(shape)


@pytest.mark.parametrize(
    ("size", "why"),
    [
        (1e160, r"polygon 1 has a corner at \(4e\+160, 0\), coordinates from -1e\+150 to 1e\+150"),
        (-4e307, r"polygon 1 has a corner at \(-1\.6e\+308, -0\), coordinates"),
        (2e-162, r"polygon 1 has an edge of length 8e-162 from .*, 1e-150 at least expected"),
        (5e-324, r"polygon 1 has an edge of length 1\.97626e-323"),
    ],
)
def test_a_polygon_too_large_or_too_small_for_doubles_is_refused(size, why):
    with pytest.raises(InputError, match=why):
        polygons(TRIANGLE, scaled(TRIANGLE, size))


@pytest.mark.parametrize("power", [-490, 490])
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.axes in (None, 2)])
def test_a_polygon_near_the_limits_holds_what_it_held_at_its_own_size(name, power):
    """A power of two scales without rounding; far points are held by nobody, and no warning."""
    shapes, size = (TRIANGLE, SQUARE), 2.0**power
    exact = polygons(*(scaled(shape, size) for shape in shapes))
    regions = Regions.build(exact.boxes, name, exact=exact)
    points = np.array([[x / 2, y / 2] for x in range(-3, 10) for y in range(-3, 10)]).T
    far = np.array([[1e300, -1e300, 1e300], [1e300, 0.0, -1.7e308]])
    found = regions.probe(np.concatenate([points * size, far], axis=1)).in_order()
    for place, (x, y) in enumerate(points.T.tolist()):
        assert found.at(place).tolist() == [k for k, s in enumerate(shapes) if inside(s, x, y)]
    assert found.counts[-3:].tolist() == [0, 0, 0]


def test_a_star_that_turns_left_all_the_way_is_no_polygon():
    turns = [np.pi / 2 + k * 4 * np.pi / 5 for k in range(5)]
    star = tuple((float(np.cos(t)), float(np.sin(t))) for t in turns)
    with pytest.raises(InputError, match="not convex"):
        polygons(star)


def test_a_region_needs_as_many_tests_as_there_are_boxes():
    exact = polygons(TRIANGLE)
    with pytest.raises(InputError, match="2 boxes, but 1"):
        Regions.build(Boxes.of(np.zeros((2, 2)), np.ones((2, 2))), "scan", exact=exact)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8))
def test_a_query_of_several_boxes_is_found_once(owners):
    """Boxes that lie on one another, of the same queries and of others."""
    boxes = Boxes.of(np.zeros((1, len(owners))), np.ones((1, len(owners))))
    regions = Regions.build(boxes, "scan", query=np.array(owners, np.int32))
    found = regions.probe(np.array([[0.5, 2.0]])).in_order()
    assert found.at(0).tolist() == sorted(set(owners))
    assert found.at(1).tolist() == []
