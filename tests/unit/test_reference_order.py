"""What the reference takes, keeps waiting and turns away, against cases worked by hand."""

import pytest

from fencepost.errors import InputError
from fencepost.order import OrderRules
from fencepost.reference import FeedDelivery, Sighting
from fencepost.reference.order import Head
from tests.support.oracles.by_hand import IN, OUT, crossed, q, ran, seen, told, walk

# ── order, duplicates, conflicts, late tuples ─────────────────────────────────────────────────────


def test_a_delivery_is_taken_in_the_order_of_ts():
    rows = told(q(), seen(("s", 3, OUT), ("s", 1, OUT), ("s", 2, IN)))
    assert crossed(rows) == [("I", "q", 2), ("O", "q", 3)]


@pytest.mark.fault(33)
def test_of_two_rows_with_one_ts_the_first_in_the_file_wins():
    rows = told(q(), seen(("s", 2, IN), ("s", 1, OUT), ("s", 2, OUT), ("s", 2, IN)))
    assert crossed(rows) == [("I", "q", 2)]
    assert rows.rejected == [(0, 2, "conflict"), (0, 3, "duplicate")]


@pytest.mark.fault(32, 33, 35)
def test_across_deliveries_a_repeat_is_told_from_a_contradiction_and_from_a_late_tuple():
    rows = told(
        q(), seen(("s", 5, OUT)), seen(("s", 5, OUT)), seen(("s", 5, IN)), seen(("s", 4, IN))
    )
    assert rows.rejected == [(1, 0, "duplicate"), (2, 0, "conflict"), (3, 0, "late")]
    assert (rows.events, rows.heads) == ([], {"s": Head(5, (0.0,))})


@pytest.mark.fault(35)
def test_a_tuple_taken_long_ago_comes_again_as_late():
    assert ran(*walk(1, 2), seen(("s", 1, 1))).rejected == [(2, 0, "late")]


def test_minus_zero_is_zero():
    assert ran(seen(("s", 1, 0.0)), seen(("s", 1, -0.0))).rejected == [(1, 0, "duplicate")]


def test_lateness_is_per_stream_without_allowance_a_slower_stream_is_not_late():
    rows = told(q(), seen(("s", 9, OUT)), seen(("r", 1, OUT)), seen(("r", 2, IN)))
    assert rows.rejected == []
    assert crossed(rows) == [("I", "q", 2)]


@pytest.mark.fault(34)
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


@pytest.mark.fault(34)
def test_released_tuples_are_taken_by_ts_then_delivery_then_row():
    first = seen(("a", 4, 0), ("b", 2, 0), ("c", 4, 0))
    rows = ran(first, seen(("d", 4, 0), ("e", 3, 0)), seen(("f", 4 + 9, 0)), lateness=9)
    assert [s.stream for _, s in rows.accepted] == ["b", "e", "a", "c", "d"]
    assert {n for n, _ in rows.accepted} == {2}


@pytest.mark.fault(36)
def test_a_rejected_tuple_does_not_move_the_watermark():
    rows = ran(seen(("s", 5, 0)), seen(("s", 4, 0), ("s", 5, 1)), FeedDelivery(()))
    assert rows.watermark == 5
    assert ran(FeedDelivery(())).watermark is None


def test_rows_read_are_accepted_or_waiting_or_rejected():
    rows = ran(seen(("s", 5, 0), ("s", 5, 0), ("s", 9, 0), ("s", 2, 0)), lateness=3)
    assert (len(rows.accepted), len(rows.waiting), len(rows.rejected)) == (2, 1, 1)


@pytest.mark.parametrize(
    ("rules", "fault"),
    [
        ({"lateness": -1}, "an allowed lateness of -1 µs, expected 0 or more"),
        ({"idle": -2}, "an idle time of -2 µs, expected 0 or more"),
        ({"ties": "last"}, "ties is 'last': 'all' or 'first' was expected"),
    ],
)
def test_rules_that_cannot_be_meant_are_refused(rules, fault):
    with pytest.raises(InputError, match=fault):
        OrderRules(**rules)


