"""Virtual construct rectangles: the worked examples of S2 §3, the cuts, the edges of the grid."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InputError
from fencepost.matches.boxes import Boxes
from fencepost.matches.index import named
from fencepost.matches.papers.vcr import (
    Rectangle,
    Vcr,
    VcrSd,
    decompose,
    gaps,
    number,
    optimal_side,
)
from fencepost.matches.papers.vcr.lattice import Lattice
from fencepost.matches.papers.vcr.pieces import Spans, grid_over, pieces_of
from fencepost.matches.result import ProbeResult
from tests.support.stories.rectangles import (
    FORMS,
    KINDS,
    SIDES,
    WAYS,
    assert_like_scan,
    between,
    boxes_of,
    crowd,
    everywhere,
    points_of,
)


def test_fig_9_numbers_the_nine_rectangles_of_a_position_row_by_row() -> None:
    nine = [number(Rectangle(0, 0, 1 << i, 1 << j), 2, 10) for j in range(3) for i in range(3)]
    assert nine == list(range(9))


def test_formula_1_scans_the_positions_of_a_row_before_those_of_the_next() -> None:
    corners = [(a, b) for b in range(4) for a in range(10)]
    numbers = [number(Rectangle(a, b, 1, 1), 2, 10) for a, b in corners]
    assert numbers == list(range(0, 9 * 40, 9))
    assert number(Rectangle(3, 2, 4, 2), 2, 10) == 9 * (3 + 2 * 10) + 1 * 3 + 2


def test_fig_10a_simple_decomposition_cuts_the_example_in_eight() -> None:
    pieces = decompose(3, 3, 11, 6, 4)
    low, high = [(4, 4), (4, 4), (2, 4), (1, 4)], [(4, 2), (4, 2), (2, 2), (1, 2)]
    assert [(p.w, p.h) for p in pieces] == low + high
    assert [(p.a, p.b) for p in pieces] == [(a, b) for b in (3, 7) for a in (3, 7, 11, 13)]


def test_fig_10b_overlapped_decomposition_cuts_the_example_in_six_of_one_size() -> None:
    pieces = decompose(3, 3, 11, 6, 4, overlapping=True)
    assert pieces == [Rectangle(a, b, 4, 4) for b in (3, 5) for a in (3, 7, 10)]


@pytest.mark.parametrize(("kind", "form"), WAYS)
@pytest.mark.parametrize("side", [None, *SIDES])
def test_fig_8_finds_nobody_q1_and_q2(kind: type[Vcr], form: str, side: int | None) -> None:
    index = kind.build(boxes_of((3, 3, 5, 6), (6, 7, 5, 5)), side=side, lists=form)
    found = index.probe(points_of((9.3, 4.15), (3.6, 5.2), (7.5, 9.5)))
    assert [found.at(point).tolist() for point in range(3)] == [[], [0], [1]]


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_the_rectangles_over_a_cell_stand_at_the_same_distances_from_its_pivot(k: int) -> None:
    side, columns = 1 << k, 40
    sides = [1 << i for i in range(k + 1)]
    for x, y in ((side, side), (31, 17), (20, 30)):
        over = sorted(
            number(Rectangle(a, b, w, h), k, columns)
            for w, h in product(sides, sides)
            for a in range(x - w + 1, x + 1)
            for b in range(y - h + 1, y + 1)
        )
        pivot = number(Rectangle(x + 1 - side, y + 1 - side, 1, 1), k, columns)
        assert over == (pivot + gaps(k, columns)).tolist()
        assert len(over) == (2 * side - 1) ** 2


def test_fig_12_of_widths_20_and_40_storage_is_least_at_sides_8_and_16() -> None:
    for widest, best in ((20, 8), (40, 16)):
        boxes = crowd(150_000, widest)
        nbytes = [VcrSd.build(boxes, side=side, lists="all").nbytes for side in SIDES]
        assert SIDES[int(np.argmin(nbytes))] == best, nbytes


def test_marks_take_less_than_a_list_for_every_rectangle() -> None:
    boxes = crowd(2000, 20)
    for kind, side in product(KINDS, SIDES[2:]):
        marked, listed = (kind.build(boxes, side=side, lists=form) for form in FORMS)
        assert 3 * marked.nbytes < listed.nbytes


def test_overlapping_takes_fewer_pieces_in_fewer_rectangles() -> None:
    boxes = crowd(2000, 40)
    simple, overlapped = (kind.build(boxes, side=16) for kind in KINDS)
    assert len(overlapped.lists.entries) < len(simple.lists.entries)
    assert overlapped.activated < simple.activated


# ── decompositions ────────────────────────────────────────────────────────────────────────────────

LENGTHS = st.integers(1, 70)
ANY_SIDE = st.sampled_from(SIDES)


def cells(rectangle: Rectangle) -> Iterator[tuple[int, int]]:
    a, b, w, h = rectangle
    return product(range(a, a + w), range(b, b + h))


@given(st.integers(0, 9), st.integers(0, 9), LENGTHS, LENGTHS, ANY_SIDE)
def test_simple_pieces_hold_each_cell_once(a: int, b: int, w: int, h: int, side: int) -> None:
    pieces = decompose(a, b, w, h, side)
    held = [cell for piece in pieces for cell in cells(piece)]
    assert sorted(held) == sorted(cells(Rectangle(a, b, w, h)))
    assert all(p.w in SIDES and p.h in SIDES and max(p.w, p.h) <= side for p in pieces)
    across, up = (n // side + (n % side).bit_count() for n in (w, h))
    assert len(pieces) == across * up


@given(st.integers(0, 9), st.integers(0, 9), LENGTHS, LENGTHS, ANY_SIDE)
def test_overlapped_pieces_of_one_size_hold_each_cell(
    a: int, b: int, w: int, h: int, side: int
) -> None:
    pieces = decompose(a, b, w, h, side, overlapping=True)
    held = {cell for piece in pieces for cell in cells(piece)}
    assert held == set(cells(Rectangle(a, b, w, h)))
    ((wide, high),) = {(p.w, p.h) for p in pieces}
    assert (wide, high) == (min(side, 1 << w.bit_length() - 1), min(side, 1 << h.bit_length() - 1))
    assert len(pieces) == -(-w // wide) * -(-h // high)


@pytest.mark.parametrize("kind", KINDS)
def test_the_kernel_cuts_a_box_as_decompose_does(kind: type[Vcr]) -> None:
    for side, w, h in product((1, 4, 16), (1, 3, 7, 16, 29), (1, 6, 15, 32)):
        index = kind.build(boxes_of((2, 1, w, h), (0, 0, 1, 1), (39, 39, 1, 1)), side=side)
        many = np.diff(index.lists.ptr)
        bits = np.unpackbits(index.lists.marks[:, 0].copy().view(np.uint8), bitorder="little")
        place = np.repeat(np.flatnonzero(bits) - 64, many)
        pieces = decompose(2, 1, w, h, side, overlapping=kind.overlapping)
        expected = sorted(number(piece, index.k, 40) for piece in pieces)
        assert place[index.lists.entries == 0].tolist() == expected


# ── edges ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("kind", "form"), WAYS)
@pytest.mark.parametrize("side", [1, 2, 8, 64])
def test_at_every_edge_of_the_grid_and_beyond_the_boxes_are_those_of_the_scan(
    kind: type[Vcr], form: str, side: int
) -> None:
    rng = np.random.default_rng(8)
    x, y = rng.integers(-3, 9, (2, 60))
    w, h = rng.integers(1, 5, (2, 60))
    index = kind.build(boxes_of(*np.stack((x, y, w, h), 1)), side=side, lists=form)
    assert index.exact
    assert_like_scan(index, everywhere(-6, 16, 0.5))
    index.check()


@pytest.mark.parametrize(("kind", "form"), WAYS)
def test_a_negative_pivot_does_not_wrap_into_the_row_before(kind: type[Vcr], form: str) -> None:
    right = [(12, row, 4, 4) for row in range(12)]
    index = kind.build(boxes_of(*right, (0, 0, 1, 1)), side=4, lists=form)
    left = index.probe(points_of(*((x + 0.5, y + 0.5) for x in range(4) for y in range(15))))
    assert left.counts.tolist() == [1, *[0] * 59]


@pytest.mark.parametrize("kind", KINDS)
def test_open_ends_are_clipped_and_hold_what_lies_outside(kind: type[Vcr]) -> None:
    inf = np.inf
    boxes = between((-inf, inf, 0, 4), (2, inf, -inf, 3), (-inf, 5, 2, inf), (1, 6, 1, 7))
    for side in (1, 4):
        index = kind.build(boxes, side=side)
        index.check()
        assert_like_scan(index, everywhere(-3, 12, 0.5))
        assert_like_scan(index, points_of((-1e308, 2), (1e308, 2), (3, -1e308), (3, 1e308)))
        assert index.probe(points_of((-1e300, 3))).in_order().ids.tolist() == [0, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_ends_off_the_lines_are_widened_and_candidates_tested(kind: type[Vcr]) -> None:
    rng = np.random.default_rng(4)
    lo = rng.random((2, 300))
    index = kind.build(Boxes.of(lo, lo + rng.random((2, 300)) / 4 + 1e-9), positions=20)
    assert not index.exact
    some = np.concatenate((index.boxes.lo, index.boxes.hi), 1)
    points = np.concatenate((some, np.nextafter(some, -np.inf), rng.random((2, 300)) * 2 - 0.5), 1)
    assert_like_scan(index, np.ascontiguousarray(points))
    index.check()


@pytest.mark.parametrize("kind", KINDS)
def test_cells_wider_than_one_do_not_lose_a_denormal_below_zero(kind: type[Vcr]) -> None:
    boxes = boxes_of((0, 0, 4096, 4096), (4096, 4096, 4096, 4096))
    index = kind.build(boxes, positions=4)
    found = index.probe(points_of((-5e-324, 1), (0, 1), (5e-324, -5e-324)))
    assert found.counts.tolist() == [0, 1, 0]


@pytest.mark.parametrize(("kind", "form"), WAYS)
def test_one_by_one_gives_what_a_batch_gives(kind: type[Vcr], form: str) -> None:
    index = kind.build(crowd(400, 40), lists=form)
    rng = np.random.default_rng(5)
    points = np.ascontiguousarray(rng.random((2, 200)) * [[320], [220]] - 10)
    alone = [index.probe(points[:, [n]]) for n in range(200)]
    batch, together = index.probe(points), ProbeResult.together(alone)
    assert batch.ptr.tolist() == together.ptr.tolist()
    assert batch.ids.tolist() == together.ids.tolist()


@pytest.mark.parametrize(("kind", "form"), WAYS)
@pytest.mark.parametrize("shift", [0.0, 0.25, 1 / 3])
def test_more_results_than_there_is_room_for_are_all_found(
    kind: type[Vcr], form: str, shift: float
) -> None:
    beside = [(90.0 + shift, 90.0, 9.0, 9.0)]
    index = kind.build(boxes_of(*[(shift, 0.0, 3.0, 3.0)] * 900, *beside), side=2, lists=form)
    found = index.probe(np.full((2, 50), 1.5))
    assert found.counts.tolist() == [900] * 50
    assert (found.ids.reshape(50, 900) == np.arange(900)).all()
    outside = kind.build(between(*[(-np.inf, 1, 0, 1)] * 900, (0, 2, 0, 2)), lists=form)
    assert outside.probe(np.tile([[-9.0], [0.5]], 50)).counts.tolist() == [900] * 50


@pytest.mark.parametrize("kind", KINDS)
def test_no_boxes_and_no_points_are_no_trouble(kind: type[Vcr]) -> None:
    nobody = kind.build(between())
    nobody.check()
    assert nobody.probe(points_of((1, 2), (3, 4))).ptr.tolist() == [0, 0, 0]
    assert len(kind.build(crowd(9, 9)).probe(np.empty((2, 0)))) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_box_that_ends_at_the_smallest_double_holds_nobody(kind: type[Vcr]) -> None:
    least = -np.finfo(np.float64).max
    index = kind.build(between((least, -1e300, -np.inf, least)))
    index.check()
    assert index.probe(points_of((least, least), (-1e305, least))).counts.tolist() == [0, 0]


# ── grid, side, parameters ────────────────────────────────────────────────────────────────────────


def test_the_grid_of_integers_is_the_integers() -> None:
    lattice = Lattice.over(np.array([-7.0, 3.0]), np.array([2.0, 300.0]))
    assert (lattice.power, lattice.origin, lattice.positions) == (0, -7, 307)
    assert lattice.exact


def test_the_grid_of_quarters_is_the_quarters() -> None:
    lattice = Lattice.over(np.array([0.25, 1.5]), np.array([9.0, 2.0]))
    assert (lattice.power, lattice.origin, lattice.positions) == (-2, 1, 35)
    assert lattice.exact


def test_integers_that_do_not_fit_are_widened() -> None:
    lattice = Lattice.over(np.array([0.0, 7.0]), np.array([5000.0, 9.0]))
    assert (lattice.power, lattice.positions) == (5, 157)
    assert not lattice.exact
    first, last = lattice.spans(np.array([0.0, 7.0, 31.0]), np.array([32.0, 9.0, 33.0]))
    assert (first.tolist(), last.tolist()) == ([0, 0, 0], [0, 0, 1])


def test_one_far_end_does_not_spoil_the_grid() -> None:
    lo = np.append(np.linspace(0, 1, 2000), 1e300)
    lattice = Lattice.over(lo, lo + 0.01)
    assert lattice.positions > 100
    assert lattice.power is not None
    assert -9 <= lattice.power <= -7


def test_an_axis_on_which_nothing_ends_is_one_cell_and_the_other_still_serves() -> None:
    at = np.arange(500.0)
    boxes = Boxes.of(np.stack((at * 0 - np.inf, at)), np.stack((at * 0 + np.inf, at + 1)))
    index = VcrSd.build(boxes)
    assert index.grid[0].positions == 1
    assert len(index.lists.entries) == 500
    assert_like_scan(index, points_of((1e308, 3.5), (-1e308, 499.9), (0, 500), (5, -1)))


def test_the_side_chosen_grows_with_the_boxes() -> None:
    sides = [optimal_side(crowd(32_000, widest)) for widest in (2, 20, 150)]
    assert sides == sorted(set(sides))
    assert VcrSd.build(crowd(32_000, 20)).side == sides[1]
    assert optimal_side(between()) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_side_chosen_keeps_the_pieces_within_twice_the_bounds(kind: type[Vcr]) -> None:
    for widest in (2, 10, 40):
        index = kind.build(crowd(32_000, widest))
        assert index.lists.entries.nbytes + index.lists.skips.nbytes <= 64 * len(index.boxes)


@pytest.mark.parametrize("overlapping", [False, True])
def test_pieces_are_counted_before_they_are_made(overlapping: bool) -> None:
    boxes = crowd(300, 60)
    spans = Spans.of(boxes, grid_over(boxes, None))
    for k in range(7):
        expected = [
            len(decompose(0, 0, int(w), int(h), 1 << k, overlapping=overlapping))
            for w, h in zip(spans.x.length, spans.y.length, strict=True)
        ]
        assert pieces_of(spans, k, overlapping=overlapping).tolist() == expected


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown one": ({"length": 4}, "has no parameter 'length'; it has: side, positions, lists"),
    "no power of two": ({"side": 6}, "side is 6, .*one of .1, 2, 4, 8, 16, 32, 64. expected"),
    "too long": ({"side": 128}, "side is 128"),
    "no side": ({"side": 0}, "side is 0"),
    "a text": ({"side": "4"}, "side is '4'"),
    "half a side": ({"side": 4.0}, "side is 4.0"),
    "no positions": ({"positions": 0}, "positions is 0, expected a whole number from 1 to 4,096"),
    "too many positions": ({"positions": 5000}, "positions is 5000, expected"),
    "some positions": ({"positions": 2.5}, "positions is 2.5, expected a whole number"),
    "true": ({"positions": True}, "positions is True"),
    "no lists": ({"lists": "none"}, "lists is 'none', expected one of: marked, all"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_parameter_that_makes_no_sense_is_refused(name: str) -> None:
    parameters, told = REFUSED[name]
    with pytest.raises(InputError, match=told):
        VcrSd.build(crowd(9, 9), **parameters)


def test_boxes_of_other_than_two_axes_are_refused() -> None:
    with pytest.raises(InputError, match="vcr_sd is for 2 axes; the boxes have 1"):
        VcrSd.build(Boxes.of(np.zeros((1, 3)), np.ones((1, 3))))


def test_more_pieces_or_lists_than_memory_should_hold_are_refused() -> None:
    with pytest.raises(InputError, match=r"pieces are too many .* take a larger side"):
        VcrSd.build(boxes_of(*[(0, 0, 1024, 1024)] * 300), side=1)
    with pytest.raises(InputError, match="822,083,584 rectangles are too many"):
        VcrSd.build(boxes_of((0, 0, 4096, 4096)), side=64, positions=4096, lists="all")


def test_a_rectangle_of_no_cells_is_refused() -> None:
    with pytest.raises(InputError, match="a rectangle of 0 × 3 cells"):
        decompose(1, 1, 0, 3, 4)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_told_and_its_bytes_are_those_of_what_was_laid_out(kind: type[Vcr]) -> None:
    assert named(kind.name, 2) is kind
    index = kind.build(boxes_of((3, 3, 11, 6)), side=4)
    pieces = 6 if kind.overlapping else 8
    assert index.describe() == (
        f"rectangles up to 4 × 4 cells, 11 × 6 cells of 1 × 1: {pieces} pieces in {pieces} of 594, "
        "no candidate tested"
    )
    each = 6 if kind.overlapping else 4
    listed = kind.build(boxes_of((3, 3, 11, 6)), side=4, lists="all")
    heads, runs = 4 * (594 + 1), listed.runs.nbytes
    assert listed.lists.nbytes == pieces * each + heads
    assert listed.nbytes == listed.lists.nbytes + runs + listed.where.nbytes + 4 * 5


# ── check() ───────────────────────────────────────────────────────────────────────────────────────
