"""Window joins: the methods on crowds, which one is chosen, and what is told and refused."""

from typing import Any

import numpy as np
import pytest

from fencepost.errors import InputError
from fencepost.joins.windows import LEFT, NEVER, RIGHT, Live, WindowIndex
from fencepost.queries.joins import Conjunct, JoinTest, WindowJoins
from fencepost.tuples import Doubles
from tests.support.stories.window_joins import (
    ALL,
    HERE,
    INF,
    METHODS,
    PLUS,
    after,
    at,
    columns,
    join,
    joins,
    live_of,
)

# ── crowds: several blocks, many conjuncts, room that must grow ───────────────────────────────────


def crowd(seed: int, count: int, olds: int, news: int) -> tuple[WindowJoins, Live, Any, Doubles]:
    draw = np.random.default_rng(seed)
    grid = np.round(np.arange(0, 1.01, 0.05), 2)
    said = []
    for k in range(count):
        ends = np.sort(draw.choice(grid, (4, 2)), axis=1)
        free = draw.random(4) < 0.4
        box = tuple(
            (-INF, INF) if wide else (float(lo), after(float(hi)))
            for wide, (lo, hi) in zip(free, ends, strict=True)
        )
        op = ("<", "<=", "=")[draw.integers(3)]
        left, right = int(draw.integers(2)), int(2 + draw.integers(2))
        test = JoinTest(left, float(draw.choice(PLUS)), op, right, float(draw.choice(PLUS)))
        if draw.random() < 0.5:
            test = JoinTest(test.other, test.other_plus, op, test.axis, test.plus)
        timed = draw.random() < 0.5
        said.append(
            join(
                str(k),
                *[Conjunct(box, (test,))] * int(draw.integers(1, 3)),
                window=int(draw.integers(0, olds)) if timed else None,
                last=None if timed else int(draw.integers(1, olds)),
            )
        )
    registered = draw.integers(0, 4, count).tolist()
    ts = np.arange(olds) + draw.integers(-9, 10, olds)
    live = Live(
        np.zeros(olds, np.int32),
        ts,
        draw.choice(grid, (2, olds)),
        np.arange(olds),
        np.arange(olds) // (olds // 4 + 1),
    )
    new = np.sort(draw.integers(olds // 2, olds + 50, news))
    return joins(*said, registered=registered), live, new, draw.choice(grid, (2, news))


@pytest.mark.parametrize("side", [LEFT, RIGHT])
@pytest.mark.parametrize(("count", "olds", "news"), [(300, 1100, 12), (40, 5000, 5), (900, 63, 30)])
def test_all_methods_agree_on_crowds(side: int, count: int, olds: int, news: int) -> None:
    queries, live, ts, values = crowd(count, count, olds, news)
    marks, taken = ts - 40, np.linspace(olds // 2, olds, news).astype(np.int64)
    given_ = side, ts, values, live, marks, taken
    truth = WindowIndex.build(queries, method="scan").probe(*given_)
    assert len(truth) > 5000
    for method in METHODS[1:]:
        pairs = WindowIndex.build(queries, method=method).probe(*given_)
        for mine, theirs in (
            (pairs.new, truth.new),
            (pairs.old, truth.old),
            (pairs.query, truth.query),
        ):
            assert np.array_equal(mine, theirs), method


# ── what is chosen, and what is refused ───────────────────────────────────────────────────────────


def test_narrow_ranges_in_a_long_window_are_searched_and_wide_conditions_met_as_bits() -> None:
    draw = np.random.default_rng(5)
    n = 100_000
    live = Live(np.zeros(n, np.int32), np.arange(n), draw.random((2, n)), np.arange(n),
                np.zeros(n, np.int64))  # fmt: skip
    near = (JoinTest(0, -1e-5, "<=", 2, 0.0), JoinTest(2, 0.0, "<=", 0, 1e-5))
    new = np.full(2000, n), draw.random((2, 2000))
    narrow = WindowIndex.build(
        joins(*[join(str(k), Conjunct(ALL, near), last=n) for k in range(50)])
    )
    wide = WindowIndex.build(joins(*[join(str(k), last=n) for k in range(50)]))
    assert narrow.choice(LEFT, *new, live, NEVER, n).name == "ranges"
    assert wide.choice(LEFT, *new, live, NEVER, n).name == "bitmaps"
    assert (
        "of 100,000 tuples in the narrowest range" in narrow.choice(LEFT, *new, live, NEVER, n).why
    )


def test_a_short_window_is_tested_as_it_stands_or_is_one_block() -> None:
    one, live = columns([(0, HERE)]), live_of(at(*range(40)))
    few = WindowIndex.build(joins(*[join(str(k), last=n) for k, n in enumerate(range(1, 9))]))
    many = WindowIndex.build(joins(*[join(str(k), last=9) for k in range(900)]))
    choice = few.choice(LEFT, *one, live, NEVER, 40)
    assert (choice.name, choice.why) == ("runs", "the window's 40 tuples are tested as they are")
    choice = many.choice(LEFT, *one, live, NEVER, 40)
    assert (choice.name, choice.why) == ("bitmaps", "the window's 40 tuples are one block of bits")


def test_one_tuple_that_asks_little_of_a_long_window_has_nothing_sorted() -> None:
    n = 50_000
    live = Live(np.zeros(n, np.int32), np.arange(n), np.zeros((2, n)), np.arange(n),
                np.zeros(n, np.int64))  # fmt: skip
    index = WindowIndex.build(joins(join("q", window=100)))
    assert index.choice(LEFT, *columns([(n, HERE)]), live, NEVER, n).name == "runs"


def test_it_tells_its_windows_its_tests_and_its_bytes() -> None:
    test = JoinTest(0, 0.0, "<=", 2, 0.0)
    said = [join(str(n), Conjunct(ALL, (test,)), window=n % 3) for n in range(20)]
    index = WindowIndex.build(joins(*said))
    assert index.describe().startswith("auto; 20 joins, 20 conjuncts, 3 windows, 1 tests; l: ")
    assert 20 * 100 < index.nbytes < 20 * 1000
    spatial = WindowIndex.build(joins(*said), method="spatial_join")
    assert spatial.describe().startswith("spatial_join, 80 pieces; ")
    assert spatial.nbytes > index.nbytes


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ({"method": "bitmap"}, "no way to join windows is called 'bitmap'.*Did you mean 'bitmaps'"),
        ({"pieces": 0}, "cannot be cut into 0 pieces"),
    ],
)
def test_what_cannot_be_built_is_refused(given_: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        WindowIndex.build(joins(join("q", last=1)), **given_)


def test_tuples_of_other_axes_are_refused() -> None:
    index = WindowIndex.build(joins(join("q", last=1)))
    with pytest.raises(InputError, match="new tuples of 3 axes, 2 expected"):
        index.probe(LEFT, np.zeros(1, np.int64), np.zeros((3, 1)), live_of(at(0)), NEVER, 1)
