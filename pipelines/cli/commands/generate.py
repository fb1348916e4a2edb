"""`fencepost generate`: seeded workloads as files, for trials, demos and measurements.

Law: the same options give the same tuples and queries. The defaults are S1's set-ups (§7.1, §7.2).
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fencepost.times import parse_instant
from pipelines.cli.help import page, pages
from pipelines.cli.options import AsJson, duration, print_json

if TYPE_CHECKING:  # NumPy and Arrow are imported where they are needed: --help stays quick
    import pyarrow as pa

    from fencepost.tuples import TupleBatch
    from pipelines.workloads.files import Targets

app = pages(
    """Generate seeded workloads: tuples, and queries to watch them.

    \b
    Examples:
      fencepost generate ticks --out ticks.csv --streams 100 --queries-out bands.jsonl --queries 500
      fencepost generate locations --out moves.csv --objects 200 --queries-out zones.jsonl
    """
)


class Spread(StrEnum):
    """How values are spread over the domain or the map."""

    UNIFORM = "uniform"
    NORMAL = "normal"


class Order(StrEnum):
    """The order of the tuples in the file."""

    TIME = "time"
    STREAM = "stream"


def _instant(text: str) -> int:
    try:
        return parse_instant(text)
    except ValueError as why:
        raise typer.BadParameter(str(why)) from None


def _option(text: str, *names: str, **more: Any) -> Any:  # noqa: ANN401 (Typer's own is Any, too)
    return typer.Option(*names, help=text, **more)


def _time(text: str) -> Any:  # noqa: ANN401
    return _option(text, parser=duration, metavar="DURATION")


Out = Annotated[
    Path,
    _option(
        "File for the tuples: .csv, .jsonl or .parquet; the first two also .gz.", metavar="FILE"
    ),
]
QueriesOut = Annotated[
    Path | None, _option("File for the queries: .jsonl or .parquet.", metavar="FILE")
]
ZonesOut = Annotated[
    Path | None,
    _option(
        "File for the queries: .jsonl or .parquet; with --lonlat also .geojson.", metavar="FILE"
    ),
]
Start = Annotated[
    int, _option("Time of the first tuples, with Z or an offset.", parser=_instant, metavar="TIME")
]
Seed = Annotated[int, _option("Seed of the random numbers.", min=0)]
Within = Annotated[
    int | None,
    _option("Request transitions too, with this t: 30s, 3m.", parser=duration, metavar="DURATION"),
]
START: Any = "2026-01-05T00:00:00Z"
WIDEST = "Draw each W between --width and this; default: all the same."


@page(app, "ticks")
def ticks(  # noqa: PLR0913 (options are many)
    *,
    out: Out,
    queries_out: QueriesOut = None,
    market: Annotated[
        bool, _option("Trades of made-up symbols, with price and volume.", "--market")
    ] = False,
    streams: Annotated[
        int | None, _option("Streams.", show_default="2000; in a market 300")
    ] = None,
    length: Annotated[int, _option("Tuples per stream.")] = 1_000,
    interval: Annotated[
        int, _time("Time between two tuples of a stream; in a market the mean.")
    ] = "1s",  # type: ignore[assignment]  # the parser makes it an int
    start: Start = START,
    seed: Seed = 1,
    fluctuation: Annotated[
        float | None,
        _option(
            "FL, the mean |step| as a fraction of the domain (S1: 0.0001 to 0.001); in a "
            "market, of the opening price.",
            "--fluctuation",
            "--fl",
            show_default="0.0001; in a market 0.0003",
        ),
    ] = None,
    domain: Annotated[
        float | None,
        _option(
            "D: values are 0 to D; in a market only those of the bands.",
            show_default="1000000; in a market 1000",
        ),
    ] = None,
    axes: Annotated[
        int | None,
        _option("1: price; more: a0, a1 and so on.", min=1, max=64, show_default="1"),
    ] = None,
    starts: Annotated[
        Spread | None, _option("Distribution of the first values.", show_default="uniform")
    ] = None,
    order: Annotated[
        Order | None,
        _option("Order of the rows: by time, or stream by stream.", show_default="time"),
    ] = None,
    decimals: Annotated[
        int | None, _option("Decimals to round to.", min=0, max=9, show_default="not rounded")
    ] = None,
    queries: Annotated[int, _option("N, price bands (S1: 10000 to 100000).")] = 10_000,
    width: Annotated[
        float, _option("W, as a fraction of the domain (S1: 0.0001 to 0.001).")
    ] = 0.001,
    widest: Annotated[float | None, _option(WIDEST)] = None,
    bounds: Annotated[Spread, _option("Distribution of the lower bounds.")] = Spread.UNIFORM,
    named: Annotated[float, _option("Share of the bands that watch one stream only.")] = 0.0,
    within: Within = None,
    as_json: AsJson = False,
) -> None:
    """Generate price streams, and the price bands that watch them.

    By default as in S1 (BMQ-Processor, section 7.1): each second every stream moves by a step,
    uniform on ±2·FL·D, and a band reaches from its lower bound to W·D above it.

    \b
    A small example:
      fencepost generate ticks --out ticks.csv --streams 100 --queries-out bands.jsonl --queries 500
      fencepost eval -q bands.jsonl -t ticks=ticks.csv -o results

    \b
    S1's two million tuples against 100,000 queries:
      fencepost generate ticks --out t.parquet --queries-out q.parquet --queries 100000

    \b
    A market of 50 symbols; four queries in five watch one symbol, near its opening price:
      fencepost generate ticks --market --streams 50 --out market.csv.gz \\
          --queries-out alerts.jsonl --queries 300 --named 0.8 --within 3m
    """  # noqa: D301 (the shell's backslash)
    walks = _specified(dimensions=axes, starts=starts, order=order)
    if market and walks:
        raise typer.BadParameter("--axes, --starts and --order do not apply to a --market.")
    from pipelines.workloads import Market, PriceBands, PriceWalks
    from pipelines.workloads.files import Targets, rounded

    targets = Targets.of(out, queries_out)
    common = _specified(fluctuation=fluctuation, domain=domain)
    common |= {"length": length, "interval": interval, "start": start, "seed": seed}
    plan: Market | PriceWalks
    if market:
        plan = Market(**common, **_specified(symbols=streams))
    else:
        plan = PriceWalks(**common, **_specified(streams=streams), **walks)
    many = plan.symbols if isinstance(plan, Market) else plan.streams
    _refuse_too_much(many * length, len(plan.axes), queries)
    bands_plan = PriceBands(
        count=queries, width=width, widest=widest, bounds=bounds, named=named, within=within
    )
    bands = plan.bands(bands_plan).table()
    tuples = rounded(plan.tuples(), decimals)
    targets.write(tuples, bands)
    realised = dict(zip(plan.axes, plan.realised(tuples), strict=False))
    if as_json:
        print_json(_as_json(targets, tuples, bands, realised))
    else:
        typer.echo(targets.summary(tuples, bands, _levels(realised)))


@page(app, "locations")
def locations(  # noqa: PLR0913 (options are many)
    *,
    out: Out,
    queries_out: ZonesOut = None,
    roads_out: Annotated[
        Path | None,
        _option(
            "File for the town's roads: .csv, .jsonl or .parquet; with --lonlat also .geojson.",
            metavar="FILE",
        ),
    ] = None,
    lonlat: Annotated[
        bool,
        _option(
            "Put the town on the earth: lon and lat in degrees, and queries with regions.",
            "--lonlat",
        ),
    ] = False,
    objects: Annotated[int, _option("Moving objects.")] = 1_000,
    fast: Annotated[
        float,
        _option(
            "Share of vehicles (mean 20 km/h, at most 60); the others are walkers (4.3 and 12)."
        ),
    ] = 0.5,
    updates: Annotated[int, _option("Tuples per object.")] = 100,
    interval: Annotated[int, _time("Time between two tuples of an object.")] = "30s",  # type: ignore[assignment]
    parked: Annotated[int, _time("Mean rest at the end of a trip; in S1 there is none.")] = "0s",  # type: ignore[assignment]
    start: Start = START,
    seed: Seed = 1,
    speed: Annotated[bool, _option("Add a third axis, the speed in km/h.")] = True,
    decimals: Annotated[int, _option("Decimals to round to; 2 is centimetres.", min=0, max=9)] = 2,
    squares: Annotated[
        int | None, _option("Squares (S1: 500 to 5000).", show_default="1000; with --lonlat 0")
    ] = None,
    width: Annotated[
        float, _option("W, the side of a square in metres (S1: 500 to 5000).")
    ] = 1_000.0,
    widest: Annotated[float | None, _option(WIDEST)] = None,
    centres: Annotated[
        Spread, _option("Centres of the squares: normal around the town centre, or uniform.")
    ] = Spread.NORMAL,
    within: Within = None,
    garages: Annotated[
        int | None,
        _option(
            "Parking garages: 30 m × 30 m; with --lonlat circles of 20 m.",
            show_default="0; with --lonlat 50",
        ),
    ] = None,
    garage_within: Annotated[int, _time("t of the garages.")] = "3m",  # type: ignore[assignment]
    districts: Annotated[
        int | None,
        _option(
            "With --lonlat: districts, polygons that share their edges.",
            min=0,
            show_default="with --lonlat 36",
        ),
    ] = None,
    corridors: Annotated[
        int | None,
        _option(
            "With --lonlat: corridors, 40 m wide, along roads across the town.",
            min=0,
            show_default="with --lonlat 1",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Generate vehicles and walkers in a made-up town, and geofences that watch them.

    By default as in S1 (BMQ-Processor, section 7.2): 1,000 objects on a map of 15 km × 15 km, each
    on its way by road from one place to the next. x and y are metres from the south-west corner.
    With --lonlat the town lies on the earth, on the Dogger Bank, where there is no other.

    \b
    A small one to try:
      fencepost generate locations --out moves.csv --objects 200 --queries-out zones.jsonl
      fencepost eval -q zones.jsonl -t locations=moves.csv -o results

    \b
    A day of 2,000 vehicles that park, some of them in garages, and the map:
      fencepost generate locations --out day.parquet --objects 2000 --fast 1 --updates 2880 \\
          --parked 20m --squares 0 --garages 200 --queries-out garages.jsonl --roads-out roads.csv

    \b
    The town on the earth, with districts, parking circles and a corridor along a road:
      fencepost generate locations --lonlat --out tracks.csv --objects 200 --parked 5m \\
          --queries-out zones.geojson --roads-out streets.geojson
    """  # noqa: D301 (the shell's backslash)
    from pipelines.workloads import Garages, Geofences, MovingObjects, Squares, mean_steps, town
    from pipelines.workloads.files import Targets, rounded, together
    from pipelines.workloads.globe import boxes_on_earth, roads_on_earth, tuples_on_earth

    _refuse_regions_on_a_plane(districts, corridors, lonlat=lonlat)
    squares = (0 if lonlat else 1_000) if squares is None else squares
    targets = Targets.of(out, queries_out, roads_out, on_earth=lonlat)
    plan = MovingObjects(
        objects=objects,
        updates=updates,
        fast=fast,
        interval=interval,
        parked=parked,
        speed=speed,
        start=start,
        seed=seed,
    )
    _refuse_too_much(objects * updates, len(plan.axes), squares + (garages or 0))
    zones = Squares(
        count=squares, width=width, widest=widest, centres=centres, within=within, seed=seed
    )
    roads = town(seed)
    tuples = rounded(plan.tuples(roads), decimals)
    realised = dict(zip(plan.axes[:2], mean_steps(tuples, roads.extent), strict=False))
    if lonlat:
        many = _specified(districts=districts, garages=garages, corridors=corridors)
        drawn = Geofences(**many, within=within, garage_within=garage_within, seed=seed)
        fences = together(boxes_on_earth(zones.table()), drawn.table(roads))
        tuples, roads = tuples_on_earth(tuples), roads_on_earth(roads)
    else:
        places = Garages(count=garages or 0, within=garage_within, seed=seed)
        fences = together(zones.table(), places.table(roads))
    targets.write(tuples, fences, roads)
    if as_json:
        print_json(_as_json(targets, tuples, fences, realised))
    else:
        typer.echo(targets.summary(tuples, fences, _levels(realised) + _speeds(tuples)))


