"""A DuckDB connection in which the lake can be asked, its tables read only.

The raw tables are read by DuckDB's own Delta reader, from the wheel: nothing is downloaded, nothing
is put into the user's home. All tables are pinned when the session opens, the ledgers first: what
they say is done is in the tables that are pinned after them.

Law: a session sees the lake as it was when it opened; its tables cannot be written to, and whatever
it is told, no file outside the lake is reached. (DuckDB has no folders that are only read: COPY
into the lake is refused before it comes here, by `asking`.)
"""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import duckdb

from fencepost.errors import LakeError
from pipelines.lake.layout import READABLE, Note
from pipelines.serve.views import views_for
from schemas import Column, Table

LEDGERS = ("epochs", "arrivals")
"""In the order in which they are pinned; each view reads them, so they are read once a session."""

FUNCTIONS = (
    "CREATE MACRO explode(list) AS unnest(list)",
    "CREATE MACRO unix_micros(instant) AS epoch_us(instant)",
)
"""What Spark has and DuckDB calls otherwise."""


TYPES = {
    "string": "VARCHAR",
    "long": "BIGINT",
    "integer": "INTEGER",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "timestamp": "TIMESTAMPTZ",
    "date": "DATE",
}
"""By kind of column: the type in DuckDB."""


def refuse_odd(root: Path) -> None:
    """Refuse a path that cannot stand in SQL as it is.

    DuckDB takes no parameters where paths are named; and (measured) the first one that it takes
    anywhere has it import pandas, 1 s.
    """
    if not READABLE.fullmatch(str(root)):
        raise LakeError(f"a lake cannot lie at {root}: letters, digits and . _ - / are fine")


def ledgers_first(tables: Mapping[str, Table]) -> list[Table]:
    """Give the tables in the order in which a session must pin them."""
    others = (table for name, table in tables.items() if name not in LEDGERS)
    return [*(tables[name] for name in LEDGERS), *others]


def duckdb_session(
    root: Path, tables: Mapping[str, Table], statement: str = ""
) -> duckdb.DuckDBPyConnection:
    """Open a session on a lake: raw tables, views, UTC; 0.1 s and 1 ms a file of the ledgers.

    Of the views of single feeds it has those that the statement names.
    """
    refuse_odd(root)
    Note.read(root)
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    try:
        _load_delta(connection)
        connection.execute("SET TimeZone = 'UTC'")
        for function in FUNCTIONS:
            connection.execute(function)
        for table in ledgers_first(tables):
            _bind(connection, root, table)
        for view in views_for(statement, tables):
            connection.execute(f'CREATE VIEW "{view.name}" AS {view.sql}')
        _shut(connection, root)
    except duckdb.Error as why:
        connection.close()
        raise LakeError(f"the lake {root} cannot be read by DuckDB: {why}") from why
    return connection


def _load_delta(connection: duckdb.DuckDBPyConnection) -> None:
    """Load the Delta reader of the wheel `duckdb-extension-delta`.

    (Measured) 4 ms; 0.2–0.4 s where DuckDB checks the signature of its 82 MB. The wheel is pinned
    by its hash, so that is left out.
    """
    wheel = files("duckdb_extension_delta") / "extensions" / f"v{duckdb.__version__}"
    connection.execute(f"LOAD '{_quoted(str(wheel / 'delta.duckdb_extension'))}'")


def _bind(connection: duckdb.DuckDBPyConnection, root: Path, table: Table) -> None:
    """Pin a table under its raw name, with all the columns that are declared.

    A feed or an axis may be declared and not be in the lake yet, since readers change nothing: then
    it has no rows, or is null.
    """
    path = root / table.name
    has: set[str] = set()
    if (path / "_delta_log").is_dir():
        # No table has a name that begins so: the catalog is nobody's table.
        connection.execute(
            f"ATTACH '{path}' AS _{table.name} (TYPE delta, PIN_SNAPSHOT, READ_ONLY)"
        )
        has = {name for name, *_ in connection.execute(f"DESCRIBE _{table.name}").fetchall()}
    source = f" FROM _{table.name} t" if has else " WHERE FALSE"
    columns = ", ".join(
        f"t.{column.name}" if column.name in has else _nothing(column) for column in table.columns
    )
    what = "TABLE" if table.name in LEDGERS else "VIEW"
    connection.execute(f"CREATE {what} raw_{table.name} AS SELECT {columns}{source}")


def _nothing(column: Column) -> str:
    inner = column.kind.removeprefix("array<").removesuffix(">")
    kind = TYPES[inner] + ("" if inner == column.kind else "[]")
    return f'CAST(NULL AS {kind}) AS "{column.name}"'


def _shut(connection: duckdb.DuckDBPyConnection, root: Path) -> None:
    """From here on the lake's files are all that can be reached, and that stays so.

    Without the replacements a table's name is never one of Python's variables.
    """
    connection.execute(f"SET allowed_directories = ['{root}/']")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET python_enable_replacements = false")
    connection.execute("SET lock_configuration = true")


def _quoted(text: str) -> str:
    return text.replace("'", "''")
