"""The live window: what is kept, and that nothing is dropped which could still pair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import StateError
from fencepost.joins.windows import LEFT, NEVER, Live, Reach, WindowIndex
from fencepost.queries.joins import FOREVER, WINDOW_JOIN, Conjunct, JoinQuery, WindowJoins
from fencepost.tuples import Int64s

EVERYTHING = (Conjunct(((-np.inf, np.inf),) * 2),)


def joins(*windows: tuple[int | None, int | None]) -> WindowJoins:
    said = [
        JoinQuery(
            id=str(k),
            kind=WINDOW_JOIN,
            left="l",
            right="r",
            conjuncts=EVERYTHING,
            window=window,
            last=last,
        )
        for k, (window, last) in enumerate(windows)
    ]
    return WindowJoins.from_queries(("l", "r"), (("a",), ("b",)), said)


def taken(*times: int, before: int = 0, registry: int = 0) -> Live:
    return Live.empty(1).with_added(
        np.arange(len(times), dtype=np.int32),
        np.array(times, np.int64),
        np.zeros((1, len(times))),
        accepted=before,
        registry=registry,
    )


def times(live: Live) -> list[int]:
    live.check()
    told: list[int] = live.ts.tolist()
    return told


def test_what_is_taken_stands_in_order_with_its_place_and_its_registry() -> None:
    live = taken(5, 3, before=7, registry=2).with_added(
        np.array([9], np.int32), np.array([4]), np.ones((1, 1)), accepted=9, registry=3
    )
    assert times(live) == [5, 3, 4]
    assert live.place.tolist() == [7, 8, 9]
    assert live.registry.tolist() == [2, 2, 3]
    assert live.stream.tolist() == [0, 1, 9]
    assert live.nbytes == 3 * 36
    nothing = live.with_added(
        np.empty(0, np.int32), np.empty(0, np.int64), np.empty((1, 0)), accepted=10, registry=3
    )
    assert nothing is live


def test_a_tuple_is_kept_as_long_as_the_mark_is_not_past_its_window() -> None:
    reach = Reach.of(joins((10, None), (4, None)))
    assert tuple(reach) == (10, None)
    assert times(taken(89, 90, 91).trimmed(reach, 100, 3)) == [90, 91]
    assert times(taken(89, 90, 91).trimmed(reach, NEVER, 3)) == [89, 90, 91]


def test_the_last_n_are_kept_and_no_other() -> None:
    reach = Reach.of(joins((None, 2), (None, 3)))
    assert tuple(reach) == (None, 3)
    live = taken(*range(6))
    assert times(live.trimmed(reach, 10**9, 6)) == [3, 4, 5]
    assert times(live.trimmed(reach, 10**9, 8)) == [5]


def test_what_either_kind_of_window_may_need_is_kept() -> None:
    reach = Reach.of(joins((10, None), (None, 1)))
    assert times(taken(95, 1, 2).trimmed(reach, 100, 3)) == [95, 2]


def test_a_lane_without_window_joins_keeps_nothing() -> None:
    assert Reach.of(joins()) == (None, None)
    assert times(taken(1, 2).trimmed(Reach.of(joins()), NEVER, 2)) == []


def test_a_window_without_an_end_keeps_everything() -> None:
    assert Reach.of(joins((None, None), (5, None))) == (FOREVER, None)
    assert times(taken(1, 2).trimmed(Reach(FOREVER, None), 10**15, 2)) == [1, 2]


@pytest.mark.parametrize(
    ("column", "rows", "told"),
    [
        ("place", [0, 2, 2], "place goes from 2 to 2 at row 2"),
        ("registry", [3, 3, 1], "registry goes from 3 to 1 at row 2"),
        ("place", [0, 1], "3 times, and columns of"),
    ],
)
def test_columns_that_are_no_live_window_are_told(column: str, rows: list[int], told: str) -> None:
    live = taken(1, 2, 3)
    columns = {"place": live.place, "registry": live.registry, column: np.array(rows)}
    with pytest.raises(StateError, match=told):
        Live(live.stream, live.ts, live.values, columns["place"], columns["registry"]).check()


span = st.tuples(
    st.one_of(st.none(), st.integers(0, 5)), st.one_of(st.none(), st.integers(1, 5))
).filter(lambda each: (each[0] is None) != (each[1] is None))


@given(
    st.lists(span, max_size=3),
    st.lists(st.integers(0, 9), max_size=8),
    st.one_of(st.just(NEVER), st.integers(0, 12)),
    st.integers(0, 3),
    st.lists(st.integers(0, 12), min_size=1, max_size=4),
)
def test_whatever_comes_later_pairs_as_if_nothing_had_been_dropped(
    windows: list[tuple[int | None, int | None]],
    olds: list[int],
    mark: int,
    later: int,
    new: list[int],
) -> None:
    queries, live = joins(*windows), taken(*olds)
    kept = live.trimmed(Reach.of(queries), mark, len(olds))
    index = WindowIndex.build(queries, method="scan")
    ts, values = np.array(new, np.int64), np.zeros((1, len(new)))

    def places(of: Live) -> list[tuple[int, int, int]]:
        for at in (mark, max(mark, later)):
            pairs = index.probe(LEFT, ts, values, of, at, len(olds) + later)
        old: Int64s = of.place[pairs.old]
        return list(zip(pairs.new.tolist(), old.tolist(), pairs.query.tolist(), strict=True))

    assert places(kept) == places(live)
