"""`fencepost quarantine`: rows and deliveries that were not taken, why, and what answers them.

Law: what is printed is on its line whatever the row held; --json gives it verbatim.
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
    from pipelines.ingest.report import IngestReport

MOST_ROWS = 2**62
"""The most that DuckDB takes for a limit."""

HEADER = ("arrival", "path", "line", "reason", "detail", "raw")
RAW_SHOWN = 60

app = pages(
    """Look at what was not taken, try it again, or dismiss it.

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
            help=f"Only these: {', '.join(completion.REASONS)}.",
            autocompletion=completion.reasons,
        ),
    ] = None,
    arrival: Annotated[
        int | None, typer.Option("--arrival", min=1, help="Only of the delivery of this number.")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=0, max=MOST_ROWS, help="At most so many rows; 0: all.")
    ] = 20,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Show the rows that were not taken: where they stood, and why.

    They are counted by feed and reason; then come the rows, with what they say.

    \b
    Examples:
      fencepost quarantine show
      fencepost quarantine show --feed ticks --reason malformed --limit 0 --json
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.project.settings import load
    from pipelines.serve.quarantine import Asked, quarantined

    settings = load(config, lake=lake)
    refuse_unknown(feed, settings.feeds, "feed")
    refuse_unknown(reason, completion.REASONS, "reason")
    found = quarantined(settings, Asked(feed, reason, arrival), limit)
    if as_json:
        counts = [
            {"feed": of_feed, "reason": why, "rows": rows} for of_feed, why, rows in found.counts
        ]
        print_json({"counts": counts, "rows": found.rows})
        return
    from fencepost.text import escaped
    from pipelines.cli.tables import print_table

    if not found.counts:
        typer.echo("no such row is in quarantine")
        return
    print_table(("feed", "reason", "rows"), found.counts)
    typer.echo()
    told = [
        (*(row[name] for name in HEADER[:-1]), escaped(row["raw"], RAW_SHOWN)) for row in found.rows
    ]
    print_table(HEADER, told)
    total = sum(many for *_, many in found.counts)
    if len(told) < total:
        typer.echo(f"{len(told):,} of {counted(total, 'row')}; --limit 0 shows all", err=True)


Deliveries = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FEED/PATH]",
        help="Only these deliveries, dismissed ones too: the feed, and the path in its folder.",
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
            help="Only what was turned away for this; may be given several times.",
            autocompletion=completion.reasons,
        ),
    ] = None,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Take up again what was turned away, once its cause is mended.

    The cause may lie in the feed's declaration or in the file. Rows that were malformed or from the
    future, and deliveries that could not be read, come in as new deliveries; what is still no good
    is turned away again. A delivery refused as `changed` or `repeat` is taken up only where the
    reason is named, one that was dismissed only where it is named itself. `fencepost run` then
    evaluates what came in.

    Ends with 4 if a delivery was refused again.

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
        held,
        _,
    ):
        now = time.time_ns() // 1000
        report = ingest.retry(
            held.store,
            settings,
            held.runner,
            now,
            feed=feed,
            reasons=reason or USUAL,
            names=deliveries or (),
        )
    if as_json:
        told = {
            "deliveries": [vars(each) for each in report.loaded],
            "refused": [vars(each) for each in report.refused],
            "passed_over": report.passed_over,
        }
        print_json(told)
    else:
        _tell(report)
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
    note: Annotated[str | None, typer.Option(metavar="TEXT", help="Why; it is kept.")] = None,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Dismiss refused deliveries: nothing of them is missing.

    Until a refused delivery is retried with success or dismissed, `run` ends with 4 and `status`
    lists it. What was dismissed stays in the view `refused_deliveries`, with the note. To dismiss
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
        typer.echo(f"unchanged  {escaped(name)}: was dismissed before")
    for name in done.answered:
        typer.echo(
            f"unchanged  {escaped(name)}: needs no answer: fencepost sql --describe "
            "refused_deliveries"
        )


def _tell(report: "IngestReport") -> None:
    """Say what came in, what did not, and what was passed over."""
    from fencepost.text import escaped
    from pipelines.cli import run_output

    if report.loaded:
        turned = report.malformed + report.future
        typer.echo(
            f"taken up   {counted(report.rows, 'row')} = {counted(report.tuples, 'tuple')} + "
            f"{turned:,} quarantined again; `fencepost run` evaluates what came in"
        )
    for line in run_output.refusals(report):
        typer.echo(line)
    if not report.loaded and not report.refused:
        typer.echo("nothing to take up again")
    for of_feed, whys in report.passed_over.items():
        for why in whys:
            typer.echo(f"note: {of_feed}: {escaped(why)}", err=True)
