"""All the standing queries of one feed, as columns: a value, named by its content.

Law: a QuerySet never changes. Ids are distinct, every query has a box, and no box is empty. What is
added comes behind what was there, what stays keeps its order, so that row numbers can be carried
from one set to the next.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Bools, Doubles, Int32s, Int64s
from fencepost.doubles import LARGEST
from fencepost.errors import Fault, Faults, InputError
from fencepost.queries.columns import (
    CROSSING,
    MATCH,
    QueryColumns,
    check_columns,
    no_likes,
    no_tests,
)
from fencepost.queries.condition import OPS
from fencepost.queries.conversions import or_absent
from fencepost.queries.fingerprint import Sums, fingerprint_of, minus, plus, sums_of
from fencepost.queries.ids import repeated
from fencepost.queries.patterns import Patterns
from fencepost.queries.query import StandingQuery
from fencepost.queries.table import columns_of
from fencepost.ragged import members, ptr_of
from fencepost.text import shortened, the_query
from fencepost.times import ALWAYS_FROM, ALWAYS_TO


@dataclass(frozen=True, eq=False)
class QuerySet:
    """n queries of one feed and kind: 54 bytes each, 8 + 16 an axis for a box, and the ids.

    from_queries   O(n), 2 µs a query      with_added     a copy, and one look-up of the ids
    from_table     O(n), 0.1–0.3 µs a row        with_removed   the same
    fingerprint    O(n), 0.1 µs, once        take           O(rows + their boxes)

    Query q has the boxes lo[:, box_ptr[q]:box_ptr[q+1]] and hi likewise. Where it does not watch
    everywhere, its streams are streams[stream_ptr[q]:stream_ptr[q+1]]; where it has the patterns
    likes[k], those with like_query[k] = q, it is `everywhere` for an index, and filtered: see
    patterns.py. `within` is -1 where there
    is none. Box b of a match has the tests[test_ptr[b]:test_ptr[b+1]], each (left axis, place of
    the op in OPS, right axis). `sums` is what the fingerprint is made of, where it is known.
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
    kind: str = CROSSING
    sums: Sums | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
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
        listed = list(queries)
        d, n = len(axes), len(listed)
        _refuse_strangers(feed, d, kind, listed)
        ids = pa.array([q.id for q in listed], pa.string())
        again, _ = repeated(ids)
        if len(again):
            raise InputError(f"the feed '{feed}' is given {_named(ids, again)} twice")
        ends = np.fromiter(
            chain.from_iterable(chain.from_iterable(chain.from_iterable(q.boxes for q in listed))),
            np.float64,
        ).reshape(-1, d, 2)
        lo, hi = np.ascontiguousarray(ends.transpose(2, 1, 0)) + 0.0  # -0.0 becomes 0.0
        box_ptr = ptr_of([len(q.boxes) for q in listed])
        named = [q.streams or () for q in listed]
        likes = [q.streams_like or () for q in listed]
        for box in np.flatnonzero(~((lo < hi) & (hi > -LARGEST)).all(axis=0))[:1]:
            query = listed[int(np.searchsorted(box_ptr, box, side="right")) - 1]
            raise InputError(f"{the_query(query.id)} has an empty box: {query.boxes}")
        return cls(
            feed,
            tuple(axes),
            ids,
            np.fromiter((q.version for q in listed), np.int32, n),
            box_ptr,
            lo,
            hi,
            np.fromiter((q.streams is None or bool(q.streams_like) for q in listed), np.bool_, n),
            ptr_of([len(streams) for streams in named]),
            pa.array(list(chain.from_iterable(named)), pa.string()),
            or_absent([q.within for q in listed], -1),
            np.fromiter((q.on_first == "enter" for q in listed), np.bool_, n),
            or_absent([q.valid_from for q in listed], ALWAYS_FROM),
            or_absent([q.valid_to for q in listed], ALWAYS_TO),
            *_tests_of(listed, int(box_ptr[-1])),
            np.repeat(np.arange(n), [len(patterns) for patterns in likes]),
            pa.array(list(chain.from_iterable(likes)), pa.string()),
            kind,
        )

    @classmethod
    def from_table(
        cls,
        feed: str,
        axes: Sequence[str],
        table: pa.Table,
        source: str = "table",
        kind: str = CROSSING,
    ) -> "QuerySet":
        """Read a table of one-box queries, as table.py describes it; raise Faults for bad rows.

        All are of the kind, whether they say so or not; a row that says another is a bad one.
        """
        columns, matches = columns_of(tuple(axes), table, source, kind)
        strange = np.flatnonzero(matches != (kind == MATCH))
        if len(strange):
            row = int(strange[0]) + 1
            raise Faults([Fault(source, f"`kind` is not '{kind}'", row)], "nothing imported")
        return cls(feed, tuple(axes), *columns, kind)

    @classmethod
    def of_each_kind(
        cls, feed: str, axes: Sequence[str], table: pa.Table, source: str = "table"
    ) -> "dict[str, QuerySet]":
        """Read a table like `from_table`, each row as the kind it says: the sets by kind."""
        columns, matches = columns_of(tuple(axes), table, source, CROSSING)
        if not matches.any():
            return {CROSSING: cls(feed, tuple(axes), *columns)}
        whole = cls(feed, tuple(axes), *columns, MATCH)
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
        return fingerprint_of(self.feed, self.axes, len(self), self.sums or (0, 0), self.kind)

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
        few, many = sorted((self.ids, more.ids), key=len)  # the fewer are hashed
        present = np.flatnonzero(pc.is_in(many, value_set=few).to_numpy(zero_copy_only=False))
        if len(present):
            raise InputError(f"the feed '{self.feed}' has {_named(many, present)} already")
        if len(more) == 0:
            return self
        mine, theirs = self.columns(), more.columns()
        sums = None
        if self.sums is not None:
            sums = plus(self.sums, more.sums or sums_of(theirs))
        return QuerySet(
            self.feed,
            self.axes,
            pa.concat_arrays([mine.ids, theirs.ids]),
            np.concatenate([mine.versions, theirs.versions]),
            np.concatenate([mine.box_ptr, theirs.box_ptr[1:] + mine.box_ptr[-1]]),
            np.concatenate([mine.lo, theirs.lo], axis=1),
            np.concatenate([mine.hi, theirs.hi], axis=1),
            np.concatenate([mine.everywhere, theirs.everywhere]),
            np.concatenate([mine.stream_ptr, theirs.stream_ptr[1:] + mine.stream_ptr[-1]]),
            pa.concat_arrays([mine.streams, theirs.streams]),
            np.concatenate([mine.within, theirs.within]),
            np.concatenate([mine.enters_on_first, theirs.enters_on_first]),
            np.concatenate([mine.valid_from, theirs.valid_from]),
            np.concatenate([mine.valid_to, theirs.valid_to]),
            np.concatenate([mine.test_ptr, theirs.test_ptr[1:] + mine.test_ptr[-1]]),
            np.concatenate([mine.tests, theirs.tests]),
            np.concatenate([mine.like_query, theirs.like_query + len(self)]),
            pa.concat_arrays([mine.likes, theirs.likes]),
            self.kind,
            sums,
        )

    def with_removed(self, ids: Iterable[str]) -> "QuerySet":
        """Return the set without these queries. An unknown id is refused."""
        rows = self.rows_of(ids)
        if len(rows) == 0:
            return self
        stays = np.ones(len(self), np.bool_)
        stays[rows] = False
        left = self.take(np.flatnonzero(stays))
        if self.sums is not None:
            gone = self.take(np.flatnonzero(~stays))
            vars(left)["sums"] = minus(self.sums, sums_of(gone.columns()))
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
            raise InputError(f"the feed '{self.feed}' has no {_named(coded.dictionary, unknown)}")
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
            self.kind,
        )

    def check(self) -> None:
        """Test every law of the columns; BrokenIndex names the first that is broken."""
        check_columns(self.axes, self.columns(), self.kind)

    def columns(self) -> QueryColumns:
        """The columns by name, in their order."""
        return QueryColumns(*(getattr(self, name) for name in QueryColumns._fields))


