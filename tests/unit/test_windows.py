"""Window joins: every method against the law read aloud, on borders and ties all the time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fencepost.joins.windows import LEFT, NEVER, RIGHT, Live, WindowIndex
from fencepost.queries.joins import FOREVER, Conjunct, JoinQuery, JoinTest
from tests.support.stories.window_joins import (
    ALL,
    DTYPES,
    GRID,
    HERE,
    INF,
    METHODS,
    PLUS,
    Old,
    after,
    at,
    by_law,
    columns,
    join,
    joins,
    live_of,
    rows_of,
)


def found(
    said: Sequence[JoinQuery],
    new: Sequence[tuple[int, tuple[float, ...]]],
    olds: Sequence[Old],
    *,
    side: int = LEFT,
    mark: int = NEVER,
    taken: int | None = None,
    registered: Sequence[int] | None = None,
) -> list[tuple[int, int, int]]:
    """What every method finds, all of them held to the law."""
    queries = joins(*said, registered=registered)
    count = taken if taken is not None else max((old.place for old in olds), default=-1) + 1
    truth = list(by_law(queries, said, side, new, olds, mark, count))
    live = live_of(olds)
    live.check()
    for method in METHODS:
        index = WindowIndex.build(queries, method=method)
        index.check()
        pairs = index.probe(side, *columns(new), live, mark, count)
        assert [str(column.dtype) for column in (pairs.new, pairs.old, pairs.query)] == DTYPES
        assert rows_of(pairs) == truth, method
    return truth


# ── windows of time ───────────────────────────────────────────────────────────────────────────────


def test_a_pair_at_the_windows_very_edge_is_reported() -> None:
    olds = at(89, 90, 100, 110, 111)
    assert found([join("q", window=10)], [(100, HERE)], olds) == [(0, 1, 0), (0, 2, 0), (0, 3, 0)]


def test_an_old_tuple_is_in_its_window_until_the_mark_is_past_it() -> None:
    olds, new = at(100), [(105, HERE)]
    said = [join("q", window=10)]
    assert found(said, new, olds, mark=110) == [(0, 0, 0)]
    assert found(said, new, olds, mark=111) == []
    assert found(said, new, olds, mark=NEVER) == [(0, 0, 0)]


def test_a_mark_past_all_that_a_window_reaches_leaves_nothing() -> None:
    olds = [Old(6 if place == 8 else place // 9, HERE, place) for place in range(1, 11)]
    said = [join("q", window=0), join("r", last=4)]
    assert found(said, [(0, HERE)], olds, mark=6, taken=11) == [(0, k, 1) for k in (6, 7, 8, 9)]


def test_a_window_of_nothing_holds_equal_times() -> None:
    assert found([join("q", window=0)], [(7, HERE), (8, HERE)], at(7, 7, 8)) == [
        (0, 0, 0),
        (0, 1, 0),
        (1, 2, 0),
    ]


def test_times_out_of_order_are_found_where_they_stand() -> None:
    olds = at(*[500, 100, 300, 100, 900, 299] * 120)
    rows = found([join("q", window=1)], [(300, HERE), (899, HERE), (100, HERE)], olds)
    assert len(rows) == 2 * 120 + 120 + 2 * 120


def test_the_longest_of_windows_is_no_overflow() -> None:
    said = [join("q", window=FOREVER), join("r", window=1 << 62)]
    assert len(found(said, [(4 << 50, HERE)], at(-(4 << 50), 4 << 50), mark=4 << 50)) == 4


# ── windows of tuples ─────────────────────────────────────────────────────────────────────────────


def test_the_last_n_taken_are_in_and_no_other() -> None:
    olds = at(*[0] * 8)
    assert found([join("q", last=3)], [(10**9, HERE)], olds) == [(0, 5, 0), (0, 6, 0), (0, 7, 0)]
    assert found([join("q", last=1)], [(0, HERE)], olds) == [(0, 7, 0)]
    assert len(found([join("q", last=8)], [(0, HERE)], olds)) == 8


def test_places_count_what_was_taken_not_what_is_still_kept() -> None:
    olds = [Old(0, HERE, place) for place in (3, 5, 8)]
    assert found([join("q", last=4)], [(0, HERE)], olds, taken=9) == [(0, 1, 0), (0, 2, 0)]


def test_the_mark_says_nothing_to_a_window_of_tuples() -> None:
    assert found([join("q", last=2)], [(0, HERE)], at(0, 1), mark=10**9) == [(0, 0, 0), (0, 1, 0)]


def test_columns_that_are_read_only_or_lie_apart_are_taken() -> None:
    live = live_of(at(*range(6)))
    apart = np.zeros((6, 2)).T
    for column in (live.ts, live.place, live.registry):
        column.flags.writeable = False
    given_ = Live(live.stream, live.ts, apart, live.place, live.registry)
    for method in METHODS:
        index = WindowIndex.build(joins(join("q", last=2)), method=method)
        assert rows_of(index.probe(RIGHT, *columns([(9, HERE)]), given_, NEVER, 6)) == [
            (0, 4, 0),
            (0, 5, 0),
        ]


def test_windows_of_every_kind_and_length_stand_in_one_set() -> None:
    said = [join(f"t{w}", window=w) for w in (0, 1, 5, 1000)]
    said += [join(f"c{n}", last=n) for n in (1, 2, 600, 1300)]
    olds = at(*range(0, 2400, 2))
    rows = found(said, [(1200, HERE), (2399, HERE)], olds, mark=900)
    assert {query for _, _, query in rows} == set(range(8))


# ── registration and validity ─────────────────────────────────────────────────────────────────────


def test_a_tuple_taken_before_a_query_came_never_pairs() -> None:
    olds = [Old(0, HERE, place, registry) for place, registry in enumerate((1, 1, 2, 3))]
    said = [join("old", window=9), join("new", window=9), join("newest", last=9)]
    rows = found(said, [(0, HERE)], olds, registered=[1, 2, 3])
    assert rows == [(0, 0, 0), (0, 1, 0), (0, 2, 0), (0, 2, 1), (0, 3, 0), (0, 3, 1), (0, 3, 2)]


def test_validity_is_asked_of_the_later_tuple_and_ends_before_its_end() -> None:
    said = [join("q", window=99, valid_from=10, valid_to=20)]
    new = [(9, HERE), (10, HERE), (19, HERE), (20, HERE)]
    assert found(said, new, at(5)) == [(1, 0, 0), (2, 0, 0)]


# ── conditions ────────────────────────────────────────────────────────────────────────────────────


def test_a_rounded_sum_is_the_border() -> None:
    """0.2 + 0.1 is above 0.3, as doubles are added."""
    test = JoinTest(0, 0.1, "<=", 2, 0.0)
    olds = [Old(0, (v, 0.0), k) for k, v in enumerate((0.3, 0.1 + 0.2, 0.3000000000000001))]
    said = [join("q", Conjunct(ALL, (test,)), window=0)]
    assert found(said, [(0, (0.2, 0.0))], olds) == [(0, 1, 0), (0, 2, 0)]
    turned = JoinTest(2, 0.0, "=", 0, 0.1)
    assert found([join("q", Conjunct(ALL, (turned,)), window=0)], [(0, (0.2, 0.0))], olds) == [
        (0, 1, 0)
    ]


def test_a_query_is_reported_once_however_many_conjuncts_hold() -> None:
    several = [Conjunct(ALL), Conjunct(((0.0, INF), *ALL[1:])), Conjunct(ALL)]
    said = [join("first", *several, last=5), join("second", Conjunct(ALL), *several, window=5)]
    assert found(said, [(0, HERE)], at(0)) == [(0, 0, 0), (0, 0, 1)]


def test_tests_within_a_side_are_asked_of_that_side() -> None:
    mine, theirs = JoinTest(0, 0.0, "<", 1, 0.0), JoinTest(2, 1.0, "<=", 3, 0.0)
    said = [join("mine", Conjunct(ALL, (mine,)), last=9), join("theirs", Conjunct(ALL, (theirs,)),
            last=9), join("both", Conjunct(ALL, (mine, theirs)), last=9)]  # fmt: skip
    olds = [Old(0, (0.0, 1.0), 0), Old(0, (0.0, 0.5), 1)]
    new = [(0, (0.0, 1.0)), (0, (1.0, 0.0))]
    assert found(said, new, olds) == [(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 1, 0), (1, 0, 1)]


def test_values_farther_apart_than_any_double_are_ranked_all_the_same() -> None:
    most = float(np.finfo(np.float64).max)
    values = (-most, -1e308, -1.0, 0.0, 5e-324, 1.0, 1e308, most)
    olds = [Old(0, (v, -v), k) for k, v in enumerate(values)]
    said = [
        join(
            f"{k}{op}",
            Conjunct(((-INF, INF), (-INF, INF), (lo, INF), (-INF, INF)), (test,)),
            last=9,
        )
        for k, lo in enumerate((-INF, -1e308, 0.0))
        for op in ("<", "<=", "=")
        for test in [JoinTest(0, most, op, 2, most)]
    ]
    new = [(0, (v, 0.0)) for v in values]
    assert found(said, new, olds)
    assert found(said, new, olds, side=RIGHT)


def test_nothing_pairs_with_an_empty_side_and_no_query_finds_nothing() -> None:
    queries = joins(join("q", last=5))
    one = columns([(0, HERE)])
    for method in METHODS:
        index = WindowIndex.build(queries, method=method)
        assert rows_of(index.probe(LEFT, *one, Live.empty(2), NEVER, 0)) == []
        assert rows_of(index.probe(LEFT, *columns([]), live_of(at(0)), NEVER, 1)) == []
        none = WindowIndex.build(joins(), method=method)
        none.check()
        assert rows_of(none.probe(RIGHT, *one, live_of(at(0)), NEVER, 1)) == []
        assert len(none) == 0


# ── every method, on small grids ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Drawn:
    said: list[JoinQuery]
    registered: list[int]
    side: int
    new: list[tuple[int, tuple[float, ...]]]
    olds: list[Old]
    mark: int
    more: int


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    value, time = st.sampled_from(GRID), st.integers(0, 6)
    span = st.one_of(
        st.just((-INF, INF)),
        st.tuples(value, value).map(lambda ends: (min(ends), after(max(ends)))),
        value.map(lambda v: (v, INF)),
        value.map(lambda v: (-INF, v)),
    )
    axis = st.integers(0, 3)
    test = st.builds(
        JoinTest, axis, st.sampled_from(PLUS), st.sampled_from(("<", "<=", "=")), axis,
        st.sampled_from(PLUS),
    )  # fmt: skip
    conjunct = st.builds(Conjunct, st.tuples(*[span] * 4), st.lists(test, max_size=2).map(tuple))
    ends = st.one_of(st.none(), time)

    def query(number: int) -> JoinQuery:
        timed = draw(st.booleans())
        return join(
            str(number),
            *draw(st.lists(conjunct, min_size=1, max_size=3)),
            window=draw(st.integers(0, 4)) if timed else None,
            last=None if timed else draw(st.integers(1, 5)),
            valid_from=draw(ends),
            valid_to=draw(ends),
        )

    said = [query(n) for n in range(draw(st.integers(1, 5)))]
    point = st.tuples(value, value)
    gaps = draw(st.lists(st.sampled_from((1, 1, 1, 2)), max_size=10))
    steps = draw(st.lists(st.sampled_from((0, 0, 1)), min_size=len(gaps), max_size=len(gaps)))
    places, versions = np.cumsum([0, *gaps]).tolist(), np.cumsum([0, *steps]).tolist()
    olds = [
        Old(draw(time), draw(point), place, version)
        for place, version in zip(places[1:], versions[1:], strict=True)
    ]
    return Drawn(
        said,
        [draw(st.integers(0, 3)) for _ in said],
        draw(st.sampled_from((LEFT, RIGHT))),
        draw(st.lists(st.tuples(time, point), max_size=6)),
        olds,
        draw(st.one_of(st.just(NEVER), time)),
        draw(st.integers(0, 2)),
    )


@given(drawn())
def test_every_method_is_the_law(case: Drawn) -> None:
    taken = max((old.place for old in case.olds), default=-1) + 1 + case.more
    found(
        case.said,
        case.new,
        case.olds,
        side=case.side,
        mark=case.mark,
        taken=taken,
        registered=case.registered,
    )


@given(drawn())
def test_a_batch_is_its_tuples_one_by_one(case: Drawn) -> None:
    queries, live = joins(*case.said, registered=case.registered), live_of(case.olds)
    taken = max((old.place for old in case.olds), default=-1) + 1
    ts, values = columns(case.new)
    for method in METHODS:
        index = WindowIndex.build(queries, method=method)
        together = rows_of(index.probe(case.side, ts, values, live, case.mark, taken))
        alone = [
            (i, old, query)
            for i in range(len(ts))
            for _, old, query in rows_of(
                index.probe(case.side, ts[i : i + 1], values[:, i : i + 1], live, case.mark, taken)
            )
        ]
        assert together == alone, method


@given(drawn())
def test_tuples_of_several_deliveries_may_be_asked_together(case: Drawn) -> None:
    queries, live = joins(*case.said, registered=case.registered), live_of(case.olds)
    ts, values = columns(case.new)
    draw = np.random.default_rng(len(ts))
    taken, marks = draw.integers(0, 12, len(ts)), draw.integers(0, 7, len(ts))
    for method in METHODS:
        index = WindowIndex.build(queries, method=method)
        together = rows_of(index.probe(case.side, ts, values, live, marks, taken))
        apart = []
        for i, (new, mark, count) in enumerate(zip(case.new, marks, taken, strict=True)):
            there = [old for old in case.olds if old.place < count]
            truth = by_law(queries, case.said, case.side, [new], there, int(mark), int(count))
            apart += [(i, old, query) for _, old, query in truth]
        assert together == apart, method
