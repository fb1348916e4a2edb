"""The lake in Spark: the same tables and views in a session, and one statement run.

Law: the views have the same text as in DuckDB; the ledgers are those of this moment, so
that what is written from now on is not seen. As with DuckDB, only what reads is accepted: nothing
in the statement's plan is a command, but for those that show something.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from py4j.java_gateway import is_instance_of  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from pipelines.lake.layout import Note
from pipelines.lake.store import Store
from pipelines.places import Place, is_remote
from pipelines.project.settings import Settings
from pipelines.serve.views import views_for
from pipelines.serve.views.answers import BATCH, SqlAnswer
from pipelines.serve.views.duckdb import (
    LEDGERS,
    ledgers_first,
    not_understood,
    only_reads,
    refuse_odd,
)
from pipelines.serve.views.geometry import places_of
from pipelines.spark.session import spark, stop
from schemas import Table

COMMANDS = ("Command", "ParsedStatement")
SHOWING = ("Describe", "Show", "Explain")
HIDING = ("Execute", "Compound")
"""What may hold any statement: EXECUTE IMMEDIATE of a text, a script from BEGIN to END."""

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
_PLAN = re.compile(r";?\n+('|JVM stacktrace)")


def spark_session_views(
    spark: SparkSession, root: Place, tables: Mapping[str, Table], statement: str = ""
) -> None:
    """Register the raw tables and the views of a lake in a session, as temporary views.

    Of the views of single feeds it gets those that the statement names. A lake on a store is read
    by this process, whole: Java needs no way to the store then, and memory for all tables.
    """
    refuse_odd(root)
    Note.read(root)
    store = Store.to_read(root, tables) if is_remote(root) else None
    for table in ledgers_first(tables):
        folder = root / table.name
        if store is not None:
            rows = spark.createDataFrame(store.rows(table.name))
        else:
            rows = _raw(spark, folder, table)
        if (
            store is None and table.name in LEDGERS
        ):  # each view reads them several times, and they are small
            rows = spark.createDataFrame(rows.toArrow())
        rows.createOrReplaceTempView(f"raw_{table.name}")
    for view in views_for(statement, tables):
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW `{view.name}` AS {view.sql}")


def _raw(spark: SparkSession, path: Place, table: Table) -> DataFrame:
    """Read a table with all the columns that are declared; those that the lake lacks are null."""
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


@contextmanager
def from_spark(settings: Settings, statement: str) -> Iterator[SqlAnswer]:
    """Run a statement in Spark, which is started and stopped for it: some 10 s."""
    session = spark(**settings.session)
    try:
        spark_session_views(session, settings.root, settings.tables, statement)
        refuse_writing(session, statement)
        rows = session.sql(statement).toArrow()
        answer = SqlAnswer.of(rows.schema, rows.to_batches(BATCH))
        yield replace(answer, places=places_of(settings))
    except PySparkException as why:
        message = _PLAN.split(str(why), maxsplit=1)[0]
        raise not_understood(message, settings.tables) from None
    finally:
        stop()


def refuse_writing(session: SparkSession, statement: str) -> None:
    """Accept a statement that reads; Spark's own parser says which one does."""
    inner: Any = session
    plans = [inner._jsparkSession.sessionState().sqlParser().parsePlan(statement)]  # noqa: SLF001
    gateway = inner.sparkContext._gateway  # noqa: SLF001
    while plans:
        plan = plans.pop()
        kind = plan.getClass().getSimpleName()
        is_command = any(is_instance_of(gateway, plan, f"{_LOGICAL}.{each}") for each in COMMANDS)
        hides = any(word in kind for word in HIDING)
        if hides or (is_command and not kind.startswith(SHOWING)):
            raise only_reads(kind)
        children = plan.children()
        plans += [children.apply(place) for place in range(children.size())]
