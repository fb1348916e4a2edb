"""The border index: its ranks, its pointers, and its history."""

from dataclasses import replace
from unittest import mock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from fencepost.arrivals import in_turn
from fencepost.crossings import BorderIndex, Heads, index, kernels, twins
from fencepost.crossings.columns import Steps
from fencepost.crossings.fences import fences_of
from fencepost.crossings.layer import as_posts
from fencepost.crossings.path import Path
from fencepost.crossings.posts import EvenCells, PostList
from fencepost.crossings.state import UNKNOWN
from fencepost.crossings.walk import walk
from fencepost.engine import step
from fencepost.errors import StateError
from fencepost.outcome import FeedOutcome
from fencepost.queries import QuerySet
from fencepost.state import FeedState
from tests.support.oracles.kernel_suite import ordered
from tests.support.oracles.oracles import batch_of
from tests.support.oracles.rank_checks import (
    RANGES,
    around,
    check_gallop,
    check_ranks,
    check_ranks_near,
    plain_list,
    searched,
)
from tests.support.stories.crowds import MIXED, Shape, crowd, mixed, one_axis
from tests.support.stories.strategies import FEED

Doubles = npt.NDArray[np.float64]
AXES = ("x",)


# ── ranks ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", RANGES)
def test_the_posts_of_a_list_are_the_sorted_finite_ends_of_its_ranges(name: str) -> None:
    posts = plain_list(RANGES[name])
    posts.check()
    lo, hi = np.array(RANGES[name]).T
    assert np.array_equal(posts.begin_posts[: posts.begins], np.sort(lo[np.isfinite(lo)]))
    assert np.array_equal(posts.end_posts[: posts.ends], np.sort(hi[np.isfinite(hi)]))


@pytest.mark.parametrize("name", RANGES)
def test_differential_ranks_by_kernels_by_twins_and_by_searchsorted_are_the_same(name: str) -> None:
    posts, values = plain_list(RANGES[name]), around(np.array(RANGES[name]).ravel())
    expected = searched(posts, values)
    assert np.array_equal(twins.ranks(as_posts(posts), values), expected)
    check_ranks(posts, values, expected)
    check_ranks_near(posts, values, expected)


@pytest.mark.parametrize("name", RANGES)
def test_gallop_finds_every_rank_from_every_rank_below_it(name: str) -> None:
    posts = plain_list(RANGES[name])
    check_gallop(posts.begin_posts, around(posts.begin_posts[: posts.begins])[::7])


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


def seen(axes: int = 1) -> tuple[FeedOutcome, BorderIndex]:
    """A crowd's first delivery, taken by the engine."""
    people = crowd(replace(MIXED, axes=axes, bound=0.3))
    queries = QuerySet.from_queries(FEED, people.axes, people.queries)
    built = BorderIndex.build(queries)
    batch = batch_of(FEED, people.axes, people.deliveries[:1])
    return step(
        FeedState.empty(FEED, people.axes), batch, built, deliveries=1, method="walk"
    ), built


@pytest.mark.parametrize("axes", [1, 2])
def test_a_pointer_is_the_rank_of_the_head_on_each_axis(axes: int) -> None:
    outcome, built = seen(axes)
    heads = outcome.state.heads
    assert heads.index == built.base
    assert {posts.axis for posts in built.layers[0].plain} == set(range(axes))
    for posts in built.layers[0].plain:
        ranks = searched(posts, heads.values[posts.axis])
        assert np.array_equal([heads.begun[posts.axis], heads.ended[posts.axis]], ranks)


@pytest.mark.fault(31, 57)
def test_pointers_into_another_index_are_forgotten_and_a_registration_keeps_them() -> None:
    outcome, built = seen()
    heads = outcome.state.heads
    more = built.with_added(one_axis((1, 2), prefix="a")).with_removed(["q0"])
    assert heads.known_to(more.base) is heads
    other = BorderIndex.build(one_axis((1, 2)))
    assert (heads.known_to(other.base).begun == UNKNOWN).all()
    assert (heads.known_to(other.base).ended == UNKNOWN).all()
    table = heads.to_table()
    assert np.array_equal(Heads.from_table(AXES, table, built.base).begun, heads.begun)
    assert (Heads.from_table(AXES, table, other.base).begun == UNKNOWN).all()


