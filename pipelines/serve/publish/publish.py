"""Publishing a lake to one target, and removing it from there."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.errors import InputError, LakeError
from pipelines.project.settings import Settings
from pipelines.project.settings.target import CatalogTarget
from pipelines.serve.marts import refresh
from pipelines.serve.publish import athena, duckdb_file, spark_catalog
from pipelines.serve.publish.contents import CatalogChange, CatalogEntry, tables_alone, with_views
from pipelines.serve.publish.record import Published, note, noted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Start = Callable[[], "SparkSession"]

ENTRIES: Mapping[str, Callable[[Settings], list[CatalogEntry]]] = {
    "duckdb": with_views,
    "spark": with_views,
    "hive": tables_alone,
    "athena": tables_alone,
}
"""By engine: what it gets of a lake."""


@dataclass(frozen=True)
class PublishReport:
    """What publishing to a target, or removing from it, has done."""

    target: CatalogTarget
    change: CatalogChange
    seconds: float


def publish(settings: Settings, target: CatalogTarget, start: Start) -> PublishReport:
    """Register the lake's tables and views in a catalog; `start` gives a session of Spark.

    Where the marts stand for views they are refreshed first.
    """
    _refuse_text_only(target)
    started = time.perf_counter()
    lake = str(settings.root)
    if target.engine == "hive":
        for feed in settings.feeds:
            refresh(settings, feed)
    entries = ENTRIES[target.engine](settings)
    if target.engine == "duckdb":
        change = duckdb_file.publish(settings, target.path, entries)
    else:
        known = noted(settings, target).names
        with _in_words(target):
            session = start()
            spark_catalog.refuse_memory(session, target.name)
            change = spark_catalog.publish(session, target.name, lake, entries, known)
    note(settings, target, Published.of(settings, entries))
    return PublishReport(target, change, time.perf_counter() - started)


def remove(settings: Settings, target: CatalogTarget, start: Start) -> PublishReport:
    """Remove from a catalog what this lake has there; no row of the lake is deleted."""
    _refuse_text_only(target)
    started = time.perf_counter()
    if target.engine == "duckdb":
        change = duckdb_file.remove(settings, target.path)
    else:
        names = {entry.name for entry in ENTRIES[target.engine](settings)}
        names.update(noted(settings, target).names)
        with _in_words(target):
            change = spark_catalog.remove(start(), target.name, str(settings.root), names)
    note(settings, target, None)
    return PublishReport(target, change, time.perf_counter() - started)


def sql_of(settings: Settings, target: CatalogTarget, *, removal: bool = False) -> list[str]:
    """Write the statements of Spark or Athena that publish a lake, or remove it; nothing is run."""
    if target.engine == "duckdb":
        raise InputError("a DuckDB file is written, not described: leave out --sql")
    lake, entries = str(settings.root), ENTRIES[target.engine](settings)
    if target.engine == "athena":
        if removal:
            return [*athena.removal(target.name, entries)]
        return [*athena.statements(target.name, lake, entries)]
    if removal:
        return [*spark_catalog.removal(target.name, entries)]
    return [*spark_catalog.statements(target.name, lake, entries)]


def _refuse_text_only(target: CatalogTarget) -> None:
    if target.engine == "athena":
        raise InputError(
            f"Athena's statements are run in Athena: fencepost publish {target} --sql prints them"
        )


@contextmanager
def _in_words(target: CatalogTarget) -> Iterator[None]:
    """Turn an error of Spark's into ours, with its first line."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as why:
        message = str(why).strip().partition("\n")[0]
        raise LakeError(f"cannot publish to {target}: {message}") from why
