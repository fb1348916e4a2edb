"""What a SQL user sees: views over the raw tables, one text for DuckDB and for Spark.

In a session a table of the lake is named `raw_<table>`, and views have plain names. The texts use
only what both engines understand alike; functions of Spark's that DuckDB lacks, like `explode` and
`unix_micros`, are defined in its session (duckdb.FUNCTIONS).

Law: a view shows what is committed and in force, and nothing else; so all views agree on one epoch
of each lane, in any engine, whatever is being written meanwhile.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.serve.views.activity import EPOCH_ACCOUNTING, query_activity, stream_activity
from pipelines.serve.views.daily import DAILY_SUMMARY
from pipelines.serve.views.joins import joined
from pipelines.serve.views.ledgers import ARRIVALS, DONE_EPOCHS, EPOCHS, REFUSED_DELIVERIES
from pipelines.serve.views.of_feeds import named_in, of_feeds
from pipelines.serve.views.partitions import PARTITION_STATUS
from pipelines.serve.views.presence import inside_now, visits
from pipelines.serve.views.registry import QUERIES, QUERY_VERSIONS
from pipelines.serve.views.tables import published
from pipelines.serve.views.view import View
from schemas import Column, Table

__all__ = ["RAW", "Relation", "View", "relations", "statements", "views", "views_for"]

RAW = "raw_"
"""The prefix of a table's name."""


@dataclass(frozen=True)
class Relation:
    """A view or a table: what its rows are, and its columns."""

    comment: str
    columns: tuple[Column, ...]


def views(tables: Mapping[str, Table]) -> tuple[View, ...]:
    """Give all views over these tables, each after those that it reads."""
    general = _general(tables)
    return (*general, *of_feeds(tables, general))


def views_for(statement: str, tables: Mapping[str, Table]) -> tuple[View, ...]:
    """Give the views that a session needs for a statement: the general ones, and those named."""
    general = _general(tables)
    return (*general, *named_in(statement, of_feeds(tables, general)))


def _general(tables: Mapping[str, Table]) -> tuple[View, ...]:
    """Give the views over all feeds."""
    return (
        ARRIVALS,
        DONE_EPOCHS,
        EPOCHS,
        REFUSED_DELIVERIES,
        QUERIES,
        QUERY_VERSIONS,
        *published(tables),
        *joined(tables),
        visits(tables),
        inside_now(tables),
        DAILY_SUMMARY,
        query_activity(tables),
        stream_activity(tables),
        EPOCH_ACCOUNTING,
        PARTITION_STATUS,
    )


def statements(tables: Mapping[str, Table]) -> list[tuple[str, str]]:
    """Give the name and the SELECT of every view, each after those that it reads."""
    return [(view.name, view.sql) for view in views(tables)]


def relations(tables: Mapping[str, Table]) -> dict[str, Relation]:
    """Give everything that can be selected from: the views in their order, then the raw tables."""
    named = {view.name: Relation(view.comment, view.columns) for view in views(tables)}
    raw = {RAW + name: Relation(table.comment, table.columns) for name, table in tables.items()}
    return named | raw
