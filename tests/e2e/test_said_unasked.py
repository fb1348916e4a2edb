"""What a run and `status` say unasked: tuples that nobody watches, rules that wait for nobody, and
deliveries that lie in a landing folder."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.lakes.ledger import Ledger
from tests.support.lakes.queried_project import PROJECT, said

HEAD = "stream_id,ts,price,volume\n"
ROW = "{},2026-11-18T00:00:0{}Z,1,1\n"


def land(project: Path, name: str, text: str, age: float | None = None) -> Path:
    """Put a file into the landing folder of ticks, left alone for long unless its age is given."""
    path = project / "landing" / "ticks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    if age is None:
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return path


def status(project: Path) -> Any:
    """What `status --json` says."""
    return json.loads(said(project, "status", "--json").out)


def answered(project: Path, statement: str) -> list[Any]:
    """What `sql --json` says, row by row."""
    return [json.loads(line) for line in said(project, "sql", statement, "--json").out.splitlines()]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty lake of two feeds."""
    monkeypatch.setenv("FENCEPOST_RUNNER", "here")
    for feed in ("ticks", "locations"):
        (tmp_path / "landing" / feed).mkdir(parents=True)
    (tmp_path / "fencepost.toml").write_text(PROJECT)
    Ledger().written(tmp_path / "lake")
    return tmp_path


def register(project: Path, *rules: dict[str, Any]) -> None:
    """Register rules on ticks, or as they say."""
    lines = [json.dumps({"feed": "ticks", "where": "price > 0", **rule}) for rule in rules]
    (project / "rules.jsonl").write_text("\n".join(lines))
    assert said(project, "queries", "import", "rules.jsonl").code == 0


def test_a_run_says_how_many_tuples_no_rule_was_there_for(project: Path) -> None:
    land(project, "a.csv", HEAD + ROW.format("a", 1) + ROW.format("b", 1))
    told = said(project, "run")
    assert told.code == 0
    assert "note: 2 tuples without a rule: none is registered for 'ticks'; fencepost" in told.err
    land(project, "b.csv", HEAD + ROW.format("a", 2))
    told = said(project, "run", "--json")
    assert json.loads(told.out)["unwatched"] == {"ticks": 1}
    assert "no rule" not in said(project, "run").err  # no tuple came


def test_a_rule_on_the_feed_or_a_join_of_it_is_enough_until_it_is_removed(project: Path) -> None:
    join = {"kind": "band_join", "left": "ticks.price", "right": "locations.x"}
    register(project, {"id": "q"})
    land(project, "a.csv", HEAD + ROW.format("a", 1))
    assert "no rule" not in said(project, "run").err
    assert said(project, "queries", "remove", "q", "--yes").code == 0
    land(project, "b.csv", HEAD + ROW.format("a", 2))
    assert "1 tuple without a rule" in said(project, "run").err
    (project / "join.jsonl").write_text(json.dumps({"id": "j", **join, "between": [0, 1]}))
    assert said(project, "queries", "import", "join.jsonl").code == 0
    land(project, "c.csv", HEAD + ROW.format("a", 3))
    assert "no rule" not in said(project, "run").err


def test_status_names_rules_whose_streams_no_tuple_came_of(project: Path) -> None:
    register(
        project,
        {"id": "typo", "streams": ["AAPL", "APPL"]},
        {"id": "right", "streams": ["AAPL"]},
        {"id": "all"},
        *({"id": f"old{k}", "streams": ["GONE"]} for k in range(9)),
        {"id": "elsewhere", "feed": "locations", "where": "x > 0", "streams": ["nobody"]},
    )
    assert status(project)["unseen"]["queries"] == 0  # before the first tuple every one is
    land(project, "a.csv", HEAD + ROW.format("AAPL", 1))
    said(project, "run")
    unseen = status(project)["unseen"]
    assert (unseen["queries"], unseen["streams"], len(unseen["first"])) == (10, 2, 5)
    words = said(project, "status").out
    assert "unseen      10 rules name 2 streams without any tuple:\n" in words
    assert "            old0: 'GONE' of ticks\n" in words
    assert words.count("GONE") == 5


