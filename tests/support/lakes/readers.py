"""A lake's tables as other engines read them, and as `fencepost sql` shows them."""

# ruff: noqa: S608  names of declared tables

from collections.abc import Callable, Mapping
from contextlib import closing
from importlib.resources import files
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable

from pipelines.project.settings import Settings
from pipelines.serve.views.duckdb import duckdb_session
from pipelines.serve.views.tables import IN_FORCE
from schemas import Table
from tests.support.lakes.on_disk import on_disk

Read = Callable[[Path], pa.Table]


def by_duckdb(folder: Path) -> pa.Table:
    """Read a table by DuckDB's `delta_scan`."""
    with closing(duckdb.connect(config={"allow_unsigned_extensions": "true"})) as session:
        wheel = files("duckdb_extension_delta") / "extensions" / f"v{duckdb.__version__}"
        session.execute(f"LOAD '{wheel / 'delta.duckdb_extension'}'")
        session.execute("SET TimeZone = 'UTC'")
        return session.execute(f"SELECT * FROM delta_scan('{folder}')").to_arrow_table()


def by_polars(folder: Path) -> pa.Table:
    """Read it by Polars."""
    return pl.read_delta(str(folder)).to_arrow()


def by_delta_rs(folder: Path) -> pa.Table:
    """Read it by delta-rs."""
    return DeltaTable(str(folder)).to_pyarrow_table()


def by_file_list(folder: Path) -> pa.Table:
    """Read the files that the log names by PyArrow, their partitions from their paths."""
    delta = DeltaTable(str(folder))
    kinds = {field.name: field for field in pa.schema(delta.schema().to_arrow())}
    own = [kinds[name] for name in delta.metadata().partition_columns]
    hive = ds.partitioning(pa.schema(own), flavor="hive")
    uris = delta.file_uris()
    if not uris:
        return pa.schema(kinds.values()).empty_table()
    schema = pa.schema([pa.field(f.name, f.type) for f in kinds.values()])
    listed = ds.dataset(uris, schema=schema, partitioning=hive, partition_base_dir=str(folder))
    return listed.to_table()


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
    return f"raw_{table.name} t WHERE {IN_FORCE.format('t', table.lane_column)}"


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
            found = rows_of(read(on_disk(settings.root / name)), settings.tables[name])
            assert found == expected, f"{reader} sees other rows of {name}"
    return {name: len(rows) for name, rows in shown.items()}
