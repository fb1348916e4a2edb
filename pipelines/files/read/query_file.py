"""A file of standing queries, opened: JSON lines or Parquet, plain or gzip."""

from fencepost.queries.files import QueryFile
from pipelines.files.read.content import PARQUET
from pipelines.files.read.packed import whole


def open_queries(source: str) -> QueryFile:
    """Read all of a file; what its queries say is for fencepost.queries.files to find."""
    content = whole(source)
    if not content.startswith(PARQUET):
        return QueryFile(source, content)
    from pipelines.files.read.parquet_rows import read_whole

    return QueryFile.of_table(source, read_whole(source, content))
