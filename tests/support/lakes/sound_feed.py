"""A small lake in which all is as it should be, to be broken in one place at a time."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipelines.checks import Checked
from pipelines.project.settings import Settings
from tests.support.lakes.builder import settings_of
from tests.support.lakes.ledger import Ledger, at

Rows = tuple[dict[str, Any], ...]
YEAR_2300 = datetime(2300, 1, 1, tzinfo=UTC)
AXES: dict[str, tuple[str, ...]] = {"ticks": ("price",)}


def sound_settings(folder: Path) -> Settings:
    """Declare its feed."""
    return settings_of(folder, AXES)


def failed(made: Iterable[Checked]) -> list[tuple[str, str, list[str]]]:
    """What did not pass."""
    return [(each.table, each.name, each.samples) for each in made if not each.passed]


def sound() -> Ledger:
    """One stream: in at 1 s, out at 3 s, and away for longer than 5 s from then on.

    One query for the crossings, and one for the matches.
    """
    ledger = Ledger(AXES)
    ledger.register(
        {"id": "q", "lo": [10.0], "hi": [20.0], "within": 5_000_000},
        {"id": "m", "lo": [10.0], "hi": [20.0], "kind": "match"},
    )
    day: dict[str, Any] = {"partition_key": "2026-11-18", "future": 0}
    first = ledger.arrive("ticks", rows=4, tuples=3, malformed=1, max_ts=at(3), **day)
    second = ledger.arrive("ticks", rows=2, tuples=2, malformed=0, max_ts=at(10), **day)
    for arrival, line, ts, price in (
        (first, 1, 0, 5.0),
        (first, 2, 1, 15.0),
        (first, 3, 3, 25.0),
        (second, 1, 10, 26.0),
        (second, 2, 2, 11.0),
    ):
        ledger.add(
            "ticks", stream_id="a", ts=at(ts), price=price, arrival=arrival, line=line, bucket=-1
        )
    where = {"feed": "ticks", "detail": "so it is", "path": "a.csv"}
    ledger.add("quarantine", **where, arrival=first, line=4, reason="malformed")
    late = {"reason": "late", "epoch": 2, "generation": 1}
    ledger.add("quarantine", **where, **late, arrival=second, line=2)
    ledger.epoch(
        "ticks",
        1,
        [first],
        bases="{}",
        watermarks=[at(3)],
        watermark=at(3),
        rows=4,
        accepted=3,
        malformed=1,
        entered=1,
        left=1,
        pass_through=1,
        matched=1,
    )
    ledger.epoch(
        "ticks",
        2,
        [second],
        bases="{}",
        watermark_before=at(3),
        watermarks=[at(10)],
        watermark=at(10),
        rows=2,
        accepted=1,
        late=1,
        departure=1,
    )
    ledger.event("I", "q", "a", 1, prev_ts=at(0), price=15.0, prev_price=5.0, arrival=first)
    ledger.event("O", "q", "a", 3, prev_ts=at(1), price=25.0, prev_price=15.0, arrival=first)
    pair = {"feed": "ticks", "query_id": "q", "query_version": 1, "stream_id": "a", "generation": 1}
    for type_, begun, ts, to_ts, epoch in (
        ("pass_through", 1, 3, at(3), 1),
        ("departure", 3, 8, None, 2),
    ):
        more = {"arrival": first if epoch == 1 else second, "epoch": epoch, "day": at(ts)}
        ledger.add(
            "transitions", **pair, **more, type=type_, from_ts=at(begun), ts=at(ts), to_ts=to_ts
        )
    match = {**pair, "query_id": "m", "ts": at(1), "day": at(1)}
    ledger.add("matches", **match, arrival=first, epoch=1)
    leap = {**pair, "query_id": "p", **_leap(3), "day": at(3)}
    ledger.add("leaps", **leap, arrival=first, epoch=1)
    for epoch, ts, price in ((1, 3, 25.0), (2, 10, 26.0)):
        more = {"epoch": epoch, "generation": 1, "bucket": -1, "index": "i"}
        ledger.add("stream_state", feed="ticks", stream_id="a", ts=at(ts), price=price, **more)
    return ledger


def _leap(second: int) -> dict[str, Any]:
    """A step of four seconds, inside from its second second to its third."""
    inside = {"enter_ts": at(second - 3), "leave_ts": at(second - 2)}
    shares = {"enter_share": 0.25, "leave_share": 0.5}
    return {"ts": at(second), "prev_ts": at(second - 4), **inside, **shares, "price": 1.0}


LONG = "x" * 257
IDS: Rows = ({"query_id": LONG}, {"stream_id": LONG}, {"query_version": 0})
BREAKS: dict[str, Rows] = {
    "ticks": ({"stream_id": LONG}, {"ts": YEAR_2300}, {"price": float("nan")}, {"line": 0}),
    "quarantine": (
        {"epoch": 2, "generation": 1, "reason": "malformed"},
        {"detail": ""},
        {"path": ""},
    ),
    "stream_state": ({"stream_id": LONG}, {"ts": YEAR_2300}, {"price": None}, {"index": ""}),
    "events": (
        *IDS,
        {"type": "X"},
        {"day": at(90_000)},
        {"prev_ts": at(200)},
        {"price": None},
    ),
    "transitions": (
        *IDS,
        {"type": "pass_through"},
        {"day": at(90_000)},
        {"from_ts": at(200)},
        dict.fromkeys(("ts", "from_ts", "to_ts", "day"), at(120))
        | {"type": "pass_through", "from_place": 1, "to_place": 1},
    ),
    "matches": (*IDS, {"day": at(90_000)}, {"ts": YEAR_2300, "day": YEAR_2300}),
    "leaps": (
        *IDS,
        {"day": at(90_000)},
        {"ts": YEAR_2300, "day": YEAR_2300},
        {"leave_ts": at(0)},
    ),
    "pending": (*IDS, {"type": "X"}, {"ts": YEAR_2300}),
}
"""By table: what breaks each promise of its contract, those of uniqueness aside."""


def spoilt() -> Ledger:
    """Beside what is sound, for each promise of a contract a row that breaks that one alone."""
    ledger = sound()
    for table, breaks in BREAKS.items():
        for place, broken in enumerate(breaks, start=100):
            ledger.add(table, **{**_unbroken(table, place), **broken})
    for table in ("ticks", "quarantine", "events", "transitions", "matches", "leaps"):
        ledger.rows[table].append(ledger.rows[table][0])
    return ledger


def _unbroken(table: str, place: int) -> dict[str, Any]:
    """Return a row that keeps its contract, a different one for each place."""
    of_epoch = {"feed": "ticks", "epoch": 2, "generation": 1}
    pair = {**of_epoch, "query_id": "q", "query_version": 1, "stream_id": f"s{place}"}
    when = {"ts": at(place), "day": at(place)}
    rows: dict[str, dict[str, Any]] = {
        "ticks": {"stream_id": "z", "arrival": 2, "bucket": -1, "line": place, "ts": at(1)},
        "quarantine": {
            "feed": "ticks",
            "detail": "so it is",
            "path": "a.csv",
            "reason": "future",
            "arrival": 2,
            "line": place,
        },
        "stream_state": {
            **of_epoch,
            "stream_id": f"s{place}",
            "ts": at(1),
            "price": 1.0,
            "index": "i",
            "bucket": -1,
        },
        "events": {**pair, **when, "type": "I", "price": 1.0, "prev_ts": at(place - 1)},
        "transitions": {**pair, **when, "type": "stay", "from_ts": at(place - 5), "to_ts": None},
        "matches": {**pair, **when},
        "leaps": {**pair, **when, **_leap(place)},
        "pending": {**pair, "type": "I", "ts": at(1), "bucket": -1},
    }
    return rows[table]
