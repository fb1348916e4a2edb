"""`fencepost ui`: Dagster's UI for this project, and its reports."""

import os
from pathlib import Path
from typing import Annotated

import typer

from fencepost.errors import InputError
from fencepost.extras import require
from pipelines.cli.options import AsJson, Config, print_json

UNGUARDED = (
    "note: the UI has no login: whoever can reach {host} can start and stop runs. Put a proxy with "
    "a login in front of it, or drop --expose and --host."
)


def ui(
    *,
    port: Annotated[
        int, typer.Option("--port", "-p", min=1, max=65535, help="Port of the UI.")
    ] = 3000,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")
    ] = "127.0.0.1",
    reports_port: Annotated[
        int | None,
        typer.Option(
            "--reports-port",
            min=1,
            max=65535,
            help="Port of the reports.",
            show_default="the next free one",
        ),
    ] = None,
    expose: Annotated[
        bool, typer.Option("--expose", help="Allow an address that other machines can reach.")
    ] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """Serve Dagster's UI for this project, until Ctrl-C.

    It shows each feed's assets, partitions, checks and runs, and starts runs. Its history is kept
    in .dagster/ beside fencepost.toml; a missing dagster.yaml or workspace.yaml is created there.
    The address is printed once the project is loaded, in about ten seconds.

    The folder reports/ is served read-only on the next port; the UI links to it.

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
    Note.read(settings.root)  # an error says what to do without a lake
    at = Address(host, port)
    if not at.is_private and not expose:
        raise InputError(
            f"--host {host} lets other machines in, and the UI has no login: add --expose if that "
            "is intended, or drop --host"
        )
    at.refuse_in_use()
    reports = at.next_free() if reports_port is None else Address(host, reports_port)
    reports.refuse_in_use()
    file = settings.file or Path.cwd()
    made_ready(file.parent)
    if not at.is_private:
        typer.echo(UNGUARDED.format(host=host), err=True)
    typer.echo("starting Dagster; Ctrl-C stops it", err=True)

    def ready(process: int) -> None:
        if as_json:
            urls = {"url": at.url, "reports": reports.url}
            print_json({**urls, "project": str(file), "process": process})
        else:
            typer.echo(f"{at.url}   {file}")
            typer.echo(f"{reports.url}   {settings.reports}")

    serve(settings, at, reports, ready)
    typer.echo("stopped", err=True)


def made_ready(folder: Path) -> None:
    """Create the files that Dagster reads, if missing, as `fencepost init` does."""
    from pipelines.project.templates import FOR_DAGSTER, content

    for name in FOR_DAGSTER:
        path = folder / name
        if not os.path.lexists(path):
            path.write_text(content(name), encoding="utf-8")
            typer.echo(f"made {path}", err=True)
