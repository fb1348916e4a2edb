"""The border index: its ranks, pointers and history, and that check() sees whatever is broken."""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from fencepost.crossings import BorderIndex, Heads, index, kernels, twins
from fencepost.crossings.columns import Steps
from fencepost.crossings.layer import Layer, as_posts
from fencepost.crossings.path import Path
from fencepost.crossings.posts import PAD, PostList
from fencepost.crossings.state import UNKNOWN
from fencepost.crossings.walk import walk
from fencepost.engine import FeedState, Outcome, step
from fencepost.errors import BrokenIndex, StateError
from fencepost.queries import QuerySet, StandingQuery
from tests.crowds import MIXED, Shape, crowd
from tests.oracles import batch_of
from tests.strategies import FEED, standing_query

Doubles = npt.NDArray[np.float64]
AXES = ("x",)


def one_axis(*ranges: tuple[float, float]) -> QuerySet:
    """A query a range."""
    queries = [
        StandingQuery(id=f"q{n}", feed=FEED, where="ranges", boxes=((ends,),))
        for n, ends in enumerate(ranges)
    ]
    return QuerySet.from_queries(FEED, AXES, queries)


def mixed(axes: int = 2, queries: int = 120) -> QuerySet:
    """Queries of every sort."""
    people = crowd(replace(MIXED, axes=axes, queries=queries, bound=0.7))
    return QuerySet.from_queries(FEED, people.axes, people.queries)


# ── ranks ─────────────────────────────────────────────────────────────────────────────────────────

TINY = 5e-324
HUGE = 1.7e308
RANGES: dict[str, list[tuple[float, float]]] = {
    "spread": [(float(n), n + 2.5) for n in range(200)],
    "all the same": [(3.0, 4.0)] * 500,
    "two clumps": [(0.0, 1.0)] * 300 + [(1e6, 1e6 + 1)] * 300,
    "far outliers": [*((n / 7, n / 7 + 1) for n in range(300)), (-1e300, 0.0), (1e300, inf)],
    "the ends of the doubles": [(-HUGE, HUGE), (-inf, -HUGE), (HUGE, inf), (0.0, TINY)],
    "denormal gaps": [(n * TINY, (n + 3) * TINY) for n in range(-50, 50)],
    "neighbouring doubles": [(1 + n * 2**-52, 1 + (n + 1) * 2**-52) for n in range(100)],
    "skewed": [(1.1**n, 1.1 ** (n + 1)) for n in range(-300, 300)],
    "only begins": [(float(n % 11), inf) for n in range(50)],
    "only ends": [(-inf, float(n % 11)) for n in range(50)],
    "one": [(0.0, 1.0)],
}


def around(posts: Doubles) -> Doubles:
    """Every post, the double on either side of it, and the ends of all."""
    with np.errstate(over="ignore"):
        near = [posts, np.nextafter(posts, inf), np.nextafter(posts, -inf)]
    values = np.concatenate([*near, [0.0, HUGE, -HUGE, TINY, -TINY, 1e300]])
    return np.unique(values[np.isfinite(values)])


def plain_list(ranges: list[tuple[float, float]]) -> PostList:
    lo, hi = np.array(ranges).T
    posts = PostList.build(0, np.arange(len(ranges), dtype=np.int32), lo, hi)
    posts.check()
    return posts


def searched(posts: PostList, values: Doubles) -> npt.NDArray[np.int64]:
    """How many begins, and how many ends, are at or below each value."""
    sides = (posts.begin_posts[: posts.begins], posts.end_posts[: posts.ends])
    return np.array([np.searchsorted(side, values, side="right") for side in sides])


