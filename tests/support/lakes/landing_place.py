"""A lake with landing folders, for the tests: files land, are loaded, and tables are compared."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from fencepost.times import to_microseconds
from pipelines import ingest
from pipelines.ingest import IngestReport
from pipelines.lake.sequence import latest
from pipelines.lake.store import Store
from pipelines.project.settings import Feed, Settings
from pipelines.spark.runner import HereRunner
from tests.support.lakes.builder import SECOND, changed_at, land, new_lake
from tests.support.lakes.on_disk import on_disk

T0 = 1_795_003_200_000_000
"""2026-11-18T12:00:00Z, µs: when everything is found."""

HEAD = "stream_id,ts,price,volume\n"
AT = "2026-11-18T11:59:{:02d}Z"

Row = dict[str, Any]


def ticks(*prices: float, stream: str = "a") -> str:
    """CSV of a stream's prices, a second apart."""
    return HEAD + "".join(f"{stream},{AT.format(k)},{p},1\n" for k, p in enumerate(prices))


@dataclass
class Place:
    """A lake and the landing folders of its feeds."""

    folder: Path
    settings: Settings
    store: Store
    landed: int = 0

    @classmethod
    def make(cls, folder: Path, *feeds: Feed, buckets: int = 4) -> "Place":
        """Create an empty lake, with the feeds' folders beside it."""
        declared = feeds or (Feed("ticks", ("price", "volume"), Path("ticks")),)
        own = {feed.name: replace(feed, source=folder / on_disk(feed.source)) for feed in declared}
        settings = Settings(None, folder / "lake", own, buckets=buckets)
        return cls(folder, settings, new_lake(settings).store)

    def declare(self, feed: str, **changed: Any) -> None:
        """Change a feed's declaration."""
        feeds = {**self.settings.feeds, feed: replace(self.settings.feeds[feed], **changed)}
        self.settings = replace(self.settings, feeds=feeds)

    def land(self, name: str, content: str | bytes, feed: str = "ticks") -> Path:
        """Put a file into a landing folder, as if unchanged for long."""
        self.landed += 1
        return land(self.settings.feeds[feed], name, content, self.an_hour_ago)

    def left_alone(self, path: Path, source: Path) -> None:
        """Say that a file and its folders were changed an hour ago, each at another time."""
        self.landed += 1
        changed_at(path, source, self.an_hour_ago)

    @property
    def an_hour_ago(self) -> int:
        """Return a time that no other file has."""
        return T0 - 3600 * SECOND + self.landed

    def ingest(self, now: int = T0) -> IngestReport:
        """Load what has landed."""
        return ingest.ingest(self.store, self.settings, HereRunner(), now)

    def recovered(self) -> IngestReport:
        """Continue in a new process after a crash."""
        self.store = Store.open(self.settings.root, self.settings.tables)
        return ingest.recover(self.store, self.settings, HereRunner())

    def retry(self, now: int = T0, feed: str | None = None, **asked: Any) -> IngestReport:
        """Retry the rejected rows."""
        return ingest.retry(self.store, self.settings, HereRunner(), now, feed=feed, **asked)

    def arrivals(self) -> list[Row]:
        """What the ledger says of each number, in order."""
        rows: list[Row] = latest(self.store.rows("arrivals")).to_pylist()
        return rows

    def tuples(self, feed: str = "ticks") -> list[Row]:
        """The tuples of a feed, in the order of arrival."""
        rows = _rows(self.store.rows(feed), ("bucket",))
        return sorted(rows, key=lambda row: (row["arrival"], row["file"], row["line"]))

    def aside(self) -> list[Row]:
        """The rows that ingest rejected, in the order of arrival."""
        rows = _rows(self.store.rows("quarantine"), ())
        return sorted(rows, key=lambda row: (row["arrival"], row["file"], row["line"]))

    def reasons(self) -> list[tuple[int, str, str]]:
        """The line, the reason and the detail of each rejected row."""
        return [(row["line"], row["reason"], row["detail"]) for row in self.aside()]

    def content(self) -> Mapping[str, list[Row]]:
        """All that ingest wrote, but for what names a run: plans and versions."""
        told = [
            {k: v for k, v in row.items() if k not in ("plan", "bases")} for row in self.arrivals()
        ]
        feeds = {name: self.tuples(name) for name in self.settings.feeds}
        return {"arrivals": told, "quarantine": self.aside(), **feeds}

    def commits(self, table: str) -> list[tuple[str, str, int, int, int]]:
        """What the commits of a table say of themselves: what, lane, first, last, rows."""
        return [
            (said.what, said.lane, said.first, said.last, said.rows)
            for said in self.store.evidence(table, 0)
        ]


def _rows(table: pa.Table, leave_out: tuple[str, ...]) -> list[Row]:
    rows: list[Row] = table.drop_columns(list(leave_out)).to_pylist()
    for row in rows:
        if "ts" in row:
            row["ts"] = to_microseconds(row["ts"])
    return rows


def as_json_lines(rows: list[Row]) -> str:
    """Write rows as JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)
