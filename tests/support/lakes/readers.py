"""A lake's tables as other engines read them, and as `fencepost sql` shows them."""

# ruff: noqa: S608  names of declared tables

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from importlib.resources import files

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable
from pyarrow.fs import S3FileSystem

from pipelines.places import Place, delta_options, duckdb_secret, is_remote
from pipelines.project.settings import Settings
from pipelines.serve.views.duckdb import duckdb_session
from pipelines.serve.views.tables import IN_FORCE
from schemas import Table

Read = Callable[[Place], pa.Table]


def by_duckdb(place: Place) -> pa.Table:
    """Read a table by DuckDB's `delta_scan`."""
    with closing(duckdb.connect(config={"allow_unsigned_extensions": "true"})) as session:
        _load(session, "delta")
        if (secret := duckdb_secret(place)) is not None:
            _load(session, "httpfs")
            session.execute(secret)
        session.execute("SET TimeZone = 'UTC'")
        return session.execute(f"SELECT * FROM delta_scan('{place}')").to_arrow_table()


def _load(session: duckdb.DuckDBPyConnection, extension: str) -> None:
    wheel = files(f"duckdb_extension_{extension}") / "extensions" / f"v{duckdb.__version__}"
    session.execute(f"LOAD '{wheel / f'{extension}.duckdb_extension'}'")


def by_polars(place: Place) -> pa.Table:
    """Read it by Polars."""
    return pl.read_delta(str(place), storage_options=delta_options(place) or None).to_arrow()


def by_delta_rs(place: Place) -> pa.Table:
    """Read it by delta-rs."""
    return DeltaTable(str(place), storage_options=delta_options(place)).to_pyarrow_table()


def by_file_list(place: Place) -> pa.Table:
    """Read the files that the log names by PyArrow, their partitions from their paths."""
    delta = DeltaTable(str(place), storage_options=delta_options(place))
    kinds = {field.name: field for field in pa.schema(delta.schema().to_arrow())}
    own = [kinds[name] for name in delta.metadata().partition_columns]
    hive = ds.partitioning(pa.schema(own), flavor="hive")
    paths = [uri.removeprefix("s3://") for uri in delta.file_uris()]
    if not paths:
        return pa.schema(kinds.values()).empty_table()
    schema = pa.schema([pa.field(f.name, f.type) for f in kinds.values()])
    listed = ds.dataset(
        paths,
        schema=schema,
        partitioning=hive,
        partition_base_dir=str(place).removeprefix("s3://"),
        filesystem=_s3() if is_remote(place) else None,
    )
    return listed.to_table()


def _s3() -> S3FileSystem:
    """Reach the server by paths: with an address alone it would be by names of hosts."""
    return S3FileSystem(endpoint_override=os.environ["AWS_ENDPOINT_URL"])


READERS: Mapping[str, Read] = {
    "duckdb": by_duckdb,
    "polars": by_polars,
    "delta-rs": by_delta_rs,
    "file list": by_file_list,
}


def compared(table: Table) -> bool:
    """Say whether a table has rows that a ledger decides of."""
    return table.role in ("found", "log", "tuples")


def shown_by_sql(settings: Settings) -> dict[str, list[str]]:
    """Give the rows that `fencepost sql` shows, and of logs those of the epochs in force."""
    shown = {}
    with closing(duckdb_session(settings.root, settings.tables)) as session:
        for table in filter(compared, settings.tables.values()):
            columns = ", ".join(f't."{column.name}"' for column in table.columns)
            source = _in_force(table) if table.role == "log" else f"{table.name} t"
            found = session.execute(f"SELECT {columns} FROM {source}").to_arrow_table()
            shown[table.name] = rows_of(found, table)
    return shown


def _in_force(table: Table) -> str:
    """Select the rows of a log that count as of any epoch in force."""
    return f"raw_{table.name} t {IN_FORCE.format('t', table.lane_column)}"


def rows_of(rows: pa.Table, table: Table) -> list[str]:
    """Write rows down in the declared types, in an order that knows no engine."""
    columns = [rows[name].cast(kind) for name, kind in zip(*_named(table), strict=True)]
    plain = pa.table(columns, names=table.arrow.names).to_pylist()
    return sorted(map(repr, plain))


def _named(table: Table) -> tuple[list[str], list[pa.DataType]]:
    return table.arrow.names, table.arrow.types


def assert_true(settings: Settings, readers: Mapping[str, Read] = READERS) -> dict[str, int]:
    """Hold each reader's rows of each table against what `sql` shows; count them."""
    shown = shown_by_sql(settings)
    for name, expected in shown.items():
        for reader, read in readers.items():
            found = rows_of(read(settings.root / name), settings.tables[name])
            assert found == expected, f"{reader} sees other rows of {name}"
    return {name: len(rows) for name, rows in shown.items()}
