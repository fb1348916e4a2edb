"""Four shapes of data, and every peer that finds crossings by joins on each of them."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from benchmarks.matches_made import Scale, in_turns, span
from benchmarks.peers.crossings_duckdb import DuckCrossings
from benchmarks.peers.crossings_given import Given, Keys, keys_of
from benchmarks.peers.crossings_polars import Engine, PolarsCrossings
from benchmarks.peers.crossings_shapely import ShapelyCrossings
from benchmarks.report import Line
from benchmarks.walks import assert_right, bands, indexed, laid, walks
from fencepost.crossings.choose import cross
from fencepost.crossings.path import Path
from fencepost.queries import QuerySet
from fencepost.tuples import Doubles, TupleBatch
from pipelines.workloads import Garages, MovingObjects, town
from pipelines.workloads.squares import squares_about

P = TypeVar("P", DuckCrossings, PolarsCrossings)

THREADS = 2
ENGINES: tuple[Engine, ...] = ("in-memory", "streaming")
AHEAD = 25.0
MOST_HELD = 20_000_000
"""Rows of who holds that a plain form may make; beyond, it takes minutes and is passed over."""
CELLS = (0.125, 0.25, 0.5, 1.0)
"""Sizes of cells that are tried, in widths of a query."""
MOST_MET = 50_000_000
"""Rows of steps and borders of one cell that a peer may make: with more it wants 16 GB and more."""
DIME = 1_000.0
"""These prices are in hundredths of a cent."""
REACH, PLACES = 4_500_000.0, 300
"""Metres across a country, and its towns."""


def bands_on_walks(scale: Scale) -> Iterator[Line]:
    """10 K and 100 K bands of W = 0.1% on walking prices."""
    path = walks(streams=scale.of(400, 20), length=scale.of(1_000, 50))
    for count in scale.some((10_000, 100_000)):
        queries = bands(scale.of(count, 500))
        yield from _raced(f"{count // 1000} K bands", queries, path, 1_000.0, scale, AHEAD)


def crowded_squares(scale: Scale) -> Iterator[Line]:
    """The shape of tidwall/tile38 issue 491, its circles of 5 km as squares."""
    draw = np.random.default_rng(491)
    towns = draw.random((2, PLACES)) * REACH
    count, movers = scale.of(23_000, 300), scale.of(1_000, 20)
    middle = _near(draw, towns, count, 20_000.0)
    table = squares_about("fence-", middle, np.full(count, 10_000.0), None)
    queries = QuerySet.from_table("fleet", ("x", "y"), table)
    steps = draw.normal(0.0, 300.0, (2, 100, movers))
    steps[:, 0] = _near(draw, towns, movers, 20_000.0)
    batch = walking("fleet", np.cumsum(steps, axis=1))
    yield from _raced("23 K squares", queries, laid(batch), 10_000.0, scale)


def garages_on_roads(scale: Scale) -> Iterator[Line]:
    """2,000 garages of 30 m, vehicles on the roads of a town."""
    roads = town()
    table = Garages(count=scale.of(2_000, 200)).table(roads)
    queries = QuerySet.from_table("locations", ("x", "y"), table)
    plan = MovingObjects(objects=scale.of(4_000, 50), updates=100, fast=1.0, speed=False)
    yield from _raced("2 K garages", queries, laid(plan.tuples(roads)), 200.0, scale)


def real_data(scale: Scale) -> Iterator[Line]:
    """A day of real trades under 10 K bands of a dime; real tracks under squares around them."""
    from tests.support.real.data import LEAN, sample, trades

    if not LEAN.is_dir():
        where = "the real data is not there: it is expected in ../shared/data"
        yield Line("real trades and tracks", None, facts=where)
        return
    draw = np.random.default_rng(20131007)
    day = trades().sort_values("ts", kind="stable").head(scale.of(1_000_000, 20_000))
    names, stream = np.unique(day["stream"].to_numpy().astype(str), return_inverse=True)
    price = day["price"].to_numpy()[None]
    batch = _batch("trades", ("price",), names, stream, day["ts"].to_numpy(), price)
    lo = np.round(draw.choice(price[0], scale.of(10_000, 300)), -2)
    columns = {"id": [f"band-{k}" for k in range(len(lo))], "price_lo": lo, "price_hi": lo + DIME}
    queries = QuerySet.from_table("trades", ("price",), pa.table(columns))
    yield from _raced("a day of trades", queries, laid(batch), DIME, scale)

    fixes = sample().sort_values("ts", kind="stable").head(scale.of(1_000_000, 20_000))
    names, stream = np.unique(fixes["stream"].to_numpy().astype(str), return_inverse=True)
    places = fixes[["lng", "lat"]].to_numpy().T
    batch = _batch("tracks", ("x", "y"), names, stream, fixes["ts"].to_numpy(), places)
    middle = places[:, draw.integers(0, places.shape[1], scale.of(5_000, 200))]
    table = squares_about("fence-", middle, np.full(middle.shape[1], 0.01), None)
    queries = QuerySet.from_table("tracks", ("x", "y"), table)
    yield from _raced("GeoLife's tracks", queries, laid(batch), 0.01, scale)


class Way(NamedTuple):
    """What a peer does to find the events, and how its answer is read."""

    work: Callable[[], Any]
    answer: Callable[[Callable[[], Any]], Keys]


def _raced(
    what: str, queries: QuerySet, path: Path, width: float, scale: Scale, bar: float | None = None
) -> Iterator[Line]:
    """Compare every peer's answer, then time all in turns; a line for each."""
    index = indexed(queries)
    walked, _ = cross(index, path, method="walk", fast=True, threads=THREADS)
    expected = keys_of(assert_right(walked, 30), len(queries))
    given = Given.of(walked)
    duck, polars = _in_best_form(given, _cells(given, width, scale))
    ways = {
        "DuckDB, cells of borders": Way(duck.by_cells, duck.answer),
        "Polars, cells of borders": Way(polars.by_cells, polars.answer),
    }
    if given.axes == 2:
        tree = ShapelyCrossings(queries, path)
        ways["shapely, one thread"] = Way(tree.once, lambda once: once())
    held = 2 * _held(given)
    plain = {
        "DuckDB, range joins": Way(duck.plain, duck.answer),
        "Polars, range joins": Way(polars.plain, polars.answer),
    }
    once = {name: _timed(name, way, expected) for name, way in ways.items()}
    if held <= MOST_HELD:
        once |= {name: _timed(name, way, expected) for name, way in plain.items()}
    works = {name: way.work for name, way in ways.items()}
    works["ours"] = lambda: cross(index, path, method="auto", fast=True, threads=THREADS)[0].events
    took = in_turns(works, scale.repeats, time.perf_counter)
    facts = f"ours {span(took['ours'])}, {took['ours'] / len(path) * 1e9:.1f} ns a tuple; "
    facts += f"{len(expected):,} equal events of {len(path):,} tuples"
    best = min(ways, key=lambda name: took[name])
    for name, seconds in {**once, **took}.items():
        if name == "ours":
            continue
        times = f"{span(seconds)}{', once' if name in plain else ''}"
        claim, least = f"{what}: {name}, of ours", bar if name == best else None
        ratio = seconds / took["ours"]
        yield Line(claim, ratio, least, at_least=True, facts=f"{times}; {facts}")
    if held > MOST_HELD:
        why = f"passed over: they make {held:,} rows of holders"
        yield Line(f"{what}: range joins", None, facts=why)
    duck.close()
    polars.close()


