"""A part of a query set, arranged for the walk: its boxes, and its posts on every axis.

A box bounded on one axis only, the only one of a query that is always valid, is *plain*: the posts
alone decide. Any other is *checked*: a post passed makes it a candidate, and the whole box confirms
it. Queries for named streams are in segments of their own, one a stream, so that a million of
them cost a stream only its own. Queries with a region have no posts: they are in cells.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from fencepost.crossings.columns import BoxColumns, Posts, Stripes
from fencepost.crossings.posts import EvenCells, PostList
from fencepost.crossings.region_queries import RegionQueries, region_queries_of
from fencepost.errors import BrokenIndex
from fencepost.queries import QuerySet
from fencepost.queries.stream_boxes import StreamBoxes
from fencepost.times import ALWAYS_FROM, ALWAYS_TO
from fencepost.tuples import Bools, Doubles, Int32s, Int64s

MOST_STRIPES = 1024
COPIES = 3  # of a box, on average, that stripes may cost
WIDE = 16  # a box that meets more stripes than that is kept apart
FEWEST = 32  # boxes for which stripes are worth having
NARROW = 0.5  # of the axis, the median box that stripes still help


@dataclass(frozen=True, eq=False)
class Striped:
    """A list of checked boxes, cut by stripes of another axis, so that fewer candidates are met."""

    posts: PostList
    across: int  # the axis that is cut
    ruler: EvenCells  # its cells are the stripes

    @property
    def stripes(self) -> Stripes:
        """The cut, as the kernels see it."""
        return Stripes(self.across, self.ruler.origin, self.ruler.scale, self.ruler.cells)


@dataclass(frozen=True, eq=False, kw_only=True)
class Layer:
    """n queries, ready for the walk.

    build   O(n log n)
    size    24 to 44 bytes a box and axis that is bounded, 16 d more a box where any is checked;
            in stripes a box comes COPIES times on average
    """

    queries: QuerySet
    slot: int  # the number of this layer's first query among all that the index ever had
    plain: tuple[PostList, ...]  # every stream's, one segment
    plain_named: tuple[PostList, ...]
    checked: tuple[Striped, ...]
    checked_named: tuple[PostList, ...]
    bounds: Doubles  # [box, axis, (lo, hi)], empty where no box is checked
    names: pa.StringArray  # the streams that queries name: segment k belongs to names[k]
    sighted: "Sighted"
    shaped: RegionQueries | None  # with a region, for every stream
    shaped_named: RegionQueries | None

    @classmethod
    def build(cls, queries: QuerySet, slot: int = 0, *, striped: bool = True) -> "Layer":
        """Build from a set. Without stripes the checked lists are the papers' border lists."""
        boxes = _Split.of(queries)
        named = StreamBoxes.of(queries, boxes.query)
        everywhere = queries.everywhere[boxes.query]
        shaped, shaped_named = region_queries_of(queries, named, boxes.query)
        plain: list[PostList] = []
        plain_named: list[PostList] = []
        checked: list[Striped] = []
        checked_named: list[PostList] = []
        for axis in range(len(queries.axes)):
            lo, hi = queries.lo[axis], queries.hi[axis]
            bounded = boxes.bounded[axis] & ~boxes.shaped
            rows = np.flatnonzero(bounded & boxes.plain & everywhere)
            if len(rows):
                ids = (boxes.query[rows] + slot).astype(np.int32)
                plain.append(PostList.build(axis, ids, lo[rows], hi[rows]))
            rows = np.flatnonzero(bounded & ~boxes.plain & everywhere)
            if len(rows):
                checked += _striped(queries, axis, rows, striped)
            for kind, wanted in ((plain_named, boxes.plain), (checked_named, ~boxes.plain)):
                rows, segment = named.entries(bounded & wanted)
                if len(rows):
                    own = boxes.query[rows] + slot if kind is plain_named else rows
                    kind.append(
                        PostList.build(
                            axis,
                            own.astype(np.int32),
                            lo[rows],
                            hi[rows],
                            segment,
                            len(named.names),
                            spread=False,
                            **(_FAR if kind is plain_named else _beside(queries, axis, rows)),
                        )
                    )
        sighted = Sighted.of(queries, boxes, named)
        whole = bool(checked or checked_named or sighted or shaped or shaped_named)
        bounds = np.stack([queries.lo.T, queries.hi.T], axis=2) if whole else np.empty((0, 0, 2))
        return cls(
            queries=queries,
            slot=slot,
            plain=tuple(plain),
            plain_named=tuple(plain_named),
            checked=tuple(checked),
            checked_named=tuple(checked_named),
            bounds=np.ascontiguousarray(bounds),
            names=named.names,
            sighted=sighted,
            shaped=shaped,
            shaped_named=shaped_named,
        )

    @cached_property
    def boxes(self) -> BoxColumns:
        """The boxes, as the kernels see them."""
        q = self.queries
        counts = np.diff(q.box_ptr)
        query = np.repeat(np.arange(len(q), dtype=np.int32), counts)
        asks = (~_always(q) | (counts > 1))[query]
        return BoxColumns(
            bounds=self.bounds,
            query=query,
            asks=asks,
            careful=bool(asks.any()),
            first=q.box_ptr,
            valid_from=q.valid_from,
            valid_to=q.valid_to,
            slot=self.slot,
        )

    def lists(self) -> Iterator[PostList]:
        """Every list of posts of this layer."""
        yield from self.plain
        yield from self.plain_named
        yield from (striped.posts for striped in self.checked)
        yield from self.checked_named

    @property
    def nbytes(self) -> int:
        """Bytes of the posts and of the boxes beside them; the query set itself is its own."""
        own = self.bounds.nbytes + self.names.nbytes + self.sighted.nbytes
        shaped = sum(each.nbytes for each in (self.shaped, self.shaped_named) if each)
        return int(own + shaped + sum(posts.nbytes for posts in self.lists()))

    def check(self) -> None:
        """Raise BrokenIndex unless the lists are whole and say what the queries say. O(n log n)."""
        self.queries.check()
        for posts in self.lists():
            posts.check()
        for shaped in (self.shaped, self.shaped_named):
            if shaped:
                shaped.check()
        q = self.queries
        posted = q.shape[np.repeat(np.arange(len(q)), np.diff(q.box_ptr))] < 0
        if self.bounds.size and not (self.bounds.transpose(2, 1, 0) == [q.lo, q.hi]).all():
            raise BrokenIndex("the bounds of the boxes are not those of the queries")
        for axis, (lo, hi) in enumerate(zip(q.lo, q.hi, strict=True)):
            for end, near, far in (("begin", lo, hi), ("end", hi, lo)):
                mine = [posts for posts in self.lists() if posts.axis == axis]
                met = [self._boxes_at(posts, end, near, far) for posts in mine]
                boxes = np.unique(np.concatenate([np.empty(0, np.int64), *met]))
                if not np.array_equal(boxes, np.flatnonzero(np.isfinite(near) & posted)):
                    raise BrokenIndex(f"axis {axis}: not every {end} of a box is a post")

    def _boxes_at(self, posts: PostList, end: str, near: Doubles, far: Doubles) -> Int64s:
        """Return whose box begins, or ends, at each post; refuse a post that says otherwise."""
        begins = end == "begin"
        count = posts.begins if begins else posts.ends
        at = (posts.begin_posts if begins else posts.end_posts)[:count]
        box = (posts.begin_ids if begins else posts.end_ids)[:count].astype(np.int64)
        beside = (posts.begin_far if begins else posts.end_far)[:count]
        known = len(self.queries) if self._is_plain(posts) else len(near)
        first = self.slot if self._is_plain(posts) else 0
        strange = (box < first) | (box >= first + known)
        if strange.any():
            k = int(np.flatnonzero(strange)[0])
            raise BrokenIndex(
                f"axis {posts.axis}: {end} post {k} is that of {box[k]}, unknown here"
            )
        if self._is_plain(posts):
            box = self.queries.box_ptr[box - first]
        wrong = (near[box] != at) | (far[box] != beside if len(beside) else False)
        whole = posts.begin_whole if begins else posts.end_whole
        if len(whole):
            lo, hi = self.queries.lo[1 - posts.axis, box], self.queries.hi[1 - posts.axis, box]
            wrong |= (whole != np.stack([far[box], lo, hi, box], axis=1)).any(axis=1)
        if wrong.any():
            k = int(np.flatnonzero(wrong)[0])
            raise BrokenIndex(
                f"axis {posts.axis}: {end} post {k} ({at[k]}) is not what box {box[k]} says, "
                f"whose {end} is {near[box[k]]}"
            )
        return box

    def _is_plain(self, posts: PostList) -> bool:
        """Whether the ids of a list are slots of queries; else they are boxes."""
        return any(posts is plain for plain in (*self.plain, *self.plain_named))


