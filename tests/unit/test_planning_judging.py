"""By which rules the deliveries of an epoch are judged, and what the ledgers say of them."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from fencepost.order import OrderRules
from pipelines.planning.chain import Chain, Epoch
from pipelines.planning.deliveries import Arrivals
from pipelines.planning.plan import (
    moved,
    next_group,
)
from pipelines.planning.rules import SEQUENCE_KEY, as_json
from schemas.arrivals import DONE, PLANNED
from tests.support.lakes.planned import (
    DEFAULT,
    LANE,
    NOW,
    Ledger,
    arrived,
    context,
    delivery,
    limits,
)

ALL, BY_STREAM = OrderRules("all"), OrderRules("all", 5, idle=100)


@given(arrived, limits, st.lists(st.sampled_from((None, ALL, BY_STREAM)), min_size=9, max_size=9))
def test_the_deliveries_of_an_epoch_are_judged_alike_and_its_record_says_how(
    deliveries, limits, drawn
) -> None:
    own = [replace(d, rules=rules) for d, rules in zip(deliveries, drawn, strict=False)]
    by_number = {d.n: d for d in own}
    ledger = Ledger()
    ledger.advance(own, limits, lateness=3)
    stands = None
    for epoch in ledger.chain.epochs:
        (rules,) = {by_number[n].rules or OrderRules("first", 3) for n in epoch.arrivals}
        assert epoch.rules == {LANE: rules}
        assert Epoch.of_row(epoch.as_row(PLANNED, NOW)).rules == epoch.rules
        behind = [moved(None, by_number[n].max_ts, rules.behind) for n in epoch.arrivals]
        for mark, own_mark in zip(epoch.watermarks, behind, strict=True):
            marks = [each for each in (stands, own_mark) if each is not None]
            stands = max(marks, default=None)
            assert mark == stands


def test_an_epoch_ends_where_tuples_begin_to_have_a_sequence() -> None:
    ledger = Ledger()
    ledger.advance([delivery(n, rules=ALL, sequenced=n > 2) for n in range(1, 5)])
    assert [epoch.arrivals for epoch in ledger.chain.epochs] == [(1, 2), (3, 4)]


def test_in_a_lane_of_joins_each_feed_is_judged_by_its_own_rules() -> None:
    drawn = [("bids", ALL), ("asks", None), ("bids", ALL), ("asks", None), ("asks", BY_STREAM)]
    deliveries = [
        delivery(n, max_ts=n * 1000, feed=feed, rules=rules)
        for n, (feed, rules) in enumerate(drawn, 1)
    ]
    made = replace(context(), lateness={"bids": 0, "asks": 3})
    group = next_group(Chain.of("bids~asks", []), deliveries, made, DEFAULT)
    assert [epoch.arrivals for epoch in group] == [(1, 2, 3, 4), (5,)]
    assert group[0].rules == {"bids": ALL, "asks": OrderRules("first", 3)}
    assert group[1].rules == {"asks": BY_STREAM}
    assert group[1].feed_watermarks == (3000, 5000 - 100)


def test_the_record_of_a_delivery_says_how_it_is_judged() -> None:
    told = {"state": DONE, "kind": "delivery", "lane": LANE, "rows": 1, "tuples": 1}
    told |= {"malformed": 0, "future": 0, "files": ["a"], "path": "a", "partition_key": ""}
    rows = [
        {**told, "n": 1, "max_ts": 0},
        {**told, "n": 2, "max_ts": 0, "declared": json.dumps(as_json(BY_STREAM))},
        {**told, "n": 3, "max_ts": 0, "declared": json.dumps({**as_json(ALL), SEQUENCE_KEY: "s"})},
    ]
    arrivals = Arrivals()
    assert arrivals.ties_of_last(LANE) is None
    for row, ties in zip(rows, ("first", "all", "all"), strict=True):
        arrivals.take(row)
        assert arrivals.ties_of_last(LANE) == ties
    assert [d.rules for d in arrivals.deliveries(LANE)] == [None, BY_STREAM, ALL]
    assert [d.sequenced for d in arrivals.deliveries(LANE)] == [False, False, True]