@pytest.mark.fault(31, 57)
def test_false_pointers_of_a_foreign_index_change_no_event() -> None:
    """They are not even looked at: the fingerprint says whose they are."""
    outcome, built = seen()
    people = crowd(replace(MIXED, bound=0.3))
    heads = outcome.state.heads
    nonsense = replace(heads, begun=heads.begun * 0 + 7, ended=heads.ended * 0 + 7, index="other")
    batch = batch_of(FEED, people.axes, people.deliveries[1:])
    found = [
        step(
            replace(outcome.state, heads=some), batch, built, deliveries=1, method="walk", fast=True
        ).found
        for some in (heads, nonsense)
    ]
    for mine, theirs in zip(*found, strict=True):
        assert np.array_equal(mine, theirs)


@pytest.mark.parametrize("false", [0, 1, 7, 10**9, -9])
@pytest.mark.parametrize("side", ["begun", "ended", "both"])
@pytest.mark.fault(57)
def test_a_false_pointer_of_the_very_index_changes_no_event_either(false: int, side: str) -> None:
    """Where hardly a step passes a post pointers are followed; a state may be tampered with."""
    people = crowd(Shape(queries=40, streams=40, tuples=400, still=0.9))
    built = BorderIndex.build(QuerySet.from_queries(FEED, people.axes, people.queries))
    empty = FeedState.empty(FEED, people.axes)
    first, later = (batch_of(FEED, people.axes, [some]) for some in people.deliveries)
    state = step(empty, first, built, deliveries=1).state
    wrong = np.full_like(state.heads.begun, false)
    begun = state.heads.begun if side == "ended" else wrong
    ended = state.heads.ended if side == "begun" else wrong
    tampered = replace(state, heads=replace(state.heads, begun=begun, ended=ended))
    with (
        mock.patch.object(kernels, "ranks_near", wraps=kernels.ranks_near) as near,
        mock.patch.multiple(in_turn, SAMPLE=1, OFTEN=-1.0),  # every tuple is on the path
    ):
        outcome = step(tampered, later, built, deliveries=1, method="walk", fast=True)
    assert near.called
    expected = step(state, later, built, deliveries=1, fast=False)
    assert np.array_equal(ordered(outcome.found), ordered(expected.found))
    assert np.array_equal(outcome.state.heads.begun, expected.state.heads.begun)


def test_a_state_that_lacks_columns_or_values_or_is_of_other_axes_is_refused() -> None:
    table = seen()[0].state.heads.to_table()
    with pytest.raises(StateError, match="no column place; it has stream_id"):
        Heads.from_table(AXES, table.drop_columns("place"))
    with pytest.raises(StateError, match="no column y"):
        Heads.from_table(("x", "y"), table)
    for value, told in ((None, "nulls in x"), (np.nan, "not finite"), (np.inf, "not finite")):
        x = pa.array([value, *table["x"].to_pylist()[1:]], pa.float64())
        with pytest.raises(StateError, match=told):
            Heads.from_table(AXES, table.set_column(2, "x", x))
    wider = table.append_column("y", table["x"])
    with pytest.raises(StateError, match="not of the 2 axes x, y"):
        Heads.from_table(("x", "y"), wider)


@pytest.mark.parametrize("moved", [(0, 1, 2), (2, 0, 1), (1,), (0, 1), (0, 1, 2, 3), (3, 1), ()])
def test_later_heads_replace_those_of_their_streams_and_new_ones_come_behind(
    moved: tuple[int, ...],
) -> None:
    def heads(streams: tuple[int, ...], ts: int) -> Heads:
        at = np.array(streams, np.int32)
        return Heads(
            axes=("x",),
            names=pa.array([f"s{stream}" for stream in streams], pa.string()),
            ts=ts + at.astype(np.int64),
            values=at[None].astype(np.float64) + ts,
            begun=at[None] + ts,
            ended=at[None] - ts,
            index="one",
            ts_place=at,
        )

    known = (0, 1, 2)
    merged = heads(known, 0).with_heads(heads(moved, 10), np.array(moved, np.int32))
    rows = {row["stream_id"]: row for row in heads(known, 0).to_table().to_pylist()}
    rows |= {row["stream_id"]: row for row in heads(moved, 10).to_table().to_pylist()}
    assert merged.to_table().to_pylist() == list(rows.values())


