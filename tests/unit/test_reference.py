"""The reference evaluator against cases worked by hand: one at least for each rule of the contract.

`q` is [2, 5) on one axis unless a test says otherwise; times are small integers, since only their
order and their differences count.
"""

from dataclasses import replace

import pytest

from fencepost.errors import InputError
from fencepost.queries import StandingQuery
from fencepost.reference import (
    Delivery,
    Registration,
    Rows,
    Sighting,
    holds,
    holds_by_text,
    run,
)
from tests.strategies import standing_query

RANGE = "x >= 2 AND x < 5"
OUT, IN = 0.0, 3.0


def q(**changes) -> StandingQuery:
    return standing_query("q", changes.pop("where", RANGE), changes.pop("axes", ("x",)), **changes)


def seen(*steps) -> Delivery:
    """One delivery of (stream, ts, value, …) rows."""
    return Delivery(tuple(Sighting(s, ts, tuple(map(float, values))) for s, ts, *values in steps))


def walk(*values: float, stream: str = "s") -> list[Delivery]:
    """A stream's values at ts 1, 2, 3, …, each a delivery of its own."""
    return [seen((stream, ts, value)) for ts, value in enumerate(values, 1)]


def in_force(*queries: StandingQuery) -> Registration:
    return Registration(queries)


def ran(
    *script: Delivery | Registration, axes: tuple[str, ...] = ("x",), lateness: int = 0
) -> Rows:
    return run("grid", axes, script, lateness)


def told(query: StandingQuery, *deliveries: Delivery, **more) -> Rows:
    """Run deliveries under one query that never changes."""
    return ran(in_force(query), *deliveries, **more)


def crossed(rows: Rows) -> list[tuple[str, str, int]]:
    return [(e.type, e.query_id, e.ts) for e in rows.events]


def became(rows: Rows) -> list[tuple[str, int, int, int | None]]:
    return [(t.type, t.ts, t.from_ts, t.to_ts) for t in rows.transitions]


def entered_and_left(rows: Rows) -> tuple[set[str], set[str]]:
    """The differential query sets of a run: who was entered, who was left."""
    entered = {e.query_id for e in rows.events if e.type == "I"}
    return entered, {e.query_id for e in rows.events if e.type == "O"}


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
    assert event == ("I", "q", 7, "s", 4, (2.0,), 1, (0.0,), 1)


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


def test_a_query_of_another_feed_or_of_another_kind_sees_nothing():
    assert told(q(feed="elsewhere"), *walk(OUT, IN)).events == []
    assert told(replace(q(), kind="match"), *walk(OUT, IN)).events == []


def test_the_first_tuple_is_silent_by_default_and_the_second_is_an_ordinary_step():
    assert told(q(), *walk(IN)).events == []
    assert crossed(told(q(), *walk(IN, OUT))) == [("O", "q", 2)]


def test_on_first_enter_makes_the_first_tuple_an_entry_with_nothing_before_it():
    rows = told(q(on_first="enter"), *walk(IN, IN, OUT))
    assert crossed(rows) == [("I", "q", 1), ("O", "q", 3)]
    assert rows.events[0][-3:] == (None, None, 0)
    assert told(q(on_first="enter"), *walk(OUT)).events == []


def test_on_first_enter_is_for_the_first_tuple_of_the_stream_not_of_the_query():
    query = q(on_first="enter")
    assert ran(*walk(IN), in_force(query), seen(("s", 5, IN))).events == []


def test_on_first_enter_needs_a_valid_query_and_a_covered_stream():
    assert told(q(on_first="enter", valid_from=2), *walk(IN, IN)).events == []
    assert told(q(on_first="enter", streams=("r",)), *walk(IN)).events == []


# ── registration ──────────────────────────────────────────────────────────────────────────────────


def test_registered_while_a_stream_is_inside_gives_no_entry_but_an_exit():
    rows = ran(*walk(IN, IN), in_force(q()), seen(("s", 3, IN)), seen(("s", 4, OUT)))
    assert crossed(rows) == [("O", "q", 4)]


