"""`fencepost maintain`: compact the tables of the lake."""

from datetime import timedelta
from typing import Annotated

import typer

from fencepost.plurals import counted
from pipelines.cli.options import AsJson, Config, LakeFolder, duration, print_json


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
    from pipelines.cli.progress import progress_bar
    from pipelines.project.settings import load
    from pipelines.runs.maintain import maintain as maintained
    from pipelines.runs.run import runner_of, writing

    settings = load(config, lake=lake)
    kept = timedelta(microseconds=keep_files)
    with (
        progress_bar() as progress,
        writing(settings, "fencepost maintain", runner_of(settings, quick=True)) as (held, _),
    ):
        done = maintained(
            held.store,
            settings,
            keep_states=keep_states,
            keep_files=kept,
            progress=progress,
        )
    if as_json:
        print_json(vars(done))
        return
    for name, (before, after) in done.put_together.items():
        typer.echo(f"{name:14} {counted(before, 'file')} put together to {after:,}")
    for name, rows in done.taken_out.items():
        typer.echo(f"{name:14} {counted(rows, 'row')} taken out that no longer counted")
    typer.echo(f"{counted(done.deleted, 'old file')} deleted")
