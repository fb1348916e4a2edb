"""`fencepost ui`: Dagster's UI on this project, and its reports."""

import os
from pathlib import Path
from typing import Annotated

import typer

from fencepost.errors import InputError
from fencepost.extras import require
from pipelines.cli.options import AsJson, Config, print_json

UNGUARDED = (
    "note: the UI has no log-in of its own: whoever reaches {host} can start and stop runs. Put a "
    "proxy that asks for one before it, or leave --expose and --host out."
)


def ui(
    *,
    port: Annotated[int, typer.Option("--port", "-p", min=1, max=65535, help="Its port.")] = 3000,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Where it listens.")
    ] = "127.0.0.1",
    reports_port: Annotated[
        int | None,
        typer.Option(
            "--reports-port",
            min=1,
            max=65535,
            help="The port of the reports.",
            show_default="the next free one after --port",
        ),
    ] = None,
    expose: Annotated[
        bool, typer.Option("--expose", help="Listen where other machines can reach it, too.")
    ] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """Open Dagster's UI on this project, until Ctrl-C.

    It shows the assets of each feed, their partitions, checks and runs, and starts runs. What it
    remembers of them is kept in .dagster/ beside fencepost.toml; a dagster.yaml or workspace.yaml
    that is missing there is made. The address is printed as soon as the project is loaded, in about
    ten seconds.

    The folder reports/ is served beside it, read only, at the next port: the UI links there.

    \b
    Examples:
      fencepost ui
      fencepost ui --port 3001 --config other/fencepost.toml
      fencepost ui --host 0.0.0.0 --expose
    """  # noqa: D301  \b is a character: the lines after it stay lines
    require("dagster")
    from pipelines.lake.layout import Note
    from pipelines.project.settings import load
    from pipelines.serve.ui.server import Address, serve

    settings = load(config)
    Note.read(settings.root)  # says what to do where there is no lake
    at = Address(host, port)
    if not at.is_private and not expose:
        raise InputError(
            f"--host {host} lets other machines in, and the UI has no log-in of its own: say "
            "--expose too if that is meant, or leave --host out"
        )
    at.refuse_taken()
    reports = at.next_free() if reports_port is None else Address(host, reports_port)
    reports.refuse_taken()
    file = settings.file or Path.cwd()
    made_ready(file.parent)
    if not at.is_private:
        typer.echo(UNGUARDED.format(host=host), err=True)
    typer.echo("starting Dagster; Ctrl-C ends it", err=True)

    def ready(process: int) -> None:
        if as_json:
            told = {"url": at.url, "reports": reports.url}
            print_json({**told, "project": str(file), "process": process})
        else:
            typer.echo(f"{at.url}   {file}")
            typer.echo(f"{reports.url}   {settings.reports}")

    serve(settings, at, reports, ready)
    typer.echo("stopped", err=True)


def made_ready(folder: Path) -> None:
    """Make the files that Dagster reads, where they are missing, as `fencepost init` does."""
    from pipelines.project.templates import FOR_DAGSTER, content

    for name in FOR_DAGSTER:
        path = folder / name
        if not os.path.lexists(path):
            path.write_text(content(name), encoding="utf-8")
            typer.echo(f"made {path}", err=True)
