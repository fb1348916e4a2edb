"""The command `fencepost`: what it can do, and how it ends.

Law: whatever is raised on purpose is printed in words to stderr and ends with 2, without a
traceback unless --debug is given. Nothing heavy is imported before a command needs it.
"""

import sys
import traceback
from typing import Annotated

import typer

from fencepost.errors import FencepostError
from pipelines.arrow_alone import keep_arrow_alone
from pipelines.doctor_command import doctor
from pipelines.eval_command import evaluate
from pipelines.generate import app as generate_app
from pipelines.init_command import init
from pipelines.quarantine_command import app as quarantine_app
from pipelines.queries_command import app as queries_app
from pipelines.run_command import maintain, partitions, run, watch
from pipelines.sql_command import sql
from pipelines.status_command import status

DEBUG = "--debug"
HELP = {"--help", "-h"}

app = typer.Typer(
    rich_markup_mode=None,  # plain help is there in a third of the time
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(init)
app.add_typer(queries_app, name="queries")
app.command()(run)
app.command()(watch)
app.command()(partitions)
app.command()(sql)
app.command()(status)
app.add_typer(quarantine_app, name="quarantine")
app.command()(maintain)
app.command()(doctor)
app.command("eval")(evaluate)
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

    \b
    Ends with 0 when all is well, 2 when the input or the options are at fault (every fault is
    listed, nothing is written), 1 when Fencepost is.
    """  # noqa: D301  \b is a character: the lines after it stay lines
    if not HELP.intersection(sys.argv):
        keep_arrow_alone()


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    arguments = [argument for argument in sys.argv[1:] if argument != DEBUG]
    try:
        app(arguments, prog_name="fencepost")
    except FencepostError as fault:
        if DEBUG in sys.argv:
            traceback.print_exc()
        else:
            typer.echo(str(fault), err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
