"""Streams of prices: S1's one-axis set-up, its d-axis one, and a market that looks like one.

Law: |step| has mean FL · D on every axis, and no value ever leaves the domain. FL is the
fluctuation level (S1 §4.4), the mean distance of consecutive values as a fraction of the domain D.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from fencepost.times import SECOND
from fencepost.tuples import Doubles, Int64s, TupleBatch
from pipelines.workloads.bands import PriceBands
from pipelines.workloads.draws import Draws, folded
from pipelines.workloads.parts import (
    DISTRIBUTIONS,
    START,
    above,
    at_least,
    numbered,
    one_delivery,
    one_of,
)

ORDERS = ("time", "stream")


@dataclass(frozen=True, kw_only=True)
class PriceWalks:
    """S1 §7.1 and §7.3: every stream takes one step each interval, all at the same instants.

    tuples   35 ns a tuple and axis, 16 + 8 d bytes a tuple

    A step is uniform on [−2·FL·D, 2·FL·D], so |step| is uniform on [0, 2·FL·D] with mean FL·D; a
    walk that leaves [0, D] is reflected. First values are uniform on [0, D], or normal
    with mean D/2 and deviation D/6 (S1 gives the mean alone); each axis is an independent walk.

    fluctuation  FL, per axis: S1 varies it from 0.0001 to 0.001
    order        'time': at each instant every stream in turn, as they would arrive;
                 'stream': stream after stream
    """

    streams: int = 2_000
    length: int = 1_000
    domain: float = 1_000_000.0
    fluctuation: float = 0.0001
    dimensions: int = 1
    starts: str = "uniform"
    order: str = "time"
    interval: int = SECOND
    start: int = START
    seed: int = 1
    feed: str = "ticks"

    def __post_init__(self) -> None:
        """Raise InputError for impossible settings."""
        at_least("streams", self.streams, 1)
        at_least("length", self.length, 1)
        at_least("interval", self.interval, 1)
        at_least("dimensions", self.dimensions, 1)
        above("domain", self.domain, 0.0, 2.0**50)
        above("fluctuation", self.fluctuation, 0.0, 0.25)
        one_of("starts", self.starts, DISTRIBUTIONS)
        one_of("order", self.order, ORDERS)

    @property
    def axes(self) -> tuple[str, ...]:
        """Return price for one axis, a0, a1 and so on for more."""
        d = self.dimensions
        return ("price",) if d == 1 else tuple(f"a{k}" for k in range(d))

    @cached_property
    def names(self) -> pa.StringArray:
        """Return the streams: s0001 and so on."""
        return numbered("s", self.streams)

    def bands(self, wanted: PriceBands) -> PriceBands:
        """Return the wanted bands, over these streams' domain and axes, and from their seed."""
        return replace(wanted, domain=self.domain, axes=self.axes, names=self.names, seed=self.seed)

    def realised(self, tuples: TupleBatch) -> Doubles:
        """Return the actual FL, axis by axis."""
        return mean_steps(tuples, self.domain)

    def tuples(self) -> TupleBatch:
        """Generate the walks, in the chosen order."""
        paths = [self._path(axis) for axis in self.axes]
        stream = np.arange(self.streams, dtype=np.int32)
        at = self.start + self.interval * np.arange(self.length, dtype=np.int64)
        if self.order == "time":
            streams, ts = np.tile(stream, self.length), np.repeat(at, self.streams)
            values = np.stack([path.ravel() for path in paths])
        else:
            streams, ts = np.repeat(stream, self.length), np.tile(at, self.streams)
            values = np.stack([path.T.ravel() for path in paths])
        return one_delivery(self.feed, self.axes, self.names, streams, ts, values)

    def _path(self, axis: str) -> Doubles:
        """Return one axis, [length, streams], step by step: a longer walk extends it."""
        draws = Draws(self.seed, f"start {axis}")
        if self.starts == "uniform":
            first = draws.uniform(self.streams) * self.domain
        else:
            first = self.domain / 2.0 + self.domain / 6.0 * draws.normal(self.streams)
        reach = 2.0 * self.fluctuation * self.domain
        steps = Draws(self.seed, f"steps {axis}").between(
            -reach, reach, self.streams * (self.length - 1)
        )
        path = np.empty((self.length, self.streams))
        path[0] = first
        path[1:] = steps.reshape(self.length - 1, self.streams)
        return folded(np.cumsum(path, axis=0), 0.0, self.domain)


