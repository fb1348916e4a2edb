"""What a step found, in pieces: the rows of its tables, each once, in the order that those declare.

Whatever the pieces' size, and whether rows are counted or compared.
"""

import sys
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fencepost import pieces, row_order, row_order_kernels
from fencepost.crossings import BorderIndex
from fencepost.engine import step
from fencepost.outcome import FeedOutcome
from fencepost.pieces import crossing_columns, now_and_before
from fencepost.queries import QuerySet
from fencepost.row_order import SortKey, order_of, ranked
from fencepost.state import FeedState
from fencepost.times import DAY
from pipelines.workloads import PriceBands, PriceWalks
from tests.support.oracles.oracles import assert_same_rows, batch_of, epochs, query_set_of
from tests.support.stories.play import Way, play
from tests.support.stories.strategies import FEED, Story, judged_stories

MOST = 1 << 20
PARTS = ("events", "transitions", "pending", "watermark")
DECIDE = sys.modules["fencepost.transitions.decide"]  # the room has a function of that name
CODES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=60)
NAMES = st.lists(
    st.sampled_from(["", "a", "B", "b", "ä", "𝄞", "z9", "z10"]), min_size=1, max_size=9
)


@given(CODES, st.permutations(range(6)), st.booleans())
def test_rows_that_are_counted_stand_as_rows_that_are_compared(codes, rank, backwards):
    first, second = (np.array([code[k] for code in codes], np.int32) for k in range(2))
    ranks = np.array(rank, np.int32)
    keys = [SortKey(first, ranks, 6), SortKey(second, np.arange(4, dtype=np.int32), 4)]
    rows = np.arange(len(codes), dtype=np.int32)
    rows = rows[::-1].copy() if backwards else rows
    expected = sorted(rows.tolist(), key=lambda row: (ranks[first[row]], second[row]))
    for fast in (False, True):
        assert order_of(keys, rows, fast=fast).tolist() == expected


@given(CODES, st.permutations(range(6)))
def test_rows_are_in_order_if_none_is_before_the_one_before(codes, rank):
    first, second = (np.array([code[k] for code in codes], np.int32) for k in range(2))
    ranks = np.array(rank, np.int32)
    keys = SortKey(first, ranks, 6), SortKey(second, np.arange(4, dtype=np.int32), 4)
    stood = [(ranks[a], b) for a, b in codes]
    assert row_order_kernels.are_in_order(*keys) == (stood == sorted(stood))


@given(NAMES, st.data())
def test_the_names_that_occur_are_ranked_in_the_order_of_their_bytes(names, data):
    codes = np.array(data.draw(st.lists(st.integers(0, len(names) - 1))), np.int32)
    found = ranked(pa.array(names), codes)
    occurring = sorted((names[code] for code in set(codes.tolist())), key=str.encode)
    assert found.names.to_pylist() == occurring
    assert [occurring[rank] for rank in found.rank[codes]] == [names[code] for code in codes]


@given(judged_stories(), st.sets(st.integers(1, 9)), st.integers(1, 5))
def test_pieces_are_the_rows_of_a_step_in_the_order_of_their_tables(
    story: Story, cuts: set[int], most: int
) -> None:
    state = FeedState.empty(FEED, story.axes)
    for epoch in epochs(story.script, cuts):
        index = BorderIndex.build(query_set_of(FEED, story.axes, epoch.registration))
        batch = batch_of(FEED, story.axes, epoch.deliveries)
        many = len(epoch.deliveries)
        outcome = step(state, batch, index, deliveries=many, rules=story.rules)
        assert_columns_are_alike(outcome)
        event(f"{min(len(outcome.decided.kind), 3)} transitions")
        assert_pieces_hold(outcome, most)
        state = outcome.state


@pytest.mark.parametrize("counted", [False, True])
def test_a_piece_has_rows_of_one_day(monkeypatch: pytest.MonkeyPatch, counted: bool) -> None:
    for module in (row_order, pieces):
        monkeypatch.setattr(module, "COMPILE_FROM", 0 if counted else MOST)
    walks = PriceWalks(streams=40, length=30, fluctuation=0.02, interval=DAY // 7)
    wanted = walks.bands(PriceBands(count=60, width=0.1, within=DAY))
    queries = QuerySet.from_table("ticks", ("price",), wanted.table())
    empty = FeedState.empty("ticks", ("price",))
    outcome = step(empty, walks.tuples(), BorderIndex.build(queries), deliveries=1)
    assert len(outcome.found.type) > 500
    for most in (7, 100, MOST):
        assert_pieces_hold(outcome, most)


def assert_pieces_hold(outcome: FeedOutcome, most: int) -> None:
    for whole, parts in (
        (outcome.events, outcome.whole.event_pieces(most)),
        (outcome.transitions, outcome.whole.transition_pieces(most)),
    ):
        found = []
        for piece in parts:
            rows = piece.to_pylist()
            assert 0 < len(rows) <= most
            assert len({row["ts"] // DAY for row in rows}) == 1
            found += rows
        order = [in_order(row) for row in found]
        assert order == sorted(order)
        assert sorted(map(repr, found)) == sorted(map(repr, whole.to_pylist()))


def assert_columns_are_alike(outcome: FeedOutcome) -> None:
    """The kernels look up what NumPy does, in any order of the rows."""
    path, found = outcome.walked.path, outcome.found
    rows = np.arange(len(found.type), dtype=np.int32)[::-1].copy()
    compiled, plain = (crossing_columns(found, path, rows, fast=fast) for fast in (True, False))
    for one, other in zip(compiled, plain, strict=True):
        assert np.asarray(one).tolist() == np.asarray(other).tolist()
    for column in path.values:
        both = [now_and_before(column, plain.place, fast=fast) for fast in (True, False)]
        assert np.array(both[0]).tolist() == np.array(both[1]).tolist()


def in_order(row: dict[str, Any]) -> tuple[Any, ...]:
    """What a row is sorted by, texts by their bytes; events of one instant by their places."""
    query, stream = (row[name].encode() for name in ("query_id", "stream_id"))
    place = row["place"] if "prev_ts" in row else 0
    return row["ts"] // DAY, query, stream, row["ts"], place


@given(judged_stories(), st.sets(st.integers(1, 9)), st.integers(1, 3), st.integers(1, 3))
def test_what_became_of_crossings_does_not_depend_on_how_many_are_decided_at_a_time(
    story: Story, cuts: set[int], piece: int, near: int
) -> None:
    whole = play(story, Way(cuts=cuts))
    with mock.patch.object(DECIDE, "PIECE", piece), mock.patch.object(DECIDE, "NEAR", near):
        assert_same_rows(whole, play(story, Way(cuts=cuts)), PARTS, f"{cuts}")
    event(f"{min(len(whole.transitions), 3)} transitions, {min(len(whole.pending), 3)} pending")
