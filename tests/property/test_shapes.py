"""A shape holds what its law says: on coarse grids, where points lie on vertices and edges."""

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fencepost.reference import shapes as reference
from fencepost.shapes.columns import Shapes
from fencepost.shapes.earth import RADIUS, haversine
from fencepost.shapes.holds import holds
from fencepost.shapes.orientation_kernels import orientation
from fencepost.shapes.prepare import prepared
from fencepost.shapes.shape import CIRCLE, CORRIDOR, POLYGON, Point, Ring, Shape

GRID = 6
DEGREE = RADIUS * math.radians(1)
corners = st.tuples(st.integers(0, GRID), st.integers(0, GRID)).map(
    lambda at: (float(at[0]), float(at[1]))
)
rings = st.lists(corners, min_size=3, max_size=24).map(tuple)
parts = st.lists(rings, min_size=1, max_size=3).map(tuple)
polygons = st.lists(parts, min_size=1, max_size=3).map(tuple)
reaches = st.sampled_from([0.5, 1.0, 1.5, math.sqrt(2), 2.5])
NEAR_A_CORNER = (2.0**-20, 2.0**-31)
"""To the right and, by much less, upwards: no line through two corners of the grid is there."""


def polygon(*rings: Ring) -> Shape:
    return Shape(POLYGON, (rings,), 0.0, earth=False)


@st.composite
def drawn_shapes(draw: st.DrawFn) -> Shape:
    earth, kind = draw(st.booleans()), draw(st.sampled_from((POLYGON, CIRCLE, CORRIDOR)))
    if kind == POLYGON:
        return Shape(kind, draw(polygons), 0.0, earth)
    reach = draw(reaches) * (DEGREE if earth else 1.0)
    line = draw(st.lists(corners, min_size=2, max_size=14).map(tuple))
    return Shape(kind, ((line[:1] if kind == CIRCLE else line,),), reach, earth)


def grid(step: float = 0.5, beyond: int = 2) -> tuple[np.ndarray, np.ndarray]:
    ends = np.arange(-beyond, GRID + beyond + step, step)
    x, y = np.meshgrid(ends, ends)
    return x.ravel(), y.ravel()


def found(shape: Shape, x: np.ndarray, y: np.ndarray) -> list[bool]:
    """What the kernel says, with bands and without."""
    columns, rows = Shapes.of([shape], shape.earth), np.zeros(len(x), np.int64)
    both = [holds(prepared(columns, fast=fast), rows, x, y, fast=True) for fast in (True, False)]
    assert both[0].tolist() == both[1].tolist()
    listed: list[bool] = both[0].tolist()
    return listed


@given(drawn_shapes(), st.integers(0, 6))
@example(polygon(((0.0, 0.0), (4.0, 0.0), (4.0, 0.0), (0.0, 0.0))), 0)
def test_oracle_kernel_twin_and_fractions_agree_on_every_point(shape: Shape, first: int) -> None:
    x, y = (values[first::7] for values in grid())
    expected = [reference.holds(shape, *at) for at in zip(x.tolist(), y.tolist(), strict=True)]
    assert found(shape, x, y) == expected
    twin = holds(Shapes.of([shape], shape.earth), np.zeros(len(x), np.int64), x, y, fast=False)
    assert twin.tolist() == expected


places = st.tuples(
    st.one_of(st.floats(-180, 180), st.sampled_from([-180.0, -179.99, 0.0, 90.0, 179.99, 180.0])),
    st.one_of(st.floats(-90, 90), st.sampled_from([-90.0, -89.99, 0.0, 45.0, 89.99, 90.0])),
)
globe_reaches = st.one_of(
    st.floats(1e-3, 2e7), st.floats(-3, 7.3).map(lambda power: 10**power), st.just(RADIUS)
)


