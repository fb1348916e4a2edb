"""`fencepost generate`: seeded workloads as files, to try things on, to show and to measure.

Law: the same options give the same tuples and queries. The defaults are S1's set-ups (§7.1, §7.2).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from fencepost.errors import FencepostError
from fencepost.times import parse_duration, parse_instant

app = typer.Typer(
    help="Make seeded workloads: streams of tuples, and the standing queries that watch them.",
    no_args_is_help=True,
)

Meaning = TypeVar("Meaning")


def option(panel: str, words: str, *names: str, **more: Any) -> Any:  # noqa: ANN401 (Typer's own)
    """Describe an option, in its panel of the help."""
    return typer.Option(*names, help=words, rich_help_panel=panel, **more)


FILES, STREAMS, VALUES, QUERIES = "Files", "Streams", "Values", "Standing queries"
START = "2026-01-05T00:00:00Z"

Out = Annotated[
    Path, option(FILES, "The tuples: .csv, .jsonl or .parquet; the first two also with .gz.")
]
QueriesOut = Annotated[Path | None, option(FILES, "The standing queries: .jsonl or .parquet.")]
Start = Annotated[str, option(STREAMS, "The first instant, ISO 8601 with Z or an offset.")]
Seed = Annotated[int, option(STREAMS, "Another seed, another workload.", min=0)]
Within = Annotated[
    str | None, option(QUERIES, "Ask for transitions with this t, as 3m.", show_default="none")
]


@app.command()
def ticks(  # noqa: PLR0913 (options are many)
    out: Out,
    queries_out: QueriesOut = None,
    market: Annotated[  # noqa: FBT002 (a flag)
        bool, option(STREAMS, "Trades of invented symbols, with price and volume.", "--market")
    ] = False,
    streams: Annotated[
        int | None, option(STREAMS, "How many.", show_default="2000; 300 in a market")
    ] = None,
    length: Annotated[int, option(STREAMS, "Tuples a stream.")] = 1_000,
    interval: Annotated[
        str, option(STREAMS, "Between two tuples of a stream; in a market the mean.")
    ] = "1s",
    start: Start = START,
    order: Annotated[
        str | None,
        option(
            STREAMS,
            "time: as they would arrive; stream: one stream after another.",
            show_default="time",
        ),
    ] = None,
    seed: Seed = 1,
    fluctuation: Annotated[
        float | None,
        option(
            VALUES,
            "FL: the mean |step|, a part of the domain (S1: 0.0001 to 0.001);"
            " in a market a part of the opening price.",
            "--fluctuation",
            "--fl",
            show_default="0.0001; 0.0003 in a market",
        ),
    ] = None,
    domain: Annotated[
        float | None,
        option(
            VALUES,
            "D: values lie in 0 to D; in a market only the bands do.",
            show_default="1000000; 1000 in a market",
        ),
    ] = None,
    axes: Annotated[
        int | None,
        option(VALUES, "1: price; more: a0, a1 and so on.", min=1, max=64, show_default="1"),
    ] = None,
    starts: Annotated[
        str | None, option(VALUES, "First values: uniform or normal.", show_default="uniform")
    ] = None,
    decimals: Annotated[
        int | None, option(VALUES, "Round to so many.", min=0, max=9, show_default="all")
    ] = None,
    queries: Annotated[int, option(QUERIES, "N, the bands (S1: 10000 to 100000).")] = 10_000,
    width: Annotated[
        float, option(QUERIES, "W, a part of the domain (S1: 0.0001 to 0.001).")
    ] = 0.001,
    widest: Annotated[
        float | None,
        option(QUERIES, "Draw each W between --width and this.", show_default="--width"),
    ] = None,
    bounds: Annotated[str, option(QUERIES, "Lower bounds: uniform or normal.")] = "uniform",
    named: Annotated[float, option(QUERIES, "The share that watch one stream only.")] = 0.0,
    within: Within = None,
) -> None:
    r"""Make streams of prices, and the price bands that watch them.

    By default as in S1: at each second every stream takes a step, uniform on ±2·FL·D. A band is
    the range of prices from its lower bound to W·D above it.

    \b
    A small one to try:
      fencepost generate ticks --out ticks.csv --streams 100 \
          --queries-out bands.jsonl --queries 500 --within 30s
      fencepost eval --queries bands.jsonl --tuples ticks=ticks.csv --out DIR

    \b
    S1's default, two million tuples against 100,000 queries:
      fencepost generate ticks --out ticks.parquet \
          --queries-out bands.parquet --queries 100000

    \b
    A market of 50 symbols, most queries on one symbol each:
      fencepost generate ticks --market --streams 50 --out market.csv.gz \
          --queries-out alerts.jsonl --queries 300 --named 0.8 --within 3m
    """
    common = {
        "length": length,
        "interval": _read("--interval", parse_duration, interval),
        "start": _read("--start", parse_instant, start),
        "seed": seed,
    } | _given(fluctuation=fluctuation, domain=domain)
    t = _read("--within", parse_duration, within)
    walks = _given(dimensions=axes, starts=starts, order=order)
    if market and walks:
        raise typer.BadParameter("--axes, --starts and --order say nothing about a --market")
    with _told():
        from fencepost.workloads import Market, PriceBands, PriceWalks
        from pipelines.workload_files import Workload

        plan = (
            Market(**common, **_given(symbols=streams))
            if market
            else PriceWalks(**common, **_given(streams=streams), **walks)
        )
        asked = PriceBands(
            count=queries, width=width, widest=widest, bounds=bounds, named=named, within=t
        )
        tuples = rounded(plan.tuples(), decimals)
        workload = Workload(tuples, plan.bands(asked).table())
        realised = plan.fluctuation(tuples)
        ...
