"""`fencepost run`: load what has landed, and evaluate it."""

import typer

from pipelines.cli.options import AsJson, Config, LakeFolder, print_json


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
