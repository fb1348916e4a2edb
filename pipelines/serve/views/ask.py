"""One statement, asked of the lake through DuckDB: what is taken, what is said when it is not.

Law: a statement that would write, attach, load or set is refused in words before it runs.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

import duckdb

from fencepost.errors import InputError
from fencepost.text import did_you_mean
from pipelines.project.settings import Settings
from pipelines.serve.views import views
from pipelines.serve.views.answers import BATCH, Answer
from pipelines.serve.views.duckdb_session import duckdb_session
from schemas import Table

READS = "SELECT, WITH, FROM, VALUES, DESCRIBE, SHOW, SUMMARIZE and EXPLAIN"

_EXPLAIN = re.compile(
    r"\s*EXPLAIN\b\s*(ANALYZE\b\s*)?(\(\s*(ANALYZE|FORMAT)\b[^)]*\)\s*)?", re.IGNORECASE
)
_COMMENT = re.compile(r"\s*(--[^\n]*(\n|$)|/\*.*?\*/)", re.DOTALL)
_PIVOT = re.compile(r"\bpivot", re.IGNORECASE)
_UNKNOWN = re.compile(r"Table with name (\S+) does not exist|view `?(\w+)`? cannot be found")
_GUESS = re.compile(r'\nDid you mean "[^"]*"\?')


@contextmanager
def from_duckdb(settings: Settings, statement: str) -> Iterator[Answer]:
    """Ask DuckDB, in this process."""
    with (
        closing(duckdb_session(settings.root, settings.tables, statement)) as session,
        answered(session, statement, settings.tables) as answer,
    ):
        yield answer


@contextmanager
def answered(
    session: duckdb.DuckDBPyConnection, statement: str, tables: Mapping[str, Table]
) -> Iterator[Answer]:
    """Ask an open session; InputError where it refuses, also while the rows are read."""
    try:
        refuse_writing(session, statement)
        batches = session.execute(statement).to_arrow_reader(BATCH)
        yield Answer.of(batches.schema, batches)
    except duckdb.Error as why:
        raise not_understood(str(why), tables) from None


def refuse_writing(session: duckdb.DuckDBPyConnection, statement: str) -> None:
    """Take one statement that reads."""
    kinds = [each.type.name for each in session.extract_statements(statement)]
    if not kinds:
        raise InputError(f"no statement was given: {READS} are taken")
    if len(kinds) > 1:
        if _PIVOT.search(statement):  # DuckDB would first make a type of what it finds
            raise InputError("a PIVOT must name its values: PIVOT … ON column IN (…)")
        raise InputError(f"{len(kinds)} statements were given: they are taken one at a time")
    if kinds == ["EXPLAIN"]:  # with ANALYZE it would be carried out
        refuse_writing(session, _EXPLAIN.sub("", _uncommented(statement), count=1))
    elif kinds != ["SELECT"]:
        raise only_reads(kinds[0])


def _uncommented(statement: str) -> str:
    """Leave out the comments before the first word."""
    while comment := _COMMENT.match(statement):
        statement = statement[comment.end() :]
    return statement


def only_reads(kind: str) -> InputError:
    """Say that a statement of this kind is not taken."""
    return InputError(
        f"a statement of the kind {kind} was given, and `fencepost sql` only reads: {READS} are "
        "taken. What a SELECT gives can be written with --out FILE"
    )


def not_understood(why: str, tables: Mapping[str, Table]) -> InputError:
    """Say what the engine said; where a table is unknown, which there are."""
    unknown = _UNKNOWN.search(why)
    if unknown is None:
        return InputError(why)
    known = [view.name for view in views(tables)]
    raw = [f"raw_{name}" for name in tables]
    near = did_you_mean(unknown[1] or unknown[2], [*known, *raw])
    return InputError(
        f"{_GUESS.sub('', why)}\n\nThere are: {', '.join(known)}; and, as they lie in the lake, "
        f"{', '.join(raw)}.{near}"
    )
