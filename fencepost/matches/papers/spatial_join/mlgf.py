"""The query index: boxes as points of the transform space, in a multilevel grid file.

A box of d axes is the point (lo…, hi…) of 2 d axes: corner transformation. A box without extent
problems: however large it is, and however many lie over each other, its point has no extent. The
boxes that meet a region are the points of its spatial join window, lo <= most and hi > least.

The file halves a region along one axis after the other, in turn, until what is left fits a page;
empty halves are not kept. A page of the directory is cut in the same way, from the pages below,
until one is left. Built in bulk: the halves of a point, one bit each, are a key; sorted by it, each
region is a run.

Halves of what? S3 takes every axis to be [0, 1], by an order-preserving hash where it is not. Ours
is the quantile: half of the region holds half of the ends, whatever their scale, and the infinite
ones are the ends of the domain.

Law: each box stands in one page; all in a page's region, and no others, are under it; a node's
bounds are those of the boxes under it, so that no window loses one.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from fencepost.errors import BrokenIndex
from fencepost.matches.boxes import Boxes
from fencepost.matches.papers.spatial_join import mlgf_kernels
from fencepost.simd import GROUP
from fencepost.tuples import Doubles, Int32s, Int64s

Codes = npt.NDArray[np.uint8]

KEY_BITS = 62
FINEST = 10  # bits a coordinate; one axis has only two coordinates, and gets more
FINEST_OF_ONE = 12
SAMPLE = 1 << 14  # boxes that the quantiles are taken of
STRETCHES = 254  # of an axis: their numbers fit a byte, beside those of the infinite ends
FAN_OUT = 16  # pages under a page of the directory


class Tree(NamedTuple):
    """The file, as the kernels see it. Nodes are numbered from the pages up; the root is last."""

    span: Int64s  # [node, 2] its first child and the end of them; of a page, boxes
    reach: Doubles  # [node, axis, 2] least lo, greatest hi: what a window must meet
    leaves: int
    deepest: int  # nodes that may wait while one is looked at
    lo: Doubles  # [axis, box] page after page
    hi: Doubles
    ids: Int32s
    edges: Doubles  # [axis, 253] the stretches whose numbers are the codes
    groups: Int64s  # [page + 1] its first group of 64 boxes
    codes: Codes  # [group, axis, (lo, hi), 64] the stretch of each end


@dataclass(frozen=True, eq=False)
class GridFile:
    """n boxes of d axes in pages of at most `page`.

    build    O(n log n), most of it to sort one key a box
    window   O(d) a node looked at; of each page met, two vectors an axis for 64 boxes
    size     18 d + 4 bytes a box; 16 d + 24 a page
    """

    tree: Tree
    edges: Doubles  # [2 d, stretches - 1] where the halves of each coordinate end
    page: int

    @classmethod
    def build(cls, boxes: Boxes, page: int) -> Self:
        """Lay boxes out in bulk."""
        bits = bits_of(boxes.axes)
        edges = _edges(boxes, bits)
        keys = keys_of(boxes, edges, bits)
        order = np.argsort(keys, kind="stable")
        starts = cut(keys[order], boxes.axes, page)
        ordered = boxes.take(order)
        levels, nodes = [starts], keys[order][starts]
        while len(nodes) > 1:
            starts = cut(nodes, boxes.axes, FAN_OUT)
            nodes = nodes[starts]
            levels.append(starts)
        span = _spans(levels, len(boxes))
        stretches = _stretches(boxes)
        groups, codes = _codes(ordered, stretches, span[: len(levels[0])])
        tree = Tree(
            span=span,
            reach=_reach(ordered, levels),
            leaves=len(levels[0]),
            deepest=len(levels) * FAN_OUT,
            lo=ordered.lo,
            hi=ordered.hi,
            ids=order.astype(np.int32),
            edges=stretches,
            groups=groups,
            codes=codes,
        )
        return cls(tree, edges, page)

    @property
    def nbytes(self) -> int:
        """Bytes of the boxes as they stand in the pages, and of the directory."""
        arrays = [each for each in self.tree if isinstance(each, np.ndarray)]
        return self.edges.nbytes + sum(each.nbytes for each in arrays)

    @property
    def pages(self) -> int:
        """How many pages hold boxes."""
        return self.tree.leaves

    @property
    def extent(self) -> tuple[Doubles, Doubles]:
        """Give the stretch of each axis in which nearly all finite ends lie; 0 to 1 without any."""
        edges = self.tree.edges
        known = np.isfinite(edges)
        least, most = np.zeros(len(edges)), np.ones(len(edges))
        for axis in np.flatnonzero(known.any(axis=1)):
            ends = edges[axis, known[axis]]
            least[axis], most[axis] = ends[0], ends[-1]
        return least, most

    def groups_at(self, point: Doubles) -> int:
        """Tell how many groups of 64 boxes stand in the pages that a point meets."""
        reach = self.tree.reach[: self.pages]
        met = (reach[:, :, 0] <= point).all(axis=1) & (reach[:, :, 1] > point).all(axis=1)
        return int(np.diff(self.tree.groups)[met].sum())

    def window(self, least: Doubles, most: Doubles) -> Int32s:
        """Give the boxes in the spatial join window of a region, both ends of it included.

        To the stretch: a few beside it may be among them.
        """
        found = np.empty(len(self.tree.ids) + 1, np.int32)
        stack = np.empty(self.tree.deepest, np.int64)
        many = mlgf_kernels.fetch(self.tree, least, most, stack, found)
        some: Int32s = self.tree.ids[found[: int(many)]]
        return some

    def check(self, boxes: Boxes) -> None:
        """Raise BrokenIndex unless these are its boxes, each in its page, under true bounds."""
        tree = self.tree
        if not np.array_equal(np.sort(tree.ids), np.arange(len(boxes))):
            raise BrokenIndex(f"the pages do not hold each of {len(boxes)} boxes once")
        ordered = boxes.take(tree.ids)
        differs = (ordered.lo != tree.lo) | (ordered.hi != tree.hi)
        wrong = np.flatnonzero(differs.any(axis=0))
        for place in wrong[:1]:
            raise BrokenIndex(f"place {place} has other bounds than its box {tree.ids[place]}")
        keys = keys_of(ordered, self.edges, bits_of(boxes.axes))
        for place in np.flatnonzero(np.diff(keys) < 0)[:1]:
            raise BrokenIndex(
                f"box {tree.ids[place + 1]} lies in a region before that of {tree.ids[place]}"
            )
        levels = self._levels(keys)
        if not np.array_equal(tree.span, _spans(levels, len(boxes))):
            raise BrokenIndex("the regions of the directory are not those that halving gives")
        true = _reach(ordered, levels)
        for node, axis, _ in np.argwhere(tree.reach != true)[:1]:
            raise BrokenIndex(
                f"node {node} is said to reach {tree.reach[node, axis]} on axis {axis}, "
                f"its boxes reach {true[node, axis]}"
            )
        groups, codes = _codes(ordered, tree.edges, tree.span[: tree.leaves])
        if not np.array_equal(groups, tree.groups) or not np.array_equal(codes, tree.codes):
            raise BrokenIndex("the codes of the pages are not those of the boxes' ends")

    def _levels(self, keys: Int64s) -> list[Int64s]:
        axes = len(self.edges) // 2
        levels = [cut(keys, axes, self.page)]
        nodes = keys[levels[0]]
        while len(nodes) > 1:
            levels.append(cut(nodes, axes, FAN_OUT))
            nodes = nodes[levels[-1]]
        return levels


def bits_of(axes: int) -> int:
    """Tell how often each coordinate of the transform space may be halved."""
    return max(1, min(KEY_BITS // (2 * axes), FINEST_OF_ONE if axes == 1 else FINEST))


def keys_of(boxes: Boxes, edges: Doubles, bits: int) -> Int64s:
    """Write down the halves of each box, the first halving of all coordinates first."""
    axes = boxes.axes
    keys = np.zeros(len(boxes), np.int64)
    coordinates = min(2 * axes, KEY_BITS)
    for c in range(coordinates):  # lo of the first axis, hi of the first, lo of the second …
        ends = (boxes.lo, boxes.hi)[c % 2][c // 2]
        stretch = np.searchsorted(edges[c], ends, side="right").astype(np.int64)
        for bit in range(bits):
            keys |= ((stretch >> bit) & 1) << (bit * coordinates + coordinates - 1 - c)
    return keys


def cut(keys: Int64s, axes: int, capacity: int) -> Int64s:
    """Give the first key of each region that is not halved further."""
    starts = np.empty(len(keys), np.int64)
    depth = bits_of(axes) * min(2 * axes, KEY_BITS)
    return starts[: mlgf_kernels.cut(keys, depth, capacity, starts)].copy()


def _edges(boxes: Boxes, bits: int) -> Doubles:
    """Take the quantiles of each coordinate, of a sample that is the same each time."""
    step = max(1, len(boxes) // SAMPLE)
    at = np.arange(1, 1 << bits) / (1 << bits)
    edges = np.zeros((2 * boxes.axes, len(at)))
    for c in range(2 * boxes.axes):
        some = np.sort((boxes.lo, boxes.hi)[c % 2][c // 2, ::step])
        if len(some):
            edges[c] = some[(at * len(some)).astype(np.int64)]
    return edges


def _spans(levels: list[Int64s], boxes: int) -> Int64s:
    """Number the nodes of all levels through, from the pages up: where the children of each are."""
    spans, before, below = [], 0, boxes
    for level, starts in enumerate(levels):
        ends = np.append(starts, below)[1:]
        spans.append(np.column_stack([starts, ends]) + (before - below if level else 0))
        before, below = before + len(starts), len(starts)
    return np.ascontiguousarray(np.concatenate(spans), np.int64)


def _reach(ordered: Boxes, levels: list[Int64s]) -> Doubles:
    """Take the least begin and the greatest end under each node."""
    lo, hi, reach = ordered.lo, ordered.hi, []
    for starts in levels:
        lo = np.minimum.reduceat(lo, starts, axis=1)
        hi = np.maximum.reduceat(hi, starts, axis=1)
        reach.append(np.stack([lo.T, hi.T], axis=2))
    return np.ascontiguousarray(np.concatenate(reach))


def _stretches(boxes: Boxes) -> Doubles:
    """Cut each axis where its finite ends lie, equally many a stretch."""
    step = max(1, len(boxes) // SAMPLE)
    edges = np.full((boxes.axes, STRETCHES - 1), np.inf)
    for axis, ends in enumerate(zip(boxes.lo[:, ::step], boxes.hi[:, ::step], strict=True)):
        some = np.concatenate(ends)
        some = np.sort(some[np.isfinite(some)])
        if len(some):
            edges[axis] = some[np.arange(1, STRETCHES) * len(some) // STRETCHES]
    return edges


def _codes(ordered: Boxes, edges: Doubles, pages: Int64s) -> tuple[Int64s, Codes]:
    """Write the stretches of all ends, 64 boxes of a page together."""
    sizes = -(-(pages[:, 1] - pages[:, 0]) // GROUP)
    groups = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    codes = np.zeros(groups[-1] * 2 * ordered.axes * GROUP, np.uint8)
    mlgf_kernels.encode(ordered.lo, ordered.hi, edges, pages, groups, codes)
    return groups, codes