# ── history ───────────────────────────────────────────────────────────────────────────────────────


def crossed(built: BorderIndex, axes: int, fast: bool) -> set[tuple[str, int, int]]:
    """The events of a crowd's walk, by the names of the queries."""
    people = crowd(Shape(axes=axes, tuples=120, stride=20))
    batch = batch_of(FEED, people.axes, people.deliveries)
    order = np.lexsort((batch.ts, batch.stream))
    path = Path.build(
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


@pytest.mark.parametrize("axes", [1, 2])
def test_fences_that_grew_are_those_of_all_layers(axes: int) -> None:
    all_ = mixed(axes)
    grown = BorderIndex.build(all_.take(np.arange(40)))
    for first in range(40, 120, 20):
        before = grown.fences
        grown = grown.with_added(all_.take(np.arange(first, first + 20)))
        grown = grown.with_removed([f"q{n}" for n in range(first - 40, first - 35)])
        made, anew = grown.fences, fences_of(grown.layers)
        assert len(before.posts) < len(made.posts)
        assert np.array_equal(made.posts, anew.posts)
        assert np.array_equal(made.first, anew.first)
        for axis in range(axes):
            ends = np.append(made.first, len(made.posts))[axis : axis + 2]
            posts = made.posts[slice(*ends)][1:-1]
            cells = int(made.cells[axis])
            ruler = EvenCells(float(made.origin[axis]), float(made.scale[axis]), cells)
            starts = made.starts[made.first_cell[axis] :][: cells + 1]
            assert np.array_equal(starts, np.searchsorted(ruler.cell(posts), np.arange(cells + 1)))
    assert len(grown.layers) > 3


def test_an_index_emptied_is_one_that_queries_may_be_added_to_and_removed_from_again() -> None:
    emptied = BorderIndex.build(one_axis((1, 2), (3, 4))).with_removed(["q0", "q1"])
    assert len(emptied) == 0
    again = emptied.with_removed([]).with_added(one_axis((5, 6))).with_removed(["q0"])
    again.check()
    assert len(again) == 0


def test_a_layer_more_than_the_most_and_holes_past_the_floor_lay_all_out_anew() -> None:
    with mock.patch.multiple(index, REBUILD_FLOOR=2, MOST_LAYERS=2):
        built = BorderIndex.build(one_axis((0, 1), (1, 2), (2, 3), (3, 4)))
        one = built.with_added(one_axis((7, 8), prefix="a"))
        assert (len(one.layers), one.row_of) == (2, None)
        assert len(one.with_added(one_axis((8, 9), prefix="b")).layers) == 1
        assert built.with_removed(["q0", "q1"]).row_of is not None
        assert built.with_removed(["q0", "q1", "q2"]).row_of is None


def test_nbytes_is_what_the_arrays_hold_and_44_a_query_of_one_axis() -> None:
    built = BorderIndex.build(one_axis(*((float(n), n + 1.5) for n in range(10_000))))
    (posts,) = built.layers[0].plain
    arrays = [value for value in vars(posts).values() if isinstance(value, np.ndarray)]
    assert sum(array.nbytes for array in arrays) == posts.nbytes
    assert 40 * 10_000 < built.nbytes < 45 * 10_000
    assert built.with_added(one_axis((1, 2), prefix="a")).nbytes > built.nbytes
    assert built.with_removed(["q0"]).nbytes == built.nbytes + 4 * 10_000


# ── what is learned from some steps ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize("runs", [(5000,), (1, 1, 1), (2,) * 900, (1, 2, 3, 1, 700, 1), (3,) * 333])
def test_a_sampled_step_never_leads_from_one_stream_to_another(runs: tuple[int, ...]) -> None:
    n, stream = sum(runs), np.repeat(np.arange(len(runs), dtype=np.int32), runs)
    names = pa.array([f"s{k}" for k in range(len(runs))])
    ts, delivery = np.arange(n), np.zeros(n, np.int32)
    path = Path.build(Heads.empty(AXES), names, stream, ts, np.zeros((1, n)), delivery)
    p, c = path.sample
    assert np.array_equal(p + 1, c)
    assert np.array_equal(stream[p], stream[c])
    steps = n - len(runs)
    assert len(c) >= min(steps, 16)
    assert len(c) <= 1024
