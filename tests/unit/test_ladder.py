"""The ladder: rungs of like width, a ruler of even depth, sixteen candidates at a time."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from numba import njit

from fencepost.errors import BrokenIndex, InputError
from fencepost.matches import Boxes, ProbeResult
from fencepost.matches.ladder import DepthRuler, Ladder
from fencepost.matches.ladder.lane_kernels import keep_above, keep_between, keep_steps
from fencepost.matches.scan import Scan
from fencepost.tuples import Doubles

Array = npt.NDArray[Any]
INF = np.inf
U = np.uint64


def changed(array: Array, place: int | tuple[int, ...], value: float) -> Array:
    """A copy with one entry changed."""
    copy = array.copy()
    copy[place] = value
    return copy


def intervals(*bounds: tuple[float, float]) -> Boxes:
    """Intervals by their bounds."""
    lo, hi = np.array(bounds, np.float64).reshape(-1, 2).T
    return Boxes.of(lo[None], hi[None])


def crowd(seed: int, many: int, widest: float) -> tuple[Boxes, Doubles]:
    """Intervals of all widths, nine of ten in one place, some without end; and points on bounds."""
    rng = np.random.default_rng(seed)
    lo = np.where(rng.random(many) < 0.9, rng.normal(0, 0.01, many), rng.normal(0, 1000, many))
    lo = np.round(lo, 4).astype(np.float64)
    hi = lo + np.maximum(np.round(widest * rng.random(many) ** 6, 4), 0.0001)
    lo[rng.random(many) < 0.02] = -INF
    hi[rng.random(many) < 0.02] = INF
    points = np.concatenate((lo, hi, np.nextafter(lo, -INF), np.nextafter(hi, -INF)))
    points = rng.permutation(points[np.isfinite(points)])[:500]
    return Boxes.of(lo[None], hi[None]), np.append(points, (-1e300, 1e300))[None]


def assert_same(found: ProbeResult, expected: ProbeResult) -> None:
    """Both found the same."""
    found, expected = found.in_order(), expected.in_order()
    np.testing.assert_array_equal(found.ptr, expected.ptr)
    np.testing.assert_array_equal(found.ids, expected.ids)


def test_five_intervals_of_the_papers_hold_what_their_bounds_say() -> None:
    ladder = Ladder.build(intervals((1, 3), (1, 6), (1, 4), (2, 7), (5, 8)))
    found = ladder.probe(np.array([[0.5, 1.0, 2.0, 3.0, 5.5, 7.0, 8.0]])).in_order()
    held = [found.at(point).tolist() for point in range(len(found))]
    assert held == [[], [0, 1, 2], [0, 1, 2, 3], [1, 2, 3], [1, 3, 4], [4], []]


@pytest.mark.parametrize("rungs", [1, 2, 5, None])
@pytest.mark.parametrize("widest", [0.001, 1.0, 3000.0])
def test_any_number_of_rungs_finds_the_same(rungs: int | None, widest: float) -> None:
    boxes, points = crowd(7, 3000, widest)
    ladder = Ladder.build(boxes, rungs=rungs)
    ladder.check()
    assert len(ladder.rungs) <= (rungs or 24) + 3
    assert_same(ladder.probe(points), Scan.build(boxes).probe(points))


def test_intervals_of_one_width_stand_on_one_rung_and_of_many_on_several() -> None:
    lo = np.arange(20_000.0)
    assert len(Ladder.build(Boxes.of(lo[None], lo[None] + 10)).rungs) == 1
    wide = np.where(lo % 2 == 0, 10, 2000)
    assert len(Ladder.build(Boxes.of(lo[None], lo[None] + wide)).rungs) > 1


def test_a_few_intervals_make_one_rung_whatever_their_widths() -> None:
    assert len(Ladder.build(intervals((0, 1), (0, 1e3), (0, 1e6), (0, 1e9), (5, 1e12))).rungs) == 1


def test_intervals_without_an_end_cost_no_test_and_are_found_everywhere() -> None:
    boxes = intervals((-INF, 3), (-INF, 5), (4, INF), (-INF, INF), (2, INF), (0, 1))
    ladder = Ladder.build(boxes)
    ladder.check()
    assert len(ladder.rungs) == 4
    points = np.array([[-1e308, 0, 2, 3, np.nextafter(4, 0), 4, 5, 1e308]])
    assert_same(ladder.probe(points), Scan.build(boxes).probe(points))


def test_the_ladder_takes_at_most_forty_bytes_an_interval() -> None:
    boxes, _ = crowd(1, 50_000, 1.0)
    ladder = Ladder.build(boxes)
    assert ladder.nbytes <= 40 * len(boxes)
    assert ladder.describe().startswith("50,000 intervals on ")


def test_no_interval_and_no_point_find_nothing() -> None:
    none = Ladder.build(intervals())
    none.check()
    assert len(none.probe(np.array([[1.0, 2.0]])).ids) == 0
    assert len(Ladder.build(intervals((0, 1))).probe(np.empty((1, 0)))) == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rung": 3}, "'ladder' has no parameter 'rung'; it has: rungs"),
        ({"rungs": 0}, "rungs is 0, expected a whole number from 1 to 24"),
        ({"rungs": 2.5}, "rungs is 2.5, expected a whole number"),
        ({"rungs": True}, "rungs is True, expected a whole number"),
    ],
)
def test_a_parameter_it_cannot_take_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Ladder.build(intervals((0, 1)), **parameters)


def test_a_ladder_has_one_axis() -> None:
    with pytest.raises(InputError, match="for 1 axis, the boxes have 2"):
        Ladder.build(Boxes.of(np.zeros((2, 3)), np.ones((2, 3))))


BROKEN: dict[str, tuple[Callable[[Ladder], Ladder], str]] = {
    "an interval twice": (
        lambda x: replace(x, ids=changed(x.ids, 3, int(x.ids[4]))),
        "do not hold each of 400 intervals once",
    ),
    "another's lo": (lambda x: replace(x, lo=changed(x.lo, 7, -99)), "lo beside interval"),
    "another's hi": (lambda x: replace(x, hi=changed(x.hi, 7, 99)), "hi beside interval"),
    "a row that falls": (
        lambda x: replace(x, table=changed(x.table, (5, 0), 399)),
        "rung 0 has a row that falls",
    ),
    "one skipped": (
        lambda x: replace(x, table=changed(x.table, (40, 0), int(x.table[40, 1]))),
        "cell 40: one that ends in it or above it stands before maybe",
    ),
    "one sure too soon": (
        lambda x: replace(x, table=changed(x.table, (40, 1), int(x.table[40, 0]))),
        "cell 40: one that is sure ends in it or below it",
    ),
    "one begun too soon": (
        lambda x: replace(x, table=changed(x.table, (40, 2), int(x.table[40, 3]))),
        "cell 40: one that has begun begins in it or above it",
    ),
    "one forgotten": (
        lambda x: replace(x, table=changed(x.table, (40, 3), int(x.table[40, 2]))),
        "cell 40: one that begins later begins in it or below it",
    ),
    "pieces that fall": (
        lambda x: replace(x, ruler=_with_pieces(x, (3, 0), -1e9)),
        r"ladder: piece 3 \(-1000000000.0\) is not above piece 2",
    ),
    "a ruler that goes astray": (
        lambda x: replace(
            x,
            ruler=DepthRuler(x.ruler.marks._replace(starts=changed(x.ruler.marks.starts, 0, 9))),
        ),
        "does not lead to the pieces",
    ),
}


def _with_pieces(ladder: Ladder, place: tuple[int, int], value: float) -> DepthRuler:
    marks = ladder.ruler.marks
    return DepthRuler(marks._replace(pieces=changed(marks.pieces, place, value)))


@pytest.mark.parametrize("broken", BROKEN)
def test_check_tells_what_is_broken(broken: str) -> None:
    lo = np.arange(400) / 4
    ladder = Ladder.build(Boxes.of(lo[None], lo[None] + np.where(lo % 1 == 0, 9.0, 5.0)))
    ladder.check()
    harm, message = BROKEN[broken]
    with pytest.raises(BrokenIndex, match=message):
        harm(ladder).check()


CROWDS: dict[str, Doubles] = {
    "even": np.linspace(0, 1, 5000),
    "a crowd and outliers": np.concatenate((np.linspace(0, 1e-6, 5000), (-1e300, 1e300, 7.0))),
    "all the same": np.full(100, 3.0),
    "neighbours": 1 + np.arange(1000) * np.finfo(np.float64).eps,
    "denormal": np.linspace(0, 1e-321, 200),
    "everywhere": np.concatenate((np.logspace(-300, 300, 600), -np.logspace(-300, 300, 600))),
    "none": np.empty(0),
}


@pytest.mark.parametrize("posts", CROWDS.values(), ids=CROWDS)
def test_positions_never_fall_as_values_grow(posts: Doubles) -> None:
    ruler = DepthRuler.over(posts, 64)
    ruler.check("a ruler")
    rng = np.random.default_rng(3)
    values = np.concatenate(
        (posts, np.nextafter(posts, INF), rng.normal(0, 1, 500), [-1e308, 1e308])
    )
    positions = ruler.positions(np.sort(values))
    assert (np.diff(positions) >= 0).all()
    assert 0 <= positions[0] <= positions[-1] < ruler.size
    least, most = ruler.positions(np.array([-INF, INF]))
    assert least < 0
    assert most >= ruler.size


def test_a_crowd_takes_as_many_positions_as_its_share() -> None:
    posts = np.concatenate((np.linspace(0, 1e-6, 9000), np.linspace(1, 1000, 1000)))
    ruler = DepthRuler.over(posts, 256)
    crowded = ruler.positions(np.array([1e-6]))[0]
    assert 0.85 < crowded / ruler.size < 0.95


@njit
def _run_above(hi, value, ids, room):
    return keep_above(hi, value, ids, U(3), U(14), room, U(2))


@njit
def _run_between(lo, hi, value, ids, room):
    return keep_between(lo, hi, value, ids, U(3), U(14), room, U(2))


@njit
def _run_steps(words, word, ids, room):
    return keep_steps(words, U(word), ids, U(3), U(14), room, U(2))


@pytest.mark.parametrize("seed", range(5))
def test_lanes_compiled_keep_what_they_keep_interpreted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lo, hi = rng.integers(0, 6, 40) / 2, rng.integers(0, 6, 40) / 2
    ids = rng.permutation(40).astype(np.int32)
    fields = rng.integers(0, 3, (40, 4)).astype(np.uint16)
    words = fields.view(np.uint64).ravel()
    word = int((np.array([1, 2, 1, 2], np.uint16) | np.uint16(0x8000)).view(np.uint64)[0])
    one, two = (np.zeros(40, np.int32) for _ in range(2))
    kept = _run_above(hi, 1.5, ids, one)
    assert kept == keep_above.py_func(hi, 1.5, ids, U(3), U(14), two, U(2))
    np.testing.assert_array_equal(one[2:kept], two[2:kept])
    kept = _run_between(lo, hi, 1.0, ids, one)
    assert kept == keep_between.py_func(lo, hi, 1.0, ids, U(3), U(14), two, U(2))
    np.testing.assert_array_equal(one[2:kept], two[2:kept])
    kept, even = _run_steps(words, word, ids, one)
    expected, also_even = keep_steps.py_func(words, word, ids, U(3), U(14), two, U(2))
    assert (kept, even != 0) == (expected, also_even != 0)
    np.testing.assert_array_equal(one[2:kept], two[2:kept])
