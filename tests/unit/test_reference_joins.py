"""What the reference and the lane's engine make of joins, against cases worked by hand.

Every case is told to both; times are in ticks.
"""

from math import inf

import numpy as np
import pytest

from fencepost.errors import InputError, StateError
from fencepost.joins.engine import step
from fencepost.joins.state import LaneState
from fencepost.queries.joins import Conjunct, JoinQuery, JoinTest
from fencepost.reference import (
    FeedDelivery,
    JoinRegistration,
    JoinRunResult,
    SideDelivery,
    Sighting,
    run_joins,
)
from tests.support.stories.join_play import assert_told_by, batches, index_of, played
from tests.support.stories.join_stories import (
    FEEDS,
    ORIGIN,
    TICK,
    Item,
    JoinStory,
    band_join,
    long_story,
    rules_of,
    window_join,
)

AXES = (("x",), ("x",))
MINUTE = 3 * TICK


def at(tick: float) -> int:
    return ORIGIN + int(tick * TICK)


def came(side: int, *rows, gone: tuple[int, ...] = ()) -> SideDelivery:
    seen = (Sighting(stream, at(tick), tuple(values)) for stream, tick, *values in rows)
    return SideDelivery(side, FeedDelivery(tuple(seen)), frozenset(gone))


def left(*rows, gone: tuple[int, ...] = ()) -> SideDelivery:
    return came(0, *rows, gone=gone)


def right(*rows, gone: tuple[int, ...] = ()) -> SideDelivery:
    return came(1, *rows, gone=gone)


def in_force(*queries: JoinQuery) -> JoinRegistration:
    return JoinRegistration(queries)


def ran(*script: Item, axes=AXES, lateness: tuple[int, int] = (0, 0)) -> JoinRunResult:
    """Both say the same, at every cut and at none."""
    story = JoinStory(axes, script, lateness)
    rows = run_joins(axes, script, story.rules)
    assert_told_by(rows, played(story))
    assert_told_by(rows, played(story, ()))
    return rows


def timed(window: int = MINUTE, id: str = "w", **more) -> JoinQuery:
    return window_join(id, AXES, window=window, **more)


def counted(last: int, **more) -> JoinQuery:
    return window_join("w", AXES, last=last, **more)


def paired(rows: JoinRunResult) -> list[tuple[str, float, str, float, int]]:
    def tick(seen: Sighting) -> float:
        return (seen.ts - ORIGIN) / TICK

    return [
        (p.left.stream, tick(p.left), p.right.stream, tick(p.right), p.delivery) for p in rows.pairs
    ]


def changed(rows: JoinRunResult) -> list[tuple[int, str, str, int]]:
    return [(c.change, c.left, c.right, c.delivery) for c in rows.changes]


# ── windows ───────────────────────────────────────────────────────────────────────────────────────


def test_a_pair_is_reported_once_when_the_later_taken_one_is_taken():
    rows = ran(in_force(timed()), left(("a", 1, 0)), right(("z", 2, 0)), left(("b", 3, 0)))
    assert paired(rows) == [("a", 1, "z", 2, 1), ("b", 3, "z", 2, 2)]


def test_a_pair_at_the_windows_very_edge_is_reported_and_beyond_it_is_not():
    rows = ran(in_force(timed()), left(("a", 0, 0), ("b", 1, 0)), right(("z", 4, 0)))
    assert paired(rows) == [("b", 1, "z", 4, 1)]


def test_the_later_taken_one_may_be_the_earlier_in_time():
    rows = ran(in_force(timed()), left(("a", 5, 0)), right(("z", 2, 0), ("y", 1, 0)))
    assert paired(rows) == [("a", 5, "z", 2, 1)]


