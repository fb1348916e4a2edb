"""Where posts stand on each axis, all lists in one: whether a step passes any of them.

Law: a step that stays between the same two posts on every axis enters and leaves no query, whatever
the queries' boxes, streams and times are. A region has no posts: of those nothing is said here.
"""

from collections.abc import Sequence

import numpy as np

from fencepost.crossings.columns import FenceColumns
from fencepost.crossings.layer import Layer
from fencepost.crossings.posts import PAD, POSTS_A_CELL, EvenCells
from fencepost.tuples import Doubles, Int32s


def fences_of(layers: Sequence[Layer]) -> FenceColumns:
    """Bring the posts of all lists together: O(n), as each is in order; 20 bytes a post."""
    axes = [_posts(layers, axis) for axis in range(len(layers[0].queries.axes))]
    rulers = [EvenCells.over(posts, max(1, len(posts) // POSTS_A_CELL)) for posts in axes]
    starts = [_starts(posts, ruler) for posts, ruler in zip(axes, rulers, strict=True)]
    closed = [np.concatenate([[-np.inf], posts, [np.inf]]) for posts in axes]
    return FenceColumns(
        posts=np.concatenate(closed),
        first=_firsts(closed),
        starts=np.concatenate(starts),
        first_cell=_firsts(starts),
        origin=np.array([ruler.origin for ruler in rulers]),
        scale=np.array([ruler.scale for ruler in rulers]),
        cells=np.array([ruler.cells for ruler in rulers]),
    )


def with_posts_of(fences: FenceColumns, layer: Layer) -> FenceColumns:
    """Add the posts of one more layer. O(m log n) for m of them, and one copy of the others.

    The cells stay as they are: they are only where a search begins.
    """
    edges = np.append(fences.first, len(fences.posts)).tolist()
    cells = np.append(fences.first_cell, len(fences.starts)).tolist()
    closed, starts = list[Doubles](), list[Int32s]()
    for axis in range(len(fences.first)):
        standing = fences.posts[edges[axis] : edges[axis + 1]]
        added = _posts([layer], axis)
        at = np.searchsorted(standing, added)
        new = standing[at] != added  # the last post is ∞, which none comes after
        closed.append(np.insert(standing, at[new], added[new]))
        ruler = EvenCells(
            float(fences.origin[axis]), float(fences.scale[axis]), int(fences.cells[axis])
        )
        before = fences.starts[cells[axis] : cells[axis + 1]]
        starts.append(before + _starts(added[new], ruler))
    return fences._replace(
        posts=np.concatenate(closed), first=_firsts(closed), starts=np.concatenate(starts)
    )


def _posts(layers: Sequence[Layer], axis: int) -> Doubles:
    sides = [
        side[:-PAD]
        for layer in layers
        for posts in layer.lists()
        if posts.axis == axis
        for side in (posts.begin_posts, posts.end_posts)
    ]
    together = np.concatenate([np.empty(0), *sides])
    together.sort(kind="stable")
    kept = np.ones(len(together), np.bool_)
    kept[1:] = together[1:] > together[:-1]
    return together[kept]


def _starts(posts: Doubles, ruler: EvenCells) -> Int32s:
    starts = np.zeros(ruler.cells + 1, np.int32)
    np.cumsum(np.bincount(ruler.cell(posts), minlength=ruler.cells), out=starts[1:])
    return starts


def _firsts(columns: list[Doubles] | list[Int32s]) -> Int32s:
    return np.cumsum([0, *(len(column) for column in columns[:-1])], dtype=np.int32)