@given(st.lists(st.tuples(places, globe_reaches), min_size=1, max_size=8), st.booleans())
def test_circles_are_prepared_to_the_same_bits_with_kernels_and_without(
    circles: list[tuple[Point, float]], mixed: bool
) -> None:
    drawn = [Shape(CIRCLE, (((at,),),), reach, earth=True) for at, reach in circles]
    if mixed:
        drawn.insert(1, Shape(CORRIDOR, ((((0.0, 0.0), (1.0, 2.0)),),), 1_000.0, earth=True))
    columns = Shapes.of(drawn, earth=True)
    one, other = prepared(columns, fast=True), prepared(columns, fast=False)
    for name in ("lo", "hi", "sphere_ptr", "unit", "sure", "balls"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    bounds = np.stack([one.lo, one.hi], axis=2).transpose(1, 0, 2).tolist()
    assert bounds == [[list(ends) for ends in shape.bounds] for shape in drawn]


@given(places, globe_reaches, st.data())
def test_a_chord_never_says_other_than_the_haversine_at_the_rim_of_a_circle(
    centre: Point, reach: float, data: st.DataObject
) -> None:
    bearings = data.draw(st.lists(st.floats(0, 2 * math.pi), min_size=1, max_size=6))
    astray = [0.0, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-3]
    away = [reach + sign * each for each in astray for sign in (-1, 1)]
    points = [
        destination(centre, bearing, arc / RADIUS)
        for bearing, arc in product(bearings, away)
        if arc > 0
    ]
    x, y = np.array(points).T
    columns = Shapes.of([Shape(CIRCLE, (((centre,),),), reach, earth=True)], earth=True)
    rows = np.zeros(len(x), np.int64)
    kernel, twin = (holds(columns, rows, x, y, fast=fast) for fast in (True, False))
    assert kernel.tolist() == twin.tolist()


def destination(start: Point, bearing: float, arc: float) -> Point:
    """Go from a place along a great circle."""
    lon, lat = math.radians(start[0]), math.radians(start[1])
    up = math.sin(lat) * math.cos(arc) + math.cos(lat) * math.sin(arc) * math.cos(bearing)
    up = math.asin(max(-1.0, min(1.0, up)))
    across = math.atan2(
        math.sin(bearing) * math.sin(arc) * math.cos(lat),
        math.cos(arc) - math.sin(lat) * math.sin(up),
    )
    turned = math.remainder(math.degrees(lon + across), 360.0)
    return turned, math.degrees(up)


@given(drawn_shapes())
def test_what_is_inside_is_within_the_bounds(shape: Shape) -> None:
    x, y = grid()
    (x_lo, x_hi), (y_lo, y_hi) = shape.bounds
    outside = ~((x_lo <= x) & (x < x_hi) & (y_lo <= y) & (y < y_hi))
    unbounded = Shape(shape.kind, shape.parts, shape.reach, shape.earth)
    for at in zip(x[outside].tolist(), y[outside].tolist(), strict=True):
        line = unbounded.parts[0][0]
        if shape.kind == CIRCLE:
            assert not reference.is_near(line[0], at, unbounded)
        elif shape.kind == CORRIDOR:
            assert not any(
                reference.is_near(vertex, at, unbounded, by_chord=True) for vertex in line
            )


@given(st.lists(corners, min_size=25, max_size=25), st.integers(1, 5))
def test_cells_that_share_their_edges_part_the_plane(moved: list[Point], step: int) -> None:
    size = 4
    at = {
        (i, j): (
            i * 7.0 + (moved[i * 5 + j][0] / 3 if 0 < i < size else 0.0),
            j * 7.0 + (moved[i * 5 + j][1] / 3 if 0 < j < size else 0.0),
        )
        for i, j in product(range(size + 1), repeat=2)
    }
    cells = [
        polygon((at[i, j], at[i + 1, j], at[i + 1, j + 1], at[i, j + 1]))
        for i, j in product(range(size), repeat=2)
    ]
    vertices = list(at.values())
    middles = [
        ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
        for a, b in zip(vertices, vertices[step:], strict=False)
    ]
    x, y = np.array(vertices + middles).T
    shapes = Shapes.of(cells, earth=False)
    held = np.array(
        [holds(shapes, np.full(len(x), s, np.int64), x, y, fast=True) for s in range(len(cells))]
    )
    whole = (x >= 0) & (x < 7 * size) & (y >= 0) & (y < 7 * size)
    assert held.sum(axis=0).tolist() == whole.astype(int).tolist()


@given(parts)
def test_a_point_on_an_edge_counts_as_one_to_its_right_and_just_above(
    part: tuple[Ring, ...],
) -> None:
    x, y = grid(step=1.0)
    beside = found(polygon(*part), x + NEAR_A_CORNER[0], y + NEAR_A_CORNER[1])
    assert found(polygon(*part), x, y) == beside


@given(parts)
def test_turned_and_mirrored_and_moved_it_holds_the_same_points(part: tuple[Ring, ...]) -> None:
    x, y = grid(step=1.0)
    x, y = x + NEAR_A_CORNER[0], y + NEAR_A_CORNER[1]
    expected = found(polygon(*part), x, y)
    turned = [tuple((-b + 0.0, a) for a, b in ring) for ring in part]
    assert found(polygon(*turned), -y, x) == expected
    mirrored = [tuple((-a + 0.0, b) for a, b in ring) for ring in part]
    assert found(polygon(*mirrored), -x, y) == expected
    moved = [tuple((a + 8.0, b - 16.0) for a, b in ring) for ring in part]
    assert found(polygon(*moved), x + 8.0, y - 16.0) == expected


@given(parts, st.integers(0, 30))
def test_where_a_ring_begins_and_which_way_it_runs_means_nothing(
    part: tuple[Ring, ...], by: int
) -> None:
    x, y = grid()
    expected = found(polygon(*part), x, y)
    begun = [ring[by % len(ring) :] + ring[: by % len(ring)] for ring in part]
    assert found(polygon(*begun), x, y) == expected
    assert found(polygon(*(ring[::-1] for ring in part[::-1])), x, y) == expected


@given(rings.filter(lambda ring: len(ring) >= 4), st.data())
def test_a_polygon_cut_in_two_is_its_parts(ring: Ring, data: st.DataObject) -> None:
    x, y = grid()
    cut = data.draw(st.integers(2, len(ring) - 2))
    first, second = ring[: cut + 1], (*ring[cut:], ring[0])
    in_parts = np.array(found(polygon(first), x, y)) ^ np.array(found(polygon(second), x, y))
    assert found(polygon(ring), x, y) == in_parts.tolist()


extremes = st.sampled_from(
    [0.0, 5e-324, 2e-323, 1e-310, 2.3e-308, 1e-200, 0.1, 0.3, 1.0, 1 + 2.0**-52, 1e150, 1.7e308]
)
anything = st.one_of(
    extremes, extremes.map(lambda v: -v), st.floats(allow_nan=False, allow_infinity=False)
)


@given(st.tuples(*[anything] * 6))
def test_oracle_the_side_of_a_line_is_exact_for_all_doubles(given: tuple[float, ...]) -> None:
    ax, ay, bx, by, px, py = map(Fraction, given)
    turn = (ax - px) * (by - py) - (ay - py) * (bx - px)
    assert orientation(*given) == (turn > 0) - (turn < 0)


@pytest.mark.parametrize("seed", range(3))
def test_a_corridor_is_as_wide_as_it_says_by_another_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = rng.normal(0, 0.02, (12, 2)).cumsum(axis=0) + np.array([179.99, 66])
    line = tuple(((lon + 180) % 360 - 180, lat) for lon, lat in drawn.tolist())
    shape = Shape(CORRIDOR, ((line,),), 700.0, earth=True)
    x, y = (rng.uniform(-0.1, 0.1, (2, 1500)).T + np.array(line)[rng.integers(0, 12, 1500)]).T
    x = (x + 180) % 360 - 180
    far = np.array([by_cross_track(line, at) for at in zip(x.tolist(), y.tolist(), strict=True)])
    sure = np.abs(far - shape.reach) > 0.01
    assert 100 < (far < shape.reach).sum() < 1400
    assert sure.sum() > 1450
    assert (np.array(found(shape, x, y)) == (far < shape.reach))[sure].all()


def by_cross_track(line: Ring, at: Point) -> float:
    """The distance from a line by bearings, as navigators compute it."""
    return min(
        *(haversine(*vertex, *at) for vertex in line),
        *(beside_arc(a, b, at) for a, b in pairwise(line)),
    )


def beside_arc(a: Point, b: Point, at: Point) -> float:
    away = haversine(*a, *at) / RADIUS
    turn = bearing(a, at) - bearing(a, b)
    along = math.atan2(math.sin(away) * math.cos(turn), math.cos(away))
    if not 0 <= along * RADIUS <= haversine(*a, *b):
        return math.inf
    return abs(math.asin(math.sin(away) * math.sin(turn))) * RADIUS


def bearing(a: Point, b: Point) -> float:
    across, up, other = (math.radians(v) for v in (b[0] - a[0], a[1], b[1]))
    return math.atan2(
        math.sin(across) * math.cos(other),
        math.cos(up) * math.sin(other) - math.sin(up) * math.cos(other) * math.cos(across),
    )
