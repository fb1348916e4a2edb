"""A small sound lake in which a stream is seen five times at one instant, in two deliveries."""

from typing import Any

from tests.support.lakes.ledger import Ledger, at
from tests.support.lakes.sound_feed import AXES

STEPS = ((5.0, None), (15.0, "I"), (25.0, "O"), (15.0, "I"), (25.0, "O"))
"""The prices of the stream `t` at 1 s by place, and what each crosses; the last comes later."""


def tied() -> Ledger:
    """In, out, in and out again at 1 s, and away for longer than 5 s from then on."""
    ledger = Ledger(AXES)
    ledger.register(
        {"id": "q", "lo": [10.0], "hi": [20.0], "within": 5_000_000},
        {"id": "m", "lo": [10.0], "hi": [20.0], "kind": "match"},
    )
    day: dict[str, Any] = {"partition_key": "2026-11-18", "malformed": 0, "future": 0}
    first = ledger.arrive("ticks", rows=4, tuples=4, max_ts=at(1), **day)
    second = ledger.arrive("ticks", rows=2, tuples=2, max_ts=at(10), **day)
    for place in (2, 0, 4, 3, 1):  # a table has no order of rows
        where = {"arrival": first, "line": place + 1} if place < 4 else {"arrival": second}
        row = {"stream_id": "t", "ts": at(1), "price": STEPS[place][0], "line": 1, "bucket": -1}
        ledger.add("ticks", **row | where)
    last = {"stream_id": "z", "ts": at(10), "price": 26.0, "bucket": -1}
    ledger.add("ticks", **last, arrival=second, line=2)
    counts = {"rows": 4, "accepted": 4, "entered": 2, "left": 1, "matched": 2}
    counts |= {"pass_through": 1, "short_absence": 1}
    ledger.epoch("ticks", 1, [first], bases="{}", watermarks=[at(1)], watermark=at(1), **counts)
    marks: dict[str, Any] = {"watermark_before": at(1), "watermarks": [at(10)]}
    counts = {"rows": 2, "accepted": 2, "left": 1, "pass_through": 1, "departure": 1}
    ledger.epoch("ticks", 2, [second], bases="{}", **marks, watermark=at(10), **counts)
    _found(ledger, first, second)
    of_epoch = {"feed": "ticks", "generation": 1, "bucket": -1, "index": "i"}
    for epoch, place in ((1, 3), (2, 4)):
        here = {"stream_id": "t", "ts": at(1), "ts_place": place, "price": STEPS[place][0]}
        ledger.add("stream_state", **of_epoch, **here, epoch=epoch)
    state = {"stream_id": "z", "ts": at(10), "ts_place": 0, "price": 26.0}
    ledger.add("stream_state", **of_epoch, **state, epoch=2)
    return ledger


def _found(ledger: Ledger, first: int, second: int) -> None:
    """Add what the stream crossed and matched, and what became of that."""
    pair = {"feed": "ticks", "query_id": "q", "query_version": 1, "stream_id": "t", "generation": 1}
    by_place = [{"epoch": 1, "arrival": first}] * 4 + [{"epoch": 2, "arrival": second}]
    for place, (price, crossed) in enumerate(STEPS):
        before = {"prev_ts": at(1), "prev_price": STEPS[place - 1][0]}
        if crossed is not None:
            ledger.event(
                crossed, "q", "t", 1, place=place, price=price, **before, **by_place[place]
            )
        if crossed == "I":
            match = {**pair, "query_id": "m", "ts": at(1), "day": at(1), "place": place}
            ledger.add("matches", **match, **by_place[place])
    for type_, begun, answered in (
        ("pass_through", 1, 2),
        ("short_absence", 2, 3),
        ("pass_through", 3, 4),
        ("departure", 4, None),
    ):
        ts = at(1 if answered else 6)
        became = {"from_ts": at(1), "from_place": begun, "ts": ts, "day": ts, "type": type_}
        became |= {"to_ts": at(1) if answered else None, "to_place": answered}
        ledger.add("transitions", **pair, **became, **by_place[answered or 4])