def as_posts(posts: PostList) -> Posts:
    """View a list as the kernels' arrays; nothing is copied."""
    return Posts(
        axis=posts.axis,
        origin=posts.ruler.origin,
        scale=posts.ruler.scale,
        ruler_cells=posts.ruler.cells,
        cells=posts.cells,
        begin_posts=posts.begin_posts,
        begin_ids=posts.begin_ids,
        begin_far=posts.begin_far,
        begin_whole=posts.begin_whole,
        end_posts=posts.end_posts,
        end_ids=posts.end_ids,
        end_far=posts.end_far,
        end_whole=posts.end_whole,
        narrowest=posts.narrowest,
    )


@dataclass(frozen=True)
class _Split:
    """Which boxes are plain, and on which axes each is bounded."""

    query: Int64s
    bounded: Bools  # [axis, box]
    plain: Bools  # [box]
    shaped: Bools  # [box] whether its query has a region

    @classmethod
    def of(cls, queries: QuerySet) -> "_Split":
        counts = np.diff(queries.box_ptr)
        query = np.repeat(np.arange(len(queries)), counts)
        bounded = (queries.lo > -np.inf) | (queries.hi < np.inf)
        plain = (_always(queries) & (counts == 1))[query] & (bounded.sum(axis=0) == 1)
        return cls(query, bounded, plain, queries.shape[query] >= 0)


