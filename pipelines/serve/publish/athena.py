"""The SQL that registers a lake in Athena, and so in Glue; it is run there, by hand or by a tool.

Athena takes columns from Delta's log, and accepts neither comments nor properties with them.
"""

from collections.abc import Iterable, Iterator

from fencepost.errors import InputError
from pipelines.serve.publish.contents import CatalogEntry


def statements(database: str, lake: str, entries: Iterable[CatalogEntry]) -> Iterator[str]:
    """Write one statement a table; a lake on S3 alone can be registered."""
    if not lake.startswith("s3://"):
        raise InputError(f"Athena reads from S3 alone, and the lake is at {lake}")
    yield f"CREATE DATABASE IF NOT EXISTS {database}"
    for entry in entries:
        yield (
            f"CREATE EXTERNAL TABLE IF NOT EXISTS {database}.{entry.name} "
            f"LOCATION '{lake}/{entry.folder}/' TBLPROPERTIES ('table_type' = 'DELTA')"
        )


def removal(database: str, entries: Iterable[CatalogEntry]) -> Iterator[str]:
    """Write what drops the tables again; an external table's files stay."""
    return (f"DROP TABLE IF EXISTS {database}.{entry.name}" for entry in entries)
