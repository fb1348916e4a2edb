"""Geofences over the town: the squares of S1's two-axis set-up, and its parking garages.

Law: a query is one square, half-open on both axes; its middle is on the map.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fencepost.tuples import Doubles
from pipelines.workloads.draws import Draws, folded
from pipelines.workloads.parts import DISTRIBUTIONS, above, at_least, numbered, one_of, query_table
from pipelines.workloads.roads import EXTENT, RoadNetwork

AXES = ("x", "y")
THREE_MINUTES = 180_000_000


@dataclass(frozen=True, kw_only=True)
class Squares:
    """S1 §7.2's advertisement regions: dense in the middle of the town, where the shops are.

    table    1 µs a query

    width    W in metres, S1 varies it from 500 to 5,000; with `widest` each query's W is uniform
             between the two
    centres  'normal' about the middle of the map with deviation extent/6 (S1 gives the mean alone),
             or 'uniform'
    within   the `t` of the transitions, in µs
    """

    count: int = 1_000
    width: float = 1_000.0
    widest: float | None = None
    centres: str = "normal"
    within: int | None = None
    extent: float = EXTENT
    seed: int = 1

    def __post_init__(self) -> None:
        """Raise InputError for impossible settings."""
        at_least("queries", self.count, 0)
        above("width", self.width, 1e-3, self.extent)
        if self.widest is not None:
            above("widest", self.widest, self.width, self.extent)
        one_of("centres", self.centres, DISTRIBUTIONS)

    def table(self) -> pa.Table:
        """Return the columns id, x_lo, x_hi, y_lo, y_hi, and within where wanted."""
        middle = np.stack([self._middle(axis) for axis in AXES])
        widest = self.width if self.widest is None else self.widest
        width = Draws(self.seed, "squares width").between(self.width, widest, self.count)
        return squares_about("square-", middle, width, self.within)

    def _middle(self, axis: str) -> Doubles:
        draws = Draws(self.seed, f"squares {axis}")
        if self.centres == "uniform":
            return draws.uniform(self.count) * self.extent
        return folded(
            self.extent / 2.0 + self.extent / 6.0 * draws.normal(self.count), 0.0, self.extent
        )


@dataclass(frozen=True, kw_only=True)
class Garages:
    """S1 §6.4's parking garages: 30 m × 30 m, and a stay of three minutes is parking.

    table    1 µs a query

    The first ones are at crossings, each at a different one and all equally likely, so that
    trips end in them; those beyond the number of crossings are along the roads.
    """

    count: int = 50
    side: float = 30.0
    within: int | None = THREE_MINUTES
    seed: int = 1

    def __post_init__(self) -> None:
        """Raise InputError for impossible settings."""
        at_least("queries", self.count, 0)
        above("side", self.side, 1e-3, EXTENT)

    def table(self, roads: RoadNetwork) -> pa.Table:
        """Return the columns id, x_lo, x_hi, y_lo, y_hi, and within where there is one."""
        widths = np.full(self.count, self.side)
        return squares_about("garage-", np.stack(self.middles(roads)), widths, self.within)

    def middles(self, roads: RoadNetwork) -> tuple[Doubles, Doubles]:
        """Return where they are, x and y."""
        draws = Draws(self.seed, "garages")
        at = draws.order(len(roads.x))[: self.count]
        more = self.count - len(at)
        road = draws.below(len(roads.begin), more)
        along = draws.uniform(more)
        a, b = roads.begin[road], roads.end[road]
        x = np.concatenate([roads.x[at], roads.x[a] + along * (roads.x[b] - roads.x[a])])
        y = np.concatenate([roads.y[at], roads.y[a] + along * (roads.y[b] - roads.y[a])])
        return x, y


def squares_about(word: str, middle: Doubles, width: Doubles, within: int | None) -> pa.Table:
    """Return squares of these widths about these middles."""
    lo = middle - width / 2.0
    return query_table(numbered(word, len(width)), AXES, lo, lo + width, within)
