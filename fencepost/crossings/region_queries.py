"""The queries of a layer that have a region: what their cells are built of, and what a walk reads.

They pass no posts: where a stream is in the cells says which of them can have changed. The cells,
and what tests a point, are made when a compiled walk first comes by; the twin needs neither.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fencepost.crossings.cells import ShapeCells
from fencepost.crossings.columns import Ruled
from fencepost.queries import QuerySet
from fencepost.queries.stream_boxes import StreamBoxes
from fencepost.shapes.prepare import Prepared, prepared
from fencepost.times import ALWAYS_FROM, ALWAYS_TO
from fencepost.tuples import Bools, Int32s, Int64s


@dataclass(frozen=True, eq=False, kw_only=True)
class RegionQueries:
    """Some queries of a layer with a region, each in its segment: all streams', or one stream's.

    A query for several named streams comes once for each.
    """

    queries: QuerySet
    axes: tuple[int, int]
    query: Int32s  # ascending within a segment
    segment: Int32s

    @classmethod
    def of(cls, queries: QuerySet, query: Int64s, segment: Int64s) -> "RegionQueries | None":
        """Arrange these queries; None where there is none."""
        if queries.position is None or not len(query):
            return None
        pairs = np.unique(np.stack([segment, query]), axis=1).astype(np.int32)
        return cls(queries=queries, axes=queries.position, query=pairs[1], segment=pairs[0])

    def __len__(self) -> int:
        """How many, counted once for each stream that they name."""
        return len(self.query)

    @cached_property
    def ruled(self) -> Ruled:
        """What the queries say beside their cells."""
        q = self.queries
        always = (q.valid_from == ALWAYS_FROM) & (q.valid_to == ALWAYS_TO)
        return Ruled(q.shape, q.enters_on_first, not always.all())

    @cached_property
    def tests(self) -> Prepared:
        """What tests a point, by the compiled walk."""
        return prepared(self.queries.shapes, fast=True)

    @cached_property
    def cells(self) -> ShapeCells:
        """The cells that they are in."""
        return ShapeCells.build(self.axes, self.tests, *self._columns())

    def _columns(self) -> tuple[Int32s, Int32s, Int32s, Bools]:
        """Give, of each, the query, its shape, its segment, and whether more denies it."""
        return self.query, self.queries.shape[self.query], self.segment, self._loose()[self.query]

    def _loose(self) -> Bools:
        """Say of each query whether its boxes deny it more than the bounds of its shape do."""
        q = self.queries
        shaped = np.flatnonzero(q.shape >= 0)
        loose = np.ones(len(q), np.bool_)
        bounds = self.tests.lo, self.tests.hi
        box = q.box_ptr[shaped]
        same = q.box_ptr[shaped + 1] - box == 1
        for axis in range(len(q.axes)):
            lo, hi = q.lo[axis, box], q.hi[axis, box]
            if axis in self.axes:
                at, shape = self.axes.index(axis), q.shape[shaped]
                same &= (lo == bounds[0][at, shape]) & (hi == bounds[1][at, shape])
            else:
                same &= (lo == -np.inf) & (hi == np.inf)
        loose[shaped[same]] = False
        return loose

    @property
    def nbytes(self) -> int:
        """Bytes of the columns, and of the cells and the test as far as they are made."""
        own = self.query.nbytes + self.segment.nbytes
        cells = self.cells.nbytes if "cells" in vars(self) else 0
        tests = self.tests.nbytes - self.queries.shapes.nbytes if "tests" in vars(self) else 0
        return int(own + cells + tests)

    def check(self) -> None:
        """Raise BrokenIndex unless every query is in the cells that its shape meets."""
        self.cells.check(self.tests, *self._columns())


def region_queries_of(
    queries: QuerySet, named: StreamBoxes, query_of_box: Int64s
) -> tuple[RegionQueries | None, RegionQueries | None]:
    """Choose the queries with a region: those for all streams, and those for named ones."""
    has = queries.shape >= 0
    if not has.any():
        return None, None
    everywhere = np.flatnonzero(has & queries.everywhere)
    rows, segment = named.entries(has[query_of_box])
    return (
        RegionQueries.of(queries, everywhere, np.zeros(len(everywhere), np.int64)),
        RegionQueries.of(queries, query_of_box[rows], segment),
    )
