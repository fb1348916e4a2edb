"""The story of the golden lakes: small, and with everything that a format can hold.

It imports nothing of Fencepost, since it is also told by older versions of it. Two days land and
are evaluated by the older version; what comes later is for today's.
"""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Rules = dict[str, dict[str, Any]]

HAS_TIES = HAS_PAYLOAD = 6
FORMATS = (1, 2, 3, 4, 5, 6, 7)
NOW = 1_767_916_800  # 2026-01-09, the files' time
TOML = """\
[lake]
path = "lake"
buckets = 2
epoch_rows = 24
group = 2
snapshot_every = 2

[run]
runner = "here"
"""
FEED = """
[feeds.{name}]
axes = ["price"]
source = "landing/{name}"
settle = "0s"
partition_in_path = true
allowed_lateness = "2m"
"""
PAYLOAD = 'payload = ["venue"]\n'
"""Declared of each feed from format 6 on."""
FEEDS = ("ticks", "asks")
CROSSINGS: Rules = {
    "low": {"feed": "ticks", "where": "price < 3", "within": "2m", "owner": "desk", "tags": ["a"]},
    "middle": {
        "feed": "ticks",
        "where": "price >= 3 AND price < 6",
        "within": "4m",
        "on_first": "enter",
    },
    "high": {"feed": "ticks", "where": "price >= 6", "streams": ["u", "v"]},
    "asks-high": {"feed": "asks", "where": "price >= 5", "within": "0s"},
}
MATCHES: Rules = {"even": {"feed": "ticks", "kind": "match", "where": "price = 2 OR price = 4"}}
JOINS: Rules = {
    "near": {
        "kind": "window_join",
        "left": "ticks",
        "right": "asks",
        "on": "left.price <= right.price + 2",
        "window": "9m",
    },
    "spread": {
        "kind": "band_join",
        "left": "ticks.price",
        "right": "asks.price",
        "between": [-1, 1],
    },
}
BEFORE = tuple(
    f"{feed}/2026-01-0{day}-{part}.csv" for day in (1, 2) for feed in FEEDS for part in "ab"
)
LAST = "ticks/2026-01-02-c.csv"  # the run that takes it in is cut off in some of the lakes
LATER = (
    "asks/2026-01-02-c.csv",
    "ticks/2026-01-01-late.csv",
    "ticks/2026-01-03-a.csv",
    "asks/2026-01-03-a.csv",
)
CHANGED: Rules = {"low": {**CROSSINGS["low"], "where": "price < 2"}}


def rules_of(number: int) -> Rules:
    """Give the rules that a format can hold."""
    return {**CROSSINGS, **(MATCHES if number >= 2 else {}), **(JOINS if number >= 3 else {})}


def lay_out(folder: Path, number: int, *more: str) -> None:
    """Write the declaration and the rules; `more` is declared of each feed."""
    for feed in FEEDS:
        (folder / "landing" / feed).mkdir(parents=True)
    declared = (PAYLOAD, *more) if number >= HAS_PAYLOAD else more
    (folder / "fencepost.toml").write_text(
        TOML + "".join(FEED.format(name=f) + "".join(declared) for f in FEEDS)
    )
    say(folder / "rules.jsonl", rules_of(number))


def say(path: Path, rules: Rules) -> None:
    """Write rules as lines of JSON."""
    lines = [json.dumps({"id": name, **fields}) for name, fields in rules.items()]
    path.write_text("".join(f"{line}\n" for line in lines))


def land(folder: Path, number: int, *names: str) -> None:
    """Let files land, always with the same content and time."""
    for name in names:
        path = folder / "landing" / name
        path.write_text("".join(_lines(name, number)))
        os.utime(path, (NOW, NOW))


def _lines(name: str, number: int) -> Iterator[str]:
    has_venue = number >= HAS_PAYLOAD
    draw = random.Random(name)  # noqa: S311  the same each time
    day, part = name.split("/")[1][:10], name.split("/")[1][11]
    yield "stream_id,ts,price,venue\n" if has_venue else "stream_id,ts,price\n"
    for k in range(6):
        venue = f",{part}{k}" if has_venue else ""
        stream, price = draw.choice("uvw"), draw.randint(0, 8)
        minute = max(0, 3 * (ord(part) % 4) + draw.randint(0, 7))
        yield f"{stream},{day}T09:{minute:02}:00Z,{price}{venue}\n"
        if k == 1:
            yield f"{stream},{day}T09:{minute:02}:00Z,{price}{venue}\n"  # again
            yield f"{stream},{day}T09:{minute:02}:00Z,{price + 1}{venue}\n"  # with another value
        if k == 2:
            yield f"{stream},{day}T09:{minute:02}:00Z,no number{venue}\n"
            yield f"{stream},2100-01-01T00:00:00Z,1{venue}\n"
