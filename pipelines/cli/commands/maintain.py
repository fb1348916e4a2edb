"""`fencepost maintain`: compact the tables of the lake."""

from datetime import timedelta
from typing import Annotated

import typer

from fencepost.text import counted
from pipelines.cli.options import AsJson, Config, LakeFolder, duration, print_json


def maintain(
    *,
    keep_states: Annotated[int, typer.Option(min=1, help="Snapshots of the state to keep.")] = 10,
    keep_files: Annotated[
        int,
        typer.Option(parser=duration, metavar="DURATION", help="How long to keep obsolete files."),
    ] = "7d",  # type: ignore[assignment]
    config: Config = None,
    lake: LakeFolder = None,
    as_json: AsJson = False,
) -> None:
    """Compact files, delete obsolete ones.

    No view changes. Re-evaluation is possible back to the oldest snapshot that is kept.

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
    with (
        progress_bar() as progress,
        writing(settings, "fencepost maintain", runner_of(settings, quick=True)) as (opened, _),
    ):
        done = maintained(
            opened.store,
            settings,
            keep_states=keep_states,
            keep_files=timedelta(microseconds=keep_files),
            progress=progress,
        )
    if as_json:
        print_json(
            {
                "put_together": done.compacted,
                "taken_out": done.deleted_rows,
                "deleted": done.deleted,
                "horizons": done.horizons,
            }
        )
        return
    for name, (before, after) in done.compacted.items():
        typer.echo(f"{name:14} {counted(before, 'file')} compacted to {after:,}")
    for name, rows in done.deleted_rows.items():
        typer.echo(f"{name:14} {counted(rows, 'obsolete row')} deleted")
    typer.echo(f"{counted(done.deleted, 'obsolete file')} deleted")
