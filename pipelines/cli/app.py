"""The command `fencepost`: what it can do, in the order of a working day.

How it ends is in ending.py, how its help is laid out in manual.py. Nothing heavy is imported before
a command needs it: the help is there in a fifth of a second.
"""

import sys
from typing import Annotated, ClassVar

import typer

from pipelines.cli.commands.check import check
from pipelines.cli.commands.doctor import doctor
from pipelines.cli.commands.eval import evaluate
from pipelines.cli.commands.explain import explain
from pipelines.cli.commands.generate import app as generate_app
from pipelines.cli.commands.init import init
from pipelines.cli.commands.maintain import maintain
from pipelines.cli.commands.marts import marts
from pipelines.cli.commands.partitions import partitions
from pipelines.cli.commands.quarantine import app as quarantine_app
from pipelines.cli.commands.queries import app as queries_app
from pipelines.cli.commands.report import report
from pipelines.cli.commands.run import run
from pipelines.cli.commands.sql import sql
from pipelines.cli.commands.status import status
from pipelines.cli.commands.ui import ui
from pipelines.cli.commands.watch import watch
from pipelines.cli.exit_codes import MEANING, ended
from pipelines.cli.help import HELP_NAMES, Command, Manual, Rows, page
from pipelines.cli.startup import keep_arrow_alone, use_compiled_kernels

DEBUG = "--debug"
HELP = {"--help", "-h"}
VARIABLES: Rows = [
    ("FENCEPOST_CONFIG", "The fencepost.toml, or its folder; --config stands over it."),
    ("FENCEPOST_LAKE", "Where the lake is; --lake stands over it."),
    ("FENCEPOST_RUNNER", "spark, or here: in one process, without Spark, for small lakes."),
    ("FENCEPOST_READ_PATH", "Who reads the tables' files: auto, files or spark."),
    ("FENCEPOST_CORES", "How many cores a run may use."),
    ("FENCEPOST_MEMORY", "How much memory Spark may use: 800m, 4g."),
    ("FENCEPOST_REPORTS_ADDRESS", "Where browsers find reports/, if a proxy serves it."),
    ("FENCEPOST_JAVA", "A Java of your own, 17 or 21."),
]
FILES: Rows = [
    ("fencepost.toml", "What a project is: its lake, feeds and rules; from here upward."),
    ("landing/FEED/", "Where deliveries land: CSV, JSON lines or Parquet, plain or gzip."),
    ("lake/", "The Delta tables, which any engine may read."),
    ("reports/, .dagster/", "What `report` writes; what the UI remembers of its runs."),
]


class Cover(Manual):
    """The first page of the manual."""

    panels: ClassVar = {
        "Begin": ("init", "doctor"),
        "Rules": ("queries",),
        "Data": ("run", "watch", "partitions", "quarantine", "marts", "maintain"),
        "Ask": ("sql", "status", "report", "check", "explain"),
        "Try it on files": ("eval", "generate"),
        "Look at it": ("ui",),
    }
    sections: ClassVar = (
        ("Exit codes", [(str(int(code)), meaning) for code, meaning in MEANING.items()]),
        ("Environment", VARIABLES),
        ("Files", FILES),
    )


COMMANDS: dict[str, Command] = {
    "init": init,
    "doctor": doctor,
    "run": run,
    "watch": watch,
    "partitions": partitions,
    "marts": marts,
    "maintain": maintain,
    "sql": sql,
    "status": status,
    "report": report,
    "check": check,
    "explain": explain,
    "eval": evaluate,
    "ui": ui,
}

app = typer.Typer(
    cls=Cover,
    rich_markup_mode=None,  # plain help is there in a third of the time
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings=HELP_NAMES,
)
for name, command in COMMANDS.items():
    page(app, name)(command)
app.add_typer(queries_app, name="queries")
app.add_typer(quarantine_app, name="quarantine")
app.add_typer(generate_app, name="generate")


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"fencepost {version('fencepost')}")
        except PackageNotFoundError:
            typer.echo("fencepost, run from its source folder without being installed")
        raise typer.Exit


@app.callback()
def fencepost(
    *,
    _show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version.")
    ] = False,
    _debug: Annotated[
        bool, typer.Option(DEBUG, help="On an error show the traceback too; may stand anywhere.")
    ] = False,
) -> None:
    """Which of your standing rules has each moving value just entered or left?

    Fencepost takes standing queries (price bands, geofences: conditions on a feed's axes) and
    tuples (stream, time, values) as they arrive, and tells exactly which stream entered (I) or
    left (O) which query, and whether it stayed, passed through, left for good or came right back.

    \b
    Try it on files, without a lake:
      fencepost eval --queries rules.jsonl --tuples ticks=today.csv --out results

    \b
    Or on a lake, that remembers where every stream stood:
      fencepost init
      fencepost queries import rules.jsonl
      fencepost run
      fencepost sql "select * from inside_now order by since limit 10"

    \b
    A query is one line of JSON:
      {"id": "breakout", "feed": "ticks", "streams": ["AAPL"], "where": "price >= 231.5"}
      {"id": "depot", "feed": "vans", "where": "x BETWEEN 42 AND 45 AND y < 9", "within": "3m"}

    For scripts: every command takes --json, and then prints one JSON object to stdout (`sql` one a
    row, `watch` one a run). Progress, notes and errors are words on stderr, whatever the options;
    the exit code says of which kind an error is.
    """  # noqa: D301  \b is a character: the lines after it stay lines
    if not HELP.intersection(sys.argv):
        keep_arrow_alone()
        use_compiled_kernels()


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    arguments = [argument for argument in sys.argv[1:] if argument != DEBUG]
    code = ended(
        lambda: app(arguments, prog_name="fencepost", standalone_mode=False),
        debug=DEBUG in sys.argv,
    )
    if code:
        sys.exit(code)


if __name__ == "__main__":
    main()
