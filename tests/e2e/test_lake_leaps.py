"""Leaps, as a user types it: asked for in a rule, kept on the lake, the same in `eval`."""

import csv
import json
from pathlib import Path

import pytest

from tests.support.commands.commands import fencepost
from tests.support.commands.files import written

TOML = """\
[feeds.vans]
axes = ["lon", "lat"]
position = ["lon", "lat"]
source = "landing/vans"
settle = "0s"
"""
ZONE = {"type": "Polygon", "coordinates": [[[1, 0], [2, 0], [2, 1], [1, 1], [1, 0]]]}
STOP = {"circle": {"center": [5, 5], "radius": "150m"}}
RULES = [
    {"id": "zone", "feed": "vans", "region": ZONE, "leaps": True},
    {"id": "stop", "feed": "vans", "region": STOP, "leaps": True, "streams": ["a"]},
    {"id": "band", "feed": "vans", "where": "lat >= 2 AND lat < 3", "leaps": True},
    {"id": "quiet", "feed": "vans", "region": ZONE},
]
DELIVERIES = [
    ["a,0,0.5", "b,3,0.25", "c,5,4.995"],
    ["a,4,0.5", "b,0,0.25", "c,5,5.005"],
    ["a,5,4.995", "b,1.5,0.5"],
    ["a,5,5.005", "b,1.5,4"],
]
COLUMNS = ("query_id", "stream_id", "ts", "enter_ts", "leave_ts", "enter_share", "leave_share")
EXPECTED = [
    # Each of two tuples a minute apart: where it went in and out, in shares of the way.
    ("zone", "a", "00:01", 0.25, 0.5),
    ("zone", "b", "00:01", 1 / 3, 2 / 3),
    ("stop", "a", "00:03", 0.365, 0.635),
    ("band", "a", "00:02", 0.334, 0.556),
    ("band", "b", "00:03", 0.429, 0.714),
]


def tuples(number: int) -> str:
    lines = ["stream_id,ts,lon,lat"]
    for row in DELIVERIES[number]:
        stream, place = row.split(",", 1)
        lines.append(f"{stream},2026-11-20T00:0{number}:00Z,{place}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FENCEPOST_RUNNER", "here")
    return tmp_path


def project(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with rules and no deliveries yet."""
    root = folder / name
    root.mkdir()
    monkeypatch.chdir(root)
    written(root, "fencepost.toml", TOML)
    written(root, "rules.jsonl", "".join(json.dumps(rule) + "\n" for rule in RULES))
    assert fencepost("init").code == 0
    assert fencepost("queries", "import", "rules.jsonl").code == 0
    return root


def on_the_lake() -> list[dict[str, str]]:
    statement = f"SELECT {', '.join(COLUMNS)}, prev_lon, lon FROM leaps ORDER BY ts, 1, 2"  # noqa: S608
    done = fencepost("sql", statement, "--json")
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_leaps_are_those_of_eval_however_the_deliveries_are_grouped(folder, monkeypatch) -> None:
    found = []
    for name in ("one_by_one", "at_once"):
        root = project(folder, name, monkeypatch)
        for number in range(len(DELIVERIES)):
            written(root, f"landing/vans/{number}.csv", tuples(number))
            if name == "one_by_one":
                assert fencepost("run").code == 0
        assert fencepost("run").code == 0
        found.append(on_the_lake())
    assert found[0] == found[1]
    shares = {
        (row["query_id"], row["stream_id"], row["ts"][11:16]): (
            float(row["enter_share"]),
            float(row["leave_share"]),
        )
        for row in found[0]
    }
    expected = {tuple(row[:3]): row[3:] for row in EXPECTED}
    assert shares.keys() == expected.keys()
    for key, share in shares.items():
        assert share == pytest.approx(expected[key], abs=2e-3), key

    deliveries = [word for n in range(4) for word in ("--tuples", f"landing/vans/{n}.csv")]
    done = fencepost("eval", "-q", "rules.jsonl", *deliveries, "--config", ".", "--out", "results")
    assert done.code == 0, done.err
    assert "leaps        5" in done.out
    with Path("results/leaps.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sorted((row["query_id"], row["enter_share"]) for row in rows) == sorted(
        (row["query_id"], repr(float(row["enter_share"]))) for row in found[0]
    )
    check = fencepost("check")
    assert check.code == 0, check.out


def test_leaps_leave_no_event(folder, monkeypatch) -> None:
    root = project(folder, "quiet", monkeypatch)
    for number in (0, 1):
        written(root, f"landing/vans/{number}.csv", tuples(number))
    assert fencepost("run").code == 0
    done = fencepost("sql", "SELECT COUNT(*) AS events FROM events", "--json")
    assert json.loads(done.out) == {"events": 0}
    assert len(on_the_lake()) == 2
