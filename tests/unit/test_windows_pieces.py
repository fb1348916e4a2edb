"""Object decomposition (S3 §6): pieces cover the region, once, and are nearer to it than a box."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fencepost.joins.windows import LEFT, NEVER, Live, WindowIndex
from fencepost.joins.windows.pieces import decomposed
from fencepost.matches import Boxes
from fencepost.queries.joins import WINDOW_JOIN, Conjunct, JoinQuery, JoinTest, WindowJoins

INF = float("inf")
UNIT = ((0.0, 1.0), (0.0, 1.0))


def joins(*conjuncts: Conjunct) -> WindowJoins:
    query = JoinQuery(
        id="q", kind=WINDOW_JOIN, left="r", right="s", conjuncts=conjuncts, last=10_000
    )
    return WindowJoins.from_queries(("r", "s"), (("x",), ("x",)), [query])


def bounds(boxes: Boxes) -> list[list[list[float]]]:
    told: list[list[list[float]]] = np.stack([boxes.lo.T, boxes.hi.T], axis=2).round(9).tolist()
    return told


def holding(boxes: Boxes, point: Sequence[float]) -> int:
    at = np.array(point)[:, None]
    return int(((boxes.lo <= at) & (at < boxes.hi)).all(axis=0).sum())


def test_an_equality_join_is_four_boxes_along_its_diagonal() -> None:
    """S3's Figure 14: q has R.x = S.x, cut along R.x."""
    boxes, owner = decomposed(joins(Conjunct(UNIT, (JoinTest(0, 0.0, "=", 1, 0.0),))))
    assert owner.tolist() == [0] * 4
    assert bounds(boxes) == [
        [[0.0, 0.25], [0.0, 0.25]],
        [[0.25, 0.5], [0.25, 0.5]],
        [[0.5, 0.75], [0.5, 0.75]],
        [[0.75, 1.0], [0.75, 1.0]],
    ]
    area = (boxes.hi - boxes.lo).prod(axis=0).sum()
    assert abs(area - 0.25) < 1e-9
    diagonal = np.arange(0, 1, 1 / 64)
    assert [holding(boxes, (v, v)) for v in diagonal] == [1] * 64


def test_a_theta_join_is_a_staircase() -> None:
    boxes, _ = decomposed(joins(Conjunct(UNIT, (JoinTest(0, 0.0, "<", 1, 0.0),))))
    assert bounds(boxes)[2] == [[0.5, 0.75], [0.5, 1.0]]
    boxes, _ = decomposed(joins(Conjunct(UNIT, (JoinTest(1, 0.0, "<=", 0, 0.0),))))
    assert bounds(boxes)[2] == [[0.5, 0.75], [0.0, 0.75]]


def test_a_condition_without_bounds_is_cut_within_the_extent_of_all() -> None:
    both = ((-INF, INF),) * 2
    queries = joins(Conjunct(both, (JoinTest(0, 0.0, "=", 1, 0.0),)), Conjunct(((2.0, 6.0),) * 2))
    boxes, owner = decomposed(queries)
    assert owner.tolist() == [0, 0, 0, 0, 1]
    assert bounds(boxes)[0] == [[-INF, 3.0], [-INF, 3.0]]
    assert bounds(boxes)[1] == [[3.0, 4.0], [3.0, 4.0]]
    assert bounds(boxes)[3] == [[5.0, INF], [5.0, INF]]


def test_a_piece_that_the_condition_leaves_empty_is_no_box() -> None:
    half = Conjunct(((0.0, 1.0), (0.9, 1.0)), (JoinTest(0, 0.0, "=", 1, 0.0),))
    boxes, _ = decomposed(joins(half))
    assert len(boxes) == 1
    assert boxes.lo[0].tolist() == [0.75]


VALUES = (-1e300, -1.0, 0.0, 0.1, 0.2, 0.3, 0.1 + 0.2, 0.7, 1.0, 1e16, 1e300)
value, plus = st.sampled_from(VALUES), st.sampled_from((0.0, 0.1, -0.1, 1e16, -1e300))
span = st.one_of(
    st.just((-INF, INF)),
    st.tuples(value, value).map(lambda v: (min(v), float(np.nextafter(max(v), INF)))),
    value.map(lambda v: (v, INF)),
)
test = st.builds(
    JoinTest, st.just(0), plus, st.sampled_from(("<", "<=", "=")), st.just(1), plus
).flatmap(lambda t: st.sampled_from((t, JoinTest(t.other, t.other_plus, t.op, t.axis, t.plus))))


@given(st.tuples(span, span), st.lists(test, min_size=1, max_size=2), st.integers(1, 6))
def test_every_pair_that_satisfies_a_condition_is_in_exactly_one_piece(
    box: tuple[tuple[float, float], ...], tests: list[JoinTest], pieces: int
) -> None:
    queries = joins(Conjunct(box, tuple(tests)))
    boxes, _ = decomposed(queries, pieces)
    assert len(boxes) <= pieces
    grid = np.array([*VALUES, *(v + p for v in VALUES for p in (0.1, -0.1))])
    live = Live(
        np.zeros(len(grid), np.int32),
        np.zeros(len(grid), np.int64),
        grid[None],
        np.arange(len(grid)),
        np.zeros(len(grid), np.int64),
    )
    ts = np.zeros(len(grid), np.int64)
    pairs = WindowIndex.build(queries, method="scan").probe(
        LEFT, ts, grid[None], live, NEVER, len(grid)
    )
    for new, old in zip(pairs.new.tolist(), pairs.old.tolist(), strict=True):
        assert holding(boxes, (grid[new], grid[old])) == 1
