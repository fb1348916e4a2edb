"""All the joins of one ordered pair of feeds, as columns: one set for each kind.

`registered` is the registry version with which each became active: a window join sees no tuple
accepted under an earlier one.

Law: a set never changes. Ids are distinct within it, no box is empty, and no band has its ends the
wrong way round.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

from fencepost.arrays import Bools, Doubles, Int32s, Int64s
from fencepost.errors import InputError
from fencepost.lanes import lane_of
from fencepost.queries.condition import OPS
from fencepost.queries.conversions import or_absent
from fencepost.queries.joins.query import BAND_JOIN, NEAR_JOIN, WINDOW_JOIN, JoinQuery, SomeStreams
from fencepost.queries.joins.regions import SideRegions
from fencepost.ragged import members, ptr_of
from fencepost.text import the_query
from fencepost.times import ALWAYS_FROM, ALWAYS_TO

Identity = tuple[str, str, tuple[tuple[str, ...], tuple[str, ...]], pa.StringArray, Int32s, Int64s]
FOREVER = np.iinfo(np.int64).max
"""A window without an end: of time where tuples are counted, of tuples where time is."""


@dataclass(frozen=True, eq=False)
class _JoinSet:
    """What sets of all kinds have: the feeds and their axes, and the identity of each query."""

    left: str
    right: str
    axes: tuple[tuple[str, ...], tuple[str, ...]]
    ids: pa.StringArray
    versions: Int32s
    registered: Int64s

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lane(self) -> str:
        """The ordered pair of feeds."""
        return lane_of(self.left, self.right)

    def _of_rows(self, rows: Int64s, **columns: Any) -> Self:  # noqa: ANN401  of any kind
        """Return the queries of these rows, of which `columns` are what they have of their own."""
        return replace(
            self,
            ids=self.ids.take(pa.array(rows)),
            versions=self.versions[rows],
            registered=self.registered[rows],
            **columns,
        )


@dataclass(frozen=True, eq=False)
class WindowJoins(_JoinSet):
    """q window joins with c conjuncts. 56 bytes a query, 16 + 16 an axis for a conjunct.

    Query k has the conjuncts ptr[k]:ptr[k + 1]; conjunct j the box lo[:, j], hi[:, j] over the left
    feed's axes and then the right feed's, and the tests test_ptr[j]:test_ptr[j + 1]: `tests` holds
    (axis, place of the op in OPS, other axis), `plus` what is added to the one and to the other.
    `regions` are what tuples of the left feed must be in beside, and those of the right.
    The earlier of a pair must be within `window` µs and among the `last` tuples of its feed.
    """

    window: Int64s
    last: Int64s
    valid_from: Int64s
    valid_to: Int64s
    ptr: Int64s
    lo: Doubles
    hi: Doubles
    test_ptr: Int64s
    tests: Int32s  # [test, 3]
    plus: Doubles  # [test, 2]
    regions: tuple[SideRegions, SideRegions]

    @classmethod
    def from_queries(
        cls,
        feeds: tuple[str, str],
        axes: tuple[Sequence[str], Sequence[str]],
        queries: Iterable[JoinQuery],
        registered: Sequence[int] | Int64s | None = None,
    ) -> "WindowJoins":
        """Build a set from queries; `registered` is 0 for all where it is not given."""
        queries = _of_kind(feeds, WINDOW_JOIN, queries)
        d = len(axes[0]) + len(axes[1])
        conjuncts = list(chain.from_iterable(q.conjuncts for q in queries))
        for query in queries:
            if not query.conjuncts or any(len(each.box) != d for each in query.conjuncts):
                raise InputError(f"{the_query(query.id)} was read without the axes of its feeds")
        ends = np.array([each.box for each in conjuncts], np.float64).reshape(-1, d, 2)
        lo, hi = np.ascontiguousarray(ends.transpose(2, 1, 0)) + 0.0
        tests = list(chain.from_iterable(each.tests for each in conjuncts))
        return cls(
            *_identity(feeds, axes, queries, registered),
            or_absent([q.window for q in queries], FOREVER),
            or_absent([q.last for q in queries], FOREVER),
            or_absent([q.valid_from for q in queries], ALWAYS_FROM),
            or_absent([q.valid_to for q in queries], ALWAYS_TO),
            ptr_of([len(q.conjuncts) for q in queries]),
            lo,
            hi,
            ptr_of([len(each.tests) for each in conjuncts]),
            np.array([(t.axis, OPS.index(t.op), t.other) for t in tests], np.int32).reshape(-1, 3),
            np.array([(t.plus, t.other_plus) for t in tests], np.float64).reshape(-1, 2) + 0.0,
            (_of_side(queries, 0), _of_side(queries, 1)),
        )

    def take(self, rows: Int64s) -> "WindowJoins":
        """Return some of the queries, in the order of `rows`. O(what they say)."""
        ptr, conjuncts = members(self.ptr, rows)
        test_ptr, tests = members(self.test_ptr, conjuncts)
        return self._of_rows(
            rows,
            ptr=ptr,
            lo=np.ascontiguousarray(self.lo[:, conjuncts]),
            hi=np.ascontiguousarray(self.hi[:, conjuncts]),
            test_ptr=test_ptr,
            tests=self.tests[tests],
            plus=self.plus[tests],
            regions=(self.regions[0].take(rows), self.regions[1].take(rows)),
            window=self.window[rows],
            last=self.last[rows],
            valid_from=self.valid_from[rows],
            valid_to=self.valid_to[rows],
        )


@dataclass(frozen=True, eq=False)
class BandJoins(_JoinSet):
    """q band joins: low <= left axis - right axis <= high, both ends closed. 44 bytes each."""

    left_axis: Int32s  # its place among the left feed's axes
    right_axis: Int32s
    low: Doubles
    high: Doubles

    @classmethod
    def from_queries(
        cls,
        feeds: tuple[str, str],
        axes: tuple[Sequence[str], Sequence[str]],
        queries: Iterable[JoinQuery],
        registered: Sequence[int] | Int64s | None = None,
    ) -> "BandJoins":
        """Build a set from queries; `registered` is 0 for all where it is not given."""
        queries = _of_kind(feeds, BAND_JOIN, queries)
        for query in queries:
            if query.left_axis not in axes[0] or query.right_axis not in axes[1]:
                raise InputError(f"{the_query(query.id)} joins axes that its feeds do not have")
            if not query.low <= query.high:
                raise InputError(f"{the_query(query.id)} has the band [{query.low}, {query.high}]")
        return cls(
            *_identity(feeds, axes, queries, registered),
            np.array([list(axes[0]).index(q.left_axis or "") for q in queries], np.int32),
            np.array([list(axes[1]).index(q.right_axis or "") for q in queries], np.int32),
            np.array([q.low for q in queries], np.float64) + 0.0,
            np.array([q.high for q in queries], np.float64) + 0.0,
        )

    def take(self, rows: Int64s) -> "BandJoins":
        """Return some of the queries, in the order of `rows`. O(rows)."""
        return self._of_rows(
            rows,
            left_axis=self.left_axis[rows],
            right_axis=self.right_axis[rows],
            low=self.low[rows],
            high=self.high[rows],
        )


@dataclass(frozen=True, eq=False)
class NearJoins(_JoinSet):
    """q near joins: positions at most `distance` apart. 69 bytes each beside the streams it names.

    Of the streams of a side s, join k takes those that stream_ptr[2 k + s] names and those that fit
    a pattern of like_ptr[2 k + s], or all unless `some` says so.
    """

    position: Int32s  # [join, (left x, left y, right x, right y)]: places among the axes
    earth: Bools
    distance: Doubles
    some: Bools  # [join, side]
    stream_ptr: Int64s
    streams: pa.StringArray
    like_ptr: Int64s
    likes: pa.StringArray

    @classmethod
    def from_queries(
        cls,
        feeds: tuple[str, str],
        axes: tuple[Sequence[str], Sequence[str]],
        queries: Iterable[JoinQuery],
        registered: Sequence[int] | Int64s | None = None,
    ) -> "NearJoins":
        """Build a set from queries; `registered` is 0 for all where it is not given."""
        queries = _of_kind(feeds, NEAR_JOIN, queries)
        places = []
        for query in queries:
            if query.positions is None or query.distance is None:
                raise InputError(f"{the_query(query.id)} was read without its feeds' positions")
            places.append([axis for pair in query.positions for axis in pair])
            if max(query.positions[0]) >= len(axes[0]) or max(query.positions[1]) >= len(axes[1]):
                raise InputError(f"{the_query(query.id)} has positions on axes that its feeds lack")
        takes = [side or SomeStreams() for query in queries for side in query.takes]
        return cls(
            *_identity(feeds, axes, queries, registered),
            np.array(places, np.int32).reshape(-1, 4),
            np.array([q.earth for q in queries], np.bool_),
            np.array([q.distance for q in queries], np.float64),
            np.array([[s is not None for s in q.takes] for q in queries], np.bool_).reshape(-1, 2),
            ptr_of([len(each.named) for each in takes]),
            pa.array([name for each in takes for name in each.named], pa.string()),
            ptr_of([len(each.likes) for each in takes]),
            pa.array([name for each in takes for name in each.likes], pa.string()),
        )

    def take(self, rows: Int64s) -> "NearJoins":
        """Return some of the queries, in the order of `rows`. O(what they say)."""
        sides = (2 * np.asarray(rows, np.int64)[:, None] + np.arange(2)).ravel()
        stream_ptr, streams = members(self.stream_ptr, sides)
        like_ptr, likes = members(self.like_ptr, sides)
        return self._of_rows(
            rows,
            position=self.position[rows],
            earth=self.earth[rows],
            distance=self.distance[rows],
            some=self.some[rows],
            stream_ptr=stream_ptr,
            streams=self.streams.take(pa.array(streams)),
            like_ptr=like_ptr,
            likes=self.likes.take(pa.array(likes)),
        )


class JoinSets(NamedTuple):
    """All the joins of one ordered pair of feeds: a set for each kind, in the order of JOINS."""

    windows: WindowJoins
    bands: BandJoins
    nears: NearJoins

    @classmethod
    def from_queries(
        cls,
        feeds: tuple[str, str],
        axes: tuple[Sequence[str], Sequence[str]],
        queries: Iterable[JoinQuery] = (),
        registered: Sequence[int] | Int64s | None = None,
    ) -> "JoinSets":
        """Part queries by kind, each in their order; `registered` is of all of them."""
        every = list(queries)
        since = np.zeros(len(every), np.int64) if registered is None else np.asarray(registered)
        of_kind = {
            kind: [n for n, query in enumerate(every) if query.kind == kind]
            for kind in (WINDOW_JOIN, BAND_JOIN, NEAR_JOIN)
        }
        given = {
            kind: (feeds, axes, [every[n] for n in rows], since[rows])
            for kind, rows in of_kind.items()
        }
        return cls(
            WindowJoins.from_queries(*given[WINDOW_JOIN]),
            BandJoins.from_queries(*given[BAND_JOIN]),
            NearJoins.from_queries(*given[NEAR_JOIN]),
        )

    def part(self, number: int, of: int) -> "JoinSets":
        """Give every so many-th of each kind."""
        return JoinSets(
            self.windows.take(np.arange(number, len(self.windows), of)),
            self.bands.take(np.arange(number, len(self.bands), of)),
            self.nears.take(np.arange(number, len(self.nears), of)),
        )


def _of_side(queries: Sequence[JoinQuery], side: int) -> SideRegions:
    return SideRegions.of(
        [q.regions[side] for q in queries], [q.region_axes[side] for q in queries]
    )


def _of_kind(feeds: tuple[str, str], kind: str, queries: Iterable[JoinQuery]) -> list[JoinQuery]:
    """Refuse queries that do not belong in a set of this kind over these feeds."""
    chosen = list(queries)
    for query in chosen:
        if query.kind != kind:
            raise InputError(
                f"{the_query(query.id)} is of the kind '{query.kind}', the set of '{kind}'"
            )
        if (query.left, query.right) != feeds:
            raise InputError(f"{the_query(query.id)} joins {query.lane}, the set {lane_of(*feeds)}")
    if len({query.id for query in chosen}) < len(chosen):
        raise InputError(f"the joins of {lane_of(*feeds)} are given an id twice")
    return chosen


def _identity(
    feeds: tuple[str, str],
    axes: tuple[Sequence[str], Sequence[str]],
    queries: Sequence[JoinQuery],
    registered: Sequence[int] | Int64s | None,
) -> Identity:
    """Give what sets of all kinds begin with: the fields of a _JoinSet."""
    since = np.zeros(len(queries)) if registered is None else registered
    return (
        *feeds,
        (tuple(axes[0]), tuple(axes[1])),
        pa.array([q.id for q in queries], pa.string()),
        np.array([q.version for q in queries], np.int32),
        np.array(since, np.int64),
    )
