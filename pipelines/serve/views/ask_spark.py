"""One statement, asked of the lake through Spark.

Law: as with DuckDB, only what reads is taken: nothing in the statement's plan is a command, but for
those that show something.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import is_instance_of  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipelines.project.settings import Settings
from pipelines.serve.views.answers import BATCH, Answer
from pipelines.serve.views.ask import not_understood, only_reads
from pipelines.serve.views.spark_session import spark_session_views
from pipelines.spark.session import spark, stop

COMMANDS = ("Command", "ParsedStatement")
SHOWING = ("Describe", "Show", "Explain")
HIDING = ("Execute", "Compound")
"""What may hold any statement: EXECUTE IMMEDIATE of a text, a script from BEGIN to END."""

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
_PLAN = re.compile(r";?\n+('|JVM stacktrace)")


@contextmanager
def from_spark(settings: Settings, statement: str) -> Iterator[Answer]:
    """Ask Spark, which is started and stopped for it: some 10 s."""
    session = spark(memory=settings.memory, cores=settings.cores)
    try:
        spark_session_views(session, settings.root, settings.tables, statement)
        refuse_writing(session, statement)
        rows = session.sql(statement).toArrow()
        yield Answer.of(rows.schema, rows.to_batches(BATCH))
    except PySparkException as why:
        said = _PLAN.split(str(why), maxsplit=1)[0]
        raise not_understood(said, settings.tables) from None
    finally:
        stop()


def refuse_writing(session: SparkSession, statement: str) -> None:
    """Take a statement that reads; Spark's own parser says which one does."""
    inner: Any = session
    plans = [inner._jsparkSession.sessionState().sqlParser().parsePlan(statement)]  # noqa: SLF001
    gateway = inner.sparkContext._gateway  # noqa: SLF001
    while plans:
        plan = plans.pop()
        kind = plan.getClass().getSimpleName()
        told = any(is_instance_of(gateway, plan, f"{_LOGICAL}.{each}") for each in COMMANDS)
        hides = any(word in kind for word in HIDING)
        if hides or (told and not kind.startswith(SHOWING)):
            raise only_reads(kind)
        children = plan.children()
        plans += [children.apply(place) for place in range(children.size())]
