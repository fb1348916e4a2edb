"""Lakes written by hand, row by row: what the views read, without anything that evaluates.

A `Ledger` collects rows under the raw tables' names, with what a test does not care about filled
in. The same rows become tables in DuckDB's memory, or a lake of Delta tables.
"""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from pipelines.lake.evidence import Evidence
from pipelines.lake.store import Store
from pipelines.serve.views import views_for
from pipelines.serve.views.duckdb import FUNCTIONS
from schemas import Table, all_tables, axes_only
from schemas.epochs import COUNTS
from tests.support.lakes.builder import new_store

AXES = {"ticks": ("price", "volume"), "locations": ("x", "y", "speed")}
BEGIN = datetime(2026, 11, 18, tzinfo=UTC)
REGISTRY = "queries"


def at(second: float | None) -> Any:
    """The instant that many seconds after the beginning of all these lakes."""
    return None if second is None else BEGIN + timedelta(seconds=second)


class Ledger:
    """Rows by table, and the next number of the sequence."""

    def __init__(self, axes: dict[str, tuple[str, ...]] = AXES) -> None:
        self.axes = axes
        self.tables: dict[str, Table] = all_tables(axes_only(axes))
        self.rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.n = 0
        self.registry = 0

    def add(self, table: str, **row: Any) -> None:
        """Add a row; what is not named and may not be null is empty, 0 or false."""
        nothing: dict[str, Any] = {
            "string": "",
            "long": 0,
            "integer": 0,
            "double": 0.0,
            "boolean": False,
            "timestamp": BEGIN,
            "date": BEGIN.date(),
        }
        declared = self.tables[table].columns
        assert set(row) <= {column.name for column in declared}, row
        filled = {
            c.name: None if c.nullable else nothing.get(c.kind, [])
            for c in declared
            if c.name not in row
        }
        self.rows[table].append({**filled, **row})

    def arrive(self, lane: str, state: str = "done", **more: Any) -> int:
        """A delivery that was planned, and is done or refused unless still in progress."""
        self.n += 1
        row = {"n": self.n, "lane": lane, "kind": "delivery", "plan": f"a{self.n}", **more}
        row.setdefault("path", f"{lane}/{self.n}.csv")
        row.setdefault("partition_key", "2026-11-18")
        self.add("arrivals", **row, state="planned")
        if state != "planned":
            self.add("arrivals", **row, state=state)
        return self.n

    def register(self, *queries: dict[str, Any], state: str = "done") -> int:
        """A registry commit with these rows, which are in the table whether or not it is done."""
        self.registry += 1
        version = self.registry
        self.arrive(REGISTRY, state, kind="registry", registry_version=version)
        for query in queries:
            row = {"kind": "crossing", "feed": "ticks", "version": 1, "on_first": "silent", **query}
            self.add("queries", n=self.n, registry_version=version, **row)
        return self.n

    def epoch(
        self, lane: str, epoch: int, arrivals: list[int], generation: int = 1, **more: Any
    ) -> None:
        """An epoch that was planned, and done unless `state` says otherwise."""
        row = {"registry_version": self.registry, "partition_key": "2026-11-18", **more}
        state = row.pop("state", "done")
        row |= {"lane": lane, "epoch": epoch, "generation": generation, "arrivals": arrivals}
        row |= {"plan": f"{lane}-{epoch}-{generation}", "first": epoch, "last": epoch}
        counts = {name: row.pop(name, 0) for name in COUNTS}
        self.add("epochs", **row, state="planned")
        if state == "done":
            self.add("epochs", **row, state=state, **counts)

    def event(self, type_: str, query: str, stream: str, ts: float, **more: Any) -> None:
        """A crossing, of version 1 of a query on ticks unless it is said otherwise."""
        row = {"feed": "ticks", "query_version": 1, "generation": 1, "epoch": 1, **more}
        row.setdefault("prev_ts", at(ts - 0.5))
        self.add(
            "events", **row, type=type_, query_id=query, stream_id=stream, ts=at(ts), day=at(ts)
        )

    def arrow(self, name: str) -> pa.Table:
        """Return the rows of a table."""
        rows = [
            {
                key: v.date() if key == "day" and isinstance(v, datetime) else v
                for key, v in r.items()
            }
            for r in self.rows[name]
        ]
        return pa.Table.from_pylist(rows, self.tables[name].arrow)

    def in_memory(
        self, connection: duckdb.DuckDBPyConnection | None = None
    ) -> duckdb.DuckDBPyConnection:
        """Put the rows into DuckDB's memory, with the views over them.

        Into a connection made before, for the same feeds, that costs an eighth of it; what was
        in it is gone.
        """
        fresh = connection is None
        connection = connection or duckdb.connect(config={"threads": 1})
        for name in self.tables:
            rows = self.arrow(name)
            if fresh or rows.num_rows or connection.execute(f"FROM raw_{name} LIMIT 1").fetchone():
                connection.execute(f"CREATE OR REPLACE TABLE raw_{name} AS FROM rows")
        if fresh:
            connection.execute("SET TimeZone = 'UTC'")
            for function in FUNCTIONS.values():
                connection.execute(function)
            for view in views_for("", self.tables):
                connection.execute(f'CREATE VIEW "{view.name}" AS {view.sql}')
        return connection

    def written(self, root: Path) -> Store:
        """Write the rows as a lake of Delta tables, each table in two commits where it can be."""
        store = new_store(root, self.axes)
        for name in self.tables:
            rows = self.arrow(name)
            half = (rows.num_rows + 1) // 2
            for place, part in enumerate((rows.slice(0, half), rows.slice(half))):
                if part.num_rows:
                    told = Evidence("by hand", f"{name}-{place}", "", 1, 1, 1, part.num_rows, 0)
                    store.append(name, store.version(name), store.write(name, part), told)
        return store


def answered(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of an answer, sorted by their text."""
    rows = connection.execute(sql).fetchall()
    return sorted(rows, key=repr)
