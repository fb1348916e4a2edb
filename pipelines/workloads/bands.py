"""Price bands: the standing queries of S1's one-axis and d-axis set-ups.

Law: on every axis a band is [lower, lower + W·D), its lower bound in [1, D − 1].
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fencepost.errors import InputError
from fencepost.tuples import Bools, Doubles, Int64s
from pipelines.workloads.draws import Draws, folded
from pipelines.workloads.parts import (
    DISTRIBUTIONS,
    above,
    at_least,
    numbered,
    one_of,
    query_table,
    share,
)

NEAR = 0.05  # a band for one symbol is within this fraction of its opening price


@dataclass(frozen=True, kw_only=True, eq=False)
class PriceBands:
    """S1 §7.1's queries, and more: W by default 0.1% of the domain, lower bounds uniform or normal.

    table    0.4 µs a query of one axis

    width    W, a part of the domain; with `widest` each query's W is uniform between the two
    bounds   'uniform' on [1, D − 1], or 'normal' with mean D/2 and deviation D/6
    within   the `t` of the transitions, in µs
    named    the share of the queries that watch one stream of `names` only
    opening  the price that each of `names` opened at: a query that watches one stream is then
             within a twentieth of that price, and its W is a fraction of it
    """

    count: int = 10_000
    axes: tuple[str, ...] = ("price",)
    domain: float = 1_000_000.0
    width: float = 0.001
    widest: float | None = None
    bounds: str = "uniform"
    within: int | None = None
    named: float = 0.0
    names: pa.StringArray | None = None
    opening: Doubles | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        """Raise InputError for impossible settings."""
        at_least("queries", self.count, 0)
        above("domain", self.domain, 2.0, 2.0**50)
        above("width", self.width, 1e-9, 1.0)
        if self.widest is not None:
            above("widest", self.widest, self.width, 1.0)
        one_of("bounds", self.bounds, DISTRIBUTIONS)
        share("named", self.named)

    def table(self) -> pa.Table:
        """Return the columns id, each axis's _lo and _hi; within and streams where wanted."""
        lo = np.stack([self._lower(axis) for axis in self.axes])
        scale = np.full(self.count, self.domain)
        ids = numbered("band-", self.count)
        if not self.named:
            return query_table(ids, self.axes, lo, lo + self._width() * scale, self.within)
        if self.names is None:
            raise InputError(f"named {self.named:g}: expected the names of the streams as well")
        alone = Draws(self.seed, "bands named").uniform(self.count) < self.named
        which = Draws(self.seed, "bands which").below(len(self.names), self.count)
        if self.opening is not None:
            price = self.opening[which]
            near = 1.0 + Draws(self.seed, "bands near").between(-NEAR, NEAR, self.count)
            lo[0] = np.where(alone, price * near, lo[0])
            scale = np.where(alone, price, scale)
        table = query_table(ids, self.axes, lo, lo + self._width() * scale, self.within)
        return table.append_column("streams", one_name_each(self.names, which, alone))

    def _lower(self, axis: str) -> Doubles:
        draws = Draws(self.seed, f"bands {axis}")
        if self.bounds == "uniform":
            return draws.between(1.0, self.domain - 1.0, self.count)
        middle = self.domain / 2.0 + self.domain / 6.0 * draws.normal(self.count)
        return folded(middle, 1.0, self.domain - 1.0)

    def _width(self) -> Doubles:
        widest = self.width if self.widest is None else self.widest
        return Draws(self.seed, "bands width").between(self.width, widest, self.count)


def one_name_each(names: pa.StringArray, which: Int64s, alone: Bools) -> pa.ListArray:
    """Return a list of one name where a query watches one stream, null where it watches all."""
    ends = np.concatenate([[0], np.cumsum(alone)]).astype(np.int32)
    chosen = names.take(pa.array(which[alone]))
    return pa.ListArray.from_arrays(pa.array(ends), chosen, mask=pa.array(~alone))