@pytest.mark.parametrize("name", RANGES)
def test_differential_ranks_by_kernels_by_twins_and_by_searchsorted_are_the_same(name: str) -> None:
    posts = plain_list(RANGES[name])
    lo, hi = np.array(RANGES[name]).T
    assert np.array_equal(posts.begin_posts[: posts.begins], np.sort(lo[np.isfinite(lo)]))
    assert np.array_equal(posts.end_posts[: posts.ends], np.sort(hi[np.isfinite(hi)]))
    ends = np.concatenate([lo, hi])
    values = around(ends[np.isfinite(ends)])
    values = np.random.default_rng(1).permutation(np.repeat(values, 2))
    expected = searched(posts, values)
    columns = as_posts(posts)
    assert np.array_equal(twins.ranks(columns, values), expected)

    found = np.empty((2, len(values)), np.int32)
    kernels.ranks(columns, values, 0, len(values), found[0], found[1])
    assert np.array_equal(found, expected)

    # Runs of many lengths; of the first places some have a pointer, and one run's is not known.
    starts = np.unique(np.linspace(0, len(values), 9).astype(np.int64))
    known = expected[:, starts[:-1]].T.astype(np.int32).copy()
    known[3] = UNKNOWN
    steps = Steps(starts, values[None], np.arange(len(values)))
    near = np.empty((2, len(values)), np.int32)
    kernels.ranks_near(columns, steps, 0, len(starts) - 1, known, near[0], near[1])
    assert np.array_equal(near, expected)


