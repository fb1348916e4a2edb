"""A lake with a registry, for the tests: registered to, killed and found again."""

import atexit
import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from fencepost.queries import QuerySet
from pipelines.lake import crash_points
from pipelines.lake.store import Store
from pipelines.project.settings import Feed, Settings
from pipelines.registry.changes import Changes
from pipelines.registry.commit import Registered, recover, register
from pipelines.registry.queries import query_set, standing
from pipelines.registry.query_files import given_one

AXES = {"ticks": ("price", "volume"), "locations": ("x", "y", "speed")}
NOW = 1_795_003_200_000_000

Row = dict[str, Any]


def settings_of(root: Path) -> Settings:
    """Two feeds."""
    feeds = {name: Feed(name, own, root / name) for name, own in AXES.items()}
    return Settings(None, root, feeds)


@cache
def _template() -> Path:
    folder = tempfile.mkdtemp(prefix="fencepost-")
    atexit.register(shutil.rmtree, folder)
    root = Path(folder) / "lake"
    Store.create(root, settings_of(root).tables, buckets=8)
    return root


class Killed(BaseException):
    """The process ends here."""


@contextlib.contextmanager
def killed_at(place: str) -> Iterator[None]:
    """End whatever passes this point."""

    def hook(name: str) -> None:
        if name == place:
            raise Killed

    off = crash_points.on_point(hook)
    try:
        yield
    finally:
        off()


class Lake:
    """A lake of its own, and the few things that a test does to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.settings = settings_of(root)
        self.store = Store.open(root, self.settings.tables)

    @classmethod
    def new(cls, folder: Path) -> "Lake":
        """A lake without queries, copied from one that was made once."""
        return cls(shutil.copytree(_template(), folder / "lake"))

    def put(self, *queries: Row, gone: tuple[str, ...] = ()) -> Registered:
        tables = [given_one({"feed": "ticks"} | query, "test", AXES) for query in queries]
        given = pa.concat_tables(tables) if tables else Changes().given
        return self.register(given, gone)

    def register(self, given: pa.Table, gone: tuple[str, ...] = ()) -> Registered:
        changes = Changes(given, pa.array(gone, pa.string()))
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
    """What was counted, zeros aside."""
    names = ("added", "changed", "edited", "unchanged", "removed")
    return {name: getattr(done, name) for name in names if getattr(done, name)}


def query(id: str = "q", **fields) -> Row:
    return {"id": id, "where": "price >= 2 AND price < 5"} | fields


def lines_of(*queries: Row) -> str:
    return "".join(json.dumps({"feed": "ticks"} | each) + "\n" for each in queries)