def test_the_step_over_a_registration_is_seen_from_its_end():
    (event,) = ran(*walk(OUT), in_force(q()), seen(("s", 2, IN))).events
    assert (event.type, event.prev_ts, event.delivery) == ("I", 1, 1)


def test_removed_while_a_stream_is_inside_gives_no_exit():
    rows = ran(in_force(q()), *walk(OUT, IN), in_force(), seen(("s", 3, OUT)))
    assert crossed(rows) == [("I", "q", 2)]


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


# ── order, duplicates, conflicts, late tuples ─────────────────────────────────────────────────────


def test_a_delivery_is_taken_in_the_order_of_ts():
    rows = told(q(), seen(("s", 3, OUT), ("s", 1, OUT), ("s", 2, IN)))
    assert crossed(rows) == [("I", "q", 2), ("O", "q", 3)]


def test_of_two_rows_with_one_ts_the_first_in_the_file_wins():
    rows = told(q(), seen(("s", 2, IN), ("s", 1, OUT), ("s", 2, OUT), ("s", 2, IN)))
    assert crossed(rows) == [("I", "q", 2)]
    assert rows.rejected == [(0, 2, "conflict"), (0, 3, "duplicate")]


def test_across_deliveries_a_repeat_is_told_from_a_contradiction_and_from_a_late_tuple():
    rows = told(
        q(), seen(("s", 5, OUT)), seen(("s", 5, OUT)), seen(("s", 5, IN)), seen(("s", 4, IN))
    )
    assert rows.rejected == [(1, 0, "duplicate"), (2, 0, "conflict"), (3, 0, "late")]
    assert (rows.events, rows.heads) == ([], {"s": (5, (0.0,))})


def test_a_tuple_taken_long_ago_comes_again_as_late():
    assert ran(*walk(1, 2), seen(("s", 1, 1))).rejected == [(2, 0, "late")]


def test_minus_zero_is_zero():
    assert ran(seen(("s", 1, 0.0)), seen(("s", 1, -0.0))).rejected == [(1, 0, "duplicate")]


def test_lateness_is_per_stream_without_allowance_a_slower_stream_is_not_late():
    rows = told(q(), seen(("s", 9, OUT)), seen(("r", 1, OUT)), seen(("r", 2, IN)))
    assert rows.rejected == []
    assert crossed(rows) == [("I", "q", 2)]


def test_within_the_allowance_a_tuple_out_of_order_finds_its_place():
    rows = told(
        q(),
        seen(("s", 1, OUT)),
        seen(("s", 3, OUT)),
        seen(("s", 2, IN)),
        seen(("s", 9, OUT)),
        lateness=2,
    )
    assert [(e.type, e.ts, e.delivery) for e in rows.events] == [("I", 2, 3), ("O", 3, 3)]
    assert [a.sighting.ts for a in rows.waiting] == [9]


def test_a_tuple_is_released_when_the_watermark_reaches_its_ts():
    rows = ran(seen(("s", 1, OUT), ("s", 2, OUT), ("s", 3, OUT)), lateness=1)
    assert rows.watermark == 2
    assert [(n, s.ts) for n, s in rows.accepted] == [(0, 1), (0, 2)]
    assert [a.ts for a in rows.waiting] == [3]


def test_a_good_tuple_older_than_the_watermark_is_released_with_its_own_delivery():
    rows = ran(seen(("r", 9, 0)), seen(("s", 1, 0)), lateness=2)
    assert [(n, s.stream) for n, s in rows.accepted] == [(1, "s")]
    assert rows.watermark == 7


def test_arrivals_are_judged_against_the_released_and_against_the_waiting():
    rows = ran(
        seen(("s", 1, 0), ("s", 5, 0)),
        seen(("s", 5, 0), ("s", 5, 1), ("s", 0, 0), ("s", 1, 0), ("s", 1, 1)),
        lateness=3,
    )
    assert sorted(rows.rejected) == [
        (1, 0, "duplicate"),
        (1, 1, "conflict"),
        (1, 2, "late"),
        (1, 3, "duplicate"),
        (1, 4, "conflict"),
    ]


