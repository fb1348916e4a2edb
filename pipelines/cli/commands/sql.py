"""`fencepost sql`: query the lake in SQL, or list its views.

Law: nothing changes, whatever the statement. DuckDB takes about a second; no JVM is started unless
--engine is spark.
"""

import sys
from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fencepost.errors import InputError
from fencepost.text import counted
from pipelines.cli import completion
from pipelines.cli.options import Config, LakeFolder, print_json

if TYPE_CHECKING:  # Arrow and DuckDB are imported where they are needed: --help stays quick
    from pipelines.project.settings import Settings
    from pipelines.serve.views.answers import Form, SqlAnswer

SHOWN = 1000
"""Rows that are printed for people, unless --limit is given (cli/tables.py)."""

FORMS: dict[str, "Form"] = {
    ".csv": "csv",
    ".geojson": "geojson",
    ".geoparquet": "geoparquet",
    ".json": "json",
    ".jsonl": "json",
    ".parquet": "parquet",
    ".txt": "table",
}
"""The format by a file's extension."""


STATEMENT_FILE = "--file needs a text file with one statement"


class Engine(StrEnum):
    """The SQL engines."""

    DUCKDB = "duckdb"
    SPARK = "spark"


class AnswerFormat(StrEnum):
    """The formats of an answer."""

    TABLE = "table"
    LINES = "lines"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    GEOJSON = "geojson"
    GEOPARQUET = "geoparquet"


def sql(  # noqa: PLR0913  options are many
    statement: Annotated[
        str | None,
        typer.Argument(metavar="SQL", help="One statement; - reads it from stdin."),
    ] = None,
    *,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Read the statement from a file.")
    ] = None,
    describe: Annotated[
        str | None,
        typer.Option(
            "--describe",
            metavar="NAME",
            help="Show the columns of a table or view.",
            autocompletion=completion.relations,
        ),
    ] = None,
    shape: Annotated[
        AnswerFormat | None,
        typer.Option(
            "--format",
            "-f",
            help="lines: one column per line; json: one row per line; geojson, geoparquet: rows "
            "with a position or a region, for maps. Default: by extension of --out, else table.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write all rows to a file."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=0, help=f"Maximum number of rows; 0: all. Default for table and lines: {SHOWN:,}."
        ),
    ] = None,
    engine: Annotated[Engine, typer.Option(help="SQL engine.")] = Engine.DUCKDB,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print JSON: one object per row, or one that lists the views."),
    ] = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Query the lake in SQL; without a statement, open a prompt.

    Views have plain names and show what is committed and current; raw_<table> is a table as it is
    stored. Times are UTC. Statements are read-only.

    The prompt has history and completion; a statement ends with ;, Ctrl-C cancels it, Ctrl-D quits,
    .help lists the commands. If input or output is not a terminal, the views are listed instead.
    Tables show the columns that fit the terminal, and name the others.

    \b
    Examples:
      fencepost sql "select * from inside_now order by since limit 10"
      fencepost sql "select query_id, count(*), avg(duration) from visits group by 1" -o visits.csv
      fencepost sql --describe events
      fencepost sql --file report.sql --json
      fencepost sql "from events limit 5" --format csv | cut -d, -f1-4
      fencepost sql "from events" -o events.geojson
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.project.settings import load

    to_run = _statement(statement, file)
    settings = load(config, lake=lake)
    if describe is not None:
        if to_run is not None:
            raise InputError("--describe cannot be combined with a statement")
        from pipelines.cli.tables import print_description

        print_description(settings.tables, describe, as_json=as_json)
        return
    form = _form(shape, out, as_json=as_json)
    if to_run is None:
        interactive = out is None and engine is Engine.DUCKDB
        _without_statement(settings, form, limit, interactive=interactive, as_json=as_json)
    else:
        with _answer(engine, settings, to_run) as answer:
            _output(answer, form, out, limit, as_json=as_json)


def _statement(given: str | None, file: Path | None) -> str | None:
    """Give the statement: the argument, stdin or a file; None if there is none."""
    if given is not None and file is not None:
        raise InputError("--file cannot be combined with a statement")
    if given == "-":
        return sys.stdin.read()
    if file is None:
        return given
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8: {STATEMENT_FILE}") from None
    except OSError as why:
        raise InputError(f"{file} cannot be read: {why.strerror}; {STATEMENT_FILE}") from None


def _answer(
    engine: Engine, settings: "Settings", statement: str
) -> AbstractContextManager["SqlAnswer"]:
    if engine is Engine.SPARK:
        from pipelines.serve.views.spark import from_spark

        return from_spark(settings, statement)
    from pipelines.serve.views.duckdb import from_duckdb

    return from_duckdb(settings, statement)


def _form(shape: AnswerFormat | None, out: Path | None, *, as_json: bool) -> "Form":
    """Choose the format of the rows: by option, else by the file's extension."""
    if as_json and out is None:
        if shape not in (None, AnswerFormat.JSON):
            raise InputError(f"--json cannot be combined with --format {shape}")
        return "json"
    if out is None and shape in (AnswerFormat.PARQUET, AnswerFormat.GEOPARQUET):
        raise InputError("Parquet cannot be printed: name a file with --out FILE")
    if out is None or shape is not None:
        return (shape or AnswerFormat.TABLE).value
    ends = [end.lower() for end in out.suffixes if end.lower() != ".gz"]
    if not ends or ends[-1] not in FORMS:
        raise InputError(f"{out}: give --format, or a name that ends in {', '.join(FORMS)}")
    return FORMS[ends[-1]]


def _output(
    answer: "SqlAnswer", form: "Form", out: Path | None, limit: int | None, *, as_json: bool
) -> None:
    """Print the rows or write them, as many as --limit allows."""
    from pipelines.cli.tables import most_rows, print_answer

    most = most_rows(form, limit) if out is None else limit or 0
    answer = answer.upto(most) if most else answer
    if out is None:
        print_answer(answer, form, most)
        return
    rows = answer.write(form, out)
    if as_json:
        print_json({"out": str(out), "rows": rows})
    else:
        typer.echo(f"{out}: {counted(rows, 'row')}")
    if answer.cut:
        typer.echo(f"the first {counted(most, 'row')}; --limit 0 for all", err=True)


def _without_statement(
    settings: "Settings", form: "Form", limit: int | None, *, interactive: bool, as_json: bool
) -> None:
    """Open the prompt on a terminal; else list the views."""
    if interactive and not as_json and sys.stdin.isatty() and sys.stdout.isatty():
        from pipelines.cli.prompt.loop import prompt

        prompt(settings, form, limit)
        return
    from pipelines.cli.tables import print_relations

    print_relations(settings.tables, as_json=as_json)
    if not as_json:
        typer.echo("Show the columns of one: fencepost sql --describe NAME")
