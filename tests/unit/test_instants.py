"""Tags, sequences and numbers of tuples: what the engine carries along, and in which order."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fencepost.crossings import BorderIndex, Heads
from fencepost.engine import step
from fencepost.errors import InputError
from fencepost.joins.engine import step as joined
from fencepost.joins.state import LaneState
from fencepost.matches import Matcher
from fencepost.order import OrderRules
from fencepost.outcome import FeedOutcome
from fencepost.queries import MATCH, QuerySet
from fencepost.state import FeedState
from fencepost.tuples import TupleBatch, sequence_as
from tests.support.stories.join_play import index_of
from tests.support.stories.join_stories import FEEDS
from tests.support.stories.strategies import FEED, standing_query

AXES = ("x",)
INSIDE = QuerySet.from_queries(FEED, AXES, [standing_query("q", "x > 5", within=9)])
HIGH = QuerySet.from_queries(FEED, AXES, [standing_query("m", "x > 7", kind=MATCH)], MATCH)
EMPTY = FeedState.empty(FEED, AXES)


def batch(*rows: tuple[str, int, float], feed: str = FEED, **more: Any) -> TupleBatch:
    names, ts, x = zip(*rows, strict=True)
    return TupleBatch.from_columns(
        feed, AXES, pa.array(names), np.array(ts, np.int64), np.array([x]), **more
    )


def stepped(state: FeedState, tuples: TupleBatch, lateness: int = 0) -> FeedOutcome:
    rules = OrderRules("all", lateness)
    index = BorderIndex.build(INSIDE)
    return step(state, tuples, index, deliveries=1, rules=rules, matcher=Matcher.build(HIGH))


def told(outcome: FeedOutcome) -> list[tuple[Any, ...]]:
    names = ("type", "ts", "place", "x")
    return [tuple(row[name] for name in names) for row in outcome.events.to_pylist()]


# ── tags ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_tag_comes_out_with_what_its_tuple_leads_to():
    rows = [("b", 1, 1.0), ("a", 3, 8.0), ("a", 1, 2.0), ("a", 2, 9.0), ("b", 1, 8.5)]
    outcome = stepped(EMPTY, batch(*rows, tag=np.array([50, 51, 52, 53, 54])))
    crossed = outcome.events.select(["x", "tag"]).to_pylist()
    assert {tuple(row.values()) for row in crossed} == {(9.0, 53), (8.5, 54)}
    matched = outcome.matches.select(["ts", "place", "tag"]).to_pylist()
    assert {tuple(row.values()) for row in matched} == {(2, 0, 53), (3, 0, 51), (1, 1, 54)}
    assert "tag" not in stepped(EMPTY, batch(*rows)).events.column_names


def test_what_waits_keeps_its_tag_and_without_one_is_told_by_its_row():
    waits = stepped(EMPTY, batch(("a", 9, 1.0), ("a", 9, 8.0), tag=np.array([7, 8])), 5).state
    assert waits.waiting.tag is not None
    assert waits.waiting.tag.tolist() == [7, 8]
    later = batch(("a", 14, 1.0), tag=np.array([30]))
    assert stepped(waits, later, 5).events["tag"].to_pylist() == [8]
    untagged = replace(waits, waiting=replace(waits.waiting, tag=None))
    assert stepped(untagged, later, 5).events["tag"].to_pylist() == [-2]
    assert stepped(waits, batch(("a", 14, 1.0)), 5).state.waiting.tag is None


def test_in_a_lane_of_joins_what_waits_keeps_the_callers_tag():
    state, index = LaneState.empty(FEEDS, (AXES, AXES)), index_of((AXES, AXES), (), {})
    nothing = TupleBatch.empty(FEEDS[1], AXES)
    rules = (OrderRules("all", 5), OrderRules())
    sides = np.array([0], np.int8)
    given = batch(("b", 9, 1.0), ("a", 9, 8.0), ("a", 3, 2.0), feed=FEEDS[0], tag=np.arange(3) + 5)
    outcome = joined(state, (given, nothing), sides, index, rules=rules)
    waiting = outcome.state.sides[0].waiting
    assert waiting.tag is not None
    tags = dict(zip(waiting.values[0].tolist(), waiting.tag.tolist(), strict=True))
    assert tags == {1.0: 5, 8.0: 6}


# ── sequences ─────────────────────────────────────────────────────────────────────────────────────


def test_a_sequence_may_become_text_and_integers_again():
    first = batch(("a", 1, 1.0), sequence=pa.array([9]))
    state = stepped(EMPTY, first).state
    assert state.heads.sequences.to_pylist() == ["9"]
    texts = stepped(state, batch(("a", 1, 8.0), ("a", 1, 2.0), sequence=pa.array(["91", "10"])))
    assert texts.rejected.to_pylist() == [{"row": 1, "reason": "late"}]
    assert told(texts) == [("I", 1, 1, 8.0)]
    named = stepped(texts.state, batch(("a", 1, 2.0), sequence=pa.array(["one"]))).state
    numbers = stepped(named, batch(("a", 1, 8.0), sequence=pa.array([-5])))
    assert told(numbers) == [("I", 1, 3, 8.0)]  # what is no integer is lower than any


def test_integers_of_nineteen_digits_come_back_as_they_are():
    large = pa.array(["1234567890123456789", "-9223372036854775807", "x", None, "9" * 19])
    found = sequence_as(large, pa.int64()).to_pylist()
    assert found == [1234567890123456789, -9223372036854775807, None, None, None]
    assert sequence_as(pa.array([1, None]), pa.string()).to_pylist() == ["1", None]


def test_what_waits_from_before_there_was_a_sequence_goes_first():
    state = stepped(EMPTY, batch(("a", 9, 1.0), ("a", 9, 8.0)), 5).state
    later = batch(("a", 9, 2.0), ("a", 14, 1.0), sequence=pa.array([-1, 0]))
    assert told(stepped(state, later, 5)) == [("I", 9, 1, 8.0), ("O", 9, 2, 2.0)]


def test_heads_with_and_without_a_sequence_stand_beside_each_other():
    state = stepped(EMPTY, batch(("a", 1, 1.0), ("b", 1, 1.0))).state
    mixed = stepped(state, batch(("b", 2, 1.0), ("c", 2, 1.0), sequence=pa.array(["y", "z"])))
    heads = mixed.state.heads
    wanted = {"a": None, "b": "y", "c": "z"}
    assert dict(zip(heads.names.to_pylist(), heads.sequences.to_pylist(), strict=True)) == wanted
    again = Heads.from_table(AXES, heads.to_table())
    assert again.sequences.to_pylist() == heads.sequences.to_pylist()
    old = Heads.from_table(AXES, heads.to_table().drop_columns(["sequence", "ts_place"]))
    assert (old.sequence, old.ts_place.tolist()) == (None, [0, 0, 0])
    plain = stepped(mixed.state, batch(("b", 3, 1.0))).state.heads
    assert dict(zip(plain.names.to_pylist(), plain.sequences.to_pylist(), strict=True)) == {
        "a": None,
        "b": None,
        "c": "z",
    }


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"sequence": pa.array([1.5])}, "a sequence of type double, expected int64 or string"),
        ({"sequence": pa.array([1, 2])}, "1 times, but 2 of 'sequence'"),
        ({"tag": np.arange(3)}, "1 times, but 3 of 'tag'"),
    ],
)
def test_columns_that_do_not_fit_are_refused(more, fault):
    with pytest.raises(InputError, match=fault):
        batch(("a", 1, 1.0), **more)


def test_of_new_tuples_all_have_a_sequence_or_none():
    with pytest.raises(InputError, match="a tuple has no sequence, and others have one"):
        stepped(EMPTY, batch(("a", 1, 1.0), ("a", 2, 1.0), sequence=pa.array([1, None])))


# ── numbers of what waits ─────────────────────────────────────────────────────────────────────────


def test_what_waits_is_numbered_by_arrival_and_released_by_sequence():
    first = stepped(EMPTY, batch(("a", 9, 1.0), ("a", 9, 2.0), sequence=pa.array([5, 7])), 5).state
    second = stepped(first, batch(("a", 9, 3.0), ("a", 8, 4.0), sequence=pa.array([6, 0])), 5).state
    waiting = second.waiting
    assert waiting.values[0].tolist() == [4.0, 1.0, 3.0, 2.0]
    assert waiting.nth is not None
    assert waiting.nth.tolist() == [0, 0, 2, 1]
    shuffled = replace(second, waiting=waiting.take(np.array([3, 0, 2, 1])))
    last = batch(("a", 14, 8.0), sequence=pa.array([0]))
    for state in (second, shuffled):
        heads = stepped(state, last, 5).state.heads
        assert (heads.values[0, 0], heads.ts_place[0]) == (2.0, 2)