@dataclass(frozen=True, kw_only=True)
class Market:
    """Trades of invented symbols, with axes price and volume: for demos.

    tuples   120 ns a tuple

    A symbol opens between 2 and 900, most of them low. One trade in four repeats the price before
    it (S1, Fig. 22); the others move so that |step| is FL of the opening price in the mean. Prices
    are whole cents, and no symbol leaves the band from half to one and a half of its opening price.
    The gaps between a symbol's trades are whole milliseconds, many short and few long, `interval`
    in the mean. Volumes are round lots of 100, most of them small.

    domain   the range of the bands that watch all symbols
    """

    symbols: int = 300
    length: int = 1_000
    fluctuation: float = 0.0003
    domain: float = 1_000.0
    interval: int = SECOND
    start: int = START
    seed: int = 1
    feed: str = "ticks"

    axes = ("price", "volume")

    def __post_init__(self) -> None:
        """Raise InputError for impossible settings."""
        at_least("symbols", self.symbols, 1)
        at_least("length", self.length, 1)
        at_least("interval", self.interval, 10_000)
        above("fluctuation", self.fluctuation, 0.0, 0.1)

    @cached_property
    def names(self) -> pa.StringArray:
        """Return the symbols: four letters, and a number behind them where there are too many."""
        words = [
            a + b + c + d for a in "QVWXYZ" for b in "AEIOU" for c in "BDKLMNRSTV" for d in "AEIOU"
        ]
        order = Draws(self.seed, "symbols").order(len(words))
        rounds = range(-(-self.symbols // len(words)))
        names = [f"{words[k]}{again + 1 if again else ''}" for again in rounds for k in order]
        return pa.array(names[: self.symbols], pa.string())

    @cached_property
    def opening(self) -> Doubles:
        """Return each symbol's first price."""
        u = Draws(self.seed, "opening").uniform(self.symbols)
        return cents(2.0 + 898.0 * (u * u * u))

    def bands(self, wanted: PriceBands) -> PriceBands:
        """Return the wanted bands; those that watch one symbol are near its opening price."""
        return replace(
            wanted,
            domain=self.domain,
            axes=("price",),
            names=self.names,
            opening=self.opening,
            seed=self.seed,
        )

    def realised(self, tuples: TupleBatch) -> Doubles:
        """Return the actual FL, of the price alone."""
        return mean_steps(tuples, self.opening)[:1]

    def tuples(self) -> TupleBatch:
        """Generate the trades, all symbols in time order."""
        stream = np.repeat(np.arange(self.symbols, dtype=np.int32), self.length)
        ts = self._times().ravel()
        values = np.stack([self._prices().ravel(), self._volumes()])
        order = np.argsort(ts, kind="stable")
        stream, ts, values = stream[order], ts[order], values[:, order]
        return one_delivery(self.feed, self.axes, self.names, stream, ts, values)

    def _prices(self) -> Doubles:
        """Return the prices, [symbols, length]."""
        count = self.symbols * (self.length - 1)
        u = Draws(self.seed, "trades").uniform(count)
        # The lowest quarter of u does not move, the rest is rescaled to [-1, 1).
        sway = np.where(u < 0.25, 0.0, (u - 0.25) * (8.0 / 3.0) - 1.0)
        steps = sway.reshape(self.symbols, self.length - 1) * (8.0 / 3.0 * self.fluctuation)
        path = np.zeros((self.symbols, self.length))
        np.cumsum(steps, axis=1, out=path[:, 1:])
        return cents(self.opening[:, None] * folded(1.0 + path, 0.5, 1.5))

    def _times(self) -> Int64s:
        """Return strictly rising times, [symbols, length]."""
        u = Draws(self.seed, "times").uniform(self.symbols * self.length)
        gaps = 1 + (u * u * (3.0 * self.interval / 1000.0)).astype(np.int64)
        return self.start + 1000 * np.cumsum(gaps.reshape(self.symbols, self.length), axis=1)

    def _volumes(self) -> Doubles:
        """Return the sizes of the trades, 100 to 500,000."""
        u = Draws(self.seed, "volumes").uniform(self.symbols * self.length)
        return 100.0 * np.floor(np.minimum(1.0 / (1.0 - u), 5_000.0))


def mean_steps(tuples: TupleBatch, domain: float | Doubles) -> Doubles:
    """Return the mean |step| of the streams on each axis, as a part of the domain: the actual FL.

    O(n log n). `domain` may be an array, one entry a stream of `tuples.names`. Streams of one tuple
    have no step.
    """
    order = np.argsort(tuples.stream, kind="stable")
    stream = tuples.stream[order]
    same = stream[1:] == stream[:-1]
    if not same.any():
        return np.zeros(len(tuples.axes))
    parts = domain if isinstance(domain, float | int) else domain[stream[1:][same]]
    steps = np.abs(np.diff(tuples.values[:, order], axis=1))[:, same] / parts
    return np.asarray(steps.mean(axis=1), np.float64)


def cents(prices: Doubles) -> Doubles:
    """Round to whole cents."""
    return np.rint(prices * 100.0) / 100.0