def _always(queries: QuerySet) -> Bools:
    always: Bools = (queries.valid_from == ALWAYS_FROM) & (queries.valid_to == ALWAYS_TO)
    return always


def _striped(queries: QuerySet, axis: int, rows: Int64s, striped: bool) -> list[Striped]:
    """Sort the checked boxes of one axis, in stripes; in one piece what is too wide for them."""
    across, ruler = _best_cut(queries, axis, rows) if striped else (axis, _WHOLE)
    first = ruler.cell(queries.lo[across, rows])
    last = ruler.cell(queries.hi[across, rows])
    wide = last - first >= WIDE
    lists = []
    for part, cut in ((~wide, ruler), (wide, _WHOLE)):
        if not part.any():
            continue
        low = first[part] if cut is ruler else np.zeros(int(part.sum()), np.int64)
        copies = last[part] - low + 1 if cut is ruler else np.ones(int(part.sum()), np.int64)
        boxes = np.repeat(rows[part], copies)
        before = np.cumsum(copies) - copies
        segment = np.repeat(low - before, copies) + np.arange(len(boxes))
        posts = PostList.build(
            axis,
            boxes.astype(np.int32),
            queries.lo[axis, boxes],
            queries.hi[axis, boxes],
            segment,
            cut.cells,
            **_beside(queries, axis, boxes),
        )
        lists.append(Striped(posts, across, cut))
    return lists


def _beside(queries: QuerySet, axis: int, boxes: Int64s) -> dict[str, Any]:
    """Say what is kept beside each post of checked boxes.

    Of two axes, all that confirms a box: then candidates are read in order (5 → 2 ns each). Of
    more, nothing: the first axis that denies a candidate is met soon, and memory counts.
    """
    if len(queries.axes) != 2:
        return {"far": False}
    other = 1 - axis
    across = np.stack([queries.lo[other, boxes], queries.hi[other, boxes]], axis=1)
    return {"far": False, "across": across}


_FAR: dict[str, Any] = {}
_WHOLE = EvenCells(0.0, 1.0, 1)


def _best_cut(queries: QuerySet, axis: int, rows: Int64s) -> tuple[int, EvenCells]:
    """Choose the axis whose stripes leave the fewest candidates, and the number of stripes.

    With stripes of height h over boxes of height w on an axis of length r, a candidate is met (w +
    h) / w times for every event, and a box comes w / h + 1 times: h = w / (COPIES - 1).
    """
    best, cut, share = axis, _WHOLE, NARROW
    for other in range(len(queries.axes)):
        lo, hi = queries.lo[other, rows], queries.hi[other, rows]
        tied = np.isfinite(lo) & np.isfinite(hi)
        if other == axis or len(rows) < FEWEST or 2 * tied.sum() < max(len(rows), 1):
            continue
        lo, hi = lo[tied], hi[tied]
        with np.errstate(over="ignore"):
            reach, width = float(hi.max() - lo.min()), float(np.median(hi - lo))
        if not (0 < reach < np.inf and width > 0 and width / reach < share):
            continue
        stripes = int(min(MOST_STRIPES, max(1, (COPIES - 1) * reach / width), len(rows)))
        best, share = other, width / reach
        cut = EvenCells.over(np.concatenate([lo, hi]), stripes)
    return best, cut


@dataclass(frozen=True, eq=False)
class Sighted:
    """The boxes of queries that want the first sight of a stream.

    Those of queries for all streams are in a sweep, the others by the stream they name.
    """

    axis: int  # of the sweep
    begins: Int32s  # the sweep's boxes, by where they begin
    ends: Int32s  # the same, by where they end
    named: Int64s  # boxes, by segment
    named_first: Int64s  # [segment + 1]

    @classmethod
    def of(cls, queries: QuerySet, boxes: _Split, named: StreamBoxes) -> "Sighted":
        """Sort the boxes of the sweep by either end, on the axis that bounds most of them."""
        wants = queries.enters_on_first[boxes.query] & ~boxes.shaped
        rows = np.flatnonzero(wants & queries.everywhere[boxes.query])
        axis = int(np.argmax(boxes.bounded[:, rows].sum(axis=1))) if len(rows) else 0
        own, segment = named.entries(wants)
        order = np.argsort(segment, kind="stable")
        first = np.zeros(len(named.names) + 1, np.int64)
        np.cumsum(np.bincount(segment, minlength=len(named.names)), out=first[1:])
        return cls(
            axis,
            rows[np.argsort(queries.lo[axis, rows], kind="stable")].astype(np.int32),
            rows[np.argsort(queries.hi[axis, rows], kind="stable")].astype(np.int32),
            own[order],
            first,
        )

    def __bool__(self) -> bool:
        """Whether any query wants it."""
        return bool(len(self.begins) or len(self.named))

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.begins, self.ends, self.named, self.named_first)
        return int(sum(a.nbytes for a in arrays))
