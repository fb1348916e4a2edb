"""The lake in DuckDB: a session with its tables and views, and one statement run in it.

The raw tables are read by DuckDB's own Delta reader, from the wheel: nothing is downloaded, nothing
is put into the user's home. All tables are pinned when the session opens, the ledgers first: what
they say is done is in the tables that are pinned after them. A session for one statement opens only
what it reads. On a store `store_tables.py` says how tables are read.

Law: a session sees the lake as it was when it opened; its tables cannot be written to, and whatever
statement it runs, no file outside the lake is reached. A statement that would write, attach, load
or set is rejected before it runs: DuckDB has no folders that are only read.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import duckdb

from fencepost.errors import InputError, LakeError
from fencepost.text import did_you_mean
from pipelines.lake.layout import Note
from pipelines.lake.paths import odd_in
from pipelines.lake.snapshot import READER
from pipelines.lake.store import Store
from pipelines.places import Place, Remote, is_remote
from pipelines.project.settings import Settings
from pipelines.serve.views import views, views_for
from pipelines.serve.views.answers import BATCH, SqlAnswer
from pipelines.serve.views.dependencies import Needs, needs
from pipelines.serve.views.geometry import places_of
from pipelines.serve.views.store_tables import StoredTables, parquet
from schemas import Column, Table

FEW = 8
"""Files of a table that are read by their names: each is opened for every statement."""

LEDGERS = ("epochs", "arrivals")
"""In the order in which they are pinned; each view reads them, so they are read once a session."""

FUNCTIONS = {
    "explode": "CREATE MACRO explode(list) AS unnest(list)",
    "unix_micros": "CREATE MACRO unix_micros(instant) AS epoch_us(instant)",
    "timestamp_micros": "CREATE MACRO timestamp_micros(us) AS make_timestamptz(us)",
    "pmod": "CREATE MACRO pmod(number, modulus) AS (number % modulus + modulus) % modulus",
    "date_from_unix_date": "CREATE MACRO date_from_unix_date(days) AS DATE '1970-01-01' + days",
}
"""By name: what Spark has and DuckDB calls otherwise."""


TYPES = {
    "string": "VARCHAR",
    "long": "BIGINT",
    "integer": "INTEGER",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "binary": "BLOB",
    "timestamp": "TIMESTAMPTZ",
    "date": "DATE",
}
"""By kind of column: the type in DuckDB."""

NOT_OPENED = "raw_{} was not opened: a statement has to name the views and tables that it reads"

READS = "SELECT, WITH, FROM, VALUES, DESCRIBE, SHOW, SUMMARIZE and EXPLAIN"

_EXPLAIN = re.compile(
    r"\s*EXPLAIN\b\s*(ANALYZE\b\s*)?(\(\s*(ANALYZE|FORMAT)\b[^)]*\)\s*)?", re.IGNORECASE
)
_COMMENT = re.compile(r"\s*(--[^\n]*(\n|$)|/\*.*?\*/)", re.DOTALL)
_PIVOT = re.compile(r"\bpivot", re.IGNORECASE)
_UNKNOWN = re.compile(r"Table with name (\S+) does not exist|view `?(\w+)`? cannot be found")
_GUESS = re.compile(r'\nDid you mean "[^"]*"\?')


def refuse_odd(root: Place) -> None:
    """Refuse a path that is not safe in SQL.

    DuckDB takes no parameters for paths; and (measured) the first parameter
    anywhere makes it import pandas, 1 s.
    """
    if odd_in(root):
        raise LakeError(f"a lake cannot lie at {root}: letters, digits and . _ - / are fine")


def ledgers_first(tables: Mapping[str, Table]) -> list[Table]:
    """Give the tables in the order in which a session must pin them."""
    others = (table for name, table in tables.items() if name not in LEDGERS)
    return [*(tables[name] for name in LEDGERS), *others]


def duckdb_session(
    root: Place,
    tables: Mapping[str, Table],
    statement: str = "",
    *,
    only: bool = False,
    ready: Collection[str] = (),
    store: Store | None = None,
) -> duckdb.DuckDBPyConnection:
    """Open a session on a lake: raw tables, views, UTC; 0.2 s and 1 ms a file of the ledgers.

    Of the views of single feeds it has those that the statement names. `only`: nothing but this
    statement is to be run, and only what it reads is opened: 0.05 s. `ready`: small views whose
    rows are computed now, for a session of many statements: 2–5 ms less for each that reads one.
    `store`: the same lake on a disk, as opened by this process, which knows the files: 30 ms less,
    and 1–5 ms for each table that a statement reads.
    """
    refuse_odd(root)
    Note.read(root)
    declared = {view.name: view for view in views_for(statement, tables)}
    needed = needs(statement, declared, tables) if only else Needs({*declared}, {*tables})
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    try:
        load_delta(connection)
        connection.execute("SET TimeZone = 'UTC'")
        for function in FUNCTIONS.values():
            connection.execute(function)
        if is_remote(root):
            folders = _bind_stored(connection, root, tables, needed.tables)
        else:
            for table in ledgers_first(tables):
                if table.name in needed.tables:
                    _bind(connection, root, table, store)
                else:
                    _leave(connection, table)
            folders = [f"{root}/"]
        for view in declared.values():
            if view.name in needed.views:
                what = "TABLE" if view.name in ready else "VIEW"
                connection.execute(f'CREATE {what} "{view.name}" AS {view.sql}')
        _shut(connection, folders)
    except duckdb.Error as why:
        connection.close()
        raise LakeError(f"the lake {root} cannot be read by DuckDB: {why}") from why
    return connection


def load_delta(connection: duckdb.DuckDBPyConnection) -> None:
    """Load the Delta reader of the wheel `duckdb-extension-delta`.

    (Measured) 4 ms; 0.2–0.4 s where DuckDB checks the signature of its 82 MB. The wheel is pinned
    by its hash, so that is left out.
    """
    wheel = files("duckdb_extension_delta") / "extensions" / f"v{duckdb.__version__}"
    connection.execute(f"LOAD '{_quoted(str(wheel / 'delta.duckdb_extension'))}'")


def _bind(
    connection: duckdb.DuckDBPyConnection, root: Path, table: Table, store: Store | None
) -> None:
    """Pin a table under its raw name, with all the columns that are declared.

    A declared feed or axis may not be in the lake yet, since readers change nothing: then
    it has no rows, or is null.
    """
    path = root / table.name
    if store is not None and _bind_files(connection, path, table, store):
        return
    has: set[str] = set()
    if (path / "_delta_log").is_dir():
        # No table has a name that begins so: the catalog is no user's table.
        connection.execute(
            f"ATTACH '{path}' AS _{table.name} (TYPE delta, PIN_SNAPSHOT, READ_ONLY)"
        )
        has = {name for name, *_ in connection.execute(f"DESCRIBE _{table.name}").fetchall()}
    _name(connection, table, has, f"FROM _{table.name} t" if has else "WHERE FALSE")


def _bind_files(
    connection: duckdb.DuckDBPyConnection, path: Path, table: Table, store: Store
) -> bool:
    """Pin a table of few plain files by their names; False where that is not what it is.

    A file that is lost or damaged fails who reads it, as with DuckDB's Delta reader: not here.
    """
    if store.version(table.name) >= 0 and store.reader_version(table.name) > READER:
        return False
    files = [path / file.path for file in store.files(table.name)]
    if len(files) > FEW:
        return False
    try:
        _name_files(connection, table, files)
    except duckdb.Error:
        return False
    return True


def _name_files(connection: duckdb.DuckDBPyConnection, table: Table, files: Sequence[Path]) -> None:
    """Give a table of these files its raw name."""
    if not files:
        _name(connection, table, set(), "WHERE FALSE")
        return
    source = parquet(files, _folders(table))
    has = {name for name, *_ in connection.execute(f"DESCRIBE FROM {source}").fetchall()}
    _name(connection, table, has, f"FROM {source} t")


def _leave(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    """Give a table that is not needed its columns, and an error in place of rows."""
    why = NOT_OPENED.format(table.name)
    _name(connection, table, set(), f"WHERE error('{why}') IS NULL")


def _bind_stored(
    connection: duckdb.DuckDBPyConnection,
    root: Remote,
    tables: Mapping[str, Table],
    needed: Collection[str],
) -> list[str]:
    """Do the same for the tables of a lake on a store; give the folders that may be read."""
    stored = StoredTables(connection, root, Store.to_read(root, tables))
    for table in ledgers_first(tables):
        if table.name not in needed:
            _leave(connection, table)
            continue
        source = stored.source(table, _folders(table))
        has: set[str] = set()
        if source is not None:
            has = {name for name, *_ in connection.execute(f"DESCRIBE FROM {source}").fetchall()}
        _name(connection, table, has, "WHERE FALSE" if source is None else f"FROM {source} t")
    return stored.folders


def _folders(table: Table) -> list[tuple[str, str]]:
    """Name the columns that name folders, each with its type."""
    kinds = {column.name: column.kind for column in table.columns}
    return [(name, TYPES[kinds[name]]) for name in table.partitioned_by]


def _name(
    connection: duckdb.DuckDBPyConnection, table: Table, has: Collection[str], source: str
) -> None:
    """Give a table its raw name; columns that it does not have yet are null."""
    columns = ", ".join(
        f"t.{column.name}" if column.name in has else nothing(column) for column in table.columns
    )
    what = "TABLE" if table.name in LEDGERS else "VIEW"
    connection.execute(f"CREATE {what} raw_{table.name} AS SELECT {columns} {source}")


def nothing(column: Column) -> str:
    """Write a column without values."""
    inner = column.kind.removeprefix("array<").removesuffix(">")
    kind = TYPES[inner] + ("" if inner == column.kind else "[]")
    return f'CAST(NULL AS {kind}) AS "{column.name}"'


def _shut(connection: duckdb.DuckDBPyConnection, folders: Sequence[str]) -> None:
    """Restrict the session to the lake's files, for good.

    Without the replacements a table's name never refers to a Python variable.
    """
    allowed = ", ".join(f"'{folder}'" for folder in folders)
    connection.execute(f"SET allowed_directories = [{allowed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET python_enable_replacements = false")
    connection.execute("SET lock_configuration = true")


def _quoted(text: str) -> str:
    return text.replace("'", "''")


@contextmanager
def from_duckdb(settings: Settings, statement: str) -> Iterator[SqlAnswer]:
    """Run a statement in DuckDB, in this process."""
    with (
        closing(duckdb_session(settings.root, settings.tables, statement, only=True)) as session,
        answered(session, statement, settings.tables) as answer,
    ):
        yield replace(answer, places=places_of(settings))


@contextmanager
def answered(
    session: duckdb.DuckDBPyConnection, statement: str, tables: Mapping[str, Table]
) -> Iterator[SqlAnswer]:
    """Run a statement in an open session; InputError if it is refused or invalid."""
    try:
        refuse_writing(session, statement)
        batches = session.execute(statement).to_arrow_reader(BATCH)
        yield SqlAnswer.of(batches.schema, batches)
    except duckdb.Error as why:
        raise not_understood(str(why), tables) from None


def refuse_writing(session: duckdb.DuckDBPyConnection, statement: str) -> None:
    """Accept one statement that reads."""
    kinds = [each.type.name for each in session.extract_statements(statement)]
    if not kinds:
        raise InputError(f"no statement was given: use {READS}")
    if len(kinds) > 1:
        if _PIVOT.search(statement):  # DuckDB would first make a type of what it finds
            raise InputError("a PIVOT must name its values: PIVOT … ON column IN (…)")
        raise InputError(f"{len(kinds)} statements were given: give one statement per call")
    if kinds == ["EXPLAIN"]:  # with ANALYZE it would be carried out
        refuse_writing(session, _EXPLAIN.sub("", _uncommented(statement), count=1))
    elif kinds != ["SELECT"]:
        raise only_reads(kinds[0])


def _uncommented(statement: str) -> str:
    """Leave out the comments before the first word."""
    while comment := _COMMENT.match(statement):
        statement = statement[comment.end() :]
    return statement


def only_reads(kind: str) -> InputError:
    """Say that a statement of this kind is rejected."""
    return InputError(
        f"{kind} statements are rejected: `fencepost sql` only reads. Use {READS}; --out FILE "
        "writes the rows of a SELECT to a file"
    )


def not_understood(why: str, tables: Mapping[str, Table]) -> InputError:
    """Give the engine's message; for an unknown table, with the known ones."""
    unknown = _UNKNOWN.search(why)
    if unknown is None:
        return InputError(why)
    known = [view.name for view in views(tables)]
    raw = [f"raw_{name}" for name in tables]
    near = did_you_mean(unknown[1] or unknown[2], [*known, *raw])
    return InputError(
        f"{_GUESS.sub('', why)}\n\nThere are: {', '.join(known)}; and the raw tables "
        f"{', '.join(raw)}.{near}"
    )