def _cells(given: Given, width: float, scale: Scale) -> list[float]:
    """Give the sizes of cells that a peer has memory for, the smallest in any case."""
    first, *others = sorted(width * share for share in scale.some(CELLS, 2))
    return [first, *(cell for cell in others if given.met(cell) <= MOST_MET)]


def _timed(name: str, way: Way, expected: Keys) -> float:
    """Compare a way's answer; give the seconds that it took."""
    begin = time.perf_counter()
    found = way.answer(way.work)
    seconds = time.perf_counter() - begin
    assert np.array_equal(found, expected), name
    return seconds


def _in_best_form(given: Given, cells: Sequence[float]) -> tuple[DuckCrossings, PolarsCrossings]:
    """Give both peers with the cells and the engine that are quickest here."""
    ducks = [partial(DuckCrossings, given, cell, THREADS) for cell in cells]
    polars = [partial(PolarsCrossings, given, cell, engine) for cell in cells for engine in ENGINES]
    return _best(ducks), _best(polars)


def _best(forms: Sequence[Callable[[], P]]) -> P:
    """Give the form of a peer that finds the events by cells in the least time, its second."""
    times = []
    for form in forms:
        peer = form()
        peer.by_cells()
        begin = time.perf_counter()
        peer.by_cells()
        times.append(time.perf_counter() - begin)
        peer.close()
    return forms[int(np.argmin(times))]()


def _held(given: Given) -> int:
    """Estimate how many boxes hold all steps' ends, from some of them."""
    some = np.linspace(0, given.c.shape[1] - 1, 200).astype(np.int64)
    held = np.ones((len(some), given.lo.shape[1]), np.bool_)
    for axis in range(given.axes):
        value = given.c[axis, some][:, None]
        held &= (given.lo[axis] <= value) & (value < given.hi[axis])
    return int(held.sum() / len(some) * given.c.shape[1])


def _near(draw: np.random.Generator, towns: Doubles, count: int, spread: float) -> Doubles:
    return towns[:, draw.integers(0, towns.shape[1], count)] + draw.normal(0, spread, (2, count))


def walking(feed: str, places: Doubles) -> TupleBatch:
    """Places [axis, time, stream] as tuples, in the order of time."""
    _, updates, movers = places.shape
    names = np.array([f"mover-{k}" for k in range(movers)])
    stream = np.tile(np.arange(movers), updates)
    ts = np.repeat(np.arange(updates) * 30_000_000, movers)
    return _batch(feed, ("x", "y"), names, stream, ts, places.reshape(2, -1))


def _batch(
    feed: str,
    axes: tuple[str, ...],
    names: np.ndarray,
    stream: np.ndarray,
    ts: np.ndarray,
    values: Doubles,
) -> TupleBatch:
    return TupleBatch(
        feed=feed,
        axes=axes,
        names=pa.array(names.tolist(), pa.string()),
        stream=stream.astype(np.int32),
        ts=ts.astype(np.int64),
        values=np.ascontiguousarray(values, np.float64),
        delivery=np.zeros(len(ts), np.int32),
    )
