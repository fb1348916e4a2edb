"""`fencepost eval`: its options and its output."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.cli import features
from pipelines.cli.exit_codes import Code
from pipelines.cli.hints import hints_by_feed, order_by_feed, takes_texts
from pipelines.cli.options import AsJson, duration, print_json
from pipelines.files.write.form import OutForm

if TYPE_CHECKING:  # imported where it is needed
    from pipelines.project.settings import Settings


@takes_texts
def evaluate(  # noqa: PLR0913  options are many
    *,
    queries: Annotated[
        list[str],
        typer.Option(
            "--queries",
            "-q",
            metavar="FILE",
            help="Queries: JSON lines; Parquet with columns id, <axis>_lo, <axis>_hi and, for "
            "several feeds, feed; or zones: GeoJSON, GeoParquet, GeoPackage, Shapefile. "
            "Repeatable.",
        ),
    ],
    tuples: Annotated[
        list[str],
        typer.Option(
            "--tuples",
            "-t",
            metavar="[FEED=]FILE",
            help="One delivery: CSV, JSON lines or Parquet, plain or gzip, on a disk or on a store "
            "(s3://…). Repeatable; the order counts. FEED= is optional if all queries name one "
            "feed.",
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Folder for the results; created if missing."
        ),
    ],
    form: Annotated[
        OutForm, typer.Option("--format", "-f", help="Format of the results.")
    ] = OutForm.CSV,
    axes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[FEED=]A,B",
            help="The axes, if not every column beside stream_id and ts is one.",
        ),
    ] = None,
    allowed_lateness: Annotated[
        int | None,
        typer.Option(
            parser=duration,
            metavar="DURATION",
            help="How long tuples wait for earlier ones of later deliveries: 90s, 3m, PT3M; "
            "default: 0s.",
        ),
    ] = None,
    clock: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with the feed's clock, for --max-skew."),
    ] = None,
    max_skew: Annotated[
        int,
        typer.Option(
            parser=duration,
            metavar="DURATION",
            help="How far a ts may be ahead of its clock; beyond that it is quarantined.",
        ),
    ] = "24h",  # type: ignore[assignment]
    id_property: features.IdProperty = None,
    within: features.Within = None,
    where: features.Where = None,
    kind: features.Kind = None,
    radius: features.Radius = None,
    width: features.Width = None,
    leaps: features.Leaps = False,
    mapped: features.Mapped = None,
    layer: features.Layer = None,
    texts: dict[str, Any],
    guesses: Annotated[
        bool, typer.Option("--guess", help="Find out from the files what no option says.")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            "-c",
            metavar="FILE",
            help="A fencepost.toml, or its folder: files are read as its feeds declare.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate standing queries over files, without a lake.

    The results go to a folder. Unless told otherwise, the columns of a delivery are stream_id, ts
    and the axes; ts is ISO 8601 with Z or an offset. Other files are read by options, each for all
    feeds or with FEED= for one; or as --config declares their feeds; or with --guess as they show
    themselves, and then it is said what was found. Queries are active from before the first
    delivery. Joins see the deliveries of both feeds in the order given.

    \b
    The files in DIR, each in a stable order:
      events       type,feed,query_id,query_version,stream_id,ts,place,prev_ts, axes,
                   prev_ axes
      transitions  type,feed,query_id,query_version,stream_id,ts,from_ts,from_place,
                   to_ts,to_place
      matches      feed,query_id,query_version,stream_id,ts,place: the tuples that
                   `match` queries matched
      leaps        feed,query_id,query_version,stream_id,ts,place,prev_ts,enter_ts,
                   leave_ts,enter_share,leave_share, axes, prev_ axes: steps that were
                   in a query with `leaps` between their ends, and at neither
      pairs        feeds,query_id,query_version,ts,left_stream_id,left_ts,left_place,
                   left_ axes,right_stream_id,right_ts,right_place, right_ axes: both
                   tuples of every pair that a `window_join` found, at the ts of the one
                   evaluated later
      band_changes feeds,query_id,query_version,change,left_stream_id,right_stream_id,
                   left_value,right_value,ts,place: the pairs of streams that enter (+1)
                   or leave (-1) the result of a `band_join`
      near_changes feeds,query_id,query_version,change,left_stream_id,right_stream_id,
                   left_x,left_y,right_x,right_y,distance,ts,place: those of a
                   `near_join`
      quarantine   reason,detail,source,line,raw: every rejected row, and why (malformed,
                   duplicate, conflict, late or future)

    Rows read = accepted + waiting + quarantined, exactly. With --allowed-lateness, waiting rows
    are those that no later delivery has released. Where rows are rejected, the first reasons are
    printed, with an example and the option that would take them in. Exits with 4 where every row of
    some file was rejected; the results are written all the same.

    \b
    Examples:
      fencepost eval --queries rules.jsonl --tuples ticks=today.csv --out results
      fencepost eval -q rules.jsonl -t ticks=mon.csv.gz -t ticks=tue.parquet -o out -f parquet
      fencepost eval -q zones.jsonl -t gps.jsonl --ts-unit ms --axes x,y -o out --json
      fencepost eval -q rules.jsonl -t ticks=a.csv -t ticks=b.csv --allowed-lateness 5m -o out
      fencepost eval -q rules.jsonl -t ticks=s3://bucket/2026/today.parquet -o out
      fencepost eval -q rules.jsonl -t trades=downloads/trades.csv --guess -o out
      fencepost eval -q rules.jsonl -t SPY.csv --stream SPY --ts-column Date --timezone UTC -o out
      fencepost eval -q zones.geojson --id name -t vans=gps.csv --position lon,lat -o out
      fencepost eval -q spreads.jsonl --tuples bids=bids.csv --tuples asks=asks.csv -o out
    """  # noqa: D301  \b is a character: the lines after it stay lines
    started = time.perf_counter()
    from pipelines.cli.progress import progress_bar
    from pipelines.eval.request import EvalRequest, Given, axes_by_feed, clock_column
    from pipelines.eval.run import run
    from pipelines.eval.shape import FileShapes

    if guesses and config is not None:
        raise typer.BadParameter("--guess finds out what --config would say: give one of them")
    given = tuple(Given.of(argument) for argument in tuples)
    feeds = {each.feed for each in given if each.feed}
    request = EvalRequest(
        queries=tuple(queries),
        tuples=given,
        out=Path(out),
        form=form,
        shapes=FileShapes(
            axes_by_feed(axes or [], clock),
            hints_by_feed(texts, feeds),
            order_by_feed(texts, feeds),
            allowed_lateness,
            clock_column(clock),
            _settings(config),
            guesses,
        ),
        max_skew=max_skew,
        features=features.feature_fields(
            id_property,
            mapped,
            within=within,
            where=where,
            kind=kind,
            radius=radius,
            width=width,
            leaps=leaps or None,
        ),
        layer=layer,
    )
    with progress_bar() as progress:
        summary = run(request, progress)
    seconds = time.perf_counter() - started
    for note in summary.notes:
        typer.echo(note, err=True)
    features.note_unread(request.features)
    if as_json:
        print_json(summary.as_json(seconds))
    else:
        typer.echo(summary.as_text(seconds))
    if summary.is_lost:
        raise typer.Exit(Code.UNANSWERED)


def _settings(config: Path | None) -> "Settings | None":
    if config is None:
        return None
    from pipelines.project.settings import load

    return load(config)
