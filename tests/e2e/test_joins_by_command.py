"""Joins as a user has them: imported, run, asked; and what becomes of them when a feed goes.

Where a feed of a join is declared no more, the join stands still, `status` says so, and everything
else goes on; declared again, it takes up what has arrived meanwhile.
"""

import contextlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.project.settings import load
from tests.support.commands.commands import Said, fencepost, rows
from tests.support.lakes.join_past import LATER, RULES, Commit, Landing, assert_told, land, past
from tests.support.lakes.join_past import new_lake as made_lake
from tests.support.lakes.join_story_lake import LANE

ASKS = """
[feeds.asks]
axes = ["price"]
source = "landing/asks"
settle = "0s"
partition = "hour"
partition_in_path = true
deleted = "gone"
ties = "first"
"""
TOML = """
[lake]
path = "lake"
buckets = 2

[run]
runner = "here"

[feeds.bids]
axes = ["price", "volume"]
source = "landing/bids"
settle = "0s"
partition = "hour"
partition_in_path = true
allowed_lateness = "2s"
ties = "first"
"""
LATENESS = (2_000_000, 0)
PAST = past()
FILES = [item for item in PAST if isinstance(item, Landing)]
HOURS = [f"2026-01-01T0{hour}" for hour in range(4)]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of two feeds, its rules in files, and nothing landed."""
    monkeypatch.delenv("FENCEPOST_RUNNER", raising=False)
    made_lake(tmp_path, LATENESS)
    (tmp_path / "fencepost.toml").write_text(TOML + ASKS)
    for name, rules in (("rules", RULES), ("later", LATER)):
        lines = [json.dumps(rule) + "\n" for rule in rules]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    return tmp_path


def said(project: Path, *arguments: object) -> Said:
    with contextlib.chdir(project):
        told = fencepost(*arguments)
    assert told.code == 0, told.err
    return told


def refused(project: Path, *arguments: object) -> str:
    with contextlib.chdir(project):
        told = fencepost(*arguments)
    assert told.code == 2, told.out
    return told.err


def landed(project: Path, *files: Landing) -> None:
    for item in files:
        land(load(project), item)


def lane_of(project: Path, lane: str = LANE) -> dict[str, object]:
    """What `status` says of a lane."""
    lanes = said(project, "status", "--json").summary["lanes"]
    found: dict[str, object] = next(each for each in lanes if each["lane"] == lane)
    return found


def lake_of(project: Path):
    """The lake as the commands left it."""
    from pipelines.epochs.drive import Lake
    from pipelines.lake.store import Store
    from pipelines.spark.runner import HereRunner

    settings = load(project)
    return Lake.of(Store.open(settings.root, settings.tables), settings, HereRunner())


def test_joins_are_imported_run_changed_removed_and_told(project: Path) -> None:
    said(project, "queries", "import", "rules.jsonl")
    assert "joins       bids~asks  epoch 0 · no watermark yet · lag 0 · 0 streams" in (
        said(project, "status").out
    )
    landed(project, *FILES[:4])
    told = said(project, "run").out
    assert "evaluate   bids~asks epoch 1: " in told
    assert "tuples → pairs " in told
    assert " · band pairs +" in told
    landed(project, *FILES[4:8])
    (bids, asks, joined) = said(project, "run", "--json").summary["groups"]
    assert [each["lane"] for each in (bids, asks, joined)] == ["bids", "asks", LANE]
    assert joined["first"] == joined["last"] == 2
    said(project, "queries", "import", "later.jsonl")
    said(project, "queries", "remove", "over")
    landed(project, *FILES[8:])
    said(project, "run")
    assert_told(lake_of(project), PAST, LATENESS)
    now = lane_of(project)
    assert (now["epoch"], now["lag"], now["stale"], now["missing"]) == (4, 0, 0, [])
    line = next(x for x in said(project, "status").out.splitlines() if x.startswith("joins"))
    assert " · lag 0 · " in line
    assert f"{now['waiting']} tuple" in line
    assert said(project, "run", "--json").summary["groups"] == []


def test_the_lag_of_a_lane_of_joins_counts_the_deliveries_of_both_feeds(project: Path) -> None:
    landed(project, *FILES[:4])
    said(project, "run")
    assert [each["lane"] for each in said(project, "status", "--json").summary["lanes"]] == [
        "bids",
        "asks",
    ]
    said(project, "queries", "import", "rules.jsonl")
    assert (lane_of(project)["epoch"], lane_of(project)["lag"]) == (0, 4)
    landed(project, *FILES[4:6])
    said(project, "run")
    assert (lane_of(project)["epoch"], lane_of(project)["lag"]) == (2, 0)
    assert_told(lake_of(project), [*FILES[:4], Commit(RULES), *FILES[4:6]], LATENESS)


def test_partitions_of_joins_are_listed_evaluated_and_proved(project: Path) -> None:
    said(project, "queries", "import", "rules.jsonl")
    landed(project, *FILES)
    said(project, "run")
    listed = said(project, "partitions", LANE, "--json").summary
    assert listed == {
        "lane": LANE,
        "partitions": [{"key": hour, "stale": False} for hour in HOURS],
    }
    told = said(project, "partitions", LANE, HOURS[1], "--again").out
    assert told.startswith(f"{HOURS[1]}  evaluated again, same rows: epochs 2–2, generation 1")
    assert "tuples → pairs " in told
    assert "Did you mean 'bids~asks'?" in refused(project, "partitions", "bids~ask")
    assert "is no partition of 'bids~asks'" in refused(project, "partitions", LANE, "2026")
    said(project, "maintain")
    told = said(project, "partitions", LANE, *HOURS, "--again", "--json").summary["partitions"]
    assert [each["lane"] for each in told] == [LANE] * 4
    assert_told(lake_of(project), [Commit(RULES), *FILES], LATENESS)


def test_a_feed_that_is_declared_no_more_stops_its_joins_and_nothing_else(project: Path) -> None:
    said(project, "queries", "import", "rules.jsonl")
    landed(project, *FILES[:6])
    said(project, "run")
    before = said(project, "sql", "select * from pairs", "--limit", "0", "-f", "csv").out
    (project / "fencepost.toml").write_text(TOML)
    land_bids = [item for item in FILES[6:] if item.feed == "bids"]
    settings = load(project)
    for item in land_bids:
        land(settings, item)
    told = said(project, "run", "--json").summary["groups"]
    assert {each["lane"] for each in told} == {"bids"}
    line = next(x for x in said(project, "status").out.splitlines() if x.startswith("joins"))
    assert line.endswith("not evaluated: asks not in fencepost.toml")
    assert lane_of(project)["missing"] == ["asks"]
    assert lane_of(project)["lag"] == len(land_bids)
    assert "'bids~asks' is not evaluated: asks not in" in refused(project, "partitions", LANE)
    assert said(project, "sql", "select count(*) as n from pairs", "-f", "csv").out == (
        f"n\n{len(before.splitlines()) - 1}\n"
    )
    said(project, "maintain")
    (project / "fencepost.toml").write_text(TOML + ASKS)
    landed(project, *(item for item in FILES[6:] if item.feed == "asks"))
    said(project, "run")
    arrived = [*FILES[:6], *land_bids, *(item for item in FILES[6:] if item.feed == "asks")]
    in_order = sorted(arrived, key=lambda item: item.name[:13])  # stable: by hour, as they came
    assert_told(lake_of(project), [Commit(RULES), *in_order], LATENESS)


def test_a_feed_with_other_axes_is_refused_before_anything_is_done(project: Path) -> None:
    said(project, "queries", "import", "rules.jsonl")
    landed(project, *FILES[:4])
    said(project, "run")
    changed = ASKS.replace('axes = ["price"]', 'axes = ["price", "size"]')
    (project / "fencepost.toml").write_text(TOML + changed)
    for command in (("run",), ("partitions", LANE), ("queries", "list")):
        with contextlib.chdir(project):
            told = fencepost(*command)
        assert told.code != 0
        assert "asks" in told.err
        assert "axes" in told.err
        assert "Traceback" not in told.err
    (project / "fencepost.toml").write_text(TOML + ASKS)
    landed(project, *FILES[4:])
    said(project, "run")
    assert_told(lake_of(project), [Commit(RULES), *FILES], LATENESS)


def test_a_lake_finds_what_eval_finds_in_the_same_files(project: Path, tmp_path: Path) -> None:
    declared = (TOML + ASKS).replace('deleted = "gone"\n', "").replace('"2s"', '"0s"')
    (project / "fencepost.toml").write_text(declared)
    files = [
        replace(item, text="".join(line for line in item.text.splitlines(True) if line[0] != "x"))
        for item in FILES
    ]  # a lake puts what is far ahead of its clock aside, and eval has none
    said(project, "queries", "import", "rules.jsonl")
    landed(project, *files)
    said(project, "run")
    names = [f"{item.feed}=landing/{item.feed}/{item.name}" for item in files]
    given = [word for name in names for word in ("--tuples", name)]
    axes = ("--axes", "bids=price,volume", "--axes", "asks=price")
    how = (*axes, "--ties", "first", "-o", tmp_path / "out", "--json")
    said(project, "eval", "-q", "rules.jsonl", *given, *how)
    for name in ("pairs", "band_changes"):
        wanted = rows(tmp_path / "out" / f"{name}.csv")
        columns = [column for column in wanted[0] if column != "feeds"]
        said(
            project,
            "sql",
            f"from {name} select {', '.join(columns)}",
            "--out",
            tmp_path / f"{name}.csv",
            "--limit",
            "0",
        )
        found = rows(tmp_path / f"{name}.csv")
        assert len(wanted) > 100
        assert sorted(map(plain, found)) == sorted(
            plain({column: row[column] for column in columns}) for row in wanted
        )


def plain(row: dict[str, str]) -> tuple[str, ...]:
    """A row with its numbers written alike."""
    return tuple(
        str(float(value)) if name.endswith(("price", "volume", "value")) else value
        for name, value in row.items()
    )
