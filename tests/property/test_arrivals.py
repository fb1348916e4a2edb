"""Arrivals judged in turn: the rows of the sorting way, fewer places, and when it gives up."""

from dataclasses import replace
from random import Random
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.arrivals import arrive, in_turn
from fencepost.crossings import BorderIndex
from fencepost.engine import step
from fencepost.matches import Matcher
from fencepost.order import OrderRules, Ties
from fencepost.outcome import FeedOutcome
from fencepost.queries import MATCH, QuerySet
from fencepost.state import FeedState
from fencepost.tuples import TupleBatch
from tests.support.oracles.arrival_checks import Judged, arrivals, found_by, index_of
from tests.support.oracles.oracles import batch_of
from tests.support.stories.crowds import Shape, crowd
from tests.support.stories.strategies import FEED, standing_query

AXES = ("x",)


@settings(max_examples=50)
@given(st.randoms(use_true_random=False), st.sampled_from((1, 2)))
@pytest.mark.fault(34)
def test_oracle_arrivals_in_turn_give_the_rows_of_sorting(chance: Random, axes: int) -> None:
    judged = Judged(chance, axes)
    judged.check()
    judged.check(sample=chance.randint(1, 20), often=-1.0)


@settings(max_examples=50)
@given(st.randoms(use_true_random=False), st.sampled_from((1, 2)))
def test_law_any_cut_of_the_deliveries_gives_the_same_rows(chance: Random, axes: int) -> None:
    """One step over all, against a step a delivery; what is left out depends on the cut."""
    judged = Judged(chance, axes)
    state, batch, index = judged.state, judged.batch, judged.index
    events, decided, refused = [], [], 0
    for delivery in range(judged.deliveries):
        part = batch.take(batch.delivery == delivery).with_delivery(0)
        mark = None if judged.marks is None else judged.marks[[delivery]]
        outcome = step(state, part, index, deliveries=1, rules=judged.rules, marks=mark, fast=True)
        events += outcome.events.drop_columns(["delivery"]).to_pylist()
        decided += outcome.transitions.drop_columns(["delivery"]).to_pylist()
        refused += outcome.rejected.num_rows
        state = outcome.state
    whole = judged.stepped(fast=True)
    at_once = whole.events.drop_columns(["delivery"]).to_pylist()
    assert sorted(events, key=repr) == sorted(at_once, key=repr)
    assert refused == whole.rejected.num_rows
    heads = [each.heads.to_table().to_pylist() for each in (state, whole.state)]
    assert sorted(heads[0], key=repr) == sorted(heads[1], key=repr)
    at_once = whole.transitions.drop_columns(["delivery"]).to_pylist()
    assert sorted(decided, key=repr) == sorted(at_once, key=repr)


def at_rest(tuples: int = 2_000) -> tuple[FeedState, TupleBatch, BorderIndex]:
    """Streams that hardly move, and where they were before."""
    people = crowd(Shape(queries=20, streams=20, tuples=tuples, still=0.9, widths=(4, 9)))
    index = BorderIndex.build(QuerySet.from_queries(FEED, people.axes, people.queries))
    first, later = (batch_of(FEED, people.axes, [some]) for some in people.deliveries)
    state = FeedState.empty(FEED, people.axes)
    return step(state, first, index, deliveries=1).state, later, index


def test_of_streams_at_rest_the_path_has_a_few_tuples_and_the_rows_are_the_same() -> None:
    state, later, index = at_rest()
    thin, whole = (step(state, later, index, deliveries=1, fast=fast) for fast in (True, False))
    assert found_by(thin) == found_by(whole)
    assert len(whole.found.type) > 20
    assert len(thin.walked.path) < 0.4 * len(whole.walked.path)
    assert thin.accepted == whole.accepted == len(later)


def test_where_most_steps_pass_a_post_every_tuple_is_on_the_path() -> None:
    state, later, index = at_rest()
    often = mock.patch.multiple(in_turn, SAMPLE=1, OFTEN=-1.0)
    with often:
        whole = step(state, later, index, deliveries=1, fast=True)
    assert whole.walked.path.left_out == 0
    assert found_by(whole) == found_by(step(state, later, index, deliveries=1, fast=False))


def test_with_match_queries_every_tuple_is_on_the_path() -> None:
    state, later, index = at_rest()
    everywhere = QuerySet.from_queries(
        FEED, AXES, [standing_query("m", "x > -99", kind=MATCH)], MATCH
    )
    matcher = Matcher.build(everywhere)
    outcome = step(state, later, index, deliveries=1, matcher=matcher, fast=True)
    assert outcome.walked.path.left_out == 0
    assert outcome.matches.num_rows == len(later)


@pytest.mark.parametrize("ties", ["all", "first"])
@pytest.mark.parametrize("delivery", [(0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 1)])
@pytest.mark.parametrize("ts", [(5, 6, 7, 7), (5, 7, 6, 6), (6, 5, 5, 7), (7, 7, 7, 5)])
def test_out_of_order_is_inserted_and_sorted_only_where_that_is_much_to_pass(
    ts: tuple[int, ...], delivery: tuple[int, ...], ties: Ties
) -> None:
    """Late is who comes in a delivery after that of a newer one; before, there is only an order."""
    batch = replace(
        arrivals(Random(1), 1, 4, 1, 1.0),  # noqa: S311  no secret
        stream=np.zeros(4, np.int32),
        ts=np.array(ts),
        delivery=np.array(delivery, np.int32),
    )
    state, index, rules = FeedState.empty(FEED, AXES), index_of(1), OrderRules(ties)

    def stepped(*, fast: bool) -> FeedOutcome:
        return step(state, batch, index, deliveries=2, rules=rules, method="walk", fast=fast)

    expected = found_by(stepped(fast=False))
    with mock.patch.object(arrive, "_by_sorting", wraps=arrive._by_sorting) as sorting:
        assert found_by(stepped(fast=True)) == expected
        assert not sorting.called
        with mock.patch.object(in_turn, "EFFORT", 0):
            assert found_by(stepped(fast=True)) == expected
        passed = any(
            b < a and d == e for a, b, d, e in zip(ts, ts[1:], delivery, delivery[1:], strict=False)
        )
        assert sorting.called >= passed
