"""A lake with a registry, for the tests: registered to, killed and found again."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from fencepost.queries import QuerySet
from pipelines.lake.store import Store
from pipelines.registry.changes import QueryChanges
from pipelines.registry.commit import Registered, recover, register
from pipelines.registry.queries import query_set, standing
from pipelines.registry.query_files import given_one
from tests.support.lakes.builder import new_store, settings_of

AXES = {"ticks": ("price", "volume"), "locations": ("x", "y", "speed")}
NOW = 1_795_003_200_000_000

Row = dict[str, Any]


class Lake:
    """A lake of its own, and the few things that a test does to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.settings = replace(settings_of(root.parent, AXES, buckets=8), root=root)
        self.store = Store.open(root, self.settings.tables)

    @classmethod
    def new(cls, folder: Path) -> "Lake":
        """A lake without queries."""
        new_store(folder / "lake", AXES, buckets=8)
        return cls(folder / "lake")

    def put(self, *queries: Row, gone: tuple[str, ...] = ()) -> Registered:
        tables = [given_one({"feed": "ticks"} | query, "test", AXES) for query in queries]
        given = pa.concat_tables(tables) if tables else QueryChanges().given
        return self.register(given, gone)

    def register(self, given: pa.Table, gone: tuple[str, ...] = ()) -> Registered:
        changes = QueryChanges(given, pa.array(gone, pa.string()))
        return register(self.store, self.settings, changes, NOW)

    def anew(self) -> "Lake":
        """The same lake, as the next process finds it."""
        lake = Lake(self.root)
        recover(lake.store)
        return lake

    def standing(self, version: int | None = None) -> list[Row]:
        rows: list[Row] = standing(self.store, version).to_pylist()
        return rows

    def ids(self, version: int | None = None) -> list[str]:
        return [row["id"] for row in self.standing(version)]

    def set(self, version: int | None = None, kind: str = "crossing") -> QuerySet:
        return query_set(self.store, self.settings, "ticks", version, kind)


def said(done: Registered) -> dict[str, int]:
    """What was counted, without the zeros."""
    names = ("added", "changed", "edited", "unchanged", "removed")
    return {name: getattr(done, name) for name in names if getattr(done, name)}


def query(id: str = "q", **fields) -> Row:
    return {"id": id, "where": "price >= 2 AND price < 5"} | fields


def lines_of(*queries: Row) -> str:
    return "".join(json.dumps({"feed": "ticks"} | each) + "\n" for each in queries)
