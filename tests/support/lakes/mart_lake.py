"""A lake with events of two feeds, whose marts are refreshed."""

# ruff: noqa: S608  SQL is what is tested

import uuid
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from pipelines.lake.evidence import Evidence
from pipelines.lake.store import Store
from pipelines.serve.marts import MartReport, folder_of, refresh
from pipelines.serve.views.duckdb import duckdb_session
from schemas.marts import MARTS
from tests.support.lakes.builder import settings_of
from tests.support.lakes.ledger import AXES, Ledger, at
from tests.support.lakes.on_disk import on_disk

NOW = timedelta(0)
TICKS, TOWN = "ticks", "locations"


def write_town(root: Path) -> None:
    """A lake with events of two feeds; each test copies it."""
    ledger = Ledger()
    ledger.register({"id": "q"}, {"id": "zone", "feed": TOWN})
    for feed in AXES:
        ledger.epoch(feed, 1, [ledger.arrive(feed)], watermark=at(200_000))
    for feed, query, stream, entered, left in (
        (TICKS, "q", "ünï", 1, 20),
        (TICKS, "q", "a", 2, None),
        (TICKS, "q", "b", 90_000, 90_001.5),
        (TOWN, "zone", "car", 3, 86_400),
        (TOWN, "zone", "van", 4, None),
    ):
        ledger.event("I", query, stream, entered, feed=feed)
        if left is not None:
            ledger.event("O", query, stream, left, feed=feed)
    ledger.written(root)


class Town:
    """A lake with events of two feeds, in which more happens when `happen` is called."""

    def __init__(self, root: Path) -> None:
        self.settings = replace(settings_of(root.parent, AXES), root=root)
        self.store = Store.open(root, self.settings.tables)

    def enter(self, stream: str, ts: float, left: float | None = None, feed: str = TICKS) -> None:
        """A stream enters its feed's query, and leaves it again."""
        more = Ledger()
        query = "q" if feed == TICKS else "zone"
        more.event("I", query, stream, ts, feed=feed)
        if left is not None:
            more.event("O", query, stream, left, feed=feed)
        self.happen(more)

    def happen(self, more: Ledger) -> None:
        """Append events, as those of one more epoch of each of their feeds."""
        epochs = self.store.rows("epochs").to_pylist()
        more.n, more.registry = max(self.store.rows("arrivals")["n"].to_pylist()), 1
        for feed in {row["feed"] for row in more.rows["events"]}:
            epoch = 1 + max(row["epoch"] for row in epochs if row["lane"] == feed)
            for row in more.rows["events"]:
                row["epoch"] = epoch if row["feed"] == feed else row["epoch"]
            more.epoch(feed, epoch, [more.arrive(feed)], watermark=at(200_000))
        for table in ("events", "arrivals", "epochs"):
            self.append(table, more)

    def append(self, table: str, more: Ledger) -> None:
        """Append rows to a table, in one commit."""
        told = Evidence("by hand", uuid.uuid4().hex, "", 1, 1, 1, 1, 0)
        files = self.store.write(table, more.arrow(table))
        self.store.append(table, self.store.version(table), files, told)

    def shows(self, view: str, feed: str) -> list[str]:
        """The rows of a view, as text, to the last digit."""
        return self.all_shown((view, feed))[0]

    def all_shown(self, *pairs: tuple[str, str]) -> list[list[str]]:
        """The rows of several views and feeds, of one moment."""
        asked = [f"SELECT * FROM {view} v WHERE v.feed = '{feed}'" for view, feed in pairs]
        root, tables = self.settings.root, self.settings.tables
        session = duckdb_session(root, tables, " ".join(asked), only=True)
        try:
            return [in_order(session.execute(sql).to_arrow_table()) for sql in asked]
        finally:
            session.close()

    def holds(self, mart: str, feed: str) -> list[str]:
        """The rows of a mart, as delta-rs reads them."""
        table = DeltaTable(str(folder_of(self.settings.root, mart))).to_pyarrow_table()
        return in_order(table.filter(pa.compute.equal(table["feed"], feed)), MARTS[mart].arrow)

    def agree(self) -> bool:
        """Whether every mart holds what its view shows."""
        pairs = [(mart, feed) for mart in MARTS for feed in AXES]
        return [self.holds(*pair) for pair in pairs] == self.all_shown(*pairs)


def in_order(rows: Any, schema: pa.Schema | None = None) -> list[str]:
    """Rows as text, in an order of their own."""
    table = rows if schema is None else rows.select(schema.names).cast(schema)
    return sorted(repr(tuple(row.values())) for row in table.to_pylist())


def refreshed(town: Town, *feeds: str) -> list[MartReport]:
    return [report for feed in feeds or AXES for report in refresh(town.settings, feed)]


def files_of(town: Town) -> list[Path]:
    return sorted(on_disk(town.settings.root / "marts").glob("*/feed=*/*.parquet"))
