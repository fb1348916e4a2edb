"""The reference's matches, by hand: a tuple and a query, and nothing before or after."""

import pytest

from fencepost.order import OrderRules
from fencepost.reference import (
    FeedDelivery,
    Match,
    Registration,
    Sighting,
    holds,
    holds_by_text,
    run,
)
from tests.support.stories.strategies import FEED, standing_query

AXES = ("x", "y")


def match(id: str, where: str, **fields):
    return standing_query(id, where, AXES, kind="match", **fields)


def seen(ts: int, x: float, y: float, stream: str = "a") -> Sighting:
    return Sighting(stream, ts, (x, y))


EXAMPLE = match("e", "x BETWEEN 0.2 AND 0.5 AND y BETWEEN 0.2 AND 0.5 AND x > y")


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ((0.4, 0.3), True),
        ((0.3, 0.4), False),
        ((0.3, 0.3), False),
        ((0.5, 0.2), True),
        ((0.6, 0.3), False),
        ((0.4, 0.1), False),
    ],
)
def test_the_third_example_of_the_paper_holds_below_the_diagonal_of_its_box(at, expected):
    assert holds(EXAMPLE, at) is expected
    assert holds_by_text(EXAMPLE, AXES, at) is expected


def test_every_accepted_tuple_gives_every_match_that_holds_the_first_too():
    script: list[FeedDelivery | Registration] = [
        Registration(
            (match("m", "x > y"), match("n", "x > 0"), standing_query("c", "x > 0", AXES))
        ),
        FeedDelivery((seen(1, 2, 1), seen(2, 2, 1), seen(2, 2, 1), seen(3, 0, 1, "b"))),
        FeedDelivery((seen(1, 9, 1), seen(4, 1, 2))),
    ]
    rows = run(FEED, AXES, script, OrderRules("first"))
    assert rows.matches == [
        Match("m", 1, "a", 1, 0),
        Match("n", 1, "a", 1, 0),
        Match("m", 1, "a", 2, 0),
        Match("n", 1, "a", 2, 0),
        Match("n", 1, "a", 4, 1),
    ]
    assert [event.query_id for event in rows.events] == []


def test_a_match_is_asked_for_its_streams_within_its_validity_while_it_stands():
    bounded = match("m", "ALL", streams=("a",), valid_from=2, valid_to=4)
    once = [FeedDelivery(tuple(seen(ts, 0, 0, s) for ts in (1, 2, 3, 4) for s in "ab"))]
    rows = run(FEED, AXES, [Registration((bounded,)), *once])
    assert [(m.stream, m.ts) for m in rows.matches] == [("a", 2), ("a", 3)]
    script: list[FeedDelivery | Registration] = [
        FeedDelivery((seen(1, 0, 0),)),
        Registration((match("m", "ALL", version=3),)),
        FeedDelivery((seen(2, 0, 0),)),
        Registration(()),
        FeedDelivery((seen(3, 0, 0),)),
    ]
    assert run(FEED, AXES, script).matches == [Match("m", 3, "a", 2, 1)]


def test_a_tuple_that_waits_matches_when_it_is_released():
    script: list[FeedDelivery | Registration] = [
        Registration((match("m", "ALL"),)),
        FeedDelivery((seen(5, 0, 0),)),
        Registration((match("m", "x > 0", version=2), match("n", "ALL"))),
        FeedDelivery((seen(9, 0, 0),)),
    ]
    rows = run(FEED, AXES, script, OrderRules(lateness=3))
    assert rows.matches == [Match("n", 1, "a", 5, 1)]