def test_status_and_explain_name_patterns_that_no_stream_fits(project: Path) -> None:
    register(
        project,
        {"id": "trams", "streams_like": "tram-*"},
        {"id": "buses", "streams_like": ["bus-*", "coach-?"]},
        {"id": "typo", "streams": ["bus-l"], "kind": "match"},
        {"id": "elsewhere", "feed": "locations", "where": "x > 0", "streams_like": "*"},
    )
    assert status(project)["unseen"]["patterns"] == 0
    assert "unseen" not in said(project, "explain", "ticks").out
    land(project, "a.csv", HEAD + ROW.format("bus-1", 1) + ROW.format("tram 7", 1))
    said(project, "run")
    unseen = status(project)["unseen"]
    assert (unseen["queries"], unseen["patterns"]) == (1, 2)
    words = said(project, "status").out
    assert (
        "unseen      1 rule names 1 stream without any tuple:\n"
        "            typo: 'bus-l' of ticks\n"
        "unseen      2 rules name a pattern that no stream fits:\n"
        "            buses: 'coach-?' of ticks\n"
        "            trams: 'tram-*' of ticks\n"
    ) in words
    assert (
        "  unseen      3 rules name a stream without any tuple, or a pattern that fits none:\n"
        "                buses: 'coach-?'\n"
        "                trams: 'tram-*'\n"
        "                typo: 'bus-l'\n"
    ) in said(project, "explain", "ticks").out
    plan = json.loads(said(project, "explain", "ticks", "--json").out)["lanes"][0]
    assert plan["unseen"]["rules"] == 3


def test_a_pattern_watches_streams_as_they_appear_and_those_that_are_named(project: Path) -> None:
    over = {"where": "price > 1", "within": "10s"}
    register(
        project,
        {"id": "zeros", "streams_like": "00*", **over},
        {"id": "either", "streams": ["a"], "streams_like": ["[1-9]*"], **over},
        {"id": "first", "streams_like": "00?", "on_first": "enter", "where": "ALL"},
        {"id": "seen", "streams_like": "0*", "kind": "match", "where": "price > 1"},
    )
    line = "{},2026-11-18T00:00:0{}Z,{},1\n"
    streams = ("001", "a", "9", "b")
    land(project, "a.csv", HEAD + "".join(line.format(s, 1, 1) for s in streams))
    said(project, "run")
    moves = [*((s, 2, 5) for s in streams), ("002", 2, 1), ("002", 3, 5), ("0", 3, 5)]
    land(project, "b.csv", HEAD + "".join(line.format(*move) for move in moves))
    said(project, "run")
    events = answered(project, "SELECT query_id, stream_id FROM events")
    assert sorted((row["query_id"], row["stream_id"]) for row in events) == [
        ("either", "9"),
        ("either", "a"),
        ("first", "001"),
        ("first", "002"),
        ("zeros", "001"),
        ("zeros", "002"),
    ]
    matches = answered(project, "SELECT stream_id FROM matches")
    assert sorted(row["stream_id"] for row in matches) == ["0", "001", "002"]
    checked = said(project, "check", "--json")
    assert checked.code == 0, checked.out


def test_status_counts_what_lies_in_the_landing_folder(project: Path) -> None:
    def counts() -> tuple[int, int]:
        (ticks, _) = status(project)["lanes"]
        return ticks["landed"], ticks["growing"]

    declared = project / "fencepost.toml"  # what landed just now stays so on a slow machine
    declared.write_text(PROJECT.replace("[feeds.ticks]\n", '[feeds.ticks]\nsettle = "60s"\n'))
    land(project, "a.csv", HEAD + ROW.format("a", 1))
    land(project, "b/1.csv", HEAD + ROW.format("b", 1))
    assert counts() == (1, 1)  # the folder was made just now
    os.utime(project / "landing" / "ticks" / "b", (1_700_000_000, 1_700_000_000))
    land(project, "c.csv", HEAD, age=0.0)
    land(project, ".hidden.csv", HEAD)
    land(project, "d.csv.tmp", HEAD)
    assert counts() == (2, 1)
    words = said(project, "status").out
    assert "2 deliveries landed, not loaded · 1 delivery landed, still growing" in words
    os.utime(project / "landing" / "ticks" / "c.csv", (1_700_000_000, 1_700_000_000))
    declared.write_text(PROJECT)
    assert said(project, "run").code == 0
    assert counts() == (0, 0)
    assert "landed" not in said(project, "status").out


def test_a_file_that_was_only_touched_or_was_refused_is_not_counted_as_landed(
    project: Path,
) -> None:
    path = land(project, "a.csv", HEAD + ROW.format("a", 1))
    bad = land(project, "bad.csv", "nonsense\n")
    said(project, "run")
    assert status(project)["lanes"][0]["landed"] == 0
    os.utime(path, (1_700_000_100, 1_700_000_100))
    assert status(project)["lanes"][0]["landed"] == 0
    os.utime(bad, (1_700_000_100, 1_700_000_100))  # the next run looks at it anew
    assert status(project)["lanes"][0]["landed"] == 1
