"""`fencepost sql`: ask the lake in SQL, or ask what there is to ask.

Law: nothing changes, whatever the statement. DuckDB answers in about a second; no JVM is started
unless Spark was asked for.
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
    from pipelines.serve.views.answers import Answer, Form

SHOWN = 1000
"""Rows that are printed for a person, unless --limit says otherwise (cli/tables.py)."""

FORMS: dict[str, "Form"] = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".parquet": "parquet",
    ".txt": "table",
}
"""What the end of a file's name asks for."""


STATEMENT_FILE = "give --file a text with one statement in it"


class Engine(StrEnum):
    """Who answers."""

    DUCKDB = "duckdb"
    SPARK = "spark"


class Shape(StrEnum):
    """How the rows are given."""

    TABLE = "table"
    LINES = "lines"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def sql(  # noqa: PLR0913  options are many
    statement: Annotated[
        str | None,
        typer.Argument(metavar="SQL", help="One statement; - reads it from standard input."),
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
            help="Tell the columns of a table or view.",
            autocompletion=completion.relations,
        ),
    ] = None,
    shape: Annotated[
        Shape | None,
        typer.Option(
            "--format",
            "-f",
            help="lines: one column a line; json: one row a line. "
            "Default: by the extension of --out, else table.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write to a file, all rows of it."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=0, help=f"At most so many rows; 0: all. For table and lines: {SHOWN:,}."),
    ] = None,
    engine: Annotated[Engine, typer.Option(help="Who answers.")] = Engine.DUCKDB,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print JSON: an object a row, or one that lists what there is to ask."
        ),
    ] = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Ask the lake in SQL; without a statement, open a prompt.

    The views have plain names, and show what is done and in force; raw_<table> is a table as it
    lies in the lake. Times are UTC. Statements only read.

    The prompt has history and completion; a statement ends with ;, Ctrl-C cancels it, Ctrl-D ends
    the prompt, .help lists its commands. Where input or output is no terminal, the views are listed
    instead. A table shows the columns that a terminal has room for, and names the others.

    \b
    Examples:
      fencepost sql "select * from inside_now order by since limit 10"
      fencepost sql "select query_id, count(*), avg(duration) from visits group by 1" -o visits.csv
      fencepost sql --describe events
      fencepost sql --file report.sql --json
      fencepost sql "from events limit 5" --format csv | cut -d, -f1-4
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.project.settings import load

    asked = _statement(statement, file)
    settings = load(config, lake=lake)
    if describe is not None:
        if asked is not None:
            raise InputError("a statement and --describe were given: one of them is enough")
        from pipelines.cli.tables import print_description

        print_description(settings.tables, describe, as_json=as_json)
        return
    form = _form(shape, out, as_json=as_json)
    if asked is None:
        asks = out is None and engine is Engine.DUCKDB
        _without_statement(settings, form, limit, asks=asks, as_json=as_json)
    else:
        with _answer(engine, settings, asked) as answer:
            _give(answer, form, out, limit, as_json=as_json)


def _statement(given: str | None, file: Path | None) -> str | None:
    """Find the statement, wherever it was written."""
    if given is not None and file is not None:
        raise InputError("a statement and --file were given: one of them is enough")
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
) -> AbstractContextManager["Answer"]:
    if engine is Engine.SPARK:
        from pipelines.serve.views.spark import from_spark

        return from_spark(settings, statement)
    from pipelines.serve.views.duckdb import from_duckdb

    return from_duckdb(settings, statement)


def _form(shape: Shape | None, out: Path | None, *, as_json: bool) -> "Form":
    """Settle how the rows are given: as asked, else as the file's name says."""
    if as_json and out is None:
        if shape not in (None, Shape.JSON):
            raise InputError(f"--json and --format {shape} were given: leave one of them out")
        return "json"
    if out is None and shape is Shape.PARQUET:
        raise InputError("Parquet cannot be printed: name a file with --out FILE")
    if out is None or shape is not None:
        return (shape or Shape.TABLE).value
    ends = [end.lower() for end in out.suffixes if end.lower() != ".gz"]
    if not ends or ends[-1] not in FORMS:
        raise InputError(f"{out}: say --format, or end the name in {', '.join(FORMS)}")
    return FORMS[ends[-1]]


def _give(
    answer: "Answer", form: "Form", out: Path | None, limit: int | None, *, as_json: bool
) -> None:
    """Print the rows or write them, no more than were asked for."""
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
        typer.echo(f"the first {counted(most, 'row')}; --limit 0 gives all", err=True)


def _without_statement(
    settings: "Settings", form: "Form", limit: int | None, *, asks: bool, as_json: bool
) -> None:
    """Open the prompt where somebody sits at a terminal; else list what can be asked."""
    if asks and not as_json and sys.stdin.isatty() and sys.stdout.isatty():
        from pipelines.cli.prompt.loop import prompt

        prompt(settings, form, limit)
        return
    from pipelines.cli.tables import print_relations

    print_relations(settings.tables, as_json=as_json)
    if not as_json:
        typer.echo("The columns of one: fencepost sql --describe NAME")
