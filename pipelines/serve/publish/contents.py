"""What a lake shows in a catalog: tables and views by name, with their comments and columns.

With views, a table of the lake is `raw_<table>`, as in every session, views have plain names, and a
mart that was written is `mart_<name>`. Without views, a table whose rows are those of its view has
the plain name: the feeds' tuples and what was found; and the marts are `inside_now`, `visits` and
`daily_summary`.

Law: a name has the same rows in every catalog, up to the moment at which a mart was refreshed.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fencepost.errors import LakeError
from fencepost.text import few
from pipelines.lake.layout import Note
from pipelines.project.settings import Settings
from pipelines.serve.marts.place import FOLDER, folder_of
from pipelines.serve.views import RAW, views
from schemas import Column, Table
from schemas.marts import AS_OF, MARTS

MART = "mart_"
TRUE_TO_ITS_VIEW = ("tuples", "found")
"""Roles of tables that at rest have the rows of their view, and no others."""


@dataclass(frozen=True)
class CatalogEntry:
    """A table or a view of a catalog.

    sql     the SELECT of a view; empty: a table
    folder  of a table: where it is below the lake
    """

    name: str
    comment: str
    columns: tuple[Column, ...]
    sql: str = ""
    folder: str = ""


@dataclass(frozen=True)
class CatalogChange:
    """What publishing did: how many entries there are now, were changed, and were dropped."""

    entries: int
    changed: int
    dropped: int


def with_views(settings: Settings) -> list[CatalogEntry]:
    """Give the tables of the lake and its marts, then the views, each after those it reads."""
    entries = [CatalogEntry(v.name, v.comment, v.columns, v.sql) for v in views(settings.tables)]
    names = {entry.name for entry in entries}
    return [
        *(_table(RAW + table.name, table) for table in _tables(settings)),
        *(mart for mart in _marts(settings) if mart.name not in names),
        *entries,
    ]


def tables_alone(settings: Settings) -> list[CatalogEntry]:
    """Give the tables and the marts, for engines that cannot read Spark's views."""
    tables = _tables(settings)
    plain = [table for table in tables if table.role in TRUE_TO_ITS_VIEW]
    return [
        *(_table(table.name, table) for table in plain),
        *(_mart(table.name, table) for table in MARTS.values()),
        *(_table(RAW + table.name, table) for table in tables if table not in plain),
    ]


def _tables(settings: Settings) -> list[Table]:
    """Give the tables of the lake; LakeError where one is declared that was not created yet."""
    missing = settings.tables.keys() - Note.read(settings.root).ids.keys()
    if missing:
        raise LakeError(
            f"the lake {settings.root} has no table yet for {few(sorted(missing), 5)}: "
            "`fencepost run` creates it"
        )
    return [*settings.tables.values()]


def _marts(settings: Settings) -> Iterator[CatalogEntry]:
    """Give the marts that were written."""
    for name, table in MARTS.items():
        if (folder_of(settings.root, name) / "_delta_log").is_dir():
            yield _mart(MART + name, table)


def _table(name: str, table: Table) -> CatalogEntry:
    return CatalogEntry(name, table.comment, table.columns, folder=table.name)


def _mart(name: str, table: Table) -> CatalogEntry:
    return CatalogEntry(name, table.comment + AS_OF, table.columns, folder=f"{FOLDER}/{table.name}")
