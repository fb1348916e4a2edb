"""`fencepost watch`: run again and again."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.options import AsJson, Config, LakeFolder, duration, print_json

if TYPE_CHECKING:
    from pipelines.ingest.refusals import Unanswered
    from pipelines.runs.run import RunReport


def _interval(text: str) -> int:
    interval = duration(text)
    if interval <= 0:
        raise typer.BadParameter(f"'{text}' was given, where something longer than 0s was expected")
    return interval


def watch(
    *,
    every: Annotated[
        int,
        typer.Option(
            parser=_interval, metavar="DURATION", help="How often to check for new files: 5s, 1m."
        ),
    ] = "5s",  # type: ignore[assignment]  # the parser makes it an int
    config: Config = None,
    lake: LakeFolder = None,
    as_json: AsJson = False,
) -> None:
    """Run continuously, until Ctrl-C or SIGTERM.

    Spark's Structured Streaming is the trigger. When stopped it commits what it has begun, and
    exits with 0. With --json it prints one JSON object per run; `unanswered` lists the refused
    deliveries that are unanswered.

    \b
    Examples:
      fencepost watch
      fencepost watch --every 1m --json
    """  # noqa: D301
    from pipelines.cli import run_output
    from pipelines.project.settings import load
    from pipelines.runs.run import runner_of
    from pipelines.runs.watch import Watch

    seconds = every / 1e6
    settings = load(config, lake=lake)
    known: list[Unanswered] = []

    def show(report: "RunReport") -> None:
        nonlocal known
        ingested, is_more = report.ingested, any(each not in known for each in report.unanswered)
        known = report.unanswered
        if as_json:
            print_json(run_output.report_json(report))
        elif report.groups or ingested.loaded or ingested.refused or is_more:
            for line in run_output.lines(report):
                typer.echo(f"{time.strftime('%H:%M:%S')} {line}")
        for note in (
            *run_output.ingest_notes(ingested),
            *run_output.rule_notes(report.unwatched),
            *run_output.catalog_notes(report.unpublished),
        ):
            typer.echo(note, err=True)

    typer.echo(f"watching {settings.root} every {seconds:g} s; Ctrl-C stops it", err=True)
    Watch(settings, runner_of(settings, quick=False), seconds, show).until_stopped()
    typer.echo("stopped; everything begun is committed", err=True)
