"""SJ-Join (S3 §6): pairs of tuples are points of the product space; one spatial join finds all.

Each new tuple with each in the window is a joinable pair: a point over the axes of both
feeds, with the distance in time as one more axis and the distance in count as another, so queries
with windows of any length share one query index. Conjuncts are boxes there, join conditions cut
into pieces (`pieces`). Pairs are sorted by proximity and clustered by the spatial join of
`matches`; that one pass covers join and selection conditions, and windows. Refinement is
exact.

Law: a pair's point is in a piece of every conjunct that it satisfies, for distances become
doubles without changing their order.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from fencepost.joins.windows.conjuncts import ArithmeticTests, Terms
from fencepost.joins.windows.inputs import NewTuples, StandingWindow
from fencepost.joins.windows.kernels import rows
from fencepost.joins.windows.pairs import Pairs
from fencepost.joins.windows.pieces import decomposed
from fencepost.matches import Boxes, Regions
from fencepost.queries.joins import WindowJoins
from fencepost.tuples import Bools, Int32s, Int64s

AT_ONCE = 1 << 16  # pairs that are joined together
DISTANCES = 2  # axes beside those of the feeds: time, count


@dataclass(frozen=True, eq=False)
class SpatialPairs:
    """c conjuncts in a spatial join over d + 2 axes.

    build   O(c p log c): p pieces each          probe   O(pairs) and the join's; AT_ONCE together
    """

    regions: Regions
    query: Int32s
    term: Int32s

    @classmethod
    def build(cls, queries: WindowJoins, term: Int32s, terms: Terms, pieces: int) -> Self:
        """Cut the conjuncts, and index the pieces with their windows."""
        boxes, conjunct = decomposed(queries, pieces)
        own = term[conjunct]
        far = np.stack([terms.window[own], terms.last[own]]).astype(np.float64)
        lo = np.concatenate([boxes.lo, [np.zeros(len(own)), np.ones(len(own))]])
        whole = Boxes.of(lo, np.concatenate([boxes.hi, np.nextafter(far, np.inf)]))
        tests = ArithmeticTests(queries.test_ptr, queries.tests, queries.plus).take(conjunct)
        regions = Regions.build(whole, "spatial_join", query=conjunct.astype(np.int32), exact=tests)
        owner = np.repeat(np.arange(len(queries), dtype=np.int32), np.diff(queries.ptr))
        return cls(regions, owner, term)

    @property
    def nbytes(self) -> int:
        """Bytes of the index, and of whose each conjunct is."""
        return self.regions.nbytes + self.query.nbytes + self.term.nbytes

    def probe(self, side: int, new: NewTuples, standing: StandingWindow, terms: Terms) -> Pairs:
        """Join all pairs that any window holds, AT_ONCE of them together."""
        kinds = range(len(terms.last) - terms.wide, len(terms.last))
        parts = []
        for i in range(len(new.ts)):
            runs = [rows(new, standing, terms, i, t) for t in kinds]
            runs = [(int(first), int(last)) for first, last in runs if first < last]
            if not runs:
                continue
            begin, end = min(first for first, _ in runs), max(last for _, last in runs)
            for at in range(begin, end, AT_ONCE):
                old = np.arange(at, min(at + AT_ONCE, end))
                parts.append(self._some(side, new, standing, terms, i, old))
        return Pairs.together(parts)

    def _some(
        self, side: int, new: NewTuples, standing: StandingWindow, terms: Terms, i: int, old: Int64s
    ) -> Pairs:
        """Join one new tuple with some old ones."""
        mine = np.repeat(new.values[:, [i]], len(old), axis=1)
        both = (mine, standing.values[:, old])
        time, count = _distances(new, standing, i, old)
        points = np.concatenate([*(both if side == 0 else both[::-1]), [time, count]])
        found = self.regions.probe(points)
        point, conjunct = found.points, found.ids
        kept = _allowed(new, standing, terms, i, old[point], self.term[conjunct])
        row, query = old[point[kept]], self.query[conjunct[kept]]
        return Pairs.once_each(np.full(len(row), i, np.int64), row, query)

    def check(self) -> None:
        """Raise BrokenIndex unless the join's index holds what it was built of."""
        self.regions.check()

    def describe(self) -> str:
        """Say how many pieces there are, and how they are indexed."""
        return f"{len(self.regions.index.boxes):,} pieces; {self.regions.index.describe()}"


def _distances(
    new: NewTuples, standing: StandingWindow, i: int, old: Int64s
) -> tuple[Int64s, Int64s]:
    """Return the distances of a pair in time and in count."""
    ts = standing.ts[old]
    time: Int64s = np.maximum(np.abs(new.ts[i] - ts), new.mark[i] - ts)
    return time, new.accepted[i] - standing.place[old]


def _allowed(
    new: NewTuples, standing: StandingWindow, terms: Terms, i: int, old: Int64s, term: Int32s
) -> Bools:
    """Test times, places, registration and validity exactly."""
    time, count = _distances(new, standing, i, old)
    passed: Bools = (time <= terms.window[term]) & (count >= 1) & (count <= terms.last[term])
    passed &= old >= standing.since[term]
    passed &= (terms.valid_from[term] <= new.ts[i]) & (new.ts[i] < terms.valid_to[term])
    return passed
