"""An answer on standard output; what is to be said about it goes to standard error.

Law: an answer that was cut says so, and how to see the rest.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from pipelines.serve.views.answers import Answer, Form, rows_of
from pipelines.serve.views.cells import print_table

SHOWN = 1000
"""Rows that are printed for a person, unless a limit says otherwise."""

FOR_PEOPLE = ("table", "lines")


@dataclass(frozen=True)
class Hints:
    """How to ask for what was not shown, in the words of the place where it was asked."""

    rows: str
    columns: str


BY_OPTION = Hints("--limit 0 gives all", "--format lines shows every column, one a line")
BY_COMMAND = Hints(".limit 0 gives all", ".format lines shows every column, one a line")


def most_rows(form: Form, limit: int | None) -> int:
    """Say how many rows to print at most; 0: all."""
    if limit is not None:
        return limit
    return SHOWN if form in FOR_PEOPLE else 0


def print_answer(answer: Answer, form: Form, most: int, hints: Hints = BY_OPTION) -> None:
    """Print the rows of an answer that has `most` of them at most."""
    many = 0

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal many
        for batch in answer.batches:
            many += batch.num_rows
            yield batch

    if form == "table":
        rows = [row for batch in counted() for row in rows_of(batch)]
        print_table(answer.schema.names, rows, hint=hints.columns)
    else:
        for piece in Answer(answer.schema, counted()).lines(form):
            sys.stdout.write(piece)
    if form in FOR_PEOPLE:
        sys.stdout.flush()
        sys.stderr.write(f"{many:,} row{'' if many == 1 else 's'}\n")
    if answer.cut:
        sys.stderr.write(f"the first {most:,} rows; {hints.rows}\n")
