"""The rules of the demo's day: what a trading desk and a town would like to know.

Law: the same scale gives the same lines; every rule is one that `fencepost queries import` takes.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from fencepost.tuples import Int64s
from pipelines.workloads import Corridors, Districts, Market, RoadNetwork, Squares, TownDay
from pipelines.workloads.draws import Draws
from pipelines.workloads.globe import AXES, degrees
from pipelines.workloads.roads import EXTENT
from pipelines.workloads.zones import Region, circle

BANDS, BREAKOUTS, STOPS, LEVELS, BLOCKS = 2_800, 1_000, 1_000, 600, 240
ZONES, SCHOOLS, CORRIDORS = 399, 60, 3
GARAGE_RADIUS = 20.0
LARGE = (20_000, 50_000, 100_000)
"""Trades that somebody wants to hear of."""

Rule = dict[str, Any]


def of_ticks(market: Market, scale: float, seed: int) -> Iterator[Rule]:
    """Give bands, breakouts and stops of single symbols, and what watches them all."""
    draws = Draws(seed, "rules of ticks")
    own = [scaled(count, scale) for count in (BANDS, BREAKOUTS, STOPS)]
    which = [np.arange(count) % market.symbols for count in own]
    yield from _bands(market, which[0], draws)
    yield from _breakouts(market, which[1], draws)
    yield from _stops(market, which[2], draws)
    yield from _levels(scaled(LEVELS, scale), draws)
    yield from _blocks(scaled(BLOCKS, scale), draws)


def of_locations(town: TownDay, roads: RoadNetwork, scale: float, seed: int) -> Iterator[Rule]:
    """Give garages, districts, zones, the streets before schools, corridors, the town's own rules.

    Districts are polygons that share their edges, as many at any scale; garages, zones and schools
    are circles.
    """
    at = np.concatenate(town.garages_at(roads))
    for k, region in enumerate(_circles(roads.x[at], roads.y[at], GARAGE_RADIUS), 1):
        yield rule(f"garage-{k:02}", "locations", None, "3m", region=region, tags=["garage"])
    yield from _drawn(Districts().table(roads), "10m", "district")
    yield from _zones(scaled(ZONES, scale), seed)
    yield from _schools(scaled(SCHOOLS, scale), roads, seed)
    along = Corridors(count=scaled(CORRIDORS, scale), seed=seed)
    yield from _drawn(along.table(roads), "1m", "corridor")
    inner = _around_the_middle(2_000.0)
    yield rule("clean-air-zone", "locations", inner, "15m", note="the innermost 4 km × 4 km")
    outer = _around_the_middle(6_000.0)
    yield rule("out-of-town", "locations", f"NOT ({outer})", "30m", note="several boxes, one rule")


def lines(rules: Iterator[Rule]) -> bytes:
    """Write them as JSON lines."""
    return b"".join(json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in rules)


def scaled(count: int, scale: float) -> int:
    """Give that share of a count, at least one."""
    return max(1, round(count * scale))


def rule(
    id: str,
    feed: str,
    where: str | None,
    within: str | None = None,
    **more: Any,  # noqa: ANN401
) -> Rule:
    """Put a rule together; what is not given is left out."""
    said = {"id": id, "feed": feed, "where": where, "within": within, **more}
    return {name: value for name, value in said.items() if value is not None}


def _bands(market: Market, which: Int64s, draws: Draws) -> Iterator[Rule]:
    opening = market.opening[which]
    lower = opening * draws.between(0.95, 1.05, len(which))
    upper = lower + opening * draws.between(0.002, 0.02, len(which))
    for k, symbol in enumerate(_symbols(market, which)):
        where = f"price BETWEEN {lower[k]:.2f} AND {upper[k]:.2f}"
        yield rule(_named("band", symbol, k, market), "ticks", where, "3m", streams=[symbol])


def _breakouts(market: Market, which: Int64s, draws: Draws) -> Iterator[Rule]:
    price = market.opening[which] * draws.between(1.003, 1.05, len(which))
    for k, symbol in enumerate(_symbols(market, which)):
        name = _named("breakout", symbol, k, market)
        yield rule(name, "ticks", f"price >= {price[k]:.2f}", "10m", streams=[symbol])


def _stops(market: Market, which: Int64s, draws: Draws) -> Iterator[Rule]:
    price = market.opening[which] * draws.between(0.95, 0.997, len(which))
    for k, symbol in enumerate(_symbols(market, which)):
        name = _named("stop", symbol, k, market)
        yield rule(name, "ticks", f"price < {price[k]:.2f}", "10m", streams=[symbol])


def _levels(count: int, draws: Draws) -> Iterator[Rule]:
    """Give price levels that are watched in all symbols: here a crossing is any symbol's."""
    lower = np.floor(draws.between(2.0, 900.0, count))
    for k, at in enumerate(lower.astype(int).tolist(), 1):
        yield rule(f"level-{k:03}", "ticks", f"price >= {at} AND price < {at + 1}", "1m")


