"""Several tuples of a stream at one instant, and what travels along: SQL, checks, the report."""

# ruff: noqa: S608  SQL is what is tested

import contextlib
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands.commands import fencepost

TOML = """
[run]
runner = "here"

[feeds.boats]
axes = ["east", "north"]
position = ["east", "north"]
position_in = "degrees"
source = "landing/boats"
ties = "all"
payload = { trip = "text", crew = "long" }

[feeds.trades]
axes = ["price"]
source = "landing/trades"
ties = "all"
payload = ["venue"]
"""
BAY = {"id": "bay", "feed": "boats", "where": "east >= 10 AND north >= 54"}
DEAR = {"id": "dear", "feed": "trades", "where": "price >= 20", "within": "1m"}
LANDED = {
    "boats": """stream_id,ts,east,north,trip,crew
kite,2026-11-18T09:00:00Z,9.5,54.5,out,3
kite,2026-11-18T09:00:00Z,10.5,54.5,out,
kite,2026-11-18T09:01:00Z,9.5,54.5,<b>home,4
""",
    "trades": """stream_id,ts,price,venue
SPY,2026-11-18T09:00:00.001Z,10,N
SPY,2026-11-18T09:00:00.001Z,25,P
SPY,2026-11-18T09:00:00.001Z,15,Q
SPY,2026-11-18T09:00:00.001Z,30,
""",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose files were loaded and evaluated."""
    folder = tmp_path_factory.mktemp("ties")
    (folder / "fencepost.toml").write_text(TOML)
    (folder / "rules.jsonl").write_text(f"{json.dumps(BAY)}\n{json.dumps(DEAR)}\n")
    for feed, text in LANDED.items():
        file = folder / "landing" / feed / "a.csv"
        file.parent.mkdir(parents=True)
        file.write_text(text)
        os.utime(file, (1_700_000_000, 1_700_000_000))
    with contextlib.chdir(folder):
        for command in ("init", "queries import rules.jsonl", "run"):
            said = fencepost(*command.split())
            assert said.code == 0, said
    return folder


def rows(project: Path, statement: str) -> list[list[Any]]:
    """The rows of an answer."""
    with contextlib.chdir(project):
        said = fencepost("sql", "--format", "json", statement)
    assert said.code == 0, said
    return [list(json.loads(line).values()) for line in said.out.splitlines()]


def report(project: Path) -> dict[str, Any]:
    """The data of a report, by feed."""
    with contextlib.chdir(project):
        assert fencepost("report", "-o", "page.html").code == 0
    block = re.search(r'id="data">(.*?)</script>', (project / "page.html").read_text(), re.DOTALL)
    assert block
    return {feed["name"]: feed for feed in json.loads(block[1])["feeds"]}


def test_an_event_says_which_tuple_crossed_and_what_it_carried(project):
    told = "type, place, payload_trip, payload_crew"
    assert rows(project, f"SELECT {told} FROM boats_events ORDER BY ts, place") == [
        ["I", 1, "out", None],
        ["O", 0, "<b>home", 4],
    ]
    told = "type, place, payload_venue"
    assert rows(project, f"SELECT {told} FROM trades_events ORDER BY ts, place") == [
        ["I", 1, "P"],
        ["O", 2, "Q"],
        ["I", 3, None],
    ]


def test_a_feed_s_own_views_have_its_own_payload_alone(project):
    columns = {name for name, *_ in rows(project, "DESCRIBE trades_events")}
    assert "payload_venue" in columns
    assert not columns & {"payload_trip", "payload_crew", "east"}
    everything = {name for name, *_ in rows(project, "DESCRIBE events")}
    assert {"payload_venue", "payload_trip", "payload_crew"} <= everything


def test_the_last_crossing_of_an_instant_says_who_is_inside(project):
    assert rows(project, "SELECT query_id, since_place FROM inside_now") == [["dear", 3]]
    told = "entered_place, left_place, duration"
    assert rows(project, f"SELECT {told} FROM visits WHERE query_id = 'dear' ORDER BY 1") == [
        [1, 2, 0.0],
        [3, None, None],
    ]


def test_a_tooltip_has_the_payload_and_text_stays_text(project):
    page = report(project)
    marks = page["boats"]["map"]["marks"]
    assert [marks["payload"][k] for k in marks["said"]] == ["trip out", "trip <b>home · crew 4"]
    assert "<b>home" not in (project / "page.html").read_text()
    (spy,) = page["trades"]["chart"]["streams"]
    assert spy["marks"]["type"] == "IOI"
    assert [spy["marks"]["payload"][k] for k in spy["marks"]["said"]] == ["venue P", "venue Q", ""]


def test_a_declared_position_is_drawn_as_it_lies_on_the_earth(project):
    drawn = report(project)["boats"]["map"]
    assert drawn["axes"] == ["east", "north"]
    assert drawn["geographic"] is True


def test_of_one_instant_a_line_has_the_least_and_the_greatest_value(project):
    (spy,) = report(project)["trades"]["chart"]["streams"]
    (line,) = spy["lines"]
    assert (line["low"], line["high"]) == (10, 30)
    assert line["t"] == [0, 0]
    assert line["v"] == [0, 8192]


def test_every_check_holds(project):
    with contextlib.chdir(project):
        said = fencepost("check")
    assert said.code == 0, said
