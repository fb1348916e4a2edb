"""Match queries on a lake: what an epoch records of them, and what came before there were any."""

import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from pipelines.epochs.drive import Lake, advance, chain_of, plan
from pipelines.execute import job
from pipelines.lake.layout import CACHE
from pipelines.lanes import Lane
from pipelines.registry.cache import compiled_queries, load_queries
from pipelines.runs.maintain import SETS_KEPT, maintain
from pipelines.spark.runner import HereRunner
from tests.support.lakes.builder import SECOND, ingest, register
from tests.support.lakes.tick_past import NOW, deliveries, land, new_lake

CROSSING = {"id": "up", "feed": "ticks", "where": "price >= 101"}
MATCH = {"id": "light", "feed": "ticks", "kind": "match", "where": "volume < price"}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake with a crossing query, and a file that has been taken in."""
    made = new_lake(tmp_path)
    register(made, [CROSSING], NOW)
    landed(made, 0)
    return made


def landed(lake: Lake, number: int) -> None:
    """Let one more file land, and take it in."""
    name, text = list(deliveries(number + 1))[number]
    land(lake.settings, name, text)
    ingest(lake, NOW + number * SECOND)


def evaluated(lake: Lake) -> list[dict[str, Any]]:
    """Bring the lake up to date; give the rows of its epochs that are done."""
    list(advance(lake, lake.lane("ticks")))
    rows = lake.store.rows("epochs").to_pylist()
    return [row for row in rows if row["state"] == "done"]


def test_a_registration_of_match_queries_alone_changes_what_an_epoch_is_made_with(lake) -> None:
    (first,) = evaluated(lake)
    crossings = load_queries(compiled_queries(lake.store, lake.settings, "ticks", 1))
    assert first["fingerprint"] == crossings.fingerprint
    assert first["matched"] == 0
    register(lake, [MATCH], NOW + SECOND)
    landed(lake, 1)
    _, second = sorted(evaluated(lake), key=lambda row: row["epoch"])
    matches = load_queries(compiled_queries(lake.store, lake.settings, "ticks", 2, "match"))
    assert second["fingerprint"] == f"{crossings.fingerprint}+{matches.fingerprint}"
    assert second["registry_version"] == 2
    assert second["matched"] == lake.store.rows("matches").num_rows > 0


def test_an_epoch_says_how_many_tasks_found_crossings_in_which_way_and_by_which_index_matches(
    lake,
) -> None:
    register(lake, [MATCH], NOW + SECOND)
    landed(lake, 1)
    with mock.patch.object(job, "ONE_TASK", 0), mock.patch.object(HereRunner, "slots", 3):
        first, second = sorted(evaluated(lake), key=lambda row: row["epoch"])
    before, after = json.loads(first["choice"]), json.loads(second["choice"])
    assert before["matches"] == {}
    assert after["crossings"]["walk"]["tasks"] == 3
    assert after["crossings"]["walk"]["why"]
    scanned = after["matches"]["scan for all streams"]
    assert (scanned["tasks"], scanned["boxes"]) == (3, 1)
    assert scanned["why"].startswith("few tuples")


@pytest.mark.fault(31)
def test_a_plan_made_before_there_were_matches_is_carried_out(lake) -> None:
    older = [table for table in lake.lane("ticks").tables if table.name != "matches"]
    register(lake, [MATCH], NOW + SECOND)
    landed(lake, 1)
    with mock.patch.object(Lane, "tables", older):
        planned = plan(lake, lake.lane("ticks"))
    assert "matches" not in planned[0].bases
    assert sum(row["matched"] for row in evaluated(lake)) == lake.store.rows("matches").num_rows > 0
    assert not chain_of(lake.store, "ticks").open


def test_old_sets_of_match_queries_are_forgotten_like_those_of_crossings(lake) -> None:
    versions = range(2, 4 + SETS_KEPT)
    for version in versions:
        register(lake, [{**MATCH, "where": f"volume < {version}"}], NOW + version * SECOND)
        landed(lake, version)
    evaluated(lake)
    folder = lake.settings.root / CACHE
    kept = {f"match-queries-ticks-{version}.arrow" for version in versions}
    assert kept <= {path.name for path in folder.iterdir()}
    maintain(lake.store, lake.settings)
    names = {path.name for path in folder.glob("*-queries-*.arrow")}
    assert names == {f"match-queries-ticks-{version}.arrow" for version in versions[-SETS_KEPT:]}
