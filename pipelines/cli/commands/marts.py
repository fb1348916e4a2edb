"""`fencepost marts`: bring the marts up to date, and print where other programs find them.

Law: it acquires no lock and starts no JVM; a mart that is up to date is not written.
"""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fencepost.text import counted
from pipelines.cli.options import AsJson, Config, LakeFolder, shown_place

if TYPE_CHECKING:
    from pipelines.serve.marts import MartReport

Feeds = Annotated[list[str] | None, typer.Argument(metavar="[FEED]...", help="Only these feeds.")]


def marts(
    feeds: Feeds = None,
    *,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Write inside_now, visits and daily_summary as plain Delta tables, for any engine.

    They are in the lake under marts/. Dagster keeps them up to date by itself. inside_now and
    visits get what came since they were last written, if that still counts; otherwise, and
    daily_summary always, all rows are read again. Each line ends with which it was.

    \b
      fencepost marts
      fencepost marts ticks
      duckdb -c "load delta; select * from delta_scan('lake/marts/daily_summary')"
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.project.settings import load
    from pipelines.serve.marts import refresh

    settings = load(config, lake=lake)
    reports = [each for feed in feeds or settings.feeds for each in refresh(settings, feed)]
    if as_json:
        typer.echo(json.dumps({"marts": [_fields(report) for report in reports]}))
        return
    wide = max(map(len, settings.feeds))
    for report in reports:
        typer.echo(_line(report, wide))


def _fields(report: "MartReport") -> dict[str, Any]:
    return {**vars(report), "path": str(report.path)}


def _line(report: "MartReport", wide: int) -> str:
    """Describe a mart on one line."""
    shown = shown_place(report.path)
    rows = counted(report.rows, "row")
    what = f"{report.seconds:.1f} s" if report.changed else "unchanged"
    where = f"{report.feed:<{wide}}  {report.name:<13}  {rows:>14}  {what:>9}   {shown}"
    return f"{where}  ({report.how})"
