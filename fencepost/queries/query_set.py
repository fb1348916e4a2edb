"""All the standing queries of one feed, as columns: a value, named by its content.

Law: a QuerySet never changes. Ids are distinct, every query has a box, and no box is empty. What is
added comes behind what was there, what stays keeps its order, so that row numbers can be carried
from one set to the next.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Bools, Doubles, Int32s, Int64s
from fencepost.errors import Fault, Faults, InputError
from fencepost.position import Position
from fencepost.queries.columns import (
    CROSSING,
    MATCH,
    QueryColumns,
    check_columns,
    no_likes,
    no_tests,
)
from fencepost.queries.fingerprint import Sums, fingerprint_of, minus, plus, sums_of
from fencepost.queries.ids import KnownIds, named
from fencepost.queries.patterns import Patterns
from fencepost.queries.query import StandingQuery
from fencepost.queries.query_list import columns_of_each
from fencepost.queries.region import appended, some_shapes
from fencepost.queries.table import columns_of
from fencepost.queries.usual import USUAL, is_usual, usual
from fencepost.ragged import members, ptr_of
from fencepost.shapes.columns import Shapes


@dataclass(frozen=True, eq=False)
class QuerySet:
    """n queries of one feed and kind: 59 bytes each, 8 + 16 an axis for a box, and the ids.

    from_queries   O(n), 2 µs a query      with_added     a copy of what is not usual
    from_table     O(n), 0.1–0.3 µs a row        with_removed   the same
    fingerprint    O(n), 0.1 µs, once        take           O(rows + their boxes)

    Query q has the boxes lo[:, box_ptr[q]:box_ptr[q+1]] and hi likewise. Where it does not watch
    everywhere, its streams are streams[stream_ptr[q]:stream_ptr[q+1]]; where it has the patterns
    likes[k], those with like_query[k] = q, it is `everywhere` for an index, and filtered: see
    patterns.py. `within` is -1 where there
    is none. Box b of a match has the tests[test_ptr[b]:test_ptr[b+1]], each (left axis, place of
    the op in OPS, right axis). Where shape[q] is not -1, q holds only within that one of `shapes`,
    on the two axes of `position`. `sums` is what the fingerprint is made of, where it is known.
    """

    feed: str
    axes: tuple[str, ...]
    ids: pa.StringArray
    versions: npt.NDArray[np.int32]
    box_ptr: Int64s
    lo: Doubles
    hi: Doubles
    everywhere: Bools
    stream_ptr: Int64s
    streams: pa.StringArray
    within: Int64s
    enters_on_first: Bools
    valid_from: Int64s
    valid_to: Int64s
    test_ptr: Int64s
    tests: Int32s
    like_query: Int64s
    likes: pa.StringArray
    leaps: Bools
    shape: Int32s
    shapes: Shapes
    kind: str = CROSSING
    position: tuple[int, int] | None = None
    sums: Sums | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Make the arrays read-only. Without shapes there is no position."""
        if not len(self.shapes):
            vars(self)["position"] = None
        for name, column in vars(self).items():
            if isinstance(column, np.ndarray):
                view = column.view()
                view.flags.writeable = False
                vars(self)[name] = view

    @classmethod
    def empty(cls, feed: str, axes: Sequence[str], kind: str = CROSSING) -> "QuerySet":
        """No queries."""
        return cls.from_queries(feed, axes, (), kind)

    @classmethod
    def from_queries(
        cls,
        feed: str,
        axes: Sequence[str],
        queries: Iterable[StandingQuery],
        kind: str = CROSSING,
    ) -> "QuerySet":
        """Build a set of queries; refuse other feeds' and kinds', unparsed ones, repeated ids."""
        columns, position = columns_of_each(feed, axes, list(queries), kind)
        return cls(feed, tuple(axes), *columns, kind, position)

    @classmethod
    def from_table(
        cls,
        feed: str,
        axes: Sequence[str],
        table: pa.Table,
        source: str = "table",
        kind: str = CROSSING,
        position: Position | None = None,
    ) -> "QuerySet":
        """Read a table of one-box queries, as table.py describes it; raise Faults for bad rows.

        All are of the kind, whether they say so or not; a row that says another is a bad one.
        """
        columns, matches = columns_of(tuple(axes), table, source, kind, position)
        strange = np.flatnonzero(matches != (kind == MATCH))
        if len(strange):
            row = int(strange[0]) + 1
            raise Faults([Fault(source, f"`kind` is not '{kind}'", row)], "nothing imported")
        return cls(feed, tuple(axes), *columns, kind, None if position is None else position.axes)

    @classmethod
    def of_each_kind(
        cls,
        feed: str,
        axes: Sequence[str],
        table: pa.Table,
        source: str = "table",
        position: Position | None = None,
    ) -> "dict[str, QuerySet]":
        """Read a table like `from_table`, each row as the kind it says: the sets by kind."""
        columns, matches = columns_of(tuple(axes), table, source, CROSSING, position)
        on = None if position is None else position.axes
        if not matches.any():
            return {CROSSING: cls(feed, tuple(axes), *columns, position=on)}
        whole = cls(feed, tuple(axes), *columns, MATCH, on)
        crossings = replace(whole.take(np.flatnonzero(~matches)), kind=CROSSING)
        return {CROSSING: crossings, MATCH: whole.take(np.flatnonzero(matches))}

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Bytes of the columns, the ids included."""
        return sum(column.nbytes for column in self.columns())

    @cached_property
    def fingerprint(self) -> str:
        """The name of the content, 32 hex digits; the order of the queries is no part of it."""
        if self.sums is None:
            vars(self)["sums"] = sums_of(self.columns())
        sums = self.sums or (0, 0)
        return fingerprint_of(self.feed, self.axes, len(self), sums, self.kind, self.position)

    @cached_property
    def patterns(self) -> Patterns | None:
        """Which queries have patterns of streams; None: none has."""
        if not len(self.likes):
            return None
        ptr = ptr_of(np.bincount(self.like_query, minlength=len(self)))
        return Patterns(np.diff(ptr) > 0, ptr, self.likes, self.stream_ptr, self.streams)

    def with_added(self, more: "QuerySet") -> "QuerySet":
        """Return the set with more queries appended. An id that exists already is refused."""
        if (more.feed, more.axes) != (self.feed, self.axes):
            raise InputError(
                f"queries of the feed '{more.feed}' with the axes {', '.join(more.axes)} "
                f"cannot join those of '{self.feed}' with {', '.join(self.axes)}"
            )
        if more.kind != self.kind:
            raise InputError(f"{more.kind} queries cannot join {self.kind} queries in one set")
        self._refuse_known(more.ids)
        if len(more) == 0:
            return self
        mine, theirs = self.columns(), more.columns()
        as_most = self.usual & more.usual
        position, shape, shapes = None, usual("shape", len(self) + len(more)), mine.shapes
        if "shape" not in as_most:
            position, shape, shapes = appended((self.position, mine), (more.position, theirs))
        columns: dict[str, Any] = {
            "ids": pa.concat_arrays([mine.ids, theirs.ids]),
            "streams": pa.concat_arrays([mine.streams, theirs.streams]),
            "likes": pa.concat_arrays([mine.likes, theirs.likes]),
            "like_query": np.concatenate([mine.like_query, theirs.like_query + len(self)]),
            "lo": np.concatenate([mine.lo, theirs.lo], axis=1),
            "hi": np.concatenate([mine.hi, theirs.hi], axis=1),
            "tests": np.concatenate([mine.tests, theirs.tests]),
            "shape": shape,
            "shapes": shapes,
        }
        for name in (name for name in USUAL if name not in columns):
            one, other = getattr(mine, name), getattr(theirs, name)
            counts = name.endswith("_ptr")
            if name in as_most:
                columns[name] = usual(name, len(one) + len(other) - counts)
            else:
                columns[name] = np.concatenate([one, other[1:] + one[-1] if counts else other])
        sums = None
        if self.sums is not None:
            sums = plus(self.sums, more.sums or sums_of(theirs))
        found = QuerySet(
            self.feed, self.axes, **columns, kind=self.kind, position=position, sums=sums
        )
        vars(found)["usual"] = as_most
        return found

    @cached_property
    def usual(self) -> frozenset[str]:
        """Name the columns in which every query is as most are. O(n), once."""
        columns = self.columns()
        return frozenset(name for name in USUAL if is_usual(name, getattr(columns, name)))

    @cached_property
    def _known(self) -> KnownIds:
        return KnownIds.of(self.ids)

    def _refuse_known(self, ids: pa.StringArray) -> None:
        """Refuse ids of which the set has one already."""
        maybe = self._known.may_have(ids)
        if len(maybe):
            again = pc.is_in(ids.take(pa.array(maybe)), value_set=self.ids)
            present = maybe[again.to_numpy(zero_copy_only=False)]
            if len(present):
                raise InputError(f"the feed '{self.feed}' has {named(ids, present)} already")

    def with_removed(self, ids: Iterable[str]) -> "QuerySet":
        """Return the set without these queries. An unknown id is refused."""
        gone = ids if isinstance(ids, pa.Array) else list(ids)
        if len(gone) == 0:
            return self
        rows = self.rows_of(gone)
        stays = np.ones(len(self), np.bool_)
        stays[rows] = False
        left = self.take(np.flatnonzero(stays))
        if self.sums is not None:
            less = self.take(np.flatnonzero(~stays))
            vars(left)["sums"] = minus(self.sums, sums_of(less.columns()))
        return left

    def rows_of(self, ids: Iterable[str]) -> Int64s:
        """Return the row of each id, in their order, in one pass; refuse an unknown one."""
        wanted = ids if isinstance(ids, pa.Array) else pa.array(list(ids), pa.string())
        coded = pc.dictionary_encode(wanted)
        place = pc.index_in(self.ids, value_set=coded.dictionary)
        found = np.flatnonzero(place.is_valid().to_numpy(zero_copy_only=False))
        row_of = np.full(len(coded.dictionary), -1)
        row_of[place.drop_null().to_numpy(zero_copy_only=False)] = found
        unknown = np.flatnonzero(row_of < 0)
        if len(unknown):
            raise InputError(f"the feed '{self.feed}' has no {named(coded.dictionary, unknown)}")
        rows: Int64s = row_of[coded.indices.to_numpy(zero_copy_only=False)]
        return rows

    def take(self, rows: Int64s) -> "QuerySet":
        """Return the queries of these rows, in this order; a row may be requested once."""
        rows = np.asarray(rows, np.int64)
        if len(rows) and not (rows.min() >= 0 and rows.max() < len(self)):
            raise InputError(
                f"rows {rows.min()} to {rows.max()} requested from {len(self):,} queries"
            )
        if np.bincount(rows, minlength=1).max(initial=0) > 1:
            raise InputError("a row was requested twice: ids are distinct")
        box_ptr, boxes = members(self.box_ptr, rows)
        stream_ptr, streams = members(self.stream_ptr, rows)
        like_query, likes = no_likes()
        if self.patterns is not None:
            like_ptr, patterns = members(self.patterns.like_ptr, rows)
            like_query = np.repeat(np.arange(len(rows)), np.diff(like_ptr))
            likes = self.likes.take(pa.array(patterns))
        test_ptr, tests = no_tests(len(boxes))
        if len(self.tests):
            test_ptr, tested = members(self.test_ptr, boxes)
            tests = self.tests[tested]
        return QuerySet(
            self.feed,
            self.axes,
            self.ids.take(pa.array(rows)),
            self.versions[rows],
            box_ptr,
            np.take(self.lo, boxes, axis=1),
            np.take(self.hi, boxes, axis=1),
            self.everywhere[rows],
            stream_ptr,
            self.streams.take(pa.array(streams)),
            self.within[rows],
            self.enters_on_first[rows],
            self.valid_from[rows],
            self.valid_to[rows],
            test_ptr,
            tests,
            like_query,
            likes,
            self.leaps[rows],
            *some_shapes(self.shape[rows], self.shapes),
            self.kind,
            self.position,
        )

    def check(self) -> None:
        """Test every law of the columns; BrokenIndex names the first that is broken."""
        check_columns(self.axes, self.columns(), self.kind, self.position)

    def columns(self) -> QueryColumns:
        """The columns by name, in their order."""
        return QueryColumns(*(getattr(self, name) for name in QueryColumns._fields))
