"""S3: its examples, its window, the curve, the file, and that no choice changes what is found."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import BrokenIndex, InputError
from fencepost.matches.boxes import Boxes
from fencepost.matches.index import Parameter
from fencepost.matches.papers.spatial_join import SpatialJoin
from fencepost.matches.papers.spatial_join.hilbert import cells_of, order_of, places_of
from fencepost.matches.papers.spatial_join.kernels import BLOCK
from fencepost.matches.papers.spatial_join.mlgf import (
    FAN_OUT,
    GridFile,
    Tree,
    bits_of,
    cut,
    keys_of,
)
from fencepost.matches.result import ProbeResult
from fencepost.matches.scan import Scan
from fencepost.tuples import Doubles
from tests.support.stories.boxes import Given, given_of

INF = float("inf")


def closed(*boxes: tuple[tuple[float, float], ...]) -> Boxes:
    """Boxes of closed intervals, as the paper writes them: (lo, hi) an axis."""
    ends = np.array(boxes, np.float64)
    return Boxes.of(ends[:, :, 0].T, np.nextafter(ends[:, :, 1].T, INF))


def random_predicates(count: int, axes: int, seed: int = 3) -> Boxes:
    """S3 §7.1: on every axis an interval open to the left, to the right, or closed."""
    draw = np.random.default_rng(seed)
    ends = np.sort(draw.random((2, axes, count)), axis=0)
    kind = draw.integers(0, 3, (axes, count))
    return Boxes.of(np.where(kind == 0, -INF, ends[0]), np.where(kind == 1, INF, ends[1]))


def on_a_grid(count: int, axes: int, side: int) -> tuple[Boxes, Doubles]:
    """Boxes and points whose values are whole numbers: every point is on many borders."""
    draw = np.random.default_rng(5)
    lo = draw.integers(0, side, (axes, count)).astype(np.float64)
    boxes = Boxes.of(lo, lo + draw.integers(1, side, (axes, count)))
    return boxes, draw.integers(-1, 2 * side, (axes, 700)).astype(np.float64)


def assert_same(found: ProbeResult, boxes: Boxes, points: Doubles) -> None:
    found, expected = found.in_order(), Scan.build(boxes).probe(points).in_order()
    np.testing.assert_array_equal(found.ptr, expected.ptr)
    np.testing.assert_array_equal(found.ids, expected.ids)


# ── the paper ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", [SpatialJoin.probe, SpatialJoin.probe_each])
def test_examples_1_and_2_d1_satisfies_nothing_d2_the_second_query_d3_the_first(
    mode: Callable[[SpatialJoin, Doubles], ProbeResult],
) -> None:
    queries = closed(((1, 6), (4, 6)), ((0, 3), (0, 3)))
    elements = np.array([[4.0, 3.0], [1.0, 2.0], [5.0, 5.0]]).T
    found = mode(SpatialJoin.build(queries), elements)
    assert [found.at(d).tolist() for d in range(3)] == [[], [1], [0]]


def test_example_4_each_cluster_of_three_is_joined_with_three_of_the_five_queries() -> None:
    queries = closed(((1, 3),), ((2, 5),), ((4, 9),), ((8, 11),), ((10, 13),))
    elements = np.array([[11.0, 1.5, 9.5, 4.5, 12.5, 3.0]])
    index = SpatialJoin.build(queries, cluster=3)
    order = order_of(elements, *index.file.extent)
    assert elements[0, order].tolist() in (
        sorted(elements[0].tolist()),
        sorted(elements[0].tolist(), reverse=True),
    )
    first, second = np.sort(elements[0])[:3], np.sort(elements[0])[3:]
    windows = [index.file.window(some[[0]], some[[-1]]) for some in (first, second)]
    assert [sorted(window.tolist()) for window in windows] == [[0, 1, 2], [2, 3, 4]]
    found = index.probe(elements).in_order()
    held = [found.at(d).tolist() for d in range(6)]
    assert held == [[3, 4], [0], [3], [1, 2], [4], [0, 1]]


@given(given_of(2), st.tuples(st.integers(0, 1 << 30), st.integers(1, 9)))
def test_the_spatial_join_window_of_a_cluster_loses_no_box_that_holds_one_of_its_points(
    drawn: Given, choice: tuple[int, int]
) -> None:
    points, (seed, page) = drawn.points, choice
    if not points.shape[1]:
        return
    some = np.random.default_rng(seed).integers(0, points.shape[1], 3)
    cluster = points[:, some]
    file = GridFile.build(drawn.boxes, page)
    window = file.window(cluster.min(axis=1), cluster.max(axis=1))
    assert len(set(window.tolist())) == len(window)
    assert set(Scan.build(drawn.boxes).probe(cluster).ids.tolist()) <= set(window.tolist())


def test_the_window_leaves_out_what_lies_beside_it() -> None:
    lo = np.arange(10_000.0)[None, :]
    file = GridFile.build(Boxes.of(lo, lo + 3), 64)
    window = np.sort(file.window(np.array([5000.0]), np.array([5100.0])))
    assert set(range(4998, 5101)) <= set(window.tolist())
    assert len(window) < 103 + 2 * 10_000 // 100


# ── the curve ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("axes", "bits"), [(1, 6), (2, 1), (2, 4), (3, 3), (4, 2), (8, 1)])
def test_the_curve_visits_each_cell_once_and_never_takes_more_than_one_step(
    axes: int, bits: int
) -> None:
    cells = np.indices((1 << bits,) * axes).reshape(axes, -1)
    places = places_of(cells, bits)
    assert np.array_equal(np.sort(places), np.arange(cells.shape[1]))
    walk = cells[:, np.argsort(places)]
    assert (np.abs(np.diff(walk, axis=1)).sum(axis=0) == 1).all()


def test_cells_are_even_and_what_lies_outside_belongs_to_the_border() -> None:
    points = np.array([[-9.0, 0.0, 0.99, 1.0, 3.99, 4.0, 1e308]])
    cells = cells_of(points, np.array([0.0]), np.array([4.0]), 2)
    assert cells.tolist() == [[0, 0, 0, 1, 3, 3, 3]]
    assert cells_of(points, np.array([2.0]), np.array([2.0]), 1).max() <= 1


# ── the file ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("axes", [1, 2, 8, 31, 40])
def test_a_region_is_halved_until_it_fits_a_page_and_keeps_no_empty_half(axes: int) -> None:
    boxes = random_predicates(900, axes)
    file = GridFile.build(boxes, 16)
    file.check(boxes)
    sizes = np.diff(file.tree.span[: file.pages], axis=1)
    assert sizes.min() >= 1
    assert sizes.max() <= 16
    if axes <= 8:
        above = np.diff(file.tree.span[file.pages :], axis=1)
        assert above.max() <= FAN_OUT
        keys = keys_of(boxes.take(file.tree.ids), file.edges, bits_of(axes))
        for one, other in pairwise(file.tree.span[: file.pages]):
            together = np.concatenate([keys[slice(*one)], keys[slice(*other)]])
            assert len(together) > 16 or len(cut(together, axes, 16)) == 1 or len(set(together)) > 1


def test_boxes_that_are_all_alike_fill_page_after_page() -> None:
    boxes = Boxes.of(np.zeros((2, 1000)), np.ones((2, 1000)))
    index = SpatialJoin.build(boxes, page=64)
    index.check()
    assert index.file.pages == 16
    points = np.array([[0.0, 0.5, 1.0], [0.0, 0.5, 0.5]])
    assert_same(index.probe(points), boxes, points)


TAMPERED: dict[str, tuple[Callable[[Tree], Tree], str]] = {
    "a box twice": (
        lambda t: t._replace(ids=np.where(t.ids == 7, 8, t.ids).astype(np.int32)),
        "the pages do not hold each of 500 boxes once",
    ),
    "two boxes in each other's place": (
        lambda t: t._replace(ids=t.ids[::-1].copy()),
        "place 0 has other bounds than its box",
    ),
    "a begin moved": (lambda t: t._replace(lo=t.lo - (t.lo == t.lo.max())), "has other bounds"),
    "an end moved": (lambda t: t._replace(hi=t.hi + (t.hi == t.hi.min())), "has other bounds"),
    "boxes in another's region": (
        lambda t: t._replace(ids=t.ids[::-1], lo=t.lo[:, ::-1], hi=t.hi[:, ::-1]),
        r"box \d+ lies in a region before that of",
    ),
    "a page that begins late": (
        lambda t: t._replace(span=t.span + (np.arange(len(t.span)) == 2)[:, None]),
        "are not those that halving gives",
    ),
    "a node that reaches less": (
        lambda t: t._replace(reach=np.where(t.reach == t.reach.max(), 0.0, t.reach)),
        r"node \d+ is said to reach .* on axis \d",
    ),
    "a wrong code": (
        lambda t: t._replace(codes=t.codes ^ np.uint8(1)),
        "the codes of the pages are not those of the boxes' ends",
    ),
    "a group too many": (
        lambda t: t._replace(groups=t.groups + (np.arange(len(t.groups)) == 3)),
        "the codes of the pages are not those of the boxes' ends",
    ),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_check_tells_what_is_broken(name: str) -> None:
    tamper, told = TAMPERED[name]
    draw = np.random.default_rng(7)
    lo = draw.random((2, 500))
    index = SpatialJoin.build(Boxes.of(lo, lo + draw.random((2, 500))), page=16)
    index.check()
    broken = replace(index, file=replace(index.file, tree=tamper(index.file.tree)))
    with pytest.raises(BrokenIndex, match=told):
        broken.check()


# ── the join ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("cluster", [None, 1, 2, 63, 64, 65, 300, BLOCK, BLOCK + 1, 1400, 5000])
def test_clusters_of_any_size_find_the_same(cluster: int | None) -> None:
    boxes = random_predicates(900, 3)
    points = np.random.default_rng(11).random((3, 1300))
    index = SpatialJoin.build(boxes, cluster=cluster, page=32)
    assert_same(index.probe(points), boxes, points)
    assert_same(index.probe_batch(points), boxes, points)


@pytest.mark.parametrize("page", [1, 7, 64, 65, 1000])
@pytest.mark.parametrize("axes", [1, 2, 5])
def test_points_alone_and_points_together_find_the_same_on_borders_everywhere(
    axes: int, page: int
) -> None:
    boxes, points = on_a_grid(800, axes, 6)
    index = SpatialJoin.build(boxes, page=page)
    assert_same(index.probe_each(points), boxes, points)
    assert_same(index.probe_batch(points), boxes, points)
    for point in range(5):
        alone = points[:, [point]]
        assert_same(index.probe(alone), boxes, alone)
        assert_same(index.probe_batch(alone), boxes, alone)


@pytest.mark.parametrize("side", [300, 3000])
def test_more_ends_than_an_axis_has_stretches_are_told_apart(side: int) -> None:
    boxes, points = on_a_grid(4000, 2, side)
    index = SpatialJoin.build(boxes)
    assert_same(index.probe_each(points), boxes, points)
    assert_same(index.probe_batch(points), boxes, points)


def test_what_is_found_by_nearly_all_and_by_nearly_none_is_kept_in_turn() -> None:
    everywhere = np.full((2, 700), -INF)
    draw = np.random.default_rng(13)
    lo = np.concatenate([everywhere, 100 + draw.random((2, 700))], axis=1)
    hi = np.concatenate([-everywhere, 101 + draw.random((2, 700))], axis=1)
    boxes = Boxes.of(lo, hi)
    points = np.concatenate([draw.random((2, 600)), 100 + 2 * draw.random((2, 600))], axis=1)
    assert_same(SpatialJoin.build(boxes).probe_batch(points), boxes, points)
    boxes = boxes.take(np.arange(700, 1400))
    assert_same(SpatialJoin.build(boxes).probe_batch(points), boxes, points)


def test_values_that_crowd_beside_one_far_away_are_ranked_all_the_same() -> None:
    draw = np.random.default_rng(17)
    near = draw.random((1, 900)) * 1e-6
    boxes = Boxes.of(near[:, :450], near[:, :450] + 1e-7)
    for far in (1.0, -1e300, 1e308):
        points = np.append(near, [[far]], axis=1)
        index = SpatialJoin.build(boxes, cluster=BLOCK)
        assert_same(index.probe(points), boxes, points)


@given(st.sampled_from([1, 2, 3]).flatmap(given_of))
def test_a_batch_of_any_magnitude_is_its_points_alone(drawn: Given) -> None:
    index = SpatialJoin.build(drawn.boxes, page=3)
    if len(drawn.boxes) and drawn.points.shape[1]:
        assert_same(index.probe_batch(drawn.points), drawn.boxes, drawn.points)
        assert_same(index.probe_each(drawn.points), drawn.boxes, drawn.points)


def test_a_cluster_at_one_place_is_a_cluster() -> None:
    boxes = random_predicates(500, 2)
    points = np.full((2, 600), 0.5)
    assert_same(SpatialJoin.build(boxes).probe_batch(points), boxes, points)


# ── what is chosen, and what is told ──────────────────────────────────────────────────────────────


def test_a_few_points_are_asked_alone_and_a_batch_together() -> None:
    index = SpatialJoin.build(random_predicates(20_000, 4))
    assert index.alone(1)
    assert index.alone(8)
    assert not index.alone(10_000)
    assert not SpatialJoin.build(index.boxes, cluster=200).alone(1)
    assert SpatialJoin.build(index.boxes, cluster=1).alone(10_000)


def test_boxes_so_small_that_few_points_share_one_are_asked_alone() -> None:
    lo = np.random.default_rng(19).random((2, 50_000))
    assert SpatialJoin.build(Boxes.of(lo, lo + 1e-4)).alone(1000)


def test_of_no_boxes_and_of_no_points_nothing_is_found() -> None:
    none = SpatialJoin.build(Boxes.of(np.empty((3, 0)), np.empty((3, 0))))
    none.check()
    for mode in (none.probe, none.probe_each, none.probe_batch):
        assert mode(np.zeros((3, 40))).ptr.tolist() == [0] * 41
    assert SpatialJoin.build(random_predicates(10, 3)).probe(np.empty((3, 0))).ptr.tolist() == [0]


def test_it_tells_its_pages_its_clusters_and_its_bytes() -> None:
    boxes = random_predicates(1000, 2)
    index = SpatialJoin.build(boxes, cluster=200, page=100)
    pages = index.file.pages
    assert index.describe() == f"{pages} pages of up to 100 boxes; clusters of 200 points"
    assert SpatialJoin.build(boxes).describe().endswith("on clusters of up to 512")
    alone = SpatialJoin.build(Boxes.of(np.zeros((2, 1)), np.ones((2, 1))))
    assert alone.describe() == "1 pages of up to 256 boxes; every point alone"
    held = boxes.lo.nbytes + boxes.hi.nbytes + index.file.tree.ids.nbytes
    codes = index.file.tree.codes.nbytes
    assert codes >= 2 * 2 * len(boxes)
    assert held + codes < index.nbytes < 4 * held


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"cluster": 0}, "cluster is 0, expected a whole number of 1 or more"),
        ({"cluster": 2.5}, r"cluster is 2\.5, expected a whole number"),
        ({"page": -3}, "page is -3, expected a whole number"),
        ({"page": "many"}, "page is 'many', expected a whole number"),
        ({"page": True}, "page is True, expected a whole number"),
        ({"pages": 3}, "'spatial_join' has no parameter 'pages'.*Did you mean 'page'"),
    ],
)
def test_a_silly_parameter_is_refused_with_what_is_expected(
    parameters: dict[str, Any], told: str
) -> None:
    given_: dict[str, Parameter] = parameters
    with pytest.raises(InputError, match=told):
        SpatialJoin.build(random_predicates(10, 2), **given_)
