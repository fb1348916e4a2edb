"""`fencepost feeds`: the feeds of a project, and a new one found in a file of its data.

Law: fencepost.toml gains a table at its end and is otherwise left byte for byte as it was.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fencepost.errors import InputError
from pipelines.cli.help import HELP_NAMES, Manual, page
from pipelines.cli.hints import takes_hints
from pipelines.cli.options import AsJson, Config, LakeFolder, Yes, print_json
from pipelines.places import is_remote

if TYPE_CHECKING:  # Arrow is imported where it is needed: --help stays quick
    from pipelines.files.guess.hints import FeedHints
    from pipelines.project.settings import Feed

Samples = Annotated[
    list[Path],
    typer.Argument(
        metavar="SAMPLE",
        help="Files of the feed: CSV, JSON lines or Parquet, plain, gzip, zstd or zip; or a folder "
        "of them; or a Delta table.",
    ),
]
app = typer.Typer(
    help="""List the feeds of the project, or add one by looking at its data.

    \b
    Examples:
      fencepost feeds
      fencepost feeds add trades downloads/trades.csv
      fencepost feeds --json | jq -r '.feeds[].name'
    """,
    cls=Manual,
    rich_markup_mode=None,
    context_settings=HELP_NAMES,
    add_completion=False,
)


@app.callback(invoke_without_command=True)
def feeds(
    ctx: typer.Context,
    *,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """List the feeds of the project, or add one by looking at its data.

    \b
    Examples:
      fencepost feeds
      fencepost feeds add trades downloads/trades.csv
      fencepost feeds --json | jq -r '.feeds[].name'
    """  # noqa: D301  \b is a character: the lines after it stay lines
    if ctx.invoked_subcommand is not None:
        return
    from pipelines.cli.addition import shown
    from pipelines.cli.tables import print_table
    from pipelines.project.settings import load

    settings = load(config, lake=lake)
    if as_json:
        print_json({"feeds": [_as_json(feed) for feed in settings.feeds.values()]})
        return
    rows = [
        (feed.name, ", ".join(feed.axes), _stream(feed), _time(feed), shown(feed.source))
        for feed in settings.feeds.values()
    ]
    print_table(("feed", "axes", "stream", "time", "source"), rows, widest=None)


@page(app, "add")
@takes_hints
def add(  # noqa: PLR0913  options are many
    name: Annotated[str, typer.Argument(metavar="NAME", help="The feed's name: a-z, 0-9, _.")],
    samples: Samples,
    *,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Where its files will land; default: landing/NAME, or the folder given as SAMPLE.",
        ),
    ] = None,
    hints: "FeedHints",
    yes: Yes = False,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """Add a feed: look at a sample of its data, and declare it in fencepost.toml.

    The sample shows the form of the files, which column is the stream, which the time and how it is
    written, which are axes, and what travels along. What it cannot show is asked: the zone of times
    without an offset, whether the day or the month comes first, whose rows these are if no column
    says it. An option answers beforehand; with --yes nothing is asked, and what is not known is an
    error that names the options. Only then does a file of one series give its own name to its
    stream.

    The sample is then read as deliveries will be: how many rows would be taken, and why others not.
    The new table comes last in fencepost.toml; change it there as you like.

    \b
    Examples:
      fencepost feeds add trades downloads/trades.csv
      fencepost feeds add ticks 20131007_ibm_trades.zip --timezone America/New_York --yes
      fencepost feeds add boats ais.csv --timezone UTC --ts-format '%d/%m/%Y %H:%M'
      fencepost feeds add tracks plt/ --stream-from-path '(?P<stream>[0-9]+)/Trajectory' \\
        --columns lat,lon,zero,altitude,days,date,time --timezone UTC
      fencepost feeds add prices closes.csv --wide --axes close --timezone America/New_York
    """  # noqa: D301
    from pipelines.cli.addition import NewFeed, shown
    from pipelines.project.declaration import extended, write
    from pipelines.project.settings import load

    settings = load(config)
    file = settings.file
    if file is None:
        raise InputError("there is no fencepost.toml to add a feed to: `fencepost init` makes one")
    new = NewFeed.of(
        name,
        samples,
        hints,
        root=file.parent,
        settings=settings,
        source=source,
        yes=yes,
        as_json=as_json,
    )
    content, after = extended(file, new.table)
    write(file, content)
    feed = after.feeds[name]
    lines = [f"added    [feeds.{name}] to {shown(file)}"]
    if not is_remote(feed.source) and not feed.source.exists():
        feed.source.mkdir(parents=True)
        lines.append(f"made     {shown(feed.source)}/  landing folder: drop files here")
    if as_json:
        print_json({"feed": name, "config": str(file), **new.as_json()})
    else:
        typer.echo("\n".join([*new.lines, "", *lines, "", *new.next_steps(feed)]))


def _as_json(feed: "Feed") -> dict[str, Any]:
    return {
        "name": feed.name,
        "axes": list(feed.axes),
        "stream": _stream(feed),
        "time": _time(feed),
        "source": str(feed.source),
        "format": feed.form,
    }


def _stream(feed: "Feed") -> str:
    if feed.wide:
        return "each column"
    if feed.stream is not None:
        return f"'{feed.stream}'"
    return "its path" if feed.stream_from_path is not None else feed.stream_column


def _time(feed: "Feed") -> str:
    columns = (feed.ts_column,) if isinstance(feed.ts_column, str) else feed.ts_column
    how = feed.ts_format or feed.ts_unit
    zone = "" if feed.timezone is None else f" in {feed.timezone}"
    return f"{' and '.join(columns)}{f' ({how})' if how else ''}{zone}"
