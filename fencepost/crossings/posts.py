"""The posts of some boxes on one axis: where boxes begin, where they end, and which.

This is the RS list of the papers as flat arrays. The begins and the ends are apart, each sorted,
with the box (or query) of each beside it in the same order, so that a step of a stream from p to c
passes one contiguous slice of the begins and one of the ends, and nothing else.

A list is cut into segments: the stripes of another axis, or the streams that queries name. A table
of cells, evenly spaced along the axis in every segment, says how many posts come before each cell.

Law: `rank(segment, v)` counts the posts of the segment at or below v; a step from p to c passes
exactly the posts between the ranks of the two.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fencepost.errors import BrokenIndex
from fencepost.tuples import Doubles, Int32s, Int64s

PAD = 32  # entries past the end that kernels may read (never use) instead of testing for the end
# Two begins and two ends: the four compares that follow then settle nearly every rank.
POSTS_A_CELL = 4
STEEPEST = 1e300


@dataclass(frozen=True)
class EvenCells:
    """Even cells along an axis: cell(v) never falls as v grows, so sorted posts sort the cells."""

    origin: float
    scale: float
    cells: int

    @classmethod
    def over(cls, posts: Doubles, cells: int) -> "EvenCells":
        """Spread the cells over the posts.

        A thousandth at each end is left out: one far post must not spoil all.
        """
        finite = posts[np.isfinite(posts)]
        if cells <= 1 or finite.size == 0:
            return cls(0.0, 1.0, 1)
        cut = finite.size // 1000
        ends = np.partition(finite, (cut, finite.size - 1 - cut))
        low, high = float(ends[cut]), float(ends[finite.size - 1 - cut])
        with np.errstate(over="ignore", divide="ignore"):
            scale = float(np.divide(cells, high - low)) if high > low else 1.0
        return cls(low, min(max(scale, 1 / STEEPEST), STEEPEST), cells)

    def cell(self, values: Doubles) -> Int64s:
        """Return the cell of each value; values outside belong to the first or the last."""
        with np.errstate(over="ignore"):
            at = (values - self.origin) * self.scale
        cells: Int64s = np.clip(at, 0, self.cells - 1).astype(np.int64)
        return cells


@dataclass(frozen=True, eq=False)
class PostList:
    """The begins and ends of n boxes on one axis, in segments.

    build   O(n log n); 24 bytes a box, 16 more with the far ends beside, and 4 for the cells
    rank    O(1) where posts are spread, O(log n) where they crowd
    step    O(posts passed), whatever merely overlaps

    `begin_far` is the end of the box whose begin is there, `end_far` its begin: the test
    whether a box was leapt over reads memory in order. Lists whose boxes are confirmed whole keep
    none (both have length 0).
    """

    axis: int
    ruler: EvenCells
    cells: Int32s  # how many begins, and ends, in turn, come before each cell of each segment
    begin_posts: Doubles
    begin_ids: Int32s
    begin_far: Doubles
    begin_whole: Doubles  # [post, (far end, lo and hi across, id)]
    end_posts: Doubles
    end_ids: Int32s
    end_far: Doubles
    end_whole: Doubles
    segments: int
    narrowest: float  # the least width of a box: a shorter step cannot leap over any

    @classmethod
    def build(  # noqa: PLR0913  the boxes' columns, their segments, and two choices by name
        cls,
        axis: int,
        ids: Int32s,
        lo: Doubles,
        hi: Doubles,
        segment: Int64s | None = None,
        segments: int = 1,
        *,
        spread: bool = True,
        far: bool = True,
        across: Doubles | None = None,
    ) -> "PostList":
        """Sort the finite ends of these boxes. `spread` gives each segment its table of cells."""
        begins = _Side.sort(ids, lo, hi, across, segment, keep_far=far)
        ends = _Side.sort(ids, hi, lo, across, segment, keep_far=far)
        count = len(begins.ids) + len(ends.ids)
        each = max(1, count // (POSTS_A_CELL * segments)) if spread else 1
        ruler = EvenCells.over(begins.posts if len(begins.posts) else ends.posts, each)
        cells = np.empty((segments * ruler.cells + 1, 2), np.int32)
        for column, side in enumerate((begins, ends)):
            cells[:, column] = side.before(ruler, segments)
        with np.errstate(over="ignore"):
            narrowest = float(np.min(hi - lo, initial=np.inf))
        return cls(
            axis,
            ruler,
            cells.ravel(),
            *begins.padded(),
            *ends.padded(),
            segments,
            narrowest,
        )

    @property
    def begins(self) -> int:
        """How many boxes begin at a post of this list."""
        return len(self.begin_ids) - PAD

    @property
    def ends(self) -> int:
        """How many boxes end at a post of this list."""
        return len(self.end_ids) - PAD

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        posts, ids = (self.begin_posts, self.end_posts), (self.begin_ids, self.end_ids)
        beside = (self.begin_far, self.end_far, self.begin_whole, self.end_whole)
        arrays = (self.cells, *posts, *ids, *beside)
        return int(sum(a.nbytes for a in arrays))

    def check(self) -> None:
        """Raise BrokenIndex unless posts are sorted, cells agree, pads are closed. O(n)."""
        for name, posts, count, column in (
            ("begin", self.begin_posts, self.begins, 0),
            ("end", self.end_posts, self.ends, 1),
        ):
            starts = self.cells[column::2]
            if starts[0] != 0 or starts[-1] != count or (np.diff(starts) < 0).any():
                raise BrokenIndex(
                    f"axis {self.axis}: the cells of the {name}s do not add up to {count}"
                )
            if not (posts[count:] == np.inf).all():
                raise BrokenIndex(f"axis {self.axis}: the pad behind the {name}s is open")
            segment = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) // self.ruler.cells
            own = posts[:count]
            falls = (own[1:] < own[:-1]) & (np.diff(segment) == 0)
            if falls.any():
                k = int(np.flatnonzero(falls)[0]) + 1
                raise BrokenIndex(
                    f"axis {self.axis}: {name} post {k} ({posts[k]}) "
                    f"is below post {k - 1} ({posts[k - 1]})"
                )
            at = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) % self.ruler.cells
            if (at != self.ruler.cell(posts[:count])).any():
                raise BrokenIndex(
                    f"axis {self.axis}: a {name} post is in a cell that is not its own"
                )
        if len(self.begin_far):
            with np.errstate(over="ignore"):
                widths = self.begin_far[: self.begins] - self.begin_posts[: self.begins]
            if (widths < self.narrowest).any():
                raise BrokenIndex(
                    f"axis {self.axis}: a box is {widths.min()} wide, the narrowest "
                    f"{self.narrowest}"
                )


@dataclass(frozen=True)
class _Side:
    """The begins, or the ends, while a list is built."""

    posts: Doubles
    ids: Int32s
    far: Doubles
    whole: Doubles
    segment: Int64s | None

    @classmethod
    def sort(
        cls,
        ids: Int32s,
        near: Doubles,
        far: Doubles,
        across: Doubles | None,
        segment: Int64s | None,
        *,
        keep_far: bool,
    ) -> "_Side":
        """Sort by segment and post. An infinite end is no post: nothing passes it."""
        order = np.argsort(near) if segment is None else np.lexsort((near, segment))
        if not np.isfinite(near).all():
            order = order[np.isfinite(near[order])]
        return cls(
            near[order],
            ids[order],
            far[order] if keep_far else far[:0],
            np.empty((0, 4)) if across is None else _whole(ids, far, across, order),
            None if segment is None else segment[order],
        )

    def before(self, ruler: EvenCells, segments: int) -> Int64s:
        """Count the posts before each cell of each segment, and all of them at the end."""
        cell = ruler.cell(self.posts)
        if self.segment is not None:
            cell += self.segment * ruler.cells
        starts = np.zeros(segments * ruler.cells + 1, np.int64)
        np.cumsum(np.bincount(cell, minlength=segments * ruler.cells), out=starts[1:])
        return starts

    def padded(self) -> tuple[Doubles, Int32s, Doubles, Doubles]:
        """Close each array with a pad that no value ever passes."""
        far = _pad(self.far, np.inf) if len(self.far) else self.far
        return _pad(self.posts, np.inf), _pad(self.ids, 0), far, self.whole


def _whole(ids: Int32s, far: Doubles, across: Doubles, order: Int64s) -> Doubles:
    """Write all that confirms a candidate of two axes to half a cache line; an id fits a double."""
    whole = np.empty((len(order), 4))
    whole[:, 0], whole[:, 1:3], whole[:, 3] = far[order], across[order], ids[order]
    return whole


def _pad(array: npt.NDArray[Any], value: float) -> npt.NDArray[Any]:
    return np.concatenate([array, np.full(PAD, value, array.dtype)])
