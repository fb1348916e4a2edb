"""`fencepost explain` as a user types it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands.commands import Said
from tests.support.lakes.queried_project import said

MANY = [
    {"id": f"m{n}", "feed": "ticks", "kind": "match", "where": f"price >= {n} AND price < {n + 5}"}
    for n in range(300)
]
NAMED = [{**query, "id": f"n{n}", "streams": ["AAPL"]} for n, query in enumerate(MANY[:60])]
CROSSING = [{"id": f"c{n}", "feed": "ticks", "where": f"price >= {n}"} for n in range(4)]
PROJECT = """
[run]
runner = "here"

[lake]
path = "lake"

[feeds.ticks]
axes = ["price", "volume"]
source = "landing/ticks"

[feeds.places]
axes = ["x"]
source = "landing/places"
"""
TICKS = "stream_id,ts,price,volume\n" + "".join(
    f"AAPL,2026-11-18T14:{minute:02}:00Z,{minute % 7},1\n" for minute in range(50)
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with rules, and one delivery evaluated."""
    folder = tmp_path_factory.mktemp("explained")
    (folder / "fencepost.toml").write_text(PROJECT)
    rules = [*MANY, *NAMED, *CROSSING]
    (folder / "rules.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in rules))
    assert said(folder, "init").code == 0
    assert said(folder, "queries", "import", "rules.jsonl").code == 0
    (folder / "landing" / "ticks" / "a.csv").write_text(TICKS)
    ran = said(folder, "run")
    assert ran.code == 0, ran.err
    return folder


def explained(project: Path, *arguments: str) -> Said:
    return said(project, "explain", *arguments)


def test_it_tells_each_feed_its_indexes_and_the_last_epochs(project):
    told = explained(project)
    assert (told.code, told.err) == (0, "")
    lines = told.out.splitlines()
    assert lines[0] == "ticks  (price, volume)"
    assert lines[1].startswith("  crossings   4 queries, 4 posts, ")
    assert lines[2] == "              epoch 1: walk: few steps or few queries"
    few = "few tuples: compared sooner than an index is loaded"
    assert lines[3] == f"              epoch 1: matches by scan for all streams: {few}"
    assert lines[5].startswith("  matches     360 queries, ")
    assert "300 boxes over 2 axes, for all streams; about " in told.out
    assert "60 boxes over 3 axes, for named streams, with the stream as one more axis" in told.out
    assert "ns a tuple, 10,000 together; " in told.out
    assert lines[-3:] == ["places  (x)", "  crossings   no query", "  matches     no query"]


def test_the_cheapest_is_taken_and_the_costs_of_all_are_told(project):
    (ticks,) = json.loads(explained(project, "ticks", "--json").out)["lanes"]
    everyone, named = ticks["parts"]
    assert (everyone["named"], named["named"]) == (False, True)
    assert everyone["index"] == min(everyone["costs"], key=everyone["costs"].__getitem__)
    assert {"scan", "packed"} <= everyone["costs"].keys()
    assert everyone["held"] == pytest.approx(5.0, rel=0.4)  # price alone bounds it
    assert ticks["epochs"][0]["crossings"]["walk"]["tasks"] == 1


def test_an_index_may_be_asked_for_by_name(project):
    (ticks,) = json.loads(explained(project, "ticks", "--index", "vcr_od", "--json").out)["lanes"]
    assert ticks["parts"][0]["index"] == "vcr_od"
    refused = explained(project, "ticks", "--index", "lci")
    assert refused.code == 2
    assert "the index 'lci' is for 1 axis, not for 2; for 2 there are: scan" in refused.err


def test_a_file_is_explained_without_being_registered(project):
    (project / "more.jsonl").write_text(json.dumps({**MANY[0], "feed": "places", "where": "x > 1"}))
    told = explained(project, "places", "--queries", "more.jsonl")
    assert "matches     1 query, " in told.out
    assert "matches     no query" in explained(project, "places").out


def test_what_is_wrong_with_a_file_is_told(project):
    (project / "bad.jsonl").write_text('{"id": "a", "feed": "nowhere", "where": "x > 1"}\n')
    told = explained(project, "--queries", "bad.jsonl")
    assert told.code == 2
    assert "nowhere" in told.err
    assert "ticks, places" in told.err


def test_a_pair_of_feeds_is_explained_by_its_windows_and_its_groups(project):
    joins: list[dict[str, Any]] = [
        {"id": f"b{n}", "kind": "band_join", "left": "ticks.price", "right": "places.x",
         "between": [n % 3 * 100, n % 3 * 100 + 1 + n]}
        for n in range(30)
    ]  # fmt: skip
    window = {"id": "w", "kind": "window_join", "left": "ticks", "right": "places", "window": "5m"}
    joins.append(window | {"on": "left.price >= right.x - 1"})
    (project / "joins.jsonl").write_text("".join(json.dumps(join) + "\n" for join in joins))
    told = explained(project, "ticks~places", "--queries", "joins.jsonl")
    assert (told.code, told.err) == (0, "")
    lines = told.out.splitlines()
    assert lines[0] == "ticks~places"
    assert lines[1].startswith("  windows     1 window join, ")
    bands = "  bands       price - x: 30 band joins in 3 groups (minimum 3)"
    assert lines[3].startswith(bands)
    refused = explained(project, "ticks~nowhere")
    assert refused.code == 2
    assert "unknown lane 'ticks~nowhere'" in refused.err


def test_near_joins_are_explained_by_how_far_they_reach(tmp_path):
    toml = PROJECT.replace('["x"]', '["x", "y"]\nposition = ["x", "y"]')
    (tmp_path / "fencepost.toml").write_text(toml)
    near = {"kind": "near_join", "left": "places", "right": "places"}
    joins: list[dict[str, Any]] = [
        {"id": "a", **near, "distance": 2},
        {"id": "b", **near, "distance": 3.5, "streams": ["v1"]},
        {"id": "c", **near, "distance": 100},
    ]
    (tmp_path / "joins.jsonl").write_text("".join(json.dumps(join) + "\n" for join in joins))
    told = explained(tmp_path, "places~places", "--queries", "joins.jsonl")
    assert (told.code, told.err) == (0, "")
    some = "1 of them of some streams only"
    assert told.out.splitlines()[2:] == [
        f"  near        x and y: 2 near joins of 2 to 3.5, {some}, in cells of 3.5",
        "  near        x and y: 1 near join of 100, in cells of 100",
    ]


def test_regions_are_explained_by_the_cells_that_they_are_in(tmp_path):
    toml = PROJECT.replace(
        '["price", "volume"]', '["price", "volume"]\nposition = ["price", "volume"]'
    )
    (tmp_path / "fencepost.toml").write_text(toml)
    zones = [
        {"id": "z", "feed": "ticks", "region": "POLYGON ((0 0, 8 0, 8 8, 0 8, 0 0))"},
        {"id": "c", "feed": "ticks", "region": {"circle": {"center": [3, 3], "radius": 2}}},
    ]
    (tmp_path / "rules.jsonl").write_text("".join(json.dumps(zone) + "\n" for zone in zones))
    assert said(tmp_path, "init").code == 0
    assert said(tmp_path, "queries", "import", "rules.jsonl").code == 0
    (plan,) = json.loads(explained(tmp_path, "ticks", "--json").out)["lanes"]
    regions = plan["regions"]
    assert regions["queries"] == 2
    assert regions["cells"] > regions["whole"] / 2 > 0
    assert regions["tested"] > 0
    line = next(line for line in explained(tmp_path).out.splitlines() if "  regions " in line)
    assert line.startswith(f"  regions     2 queries in {regions['cells']:,} cells: ")
