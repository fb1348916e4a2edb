"""For each stretch of each axis two bitmaps over all boxes: which hold all of it, and which some.

Each axis is cut at quantiles of the boxes' own bounds. A point is in one stretch of each axis; the
bitmaps of those d stretches, ANDed, give the boxes that hold it: one that is *sure* on every axis
holds it without a test, one that only *may* on some axis is compared by its bounds. An axis on
which no box is bounded has one stretch, and all are sure of it.

The boxes are in blocks of 512, halved as in `packed` so that few blocks have any box near a
point. A block knows its lowest and its highest stretch on each axis, and is passed over elsewhere.

Law: maybe = { lo < the stretch's end and hi > its begin }, sure = { lo <= begin and end <= hi },
so sure is part of maybe, and every box that holds the point is in all the maybes.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from fencepost.errors import BrokenIndex
from fencepost.matches.bitmaps import kernels
from fencepost.matches.bitmaps.batch import Batch
from fencepost.matches.bitmaps.kernels import BLOCK, CUTS, BitmapProbe, BitmapScratch, BitmapTable
from fencepost.matches.boxes import Boxes
from fencepost.matches.index import Parameter
from fencepost.matches.packed.index import aligned, ordered
from fencepost.matches.parameters import only, whole
from fencepost.matches.result import ProbeResult, gathered
from fencepost.simd import LANES, WORDS
from fencepost.tuples import Doubles, Int32s, Int64s

BUDGET = 128  # bytes of bitmaps a box, over all axes; at 256 a probe measured alike
SAMPLE = 1 << 16  # bounds of an axis that its cuts are chosen from
FEW = 512  # points from which blocks are probed one by one, each for all points
SMALL = 1 << 20  # bytes of bitmaps that stay in the cache anyway
DENSE = 4  # results a block from which copying them costs more than rows out of the cache
TRIED = 16  # points that are probed first, to estimate the number of results


@dataclass(frozen=True, eq=False)
class Bitmaps:
    """m boxes over d axes, in blocks of 512, and their bitmaps.

    build   O(m log m + m d)
    probe   a block that may hold the point: 2 d vectors of 512 bits, then 1 to 3 ns a result; in a
            batch its rows are in the cache from the second point on
    size    16 d + 4 bytes a box, and of bitmaps a quarter of a byte a stretch: up to 128
    """

    name: ClassVar[str] = "bitmaps"
    boxes: Boxes
    cuts: Doubles
    coarse: Doubles
    begin: Int64s
    table: BitmapTable

    @classmethod
    def build(cls, boxes: Boxes, **parameters: Parameter) -> Self:
        """Cut the axes (into `stretches` at most, 2 to 256), order the boxes, write the rows."""
        many, axes = len(boxes), boxes.axes
        only(cls.name, parameters, "stretches")
        by_default = min(CUTS, max(2, 4 * BUDGET // axes))
        stretches = whole(parameters, "stretches", 2, CUTS) or by_default
        ends = zip(boxes.lo, boxes.hi, strict=True)
        own = [chosen_cuts(np.concatenate(both), stretches) for both in ends]
        cuts = np.full((axes, CUTS), np.inf)
        for axis, values in enumerate(own):
            cuts[axis, : len(values)] = values
        coarse = np.ascontiguousarray(cuts[:, LANES - 1 :: LANES])
        begin = np.cumsum([0, *(len(values) + 1 for values in own)], dtype=np.int64)
        order = ordered(boxes, "halves", BLOCK)
        blocks = -(-many // BLOCK)
        ids = np.zeros(blocks * BLOCK + 64, np.int32)
        ids[:many] = order
        bounds = np.stack([boxes.lo.T, boxes.hi.T], axis=2)[order]
        words = aligned((blocks, int(begin[-1]), 2, WORDS), np.uint64)
        low = np.full((axes, -(-blocks // 64) * 64), 255, np.uint8)
        high = np.zeros_like(low)
        kernels.write(coarse.reshape(-1), cuts.reshape(-1), begin, bounds, words, low, high)
        size = int(begin[-1]) * 2 * WORDS
        table = BitmapTable(
            words.reshape(-1), size, low.reshape(-1), high.reshape(-1), ids, bounds.reshape(-1)
        )
        return cls(boxes, cuts.reshape(-1), coarse.reshape(-1), begin, table)

    @property
    def blocks(self) -> int:
        """How many blocks of 512 boxes."""
        return len(self.table.words) // self.table.size

    @property
    def nbytes(self) -> int:
        """Bytes of the bitmaps, of the bounds in their order, of the cuts, and of the numbers."""
        own = (self.cuts, self.coarse, self.begin, *self.table)
        return sum(each.nbytes for each in own if isinstance(each, np.ndarray))

    def probe(self, points: Doubles) -> ProbeResult:
        """AND the rows of each point: point by point, or of many with few results by block."""
        points = np.ascontiguousarray(points, np.float64)
        axes, many = points.shape
        scratch = BitmapScratch(np.empty(len(self.table.low) // axes + 8, np.uint32), *_rows(2))
        if many < FEW or self.table.words.nbytes <= SMALL:
            return self._by_point(points, scratch, 4.0)
        some = self._by_point(np.ascontiguousarray(points[:, :: many // TRIED]), scratch, 4.0)
        rate = len(some.ids) / len(some)
        if rate > DENSE * self.blocks:
            return self._by_point(points, scratch, 1.1 * rate)
        return Batch(self.table, self.blocks, scratch, points, self.locate).found(rate)

    def _by_point(self, points: Doubles, scratch: BitmapScratch, guess: float) -> ProbeResult:
        probe = self.locate(points)

        def find(ptr: Int64s, room: Int32s, start: int) -> int:
            return int(kernels.by_point(self.table, probe, scratch, ptr, room, start))

        return gathered(points.shape[1], find, guess)

    def locate(self, points: Doubles) -> BitmapProbe:
        """Find the stretch of each point on each axis."""
        axes, many = points.shape
        rows = np.empty(many * axes, np.uint32)
        ranks = np.zeros(-(-many // 64) * 64 * axes, np.uint8)
        kernels.stretches(self.coarse, self.cuts, self.begin, points, rows, ranks)
        return BitmapProbe(axes, many, rows, ranks, points.T.ravel())

    def check(self) -> None:
        """Prove every bitmap by the law, from the boxes and the cuts. O(m) a stretch and axis."""
        many, axes = len(self.boxes), self.boxes.axes
        order = self.table.ids[:many]
        if not np.array_equal(np.sort(order), np.arange(many)):
            raise BrokenIndex(f"the blocks do not hold each of {many} boxes once")
        bounds = self.table.bounds.reshape(many, axes, 2)
        for end, given in enumerate((self.boxes.lo, self.boxes.hi)):
            if not np.array_equal(bounds[:, :, end], given.T[order]):
                raise BrokenIndex("the bounds beside the bitmaps are not those of the boxes")
        words = self.table.words.reshape(self.blocks, int(self.begin[-1]), 2, WORDS)
        for axis in range(axes):
            first, last = self.begin[axis : axis + 2]
            cuts = self.cuts[axis * CUTS : (axis + 1) * CUTS][: last - first]
            if not (cuts[1:] > cuts[:-1]).all():
                raise BrokenIndex(f"axis {axis}: the cuts do not rise")
            self._check_rows(axis, words[:, first:last], bounds[:, axis])

    def _check_rows(self, axis: int, words: npt.NDArray[Any], bounds: Doubles) -> None:
        count = words.shape[1]
        cuts = self.cuts[axis * CUTS : axis * CUTS + count - 1]
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        lo, hi = bounds[:, 0], bounds[:, 1]
        for row in range(count):
            begin, end = edges[row : row + 2]
            laws = ((lo < end) & (hi > begin), (lo <= begin) & (end <= hi))
            for which, holds in enumerate(laws):
                if not np.array_equal(words[:, row, which].ravel(), _as_words(holds, self.blocks)):
                    kind = ("maybe", "sure")[which]
                    raise BrokenIndex(f"axis {axis}, [{begin}, {end}): the {kind} bits are wrong")
        some = np.bitwise_or.reduce(words[:, :, 0], axis=2) != 0  # [block, stretch]
        ends = (some.argmax(axis=1), count - 1 - some[:, ::-1].argmax(axis=1))
        for name, known, found in zip(("low", "high"), self.table[2:4], ends, strict=True):
            ends_known = known.reshape(self.boxes.axes, -1)[axis, : self.blocks]
            for block in np.flatnonzero(ends_known != found)[:1]:
                raise BrokenIndex(
                    f"axis {axis}, block {block}: {name} is {ends_known[block]}, not {found[block]}"
                )

    def describe(self) -> str:
        """Say into how many stretches the axes are cut, and what the bitmaps cost."""
        cut = ", ".join(f"{n:,}" for n in np.diff(self.begin))
        each = self.table.words.nbytes / max(1, len(self.boxes))
        return f"{self.blocks:,} blocks, axes cut into {cut}: {each:.0f} bytes of bitmaps a box"


def _rows(many: int) -> npt.NDArray[np.uint64]:
    rows: npt.NDArray[np.uint64] = aligned((many, WORDS), np.uint64)
    return rows


def _as_words(holds: npt.NDArray[np.bool_], blocks: int) -> npt.NDArray[np.uint64]:
    """Truths as words, the first as the lowest bit, filled up to whole blocks."""
    full = np.zeros(blocks * BLOCK, np.bool_)
    full[: len(holds)] = holds
    return np.packbits(full, bitorder="little").view("<u8")


def chosen_cuts(bounds: Doubles, stretches: int) -> Doubles:
    """Choose up to stretches - 1 values, with as many bounds between them as can be.

    All finite bounds, where they are few enough: then no box is unsure. O(m), of a sample.
    """
    finite = bounds[np.isfinite(bounds)]
    finite = np.sort(finite[:: max(1, len(finite) // SAMPLE)])
    distinct = np.unique(finite)
    if len(distinct) < stretches:
        return distinct
    at = np.linspace(0, len(finite) - 1, stretches + 1)[1:-1]
    return np.unique(finite[at.astype(np.int64)])