def _refuse_regions_on_a_plane(
    districts: int | None, corridors: int | None, *, lonlat: bool
) -> None:
    """Refuse options that are of --lonlat alone."""
    if not lonlat and (districts is not None or corridors is not None):
        raise typer.BadParameter("--districts and --corridors apply with --lonlat only.")


def _refuse_too_much(tuples: int, axes: int, queries: int) -> None:
    """Raise InputError where the workload would not fit into the memory that is free.

    (Measured) 100 to 150 bytes a tuple of one to three axes, 130 a query.
    """
    from fencepost.errors import InputError
    from fencepost.text import size_in_words
    from pipelines.spark.environment.machine import memory

    wanted, free = tuples * (100 + 25 * axes) + queries * 150, memory().free
    if wanted > free:
        raise InputError(
            f"{tuples:,} tuples and {queries:,} queries would take about {size_in_words(wanted)} "
            f"of memory, and {size_in_words(free)} are free: generate fewer, or several files "
            "with different seeds"
        )


def _specified(**options: object) -> dict[str, Any]:
    """Drop the options that are not set: the workload has its own defaults for those."""
    return {name: value for name, value in options.items() if value is not None}


def _levels(realised: Mapping[str, float]) -> str:
    """Give the FL that came about on each axis."""
    return f"FL {', '.join(f'{level:.4%} ({axis})' for axis, level in realised.items())}"


def _as_json(
    targets: "Targets", tuples: "TupleBatch", queries: "pa.Table", realised: Mapping[str, float]
) -> dict[str, Any]:
    """Describe the workload as JSON; `queries` is 0 if none were requested."""
    others = {"queries_out": targets.queries, "roads_out": targets.roads}
    return {
        "feed": tuples.feed,
        "out": str(targets.tuples.path),
        "tuples": len(tuples),
        "streams": len(tuples.names),
        "queries": 0 if targets.queries is None else len(queries),
        **{name: None if to is None else str(to.path) for name, to in others.items()},
        "fluctuation": {axis: float(level) for axis, level in realised.items()},
    }


def _speeds(tuples: "TupleBatch") -> str:
    """Give mean and highest speeds, if the speed is an axis."""
    from pipelines.workloads import speed_figures

    if "speed" not in tuples.axes:
        return ""
    return "".join(
        f", {name}s {made.mean:.1f} km/h (highest {made.highest:.1f})"
        for name, made in speed_figures(tuples).items()
    )
