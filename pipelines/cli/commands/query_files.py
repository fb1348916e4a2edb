"""`fencepost queries import` and `export`: the registry of standing queries, from and to files.

Law: files are imported whole or not at all, and every fault of every file is reported. What is
exported is imported as the same queries.
"""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fencepost.errors import InputError, refuse_unknown
from fencepost.text import counted
from pipelines.cli import completion, features
from pipelines.cli.options import AsJson, Config, LakeFolder, OfFeed, print_json
from pipelines.cli.registration import (
    Agreed,
    agreement,
    print_registered,
    settings_of,
    store_of,
)

if TYPE_CHECKING:  # Arrow and Delta are imported where they are needed: --help stays quick
    from pipelines.project.settings import Settings


class ExportFormat(StrEnum):
    """The formats of a file of queries."""

    JSONL = "jsonl"
    GEOJSON = "geojson"


def import_files(  # noqa: PLR0913  options are many
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="JSON lines; Parquet with columns id, <axis>_lo, <axis>_hi, kind if some are "
            "matches, and feed if there are several feeds; or zones: GeoJSON, GeoParquet, "
            "GeoPackage, Shapefile. Plain or gzip. Joins need JSON lines. Default: the files of "
            "[lake] queries.",
        ),
    ] = None,
    *,
    feed: Annotated[
        str | None,
        typer.Option(
            "--feed",
            metavar="FEED",
            help="The feed of rows and zones that name none; with --replace, the feed to replace.",
            autocompletion=completion.feeds,
        ),
    ] = None,
    id_property: features.IdProperty = None,
    within: features.Within = None,
    where: features.Where = None,
    kind: features.Kind = None,
    radius: features.Radius = None,
    width: features.Width = None,
    leaps: features.Leaps = False,
    mapped: features.Mapped = None,
    layer: features.Layer = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Remove active queries that are not in the files.")
    ] = False,
    yes: Agreed = False,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Register the queries of files, all of them or none.

    Without --replace, queries that are not in the files stay active. An active query gets a new
    version if its meaning changes (feed, kind, where, streams, streams_like, within, on_first,
    validity; for a join its feeds, on, window, band), but not if only owner, tags, note or spelling
    do. --replace with --feed keeps joins, which are of two feeds.

    A zone is a region of a query: a polygon, a point with a property radius, a line with a property
    width. Properties are fields by their names, or by --map.

    \b
    Examples:
      fencepost queries import rules.jsonl
      fencepost queries import                    the files of fencepost.toml
      fencepost queries import zones.parquet --feed locations --replace
      fencepost queries import zones.geojson --feed vans --id name --within 3m
      fencepost queries import stops.geojson --radius 50m --map note=description
    """  # noqa: D301
    settings = settings_of(config, lake)
    refuse_unknown(feed, settings.feeds, "feed")
    from pipelines.files.read.query_file import open_queries
    from pipelines.registry import commit
    from pipelines.registry.query_files import read_given

    fields = features.feature_fields(
        id_property,
        mapped,
        settings.queries_id,
        within=within,
        where=where,
        kind=kind,
        radius=radius,
        width=width,
        leaps=leaps or None,
    )
    opening = partial(open_queries, fields=fields, layer=layer)
    sources = files or _declared(settings)
    given = read_given(
        sources, settings.axes, feed or settings.only_feed, settings.positions, opening
    )
    features.note_unread(fields)
    command = "fencepost queries import"
    if replace:
        print_registered(commit.replace(settings, command, given, feed, agreement(yes)), as_json)
    else:
        print_registered(commit.put(settings, command, given), as_json)


def export(
    *,
    feed: OfFeed = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Output file; default: stdout."),
    ] = None,
    form: Annotated[
        ExportFormat | None,
        typer.Option(
            "--format",
            "-f",
            help="geojson: queries with a region, for maps. Default: by the name of --out, "
            "else jsonl.",
        ),
    ] = None,
    as_json: AsJson = False,
    config: Config = None,
    lake: LakeFolder = None,
) -> None:
    """Write active queries as JSON lines, or those with a region as GeoJSON.

    Importing the file again gives the same queries.

    \b
    Examples:
      fencepost queries export > rules.jsonl
      fencepost queries export --feed ticks --out ticks.jsonl.gz
      fencepost queries export --out zones.geojson
    """  # noqa: D301
    settings = settings_of(config, lake)
    refuse_unknown(feed, settings.feeds, "feed")
    from pipelines.registry.listing import QueryFilter
    from pipelines.registry.queries import standing
    from pipelines.registry.text import COLLECTED, feature_lines, in_one, json_lines, write_lines

    queries = QueryFilter(feed).among(standing(store_of(settings)))
    if (form or _form_of(out)) is ExportFormat.GEOJSON:
        every = queries.num_rows
        queries = queries.filter(queries["region_on"].is_valid())
        _note_others(every - queries.num_rows)
        lines = in_one(feature_lines(queries, settings.axes), COLLECTED)
    elif out is None and as_json:
        lines = in_one(json_lines(queries, settings.axes))
    else:
        lines = json_lines(queries, settings.axes)
    if out is None:
        for line in lines:
            typer.echo(line)
        return
    write_lines(out, lines)
    if as_json:
        print_json({"out": str(out), "queries": queries.num_rows})
    else:
        typer.echo(f"{out}: {counted(queries.num_rows, 'standing query', 'standing queries')}")


def _form_of(out: Path | None) -> ExportFormat:
    is_map = out is not None and ".geojson" in [end.lower() for end in out.suffixes]
    return ExportFormat.GEOJSON if is_map else ExportFormat.JSONL


def _note_others(count: int) -> None:
    if count:
        queries = counted(count, "query has", "queries have")
        typer.echo(f"note: {queries} no region, and cannot be on a map", err=True)


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
