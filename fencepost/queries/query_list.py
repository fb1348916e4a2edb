"""Queries one by one, as the columns of a set.

Law: queries of another feed or kind, unparsed ones and repeated ids are refused.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from fencepost.arrays import Int32s, Int64s
from fencepost.doubles import LARGEST
from fencepost.errors import InputError
from fencepost.queries.columns import CROSSING, QueryColumns, no_tests
from fencepost.queries.condition import OPS
from fencepost.queries.conversions import or_absent
from fencepost.queries.ids import named, repeated
from fencepost.queries.query import StandingQuery
from fencepost.queries.region import shapes_of
from fencepost.ragged import ptr_of
from fencepost.text import the_query
from fencepost.times import ALWAYS_FROM, ALWAYS_TO


def columns_of_each(
    feed: str, axes: Sequence[str], listed: Sequence[StandingQuery], kind: str
) -> tuple[QueryColumns, tuple[int, int] | None]:
    """Give the columns of queries of one feed and kind, and the axes their regions are on. O(n)."""
    d, n = len(axes), len(listed)
    _refuse_strangers(feed, d, kind, listed)
    ids = pa.array([q.id for q in listed], pa.string())
    again, _ = repeated(ids)
    if len(again):
        raise InputError(f"the feed '{feed}' is given {named(ids, again)} twice")
    ends = np.fromiter(
        chain.from_iterable(chain.from_iterable(chain.from_iterable(q.boxes for q in listed))),
        np.float64,
    ).reshape(-1, d, 2)
    lo, hi = np.ascontiguousarray(ends.transpose(2, 1, 0)) + 0.0  # -0.0 becomes 0.0
    box_ptr = ptr_of([len(q.boxes) for q in listed])
    streams = [q.streams or () for q in listed]
    likes = [q.streams_like or () for q in listed]
    for box in np.flatnonzero(~((lo < hi) & (hi > -LARGEST)).all(axis=0))[:1]:
        query = listed[int(np.searchsorted(box_ptr, box, side="right")) - 1]
        raise InputError(f"{the_query(query.id)} has an empty box: {query.boxes}")
    position, shape, shapes = shapes_of([q.region for q in listed], [q.position for q in listed])
    columns = QueryColumns(
        ids,
        np.fromiter((q.version for q in listed), np.int32, n),
        box_ptr,
        lo,
        hi,
        np.fromiter((q.streams is None or bool(q.streams_like) for q in listed), np.bool_, n),
        ptr_of([len(each) for each in streams]),
        pa.array(list(chain.from_iterable(streams)), pa.string()),
        or_absent([q.within for q in listed], -1),
        np.fromiter((q.on_first == "enter" for q in listed), np.bool_, n),
        or_absent([q.valid_from for q in listed], ALWAYS_FROM),
        or_absent([q.valid_to for q in listed], ALWAYS_TO),
        *_tests_of(listed, int(box_ptr[-1])),
        np.repeat(np.arange(n), [len(patterns) for patterns in likes]),
        pa.array(list(chain.from_iterable(likes)), pa.string()),
        np.fromiter((q.leaps for q in listed), np.bool_, n),
        shape,
        shapes,
    )
    return columns, position


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
