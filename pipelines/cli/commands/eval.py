"""`fencepost eval`: its options and its output."""

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.exit_codes import Code
from pipelines.cli.options import AsJson, duration, print_json
from pipelines.files.write.form import OutForm


class TimeUnit(StrEnum):
    """The unit of an integer time."""

    S = "s"
    MS = "ms"
    US = "us"


def evaluate(  # noqa: PLR0913  options are many
    *,
    queries: Annotated[
        list[str],
        typer.Option(
            "--queries",
            "-q",
            metavar="FILE",
            help="Queries: JSON lines, or Parquet with columns id, <axis>_lo, <axis>_hi and, for "
            "several feeds, feed. Repeatable.",
        ),
    ],
    tuples: Annotated[
        list[str],
        typer.Option(
            "--tuples",
            "-t",
            metavar="[FEED=]FILE",
            help="One delivery: CSV, JSON lines or Parquet, plain or gzip. Repeatable; the order "
            "counts. FEED= is optional if all queries name one feed.",
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
    ts_unit: Annotated[
        TimeUnit | None,
        typer.Option(help="Unit of an integer ts; without it, an integer is malformed."),
    ] = None,
    axes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[FEED=]A,B",
            help="The axes, if not every column beside stream_id and ts is one.",
        ),
    ] = None,
    allowed_lateness: Annotated[
        int,
        typer.Option(
            parser=duration,
            metavar="DURATION",
            help="How long tuples wait for earlier ones of later deliveries: 90s, 3m, PT3M.",
        ),
    ] = "0s",  # type: ignore[assignment]  # the parser makes it an int
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
    as_json: AsJson = False,
) -> None:
    """Evaluate standing queries over files, without a lake.

    The results go to a folder. The columns of a delivery are stream_id, ts and the axes; ts is
    ISO 8601 with Z or an offset, or an integer with --ts-unit. Queries are active from before the
    first delivery. Joins see the deliveries of both feeds in the order given.

    \b
    The files in DIR, each in a stable order:
      events       type,feed,query_id,query_version,stream_id,ts,place,prev_ts, axes,
                   prev_ axes
      transitions  type,feed,query_id,query_version,stream_id,ts,from_ts,from_place,
                   to_ts,to_place
      matches      feed,query_id,query_version,stream_id,ts,place: the tuples that
                   `match` queries matched
      pairs        feeds,query_id,query_version,ts,left_stream_id,left_ts,left_place,
                   left_ axes,right_stream_id,right_ts,right_place, right_ axes: both
                   tuples of every pair that a `window_join` found, at the ts of the one
                   evaluated later
      band_changes feeds,query_id,query_version,change,left_stream_id,right_stream_id,
                   left_value,right_value,ts,place: the pairs of streams that enter (+1)
                   or leave (-1) the result of a `band_join`
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
      fencepost eval -q spreads.jsonl --tuples bids=bids.csv --tuples asks=asks.csv -o out
    """  # noqa: D301  \b is a character: the lines after it stay lines
    started = time.perf_counter()
    from pipelines.cli.progress import progress_bar
    from pipelines.eval.request import EvalRequest, Given, axes_by_feed, clock_column
    from pipelines.eval.run import run

    request = EvalRequest(
        queries=tuple(queries),
        tuples=tuple(Given.of(argument) for argument in tuples),
        out=Path(out),
        form=form,
        axes=axes_by_feed(axes or [], clock),
        ts_unit=None if ts_unit is None else ts_unit.value,
        lateness=allowed_lateness,
        clock=clock_column(clock),
        max_skew=max_skew,
    )
    with progress_bar() as progress:
        summary = run(request, progress)
    seconds = time.perf_counter() - started
    for note in summary.notes:
        typer.echo(note, err=True)
    if as_json:
        print_json(summary.as_json(seconds))
    else:
        typer.echo(summary.as_text(seconds))
    if summary.is_lost:
        raise typer.Exit(Code.UNANSWERED)