def test_the_smaller_watermark_ends_a_window_that_the_times_alone_would_not():
    gone_by = [right(("z", 9, 0)), left(("a", 9, 0))]
    late = right(("y", 1, 0))
    assert paired(ran(in_force(timed()), left(("b", 2, 0)), late)) == [("b", 2, "y", 1, 1)]
    assert ("b", 2, "y", 1, 3) not in paired(
        ran(in_force(timed()), left(("b", 2, 0)), *gone_by, late)
    )


def test_a_window_ends_when_the_watermark_is_past_it_not_yet_at_it():
    def first_with(tick: int) -> list[tuple[str, float, str, float, int]]:
        now: list[Item] = [
            left(("b", 2, 0)),
            right(("z", tick, 0)),
            left(("a", tick, 0)),
            right(("y", 2, 0)),
        ]
        return [pair for pair in paired(ran(in_force(timed()), *now)) if pair[2] == "y"]

    assert first_with(5) == [("b", 2, "y", 2, 3), ("a", 5, "y", 2, 3)]
    assert first_with(6) == []


def test_one_silent_side_moves_no_watermark_so_nothing_ends():
    rows = ran(in_force(timed()), left(("b", 2, 0)), left(("a", 99, 0)), right(("y", 2, 0)))
    assert paired(rows) == [("b", 2, "y", 2, 2)]
    assert rows.watermarks == [None, None, at(2)]


def test_a_count_window_holds_the_last_n_taken_of_the_feed_whatever_their_time():
    given = left(("a", 3, 0), ("b", 1, 0), ("c", 2, 0)), right(("z", 500, 0))
    assert [p[0] for p in paired(ran(in_force(counted(2)), *given))] == ["c", "a"]
    assert [p[0] for p in paired(ran(in_force(counted(1)), *given))] == ["a"]


def test_a_count_window_counts_before_the_delivery_of_the_later_one():
    rows = ran(
        in_force(counted(1)), left(("a", 1, 0)), right(("z", 1, 0), ("y", 2, 0)), left(("b", 2, 0))
    )
    assert paired(rows) == [("a", 1, "z", 1, 1), ("a", 1, "y", 2, 1), ("b", 2, "y", 2, 2)]


def test_tuples_of_one_ts_count_in_the_order_of_their_rows():
    rows = ran(in_force(counted(1)), left(("b", 1, 0), ("a", 1, 0)), right(("z", 1, 0)))
    assert [p[0] for p in paired(rows)] == ["a"]


def test_where_tuples_may_wait_those_of_one_ts_count_in_the_order_of_their_streams():
    rows = ran(
        in_force(counted(1)),
        left(("b", 1, 0), ("a", 1, 0)),
        left(("c", 9, 0)),
        right(("z", 1, 0)),
        lateness=(TICK, 0),
    )
    assert [p[0] for p in paired(rows)] == ["b"]


def test_when_no_lateness_is_allowed_any_more_those_who_waited_come_before_the_rows():
    script: list[Item] = [
        in_force(counted(2)),
        left(("z", 5, 0), ("y", 5, 0)),
        left(("b", 5, 0), ("a", 5, 0)),
        right(("r", 5, 0)),
    ]
    story = JoinStory(AXES, tuple(script), (9 * TICK, 0))
    found = played(story, later=(1, rules_of()))
    assert [p.left.stream for p in found.pairs] == ["b", "a"]


def test_a_waiting_tuple_pairs_when_it_is_released():
    rows = ran(
        in_force(timed()),
        left(("a", 5, 0)),
        right(("z", 5, 0)),
        left(("a", 7, 0)),
        lateness=(2 * TICK, 0),
    )
    assert paired(rows) == [("a", 5, "z", 5, 2)]


def test_a_pair_needs_both_taken_after_the_registration():
    script: list[Item] = [
        left(("a", 1, 0)),
        in_force(timed()),
        left(("b", 1, 0)),
        right(("z", 1, 0)),
    ]
    assert [p[0] for p in paired(ran(in_force(), *script))] == ["b"]


