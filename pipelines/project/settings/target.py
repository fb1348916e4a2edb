"""Where a lake is published: a DuckDB file, a schema of Spark's catalog, or a database of Athena.

    duckdb:shop.duckdb     views, in a file that DuckDB and what is built on it open
    spark:[catalog.]shop   tables and views, in the catalog of a Spark session or of Databricks
    hive:shop              tables alone, through Spark into a Hive metastore or Glue: for engines
                           that cannot read Spark's views, such as Trino and Athena
    athena:shop            the same tables as SQL to run in Athena

Law: a target is one line of text, and gives the same text back.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from pipelines.project.settings.values import Read, shown, unlike

ENGINES = ("duckdb", "spark", "hive", "athena")
FILE_ENDINGS = (".duckdb", ".db", ".ddb")
"""A path that ends so is a DuckDB file, without saying so."""

_SCHEMA = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_PARTS = {"spark": 2, "hive": 1, "athena": 1}
"""By engine: how many names may say which schema."""


@dataclass(frozen=True)
class CatalogTarget:
    """Where a lake is published: the engine, and its file or schema."""

    engine: str
    name: str

    def __str__(self) -> str:
        """Write it as it is declared."""
        return f"{self.engine}:{self.name}"

    @property
    def path(self) -> Path:
        """The file of a DuckDB target."""
        return Path(self.name)

    def begun(self, folder: Path) -> "CatalogTarget":
        """Let a relative path begin at a folder."""
        if self.engine != "duckdb":
            return self
        return replace(self, name=str((folder / self.path.expanduser()).resolve()))


def target_of(given: object) -> CatalogTarget:
    """Read a target; ValueError says what was expected."""
    if not isinstance(given, str):
        raise unlike(given, "a text")
    engine, colon, name = given.partition(":")
    if engine not in ENGINES or not colon:
        engine, name = ("duckdb", given) if given.endswith(FILE_ENDINGS) else ("", given)
    parts = name.split(".")
    if engine == "duckdb" and name and "\0" not in name:
        return CatalogTarget(engine, name)
    if len(parts) <= _PARTS.get(engine, 0) and all(map(_SCHEMA.fullmatch, parts)):
        return CatalogTarget(engine, name)
    raise ValueError(
        f"{shown(given)} is no place to publish to, like duckdb:shop.duckdb, spark:shop, "
        "spark:main.shop, hive:shop or athena:shop"
    )


def _targets(given: object) -> tuple[CatalogTarget, ...]:
    if not isinstance(given, list):
        raise unlike(given, TARGETS.expected)
    return tuple(dict.fromkeys(map(target_of, given)))


TARGETS = Read("a list of places to publish to", _targets)
"""Each once; where a path begins is for the one who asks."""
