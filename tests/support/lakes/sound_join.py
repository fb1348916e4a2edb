"""A small lake of two feeds that are joined, in which all is as it should be, to be broken."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fencepost.lanes import lane_of
from pipelines.project.settings import Settings
from tests.support.lakes.builder import settings_of
from tests.support.lakes.ledger import Ledger, at
from tests.support.lakes.sound_feed import LONG, Rows

AXES: dict[str, tuple[str, ...]] = {"bids": ("x",), "asks": ("x", "z")}
LANE = lane_of("bids", "asks")


def sound_settings(folder: Path) -> Settings:
    """Declare both feeds, and that Dagster shows their joins."""
    return settings_of(folder, AXES, joins=(LANE,))


def sound() -> Ledger:
    """Two bids and two asks, then a bid that moves, one that leaves and one that is late.

    A window join `w` of equal values within 5 s, a band join `b` of what is at most 1 apart, and a
    near join `n` of bids on the diagonal.
    """
    ledger = Ledger(AXES)
    join = {"feed": LANE, "lo": [], "hi": []}
    ledger.register(
        {**join, "id": "w", "kind": "window_join", "joined_on": "left.x = right.x"}
        | {"window_us": 5_000_000},
        {**join, "id": "b", "kind": "band_join", "left_axis": "x", "right_axis": "x"}
        | {"at_least": -1.0, "at_most": 1.0},
        {**join, "id": "n", "kind": "near_join", "distance": 25.0}
        | {"region_on": [0, 0, 0, 1], "on_earth": False},
    )
    first = _arrived(ledger, "bids", 2, {"a": (1, 10.0), "b": (2, 20.0)})
    second = _arrived(ledger, "asks", 3, {"z": (2, 10.5), "y": (3, 20.0)})
    third = _arrived(ledger, "bids", 5, {"a": (4, 30.0), "b": (5, 20.0), "late": (0, 1.0)})
    ledger.rows["bids"][3]["deleted"] = True
    late = {"reason": "late", "detail": "so it is", "arrival": third, "line": 3}
    ledger.add("quarantine", feed="bids", epoch=2, generation=1, **late)
    for epoch in (1, 2):
        _of_lane(ledger, epoch, [first, second] if epoch == 1 else [third])
    _of_feed(ledger, "bids", 1, [first], at(2), None, rows=2, accepted=2)
    _of_feed(ledger, "bids", 2, [third], at(5), at(2), rows=3, accepted=2, late=1)
    _of_feed(ledger, "asks", 1, [second], at(3), None, rows=2, accepted=2)
    _pair(ledger, ("b", 2), ("y", 3), 1, second)
    _pair(ledger, ("b", 5), ("y", 3), 2, third)
    for change, left, right, ts, values, arrival in (
        (1, "a", "z", 2, (10.0, 10.5), second),
        (1, "b", "y", 3, (20.0, 20.0), second),
        (-1, "a", "z", 4, (10.0, 10.5), third),
        (-1, "b", "y", 5, (20.0, 20.0), third),
    ):
        _change(ledger, change, (left, right), ts, values, arrival, 1 if change > 0 else 2)
    _near_change(ledger, 1, 3, second)
    _near_change(ledger, -1, 5, third)
    for feed, stream, ts, value, epoch in (
        ("bids", "a", 1, 10.0, 1),
        ("bids", "b", 2, 20.0, 1),
        ("asks", "z", 2, 10.5, 1),
        ("asks", "y", 3, 20.0, 1),
        ("bids", "a", 4, 30.0, 2),
        ("bids", "b", 5, 20.0, 2),
    ):
        where = {"lane": LANE, "epoch": epoch, "generation": 1, "feed": feed}
        z = 0.0 if feed == "asks" else None
        here = {"stream_id": stream, "ts": at(ts), "x": value, "z": z, "member": ts < 5}
        ledger.add("set_members", **where, **here)
    return ledger


def _arrived(ledger: Ledger, feed: str, newest: int, rows: dict[str, tuple[int, float]]) -> int:
    n = len(rows)
    told = {"rows": n, "tuples": n, "malformed": 0, "future": 0, "max_ts": at(newest)}
    arrival = ledger.arrive(feed, partition_key="2026-11-18", **told)
    for line, (stream, (ts, x)) in enumerate(rows.items(), 1):
        who = "a" if stream == "late" else stream
        ledger.add(feed, stream_id=who, ts=at(ts), x=x, arrival=arrival, line=line, bucket=-1)
    return arrival


def _of_lane(ledger: Ledger, epoch: int, arrivals: list[int]) -> None:
    if epoch == 1:
        marks = {"watermarks": [None, at(2)], "watermark": at(2)}
        counts = {"rows": 4, "accepted": 4, "paired": 1, "came_in": 2, "came_near": 1}
    else:
        marks = {"watermark_before": at(2), "watermarks": [at(3)], "watermark": at(3)}
        counts = {"rows": 3, "accepted": 2, "late": 1, "paired": 1, "went_out": 2, "went_away": 1}
    ledger.epoch(LANE, epoch, arrivals, bases="{}", **marks, **counts)


def _of_feed(
    ledger: Ledger,
    feed: str,
    epoch: int,
    arrivals: list[int],
    mark: datetime,
    before: datetime | None,
    **counts: int,
) -> None:
    marks: dict[str, Any] = {"watermarks": [mark], "watermark": mark, "watermark_before": before}
    ledger.epoch(feed, epoch, arrivals, bases="{}", **marks, **counts)


def _pair(
    ledger: Ledger, left: tuple[str, int], right: tuple[str, int], epoch: int, arrival: int
) -> None:
    ts = at(max(left[1], right[1]))
    of_epoch = {"lane": LANE, "epoch": epoch, "generation": 1, "arrival": arrival, "day": ts}
    sides = {
        "left_stream_id": left[0],
        "left_ts": at(left[1]),
        "left_x": 20.0,
        "right_stream_id": right[0],
        "right_ts": at(right[1]),
        "right_x": 20.0,
        "right_z": 0.0,
    }
    ledger.add("pairs", query_id="w", query_version=1, ts=ts, **of_epoch, **sides)


def _change(
    ledger: Ledger,
    change: int,
    pair: tuple[str, str],
    ts: int,
    values: tuple[float, float],
    arrival: int,
    epoch: int,
) -> None:
    of_epoch = {"lane": LANE, "epoch": epoch, "generation": 1, "arrival": arrival, "day": at(ts)}
    sides = {"left_stream_id": pair[0], "right_stream_id": pair[1]}
    held = {"left_value": values[0], "right_value": values[1]}
    row = {"query_id": "b", "query_version": 1, "change": change, "ts": at(ts)}
    ledger.add("band_changes", **row, **of_epoch, **sides, **held)


def _near_change(ledger: Ledger, change: int, ts: int, arrival: int) -> None:
    when = {"ts": at(ts), "day": at(ts), "arrival": arrival}
    of_epoch = {"lane": LANE, "epoch": 1 if change > 0 else 2, "generation": 1}
    row = {"query_id": "n", "query_version": 1, "change": change, "distance": 20.0}
    places = {"left_x": 20.0, "left_y": 20.0, "right_x": 20.0, "right_y": 0.0}
    streams = {"left_stream_id": "b", "right_stream_id": "y"}
    ledger.add("near_changes", **row, **when, **of_epoch, **places, **streams)


IDS: Rows = (
    {"query_id": LONG},
    {"query_version": 0},
    {"left_stream_id": LONG},
    {"right_stream_id": LONG},
)
TOMORROW = datetime(2026, 11, 19, 12, tzinfo=UTC)
BREAKS: dict[str, Rows] = {
    "pairs": (*IDS, {"day": TOMORROW}, {"left_ts": at(1), "right_ts": at(2)}, {"right_z": None}),
    "band_changes": (*IDS, {"day": TOMORROW}, {"left_value": float("nan")}),
    "near_changes": (*IDS, {"day": TOMORROW}, {"distance": float("nan")}),
}
"""By table: what breaks each promise of its contract, that of uniqueness aside."""


def spoilt() -> Ledger:
    """Beside what is sound, for each promise of a contract a row that breaks that one alone."""
    ledger = sound()
    for table, breaks in BREAKS.items():
        of_table = ledger.rows[table]
        whole = dict(of_table[-1])
        for place, broken in enumerate(breaks, start=100):
            when = {"ts": at(place), "day": at(place)}
            when |= {"left_ts": at(place)} if table == "pairs" else {}
            of_table.append({**whole, **when, **broken})
        of_table.append(of_table[0])
    return ledger
