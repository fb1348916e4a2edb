"""A project with a lake written by hand, for tests of `sql`, `status` and `quarantine`."""

import contextlib
import json
from pathlib import Path
from typing import Any

from tests.support.commands.commands import Said, fencepost
from tests.support.lakes.ledger import Ledger, at

PROJECT = """
[lake]
path = "./lake"
[feeds.ticks]
axes = ["price", "volume"]
source = "landing/ticks"
[feeds.locations]
axes = ["x", "y", "speed"]
source = "landing/locations"
"""
EVIL = "\x1b[2Jred\r\nand a second line"
SECONDS = {"plan": 0.1, "prepare": 0.02, "job": 1.25, "read": 0.3, "write": 0.9}


def written_by_hand() -> Ledger:
    """Two feeds; of ticks, two epochs, a replaced one, and a delivery that waits."""
    ledger = Ledger()
    ledger.register(
        {"id": "depot", "within": 60_000_000, "lo": [1.0], "hi": [float("inf")], "note": EVIL},
        {"id": "gone", "valid_to": at(30)},
    )
    one, two, three = (ledger.arrive("ticks", rows=10) for _ in range(3))
    ledger.arrive("ticks", "refused", reason="repeat", detail="taken as delivery 2", path="r.csv")
    ledger.arrive("locations", "planned")
    detail = "was taken\n    as delivery 2"
    ledger.arrive("ticks", "refused", reason="changed", detail=detail, path=EVIL, content="other")
    ledger.epoch("ticks", 1, [one], watermark=at(10), rows=9, accepted=8, malformed=1)
    ledger.epoch("ticks", 2, [two], watermark=at(20))
    ledger.epoch("ticks", 3, [three], watermark=at(30))
    told: dict[str, Any] = {
        "rows": 10,
        "accepted": 9,
        "late": 1,
        "entered": 2,
        "left": 1,
        "stay": 1,
        "matched": 4,
    }
    ledger.epoch(
        "ticks",
        2,
        [two],
        generation=2,
        watermark=at(40.5),
        at=at(60),
        seconds=json.dumps(SECONDS),
        **told,
    )
    ledger.event("I", "depot", "AAPL", 5, price=2.5)
    ledger.event("I", "depot", "MSFT", 7, price=2.5)
    ledger.event("I", "gone", "AAPL", 8, price=2.5)
    ledger.event("O", "depot", "AAPL", 20, price=0.5, epoch=2, generation=2)
    ledger.event("O", "depot", "MSFT", 20, price=0.5, epoch=2)
    ledger.add("stream_state", feed="ticks", stream_id="AAPL", epoch=1, generation=1)
    bad: dict[str, Any] = {"feed": "ticks", "arrival": one, "path": "mon.csv", "line": 3}
    ledger.add("quarantine", **bad, reason="malformed", detail="'abc' is no number", raw=EVIL)
    bad |= {"arrival": two, "path": "tue.csv", "epoch": 2, "generation": 2}
    ledger.add("quarantine", **bad, reason="late", detail="ts is older", raw="{}")
    ledger.add("quarantine", **bad | {"generation": 1}, reason="conflict")
    return ledger


def made(folder: Path) -> Path:
    """Write it; tests only read it."""
    written_by_hand().written(folder / "lake")
    (folder / "fencepost.toml").write_text(PROJECT)
    return folder


def said(project: Path, *arguments: object) -> Said:
    with contextlib.chdir(project):
        return fencepost(*arguments)
