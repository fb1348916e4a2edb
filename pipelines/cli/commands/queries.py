"""`fencepost queries`: the registry of standing queries, on the command line.

Law: queries are registered all or none, every fault is reported, and no JVM is started.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from fencepost.errors import InputError, refuse_unknown
from pipelines.cli import completion
from pipelines.cli.commands.query_files import export, import_files
from pipelines.cli.help import page, pages
from pipelines.cli.options import AsJson, Config, LakeFolder, OfFeed
from pipelines.cli.registration import Agreed, agreement, print_registered, settings_of, store_of

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

KINDS = "crossing|match|window_join|band_join|near_join"


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
            "of two feeds; band_join, near_join: pairs of streams.",
            "--kind",
            KINDS,
        ),
    ] = None,
    where: Annotated[str | None, _text("The condition: price >= 231.5", "--where")] = None,
    region: Annotated[
        str | None,
        _text("Where: a Polygon as GeoJSON or WKT, a circle, a corridor.", "--region", "SHAPE"),
    ] = None,
    leaps: Annotated[
        bool, typer.Option("--leaps", help="Report steps that leap through it, too.")
    ] = False,
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
    distance: Annotated[
        str | None, _text("Near join: how far apart at most: 200m, 0.5km.", "--distance")
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
      fencepost queries add --id stop --feed vans \\
        --region '{"circle": {"center": [116.39, 39.9], "radius": "150m"}}'
      fencepost queries add --id spread --kind band_join --left bids.price --right asks.price \\
        --between=-0.5,0.5
      fencepost queries add --id convoy --kind near_join --left vans --right vans --distance 200m
    """  # noqa: D301  \b is a character: the lines after it stay lines
    options = {
        "id": query_id,
        "feed": feed,
        "kind": kind,
        "left": left,
        "right": right,
        "on": on,
        "where": where,
        "region": region,
        "leaps": leaps or None,
        "window": window,
        "between": between,
        "distance": distance,
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
    settings = settings_of(config, lake)
    from pipelines.registry import commit
    from pipelines.registry.query_files import given_line, given_words

    given = (
        given_words(fields, "query", settings.axes, settings.positions)
        if query is None
        else given_line(query, "query", settings.axes, settings.positions)
    )
    print_registered(commit.put(settings, "fencepost queries add", given), as_json)


page(app, "import")(import_files)


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
    settings = settings_of(config, lake)
    refuse_unknown(feed, settings.feeds, "feed")
    refuse_unknown(kind, KINDS.split("|"), "kind")
    from pipelines.registry.listing import QueryFilter, list_queries

    wanted = QueryFilter(feed, owner, tag, ids, kind)
    for line in list_queries(store_of(settings), wanted, settings.axes, limit, in_json=as_json):
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
    settings = settings_of(config, lake)
    from pipelines.registry.listing import describe

    for line in describe(store_of(settings), query_id, settings.axes, in_json=as_json):
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
    yes: Agreed = False,
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
    settings = settings_of(config, lake)
    from fencepost.errors import Fault
    from pipelines.registry import commit

    command = "fencepost queries remove"
    if owner is not None:
        print_registered(commit.remove_owned(settings, command, owner, agreement(yes)), as_json)
        return
    wanted = [(Fault("remove", ""), query_id) for query_id in ids or ()]
    wanted += commit.ids_in(file) if file is not None else []
    print_registered(commit.remove(settings, command, wanted), as_json)


page(app, "export")(export)