def test_a_tuple_with_the_wrong_number_of_values_is_refused():
    with pytest.raises(InputError, match="expected 1 values"):
        ran(seen(("s", 1, 0, 0)))


# ── several tuples of an instant, sequences, each stream's own clock ──────────────────────────────


def numbered(*rows: tuple[str, int, float, int | str]) -> FeedDelivery:
    """One delivery of (stream, ts, value, sequence) rows."""
    return FeedDelivery(tuple(Sighting(s, ts, (float(v),), n) for s, ts, v, n in rows))


def test_every_tuple_of_an_instant_is_a_step_in_the_order_of_its_rows():
    rows = told(q(), seen(("s", 2, IN), ("s", 1, OUT), ("s", 2, OUT), ("s", 2, OUT)), ties="all")
    assert [(e.type, e.ts, e.place) for e in rows.events] == [("I", 2, 0), ("O", 2, 1)]
    assert (rows.rejected, rows.heads) == ([], {"s": Head(2, (OUT,), place=2)})


def test_a_later_deliverys_tuples_of_an_instant_come_after_an_earlier_ones():
    script = [seen(("s", 2, OUT), ("s", 2, IN)), seen(("s", 2, OUT), ("s", 1, IN))]
    rows = told(q(), *script, ties="all")
    assert [(e.type, e.place, e.delivery) for e in rows.events] == [("I", 1, 0), ("O", 2, 1)]
    assert rows.rejected == [(1, 1, "late")]


def test_what_waits_of_an_instant_is_released_together_in_the_order_it_came():
    script = [seen(("s", 2, OUT)), seen(("s", 2, IN)), seen(("s", 9, IN)), seen(("s", 2, OUT))]
    rows = told(q(), *script, ties="all", lateness=3)
    assert [(e.type, e.place, e.delivery) for e in rows.events] == [("I", 1, 2), ("O", 2, 3)]


def test_a_sequence_orders_an_instant_whatever_the_rows():
    rows = told(q(), numbered(("s", 1, OUT, 10), ("s", 1, IN, 9), ("s", 1, IN, 11)), ties="all")
    assert [(e.type, e.place) for e in rows.events] == [("O", 1), ("I", 2)]
    assert rows.heads == {"s": Head(1, (IN,), 2, 11)}
    rows = told(q(), numbered(("s", 1, OUT, "10"), ("s", 1, IN, "9")), ties="all")
    assert [(e.type, e.place) for e in rows.events] == [("I", 1)]


def test_a_sequence_tells_a_repeat_a_contradiction_and_what_is_late():
    first = numbered(("s", 5, OUT, 1), ("s", 5, IN, 3))
    again = numbered(("s", 5, IN, 3), ("s", 5, OUT, 3), ("s", 5, OUT, 2), ("s", 5, OUT, 4))
    rows = ran(first, again, ties="all")
    assert sorted(rows.rejected) == [(1, 0, "duplicate"), (1, 1, "conflict"), (1, 2, "late")]
    waits = ran(first, again, ties="all", lateness=9)
    assert sorted(waits.rejected) == [(1, 0, "duplicate"), (1, 1, "conflict")]
    assert len(waits.waiting) == 4


def test_a_last_tuple_without_a_sequence_is_lower_than_any():
    rows = ran(seen(("s", 5, OUT)), numbered(("s", 5, OUT, -9)), ties="all")
    assert (rows.rejected, rows.heads["s"].place) == ([], 1)


def test_by_stream_each_waits_for_its_own_clock_until_it_is_idle():
    script = [seen(("near", 100, 0), ("far", 10, 0), ("far", 14, 0))]
    rows = ran(*script, lateness=3, idle=50)
    assert [(s.stream, s.ts) for _, s in rows.accepted] == [("far", 10), ("far", 14)]
    rows = ran(*script, lateness=3, idle=88)
    assert [(s.stream, s.ts) for _, s in rows.accepted] == [("far", 10)]
    assert rows.watermark == 12
    rows = ran(*script, seen(("far", 17, 0)), lateness=3, idle=88)
    assert [(n, s.ts) for n, s in rows.accepted] == [(0, 10), (1, 14)]
