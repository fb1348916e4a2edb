"""`fencepost run`, `watch`, `maintain`: their options, and what they say."""

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from fencepost.plurals import counted
from pipelines.cli.options import AsJson, Config, LakeFolder, duration, print_json

if TYPE_CHECKING:
    from pipelines.ingest.refusals import Unanswered
    from pipelines.runs.run import RunReport


def run(*, config: Config = None, lake: LakeFolder = None, as_json: AsJson = False) -> None:
    """Take in everything that has landed, and evaluate it.

    Files and folders in the landing folder of each feed are deliveries: each is taken once, in the
    order of their names. Run it again at any time; after a crash it goes on where it was.

    Ends with 4 while a refused delivery is unanswered: mend it and `quarantine retry`, or
    `quarantine dismiss`. What could be taken was evaluated all the same.

    \b
    Examples:
      fencepost run
      fencepost run --json
      FENCEPOST_RUNNER=here fencepost run        without Spark, for a small lake
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.cli import run_output
    from pipelines.project.settings import load
    from pipelines.runs.run import run as once
    from pipelines.runs.run import runner_of

    settings = load(config, lake=lake)
    with run_output.progress() as told:
        report = once(settings, runner_of(settings, quick=True), told=told)
    if as_json:
        print_json(run_output.report_json(report))
    else:
        for line in run_output.lines(report):
            typer.echo(line)
        for note in run_output.notes(report):
            typer.echo(note, err=True)
    run_output.end(report.unanswered)


def _interval(text: str) -> int:
    interval = duration(text)
    if interval <= 0:
        raise typer.BadParameter(f"'{text}' was given, where something longer than 0s was expected")
    return interval


def watch(
    *,
    every: Annotated[
        int, typer.Option(parser=_interval, metavar="DURATION", help="How often to look: 5s, 1m.")
    ] = "5s",  # type: ignore[assignment]  # the parser makes it an int
    config: Config = None,
    lake: LakeFolder = None,
    as_json: AsJson = False,
) -> None:
    """Run again and again, until Ctrl-C or SIGTERM.

    Spark's Structured Streaming wakes it. When it is to end it commits what it has begun, and ends
    with 0. With --json it prints one JSON object a run; while refused deliveries are unanswered,
    `unanswered` lists them.

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

    def tell(report: "RunReport") -> None:
        nonlocal known
        got, is_more = report.ingested, any(each not in known for each in report.unanswered)
        known = report.unanswered
        if as_json:
            print_json(run_output.report_json(report))
        elif report.groups or got.taken or got.refused or is_more:
            for line in run_output.lines(report):
                typer.echo(f"{time.strftime('%H:%M:%S')} {line}")
        for note in (*run_output.ingest_notes(got), *run_output.rule_notes(report.unwatched)):
            typer.echo(note, err=True)

    typer.echo(f"watching {settings.root} every {seconds:g} s; Ctrl-C ends it", err=True)
    Watch(settings, runner_of(settings, quick=False), seconds, tell).until_stopped()
    typer.echo("stopped; all that was begun is committed", err=True)


def maintain(
    *,
    keep_states: Annotated[
        int, typer.Option(min=1, help="How many snapshots of the state are kept.")
    ] = 10,
    keep_files: Annotated[
        int,
        typer.Option(
            parser=duration, metavar="DURATION", help="How long files no longer needed stay."
        ),
    ] = "7d",  # type: ignore[assignment]
    config: Config = None,
    lake: LakeFolder = None,
    as_json: AsJson = False,
) -> None:
    """Put small files together, delete what no longer counts.

    Nothing that a view shows changes. Evaluating anew is possible as far back as the oldest
    snapshot that is kept.

    \b
    Examples:
      fencepost maintain
      fencepost maintain --keep-states 30 --keep-files 14d
    """  # noqa: D301
    from pipelines.cli import run_output
    from pipelines.project.settings import load
    from pipelines.runs.maintain import maintain as maintained
    from pipelines.runs.run import runner_of, writing

    settings = load(config, lake=lake)
    kept = timedelta(microseconds=keep_files)
    with (
        run_output.progress() as told,
        writing(settings, "fencepost maintain", runner_of(settings, quick=True)) as (held, _),
    ):
        done = maintained(
            held.store,
            settings,
            keep_states=keep_states,
            keep_files=kept,
            told=lambda doing: told(doing, 0.0),
        )
    if as_json:
        print_json(vars(done))
        return
    for name, (before, after) in done.put_together.items():
        typer.echo(f"{name:14} {counted(before, 'file')} put together to {after:,}")
    for name, rows in done.taken_out.items():
        typer.echo(f"{name:14} {counted(rows, 'row')} taken out that no longer counted")
    typer.echo(f"{counted(done.deleted, 'old file')} deleted")
