"""The door to files: a file of rules is opened as `fencepost eval` opens it."""

from pipelines.files.read.query_file import open_queries

__all__ = ["open_queries"]
