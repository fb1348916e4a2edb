"""The same tables and views in a Spark session.

Law: the texts are those that DuckDB reads; the ledgers are those of this moment, so that what is
written from now on is not seen.
"""

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from pipelines.lake.layout import Note
from pipelines.serve.views import views_for
from pipelines.serve.views.duckdb_session import LEDGERS, ledgers_first, refuse_odd
from schemas import Table


def spark_session_views(
    spark: SparkSession, root: Path, tables: Mapping[str, Table], statement: str = ""
) -> None:
    """Make the raw tables and the views of a lake known to a session, as temporary views.

    Of the views of single feeds it gets those that the statement names.
    """
    refuse_odd(root)
    Note.read(root)
    for table in ledgers_first(tables):
        rows = _raw(spark, root / table.name, table)
        if table.name in LEDGERS:  # each view reads them several times, and they are small
            rows = spark.createDataFrame(rows.toArrow())
        rows.createOrReplaceTempView(f"raw_{table.name}")
    for view in views_for(statement, tables):
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW `{view.name}` AS {view.sql}")


def _raw(spark: SparkSession, path: Path, table: Table) -> DataFrame:
    """Read a table with all the columns that are declared; what the lake lacks yet is null."""
    if (path / "_delta_log").is_dir():
        rows = spark.read.format("delta").load(str(path))
    else:
        rows = spark.range(0).drop("id")
    return rows.select(
        *(
            fn.col(f"`{column.name}`")
            if column.name in rows.columns
            else fn.lit(None).cast(column.kind).alias(column.name)
            for column in table.columns
        )
    )
