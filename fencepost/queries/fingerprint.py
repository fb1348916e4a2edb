"""One short name for the content of a query set, whatever the order of its rows.

Each query is hashed to two 64-bit lanes over all its columns, version included; the lanes are added
up modulo 2**64. A sum has no order, and it can be carried along: adding queries adds their sums,
removing them subtracts.

Law: the fingerprint depends on nothing but the feed, the axes, the kind and the set of queries,
each query being its id, version, set of boxes with the tests of each, region, sets of streams and
of patterns, times, on_first and leaps; and, where there are regions, the axes that they are on.
(Measured) a million one-axis queries: 0.07 s.
"""

from collections.abc import Iterator

import numpy as np

from fencepost.arrays import Bools, Int32s, Int64s, UInt64s
from fencepost.hashing import digest, finish, mix, mix_strings, seeded
from fencepost.queries.columns import CROSSING, NO_SHAPE, QueryColumns

Sums = tuple[int, int]

_CHUNK = 1 << 14  # rows that stay in the cache while they are hashed
_LANE = 2**64
_LEAPS = np.array([[0x6C65617073], [0x7370616E73]], np.uint64)


def sums_of(queries: QueryColumns) -> Sums:
    """Add up the hashes of all queries, lane by lane."""
    total = (0, 0)
    for _, hashes in _by_chunk(queries):
        total = plus(total, (int(hashes[0].sum()), int(hashes[1].sum())))
    return total


def hashes_of(queries: QueryColumns) -> UInt64s:
    """Hash each query by itself: uint64[2, n]. Equal columns say that two say the same."""
    found = np.empty((2, len(queries.ids)), np.uint64)
    for rows, hashes in _by_chunk(queries):
        found[:, rows] = hashes
    return found


def plus(sums: Sums, more: Sums) -> Sums:
    """Return the sums of two disjoint sets together."""
    return (sums[0] + more[0]) % _LANE, (sums[1] + more[1]) % _LANE


def minus(sums: Sums, less: Sums) -> Sums:
    """Return the sums of what is left without some queries."""
    return (sums[0] - less[0]) % _LANE, (sums[1] - less[1]) % _LANE


def fingerprint_of(
    feed: str,
    axes: tuple[str, ...],
    n: int,
    sums: Sums,
    kind: str = CROSSING,
    position: tuple[int, int] | None = None,
) -> str:
    """Name the content: 32 hex digits."""
    what = "queries" if kind == CROSSING else f"{kind} queries"
    where = () if position is None else (position,)
    content = repr((what, feed, axes, n, sums, *where))
    return digest(content)


def _by_chunk(queries: QueryColumns) -> Iterator[tuple[slice, UInt64s]]:
    shapes = queries.shapes.hashes()
    for begin in range(0, len(queries.ids), _CHUNK):
        rows = slice(begin, min(begin + _CHUNK, len(queries.ids)))
        hashes = _hashes(queries, rows.start, rows.stop)
        _mix_where(hashes, queries.leaps[rows], _LEAPS)
        shape = queries.shape[rows]
        _mix_where(hashes, shape != NO_SHAPE, shapes[:, shape[shape != NO_SHAPE]])
        finish(hashes)
        yield rows, hashes


def _hashes(queries: QueryColumns, begin: int, end: int) -> UInt64s:
    """Hash the rows from begin to end: uint64[2, end - begin]."""
    rows = slice(begin, end)
    hashes = seeded(end - begin)
    mix_strings(hashes, queries.ids[rows])
    flags = queries.everywhere[rows] + 2 * queries.enters_on_first[rows].astype(np.int64)
    for column in (
        queries.versions[rows].astype(np.int64) * 4 + flags,
        queries.within[rows],
        queries.valid_from[rows],
        queries.valid_to[rows],
    ):
        mix(hashes, column.view(np.uint64))
    mix(hashes, _summed(_box_hashes(queries, begin, end), queries.box_ptr[begin : end + 1]))
    ptr = queries.stream_ptr[begin : end + 1]
    if ptr[-1] > ptr[0]:
        streams = seeded(int(ptr[-1] - ptr[0]))
        mix_strings(streams, queries.streams[int(ptr[0]) : int(ptr[-1])])
        _mix_some(hashes, streams, ptr)
    if len(queries.likes):
        ptr = np.searchsorted(queries.like_query, np.arange(begin, end + 1))
        patterns = seeded(int(ptr[-1] - ptr[0]))
        mix_strings(patterns, queries.likes[int(ptr[0]) : int(ptr[-1])])
        _mix_some(hashes, patterns, ptr)
    return hashes


def _box_hashes(queries: QueryColumns, begin: int, end: int) -> UInt64s:
    boxes = slice(int(queries.box_ptr[begin]), int(queries.box_ptr[end]))
    hashes = seeded(boxes.stop - boxes.start)
    for lo, hi in zip(queries.lo, queries.hi, strict=True):
        mix(hashes, lo[boxes].view(np.uint64))
        mix(hashes, hi[boxes].view(np.uint64))
    ptr = queries.test_ptr[boxes.start : boxes.stop + 1]
    if ptr[-1] > ptr[0]:
        _mix_some(hashes, _test_hashes(queries.tests[int(ptr[0]) : int(ptr[-1])]), ptr)
    return hashes


def _test_hashes(tests: Int32s) -> UInt64s:
    hashes = seeded(len(tests))
    for part in tests.T:
        mix(hashes, part.astype(np.uint64))
    return hashes


def _mix_where(hashes: UInt64s, rows: Bools, words: UInt64s) -> None:
    """Stir words into the hashes of some rows; the others stay as they are."""
    if rows.any():
        some = hashes[:, rows]
        mix(some, words)
        hashes[:, rows] = some


def _mix_some(hashes: UInt64s, members: UInt64s, ptr: Int64s) -> None:
    """Stir the members of a row into its hash; a row without any stays as it is."""
    named = np.flatnonzero(np.diff(ptr))  # only these: a hash must not depend on its neighbours
    some = hashes[:, named]
    mix(some, _summed(members, ptr)[:, named])
    hashes[:, named] = some


def _summed(hashes: UInt64s, ptr: Int64s) -> UInt64s:
    """Add up the hashes of each row's members: their order does not matter."""
    finish(hashes)
    if hashes.shape[1] == len(ptr) - 1 and (np.diff(ptr) == 1).all():
        return hashes
    running = np.zeros((2, hashes.shape[1] + 1), np.uint64)
    np.cumsum(hashes, axis=1, out=running[:, 1:])
    ends = running[:, ptr - ptr[0]]
    return ends[:, 1:] - ends[:, :-1]
