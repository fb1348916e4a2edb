"""The columns of a query set, and do they keep their laws?

Each law is tested over whole columns, and a broken one is reported with the facts.

Law: columns that pass are those of a QuerySet; a set that was built by its constructors passes.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fencepost.arrays import Bools, Doubles, Int32s, Int64s
from fencepost.doubles import LARGEST
from fencepost.errors import BrokenIndex
from fencepost.queries.condition import OPS
from fencepost.queries.ids import no_ids, repeated
from fencepost.shapes.columns import Shapes

CROSSING, MATCH = "crossing", "match"

_TYPES = {
    "versions": np.int32,
    "box_ptr": np.int64,
    "lo": np.float64,
    "hi": np.float64,
    "everywhere": np.bool_,
    "stream_ptr": np.int64,
    "within": np.int64,
    "enters_on_first": np.bool_,
    "valid_from": np.int64,
    "valid_to": np.int64,
    "test_ptr": np.int64,
    "tests": np.int32,
    "like_query": np.int64,
    "leaps": np.bool_,
    "shape": np.int32,
}
NO_SHAPE = -1


class QueryColumns(NamedTuple):
    """The columns of a QuerySet, in its order."""

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


def no_shapes(n: int) -> tuple[Int32s, Shapes]:
    """Give the columns `shape` and `shapes` of n queries without regions."""
    return np.full(n, NO_SHAPE, np.int32), Shapes.of([], earth=False)


def no_tests(boxes: int) -> tuple[Int64s, Int32s]:
    """Give the columns `test_ptr` and `tests` of boxes that have no tests."""
    return np.zeros(boxes + 1, np.int64), np.empty((0, 3), np.int32)


def no_likes() -> tuple[Int64s, pa.StringArray]:
    """Give the columns `like_query` and `likes` of queries without patterns."""
    return np.empty(0, np.int64), pa.array([], pa.string())


def check_columns(
    axes: tuple[str, ...],
    columns: QueryColumns,
    kind: str = CROSSING,
    position: tuple[int, int] | None = None,
) -> None:
    """Raise BrokenIndex with the first law that is broken, and where; O(n log n)."""
    on_axes = position is not None and {*position} <= {*range(len(axes))} and len({*position}) == 2
    if on_axes != bool(len(columns.shapes)):
        raise BrokenIndex(f"{len(columns.shapes)} shapes are on the axes {position} of {axes}")
    for broken in (_sizes, _pointers, _boxes, _tests, _regions, _rows, _names):
        for message in broken(axes, columns):
            raise BrokenIndex(message)
    for message in _of_kind(kind, columns):
        raise BrokenIndex(message)


def _sizes(axes: tuple[str, ...], columns: QueryColumns) -> Iterator[str]:
    n, d, b = len(columns.ids), len(axes), columns.lo.shape[-1]
    shapes = {"box_ptr": (n + 1,), "stream_ptr": (n + 1,), "lo": (d, b), "hi": (d, b)}
    shapes["like_query"] = (len(columns.likes),)
    shapes |= {"test_ptr": (b + 1,), "tests": (len(columns.tests), 3)}
    for name, kind in _TYPES.items():
        column: npt.NDArray[np.generic] = getattr(columns, name)
        expected = shapes.get(name, (n,))
        if column.dtype != kind or column.shape != expected:
            wanted = f"{np.dtype(kind)}{list(expected)}"
            yield f"{name} is {column.dtype}{list(column.shape)}, {wanted} was expected"
        if not column.flags.c_contiguous:
            yield f"{name} is not contiguous"
    for name in ("ids", "streams", "likes"):
        strings = getattr(columns, name)
        if strings.type != pa.string() or strings.null_count:
            yield f"{name} is {strings.type} with {strings.null_count} nulls, strings were expected"


def _pointers(_: tuple[str, ...], columns: QueryColumns) -> Iterator[str]:
    sizes = (
        ("box_ptr", columns.lo.shape[1], "query"),
        ("stream_ptr", len(columns.streams), "query"),
        ("test_ptr", len(columns.tests), "box"),
    )
    for name, size, row in sizes:
        ptr: Int64s = getattr(columns, name)
        if ptr[0] != 0 or ptr[-1] != size:
            yield f"{name} runs from {ptr[0]} to {ptr[-1]}, 0 to {size} was expected"
        for q in np.flatnonzero(np.diff(ptr) < 0)[:1]:
            yield f"{name} falls from {ptr[q]} to {ptr[q + 1]} at {row} {q}"
    for q in np.flatnonzero(np.diff(columns.box_ptr) == 0)[:1]:
        yield f"query {q} ('{columns.ids[int(q)]}') has no box"
    named = np.diff(columns.stream_ptr)
    owners = columns.like_query
    if (np.diff(owners, prepend=0, append=len(named) - 1) < 0).any() and len(owners):
        ends = f"{owners[0]} to {owners[-1]}"
        yield f"like_query runs from {ends}, it rises from 0 to {len(named) - 1} at most"
        return
    by_pattern = np.bincount(owners, minlength=len(named)) > 0  # indexed like those of all streams
    for q in np.flatnonzero(columns.everywhere == ((named > 0) & ~by_pattern))[:1]:
        watches = "watches everywhere" if columns.everywhere[q] else "watches no stream"
        yield f"query {q} ('{columns.ids[int(q)]}') {watches}, and names {named[q]}"


def _boxes(axes: tuple[str, ...], columns: QueryColumns) -> Iterator[str]:
    lo, hi = columns.lo, columns.hi
    for axis, box in np.argwhere(~((lo < hi) & (hi > -LARGEST)))[:1]:
        yield f"box {box} is empty on {axes[axis]}: [{lo[axis, box]}, {hi[axis, box]})"
    for name, ends in (("lo", lo), ("hi", hi)):
        for axis, box in np.argwhere(np.signbit(ends) & (ends == 0))[:1]:
            yield f"{name} of box {box} on {axes[axis]} is -0.0"


def _tests(axes: tuple[str, ...], columns: QueryColumns) -> Iterator[str]:
    left, op, right = columns.tests.T
    d = len(axes)
    right_op = (op >= 0) & (op < len(OPS))
    on_axes = (left >= 0) & (left < d) & (right >= 0) & (right < d) & (left != right)
    for k in np.flatnonzero(~(right_op & on_axes))[:1]:
        yield f"test {k} is {columns.tests[k].tolist()}: two of {d} axes, op 0 to 2 between them"


def _regions(_: tuple[str, ...], columns: QueryColumns) -> Iterator[str]:
    has = columns.shape != NO_SHAPE
    if not np.array_equal(columns.shape[has], np.arange(len(columns.shapes))):
        yield f"{len(columns.shapes)} shapes and {has.sum()} queries with one: not one each"
    columns.shapes.check()


def _of_kind(kind: str, columns: QueryColumns) -> Iterator[str]:
    if kind == CROSSING:
        if len(columns.tests):
            yield f"crossing queries have {len(columns.tests)} tests of two axes"
        return
    events = (columns.within != -1) | columns.enters_on_first | columns.leaps
    for q in np.flatnonzero(events)[:1]:
        yield f"query {q} ('{columns.ids[int(q)]}') is a match, and has within, on_first or leaps"


def _rows(_: tuple[str, ...], columns: QueryColumns) -> Iterator[str]:
    for q in np.flatnonzero(columns.versions < 1)[:1]:
        yield f"query {q} has the version {columns.versions[q]}"
    for q in np.flatnonzero(columns.within < -1)[:1]:
        yield f"query {q} has {columns.within[q]} µs for within"
    for q in np.flatnonzero(columns.valid_from >= columns.valid_to)[:1]:
        yield f"query {q} is valid from {columns.valid_from[q]} to {columns.valid_to[q]}"


def _names(_: tuple[str, ...], columns: QueryColumns) -> Iterator[str]:
    for name, strings in (
        ("ids", columns.ids),
        ("streams", columns.streams),
        ("likes", columns.likes),
    ):
        for row in no_ids(strings)[:1]:
            yield f"{name} holds {strings[int(row)].as_py()!r:.80} in row {row}, which is no id"
    for row, first in zip(*(rows[:1] for rows in repeated(columns.ids)), strict=True):
        yield f"queries {first} and {row} are both '{columns.ids[int(row)]}'"
