"""The reference evaluator's transitions against cases worked by hand."""

import pytest

from fencepost.reference import PendingEvent
from tests.support.oracles.by_hand import (
    IN,
    OUT,
    RANGE,
    became,
    crossed,
    in_force,
    q,
    ran,
    seen,
    told,
    walk,
)
from tests.support.stories.strategies import standing_query

# ── transitions ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("gap", "pairs"),
    [
        (3, [("pass_through", 5, 2, 5)]),
        (4, [("pass_through", 6, 2, 6)]),
        (5, [("stay", 6, 2, None)]),
    ],
)
@pytest.mark.fault(52)
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
@pytest.mark.fault(52)
def test_an_exit_and_an_entry_within_t_are_a_short_absence_and_at_t_still_are(gap, pairs):
    rows = told(q(within=4), seen(("s", 1, IN)), seen(("s", 2, OUT)), seen(("s", 2 + gap, IN)))
    assert became(rows) == pairs


def test_the_answer_to_one_crossing_is_the_next_question():
    rows = told(q(within=1), *walk(OUT, IN, OUT, IN))
    assert became(rows) == [("pass_through", 3, 2, 3), ("short_absence", 4, 3, 4)]
    assert rows.pending == [PendingEvent("q", 1, "s", "I", 4)]


def test_every_crossing_of_one_delivery_is_decided_in_it():
    rows = told(q(within=1), seen(("s", 1, OUT), ("s", 2, IN), ("s", 3, OUT), ("s", 9, OUT)))
    assert became(rows) == [("pass_through", 3, 2, 3), ("departure", 4, 3, None)]
    assert rows.pending == []


@pytest.mark.parametrize(("other", "fired"), [(6, False), (7, True)])
@pytest.mark.fault(51)
def test_a_silent_streams_stay_fires_once_the_watermark_is_past_its_time(other, fired):
    rows = told(q(within=4), seen(("s", 1, OUT)), seen(("s", 2, IN)), seen(("r", other, OUT)))
    assert became(rows) == ([("stay", 6, 2, None)] if fired else [])
    assert rows.pending == ([] if fired else [PendingEvent("q", 1, "s", "I", 2)])


@pytest.mark.fault(51)
def test_a_silent_streams_departure_fires_from_the_watermark_alone():
    rows = told(q(within=4), seen(("s", 1, IN)), seen(("s", 2, OUT)), seen(("r", 7, OUT)))
    assert became(rows) == [("departure", 6, 2, None)]
    assert rows.transitions[0].delivery == 2


@pytest.mark.fault(52)
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
    assert rows.pending == [PendingEvent("q", 1, "s", "O", 3)]


def test_the_allowed_lateness_holds_the_watermark_back():
    script = [seen(("s", 1, OUT)), seen(("s", 2, IN)), seen(("r", 7, OUT))]
    assert became(told(q(within=4), *script, lateness=3)) == []
    assert became(told(q(within=4), *script, seen(("r", 10, OUT)), lateness=3)) == [
        ("stay", 6, 2, None)
    ]


@pytest.mark.fault(52)
def test_within_zero_makes_every_crossing_a_stay_or_a_departure():
    rows = told(q(within=0), *walk(OUT, IN, OUT))
    assert became(rows) == [("stay", 2, 2, None)]
    assert rows.pending == [PendingEvent("q", 1, "s", "O", 3)]


def test_a_query_without_t_has_no_transitions():
    rows = told(q(), *walk(OUT, IN, OUT, IN))
    assert (rows.transitions, rows.pending) == ([], [])


def test_an_entry_at_first_sight_is_a_crossing_like_any_other():
    assert became(told(q(within=4, on_first="enter"), *walk(IN, OUT))) == [
        ("pass_through", 2, 1, 2)
    ]


@pytest.mark.parametrize("valid_to", [4, 6, 7])
def test_a_pass_through_that_was_completed_before_valid_to_stands(valid_to):
    rows = told(q(within=4, valid_to=valid_to), *walk(OUT, IN, OUT))
    assert became(rows) == [("pass_through", 3, 2, 3)]
    assert rows.pending == [PendingEvent("q", 1, "s", "O", 3)]


def test_a_crossing_is_answered_by_nothing_at_or_after_valid_to():
    rows = told(q(within=4, valid_to=3), *walk(OUT, IN, OUT))
    assert (became(rows), crossed(rows)) == ([], [("I", "q", 2)])


@pytest.mark.parametrize(("other", "left"), [(6, 1), (7, 0)])
def test_a_crossing_that_may_outlast_its_query_pends_until_its_time_is_over(other, left):
    script = [*walk(OUT, IN), seen(("r", other, OUT))]
    rows = told(q(within=4, valid_to=5), *script)
    assert (became(rows), len(rows.pending)) == ([], left)
    rows = told(q(within=4, valid_to=5), *script, seen(("s", 4, OUT)))
    assert became(rows) == [("pass_through", 4, 2, 4)] * left


# ── ties, and each stream's own clock ─────────────────────────────────────────────────────────────


def test_crossings_of_one_instant_answer_each_other_in_their_places():
    rows = told(q(within=0), seen(("s", 1, OUT), ("s", 2, IN), ("s", 2, OUT)), ties="all")
    assert became(rows) == [("pass_through", 2, 2, 2)]
    assert [(e.type, e.ts, e.place) for e in rows.events] == [("I", 2, 0), ("O", 2, 1)]
    assert rows.transitions[0][-2:] == (0, 1)
    assert rows.pending == [PendingEvent("q", 1, "s", "O", 2, 1)]


def test_by_stream_a_stay_waits_for_its_own_streams_clock():
    script = [seen(("s", 1, OUT)), seen(("s", 2, IN)), seen(("r", 20, OUT))]
    assert became(told(q(within=4), *script, idle=14)) == []
    assert became(told(q(within=4), *script, idle=13)) == [("stay", 6, 2, None)]
    rows = told(q(within=4), *script, seen(("s", 7, IN)), idle=30)
    assert became(rows) == [("stay", 6, 2, None)]
    assert rows.transitions[0].delivery == 3


@pytest.mark.parametrize(("valid_to", "fired"), [(6, []), (7, [("stay", 6, 2, None)])])
def test_a_stay_is_told_only_if_its_time_ends_before_valid_to(valid_to, fired):
    rows = told(q(within=4, valid_to=valid_to), *walk(OUT, IN), seen(("r", 99, OUT)))
    assert became(rows) == fired


def test_a_removed_query_takes_its_pending_crossings_with_it():
    assert told(q(within=4), *walk(OUT, IN)).pending == [PendingEvent("q", 1, "s", "I", 2)]
    gone = ran(in_force(q(within=4)), *walk(OUT, IN), in_force(), seen(("r", 99, OUT)))
    assert (gone.pending, gone.transitions) == ([], [])


def test_a_new_version_does_not_inherit_the_pending_crossings_of_the_old_one():
    old, new = q(within=4), q(within=9, version=2)
    rows = ran(in_force(old), *walk(OUT, IN), in_force(new), seen(("s", 3, OUT)))
    assert [(e.type, e.version) for e in rows.events] == [("I", 1), ("O", 2)]
    assert rows.transitions == []
    assert rows.pending == [PendingEvent("q", 2, "s", "O", 3)]


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
