"""`fencepost quarantine`: rejected rows and deliveries, why, and what to do about them.

Law: output stays on its line, whatever a row contains; --json gives it verbatim.
"""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from fencepost.errors import refuse_unknown
from fencepost.text import counted
from pipelines.cli import completion
from pipelines.cli.exit_codes import Code
from pipelines.cli.help import page, pages
from pipelines.cli.options import AsJson, Config, LakeFolder, OfFeed, print_json

if TYPE_CHECKING:
    from pipelines.ingest.deliveries import IngestReport

MOST_ROWS = 2**62
"""The largest limit that DuckDB accepts."""

HEADER = ("arrival", "path", "line", "reason", "detail", "raw")
RAW_SHOWN = 60

app = pages(
    """Show rejected rows, retry them, or dismiss refused deliveries.

    \b
    Examples:
      fencepost quarantine show --reason malformed
      fencepost quarantine retry --feed ticks
      fencepost quarantine dismiss ticks/junk.csv --note "test file"
    """
)


@page(app, "show")
def show(  # noqa: PLR0913  options are many
    *,
    feed: OfFeed = None,
    reason: Annotated[
        str | None,
        typer.Option(
            "--reason",
            metavar="REASON",
            help=f"Only this reason: {', '.join(completion.REASONS)}.",
            autocompletion=completion.reasons,
        ),
    ] = None,
    arrival: Annotated[
        int | None, typer.Option("--arrival", min=1, help="Only the delivery of this number.")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=0, max=MOST_ROWS, help="Maximum number of rows; 0: all.")
    ] = 20,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Show rejected rows: where they came from, and why.

    First the counts by feed and reason, then the rows.

    \b
    Examples:
      fencepost quarantine show
      fencepost quarantine show --feed ticks --reason malformed --limit 0 --json
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.project.settings import load
    from pipelines.serve.quarantine import QuarantineFilter, quarantined

    settings = load(config, lake=lake)
    refuse_unknown(feed, settings.feeds, "feed")
    refuse_unknown(reason, completion.REASONS, "reason")
    rejected = quarantined(settings, QuarantineFilter(feed, reason, arrival), limit)
    if as_json:
        counts = [
            {"feed": of_feed, "reason": why, "rows": rows} for of_feed, why, rows in rejected.counts
        ]
        print_json({"counts": counts, "rows": rejected.rows})
        return
    from fencepost.text import escaped
    from pipelines.cli.tables import print_table

    if not rejected.counts:
        typer.echo("no rows")
        return
    print_table(("feed", "reason", "rows"), rejected.counts)
    typer.echo()
    rows = [
        (*(row[name] for name in HEADER[:-1]), escaped(row["raw"], RAW_SHOWN))
        for row in rejected.rows
    ]
    print_table(HEADER, rows)
    total = sum(many for *_, many in rejected.counts)
    if len(rows) < total:
        typer.echo(f"{len(rows):,} of {counted(total, 'row')}; --limit 0 shows all", err=True)


Deliveries = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FEED/PATH]",
        help="Only these deliveries, even if dismissed: the feed, and the path in its folder.",
        autocompletion=completion.refused,
    ),
]


@page(app, "retry")
def retry(
    deliveries: Deliveries = None,
    *,
    feed: OfFeed = None,
    reason: Annotated[
        list[str] | None,
        typer.Option(
            "--reason",
            metavar="REASON",
            help="Only what was rejected for this reason. Repeatable.",
            autocompletion=completion.reasons,
        ),
    ] = None,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Retry rejected rows and refused deliveries, once the cause is fixed.

    The cause may be in the feed's declaration or in the file. Malformed and future rows, and
    deliveries that could not be read, are loaded as new deliveries; what is still wrong is rejected
    again. Deliveries refused as `changed` or `repeat` are retried only with --reason, dismissed
    ones only by name. `fencepost run` then evaluates what was loaded.

    Exits with 4 if a delivery was refused again.

    \b
    Examples:
      fencepost quarantine retry
      fencepost quarantine retry ticks/monday.csv
      fencepost quarantine retry --feed ticks --reason malformed
    """  # noqa: D301
    from pipelines import ingest
    from pipelines.ingest.retry import USUAL
    from pipelines.project.settings import load
    from pipelines.runs.run import runner_of, writing

    settings = load(config, lake=lake)
    refuse_unknown(feed, settings.feeds, "feed")
    with writing(settings, "fencepost quarantine retry", runner_of(settings, quick=True)) as (
        opened,
        _,
    ):
        now = time.time_ns() // 1000
        report = ingest.retry(
            opened.store,
            settings,
            opened.runner,
            now,
            feed=feed,
            reasons=reason or USUAL,
            names=deliveries or (),
        )
    if as_json:
        outcome = {
            "deliveries": [vars(each) for each in report.loaded],
            "refused": [vars(each) for each in report.refused],
            "passed_over": report.passed_over,
        }
        print_json(outcome)
    else:
        _print(report)
    if report.refused:
        raise typer.Exit(Code.UNANSWERED)


@page(app, "dismiss")
def dismiss(
    deliveries: Annotated[
        list[str],
        typer.Argument(
            metavar="FEED/PATH",
            help="Refused deliveries: the feed, and the path in its landing folder.",
            autocompletion=completion.refused,
        ),
    ],
    *,
    note: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Why; kept with the delivery.")
    ] = None,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Dismiss refused deliveries: they are not needed.

    Until a refused delivery is retried successfully or dismissed, `run` exits with 4 and `status`
    lists it. A dismissed delivery stays in the view `refused_deliveries`, with the note. Dismissing
    it again changes nothing; a retry that names it undoes it.

    \b
    Examples:
      fencepost quarantine dismiss ticks/junk.csv --note "test file"
      fencepost status --json | jq -r '.unanswered[] | .feed + "/" + .path'
    """  # noqa: D301
    from fencepost.text import escaped
    from pipelines.ingest.refusals import dismiss as dismissed
    from pipelines.project.lake import open_to_write
    from pipelines.project.settings import load

    settings = load(config, lake=lake)
    with open_to_write(settings, "fencepost quarantine dismiss") as (store, _):
        done = dismissed(store, deliveries, note, time.time_ns() // 1000)
    if as_json:
        print_json(vars(done))
        return
    for name in done.dismissed:
        typer.echo(f"dismissed  {escaped(name)}")
    for name in done.before:
        typer.echo(f"unchanged  {escaped(name)}: already dismissed")
    for name in done.answered:
        typer.echo(
            f"unchanged  {escaped(name)}: needs no answer; see fencepost sql --describe "
            "refused_deliveries"
        )


def _print(report: "IngestReport") -> None:
    """Print what was loaded, what was refused, and what was skipped."""
    from fencepost.text import escaped
    from pipelines.cli import run_output

    if report.loaded:
        rejected = report.malformed + report.future
        typer.echo(
            f"retried    {counted(report.rows, 'row')} = {counted(report.tuples, 'tuple')} + "
            f"{rejected:,} quarantined again; `fencepost run` evaluates what was loaded"
        )
    for line in run_output.refusals(report):
        typer.echo(line)
    if not report.loaded and not report.refused:
        typer.echo("nothing to retry")
    for of_feed, whys in report.passed_over.items():
        for why in whys:
            typer.echo(f"note: {of_feed}: {escaped(why)}", err=True)
