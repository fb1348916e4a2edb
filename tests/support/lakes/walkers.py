"""A lake written by hand for the report: walkers on a line through two regions, and one price.

What is inside what at any second follows from `walk` alone, so that the counts of a report can be
compared with it.
"""

from pathlib import Path
from typing import Any

from pipelines.project.settings import Settings, load
from tests.support.lakes.ledger import Ledger, at

EVIL = "</script><img src=x onerror=alert(1)>"
WALKERS = ("ann", "bob", EVIL)
SECONDS = 120
REGIONS = {"gate": (20.0, 40.0), "yard": (30.0, 90.0)}
BANDS = {"low": (float("-inf"), 10.0), "middle": (12.0, 14.0)}
AXES = {"locations": ("x", "y", "speed"), "ticks": ("price", "volume"), "idle": ("depth",)}
KEYS = ("2026-11-18T00", "2026-11-18T01")
TOML = """
[lake]
path = "lake"
[feeds.locations]
axes = ["x", "y", "speed"]
source = "landing/locations"
partition = "hour"
partition_in_path = true
[feeds.ticks]
axes = ["price", "volume"]
source = "landing/ticks"
partition = "hour"
partition_in_path = true
[feeds.idle]
axes = ["depth"]
source = "landing/idle"
"""
INFINITE = (float("-inf"), float("inf"))
DEAR = 15.0
"""From this price on a tick matches."""


def walk(walker: int, second: int) -> float:
    """Say where on the line a walker is: there and back, each at a pace of its own."""
    there = (second * (walker + 1)) % 200
    return float(min(there, 200 - there))


def price(second: int) -> float:
    """Return the price at a second."""
    return 8.0 + (second * 7 % 13)


def held(region: str, second: int) -> int:
    """Count who is inside a region at a second."""
    lo, hi = REGIONS[region]
    return sum(lo <= walk(walker, second) < hi for walker in range(len(WALKERS)))


def made(folder: Path) -> Settings:
    """Write the lake and its fencepost.toml."""
    ledger = Ledger(AXES)
    dear = {"id": "dear", "kind": "match", "lo": [DEAR, INFINITE[0]], "hi": [*INFINITE[1:] * 2]}
    regions = (_region(id_, ends) for id_, ends in REGIONS.items())
    ledger.register(*regions, *map(_band, BANDS), dear)
    for lane in ("locations", "ticks"):
        halves = [ledger.arrive(lane, partition_key=key, rows=1) for key in KEYS]
        for place, (n, key) in enumerate(zip(halves, KEYS, strict=True)):
            told = {"partition_key": key, "watermark": at(SECONDS * (place + 1) // 2 - 1)}
            ledger.epoch(lane, place + 1, [n], seconds='{"plan": 0.1, "job": 2.0}', **told)
        _lane(ledger, lane, halves)
    bad: dict[str, Any] = {"feed": "ticks", "arrival": 4, "path": "mon.csv", "line": 3}
    ledger.add("quarantine", **bad, reason="malformed", detail="'abc' is no number", raw=EVIL)
    folder.mkdir(parents=True, exist_ok=True)
    ledger.written(folder / "lake")
    (folder / "fencepost.toml").write_text(TOML)
    return load(folder / "fencepost.toml")


def _region(id_: str, ends: tuple[float, float]) -> dict[str, Any]:
    sides = [ends, (-1.0, 1.0), INFINITE]
    lo, hi = ([side[end] for side in sides] for end in (0, 1))
    return {"id": id_, "feed": "locations", "lo": lo, "hi": hi, "where": f"x in {id_}"}


def _band(id_: str) -> dict[str, Any]:
    lo, hi = BANDS[id_]
    return {"id": id_, "lo": [lo, float("-inf")], "hi": [hi, float("inf")], "within": 60_000_000}


def _lane(ledger: Ledger, lane: str, halves: list[int]) -> None:
    """Write the tuples of a feed, and the crossings that a plain walk finds."""
    streams = WALKERS if lane == "locations" else ("AAPL",)
    boxes = REGIONS if lane == "locations" else BANDS
    for walker, stream in enumerate(streams):
        for second in range(SECONDS):
            place = 2 * second // SECONDS
            v = walk(walker, second) if lane == "locations" else price(second)
            values = {"x": v, "y": 0.0} if lane == "locations" else {"price": v, "volume": 1.0}
            row = {"stream_id": stream, "ts": at(second), "arrival": halves[place]}
            ledger.add(lane, **row, **values, file=walker, line=second + 1)
            if lane == "ticks" and v >= DEAR:
                match = {"feed": lane, "query_id": "dear", "query_version": 1, "generation": 1}
                ledger.add("matches", **row, **match, epoch=place + 1, day=at(second))
            before = walk(walker, second - 1) if lane == "locations" else price(second - 1)
            for id_, (lo, hi) in boxes.items():
                was, now = (lo <= before < hi and second > 0), lo <= v < hi
                if second and was != now:
                    told = {"epoch": place + 1, "feed": lane, **values}
                    ledger.event("I" if now else "O", id_, stream, second, **told)
