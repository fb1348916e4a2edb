"""The command `fencepost`: what it can do, in the order of a working day.

exit_codes.py has how a command ends, help.py how the help reads. Nothing heavy is imported before a
command needs it: the help is there in a fifth of a second.
"""

import sys
from typing import Annotated, ClassVar

import typer

from pipelines.cli.commands.bundle import bundle
from pipelines.cli.commands.check import check
from pipelines.cli.commands.doctor import doctor
from pipelines.cli.commands.eval import evaluate
from pipelines.cli.commands.explain import explain
from pipelines.cli.commands.feeds import app as feeds_app
from pipelines.cli.commands.generate import app as generate_app
from pipelines.cli.commands.init import init
from pipelines.cli.commands.maintain import maintain
from pipelines.cli.commands.marts import marts
from pipelines.cli.commands.partitions import partitions
from pipelines.cli.commands.publish import publish
from pipelines.cli.commands.quarantine import app as quarantine_app
from pipelines.cli.commands.queries import app as queries_app
from pipelines.cli.commands.report import report
from pipelines.cli.commands.run import run
from pipelines.cli.commands.sql import sql
from pipelines.cli.commands.status import status
from pipelines.cli.commands.ui import ui
from pipelines.cli.commands.watch import watch
from pipelines.cli.errors import exit_code_of
from pipelines.cli.exit_codes import MEANING
from pipelines.cli.help import HELP_NAMES, Command, Manual, Rows, page
from pipelines.cli.startup import keep_arrow_alone, use_compiled_kernels

DEBUG = "--debug"
HELP = {"--help", "-h"}
VARIABLES: Rows = [
    ("FENCEPOST_CONFIG", "fencepost.toml, or its folder; --config takes precedence."),
    ("FENCEPOST_LAKE", "Where the lake is; --lake takes precedence."),
    ("FENCEPOST_RUNNER", "spark, or here: one process without Spark, for small lakes."),
    ("FENCEPOST_READ_PATH", "What reads the tables: auto, files or spark."),
    ("FENCEPOST_DRIVER_HOST", "Under which name the workers reach this machine."),
    ("FENCEPOST_MASTER", "Where Spark runs: local[*], spark://…, yarn, k8s://…, sc://…."),
    ("FENCEPOST_CORES", "Cores that a run may use."),
    ("FENCEPOST_MEMORY", "Memory that Spark may use: 800m, 4g."),
    ("FENCEPOST_REPORTS_ADDRESS", "Where browsers find reports/ behind a proxy."),
    ("FENCEPOST_JAVA", "Your own Java, 17 or 21."),
]
FILES: Rows = [
    ("fencepost.toml", "The project: its lake, feeds and rules. The nearest one, upward."),
    ("landing/FEED/", "Drop files here: CSV, JSON lines or Parquet, plain or packed."),
    ("lake/", "The Delta tables; any engine can read them."),
    ("reports/, .dagster/", "What `report` writes; the UI's history of runs."),
]


class Cover(Manual):
    """The page of `fencepost --help`."""

    panels: ClassVar = {
        "Start": ("init", "doctor", "bundle"),
        "Feeds and rules": ("feeds", "queries"),
        "Data": ("run", "watch", "partitions", "quarantine", "marts", "publish", "maintain"),
        "Explore": ("sql", "status", "report", "check", "explain"),
        "Without a lake": ("eval", "generate"),
        "Dagster": ("ui",),
    }
    sections: ClassVar = (
        ("Exit codes", [(str(int(code)), meaning) for code, meaning in MEANING.items()]),
        ("Environment", VARIABLES),
        ("Files", FILES),
    )


COMMANDS: dict[str, Command] = {
    "init": init,
    "doctor": doctor,
    "bundle": bundle,
    "run": run,
    "watch": watch,
    "partitions": partitions,
    "marts": marts,
    "publish": publish,
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
app.add_typer(feeds_app, name="feeds")
app.add_typer(queries_app, name="queries")
app.add_typer(quarantine_app, name="quarantine")
app.add_typer(generate_app, name="generate")


def _version(requested: bool) -> None:
    if requested:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"fencepost {version('fencepost')}")
        except PackageNotFoundError:
            typer.echo("fencepost, run from source (not installed)")
        raise typer.Exit


@app.callback()
def fencepost(
    *,
    _show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    _debug: Annotated[
        bool, typer.Option(DEBUG, help="Show a traceback on errors. Goes anywhere.")
    ] = False,
) -> None:
    """Which of your standing rules has each moving value just entered or left?

    Fencepost evaluates rules (price bands, geofences: conditions on a feed's axes) over tuples
    (stream, time, values) as they arrive. It reports exactly which stream entered (I) or left (O)
    which rule, and whether it stayed, passed through, left for good or came right back.

    \b
    Try it on files, without a lake:
      fencepost eval --queries rules.jsonl --tuples ticks=today.csv --out results

    \b
    Or on a lake, which remembers the state of every stream:
      fencepost init
      fencepost queries import rules.jsonl
      fencepost run
      fencepost sql "select * from inside_now order by since limit 10"

    \b
    A rule is one line of JSON, and is called a query in commands and tables:
      {"id": "breakout", "feed": "ticks", "streams": ["AAPL"], "where": "price >= 231.5"}
      {"id": "depot", "feed": "vans", "where": "x BETWEEN 42 AND 45 AND y < 9", "within": "3m"}

    For scripts: with --json a command prints one JSON object to stdout (`sql` one per row, `watch`
    one per run). Progress, notes and errors always go to stderr; the exit code tells the kind of
    error.
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
    code = exit_code_of(
        lambda: app(arguments, prog_name="fencepost", standalone_mode=False),
        debug=DEBUG in sys.argv,
    )
    if code:
        sys.exit(code)


if __name__ == "__main__":
    main()
