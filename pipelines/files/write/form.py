"""The formats of results; a module of its own, so that a command's help needs no Arrow."""

from enum import StrEnum


class OutForm(StrEnum):
    """The value is the ending of the file's name."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"
