"""The promises of `schemas.expectations`, held against a run's rows: once a run and table.

The rows are those of the published views, read under the names that the expectations use. pandas
takes them from DuckDB up to MANY rows; more are left to Spark where there is a session, else the
newest are looked at, and the check says so. (Measured, 7 expectations on 2 cores: pandas 0.07 s for
1,000 rows, 0.2 s for 100,000, 1.5 s for a million; Spark 1.6, 2.8 and 15 s.)

Law: nothing is written but the pages of the Data Docs; the rows are those of one moment.
"""

# ruff: noqa: S608  names and expressions are declared, all else are numbers

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fencepost.lanes import sides_of
from pipelines.checking.adapter import Batch, validated
from pipelines.checking.checked import Checked
from pipelines.checking.docs import Site
from pipelines.checking.scope import Scope
from pipelines.planning.chain import Epoch
from pipelines.settings import Settings
from pipelines.views.duckdb_session import duckdb_session
from schemas.expectations import Contract, contracts

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import SparkSession

Spark = Callable[[], "SparkSession | None"]

MANY = 5_000_000
"""Rows that pandas takes: (measured) 9 s and 1 GB."""


def contract_checks(
    settings: Settings,
    lane: str,
    epochs: Sequence[Epoch] | None = None,
    spark: Spark | None = None,
    tables: Sequence[str] | None = None,
) -> list[Checked]:
    """Hold a lane's tables, or some of them, against their contracts; None: all epochs.

    Great Expectations is imported for it, 3 to 8 s once a process; then 0.5 s a table. `spark`
    gives a session, started if need be; it is asked where the rows are too many for pandas.
    """
    scope = Scope.of(settings, lane, epochs)
    session = duckdb_session(settings.root, settings.tables)
    try:
        return [
            checked
            for name, contract in contracts(lane, settings.axes).items()
            if tables is None or name in tables
            for checked in validated(
                contract, lane, _batch(session, settings, scope, contract, spark), Site.of(settings)
            )
        ]
    finally:
        session.close()


def _batch(
    session: "duckdb.DuckDBPyConnection",
    settings: Settings,
    scope: Scope,
    contract: Contract,
    spark: Spark | None,
) -> Batch:
    """Read what a contract looks at."""
    condition, age = _rows_of(scope, contract.table)
    count, *_ = session.execute(
        f'SELECT COUNT(*) FROM "{contract.table}" t WHERE {condition}'
    ).fetchall()[0]
    running = spark() if count > MANY and spark is not None else None
    if running is not None:
        from pipelines.views.spark_session import spark_session_views

        spark_session_views(running, settings.root, settings.tables)
        rows = running.sql(_select(contract, f"`{contract.table}`", condition))
        return Batch(rows.toDF(*contract.columns), count, scope.words, by_spark=True)
    select, note = _select(contract, f'"{contract.table}"', condition), ""
    if count > MANY:
        select += f" ORDER BY {age} DESC LIMIT {MANY:d}"
        note = f" (The newest {MANY:,} of {count:,} rows.)"
    frame = session.execute(select).df().set_axis(list(contract.columns), axis=1)
    # Of int64 and float64 it compares whole columns, of all else value by value: ten times slower.
    frame = frame.astype({name: "int64" for name, kind in frame.dtypes.items() if kind == "int32"})
    return Batch(frame, len(frame), scope.words, note=note)


def _select(contract: Contract, table: str, condition: str) -> str:
    """Write the SELECT; a column goes by its number, since an axis may be a word of SQL."""
    columns = enumerate(contract.columns.values())
    listed = ", ".join(f"{expression} AS c{place}" for place, expression in columns)
    return f"SELECT {listed} FROM {table} t WHERE {condition}"


def _rows_of(scope: Scope, table: str) -> tuple[str, str]:
    """Write as SQL which rows of a table are looked at, and what tells how new a row is."""
    if sides_of(scope.lane):
        return f"t.lane = '{scope.lane}' AND {scope.epochs('t.epoch')}", "t.epoch"
    if table == scope.feed:
        return scope.deliveries("t.arrival"), "t.arrival"
    mine = f"t.feed = '{scope.feed}'"
    if table == "quarantine":
        at_ingest = f"t.epoch IS NULL AND {scope.deliveries('t.arrival')}"
        at_evaluation = f"t.epoch IS NOT NULL AND {scope.epochs('t.epoch')}"
        return f"{mine} AND ({at_ingest} OR {at_evaluation})", "t.arrival"
    return f"{mine} AND {scope.epochs('t.epoch')}", "t.epoch"