def test_among_arrivals_of_one_delivery_the_first_waits_and_the_second_is_its_repeat():
    rows = ran(seen(("s", 7, 1), ("s", 7, 1), ("s", 7, 2)), lateness=100)
    assert rows.rejected == [(0, 1, "duplicate"), (0, 2, "conflict")]
    assert len(rows.waiting) == 1


def test_released_tuples_are_taken_by_ts_then_delivery_then_row():
    first = seen(("a", 4, 0), ("b", 2, 0), ("c", 4, 0))
    rows = ran(first, seen(("d", 4, 0), ("e", 3, 0)), seen(("f", 4 + 9, 0)), lateness=9)
    assert [s.stream for _, s in rows.accepted] == ["b", "e", "a", "c", "d"]
    assert {n for n, _ in rows.accepted} == {2}


def test_a_rejected_tuple_does_not_move_the_watermark():
    rows = ran(seen(("s", 5, 0)), seen(("s", 4, 0), ("s", 5, 1)), Delivery(()))
    assert rows.watermark == 5
    assert ran(Delivery(())).watermark is None


def test_rows_read_are_accepted_or_waiting_or_rejected():
    rows = ran(seen(("s", 5, 0), ("s", 5, 0), ("s", 9, 0), ("s", 2, 0)), lateness=3)
    assert (len(rows.accepted), len(rows.waiting), len(rows.rejected)) == (2, 1, 1)


def test_a_tuple_with_the_wrong_number_of_values_is_refused():
    with pytest.raises(InputError, match="expected 1 values"):
        ran(seen(("s", 1, 0, 0)))


# ── transitions ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("gap", "pairs"),
    [
        (3, [("pass_through", 5, 2, 5)]),
        (4, [("pass_through", 6, 2, 6)]),
        (5, [("stay", 6, 2, None)]),
    ],
)
def test_an_entry_and_an_exit_within_t_pass_through_and_at_t_still_do(gap, pairs):
    rows = told(q(within=4), seen(("s", 1, OUT)), seen(("s", 2, IN)), seen(("s", 2 + gap, OUT)))
    assert became(rows) == pairs


@pytest.mark.parametrize(
    ("gap", "pairs"),
    [
        (3, [("short_absence", 5, 2, 5)]),
        (4, [("short_absence", 6, 2, 6)]),
        (5, [("departure", 6, 2, None)]),
    ],
)
def test_an_exit_and_an_entry_within_t_are_a_short_absence_and_at_t_still_are(gap, pairs):
    rows = told(q(within=4), seen(("s", 1, IN)), seen(("s", 2, OUT)), seen(("s", 2 + gap, IN)))
    assert became(rows) == pairs


def test_the_answer_to_one_crossing_is_the_next_question():
    rows = told(q(within=1), *walk(OUT, IN, OUT, IN))
    assert became(rows) == [("pass_through", 3, 2, 3), ("short_absence", 4, 3, 4)]
    assert rows.pending == [("q", 1, "s", "I", 4)]


def test_every_crossing_of_one_delivery_is_decided_in_it():
    rows = told(q(within=1), seen(("s", 1, OUT), ("s", 2, IN), ("s", 3, OUT), ("s", 9, OUT)))
    assert became(rows) == [("pass_through", 3, 2, 3), ("departure", 4, 3, None)]
    assert rows.pending == []


@pytest.mark.parametrize(("other", "fired"), [(6, False), (7, True)])
def test_a_silent_streams_stay_fires_once_the_watermark_is_past_its_time(other, fired):
    rows = told(q(within=4), seen(("s", 1, OUT)), seen(("s", 2, IN)), seen(("r", other, OUT)))
    assert became(rows) == ([("stay", 6, 2, None)] if fired else [])
    assert rows.pending == ([] if fired else [("q", 1, "s", "I", 2)])


def test_a_silent_streams_departure_fires_from_the_watermark_alone():
    rows = told(q(within=4), seen(("s", 1, IN)), seen(("s", 2, OUT)), seen(("r", 7, OUT)))
    assert became(rows) == [("departure", 6, 2, None)]
    assert rows.transitions[0].delivery == 2


