"""The session of DuckDB that checks share: it has what they read, and nothing else is opened.

Law: a check that reads what is not named here fails; it never sees other rows.
"""

from collections.abc import Collection, Iterable, Iterator

import duckdb

from pipelines.lake.store import Store
from pipelines.lanes import Lane
from pipelines.project.settings import Settings
from pipelines.serve.views.duckdb import duckdb_session
from schemas.expectations import contracts

LEDGERS = (
    *("raw_arrivals", "raw_epochs", "raw_queries", "arrivals", "refused_deliveries"),
    *("done_epochs", "epoch_accounting", "query_versions"),
)
"""What the checks of each lane read, of the ledgers and the registry."""

READ_BY_ALL = ("done_epochs",)
"""Computed once: each view of rows reads it."""


def session_of(
    settings: Settings,
    lanes: Iterable[Lane],
    of: Collection[str] | None = None,
    store: Store | None = None,
) -> duckdb.DuckDBPyConnection:
    """Open a session for the checks of some lanes, all or those of some tables.

    80 ms, and 50 by a store that is open; with all views 160.
    """
    reads = " ".join(name for lane in lanes for name in _reads(lane, settings, of))
    root, tables = settings.root, settings.tables
    return duckdb_session(root, tables, reads, only=True, ready=READ_BY_ALL, store=store)


def _reads(lane: Lane, settings: Settings, of: Collection[str] | None) -> Iterator[str]:
    """Name the views and tables that the checks of a lane read; fewer, if only tuples are."""
    yield from (*LEDGERS, *lane.feed_names, "quarantine")
    if of is None or any(table != lane.name for table in of):
        yield from contracts(lane.name, settings.axes)
        yield "set_members" if lane.joins else "stream_state"
