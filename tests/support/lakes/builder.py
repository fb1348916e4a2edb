"""The builder of every lake in the tests: one function for each thing that a user does.

`settings_of` declares feeds, `new_lake` creates the lake, `register` gives it rules, `land` puts a
file into the landing folder, `ingest` loads what has landed, `evaluate` brings a lane up to date,
`reopened` is the next process, `rows_of` queries the views. What the lake is about is up to the
module that uses them.

Law: a new lake is a copy of one that was created once for its axes and buckets, which costs a
quarter of the time; nothing in a lake depends on where it is.
"""

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipelines import ingest as ingestion
from pipelines.epochs.drive import Lake, advance
from pipelines.ingest import IngestReport
from pipelines.lake.store import Store
from pipelines.planning.plan import Limits
from pipelines.project.settings import Feed, Settings
from pipelines.registry.changes import QueryChanges
from pipelines.registry.commit import Registered
from pipelines.registry.commit import register as commit
from pipelines.registry.query_files import given_line
from pipelines.runs.run import recover
from pipelines.serve.views.duckdb import duckdb_session
from pipelines.spark.runner import HereRunner, Runner
from schemas import FeedColumns, Feeds, all_tables, axes_only
from tests.support.lakes.on_disk import on_disk

SECOND = 1_000_000
BUCKETS = 4

Axes = Mapping[str, tuple[str, ...]]
Rule = Mapping[str, Any]


def instant(us: int) -> str:
    """Write a time as a file has it."""
    return str(np.datetime64(us, "us")) + "Z"


def settings_of(
    folder: Path,
    axes: Axes,
    of_feed: Mapping[str, Mapping[str, Any]] | None = None,
    buckets: int = BUCKETS,
    **more: Any,
) -> Settings:
    """Declare feeds whose files land in `landing/FEED`; `of_feed` has the options of each."""
    options = of_feed or {}
    feeds = {
        name: Feed(name, own, folder / "landing" / name, **options.get(name, {}))
        for name, own in axes.items()
    }
    return Settings(None, folder / "lake", feeds, buckets=buckets, **more)


def new_store(root: Path, axes: Axes, buckets: int = BUCKETS) -> Store:
    """Create an empty lake of feeds that declare axes only."""
    return new_store_of(root, axes_only(dict(axes)), buckets)


def new_store_of(root: Path, feeds: Feeds, buckets: int = BUCKETS) -> Store:
    """Create an empty lake."""
    template = _template(tuple(feeds.items()), buckets)
    shutil.copytree(template, root, dirs_exist_ok=True)
    return Store.open(root, all_tables(feeds))


@cache
def _template(feeds: tuple[tuple[str, FeedColumns], ...], buckets: int) -> Path:
    folder = tempfile.mkdtemp(prefix="fencepost-")
    atexit.register(shutil.rmtree, folder)
    root = Path(folder) / "lake"
    Store.create(root, all_tables(dict(feeds)), buckets=buckets)
    return root


def new_lake(
    settings: Settings, runner: Runner | None = None, limits: Limits | None = None
) -> Lake:
    """Create what settings declare: an empty lake, and the folders where files land."""
    for feed in settings.feeds.values():
        feed.source.mkdir(parents=True, exist_ok=True)
    store = new_store_of(on_disk(settings.root), settings.columns, settings.buckets)
    lake = Lake.of(store, settings, runner or HereRunner())
    return replace(lake, limits=limits) if limits else lake


def register(
    lake: Lake, rules: Sequence[Rule], now: int, removed: Sequence[str] = ()
) -> Registered:
    """Register rules, and remove some by their ids, in one commit."""
    rows = [given_line(json.dumps(rule), "rules", lake.settings.axes) for rule in rules]
    given = pa.concat_tables(rows) if rows else QueryChanges().given
    return commit(
        lake.store, lake.settings, QueryChanges(given, pa.array(removed, pa.string())), now
    )


def land(feed: Feed, name: str, content: str | bytes, at: int) -> Path:
    """Put a file into a feed's folder; it and the folders above it were last changed at a time."""
    path = on_disk(feed.source) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    changed_at(path, on_disk(feed.source), at)
    return path


def changed_at(path: Path, source: Path, at: int) -> None:
    """Say when a file, and the folders above it up to its feed's, were last changed."""
    for changed in (path, *path.parents):
        os.utime(changed, ns=(at * 1000, at * 1000))
        if changed == source:
            break


def ingest(lake: Lake, now: int) -> IngestReport:
    """Load what has landed."""
    return ingestion.ingest(lake.store, lake.settings, lake.runner, now)


def evaluate(lake: Lake, lane: str) -> None:
    """Bring a lane up to date."""
    list(advance(lake, lake.lane(lane)))


def reopened(lake: Lake) -> Lake:
    """Open the lake as the next process would, and finish what was begun."""
    store = Store.open(lake.settings.root, lake.settings.tables)
    recover(store, lake.settings, lake.runner)
    return replace(lake, store=store)


def rows_of(lake: Lake, sql: str) -> list[dict[str, Any]]:
    """Query the tables and views; the SQL sorts where order matters."""
    with duckdb_session(on_disk(lake.store.root), lake.store.tables, sql, only=True) as session:
        rows: list[dict[str, Any]] = session.sql(sql).to_arrow_table().to_pylist()
    return rows
