"""The door to files: rules are opened as `fencepost eval` does, a state is written whole or not."""

from pipelines.disk.atomic import replacing
from pipelines.files.read.query_file import open_queries

__all__ = ["open_queries", "replacing"]