def test_another_version_begins_anew_and_one_that_stays_goes_on():
    kept, old, new = timed(id="k"), timed(id="w"), timed(id="w", version=2)
    rows = ran(in_force(kept, old), left(("a", 1, 0)), in_force(kept, new), right(("z", 1, 0)))
    assert [(p.query_id, p.version) for p in rows.pairs] == [("k", 1)]


def test_where_every_version_is_new_only_what_was_taken_since_lives():
    old, new = timed(), timed(version=2)
    rows = ran(
        *(in_force(old), left(("a", 1, 0)), right(("y", 1, 0))),
        *(in_force(new), left(("b", 1, 0)), right(("z", 1, 0)), left(("c", 1, 0))),
    )
    assert paired(rows) == [("a", 1, "y", 1, 1), ("b", 1, "z", 1, 3), ("c", 1, "z", 1, 4)]


def test_the_later_ones_ts_lies_in_the_validity_half_open():
    valid = timed(valid_from=at(2), valid_to=at(4))
    rows = ran(in_force(valid), left(("a", 1, 0)), right(("z", 1, 0), ("y", 2, 0), ("x", 4, 0)))
    assert [p[2] for p in paired(rows)] == ["y"]


def test_a_rejected_tuple_pairs_with_nobody():
    rows = ran(in_force(timed()), left(("a", 1, 0), ("a", 1, 0), ("a", 1, 1)), right(("z", 1, 0)))
    assert len(rows.pairs) == 1
    assert sorted(rows.rejected[0]) == [(0, 1, "duplicate"), (0, 2, "conflict")]


def test_a_conjunct_is_a_box_and_sums_rounded_once():
    box = ((-inf, inf), (0.0, 2.0))
    tenth = Conjunct(box, (JoinTest(0, 0.1, "=", 1, 0.0),))
    rows = ran(
        in_force(timed(conjuncts=(tenth,))),
        left(("a", 1, 0.2), ("b", 1, 1.9), ("c", 1, 1.0)),
        right(("z", 1, 0.3), ("y", 1, 0.1 + 0.2), ("x", 1, 2.0)),
    )
    assert [(p[0], p[2]) for p in paired(rows)] == [("a", "y")]


def test_a_pair_that_satisfies_two_conjuncts_is_one_pair():
    every = Conjunct(((-inf, inf), (-inf, inf)))
    rows = ran(in_force(timed(conjuncts=(every, every))), left(("a", 1, 0)), right(("z", 1, 0)))
    assert len(rows.pairs) == 1


# ── bands ─────────────────────────────────────────────────────────────────────────────────────────


def test_both_ends_of_a_band_are_closed():
    rows = ran(
        in_force(band_join("b", -1, 1)),
        left(("a", 1, 2)),
        right(("lo", 1, 3), ("hi", 1, 1), ("out", 1, 3.5)),
    )
    assert changed(rows) == [(1, "a", "lo", 1), (1, "a", "hi", 1)]


def test_j_of_minus_a_to_a_is_symmetric():
    for r, s in ((1.0, 3.0), (3.0, 1.0)):
        rows = ran(in_force(band_join("b", -2, 2)), left(("a", 1, r)), right(("z", 1, s)))
        assert changed(rows) == [(1, "a", "z", 1)]


def test_a_band_may_be_open_at_an_end():
    rows = ran(
        in_force(band_join("above", 0, inf), band_join("all", -inf, inf)),
        left(("a", 1, 5)),
        right(("z", 1, 5), ("y", 1, 6)),
    )
    found = [(c.query_id, c.right) for c in rows.changes]
    assert sorted(found) == [("above", "z"), ("all", "y"), ("all", "z")]