def _refuse_strangers(feed: str, d: int, kind: str, queries: Sequence[StandingQuery]) -> None:
    """Refuse queries that do not belong in a set of this kind over d axes of this feed."""
    for query in queries:
        if query.kind != kind:
            raise InputError(
                f"{the_query(query.id)} is of the kind '{query.kind}', the set of '{kind}'"
            )
        if query.feed != feed:
            raise InputError(f"{the_query(query.id)} watches '{query.feed}', not '{feed}'")
        if not query.boxes:
            raise InputError(
                f"{the_query(query.id)} has no boxes: it was read without its feed's axes"
            )
        if any(len(box) != d for box in query.boxes):
            axes = len(query.boxes[0])
            raise InputError(f"{the_query(query.id)} has boxes over {axes} axes, '{feed}' has {d}")
        if query.streams_like == ():
            raise InputError(f"{the_query(query.id)} has no pattern: None watches all streams")
        if query.streams == ():
            raise InputError(f"{the_query(query.id)} names no stream: None watches all of them")
        if query.tests:
            _refuse_tests(query, d)


def _refuse_tests(query: StandingQuery, d: int) -> None:
    """Refuse tests that are not of two of the d axes, or do not fit the boxes."""
    if query.kind == CROSSING:
        raise InputError(f"{the_query(query.id)} compares two axes: only `match` queries do")
    if len(query.tests) != len(query.boxes):
        boxes = len(query.boxes)
        raise InputError(
            f"{the_query(query.id)} has {boxes} boxes, and tests for {len(query.tests)}"
        )
    for test in chain.from_iterable(query.tests):
        left, op, right = test
        if op not in OPS or left == right or not (0 <= left < d and 0 <= right < d):
            raise InputError(
                f"{the_query(query.id)} has the test {test}: two of its {d} axes, counted from 0, "
                f"with one of {', '.join(OPS)} between them were expected"
            )


def _tests_of(queries: Sequence[StandingQuery], boxes: int) -> tuple[Int64s, Int32s]:
    """Concatenate the tests of all boxes."""
    if not any(q.tests for q in queries):
        return no_tests(boxes)
    of_each = list(chain.from_iterable(q.tests or ((),) * len(q.boxes) for q in queries))
    rows = [(a, OPS.index(op), b) for a, op, b in chain.from_iterable(of_each)]
    return ptr_of([len(tests) for tests in of_each]), np.array(rows, np.int32).reshape(-1, 3)


def _named(ids: pa.StringArray, rows: Int64s) -> str:
    """Name a few of the ids, and say how many more there are."""
    names = ", ".join(f"'{shortened(ids[int(row)].as_py())}'" for row in rows[:3])
    return names if len(rows) <= 3 else f"{names} and {len(rows) - 3:,} more"