def _blocks(count: int, draws: Draws) -> Iterator[Rule]:
    """Give large trades in a range of prices: two axes."""
    least = np.array(LARGE)[draws.below(len(LARGE), count)]
    lower = np.floor(draws.between(2.0, 800.0, count))
    for k, (volume, price) in enumerate(zip(least.tolist(), lower.tolist(), strict=True), 1):
        where = f"volume >= {volume} AND price BETWEEN {price:.0f} AND {price + 100.0:.0f}"
        yield rule(f"block-{k:03}", "ticks", where)


def _drawn(zones: pa.Table, within: str, tag: str) -> Iterator[Rule]:
    """Give zones that were drawn on the map."""
    for row in zones.to_pylist():
        region = json.loads(row["region"])
        yield rule(row["id"], "locations", None, within, region=region, tags=[tag])


def _zones(count: int, seed: int) -> Iterator[Rule]:
    """Give circles of many sizes, dense in the middle of the town."""
    squares = Squares(count=count, width=150.0, widest=500.0, seed=seed).table()
    for row in squares.to_pylist():
        x, y = ((row[f"{axis}_lo"] + row[f"{axis}_hi"]) / 2.0 for axis in ("x", "y"))
        (region,) = _circles([x], [y], np.rint((row["x_hi"] - row["x_lo"]) / 2.0))
        name = row["id"].replace("square", "zone")
        yield rule(name, "locations", None, "5m", region=region, tags=["zone"])


def _schools(count: int, roads: RoadNetwork, seed: int) -> Iterator[Rule]:
    """Give places where more than 30 km/h is too fast: a circle, and a third axis."""
    at = Draws(seed, "schools").order(len(roads.x))[:count]
    for k, region in enumerate(_circles(roads.x[at], roads.y[at], 150.0), 1):
        said: Rule = {"region": region, "tags": ["school"]}
        yield rule(f"school-{k:02}", "locations", "speed > 30", "2m", **said)


def _circles(x: Iterable[float], y: Iterable[float], radius: float) -> Iterator[Region]:
    return (circle(*at, radius) for at in zip(x, y, strict=True))


def _around_the_middle(half: float) -> str:
    """Say which longitudes and latitudes are this many metres from the middle of the town."""
    ends = np.array([EXTENT / 2.0 - half, EXTENT / 2.0 + half])
    sides = (degrees(ends, axis).tolist() for axis in range(2))
    said = (f"{axis} BETWEEN {lo} AND {hi}" for axis, (lo, hi) in zip(AXES, sides, strict=True))
    return " AND ".join(said)


def _symbols(market: Market, which: Int64s) -> list[str]:
    return [str(name) for name in market.names.take(which).to_pylist()]


def _named(word: str, symbol: str, k: int, market: Market) -> str:
    return f"{word}-{symbol}-{k // market.symbols + 1}"
