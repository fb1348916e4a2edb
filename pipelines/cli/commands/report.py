"""`fencepost report`: its options and its output.

Law: the lake is not changed and no lock is acquired; the file is whole or not there.
"""

import sys
import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fencepost.errors import InputError
from fencepost.text import counted
from pipelines.cli import completion
from pipelines.cli.options import AsJson, Config, LakeFolder, print_json
from pipelines.places import Place, is_remote, place_of

if TYPE_CHECKING:  # DuckDB is imported where it is needed: --help stays quick
    from pipelines.serve.report import ReportMade

KEY_OR_TIME = "KEY|TIME"


def report(  # noqa: PLR0913  options are many
    *,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Output file.",
            show_default="reports/<lake>.html, beside fencepost.toml or on the store",
        ),
    ] = None,
    feed: Annotated[
        list[str] | None,
        typer.Option(
            "--feed",
            metavar="FEED",
            help="Only this feed. Repeatable.",
            autocompletion=completion.feeds,
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar=KEY_OR_TIME, help="From this partition, or from this time (with Z)."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar=KEY_OR_TIME, help="Up to and including this partition, or before this time."
        ),
    ] = None,
    partition: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Only this partition: 2026-11-18 or 2026-11-18T09."),
    ] = None,
    stream: Annotated[
        list[str] | None,
        typer.Option(
            "--stream",
            metavar="ID",
            help="Always show this stream. Repeatable.",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Write a report: one HTML page that needs no network.

    Feeds with coordinates (x and y, or longitude and latitude) are shown as maps with a time
    slider, others as charts; with crossings and transitions, pairs and changes of joins, the
    busiest queries and streams, rejected rows, and the epochs. The page shows the streams with the
    most crossings, and those named by --stream. A large lake is downsampled, and the page says how.

    \b
    Examples:
      fencepost report
      fencepost report --partition 2026-11-18T09 --open
      fencepost report --feed ticks --since 2026-11-16 --until 2026-11-18 -o week.html
      fencepost report --feed ticks --stream AAPL --stream MSFT
      fencepost report --since 2026-11-18T09:30Z --until 2026-11-18T10:15Z
    """  # noqa: D301  \b is a character: the lines after it stay lines
    from pipelines.cli.progress import progress_bar
    from pipelines.project.settings import load
    from pipelines.serve.report import default_path, write_report

    if partition is not None and (since is not None or until is not None):
        raise InputError("--partition cannot be combined with --since or --until")
    settings = load(config, lake=lake)
    path = default_path(settings, since, until, partition)
    if out is not None:
        path = place_of(out, Path()) if "://" in out else Path(out)
    started = time.perf_counter()
    with progress_bar() as progress:
        made = write_report(
            settings,
            path,
            feeds=feed,
            since=since,
            until=until,
            partition=partition,
            streams=stream or (),
            progress=progress,
        )
    took = time.perf_counter() - started
    if as_json:
        page = {"path": str(made.path), "bytes": made.bytes, "seconds": round(took, 3)}
        print_json({**page, **made.counts})
    else:
        typer.echo(_line(made, took))
    if show:
        _open(made.path)


def _line(made: "ReportMade", took: float) -> str:
    """Describe the page on one line."""
    counts = made.counts
    if not any(
        counts[name] for name in ("tuples", "crossings", "pairs", "band_changes", "near_changes")
    ):
        return f"{made.path}: no data in range; the report is empty"
    also = (
        ("matches", "match", "matches"),
        ("pairs", "pair"),
        ("band_changes", "band change"),
        ("near_changes", "near change"),
    )
    more = "".join(f", {counted(counts[name], *words)}" for name, *words in also if counts[name])
    return (
        f"{made.path}: {counted(counts['tuples'], 'tuple')}, "
        f"{counted(counts['crossings'], 'crossing')}, "
        f"{counted(counts['transitions'], 'transition')}{more}   "
        f"{made.bytes / 1e6:.1f} MB in {took:.1f} s"
    )


def _open(path: Place) -> None:
    """Open a page; without a browser, print where it is."""
    if is_remote(path):
        sys.stderr.write(f"a page on a store cannot be opened from there: {path}\n")
    elif not webbrowser.open(path.resolve().as_uri()):
        sys.stderr.write(f"no browser found; the page is {path.resolve()}\n")
