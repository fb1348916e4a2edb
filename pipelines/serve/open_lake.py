"""A lake as Python reads it: its views as DuckDB relations, and so as Arrow, pandas or Polars."""

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb

from fencepost.errors import InputError
from fencepost.text import did_you_mean
from pipelines.places import Place
from pipelines.project.settings import Settings, load
from pipelines.serve.views import views
from pipelines.serve.views.duckdb import duckdb_session, not_understood, refuse_writing


class LakeReader:
    """A lake as it stood when it was opened or last refreshed; made by `open_lake`.

    open, refresh   0.1 s, and 1 ms a file of the ledgers
    view, sql       nothing until rows are fetched; then what DuckDB needs for them

    Law: all relations of a lake are of one moment and agree on one epoch, whatever is being written
    meanwhile; the tables cannot be changed through them.
    """

    def __init__(self, settings: Settings) -> None:
        """Open the lake that the settings name."""
        self._settings = settings
        self._comments = {view.name: view.comment for view in views(settings.tables)}
        self._session = self._opened()

    def _opened(self) -> duckdb.DuckDBPyConnection:
        return duckdb_session(self.path, self._settings.tables, " ".join(self._comments))

    @property
    def path(self) -> Place:
        """The folder of the lake, or its place on a store: its URI as text."""
        return self._settings.root

    @property
    def views(self) -> dict[str, str]:
        """The views by name, each with what its rows are; `raw_<table>` are the tables below."""
        return dict(self._comments)

    def view(self, name: str) -> duckdb.DuckDBPyRelation:
        """Give a view as a DuckDB relation, which can be filtered, joined and fetched.

        `.to_arrow_table()`, `.df()` (pandas) and `.pl()` (Polars) fetch its rows.
        """
        raw = [f"raw_{table}" for table in self._settings.tables]
        if name not in self._comments and name not in raw:
            near = did_you_mean(name, [*self._comments, *raw])
            raise InputError(f"no view '{name}': there are {', '.join(self._comments)}.{near}")
        return self._session.table(name) if name in raw else self._session.view(name)

    def sql(self, statement: str) -> duckdb.DuckDBPyRelation:
        """Give what one SELECT finds, as a relation; a statement that writes raises."""
        try:
            refuse_writing(self._session, statement)
            return self._session.sql(statement)
        except duckdb.Error as why:
            raise not_understood(str(why), self._settings.tables) from None

    def refresh(self) -> None:
        """Read the lake as it is now; earlier relations still see it as it was."""
        self._session = self._opened()

    def close(self) -> None:
        """Close the files; relations can no longer be fetched."""
        with suppress(duckdb.Error):
            self._session.close()

    def __enter__(self) -> Self:
        """Close it at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        """Say where it is."""
        return f"<LakeReader {self.path}>"


def open_lake(project: str | os.PathLike[str] | None = None) -> LakeReader:
    """Open the lake of a project to read it: `project` is its folder, or its fencepost.toml.

    Without one it is the project of the working folder, as for the commands. Needs
    `pip install "fencepost[lake]"`; starts no Java.

        lake = fencepost.open_lake("monitoring")
        lake.views                                  # what there is, by name
        lake.view("inside_now").df()                # pandas
        lake.sql("select type, count(*) from events group by all").pl()

    Law: read-only: statements that write are refused. A relation that is told to write a file
    (`.write_parquet`) does. A writer is not blocked, and does not change what an open lake shows.
    """
    return LakeReader(load(None if project is None else Path(project)))
