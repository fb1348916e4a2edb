"""`fencepost queries` with matches, and with streams by pattern."""

import json
from pathlib import Path

import pytest

from tests.support.commands.ruled_project import ALL, queries, ruled_project


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an empty lake, and three rules in `rules.jsonl`."""
    return ruled_project(tmp_path, monkeypatch)


def test_streams_by_pattern_are_added_listed_shown_and_exported(folder):
    plain = ("--feed", "ticks", "--where", "price > 1")
    one = ("--id", "one", *plain, "--streams", "A", "--streams-like", "00*")
    two = ("--id", "two", *plain, "--streams-like", "B", "--streams-like", "[!0]?")
    for options in (one, two):
        assert queries(folder, "add", *options, "--json").summary["added"] == 1
    lines = [json.loads(line) for line in queries(folder, "export").out.splitlines()]
    assert [line.get("streams_like") for line in lines] == ["00*", ["B", "[!0]?"]]
    assert [line.get("streams") for line in lines] == [["A"], None]
    queries(folder, "export", "--out", "all.jsonl")
    assert queries(folder, "import", "all.jsonl", "--json").summary["unchanged"] == 2
    listed = queries(folder, "list").out
    assert "A, 00*" in listed
    assert "like B, [!0]?" in listed
    changed = queries(folder, "add", *one, "--streams-like", "01*", "--json").summary["changed"]
    assert changed == 1
    shown = queries(folder, "show", "one").out
    assert "streams     A, 00*, 01*" in shown
    assert "changed: streams_like" in shown
    join = ("--id", "j", "--kind", "band_join", "--left", "ticks.price", "--right", "locations.x")
    refused = queries(folder, "add", *join, "--between", "0,1", "--streams-like", "A*")
    assert (refused.code, "a `band_join` has no `streams_like`" in refused.err) == (2, True)


def test_a_match_is_registered_listed_by_its_kind_shown_and_exported(folder):
    assert queries(folder, "import", "rules.jsonl").code == 0
    match = ("--id", "dear", "--feed", "ticks", "--kind", "match", "--where", "price > volume")
    assert queries(folder, "add", *match, "--json").summary["added"] == 1
    assert queries(folder, "list", "--kind", "match").out == (
        "id    version  kind   feed   where           streams  within  owner  tags\n"
        "dear  1        match  ticks  price > volume  all\n"
    )
    crossings = queries(folder, "list", "--kind", "crossing", "--json").summary
    assert sorted(each["id"] for each in crossings["queries"]) == ALL
    shown = queries(folder, "show", "dear").out
    assert "  kind        match\n" in shown
    assert "  box         price (-∞, ∞) × volume (-∞, ∞), volume < price\n" in shown
    assert "on_first" not in shown
    exported = [json.loads(line) for line in queries(folder, "export").out.splitlines()]
    dear = {"id": "dear", "feed": "ticks", "kind": "match", "where": "price > volume"}
    assert [each for each in exported if each["id"] == "dear"] == [dear]
    assert queries(folder, "add", json.dumps(dear), "--json").summary["unchanged"] == 1
    crossing = json.dumps({**dear, "kind": "crossing", "where": "price > 1"})
    assert queries(folder, "add", crossing, "--json").summary["changed"] == 1
    assert "changed: kind, where" in queries(folder, "show", "dear").out
