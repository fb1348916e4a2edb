"""`fencepost run`: load what has landed, and evaluate it."""

import typer

from pipelines.cli.options import AsJson, Config, LakeFolder, print_json


def run(*, config: Config = None, lake: LakeFolder = None, as_json: AsJson = False) -> None:
    """Load new files, and evaluate them.

    Each file or folder in a feed's landing folder is a delivery. Deliveries are loaded once, in the
    order of their names. Run it as often as you like; after a crash it continues where it stopped.

    Exits with 4 while a refused delivery is unanswered: fix it and `quarantine retry`, or
    `quarantine dismiss`. The other deliveries are evaluated all the same.

    \b
    Examples:
      fencepost run
      fencepost run --json
      FENCEPOST_RUNNER=here fencepost run        no Spark, for a small lake
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.cli import run_output
    from pipelines.cli.progress import progress_bar
    from pipelines.project.settings import load
    from pipelines.runs.run import run as once
    from pipelines.runs.run import runner_of

    settings = load(config, lake=lake)
    with progress_bar() as progress:
        report = once(settings, runner_of(settings, quick=True), progress=progress)
    if as_json:
        print_json(run_output.report_json(report))
    else:
        for line in run_output.lines(report):
            typer.echo(line)
        for note in run_output.notes(report):
            typer.echo(note, err=True)
    run_output.end(report.unanswered)
