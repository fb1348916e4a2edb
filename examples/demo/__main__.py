"""`python -m examples.demo [FOLDER]`."""

import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from pipelines.cli.errors import exit_code_of
from pipelines.cli.exit_codes import Code
from pipelines.spark.environment import apart


def demo(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[FOLDER]", help="A project of its own. Without it: this one."),
    ] = None,
    *,
    scale: Annotated[
        float,
        typer.Option(
            min=0.001, max=1.0, envvar="FENCEPOST_DEMO_SCALE", help="The part of the day, up to 1."
        ),
    ] = 1.0,
) -> int:
    """Play a day of ticks and vehicles: about two minutes, and again in a few seconds."""
    from examples.demo.story import tell

    return tell(folder, scale)


def main() -> int:
    """Parse the options, run the demo, and give the exit code."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(demo)
    return exit_code_of(lambda: app(standalone_mode=False), debug=False)


def leave(code: int) -> NoReturn:
    """End at once: a thread may still be working in NumPy or DuckDB.

    Python's own exit crashes then.
    """
    if apart.module("spark.session") in sys.modules:
        from pipelines.spark import session

        session.stop(0.0)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    code = main()
    if code in (Code.INTERRUPTED, Code.TERMINATED):
        leave(code)
    sys.exit(code)
