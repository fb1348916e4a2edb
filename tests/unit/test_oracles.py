"""The bridge between columns and rows loses nothing, and the comparison sees every difference."""

import pyarrow as pa
import pytest

from fencepost.order import OrderRules
from fencepost.reference import FeedDelivery, Registration, RunResult, Sighting, run
from tests.support.oracles.oracles import (
    assert_same_rows,
    batch_of,
    differences,
    epochs,
    event_rows,
    rejected_rows,
    transition_rows,
)
from tests.support.stories.strategies import standing_query

QUERY = standing_query("q", "x >= 2 AND x < 5", ("x", "y"), within=2, on_first="enter")
STEPS = [FeedDelivery((Sighting("s", ts, (float(x), 0.0)),)) for ts, x in enumerate((3, 0, 3, 0))]
LATE = OrderRules(lateness=9)
NONE, ONE = Registration(()), Registration((QUERY,))


def told(*script: FeedDelivery | Registration) -> RunResult:
    return run("grid", ("x", "y"), script)


def split(*script, cuts=None) -> list[tuple[int, int, int]]:
    """Of each epoch: queries in force, deliveries, number of the first."""
    found = epochs(script, cuts)
    return [(len(e.registration.queries), len(e.deliveries), e.first) for e in found]


def test_without_cuts_every_delivery_is_an_epoch():
    assert split(ONE, *STEPS[:3]) == [(1, 1, 0), (1, 1, 1), (1, 1, 2)]


def test_epochs_end_at_cuts_and_at_registrations():
    script = (STEPS[0], ONE, *STEPS[1:4], NONE)
    assert split(*script, cuts=()) == [(0, 1, 0), (1, 3, 1), (0, 0, 4)]
    assert split(*script, cuts=(3,)) == [(0, 1, 0), (1, 2, 1), (1, 1, 3), (0, 0, 4)]
    assert split(*script, LATE, cuts=()) == [(0, 1, 0), (1, 3, 1), (0, 0, 4)]


def test_of_two_registrations_in_a_row_the_later_holds():
    assert split(ONE, NONE, STEPS[0]) == [(0, 1, 0)]
    assert split() == []


def test_a_batch_keeps_rows_in_file_order_and_deliveries_apart():
    first = FeedDelivery((Sighting("b", 7, (1.0, 2.0)), Sighting("a", 3, (-0.0, 4.0))))
    batch = batch_of("grid", ("x", "y"), [first, FeedDelivery(()), STEPS[0]])
    assert batch.names.take(pa.array(batch.stream)).to_pylist() == ["b", "a", "s"]
    assert batch.ts.tolist() == [7, 3, 0]
    assert batch.values.tolist() == [[1.0, 0.0, 3.0], [2.0, 4.0, 0.0]]
    assert batch.delivery.tolist() == [0, 0, 2]
    assert len(batch_of("grid", ("x", "y"), [])) == 0


def test_columns_become_the_references_rows():
    rows = told(ONE, *STEPS)
    names = ("type", "query_id", "query_version", "stream_id", "ts")
    events = pa.table(
        {
            **{name: [e[i] for e in rows.events] for i, name in enumerate(names)},
            "prev_ts": [e.prev_ts for e in rows.events],
            "delivery": pa.array([e.delivery for e in rows.events], pa.int32()),
            "x": [e.values[0] for e in rows.events],
            "y": [e.values[1] for e in rows.events],
            "prev_x": [e.prev_values[0] if e.prev_values else None for e in rows.events],
            "prev_y": [e.prev_values[1] if e.prev_values else None for e in rows.events],
        }
    )
    also = ("from_ts", "to_ts", "delivery", "from_place", "to_place")
    columns = zip(*rows.transitions, strict=True)
    transitions = pa.table(dict(zip((*names, *also), map(list, columns), strict=True)))
    assert event_rows(events, ("x", "y")) == rows.events
    assert transition_rows(transitions) == rows.transitions
    later = event_rows(events, ("x", "y"), first=5)
    assert [e.delivery for e in later] == [e.delivery + 5 for e in rows.events]


def test_rejected_rows_are_numbered_in_their_own_delivery():
    batch = batch_of(
        "grid", ("x", "y"), [STEPS[0], FeedDelivery(()), FeedDelivery(STEPS[0].tuples * 3)]
    )
    assert rejected_rows([0, 3], ["late", "duplicate"], batch, first=4) == [
        (4, 0, "late"),
        (6, 2, "duplicate"),
    ]


def test_rows_are_compared_as_multisets():
    assert differences("events", ["a", "b", "a"], ["a", "a", "b"]) == []
    assert differences("events", ["a", "a"], ["a", "b"]) == [
        "events: missing a",
        "events: not expected b",
    ]


@pytest.mark.parametrize("part", ["events", "transitions", "heads", "watermark", "accepted"])
def test_a_difference_in_any_part_that_is_compared_fails(part):
    expected = told(ONE, *STEPS)
    assert_same_rows(expected, told(ONE, *STEPS), [part])
    with pytest.raises(AssertionError, match=f"{part}: missing"):
        assert_same_rows(expected, told(ONE, *STEPS[:2]), [part])


def test_pending_and_waiting_are_compared_without_their_places():
    parts = ("pending", "waiting")
    waits = run("grid", ("x", "y"), STEPS[:2], LATE)
    again = run("grid", ("x", "y"), [FeedDelivery(()), *STEPS[:2]], LATE)
    assert_same_rows(waits, again, parts)
    with pytest.raises(AssertionError, match="waiting: missing"):
        assert_same_rows(waits, RunResult(), parts)
