"""Joins as rows to register, for the tests: over the two feeds of `registry_lake`."""

from fencepost.queries.joins import JoinSets
from pipelines.registry.joins import join_sets
from tests.support.lakes.registry_lake import Lake, Row

LANE, TURNED = "ticks~locations", "locations~ticks"
FEEDS = ("ticks", "locations")
MINUTE = 60_000_000


def window(id: str = "w", on: str = "left.price >= right.x", **fields) -> Row:
    given = {"id": id, "feed": None, "kind": "window_join", "on": on, "window": "5m"}
    return given | dict(zip(("left", "right"), FEEDS, strict=True)) | fields


def band(id: str = "b", **fields) -> Row:
    sides = {"left": "ticks.price", "right": "locations.x", "between": [-0.5, 0.5]}
    return {"id": id, "feed": None, "kind": "band_join"} | sides | fields


def sets(lake: Lake, version: int | None = None) -> JoinSets:
    """The joins over the two feeds at a version of the registry: a set of each kind."""
    return join_sets(lake.store, lake.settings, LANE, version)


def without_none(row: Row) -> Row:
    return {name: value for name, value in row.items() if value is not None}