def test_the_watermark_decides_after_the_crossings_of_its_delivery():
    rows = told(
        q(within=4), seen(("s", 1, OUT)), seen(("s", 2, IN)), seen(("r", 99, OUT), ("s", 5, OUT))
    )
    assert became(rows) == [("pass_through", 5, 2, 5), ("departure", 9, 5, None)]


def test_what_has_fired_is_final_whatever_comes_later():
    rows = told(
        q(within=4),
        seen(("s", 1, OUT)),
        seen(("s", 2, IN)),
        seen(("r", 7, OUT)),
        seen(("s", 3, OUT)),
    )
    assert crossed(rows) == [("I", "q", 2), ("O", "q", 3)]
    assert became(rows) == [("stay", 6, 2, None)]
    assert rows.pending == [("q", 1, "s", "O", 3)]


def test_the_allowed_lateness_holds_the_watermark_back():
    script = [seen(("s", 1, OUT)), seen(("s", 2, IN)), seen(("r", 7, OUT))]
    assert became(told(q(within=4), *script, lateness=3)) == []
    assert became(told(q(within=4), *script, seen(("r", 10, OUT)), lateness=3)) == [
        ("stay", 6, 2, None)
    ]


def test_within_zero_makes_every_crossing_a_stay_or_a_departure():
    rows = told(q(within=0), *walk(OUT, IN, OUT))
    assert became(rows) == [("stay", 2, 2, None)]
    assert rows.pending == [("q", 1, "s", "O", 3)]


def test_a_query_without_t_has_no_transitions():
    rows = told(q(), *walk(OUT, IN, OUT, IN))
    assert (rows.transitions, rows.pending) == ([], [])


def test_an_entry_at_first_sight_is_a_crossing_like_any_other():
    assert became(told(q(within=4, on_first="enter"), *walk(IN, OUT))) == [
        ("pass_through", 2, 1, 2)
    ]


@pytest.mark.parametrize(("valid_to", "pairs"), [(6, []), (7, [("pass_through", 3, 2, 3)])])
def test_a_crossing_whose_time_reaches_valid_to_is_dropped_even_if_answered(valid_to, pairs):
    rows = told(q(within=4, valid_to=valid_to), *walk(OUT, IN, OUT))
    assert became(rows) == pairs
    assert rows.pending == []


@pytest.mark.parametrize(("valid_to", "fired"), [(6, []), (7, [("stay", 6, 2, None)])])
def test_a_stay_is_told_only_if_its_time_ends_before_valid_to(valid_to, fired):
    rows = told(q(within=4, valid_to=valid_to), *walk(OUT, IN), seen(("r", 99, OUT)))
    assert became(rows) == fired


def test_a_removed_query_takes_its_pending_crossings_with_it():
    assert told(q(within=4), *walk(OUT, IN)).pending == [("q", 1, "s", "I", 2)]
    gone = ran(in_force(q(within=4)), *walk(OUT, IN), in_force(), seen(("r", 99, OUT)))
    assert (gone.pending, gone.transitions) == ([], [])


def test_a_new_version_does_not_inherit_the_pending_crossings_of_the_old_one():
    old, new = q(within=4), q(within=9, version=2)
    rows = ran(in_force(old), *walk(OUT, IN), in_force(new), seen(("s", 3, OUT)))
    assert [(e.type, e.version) for e in rows.events] == [("I", 1), ("O", 2)]
    assert rows.transitions == []
    assert rows.pending == [("q", 2, "s", "O", 3)]


def test_another_querys_registration_leaves_pending_crossings_alone():
    other = standing_query("other", "x < 0")
    both = in_force(other, q(within=4))
    rows = ran(in_force(q(within=4)), *walk(OUT, IN), both, seen(("s", 3, OUT)))
    assert became(rows) == [("pass_through", 3, 2, 3)]


def test_each_query_has_its_own_t():
    brief, patient = (
        standing_query("brief", RANGE, within=1),
        standing_query("patient", RANGE, within=9),
    )
    rows = ran(
        in_force(brief, patient), seen(("s", 1, OUT)), seen(("s", 2, IN)), seen(("s", 5, OUT))
    )
    assert [(t.type, t.query_id) for t in rows.transitions] == [
        ("stay", "brief"),
        ("pass_through", "patient"),
    ]
