"""S2's virtual intervals: the numbers and rules of the paper, and positions for real ends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InputError
from fencepost.matches import Boxes
from fencepost.matches.papers.vci import Construct, PositionGrid, decompose, kernels
from tests.support.stories.boxes import GRIDS

INF = np.inf
CONSTRUCTS = [("sci", 1), ("sci", 4), ("sci", 7), ("lci", 1), ("lci", 4), ("lci", 16)]


def spans(*bounds: tuple[float, float]) -> Boxes:
    lo, hi = np.array(bounds, np.float64).reshape(-1, 2).T
    return Boxes.of(lo[None], hi[None])


def drawn_lists(construct: Construct, positions: int) -> dict[int, tuple[int, int]]:
    """Every virtual interval inside the range, by its number."""
    return {
        construct.number(a, a + int(length)): (a, a + int(length))
        for a in range(positions)
        for length in construct.lengths
        if a + length < positions
    }


# Numbers


def test_simple_intervals_are_numbered_as_in_figure_2() -> None:
    sci = Construct.of("sci", 4)
    for j in range(6):
        assert [sci.number(j, j + n) for n in (1, 2, 3, 4)] == [
            4 * j,
            4 * j + 1,
            4 * j + 2,
            4 * j + 3,
        ]


def test_logarithmic_intervals_are_numbered_as_in_figure_3() -> None:
    lci = Construct.of("lci", 4)
    assert lci.each == 3
    for j in range(6):
        assert [lci.number(j, j + n) for n in (1, 2, 4)] == [3 * j, 3 * j + 1, 3 * j + 2]


@pytest.mark.parametrize(("kind", "length"), CONSTRUCTS)
def test_every_interval_has_a_number_of_its_own_and_is_found_by_it(kind: str, length: int) -> None:
    construct = Construct.of(kind, length)
    drawn = drawn_lists(construct, 40)
    assert len(drawn) == sum(max(0, 40 - int(n)) for n in construct.lengths)
    begin, end = construct.intervals(np.array(list(drawn)))
    assert list(zip(begin.tolist(), end.tolist(), strict=True)) == list(drawn.values())


@pytest.mark.parametrize(("kind", "length"), CONSTRUCTS)
def test_v_min_is_the_paper_s_formula_and_the_least_number_that_covers(
    kind: str, length: int
) -> None:
    construct = Construct.of(kind, length)
    k = length.bit_length() - 1
    for j in range(length, 40 - length):
        formula = (j - length) * length + length - 1
        if kind == "lci":
            formula = (j - length) * (k + 1) + k
        drawn = drawn_lists(construct, 40).items()
        assert construct.least(j) == formula == min(v for v, (a, b) in drawn if a <= j <= b)


@pytest.mark.parametrize(("kind", "length"), CONSTRUCTS)
def test_the_difference_table_is_the_same_for_every_position_from_l_on(
    kind: str, length: int
) -> None:
    construct = Construct.of(kind, length)
    for j in range(length, 40 - length):
        around = sorted(v for v, (a, b) in drawn_lists(construct, 40).items() if a <= j <= b)
        assert [v - around[0] for v in around] == construct.differences().tolist()


@pytest.mark.parametrize(("kind", "length"), CONSTRUCTS)
def test_oracle_covering_intervals_are_those_drawn_round_a_position_edges_too(
    kind: str, length: int
) -> None:
    construct = Construct.of(kind, length)
    drawn = drawn_lists(construct, 30)
    for j in range(30):
        around = sorted(v for v, (a, b) in drawn.items() if a <= j <= b)
        assert construct.covering(j, 30).tolist() == around


@pytest.mark.parametrize(("kind", "length"), CONSTRUCTS)
def test_a_probe_reads_the_covering_intervals_but_those_that_end_at_the_point(
    kind: str, length: int
) -> None:
    construct = Construct.of(kind, length)
    for j in range(length, 30 - length):
        read = [
            number
            for start, stop in construct.runs() + construct.least(j)
            for number in range(start, stop)
        ]
        covering = construct.covering(j, 30)
        going_on = covering[construct.intervals(covering)[1] > j]
        assert sorted(read) == going_on.tolist()


# Decomposition


@pytest.mark.parametrize(
    ("x", "y", "length", "kind", "pieces"),
    [
        (3, 6, 4, "sci", [(3, 6)]),  # shorter than L: the query is an interval itself
        (3, 7, 4, "sci", [(3, 7)]),
        (3, 9, 4, "sci", [(3, 7), (7, 9)]),  # the printed formula would have two of length 4
        (0, 11, 4, "sci", [(0, 4), (4, 8), (8, 11)]),
        (3, 6, 4, "lci", [(3, 5), (5, 6)]),
        (0, 8, 4, "lci", [(0, 4), (4, 8)]),
        (5, 12, 16, "lci", [(5, 9), (9, 11), (11, 12)]),
        (0, 39, 16, "lci", [(0, 16), (16, 32), (32, 36), (36, 38), (38, 39)]),
        (2, 5, 1, "lci", [(2, 3), (3, 4), (4, 5)]),
    ],
)
def test_a_query_is_cut_from_the_left_always_the_longest_that_fits(
    x: int, y: int, length: int, kind: str, pieces: list[tuple[int, int]]
) -> None:
    assert decompose(x, y, length, kind) == pieces


def test_a_remnant_of_7_is_1_and_2_and_4_and_one_piece_of_a_simple_construct() -> None:
    assert sorted(b - a for a, b in decompose(0, 23, 16)[1:]) == [1, 2, 4]
    assert decompose(0, 23, 16, "sci")[1:] == [(16, 23)]


@given(
    x=st.integers(0, 50),
    width=st.integers(1, 300),
    chosen=st.sampled_from([("sci", 1), ("sci", 5), ("sci", 16), ("lci", 1), ("lci", 16)]),
)
def test_differential_pieces_lie_end_to_end_as_many_as_counted_and_as_the_kernel_cuts(
    x: int, width: int, chosen: tuple[str, int]
) -> None:
    construct = Construct.of(*chosen)
    pieces = construct.decompose(x, x + width)
    ends = [x, *(b for _, b in pieces)]
    assert [a for a, _ in pieces] == ends[:-1]
    assert ends[-1] == x + width
    full = width // construct.length
    assert [b - a for a, b in pieces[:full]] == [construct.length] * full
    assert all(b - a < construct.length for a, b in pieces[full:])
    assert construct.pieces(np.array([width])).tolist() == [len(pieces)]
    counts = np.zeros(400 * construct.each, np.int64)
    shape = (construct.length, construct.each, construct.dyadic)
    where = np.array([[x], [x + width]], np.int32)
    kernels.cut(where[0], where[1], *shape, counts, np.empty(0, np.int32))
    assert np.flatnonzero(counts).tolist() == sorted(construct.number(a, b) for a, b in pieces)
    assert counts.max() == 1


@pytest.mark.parametrize(
    ("x", "y", "length", "kind", "told"),
    [
        (3, 3, 4, "lci", r"\[3, 3\] has no width"),
        (0, 9, 6, "lci", "length is 6, expected a power of two from 1 to 4,096"),
        (0, 9, 0, "sci", "length is 0, expected a whole number from 1 to 4,096"),
        (0, 9, 4, "vcr", "'sci' or 'lci', given 'vcr'"),
    ],
)
def test_what_cannot_be_cut_is_refused(x: int, y: int, length: int, kind: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        decompose(x, y, length, kind)


# Grids


def test_ends_that_are_integers_stand_on_the_integers() -> None:
    grid = PositionGrid.over(spans((3, 7), (-5, 2), (0, INF)))
    assert (grid.scale, grid.base, grid.positions, grid.exact) == (1.0, -5.0, 13, True)
    x, y = grid.places(spans((3, 7), (-5, 2), (0, INF), (-INF, -5)))
    assert x.tolist() == [8, 0, 5, 0]
    assert y.tolist() == [12, 7, 12, 0]  # the last has no value between the first and the last end


def test_other_ends_are_widened_to_the_positions_round_them() -> None:
    boxes = spans((0.25, 1.75), (2.5, 3.0), (0.0, 4.0))
    grid = PositionGrid.over(boxes, grid_of := 5, "integers")
    assert grid.positions == grid_of
    assert not grid.exact
    x, y = grid.places(boxes)
    assert (x.tolist(), y.tolist()) == ([0, 2, 0], [2, 3, 4])
    assert PositionGrid.over(boxes).exact  # quarters are as good as integers


@pytest.mark.parametrize("positions", [3, 4, 17, 4096])
@pytest.mark.parametrize("name", GRIDS)
def test_all_finite_ends_fall_on_the_positions_and_cells_never_fall_as_values_grow(
    name: str, positions: int
) -> None:
    values = np.array(GRIDS[name])
    boxes = Boxes.of(values[None, :-1], values[None, 1:])
    grid = PositionGrid.over(boxes, positions)
    assert grid.positions <= positions
    near = np.concatenate([values, np.nextafter(values[1:], -INF), np.nextafter(values[:-1], INF)])
    cells = grid.cell(np.sort(near))
    assert (np.diff(cells) >= 0).all()
    assert cells[0] == 0
    assert grid.cell(values[-1:]).tolist() == [grid.top] or not grid.exact
    x, y = grid.places(boxes)
    assert (x < y).all()
    assert (grid.cell(boxes.lo[0]) == x).all()
    assert (grid.cell(np.nextafter(boxes.hi[0], -INF)) < y).all()


def test_integers_too_far_apart_for_positions_are_refused_and_become_cells_otherwise() -> None:
    boxes = spans((0, 1), (5000, 9000))
    with pytest.raises(InputError, match=r"run from 0 to 9000.*at most 100 may be positions"):
        PositionGrid.over(boxes, 100, "integers")
    assert PositionGrid.over(boxes, 100).scale == 1 / 128
    assert PositionGrid.over(boxes).scale < 1
    assert PositionGrid.over(boxes, 9001).scale == 1
