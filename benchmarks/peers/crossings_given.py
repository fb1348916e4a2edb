"""What every peer that finds crossings by joins is given: the steps, and the boxes of the queries.

A step's two values are given, so no peer has to find a tuple's predecessor. Standing queries are
known beforehand, so the cells of their borders are, too; the cells of a step are not.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fencepost.crossings import Walk
from fencepost.crossings.columns import Events
from fencepost.tuples import Doubles, Int64s

Keys = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class Given:
    """n steps over d axes, from p[d, n] to c[d, n], and m boxes."""

    place: Int64s
    p: Doubles
    c: Doubles
    lo: Doubles
    hi: Doubles

    @classmethod
    def of(cls, walked: Walk) -> "Given":
        """Take the steps of a path, and the queries, which have a box each."""
        path, queries = walked.path, walked.index.queries
        leads = np.ones(len(path), np.bool_)
        leads[path.starts[:-1]] = False
        to = np.flatnonzero(leads)
        return cls(to, path.values[:, to - 1], path.values[:, to], queries.lo, queries.hi)

    @property
    def axes(self) -> int:
        """How many axes."""
        return len(self.lo)

    def steps(self) -> pa.Table:
        """Give place, p0, c0, p1, c1."""
        columns = {"place": self.place}
        for axis in range(self.axes):
            columns |= {f"p{axis}": self.p[axis], f"c{axis}": self.c[axis]}
        return pa.table(columns)

    def boxes(self) -> pa.Table:
        """Give query, lo0, hi0, lo1, hi1."""
        columns = {"query": np.arange(self.lo.shape[1], dtype=np.int64)}
        for axis in range(self.axes):
            columns |= {f"lo{axis}": self.lo[axis], f"hi{axis}": self.hi[axis]}
        return pa.table(columns)

    def borders(self, cell: float) -> pa.Table:
        """Give the boxes with each cell that their border runs through: cell0, cell1.

        On one axis a border is a row, with the border itself; on two a box is met in many cells.
        """
        low, high = (np.floor(ends / cell).astype(np.int64) for ends in (self.lo, self.hi))
        if self.axes == 1:
            query = np.tile(np.arange(low.shape[1]), 2)
            ends = np.concatenate([self.lo[0], self.hi[0]])
            table = self._at(query, np.concatenate([low, high], axis=1))
            return table.append_column("border", pa.array(ends))
        rows, cells = list[Int64s](), list[Int64s]()
        every = np.arange(low.shape[1])
        for axis in (0, 1):
            other = 1 - axis
            many = high[other] - low[other] + 1
            query = np.repeat(every, many)
            first = np.repeat(np.cumsum(many) - many, many)
            along = np.arange(len(query)) - first + low[other, query]
            for side in (low, high):
                at = np.empty((2, len(query)), np.int64)
                at[axis], at[other] = side[axis, query], along
                rows.append(query)
                cells.append(at)
        query, at = np.concatenate(rows), np.concatenate(cells, axis=1)
        _, first = np.unique(np.concatenate([query[None], at]), axis=1, return_index=True)
        return self._at(query[first], at[:, first])

    def met(self, cell: float) -> int:
        """Estimate how many borders all steps meet in their cells, from some of the steps."""
        borders = self.borders(cell)
        some = np.linspace(0, self.c.shape[1] - 1, 200).astype(np.int64)
        met = np.ones((len(some), len(borders)), np.bool_)
        for axis in range(self.axes):
            p, c = (np.floor(ends[axis, some] / cell)[:, None] for ends in (self.p, self.c))
            at = borders[f"cell{axis}"].to_numpy()
            met &= (at >= np.minimum(p, c)) & (at <= np.maximum(p, c))
        return int(met.sum() / len(some) * self.c.shape[1])

    def _at(self, query: Int64s, cells: Int64s) -> pa.Table:
        table = self.boxes().take(pa.array(query))
        for axis, column in enumerate(cells):
            table = table.append_column(f"cell{axis}", pa.array(column))
        return table


def keys(place: Int64s, query: Int64s, enters: Int64s, queries: int) -> Keys:
    """Name each event by a number, in order."""
    return np.sort((place.astype(np.int64) * queries + query) * 2 + enters.astype(np.int64))


def keys_of(events: Events, queries: int) -> Keys:
    """Name ours."""
    return keys(events.place, events.query, events.type > 0, queries)
