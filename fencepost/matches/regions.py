"""Regions of queries: boxes in an index, refined where they are more than the region, and whose.

Law: a query is found at a point iff one of its regions holds it, and then once.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from fencepost.errors import InputError
from fencepost.matches.boxes import Boxes
from fencepost.matches.exact import Exact
from fencepost.matches.index import BoxIndex, Parameter, named
from fencepost.matches.result import ProbeResult
from fencepost.ragged import ptr_of
from fencepost.tuples import Bools, Doubles, Int32s, Int64s


@dataclass(frozen=True, eq=False)
class Regions:
    """Regions in an index.

    build   that of the index          probe   that of the index; each candidate with tests adds
    size    that of the index, 4 bytes a box           its test
    """

    index: BoxIndex
    query: Int32s | None  # [box] its query; None: box q is query q's
    several: bool  # whether a query has several boxes
    exact: Exact | None

    @classmethod
    def build(
        cls,
        boxes: Boxes,
        name: str = "packed",
        *,
        query: Int32s | None = None,
        exact: Exact | None = None,
        **parameters: Parameter,
    ) -> Self:
        """Build the index of that name over the boxes."""
        if exact is not None and len(exact.asks) != len(boxes):
            raise InputError(f"{len(boxes)} boxes, but {len(exact.asks)} are to be refined")
        several = query is not None and len(np.unique(query)) < len(query)
        if query is not None and np.array_equal(query, np.arange(len(query))):
            query = None
        if exact is not None and not exact.asks.any():
            exact = None
        return cls(named(name, boxes.axes).build(boxes, **parameters), query, several, exact)

    @property
    def nbytes(self) -> int:
        """Bytes of the index, of the owners and of the tests."""
        own = 0 if self.query is None else self.query.nbytes
        return self.index.nbytes + own + (0 if self.exact is None else self.exact.nbytes)

    def probe(self, points: Doubles) -> ProbeResult:
        """Find the queries that hold each point."""
        found = self.index.probe(points)
        if self.exact is not None:
            found = _refined(found, points, self.exact)
        if self.query is not None:
            found = ProbeResult(found.ptr, self.query[found.ids])
        return once_each(found) if self.several else found

    def check(self) -> None:
        """Raise BrokenIndex unless every invariant holds."""
        self.index.check()


def _refined(found: ProbeResult, points: Doubles, exact: Exact) -> ProbeResult:
    """Test the candidates that have tests; the others hold by their box alone."""
    unsure = np.flatnonzero(exact.asks[found.ids])
    if not len(unsure):
        return found
    kept = np.ones(len(found.ids), np.bool_)
    kept[unsure] = exact.holds(points, found.points[unsure], found.ids[unsure])
    return chosen(found, kept)


def chosen(found: ProbeResult, kept: Bools) -> ProbeResult:
    """Keep some of the results. O(results)."""
    if kept.all():
        return found
    before = ptr_of(kept)
    return ProbeResult(before[found.ptr], found.ids[kept])


def once_each(found: ProbeResult) -> ProbeResult:
    """Keep each id once at a point, ascending. O(n log n) over the results."""
    if len(found.ids) < 2:
        return found
    ordered = found.in_order()
    again = np.zeros(len(ordered.ids), np.bool_)
    again[1:] = ordered.ids[1:] == ordered.ids[:-1]
    begins: Int64s = ordered.ptr[:-1][ordered.counts > 0]
    again[begins] = False
    return chosen(ordered, ~again)
