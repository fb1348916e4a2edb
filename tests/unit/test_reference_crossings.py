"""The reference evaluator's crossings against cases worked by hand: one at least for each rule."""

from dataclasses import replace

import pytest

from fencepost.reference import Event, holds, holds_by_text
from tests.support.oracles.by_hand import (
    IN,
    OUT,
    crossed,
    entered_and_left,
    in_force,
    q,
    ran,
    seen,
    told,
    walk,
)
from tests.support.stories.strategies import standing_query

# ── the papers' own examples ──────────────────────────────────────────────────────────────────────

FIVE = tuple(
    standing_query(f"Q{n}", f"x >= {lo} AND x < {hi}")
    for n, (lo, hi) in enumerate([(1, 3), (1, 6), (1, 4), (2, 7), (5, 8)], 1)
)


def test_s0_figure_2_a_step_from_segment_5_to_8_enters_q5_and_leaves_q2_and_q4():
    assert entered_and_left(ran(in_force(*FIVE), *walk(4.5, 7.5))) == ({"Q5"}, {"Q2", "Q4"})


def test_s1_figure_3_a_step_from_segment_5_to_2_enters_q3_and_q1_and_leaves_q4():
    assert entered_and_left(ran(in_force(*FIVE), *walk(4.5, 1.5))) == ({"Q3", "Q1"}, {"Q4"})


def test_five_queries_lie_on_nine_segments_as_the_figures_text_says():
    assert {q.id for q in FIVE if holds(q, (4.5,))} == {"Q2", "Q4"}
    assert {q.id for q in FIVE if holds(q, (7.5,))} == {"Q5"}
    assert {q.id for q in FIVE if holds(q, (1.5,))} == {"Q1", "Q2", "Q3"}


def test_a_price_that_walks_inside_its_range_is_no_event():
    prices = standing_query("prices", "x > 70 AND x < 75")
    assert told(prices, *walk(72, 71, 73, 74)).events == []


def test_entering_x_while_y_sits_on_its_lower_border_is_an_event():
    park = standing_query("park", "x >= 2 AND x < 5 AND y >= 1 AND y < 4", ("x", "y"))
    rows = told(park, seen(("s", 1, 0, 1)), seen(("s", 2, 3, 1)), axes=("x", "y"))
    assert crossed(rows) == [("I", "park", 2)]


def test_leaving_x_while_y_came_from_its_lower_border_is_an_event():
    park = standing_query("park", "x >= 2 AND x < 5 AND y >= 1 AND y < 4", ("x", "y"))
    rows = told(park, seen(("s", 1, 3, 1)), seen(("s", 2, 0, 9)), axes=("x", "y"))
    assert crossed(rows) == [("O", "park", 2)]


@pytest.mark.fault(41)
def test_a_range_leapt_in_one_step_is_no_event():
    assert told(q(), *walk(1, 6, 0, 5)).events == []


# ── crossings ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("where", "inside", "outside"),
    [
        ("x >= 2", [2, 2.5], [1.9999999999999998, -2]),
        ("x > 2", [2.0000000000000004], [2]),
        ("x <= 2", [2, -9], [2.0000000000000004]),
        ("x < 2", [1.9999999999999998], [2]),
        ("x = 2", [2], [1.9999999999999998, 2.0000000000000004]),
        ("x BETWEEN 2 AND 5", [2, 5], [1, 5.000000000000001]),
        ("x > 0", [5e-324], [0.0, -0.0, -5e-324]),
        ("x = 0", [0.0, -0.0], [5e-324, -5e-324]),
        ("NOT (x >= 2 AND x < 5)", [1, 5], [2, 4.999]),
        ("x < 2 OR NOT x < 5", [1, 5], [2, 4.999]),
        ("ALL", [-1e308, 0, 1e308], []),
    ],
)
def test_a_query_holds_where_its_text_says_by_boxes_and_by_comparisons(where, inside, outside):
    query = standing_query("q", where)
    values = [(float(v),) for v in (*inside, *outside)]
    expected = [True] * len(inside) + [False] * len(outside)
    assert [holds(query, v) for v in values] == expected
    assert [holds_by_text(query, ("x",), v) for v in values] == expected


def test_a_crossing_carries_both_ends_of_the_step():
    (event,) = told(q(version=7), seen(("s", 1, 0)), seen(("s", 4, 2))).events
    assert event == Event("I", "q", 7, "s", 4, (2.0,), 1, (0.0,), delivery=1, place=0)


@pytest.mark.fault(40)
def test_borders_are_half_open_lo_is_in_and_hi_is_out():
    assert crossed(told(q(), *walk(1, 2, 4, 5, 4, 1))) == [
        ("I", "q", 2),
        ("O", "q", 4),
        ("I", "q", 5),
        ("O", "q", 6),
    ]


def test_a_move_from_one_box_to_another_of_the_same_query_is_no_crossing():
    query = q(where="(x >= 0 AND x < 2) OR (x >= 4 AND x < 6)")
    assert told(query, *walk(1, 5, 0)).events == []
    assert crossed(told(query, *walk(1, 3, 5, 7))) == [("O", "q", 2), ("I", "q", 3), ("O", "q", 4)]