def test_a_pair_that_stays_in_is_no_change_and_one_that_moves_is_net():
    rows = ran(
        in_force(band_join("b", 0, 1)),
        right(("z", 1, 0), ("y", 1, 5)),
        left(("a", 2, 0)),
        left(("a", 3, 1)),
        left(("a", 4, 5)),
    )
    assert changed(rows) == [(1, "a", "z", 1), (-1, "a", "z", 3), (1, "a", "y", 3)]
    assert [(c.left_value, c.right_value) for c in rows.changes] == [(0, 0), (1, 0), (5, 5)]
    assert [row[-1] for row in rows.affected] == ["b", "b"]


def test_the_difference_is_one_subtraction_rounded_to_nearest():
    rows = ran(
        in_force(band_join("b", 0.1, 0.1), band_join("c", 0.3 - 0.2, 0.3 - 0.2)),
        left(("a", 1, 0.3)),
        right(("z", 1, 0.2)),
    )
    assert [c.query_id for c in rows.changes] == ["c"]


def test_a_row_marked_gone_takes_the_stream_out_and_the_next_puts_it_in_again():
    rows = ran(
        in_force(band_join("b", 0, 0)),
        left(("a", 1, 1)),
        right(("z", 1, 1)),
        left(("a", 2, 1), gone=(0,)),
        left(("a", 3, 1), gone=(0,)),
        left(("a", 4, 1)),
    )
    assert changed(rows) == [(1, "a", "z", 1), (-1, "a", "z", 2), (1, "a", "z", 4)]


def test_a_row_marked_gone_is_still_marked_when_it_is_released():
    rows = ran(
        in_force(band_join("b", 0, 0)),
        right(("z", 1, 1)),
        left(("a", 1, 1), ("a", 2, 1), gone=(1,)),
        left(("b", 3, 1)),
        left(("b", 5, 1)),
        lateness=(TICK, 0),
    )
    assert changed(rows)[:2] == [(1, "a", "z", 1), (-1, "a", "z", 2)]


def test_a_gone_row_is_an_ordinary_tuple_to_window_joins():
    rows = ran(in_force(timed()), left(("a", 1, 1), gone=(0,)), right(("z", 1, 1)))
    assert len(rows.pairs) == 1


def test_registering_tells_every_pair_then_in_and_removing_tells_nothing():
    rows = ran(
        in_force(band_join("b", 0, 0)),
        left(("a", 1, 1)),
        right(("z", 1, 1), ("y", 1, 3)),
        in_force(band_join("c", -5, 5)),
        left(("a", 2, 9)),
    )
    told = [(c.query_id, c.change, c.right, c.ts is None, c.delivery) for c in rows.changes]
    assert told[0] == ("b", 1, "z", False, 1)
    assert sorted(told[1:3]) == [("c", 1, "y", True, -1), ("c", 1, "z", True, -1)]
    assert sorted(told[3:]) == [("c", -1, "y", False, 2), ("c", -1, "z", False, 2)]


def test_the_result_is_the_sum_of_the_changes():
    rows = run_joins((("x",), ("x",)), long_story(1).script, rules_of())
    total: dict[tuple[str, int, str, str], int] = {}
    standing = {pair[:2] for pair in rows.result}
    for c in rows.changes:
        if (c.query_id, c.version) in standing:
            name = c.query_id, c.version, c.left, c.right
            total[name] = total.get(name, 0) + c.change
    assert {name for name, count in total.items() if count} == set(rows.result)
    assert set(total.values()) <= {0, 1}


# ── what a step refuses ───────────────────────────────────────────────────────────────────────────


def test_a_step_refuses_tuples_of_the_other_side_and_of_another_lane():
    state, index = LaneState.empty(FEEDS, AXES), index_of(AXES, (), {})
    given, _ = batches(AXES, [left(("a", 1, 0))])
    with pytest.raises(InputError, match="which is of the other side"):
        step(state, given, np.array([1], np.int8), index)
    with pytest.raises(InputError, match="expected 0 to -1"):
        step(state, given, np.empty(0, np.int8), index)
    with pytest.raises(StateError, match="a step takes one lane"):
        step(state, given[::-1], np.array([0], np.int8), index)
