"""A DuckDB file with views over the lake: for DuckDB's shell, DBeaver, Metabase, dbt, a notebook.

Whoever opens the file needs DuckDB's `delta` extension, which DuckDB loads by itself, and for a
lake on a store a secret of their own. The rows are read from the lake at every query. Days are UTC
whatever the time zone of the session.

Law: the file changes in one transaction, or not at all; only names that this lake has published
there are replaced or dropped.
"""

# ruff: noqa: S608  names are declared, texts are quoted

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from hashlib import sha256
from importlib.resources import files as resources
from pathlib import Path

import duckdb

from fencepost.errors import LakeError
from fencepost.text import few
from pipelines.places import Place, duckdb_secret
from pipelines.project.settings import Settings
from pipelines.serve.publish.contents import CatalogChange, CatalogEntry
from pipelines.serve.views.duckdb import FUNCTIONS, load_delta, nothing, refuse_odd
from schemas import Column

OWN = "_fencepost"
"""The schema that says what was published, out of the users' sight."""

_LEDGER = f"{OWN}.published"
_BEGIN = (
    f"CREATE SCHEMA IF NOT EXISTS {OWN}",
    f"CREATE TABLE IF NOT EXISTS {_LEDGER} (name VARCHAR, lake VARCHAR, digest VARCHAR)",
)
_IN_USE = """SELECT t.table_name FROM duckdb_tables() t WHERE t.schema_name = 'main'
UNION ALL SELECT v.view_name FROM duckdb_views() v WHERE NOT v.internal
UNION ALL SELECT f.function_name FROM duckdb_functions() f WHERE NOT f.internal"""

Creations = dict[str, tuple[str, ...]]
"""By name: the statements that create a view or a function, each after those that it needs."""


def publish(settings: Settings, path: Path, entries: Sequence[CatalogEntry]) -> CatalogChange:
    """Publish a lake to a file: a second for a new one, 0.2 s where nothing is to be done."""
    refuse_odd(settings.root)
    lake = str(settings.root)
    with _opened(path) as session:
        reach(session, settings.root)
        wanted = _creations(session, lake, entries)
        digests = {name: _digest(statements) for name, statements in wanted.items()}
        mine = _published(session, lake)
        _refuse_foreign(session, path, wanted.keys() - mine.keys())
        if mine != digests:
            session.execute("BEGIN")
            for statement in _BEGIN:
                session.execute(statement)
            _drop(session, lake, mine)
            for statement in (each for statements in wanted.values() for each in statements):
                session.execute(statement)
            rows = ", ".join(f"('{name}', '{lake}', '{own}')" for name, own in digests.items())
            session.execute(f"INSERT INTO {_LEDGER} VALUES {rows}")
            session.execute("COMMIT")
    changed = {name for name in digests if mine.get(name) != digests[name]}
    dropped = mine.keys() - digests.keys()
    names = (digests.keys(), changed, dropped)
    return CatalogChange(*(len(each - FUNCTIONS.keys()) for each in names))


def remove(settings: Settings, path: Path) -> CatalogChange:
    """Drop what this lake has published to a file."""
    if not path.is_file():
        return CatalogChange(0, 0, 0)
    with _opened(path) as session:
        mine = _published(session, str(settings.root))
        if mine:
            session.execute("BEGIN")
            _drop(session, str(settings.root), mine)
            session.execute("COMMIT")
    return CatalogChange(0, 0, len(mine.keys() - FUNCTIONS.keys()))


def reach(session: duckdb.DuckDBPyConnection, place: Place) -> None:
    """Let a session read a place on a store, with this process's credentials; no file keeps them.

    HTTP is spoken by an extension from a wheel, as the Delta reader is.
    """
    secret = duckdb_secret(place)
    if secret is not None:
        wheel = resources("duckdb_extension_httpfs") / "extensions" / f"v{duckdb.__version__}"
        session.execute(f"LOAD '{wheel / 'httpfs.duckdb_extension'}'")
        session.execute(secret)


@contextmanager
def _opened(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a file, with the Delta reader; LakeError if another process has it open."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        session = duckdb.connect(str(path), config={"allow_unsigned_extensions": "true"})
    except duckdb.Error as why:
        raise LakeError(
            f"DuckDB cannot open {path}: {why}\nIf another program has it open, close it there"
        ) from why
    with closing(session):
        try:
            load_delta(session)
            yield session
        except duckdb.Error as why:
            raise LakeError(f"the lake cannot be published to {path}: {why}") from why


def _creations(
    session: duckdb.DuckDBPyConnection, lake: str, entries: Iterable[CatalogEntry]
) -> Creations:
    """Give what the file is to hold: functions, the tables of the lake, its views."""
    made: Creations = {name: (text,) for name, text in FUNCTIONS.items()}
    for entry in entries:
        sql = entry.sql or _rows(session, f"{lake}/{entry.folder}", entry.columns)
        made[entry.name] = tuple(_view(entry, sql))
    return made


def _rows(session: duckdb.DuckDBPyConnection, place: str, columns: Sequence[Column]) -> str:
    """Select the declared columns of a table; those that the lake lacks are null."""
    scan = f"delta_scan('{place}')"
    has = {name for name, *_ in session.execute(f"DESCRIBE SELECT * FROM {scan}").fetchall()}
    chosen = ", ".join(f"t.{c.name}" if c.name in has else nothing(c) for c in columns)
    return f"SELECT {chosen} FROM {scan} t"


def _view(entry: CatalogEntry, sql: str) -> Iterator[str]:
    yield f'CREATE VIEW "{entry.name}" AS {sql}'
    yield f'COMMENT ON VIEW "{entry.name}" IS {_quoted(entry.comment)}'
    for column in entry.columns:
        yield f'COMMENT ON COLUMN "{entry.name}"."{column.name}" IS {_quoted(column.comment)}'


def _published(session: duckdb.DuckDBPyConnection, lake: str) -> dict[str, str]:
    """Give the names that a lake has published, each with the digest of its statements."""
    exists = f"SELECT 1 FROM duckdb_tables() t WHERE t.schema_name = '{OWN}'"
    if not session.execute(exists).fetchall():
        return {}
    rows = f"SELECT p.name, p.digest FROM {_LEDGER} p WHERE p.lake = '{lake}' ORDER BY p.rowid"
    return dict(session.execute(rows).fetchall())


def _refuse_foreign(session: duckdb.DuckDBPyConnection, path: Path, fresh: set[str]) -> None:
    """Refuse to take a name that something else in the file has."""
    names = {name for (name,) in session.execute(_IN_USE).fetchall()}
    if foreign := sorted(fresh & names):
        raise LakeError(
            f"{path} already has {few(foreign, 5)}, which this lake did not publish: name another "
            "file, or drop them there"
        )


def _drop(session: duckdb.DuckDBPyConnection, lake: str, names: Mapping[str, str]) -> None:
    """Drop what was published, the last first: views before the functions that they call."""
    for name in reversed([*names]):
        kind = "MACRO" if name in FUNCTIONS else "VIEW"
        session.execute(f'DROP {kind} IF EXISTS "{name}"')
    session.execute(f"DELETE FROM {_LEDGER} WHERE lake = '{lake}'")


def _digest(statements: Sequence[str]) -> str:
    return sha256("\n".join(statements).encode()).hexdigest()[:16]


def _quoted(comment: str) -> str:
    quoted = comment.replace("'", "''")
    return f"'{quoted}'"
