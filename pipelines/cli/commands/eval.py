"""`fencepost eval`: its options, and what it says when it is done."""

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.options import AsJson, duration, print_json
from pipelines.files.write.form import OutForm


class Unit(StrEnum):
    """What an integer time counts."""

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
            help="Standing queries: JSON lines, or Parquet with columns id, <axis>_lo, <axis>_hi "
            "and where there are several feeds, feed. May be given several times.",
        ),
    ],
    tuples: Annotated[
        list[str],
        typer.Option(
            "--tuples",
            "-t",
            metavar="[FEED=]FILE",
            help="One delivery: CSV, JSON lines or Parquet, plain or gzip. May be given several "
            "times; deliveries are taken in this order. FEED= may be left out where all queries "
            "name one feed.",
        ),
    ],
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="DIR", help="Where the results go; made if need be."),
    ],
    form: Annotated[
        OutForm, typer.Option("--format", "-f", help="How the results are written.")
    ] = OutForm.CSV,
    ts_unit: Annotated[
        Unit | None,
        typer.Option(
            help="What a ts counts that is an integer; without it, integers are no times."
        ),
    ] = None,
    axes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[FEED=]A,B",
            help="The axes, where not every column beside stream_id and ts is one.",
        ),
    ] = None,
    allowed_lateness: Annotated[
        int,
        typer.Option(
            parser=duration,
            metavar="DURATION",
            help="How long a tuple may wait for earlier ones of later deliveries: 90s, 3m, PT3M.",
        ),
    ] = "0s",  # type: ignore[assignment]  # the parser makes it an int
    clock: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column with the feed's clock, for --max-skew."),
    ] = None,
    max_skew: Annotated[
        int,
        typer.Option(
            parser=duration,
            metavar="DURATION",
            help="How far ahead of its clock a ts may be; beyond, it is quarantined as future.",
        ),
    ] = "24h",  # type: ignore[assignment]
    as_json: AsJson = False,
) -> None:
    """Evaluate standing queries over files, without a lake.

    What was crossed, matched and joined is written into a folder. The columns of a delivery are
    stream_id, ts and the axes; ts is ISO 8601 with Z or an offset, or an integer with --ts-unit.
    Queries hold from before the first delivery on. Joins see the deliveries of both their feeds in
    the order in which they are given.

    \b
    In DIR are then, each in one stable order:
      events       type,feed,query_id,query_version,stream_id,ts,prev_ts, axes, prev_ axes
      transitions  type,feed,query_id,query_version,stream_id,ts,from_ts,to_ts
      matches      feed,query_id,query_version,stream_id,ts: tuples that `match` queries
                   hold for
      pairs        feeds,query_id,query_version,ts,left_stream_id,left_ts, left_ axes,
                   right_stream_id,right_ts, right_ axes: both tuples of every pair that
                   `window_join` queries find, at the ts of the later taken one
      band_changes feeds,query_id,query_version,change,left_stream_id,right_stream_id,
                   left_value,right_value,ts: the pairs of streams that come into the
                   result of `band_join` queries (+1) or leave it (-1), as they do
      quarantine   reason,detail,source,line,raw: every row that was not taken, and why
                   (malformed, duplicate, conflict, late or future)
    Rows read = accepted + waiting + quarantined, exactly. Waiting are, with --allowed-lateness,
    those that no later delivery has released.

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
