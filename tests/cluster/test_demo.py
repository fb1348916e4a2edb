"""The demo's day through Dagster's assets, on a cluster: the tables of one process.

Trades and vehicles are the demo's, dirt and all. Quotes a little beside the trades' prices join
them, and some rules match, so that every kind of lane and of rule is there.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.graph import QUERIES
from assets.partitions import range_tags
from examples.demo import day as demo_day
from examples.demo.day import DATE, DemoDay, Landing
from examples.demo.rules import lines
from fencepost.tuples import TupleBatch
from pipelines.lake.store import Store
from pipelines.project.settings import load
from tests.cluster.kernels import found_in, shipped
from tests.cluster.standalone import Standalone, python
from tests.dagster.project import Project
from tests.faults.story import differing, rows_of
from tests.support.commands.commands import REPOSITORY
from tests.support.lakes.on_disk import on_disk

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.dagster,
    pytest.mark.xdist_group("second cluster"),
    pytest.mark.timeout(900),
]

DAY = DemoDay(0.002)
MARKET = [f"{DATE}T{hour:02}" for hour in range(8, 16)]
HOURS = [f"{DATE}T{hour:02}" for hour in range(24)]
FEED = """
[feeds.{name}]
axes = {axes}
source = "landing/{name}"
settle = "0s"
ties = "first"
partition = "hour"
partition_in_path = true
partitions_from = "{first}"
partitions_to = "{last}"
"""
LAKE = '[lake]\npath = "lake"\nqueries = "rules"\njoins = ["ticks~quotes"]\n'
PAIR: dict[str, Any] = {"left": "ticks", "right": "quotes"}
MORE: Sequence[dict[str, Any]] = (
    {"id": "large", "feed": "ticks", "kind": "match", "where": "volume >= 20000"},
    {"id": "cheap", "feed": "ticks", "kind": "match", "where": "price < 50 AND volume < 500"},
    {"id": "fast", "feed": "locations", "kind": "match", "where": "speed > 60"},
    {
        "id": "hit",
        "kind": "window_join",
        "on": "left.price >= right.price AND left.price <= right.price + 0.05",
        "window": "3s",
        **PAIR,
    },
    {"id": "last", "kind": "window_join", "on": "left.price < right.price", "window": 2, **PAIR},
    {
        "id": "spread",
        "kind": "band_join",
        "left": "ticks.price",
        "right": "quotes.price",
        "between": [-0.02, 0.02],
    },
)
PLAY = """
import sys
from pathlib import Path
from tests.cluster.test_demo import play
play(Path(sys.argv[1]))
"""


def quotes(traded: TupleBatch) -> TupleBatch:
    """Give prices that are a little below and above those of the trades, in turn."""
    values = traded.values.copy()
    values[0, ::2] = (values[0, ::2] - 0.03).round(2)
    values[0, 1::2] = (values[0, 1::2] + 0.01).round(2)
    return replace(traded, feed="quotes", values=values)


def made(folder: Path) -> None:
    """Make a project with an empty lake, its rules as files, and everything landed."""
    folder.mkdir()
    of_market = {"first": MARKET[0], "last": MARKET[-1]}
    of_town = {"first": DATE, "last": DATE}
    (folder / "fencepost.toml").write_text(
        LAKE
        + FEED.format(name="ticks", axes='["price", "volume"]', **of_market)
        + FEED.format(name="quotes", axes='["price", "volume"]', **of_market)
        + FEED.format(name="locations", axes='["lon", "lat", "speed"]', **of_town)
        + 'position = ["lon", "lat"]\n'
    )
    settings = load(folder)
    Store.create(settings.root, settings.tables, buckets=settings.buckets)
    rules = [*DAY.rules("ticks"), *DAY.rules("locations"), *MORE]
    (folder / "rules").mkdir()
    (folder / "rules" / "day.jsonl").write_bytes(lines(iter(rules)))
    traded = DAY.tuples("ticks")
    for tuples in (traded, quotes(traded), DAY.tuples("locations")):
        source = on_disk(settings.feeds[tuples.feed].source)
        source.mkdir(parents=True)
        for file in Landing(tuples, DAY.scale).files():
            demo_day.write(source / file.name, file.content)


def play(folder: Path) -> None:
    """Register, load and evaluate all of it, as Dagster does; the checks aside."""
    project = Project(folder)
    graph = project.definitions.get_repository_def()
    registered = graph.get_implicit_global_asset_job_def().execute_in_process(
        instance=project.instance, asset_selection=[QUERIES]
    )
    assert registered.success
    for job, keys in (("evaluate_ticks_X_quotes", MARKET), ("evaluate_locations", HOURS)):
        nodes = project.definitions.resolve_job_def(job).all_node_defs
        steps = [node.name for node in nodes if "_of_" in node.name]
        assert project.job(job, tags=range_tags(keys[0], keys[-1]), op_selection=steps).success
    for asset in ("ticks/events", "ticks/matches", "ticks_X_quotes/pairs", "ticks/arrivals"):
        assert dg.AssetKey(asset.split("/")) not in graph.asset_graph.get_all_asset_keys() or (
            project.shown(asset) == MARKET
        )


def test_the_demos_day_through_dagster_on_a_cluster_is_that_of_one_process(
    cluster: Standalone, tmp_path: Path
) -> None:
    for name in ("here", "there"):
        made(tmp_path / name)
    before = set(cluster.unpacked())
    path = {"PYTHONPATH": str(REPOSITORY)}
    here = python(PLAY, [tmp_path / "here"], tmp_path, FENCEPOST_RUNNER="here", **path)
    there = python(PLAY, [tmp_path / "there"], tmp_path, **cluster.environment, **path)
    for driver in (here, there):
        _, err = driver.communicate(timeout=600)
        assert driver.returncode == 0, err[-3000:]
    expected, found = rows_of(tmp_path / "here"), rows_of(tmp_path / "there")
    for table in ("events", "transitions", "matches", "pairs", "band_changes", "quarantine"):
        assert len(expected[table]) > 20, table
    assert differing(found, expected) == []
    executors = [folder for folder in cluster.unpacked() if folder not in before]
    assert executors
    assert [folder for folder in executors if found_in(folder) != shipped()] == []