@pytest.mark.parametrize("name", RANGES)
def test_gallop_finds_every_rank_from_every_rank_below_it(name: str) -> None:
    posts = plain_list(RANGES[name]).begin_posts
    own = posts[:-PAD]
    values = around(own)[:: max(1, len(own) // 40)]
    ranks = np.searchsorted(own, values, side="right")
    for value, rank in zip(values, ranks, strict=True):
        for start in {0, rank // 2, max(rank - 5, 0), max(rank - 1, 0), rank}:
            assert kernels.gallop(posts, start, value) == rank


@pytest.mark.parametrize("segments", [1, 7])
def test_differential_ranks_within_segments_equal_searchsorted_in_each(segments: int) -> None:
    rng = np.random.default_rng(2)
    lo = rng.integers(0, 40, 300).astype(np.float64)
    hi = lo + rng.integers(1, 9, 300).astype(np.float64)
    segment = rng.integers(0, segments, 300)
    ids = np.arange(300, dtype=np.int32)
    posts = PostList.build(0, ids, lo, hi, segment, segments, spread=False)
    posts.check()
    values = rng.integers(-5, 55, 400).astype(float)
    starts = np.arange(0, 401, 40)
    own = np.array([*range(segments), *[-1] * 10], np.int32)[:10]
    steps = Steps(starts, values[None], np.arange(400))
    found = np.empty((2, 400), np.int32)
    kernels.ranks_within(as_posts(posts), steps, own, 0, 10, found[0], found[1])
    assert np.array_equal(twins.ranks_within(as_posts(posts), steps, own), found)
    for run, mine in enumerate(own):
        places = slice(starts[run], starts[run + 1])
        for side, ends in enumerate((lo, hi)):
            before = (segment < mine).sum()
            rank = np.searchsorted(np.sort(ends[segment == mine]), values[places], side="right")
            assert (found[side, places] == (0 if mine < 0 else before + rank)).all()


# ── pointers ──────────────────────────────────────────────────────────────────────────────────────


def seen(axes: int = 1) -> tuple[Outcome, BorderIndex]:
    """A crowd's first delivery, taken by the engine."""
    people = crowd(replace(MIXED, axes=axes, bound=0.3))
    queries = QuerySet.from_queries(FEED, people.axes, people.queries)
    built = BorderIndex.build(queries)
    batch = batch_of(FEED, people.axes, people.deliveries[:1])
    return step(FeedState.empty(FEED, people.axes), batch, built, deliveries=1), built


@pytest.mark.parametrize("axes", [1, 2])
def test_a_pointer_is_the_rank_of_the_head_on_each_axis(axes: int) -> None:
    outcome, built = seen(axes)
    heads = outcome.state.heads
    assert heads.index == built.base
    assert {posts.axis for posts in built.layers[0].plain} == set(range(axes))
    for posts in built.layers[0].plain:
        ranks = searched(posts, heads.values[posts.axis])
        assert np.array_equal([heads.begun[posts.axis], heads.ended[posts.axis]], ranks)


def test_pointers_into_another_index_are_forgotten_and_a_registration_keeps_them() -> None:
    outcome, built = seen()
    heads = outcome.state.heads
    more = built.with_added(renamed(one_axis((1, 2)), "a")).with_removed(["q0"])
    assert heads.known_to(more.base) is heads
    other = BorderIndex.build(one_axis((1, 2)))
    assert (heads.known_to(other.base).begun == UNKNOWN).all()
    assert (heads.known_to(other.base).ended == UNKNOWN).all()
    table = heads.to_table()
    assert np.array_equal(Heads.from_table(AXES, table, built.base).begun, heads.begun)
    assert (Heads.from_table(AXES, table, other.base).begun == UNKNOWN).all()


def test_false_pointers_of_a_foreign_index_change_no_event() -> None:
    """They are not even looked at: the fingerprint says whose they are."""
    outcome, built = seen()
    people = crowd(replace(MIXED, bound=0.3))
    heads = outcome.state.heads
    nonsense = replace(heads, begun=heads.begun * 0 + 7, ended=heads.ended * 0 + 7, index="other")
    batch = batch_of(FEED, people.axes, people.deliveries[1:])
    found = [
        step(replace(outcome.state, heads=some), batch, built, deliveries=1, fast=True).found
        for some in (heads, nonsense)
    ]
    for mine, theirs in zip(*found, strict=True):
        assert np.array_equal(mine, theirs)


def test_a_state_without_its_columns_or_of_other_axes_is_refused() -> None:
    table = seen()[0].state.heads.to_table()
    with pytest.raises(StateError, match="no column place; it has stream_id"):
        Heads.from_table(AXES, table.drop_columns("place"))
    with pytest.raises(StateError, match="no column y"):
        Heads.from_table(("x", "y"), table)
    wider = table.append_column("y", table["x"])
    with pytest.raises(StateError, match="not of the 2 axes x, y"):
        Heads.from_table(("x", "y"), wider)


# ── history ───────────────────────────────────────────────────────────────────────────────────────


def crossed(built: BorderIndex, axes: int, fast: bool) -> set[tuple[str, int, int]]:
    """The events of a crowd's walk, by the names of the queries."""
    people = crowd(Shape(axes=axes, tuples=120, stride=20))
    batch = batch_of(FEED, people.axes, people.deliveries)
    order = np.lexsort((batch.ts, batch.stream))
    path = Path.lay(
        Heads.empty(people.axes),
        batch.names,
        batch.stream[order],
        batch.ts[order],
        batch.values[:, order],
        batch.delivery[order],
    )
    found = walk(built, path, fast=fast).events
    names = built.queries.ids.take(pa.array(found.query)).to_pylist()
    rows = list(zip(names, found.place.tolist(), found.type.tolist(), strict=True))
    assert len(set(rows)) == len(rows), "an event was reported twice"
    return set(rows)


@pytest.mark.parametrize("fast", [False, True], ids=["twins", "kernels"])
@pytest.mark.parametrize("floor", [0, 30, 4096], ids=["rebuilt", "sometimes rebuilt", "layered"])
@pytest.mark.parametrize("axes", [1, 2])
def test_whatever_the_history_the_events_are_those_of_an_index_built_at_once(
    axes: int, floor: int, fast: bool
) -> None:
    all_ = mixed(axes)
    with mock.patch.multiple(index, REBUILD_FLOOR=floor, MOST_LAYERS=4):
        grown = BorderIndex.build(all_.take(np.arange(40)))
        layers = []
        for first in range(40, 120, 20):
            grown = grown.with_added(all_.take(np.arange(first, first + 20)))
            gone = [f"q{n}" for n in range(first - 40, first - 35)]
            grown = grown.with_removed(gone)
            grown.check()
            layers.append(len(grown.layers))
            at_once = BorderIndex.build(grown.queries)
            assert crossed(grown, axes, fast) == crossed(at_once, axes, fast) != set()
    assert layers == {0: [1, 1, 1, 1], 30: [2, 1, 2, 1], 4096: [2, 3, 4, 1]}[floor]
    assert set(grown.queries.ids.to_pylist()) == {
        f"q{n}" for n in range(120) if n % 20 >= 5 or n >= 80
    }


def test_an_index_emptied_is_one_that_queries_may_be_added_to_and_removed_from_again() -> None:
    emptied = BorderIndex.build(one_axis((1, 2), (3, 4))).with_removed(["q0", "q1"])
    assert len(emptied) == 0
    again = emptied.with_removed([]).with_added(one_axis((5, 6))).with_removed(["q0"])
    again.check()
    assert len(again) == 0


def test_a_layer_more_than_the_most_and_holes_past_the_floor_lay_all_out_anew() -> None:
    with mock.patch.multiple(index, REBUILD_FLOOR=2, MOST_LAYERS=2):
        built = BorderIndex.build(one_axis((0, 1), (1, 2), (2, 3), (3, 4)))
        one = built.with_added(renamed(one_axis((7, 8)), "a"))
        assert (len(one.layers), one.row_of) == (2, None)
        assert len(one.with_added(renamed(one_axis((8, 9)), "b")).layers) == 1
        assert built.with_removed(["q0", "q1"]).row_of is not None
        assert built.with_removed(["q0", "q1", "q2"]).row_of is None


def renamed(queries: QuerySet, prefix: str) -> QuerySet:
    return replace(queries, ids=pa.array([f"{prefix}{n}" for n in range(len(queries))]), sums=None)


def test_nbytes_is_what_the_arrays_hold_and_44_a_query_of_one_axis() -> None:
    built = BorderIndex.build(one_axis(*((float(n), n + 1.5) for n in range(10_000))))
    (posts,) = built.layers[0].plain
    arrays = [value for value in vars(posts).values() if isinstance(value, np.ndarray)]
    assert sum(array.nbytes for array in arrays) == posts.nbytes
    assert 40 * 10_000 < built.nbytes < 45 * 10_000
    assert built.with_added(renamed(one_axis((1, 2)), "a")).nbytes > built.nbytes
    assert built.with_removed(["q0"]).nbytes == built.nbytes + 4 * 10_000


# ── check() ───────────────────────────────────────────────────────────────────────────────────────


def changed(array: npt.NDArray[Any], place: int, value: float) -> npt.NDArray[Any]:
    """A copy with one entry changed."""
    copy = array.copy()
    copy[place] = value
    return copy


LISTS: dict[str, tuple[Callable[[PostList], PostList], str]] = {
    "begins out of order": (
        lambda p: replace(p, begin_posts=changed(p.begin_posts, 1, -5)),
        r"begin post 1 \(-5.0\) is below post 0 \(0.0\)",
    ),
    "ends out of order": (
        lambda p: replace(p, end_posts=changed(p.end_posts, 3, -5)),
        r"end post 3 \(-5.0\) is below post 2 \(4.0\)",
    ),
    "an open pad": (
        lambda p: replace(p, begin_posts=changed(p.begin_posts, -1, 9)),
        "the pad behind the begins is open",
    ),
    "cells that fall": (lambda p: replace(p, cells=changed(p.cells, 4, 99)), "do not add up to 40"),
    "cells that begin late": (
        lambda p: replace(p, cells=changed(p.cells, 1, 1)),
        "the cells of the ends do not add up",
    ),
    "cells that lack one": (
        lambda p: replace(p, cells=changed(p.cells, -2, 39)),
        "the cells of the begins do not add up to 40",
    ),
    "a post in another's cell": (
        lambda p: replace(p, ruler=replace(p.ruler, scale=p.ruler.scale / 2)),
        "a begin post stands in a cell that is not its own",
    ),
    "a narrowest that is not": (lambda p: replace(p, narrowest=9.0), "a box is 2.0 wide, the narr"),
    "a begin that its box denies": (
        lambda p: replace(p, begin_ids=changed(p.begin_ids, 5, 6)),
        r"begin post 5 \(5.0\) is not what box 6 says, whose begin is 6.0",
    ),
    "an end that its box denies": (
        lambda p: replace(p, end_ids=changed(p.end_ids, 5, 6)),
        r"end post 5 \(7.0\) is not what box 6 says, whose end is 8.0",
    ),
    "a far end that its box denies": (
        lambda p: replace(p, begin_far=changed(p.begin_far, 5, 99)),
        "begin post 5 .* is not what box 5 says",
    ),
    "an unknown query": (
        lambda p: replace(p, end_ids=changed(p.end_ids, 5, 40)),
        "end post 5 is that of 40, unknown here",
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_check_tells_what_is_broken_in_a_list(name: str) -> None:
    tamper, told = LISTS[name]
    built = BorderIndex.build(one_axis(*((float(n), n + 2.0) for n in range(40))))
    (layer,) = built.layers
    broken = replace(built, layers=(replace(layer, plain=(tamper(layer.plain[0]),)),))
    with pytest.raises(BrokenIndex, match=told):
        broken.check()


INDEXES: dict[str, tuple[Callable[[BorderIndex], BorderIndex], str]] = {
    "a missing list": (
        lambda b: replace(b, layers=(replace(b.layers[0], plain=()), *b.layers[1:])),
        "axis 0: not every begin of a box is a post",
    ),
    "a slot that is not its own": (
        lambda b: replace(b, layers=(b.layers[0], replace(b.layers[1], slot=39))),
        "unknown here|layer 1 begins at slot 39, expected 40",
    ),
    "a query with two slots": (
        lambda b: replace(b, row_of=np.array([0, *range(40)], np.int32)),
        "41 slots and 41 queries: not every query has one slot",
    ),
    "a query with none": (
        lambda b: replace(b, row_of=np.array([index.REMOVED, *range(1, 41)], np.int32)),
        "not every query has one slot",
    ),
    "too few slots": (
        lambda b: replace(b, row_of=np.arange(40, dtype=np.int32)),
        "not every query has one slot",
    ),
    "an empty box": (
        lambda b: replace(b, layers=(emptied(b.layers[0]), *b.layers[1:])),
        "box 0",
    ),
}


def emptied(layer: Layer) -> Layer:
    return replace(layer, queries=replace(layer.queries, hi=layer.queries.lo))


@pytest.mark.parametrize("name", INDEXES)
def test_check_tells_what_is_broken_in_an_index(name: str) -> None:
    tamper, told = INDEXES[name]
    built = BorderIndex.build(one_axis(*((float(n), n + 2.0) for n in range(40))))
    built = built.with_added(renamed(one_axis((1, 2)), "a"))
    built.check()
    with pytest.raises(BrokenIndex, match=told):
        tamper(built).check()


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("striped", [False, True])
def test_check_sees_a_wrong_id_in_every_list_of_a_layer(axes: int, striped: bool) -> None:
    built = BorderIndex.build(mixed(axes, queries=300), striped=striped)
    built.check()
    (layer,) = built.layers
    kinds = {
        name: getattr(layer, name)
        for name in ("plain", "plain_named", "checked", "checked_named")
        if getattr(layer, name)
    }
    assert len(kinds) == 4
    for name, lists in kinds.items():
        for number, one in enumerate(lists):
            posts = one.posts if name == "checked" else one
            for column in ("begin_ids", "end_ids"):
                ids = getattr(posts, column)
                wrong = replace(posts, **{column: changed(ids, 0, ids[:-PAD].max() + 1)})
                tampered = replace(one, posts=wrong) if name == "checked" else wrong
                others: dict[str, Any] = {name: (*lists[:number], tampered, *lists[number + 1 :])}
                broken = replace(layer, **others)
                with pytest.raises(BrokenIndex):
                    broken.check()


def test_standing_queries_that_are_bounded_nowhere_have_no_post_and_are_whole() -> None:
    all_ = QuerySet.from_queries(FEED, AXES, [standing_query("q", "ALL", on_first="enter")])
    built = BorderIndex.build(all_)
    built.check()
    assert list(built.layers[0].lists()) == []
