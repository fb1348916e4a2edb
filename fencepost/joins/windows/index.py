"""The window joins of a lane (S3): which pairs do new tuples of one side make with the other's?

Law: for a new tuple l and an old one e, D = max(|l.ts - e.ts|, mark - e.ts), and C is how many
tuples of e's feed were accepted from e on, e among them. The pair satisfies a query iff one of its
conjuncts holds for the values, each is in the query's region for its side if there is one,
D <= window, C <= last, e was accepted under a registry not older than the query, and
valid_from <= l.ts < valid_to. Whatever the method, the pairs are the same.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from fencepost.errors import InputError
from fencepost.joins.windows import bitmaps, ranges, scan
from fencepost.joins.windows.choose import Choice, choose
from fencepost.joins.windows.conjuncts import Conjuncts
from fencepost.joins.windows.inputs import (
    NewTuples,
    StandingWindow,
    WindowProbe,
    matches_of,
    new_tuples,
    standing_window,
)
from fencepost.joins.windows.live import Live
from fencepost.joins.windows.pairs import Pairs
from fencepost.joins.windows.pieces import PIECES
from fencepost.joins.windows.spatial import SpatialPairs
from fencepost.matches import Regions
from fencepost.matches.auto import choose as choose_index
from fencepost.queries.joins import WindowJoins
from fencepost.shapes.holds import holds
from fencepost.shapes.prepare import Prepared, prepared
from fencepost.text import did_you_mean, shortened
from fencepost.tuples import Doubles, Int64s

LEFT, RIGHT = 0, 1
AUTO = "auto"
METHODS = {
    "scan": scan.compare_all,
    "runs": ranges.scan_runs,
    "ranges": ranges.search,
    "bitmaps": bitmaps.intersect,
}
SPATIAL = "spatial_join"


@dataclass(frozen=True, eq=False)
class WindowIndex:
    """The conjuncts of q window joins, seen from both sides.

    build   O(c d log c): an index of `matches` over each side's own axes
    probe   that index's, for the new tuples; then the method's: see ranges, bitmaps, spatial
    size    the two indexes, and 80 + 16 d bytes a conjunct
    """

    queries: WindowJoins
    method: str
    sides: tuple[Conjuncts, Conjuncts]
    own: tuple[Regions, Regions]
    spatial: SpatialPairs | None

    @classmethod
    def build(cls, queries: WindowJoins, pieces: int = PIECES, method: str = AUTO) -> Self:
        """Build from the conjuncts; `pieces` is how many S3's join cuts a join condition into."""
        names = (AUTO, *METHODS, SPATIAL)
        if method not in names:
            raise InputError(
                f"no way to join windows is called '{shortened(method)}'; there are: "
                f"{', '.join(names)}.{did_you_mean(method, names)}"
            )
        if pieces < 1:
            raise InputError(f"a join condition cannot be cut into {pieces} pieces, 1 at least")
        sides = (Conjuncts.seen_from(LEFT, queries), Conjuncts.seen_from(RIGHT, queries))
        spatial = None
        if method == SPATIAL:
            conditions = sides[LEFT].conditions
            spatial = SpatialPairs.build(queries, conditions.term, conditions.terms, pieces)
        return cls(queries, method, sides, (_regions(sides[LEFT]), _regions(sides[RIGHT])), spatial)

    def __len__(self) -> int:
        """How many queries."""
        return len(self.queries)

    @property
    def nbytes(self) -> int:
        """Bytes of its own."""
        own = sum(each.nbytes for each in (*self.sides, *self.own))
        return own + (0 if self.spatial is None else self.spatial.nbytes)

    def probe(
        self,
        side: int,
        ts: Int64s,
        values: Doubles,
        live: Live,
        mark: Int64s | int,
        accepted: Int64s | int,
    ) -> Pairs:
        """Pair new tuples of a side with the other side's window, `old` being rows of `live`.

        `mark` is the lane's before the delivery, NEVER where there is none; `accepted` how many of
        the other feed were accepted before it. Either may be an array, one for each new tuple:
        tuples of several deliveries are probed together, and what `live` has beyond `accepted` is
        not there yet.
        """
        if not len(ts) or not len(live) or not len(self.queries):
            return Pairs.nothing()
        new, standing = self._inputs(side, ts, values, live, mark, accepted)
        if self.spatial is not None:
            terms = self.sides[side].conditions.terms
            found = self.spatial.probe(side, new, standing, terms)
        else:
            probe = self._probe(side, new, standing)
            found = METHODS[choose(probe).name if self.method == AUTO else self.method](probe)
        found = self._in_regions(side, found, found.new, values)
        return self._in_regions(1 - side, found, found.old, live.values)

    def _in_regions(self, side: int, pairs: Pairs, rows: Int64s, values: Doubles) -> Pairs:
        """Keep the pairs whose tuples of a side, in these rows, are in their query's region."""
        regions = self.queries.regions[side]
        if regions.position is None or not len(pairs):
            return pairs
        shape = regions.shape[pairs.query]
        tested = np.flatnonzero(shape >= 0)
        x, y = (values[axis, rows[tested]] for axis in regions.position)
        kept = np.ones(len(pairs), np.bool_)
        kept[tested] = holds(self._prepared[side], shape[tested], x, y)
        return pairs.kept(kept)

    @cached_property
    def _prepared(self) -> tuple[Prepared, Prepared]:
        left, right = (prepared(regions.shapes) for regions in self.queries.regions)
        return left, right

    def choice(
        self,
        side: int,
        ts: Int64s,
        values: Doubles,
        live: Live,
        mark: Int64s | int,
        accepted: Int64s | int,
    ) -> Choice:
        """Say what `auto` chooses for such a probe, and why."""
        new, standing = self._inputs(side, ts, values, live, mark, accepted)
        return choose(self._probe(side, new, standing))

    def _inputs(
        self,
        side: int,
        ts: Int64s,
        values: Doubles,
        live: Live,
        mark: Int64s | int,
        accepted: Int64s | int,
    ) -> tuple[NewTuples, StandingWindow]:
        mine, other = self.queries.axes[side], self.queries.axes[1 - side]
        for whose, given, axes in (("new", values, mine), ("old", live.values, other)):
            if len(given) != len(axes):
                raise InputError(f"{whose} tuples of {len(given)} axes, {len(axes)} expected")
        new = new_tuples(ts, values, mark, accepted)
        return new, standing_window(live, self.sides[side].conditions.terms)

    def _probe(self, side: int, new: NewTuples, standing: StandingWindow) -> WindowProbe:
        """Find the conjuncts that match the new tuples, and put them in order."""
        conditions, result = self.sides[side].conditions, self.own[side].probe(new.values)
        return WindowProbe(new, standing, conditions, matches_of(result, len(conditions.query)))

    def check(self) -> None:
        """Raise BrokenIndex unless every index beneath holds what it was built of."""
        for own in self.own:
            own.check()
        if self.spatial is not None:
            self.spatial.check()

    def describe(self) -> str:
        """Say how many conjuncts there are, which indexes find them, and how pairs are made."""
        conditions = self.sides[LEFT].conditions
        sides = "; ".join(
            f"{name}: {own.index.name}, {own.index.describe()}"
            for name, own in zip((self.queries.left, self.queries.right), self.own, strict=True)
        )
        method = self.method if self.spatial is None else f"{SPATIAL}, {self.spatial.describe()}"
        windows = len(conditions.terms.last) - conditions.terms.wide
        return (
            f"{method}; {len(self):,} joins, {len(conditions.query):,} conjuncts, "
            f"{windows:,} windows, {len(conditions.tests.code):,} tests; {sides}"
        )


def _regions(side: Conjuncts) -> Regions:
    """Build the index that suits one side's own conditions."""
    choice = choose_index(side.own)
    return Regions.build(side.own, choice.name, exact=side.own_tests)
