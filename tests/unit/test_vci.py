"""S2 in one axis: what the indexes find, whatever the layout, and what they take of memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InputError
from fencepost.matches import Boxes, BoxIndex, ProbeResult, named
from fencepost.matches.index import Parameter
from fencepost.matches.papers.vci import Dlist, Lci, LciBv, Sci, lists, optimal_length
from fencepost.matches.scan import Scan
from fencepost.tuples import Doubles
from tests.support.stories.boxes import CROWDS, Given, crowd, given_of

INF = np.inf
INDEXES: tuple[type[BoxIndex], ...] = (Sci, Lci, LciBv, Dlist)
LAYOUTS: tuple[dict[str, Parameter], ...] = (
    {"positions": 3},
    {"positions": 37, "grid": "cells"},
    {"length": 1, "positions": 50},
    {"length": 8},
    {"length": 64, "positions": 1000},
)


def spans(*bounds: tuple[float, float]) -> Boxes:
    lo, hi = np.array(bounds, np.float64).reshape(-1, 2).T
    return Boxes.of(lo[None], hi[None])


def uniform(n: int, widest: int = 100, span: int = 5000, seed: int = 3) -> Boxes:
    """S2's queries: integer ends over a range, widths uniform."""
    rng = np.random.default_rng(seed)
    lo = rng.integers(0, span - widest, n).astype(np.float64)
    return Boxes.of(lo[None], (lo + rng.integers(1, widest + 1, n))[None])


def held(index: BoxIndex, *values: float) -> list[list[int]]:
    found = index.probe(np.array([values], np.float64)).in_order()
    return [found.at(point).tolist() for point in range(len(values))]


def same(one: ProbeResult, other: ProbeResult) -> bool:
    one, other = one.in_order(), other.in_order()
    return np.array_equal(one.ptr, other.ptr) and np.array_equal(one.ids, other.ids)


@pytest.mark.parametrize("index", INDEXES)
def test_a_point_on_a_border_is_found_above_it_and_not_below(index: type[BoxIndex]) -> None:
    built = index.build(spans((2, 9), (9, 20), (0, 40), (8, 10)))
    assert held(built, 9.0, 8.999, 20.0, 0.0, -0.5, 40.0, 2) == [
        [1, 2, 3], [0, 2, 3], [2], [2], [], [], [0, 2],
    ]  # fmt: skip


@pytest.mark.parametrize("length", [1, 2, 4, 8])
@pytest.mark.parametrize("index", [Sci, Lci, LciBv])
def test_a_point_where_two_pieces_meet_finds_the_query_once(
    index: type[BoxIndex], length: int
) -> None:
    built = index.build(spans((0, 23), (1, 22)), length=length)
    assert held(built, *range(1, 22)) == [[0, 1]] * 21
    assert held(built, *(n + 0.5 for n in range(1, 22))) == [[0, 1]] * 21


@pytest.mark.parametrize("index", INDEXES)
def test_points_outside_find_those_that_are_open_there(index: type[BoxIndex]) -> None:
    built = index.build(spans((-INF, 5), (3, INF), (-INF, INF), (3, 5)))
    far = 1.7e308
    assert held(built, -far, far, 2.99, 3, 4, 5) == [
        [0, 2], [1, 2], [0, 2], [0, 1, 2, 3], [0, 1, 2, 3], [1, 2],
    ]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("index", INDEXES)
def test_differential_no_layout_changes_what_is_found(
    index: type[BoxIndex], layout: dict[str, Parameter]
) -> None:
    if index is Dlist:
        layout = {name: value for name, value in layout.items() if name != "length"}
    for shape in CROWDS:
        drawn = crowd(shape, 1, 600, 200)
        built = index.build(drawn.boxes, **layout)
        built.check()
        assert same(built.probe(drawn.points), Scan.build(drawn.boxes).probe(drawn.points))


