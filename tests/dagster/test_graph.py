"""The asset graph as it is committed in graph.txt: what a reader of a change sees of it.

`RENEW=1 make test ARGS="-k snapshot"` writes graph.txt anew.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.assets.graph.asset_graph import AssetGraph, AssetNode

from tests.dagster.project import TOML, Project

pytestmark = pytest.mark.dagster

SNAPSHOT = Path(__file__).with_name("graph.txt")


def drawn(definitions: dg.Definitions) -> str:
    """Write a graph down: keys first, then what each of them says of itself."""
    graph = definitions.resolve_asset_graph()
    keys = sorted(graph.get_all_asset_keys(), key=lambda key: key.to_user_string())
    nodes = {key.to_user_string(): graph.get(key) for key in keys}
    sections = {
        "keys": dict.fromkeys(nodes, ""),
        "made of": {
            name: ", ".join(sorted(key.to_user_string() for key in node.parent_keys))
            for name, node in nodes.items()
        },
        "groups": {name: node.group_name for name, node in nodes.items()},
        "kinds": {name: ", ".join(sorted(node.kinds)) for name, node in nodes.items()},
        "partitions": {name: _partitions(node.partitions_def) for name, node in nodes.items()},
        "owners": {name: ", ".join(sorted(node.owners)) for name, node in nodes.items()},
        "made in one step": {
            name: ", ".join(sorted(key.to_user_string() for key in node.execution_set_asset_keys))
            for name, node in nodes.items()
            if node.is_materializable
        },
        "checks": dict(_checks(graph, nodes)),
    }
    return "\n\n".join("\n".join(_lines(title, told)) for title, told in sections.items()) + "\n"


def _lines(title: str, told: dict[str, str]) -> Iterator[str]:
    yield f"# {title}"
    widest = max(map(len, told))
    for name, value in told.items():
        if value or title == "keys":
            yield f"{name.ljust(widest)}  {value}".rstrip()


def _partitions(definition: dg.PartitionsDefinition[str] | None) -> str:
    if definition is None:
        return ""
    assert isinstance(definition, dg.TimeWindowPartitionsDefinition)
    return f"{definition.get_first_partition_key()} and on, {definition.cron_schedule}"


def _checks(graph: AssetGraph, nodes: Mapping[str, AssetNode]) -> Iterator[tuple[str, str]]:
    for name, node in nodes.items():
        for check in sorted(node.check_keys, key=lambda check: check.name):
            blocks = graph.get_check_spec(check).blocking
            yield f"{name}: {check.name}", "blocks" if blocks else "tells"


def test_the_snapshot_of_the_asset_graph_is_what_is_loaded(project: Project) -> None:
    found = drawn(project.definitions)
    if os.environ.get("RENEW"):
        SNAPSHOT.write_text(found)
    assert found == SNAPSHOT.read_text(), 'RENEW=1 make test ARGS="-k snapshot", and look at it'


def test_a_feed_more_in_fencepost_toml_is_a_group_more_and_no_code(project: Project) -> None:
    before = set(project.definitions.resolve_asset_graph().get_all_asset_keys())
    sensors = '\n[feeds.sensors]\naxes = ["celsius"]\nsource = "in"\npartition = "hour"\n'
    (project.folder / "fencepost.toml").write_text(TOML.format(runner="here") + sensors)
    other = Project(project.folder)
    graph = other.definitions.resolve_asset_graph()
    more = set(graph.get_all_asset_keys()) - before
    names = {key.to_user_string() for key in more}
    like = {
        key.to_user_string().replace("ticks", "sensors") for key in before if "ticks" in key.path
    }
    assert names == like
    assert {graph.get(key).group_name for key in more} == {"sensors"}
    for name in ("evaluate_sensors", "landing_sensors", "partitions_sensors"):
        found = [
            *(job.name for job in other.definitions.resolve_all_job_defs()),
            *(each.name for each in other.definitions.get_repository_def().sensor_defs),
            *(each.name for each in other.definitions.get_repository_def().schedule_defs),
        ]
        assert name in found


def test_an_event_is_told_of_its_columns_and_of_which_columns_they_are_made(
    project: Project,
) -> None:
    graph = project.definitions.resolve_asset_graph()
    metadata = graph.get(dg.AssetKey(["ticks", "events"])).metadata
    columns = {each.name: each for each in metadata["dagster/column_schema"].columns}
    assert all(each.description for each in columns.values())
    made = metadata["dagster/column_lineage"].deps_by_column
    parents = {
        name: {(dep.asset_key.to_user_string(), dep.column_name) for dep in deps}
        for name, deps in made.items()
    }
    assert parents["price"] == parents["prev_price"] == {("ticks/ticks", "price")}
    assert metadata["dagster/table_name"] == "ticks_events"
    assert not {"x", "y", "prev_x", "prev_y"} & columns.keys()  # axes of locations
    landed = graph.get(dg.AssetKey(["ticks", "ticks"])).metadata["dagster/column_lineage"]
    assert set(landed.deps_by_column) == {"stream_id", "ts", "price", "volume"}
    assert parents["query_id"] == {("queries", "id")}
    for key in graph.get_all_asset_keys():  # no column is said to be made of one that is not there
        lineage = graph.get(key).metadata.get("dagster/column_lineage")
        for deps in lineage.deps_by_column.values() if lineage else ():
            for dep in deps:
                if dep.asset_key.path[0] == "landing":
                    continue  # whose columns nobody declares
                schema = graph.get(dep.asset_key).metadata["dagster/column_schema"]
                assert dep.column_name in {column.name for column in schema.columns}
