"""Does the index hold what it was built of?

Every column and every row of the grid is given a random weight, and a cell the product of the two.
The weights of a box's pieces, read back from the lists and each less what is counted elsewhere,
must add up to those of the box's own cells: then they hold each of its cells once, and no other,
but for a chance of less than one in 2**50.
"""

from typing import TYPE_CHECKING

import numpy as np

from fencepost.errors import BrokenIndex
from fencepost.matches.papers.vcr.pieces import AxisSpan, Spans
from fencepost.matches.papers.vcr.rectangles import Words
from fencepost.tuples import Int64s

if TYPE_CHECKING:
    from fencepost.matches.papers.vcr.index import Vcr

SEED = 20050718


def prove(index: "Vcr") -> None:
    """Raise BrokenIndex, with the first fact that is wrong."""
    spans = Spans.of(index.boxes, index.grid)
    ids = _of_each_entry(index)
    _lists_in_order(index, ids)
    _bounds_agree(index)
    _reaching_agree(index, spans)
    _pieces_add_up(index, spans, ids)


def _of_each_entry(index: "Vcr") -> Int64s:
    """Read back of which rectangle each entry is."""
    lists, count = index.lists, index.rectangles
    many = np.diff(lists.ptr)
    ids = None
    if len(lists.marks):
        ids = _marked(lists.marks[:, 0]) - 64
        before = np.cumsum(np.bitwise_count(lists.marks[:, 0]), dtype=np.uint64)
        wrong = np.flatnonzero(lists.marks[1:, 1] != before[:-1])
        if lists.marks[0, 1] or len(wrong):
            word = int(wrong[0]) + 1 if len(wrong) else 0
            raise BrokenIndex(f"word {word}: {lists.marks[word, 1]} are not marked before it")
        outside = ids[(ids < 0) | (ids >= count)]
        if len(outside):
            raise BrokenIndex(f"rectangle {outside[0]} is marked; there are {count:,}")
    having = count if ids is None else len(ids)
    if len(many) != having:
        raise BrokenIndex(f"{having:,} rectangles should have a list, {len(many):,} do")
    least = 0 if ids is None else 1
    if lists.ptr[0] != 0 or lists.ptr[-1] != len(lists.entries) or (many < least).any():
        raise BrokenIndex(f"the lists do not add up to {len(lists.entries):,} entries")
    if ids is None:
        ids = np.flatnonzero(many)
        many = many[ids]
    return np.repeat(ids, many)


def _marked(words: Words) -> Int64s:
    some = np.flatnonzero(words)
    bits = np.unpackbits(words[some].view(np.uint8), bitorder="little").reshape(-1, 64)
    word, bit = np.nonzero(bits)
    return np.asarray(some[word] * 64 + bit, np.int64)


def _lists_in_order(index: "Vcr", ids: Int64s) -> None:
    entries, n = index.lists.entries, len(index.boxes)
    strange = np.flatnonzero((entries < 0) | (entries >= n))
    if len(strange):
        at = strange[0]
        raise BrokenIndex(f"rectangle {ids[at]} lists box {entries[at]}; there are {n:,}")
    falls = np.flatnonzero((np.diff(entries) <= 0) & (np.diff(ids) == 0))
    if len(falls):
        at = falls[0]
        raise BrokenIndex(f"rectangle {ids[at]} lists box {entries[at]} before {entries[at + 1]}")
    skips = len(index.lists.skips)
    if skips != (len(entries) if index.overlapping else 0):
        raise BrokenIndex(f"{skips:,} pieces say what another covers, of {len(entries):,}")


def _bounds_agree(index: "Vcr") -> None:
    boxes, bounds = index.boxes, index.bounds
    if index.exact and not len(index.reaching.ids):
        return
    own = np.stack((boxes.lo[0], boxes.hi[0], boxes.lo[1], boxes.hi[1]), 1)
    if bounds.shape != own.shape:
        raise BrokenIndex(f"{len(bounds):,} boxes have bounds, of {len(own):,}")
    for box in np.flatnonzero((bounds != own).any(1))[:1]:
        raise BrokenIndex(f"box {box} is {own[box]}, its bounds say {bounds[box]}")


def _reaching_agree(index: "Vcr", spans: Spans) -> None:
    fresh = type(index.reaching).of(spans)
    if not np.array_equal(fresh.ptr, index.reaching.ptr) or not np.array_equal(
        fresh.ids, index.reaching.ids
    ):
        raise BrokenIndex(
            f"{np.diff(fresh.ptr)} boxes reach out to the left, right, bottom and top; "
            "those listed are not they"
        )
    x, y = index.grid
    own = np.array((x.scale, x.origin, x.positions, y.scale, y.origin, y.positions))
    if not np.array_equal(index.where, own):
        raise BrokenIndex(f"points are looked up by {index.where}, the grid is {own}")


def _pieces_add_up(index: "Vcr", spans: Spans, ids: Int64s) -> None:
    entries, skips = index.lists.entries, index.lists.skips
    each = (index.k + 1) ** 2
    corner, shape = np.divmod(ids, each)
    row, column = np.divmod(corner, index.grid[0].positions)
    up, across = np.divmod(shape, index.k + 1)
    skip_x, skip_y = (skips & 255, skips >> 8) if len(skips) else (0, 0)
    weights_x, weights_y = (
        _weights(span.positions, seed) for seed, span in enumerate((spans.x, spans.y))
    )
    pieces = _weight(weights_x, column + skip_x, column + (1 << across)) * _weight(
        weights_y, row + skip_y, row + (1 << up)
    )
    found = np.zeros(len(index.boxes), np.uint64)
    np.add.at(found, entries, pieces)
    own = _of_span(weights_x, spans.x) * _of_span(weights_y, spans.y)
    for box in np.flatnonzero(found != own)[:1]:
        span = f"{spans.x.length[box]} × {spans.y.length[box]}"
        begin = f"({spans.x.begin[box]}, {spans.y.begin[box]})"
        many = int((entries == box).sum())
        raise BrokenIndex(
            f"box {box} takes {span} cells from {begin}; its {many:,} pieces do not hold "
            "each of them once"
        )


def _weights(positions: int, seed: int) -> Words:
    """Draw a weight for each position, and add them up; the sums wrap round, and may."""
    drawn = np.random.default_rng((SEED, seed)).integers(0, 2**64, positions, np.uint64)
    return np.concatenate((np.zeros(1, np.uint64), np.cumsum(drawn, dtype=np.uint64)))


def _weight(sums: Words, begin: Int64s, end: Int64s) -> Words:
    """Weigh stretches; one that ends beyond the grid gets a weight that fits nothing."""
    last = len(sums) - 1
    weighed = sums[np.minimum(end, last)] - sums[np.minimum(begin, last)]
    return np.where(end <= last, weighed, ~weighed)


def _of_span(sums: Words, span: AxisSpan) -> Words:
    return _weight(sums, span.begin, span.begin + span.length)
