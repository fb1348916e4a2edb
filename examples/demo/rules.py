"""The rules of the demo's day: what a trading desk and a town would like to know.

Law: the same scale gives the same lines; every rule is one that `fencepost queries import` takes.
"""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from fencepost.tuples import Doubles, Int64s
from pipelines.workloads import Market, RoadNetwork, Squares, TownDay
from pipelines.workloads.draws import Draws

BANDS, BREAKOUTS, STOPS, LEVELS, BLOCKS = 2_800, 1_000, 1_000, 600, 240
ZONES, SCHOOLS = 438, 60
GARAGE_SIDE = 30.0
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
    """Give the garages, the zones, the streets before schools, and the town's own rules."""
    at = np.concatenate(town.garages_at(roads))
    yield from _garages(roads.x[at], roads.y[at], GARAGE_SIDE / 2.0)
    yield from _zones(scaled(ZONES, scale), seed)
    yield from _schools(scaled(SCHOOLS, scale), roads, seed)
    middle = roads.extent / 2.0
    inner = f"{_inside('x', middle, 2_000.0)} AND {_inside('y', middle, 2_000.0)}"
    yield rule("clean-air-zone", "locations", inner, "15m", note="the innermost 4 km × 4 km")
    outer = f"{_inside('x', middle, 6_000.0)} AND {_inside('y', middle, 6_000.0)}"
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
    where: str,
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


def _garages(x: Doubles, y: Doubles, half: float) -> Iterator[Rule]:
    for k, (east, north) in enumerate(zip(x.tolist(), y.tolist(), strict=True), 1):
        where = f"{_inside('x', east, half)} AND {_inside('y', north, half)}"
        yield rule(f"garage-{k:02}", "locations", where, "3m", tags=["garage"])


def _zones(count: int, seed: int) -> Iterator[Rule]:
    squares = Squares(count=count, width=150.0, widest=500.0, seed=seed).table()
    for row in squares.to_pylist():
        name = row["id"].replace("square", "zone")
        where = " AND ".join(
            f"{axis} >= {row[f'{axis}_lo']:.1f} AND {axis} < {row[f'{axis}_hi']:.1f}"
            for axis in ("x", "y")
        )
        yield rule(name, "locations", where, "5m", tags=["zone"])


def _schools(count: int, roads: RoadNetwork, seed: int) -> Iterator[Rule]:
    """Give places where more than 30 km/h is too fast: three axes."""
    at = Draws(seed, "schools").order(len(roads.x))[:count]
    for k, (east, north) in enumerate(zip(roads.x[at], roads.y[at], strict=True), 1):
        box = f"{_inside('x', float(east), 150.0)} AND {_inside('y', float(north), 150.0)}"
        yield rule(f"school-{k:02}", "locations", f"{box} AND speed > 30", "2m", tags=["school"])


def _inside(axis: str, middle: float, half: float) -> str:
    return f"{axis} BETWEEN {middle - half:.1f} AND {middle + half:.1f}"


def _symbols(market: Market, which: Int64s) -> list[str]:
    return [str(name) for name in market.names.take(which).to_pylist()]


def _named(word: str, symbol: str, k: int, market: Market) -> str:
    return f"{word}-{symbol}-{k // market.symbols + 1}"