@given(drawn=given_of(1), layout=st.sampled_from(LAYOUTS))
def test_oracle_real_ends_on_coarse_positions_are_found_by_the_law(
    drawn: Given, layout: dict[str, Parameter]
) -> None:
    wanted = Scan.build(drawn.boxes).probe(drawn.points)
    for index in (Sci, Lci, LciBv):
        built = index.build(drawn.boxes, **layout)
        built.check()
        assert same(built.probe(drawn.points), wanted)


@pytest.mark.parametrize("index", INDEXES)
def test_results_that_outgrow_the_room_are_all_found(index: type[BoxIndex]) -> None:
    """Nearly all boxes crowd where the points are, so many more are found than is usual."""
    crowded = [(0.0, 1.0 + n / 1000) for n in range(900)]
    boxes = spans(*crowded, (0, 4000))
    points: Doubles = np.array([[0.5, 3000, -1] + [0.75] * 60])
    for shift in (0.0, 0.03125):
        moved = Boxes.of(boxes.lo + shift, boxes.hi + shift)
        built = index.build(moved, positions=64)
        assert same(built.probe(points), Scan.build(moved).probe(points))


# Lengths and bytes


@pytest.mark.parametrize(("n", "widest"), [(50, 3), (1000, 100), (20_000, 100), (1000, 2000)])
def test_the_length_chosen_is_that_of_least_time_and_storage_together(n: int, widest: int) -> None:
    boxes = uniform(n, widest)
    results = float((boxes.hi - boxes.lo).sum()) / 5000
    lengths = [1 << k for k in range(9)]
    indexes: tuple[tuple[str, type[Sci | Lci | LciBv], int], ...] = (
        ("sci", Sci, 1),
        ("lci", Lci, 1),
        ("lci_bv", LciBv, 2),
    )
    for kind, index, weight in indexes:
        chosen = optimal_length(boxes, kind, 5000)
        assert index.build(boxes, positions=5000).lists.construct.length == chosen
        costs = {}
        for length in lengths:
            built = index.build(boxes, positions=5000, length=length)
            costs[length] = built.nbytes**weight * (5 + 2 * length + results / 4)
        assert costs[chosen] < 1.1 * min(costs.values())


def test_wider_queries_get_longer_intervals() -> None:
    lengths = [optimal_length(uniform(20_000, widest), "lci", 5000) for widest in (2, 60, 1500)]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]
    with pytest.raises(InputError, match="kind is 'dlist', expected one of: sci, lci, lci_bv"):
        optimal_length(uniform(10), "dlist")


@pytest.mark.parametrize("n", [100, 1000, 10_000, 100_000])
def test_the_bit_vector_takes_the_least_storage_of_all(n: int) -> None:
    boxes = uniform(n)
    sizes = {
        name: named(name, 1).build(boxes, positions=5000).nbytes
        for name in ("lci_bv", "lci", "sci", "dlist")
    }
    assert min(sizes, key=sizes.__getitem__) == "lci_bv"
    for length in (4, 16, 64):
        layout = {"positions": 5000, "length": length}
        assert LciBv.build(boxes, **layout).nbytes < Lci.build(boxes, **layout).nbytes


def test_lists_are_found_where_a_word_of_marks_has_more_pieces_than_two_bytes_count() -> None:
    boxes = spans(*[(0, 2)] * 70_000, (0, 3), (2, 3), (1, 2))
    built = LciBv.build(boxes, length=2)
    assert built.starts.dtype == np.uint32
    built.check()
    points: Doubles = np.array([[0.5, 1.5, 2.5, 3.5]])
    assert same(built.probe(points), Scan.build(boxes).probe(points))


def test_cells_become_wider_where_there_would_be_too_many_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lists, "MOST_ENTRIES", 2000)
    boxes = uniform(100, 50, 1000)
    built = Dlist.build(boxes)
    assert built.lists.pieces <= 2000
    assert built.lists.grid.scale < 1
    points: Doubles = np.arange(-5.0, 1005, 0.5)[None]
    assert same(built.probe(points), Scan.build(boxes).probe(points))
    with pytest.raises(InputError, match=r"1,000 positions and length 1 make .* at most 2,000"):
        Dlist.build(spans((0, 999), (0, 999), (1, 999)), positions=1000)
