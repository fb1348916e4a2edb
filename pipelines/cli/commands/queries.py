"""`fencepost queries`: the registry of standing queries, on the command line.

Law: queries are registered all or none, every fault is reported, and no JVM is started.
"""

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fencepost.errors import InputError, refuse_unknown
from fencepost.text import counted
from pipelines.cli import completion
from pipelines.cli.help import page, pages
from pipelines.cli.options import AsJson, Config, LakeFolder, OfFeed, print_json

if TYPE_CHECKING:  # Arrow and Delta are imported where they are needed: --help stays quick
    from pipelines.lake.store import Store
    from pipelines.project.settings import Settings
    from pipelines.registry.commit import Registered

app = pages(
    """Register, list, show, remove and export standing queries.

    A query applies to data loaded from its registration on. Every version of it is kept, so past
    evaluations can be repeated.

    \b
    Examples:
      fencepost queries import rules.jsonl
      fencepost queries list --feed ticks
      fencepost queries remove breakout
    """
)

KINDS = "crossing|match|window_join|band_join"

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before removing.")]


def _text(about: str, name: str, metavar: str = "TEXT") -> Any:  # noqa: ANN401 (Typer's own is Any)
    return typer.Option(name, metavar=metavar, help=about)


@page(app, "add")
def add(  # noqa: PLR0913
    query: Annotated[
        str | None, typer.Argument(metavar="JSON", help="The query as one JSON object.")
    ] = None,
    *,
    query_id: Annotated[str | None, _text("The query's id.", "--id")] = None,
    feed: Annotated[
        str | None,
        typer.Option(
            "--feed",
            metavar="FEED",
            help="The feed to watch.",
            autocompletion=completion.feeds,
        ),
    ] = None,
    kind: Annotated[
        str | None,
        _text(
            "crossing (default): I and O; match: every tuple inside; window_join: pairs of tuples "
            "of two feeds; band_join: pairs of streams.",
            "--kind",
            KINDS,
        ),
    ] = None,
    where: Annotated[str | None, _text("The condition: price >= 231.5", "--where")] = None,
    left: Annotated[str | None, _text("Join: the left feed, or feed.axis.", "--left")] = None,
    right: Annotated[str | None, _text("Join: the right feed, or feed.axis.", "--right")] = None,
    on: Annotated[
        str | None,
        _text("Window join: the condition: left.price >= right.limit", "--on"),
    ] = None,
    window: Annotated[
        str | None,
        _text("Window join: its length or size: 5m, 1000.", "--window", "DURATION|COUNT"),
    ] = None,
    between: Annotated[
        str | None,
        _text("Band join: range of left - right; '0.5,' has no end.", "--between", "A,B"),
    ] = None,
    streams: Annotated[
        list[str] | None,
        _text("Only these streams; default: all. Repeatable.", "--streams", "A,B"),
    ] = None,
    streams_like: Annotated[
        list[str] | None, _text("And those of this pattern: '00*'. Repeatable.", "--streams-like")
    ] = None,
    within: Annotated[
        str | None, _text("How long before a crossing is decided: 90s, 3m.", "--within", "DURATION")
    ] = None,
    on_first: Annotated[
        str | None, _text("Event when first seen inside.", "--on-first", "silent|enter")
    ] = None,
    valid_from: Annotated[
        str | None, _text("Active from this time.", "--valid-from", "TIME")
    ] = None,
    valid_to: Annotated[str | None, _text("Active before this time.", "--valid-to", "TIME")] = None,
    owner: Annotated[str | None, _text("Owner.", "--owner")] = None,
    tag: Annotated[list[str] | None, _text("Tag. Repeatable.", "--tag")] = None,
    note: Annotated[str | None, _text("Note.", "--note")] = None,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Register one query, or change the one with this id.

    \b
    Examples:
      fencepost queries add '{"id": "breakout", "feed": "ticks", "where": "price >= 231.5"}'
      fencepost queries add --id breakout --feed ticks --where 'price >= 231.5' --streams AAPL
      fencepost queries add --id block --feed ticks --kind match --where 'volume >= 100000'
      fencepost queries add --id spread --kind band_join --left bids.price --right asks.price \\
        --between=-0.5,0.5
    """  # noqa: D301  \b is a character: the lines after it stay lines
    options = {
        "id": query_id,
        "feed": feed,
        "kind": kind,
        "left": left,
        "right": right,
        "on": on,
        "where": where,
        "window": window,
        "between": between,
        "streams": [name for names in streams or () for name in names.split(",")] or None,
        "streams_like": streams_like or None,
        "within": within,
        "on_first": on_first,
        "valid_from": valid_from,
        "valid_to": valid_to,
        "owner": owner,
        "tags": tag or None,
        "note": note,
    }
    fields = {name: value for name, value in options.items() if value is not None}
    if (query is None) == (not fields):
        raise InputError("give the query as one JSON object, or else by --id and options")
    settings = _settings(config, lake)
    from pipelines.registry import commit
    from pipelines.registry.query_files import given_line, given_words

    given = (
        given_words(fields, "query", settings.axes)
        if query is None
        else given_line(query, "query", settings.axes)
    )
    _print(commit.put(settings, "fencepost queries add", given), as_json)


@page(app, "import")
def import_files(  # noqa: PLR0913  options are many
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="JSON lines, or Parquet with columns id, <axis>_lo, <axis>_hi, kind if some are "
            "matches, and feed if there are several feeds; plain or gzip. Joins need JSON lines. "
            "Default: the files of [lake] queries.",
        ),
    ] = None,
    *,
    feed: Annotated[
        str | None,
        typer.Option(
            "--feed",
            metavar="FEED",
            help="The feed of Parquet rows that name none; with --replace, the feed to replace.",
            autocompletion=completion.feeds,
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Remove active queries that are not in the files.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Register the queries of files, all of them or none.

    Without --replace, queries that are not in the files stay active. An active query gets a new
    version if its meaning changes (feed, kind, where, streams, streams_like, within, on_first,
    validity; for a join its feeds, on, window, band), but not if only owner, tags, note or spelling
    do. --replace with --feed keeps joins, which are of two feeds.

    \b
    Examples:
      fencepost queries import rules.jsonl
      fencepost queries import                    the files of fencepost.toml
      fencepost queries import zones.parquet --feed locations --replace
    """  # noqa: D301
    settings = _settings(config, lake)
    refuse_unknown(feed, settings.feeds, "feed")
    from pipelines.registry import commit
    from pipelines.registry.query_files import read_given

    only = feed or (next(iter(settings.feeds)) if len(settings.feeds) == 1 else None)
    given = read_given(files or _declared(settings), settings.axes, only)
    command = "fencepost queries import"
    if replace:
        _print(commit.replace(settings, command, given, feed, _agreement(yes)), as_json)
    else:
        _print(commit.put(settings, command, given), as_json)


@page(app, "list")
def list_queries(  # noqa: PLR0913  options are many
    *,
    feed: OfFeed = None,
    kind: Annotated[str | None, _text("Only this kind.", "--kind", KINDS)] = None,
    owner: Annotated[str | None, _text("Only this owner.", "--owner")] = None,
    tag: Annotated[str | None, _text("Only this tag.", "--tag")] = None,
    ids: Annotated[
        str | None, _text("Only matching ids: * is any text, ? one character.", "--id", "GLOB")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="Maximum number of queries; 0: all.")] = 50,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """List active queries by feed and id; a join belongs to both feeds.

    \b
    Examples:
      fencepost queries list --feed ticks --limit 10
      fencepost queries list --id 'depot-*' --json | jq -r '.queries[].id'
    """  # noqa: D301
    settings = _settings(config, lake)
    refuse_unknown(feed, settings.feeds, "feed")
    refuse_unknown(kind, KINDS.split("|"), "kind")
    from pipelines.registry.listing import QueryFilter, list_queries

    wanted = QueryFilter(feed, owner, tag, ids, kind)
    for line in list_queries(_store(settings), wanted, settings.axes, limit, in_json=as_json):
        typer.echo(line)


@page(app, "show")
def show(
    query_id: Annotated[
        str,
        typer.Argument(metavar="ID", help="The query's id.", autocompletion=completion.query_ids),
    ],
    *,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Show one query: its boxes, its versions, and its JSON.

    \b
    Examples:
      fencepost queries show breakout
      fencepost queries show breakout --json | jq .history
    """  # noqa: D301
    settings = _settings(config, lake)
    from pipelines.registry.listing import describe

    for line in describe(_store(settings), query_id, settings.axes, in_json=as_json):
        typer.echo(line)


@page(app, "remove")
def remove(  # noqa: PLR0913  options are many
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", help="The queries' ids.", autocompletion=completion.query_ids),
    ] = None,
    *,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="IDS", help="A file of ids, one per line.")
    ] = None,
    owner: Annotated[str | None, _text("Remove all queries of this owner.", "--owner")] = None,
    yes: Yes = False,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Remove queries; applies to data loaded from now on.

    \b
    Examples:
      fencepost queries remove breakout depot-7
      fencepost queries remove --file old.txt
      fencepost queries remove --owner ada --yes
    """  # noqa: D301
    if (owner is None) == (not ids and file is None):
        raise InputError("name the queries by ID or --file, or give --owner")
    settings = _settings(config, lake)
    from fencepost.errors import Fault
    from pipelines.registry import commit

    command = "fencepost queries remove"
    if owner is not None:
        _print(commit.remove_owned(settings, command, owner, _agreement(yes)), as_json)
        return
    wanted = [(Fault("remove", ""), query_id) for query_id in ids or ()]
    wanted += commit.ids_in(file) if file is not None else []
    _print(commit.remove(settings, command, wanted), as_json)


@page(app, "export")
def export(
    *,
    feed: OfFeed = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Output file; default: stdout."),
    ] = None,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Write active queries as JSON lines.

    Importing the lines again gives the same queries.

    \b
    Examples:
      fencepost queries export > rules.jsonl
      fencepost queries export --feed ticks --out ticks.jsonl.gz
    """  # noqa: D301
    settings = _settings(config, lake)
    refuse_unknown(feed, settings.feeds, "feed")
    from pipelines.registry.listing import QueryFilter
    from pipelines.registry.queries import standing
    from pipelines.registry.text import in_one, json_lines

    queries = QueryFilter(feed).among(standing(_store(settings)))
    lines = json_lines(queries, settings.axes)
    if out is None:
        for line in in_one(lines) if as_json else lines:
            typer.echo(line)
        return
    from pipelines.registry.text import write_lines

    write_lines(out, lines)
    if as_json:
        print_json({"out": str(out), "queries": queries.num_rows})
    else:
        typer.echo(f"{out}: {counted(queries.num_rows, 'standing query', 'standing queries')}")


def _settings(config: Path | None, lake: str | None) -> "Settings":
    from pipelines.project.settings import load

    return load(config, lake=lake)


def _store(settings: "Settings") -> "Store":
    from pipelines.lake.store import Store

    return Store.to_read(settings.root, settings.tables)


def _declared(settings: "Settings") -> list[str]:
    """Name the query files that the project declares."""
    from pipelines.registry.query_files import KINDS, rule_files

    files = [str(path) for path in rule_files(settings)]
    if not files and settings.queries is None:
        raise InputError(
            "no FILE, and fencepost.toml names none: give one, or write queries = "
            f'"rules" under [lake] in {settings.file}'
        )
    if not files:
        raise InputError(
            f"{settings.queries} has no file of queries: put one there whose name ends in "
            f"{', '.join(KINDS)}, or give a FILE"
        )
    return files


def _agreement(yes: bool) -> Callable[[int], None] | None:
    """Give what asks before queries are removed; None with --yes."""
    return None if yes else _agree


def _agree(count: int) -> None:
    what = counted(count, "query", "queries")
    if not sys.stdin.isatty():
        raise InputError(f"{what} would be removed: add --yes to confirm. Nothing changed.")
    if not typer.confirm(f"Remove {what}?", err=True):
        raise InputError("nothing changed")


def _print(registered: "Registered", as_json: bool) -> None:
    from pipelines.registry.listing import summary

    if as_json:
        print_json(asdict(registered))
    else:
        typer.echo(summary(registered))