@pytest.mark.fault(42)
def test_a_step_that_changes_two_axes_and_two_boxes_is_one_event():
    query = q(where="(x < 2 AND y < 2) OR (x < 3 AND y < 3)", axes=("x", "y"))
    rows = told(query, seen(("s", 1, 5, 5)), seen(("s", 2, 0, 0)), axes=("x", "y"))
    assert crossed(rows) == [("I", "q", 2)]


def test_streams_do_not_see_one_another():
    rows = told(q(), seen(("s", 1, OUT), ("r", 2, IN)), seen(("s", 3, IN), ("r", 4, OUT)))
    assert [(e.type, e.stream, e.ts) for e in rows.events] == [("I", "s", 3), ("O", "r", 4)]


def test_a_query_with_streams_covers_only_those():
    rows = told(q(streams=("r", "t")), *walk(OUT, IN, stream="s"), *walk(OUT, IN, stream="t"))
    assert [(e.type, e.stream) for e in rows.events] == [("I", "t")]


def test_a_query_with_patterns_covers_the_streams_of_either():
    walks = (*walk(OUT, IN, stream="s1"), *walk(OUT, IN, stream="t"), *walk(OUT, IN, stream="S2"))
    rows = told(q(streams=("t",), streams_like=("s?",)), *walks)
    assert sorted((e.type, e.stream) for e in rows.events) == [("I", "s1"), ("I", "t")]
    rows = told(q(streams_like=("[a-z]*",)), *walks)
    assert sorted((e.type, e.stream) for e in rows.events) == [("I", "s1"), ("I", "t")]


def test_a_query_of_another_feed_or_of_another_kind_sees_nothing():
    assert told(q(feed="elsewhere"), *walk(OUT, IN)).events == []
    assert told(replace(q(), kind="match"), *walk(OUT, IN)).events == []


def test_the_first_tuple_is_silent_by_default_and_the_second_is_an_ordinary_step():
    assert told(q(), *walk(IN)).events == []
    assert crossed(told(q(), *walk(IN, OUT))) == [("O", "q", 2)]


def test_on_first_enter_makes_the_first_tuple_an_entry_with_nothing_before_it():
    rows = told(q(on_first="enter"), *walk(IN, IN, OUT))
    assert crossed(rows) == [("I", "q", 1), ("O", "q", 3)]
    assert (rows.events[0].prev_ts, rows.events[0].prev_values) == (None, None)
    assert told(q(on_first="enter"), *walk(OUT)).events == []


def test_on_first_enter_is_for_the_first_tuple_of_the_stream_not_of_the_query():
    query = q(on_first="enter")
    assert ran(*walk(IN), in_force(query), seen(("s", 5, IN))).events == []


def test_on_first_enter_needs_a_valid_query_and_a_covered_stream():
    assert told(q(on_first="enter", valid_from=2), *walk(IN, IN)).events == []
    assert told(q(on_first="enter", streams=("r",)), *walk(IN)).events == []


# ── registration ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.fault(43)
def test_registered_while_a_stream_is_inside_gives_no_entry_but_an_exit():
    rows = ran(*walk(IN, IN), in_force(q()), seen(("s", 3, IN)), seen(("s", 4, OUT)))
    assert crossed(rows) == [("O", "q", 4)]


def test_the_step_over_a_registration_is_seen_from_its_end():
    (event,) = ran(*walk(OUT), in_force(q()), seen(("s", 2, IN))).events
    assert (event.type, event.prev_ts, event.delivery) == ("I", 1, 1)


@pytest.mark.fault(43)
def test_removed_while_a_stream_is_inside_gives_no_exit():
    rows = ran(in_force(q()), *walk(OUT, IN), in_force(), seen(("s", 3, OUT)))
    assert crossed(rows) == [("I", "q", 2)]


@pytest.mark.fault(43)
def test_a_changed_query_is_told_under_its_new_version():
    wider = q(where="x >= 2 AND x < 9", version=2)
    before, after = walk(OUT, IN), [seen(("s", 3, 7)), seen(("s", 4, 9))]
    rows = ran(in_force(q()), *before, in_force(wider), *after)
    assert [(e.type, e.version, e.ts) for e in rows.events] == [("I", 1, 2), ("O", 2, 4)]


def test_waiting_tuples_meet_the_queries_of_the_delivery_that_releases_them():
    (event,) = ran(*walk(OUT, IN), in_force(q()), seen(("r", 9, OUT)), lateness=5).events
    assert (event.type, event.ts, event.delivery) == ("I", 2, 2)


# ── validity ──────────────────────────────────────────────────────────────────────────────────────


def test_a_query_is_evaluated_from_valid_from_and_not_at_valid_to():
    values = (OUT, IN, OUT, IN, OUT)
    assert crossed(told(q(valid_from=3, valid_to=5), *walk(*values))) == [
        ("O", "q", 3),
        ("I", "q", 4),
    ]


def test_the_tuple_before_may_lie_outside_the_validity():
    assert crossed(told(q(valid_from=2), *walk(OUT, IN))) == [("I", "q", 2)]
    assert crossed(told(q(valid_from=2), *walk(IN, OUT))) == [("O", "q", 2)]
