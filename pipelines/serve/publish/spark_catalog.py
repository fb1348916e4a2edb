"""A schema of Spark's catalog: a Hive metastore, Glue, Unity, whatever the session is set up for.

Tables are external: dropping one drops its entry and no file, and Delta's log gives its columns and
comments. A view has the lake that it shows, and a digest of its text, among its properties.

Law: only entries of this lake are created, replaced or dropped; a name of ours that belongs to
something else is refused before anything is changed. The session's schema is the one it had before.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from fencepost.errors import InputError, LakeError
from fencepost.text import few
from pipelines.serve.publish.contents import CatalogChange, CatalogEntry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OF_LAKE, DIGEST = "fencepost.lake", "fencepost.digest"
COMMENT = "What streams entered and left, by Fencepost"
OWN_CATALOG = "spark_catalog"

_PROPERTY = r"[\[ ]{}=([^,\]]*)"
_FILE = re.compile(r"^file:/*")
_S3A = re.compile(r"^s3[an]:")


@dataclass(frozen=True)
class FoundEntry:
    """An entry as the catalog has it: where a table is; what we noted with a view."""

    is_view: bool
    place: str
    lake: str
    digest: str

    def is_of(self, lake: str) -> bool:
        """Say whether it is an entry of this lake."""
        return self.lake == lake or _plain(self.place).startswith(f"{_plain(lake)}/")


def refuse_memory(session: "SparkSession", schema: str) -> None:
    """Refuse a catalog that ends with its session."""
    catalog = schema.rpartition(".")[0] or _now(session)[0]
    kind = session.conf.get("spark.sql.catalogImplementation", "in-memory")
    plugin = session.conf.get(f"spark.sql.catalog.{OWN_CATALOG}", "")
    if catalog == OWN_CATALOG and kind == "in-memory" and "DeltaCatalog" in str(plugin):
        raise InputError(
            "Spark's catalog is in memory here and ends with the session. To publish to a Hive "
            "metastore or Glue, say so in fencepost.toml under [run.spark], as docs/clusters.md "
            "shows, or publish to a DuckDB file: fencepost publish duckdb:lake.duckdb"
        )


def publish(
    session: "SparkSession",
    schema: str,
    lake: str,
    entries: Sequence[CatalogEntry],
    known: Collection[str] = (),
) -> CatalogChange:
    """Publish a lake to a schema: half a second an entry that is new, 50 ms any other.

    Of the names published before, `known`, those no longer wanted are dropped.
    """
    for statement in _schema(schema):
        session.sql(statement)
    there = _registered(session, schema, {entry.name for entry in entries} | {*known})
    refuse_foreign(schema, entries, there, lake)
    wanted = {entry.name: entry for entry in entries}
    stale = {name: has for name, has in there.items() if has.is_of(lake) and name not in wanted}
    odd = {n: has for n, has in there.items() if n in wanted and has.is_view != bool(wanted[n].sql)}
    _drop(session, schema, stale | odd)
    fresh = [
        entry
        for entry in entries
        if entry.name not in there or entry.name in odd or _differs(entry, there[entry.name], lake)
    ]
    with _current(session, schema):
        for entry in fresh:
            session.sql(_creation(entry, lake))
    return CatalogChange(len(entries), len(fresh), len(stale))


def remove(
    session: "SparkSession", schema: str, lake: str, names: Collection[str]
) -> CatalogChange:
    """Drop the entries of a lake; the schema stays."""
    if not _exists(session, schema):
        return CatalogChange(0, 0, 0)
    there = _registered(session, schema, names)
    mine = {name: has for name, has in there.items() if has.is_of(lake)}
    _drop(session, schema, mine)
    return CatalogChange(0, 0, len(mine))


def statements(schema: str, lake: str, entries: Iterable[CatalogEntry]) -> Iterator[str]:
    """Write what `publish` does to a schema without any entry, for a SQL editor."""
    yield from _schema(schema)
    yield f"USE {schema}"
    yield from (_creation(entry, lake) for entry in entries)


def removal(schema: str, entries: Sequence[CatalogEntry]) -> Iterator[str]:
    """Write what drops entries again, views first."""
    for entry in reversed(entries):
        yield f"DROP {'VIEW' if entry.sql else 'TABLE'} IF EXISTS {schema}.`{entry.name}`"


def refuse_foreign(
    schema: str, entries: Iterable[CatalogEntry], there: Mapping[str, FoundEntry], lake: str
) -> None:
    """Refuse to take a name that something else has."""
    foreign = [e.name for e in entries if e.name in there and not there[e.name].is_of(lake)]
    if foreign:
        raise LakeError(
            f"{schema} already has {few(foreign, 5)}, which this lake did not publish: name "
            "another schema, or drop them there"
        )


def _schema(schema: str) -> Iterator[str]:
    yield f"CREATE SCHEMA IF NOT EXISTS {schema} COMMENT {_quoted(COMMENT)}"


def _creation(entry: CatalogEntry, lake: str) -> str:
    if not entry.sql:
        place = _quoted(f"{lake}/{entry.folder}")
        return f"CREATE TABLE IF NOT EXISTS `{entry.name}` USING delta LOCATION {place}"
    columns = ", ".join(f"`{c.name}` COMMENT {_quoted(c.comment)}" for c in entry.columns)
    noted = {OF_LAKE: lake, DIGEST: _digest(entry)}
    properties = ", ".join(f"'{name}' = {_quoted(value)}" for name, value in noted.items())
    return (
        f"CREATE OR REPLACE VIEW `{entry.name}` ({columns}) COMMENT {_quoted(entry.comment)} "
        f"TBLPROPERTIES ({properties}) AS {entry.sql}"
    )


def _differs(entry: CatalogEntry, has: FoundEntry, lake: str) -> bool:
    """Say whether an entry must be created again; that a table has other columns, Delta says."""
    if entry.sql:
        return has.digest != _digest(entry) or has.lake != lake
    return _plain(has.place) != _plain(f"{lake}/{entry.folder}")


def _exists(session: "SparkSession", schema: str) -> bool:
    catalog, _, name = schema.rpartition(".")
    where = f" IN {catalog}" if catalog else ""
    return bool(session.sql(f"SHOW SCHEMAS{where} LIKE '{name}'").take(1))


def _registered(
    session: "SparkSession", schema: str, names: Collection[str]
) -> dict[str, FoundEntry]:
    """Give the entries that a schema has of these names: a request each."""
    rows = session.sql(f"SHOW TABLES IN {schema}").collect()
    here = {row["tableName"] for row in rows if not row["isTemporary"]}
    return {name: _described(session, schema, name) for name in names if name in here}


def _described(session: "SparkSession", schema: str, name: str) -> FoundEntry:
    rows = session.sql(f"DESCRIBE TABLE EXTENDED {schema}.`{name}`").collect()
    said = {row["col_name"]: row["data_type"] or "" for row in rows}
    properties = said.get("Table Properties", "")
    noted = [re.search(_PROPERTY.format(re.escape(key)), properties) for key in (OF_LAKE, DIGEST)]
    lake, digest = ("" if found is None else found[1] for found in noted)
    return FoundEntry(said.get("Type") == "VIEW", said.get("Location", ""), lake, digest)


def _drop(session: "SparkSession", schema: str, entries: Mapping[str, FoundEntry]) -> None:
    for name, has in entries.items():
        kind = "VIEW" if has.is_view else "TABLE"
        session.sql(f"DROP {kind} IF EXISTS {schema}.`{name}`")


@contextmanager
def _current(session: "SparkSession", schema: str) -> Iterator[None]:
    """Let names without a schema be of this one: a view remembers it."""
    before = _now(session)
    session.sql(f"USE {schema}")
    try:
        yield
    finally:
        session.sql(f"USE `{before[0]}`.`{before[1]}`")


def _now(session: "SparkSession") -> tuple[str, str]:
    """Give the current catalog and schema of a session."""
    (row,) = session.sql("SELECT current_catalog(), current_schema()").collect()
    return str(row[0]), str(row[1])


def _plain(place: str) -> str:
    """Write a place as settings have it: file:/a, s3a://b are /a and s3://b."""
    return _S3A.sub("s3:", _FILE.sub("/", place)).rstrip("/")


def _digest(entry: CatalogEntry) -> str:
    return sha256(repr(entry).encode()).hexdigest()[:16]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
