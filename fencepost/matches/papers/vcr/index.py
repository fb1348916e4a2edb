"""The VCR indexes of S2 §3: boxes cut into virtual construct rectangles, each with a list of boxes.

A probe enumerates the rectangles over a point, whose distances from its pivot never change, and
reads their lists. S2 gives every rectangle a list; here that is `lists="all"`. Most have none:
by default a bit of each says whether it has one, and the lists of those are packed, found by
counting bits. The gap array is then a mask over these bits.

Law: the pieces of a box, each less what the one before it covers (OD), hold each of its cells once;
so a point finds a box once. Where an end is on no line, its boxes are tested by bounds.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from fencepost.errors import InputError
from fencepost.matches.boxes import Boxes
from fencepost.matches.index import Parameter
from fencepost.matches.papers.vcr.lattice import MOST_POSITIONS, Lattice
from fencepost.matches.papers.vcr.pieces import Spans, cheapest_side, grid_over, pieces_of
from fencepost.matches.papers.vcr.rectangles import LONGEST, Words, covering, log_of_side
from fencepost.matches.parameters import Parameters, one_of, only, whole
from fencepost.matches.result import ProbeResult, gathered
from fencepost.tuples import Bools, Doubles, Int32s, Int64s

UInt16s = npt.NDArray[np.uint16]

MOST_PIECES = 1 << 28  # 1 GB of entries; a box over everything may need thousands
MOST_LISTS = 1 << 26  # 256 MB of list heads
FORMS = ("marked", "all")
GUESS = 64.0  # results a point that room is made for at first


@dataclass(frozen=True, eq=False)
class RectangleLists:
    """The boxes of each rectangle: entries[ptr[place]:ptr[place + 1]]."""

    marks: Words  # [word, (bits of 64 rectangles, how many are marked before)]; or none: lists=all
    ptr: Int32s
    entries: Int32s
    skips: UInt16s  # first columns, and rows << 8, of the piece that another covers; none in SD

    @property
    def nbytes(self) -> int:
        """Bytes of all four."""
        return sum(a.nbytes for a in (self.marks, self.ptr, self.entries, self.skips))


@dataclass(frozen=True, eq=False)
class Reaching:
    """The boxes that reach out of the grid: left, right, below and above, concatenated."""

    ids: Int32s
    ptr: Int32s

    @classmethod
    def of(cls, spans: Spans) -> Self:
        """List the boxes that reach out of the grid, by side. O(n)."""
        sides = [
            out
            for axis in (spans.x, spans.y)
            for out in (axis.first < 0, axis.last >= axis.positions)
        ]
        ids = [np.flatnonzero(out).astype(np.int32) for out in sides]
        ptr = np.cumsum([0, *map(len, ids)]).astype(np.int32)
        return cls(np.concatenate(ids), ptr)


@dataclass(frozen=True, eq=False)
class Vcr:
    """n boxes in P pieces, over Rx × Ry cells with B = (1 + log2 L)² rectangles at each.

    build   O(n + P + Rx Ry B / 64)
    probe   O(L² B / 64 + results) with marks; O(L²) list heads with lists="all"
    size    4 P (6 P in OD), Rx Ry B / 4 (4 Rx Ry B with lists="all"), and 32 n for bounds where an
            end is on no line or a box reaches out of the grid
    """

    name: ClassVar[str]
    overlapping: ClassVar[bool]

    boxes: Boxes
    grid: tuple[Lattice, Lattice]
    k: int
    lists: RectangleLists
    reaching: Reaching
    bounds: Doubles  # [box, (lo, hi of x, lo, hi of y)], a box to half a cache line
    where: Doubles
    masks: Words  # the gap array as bits, [row from the pivot, word]; or none: lists=all
    runs: Int64s  # the gap array, neighbours joined; none with marks
    guess: float

    @classmethod
    def build(cls, boxes: Boxes, **parameters: Parameter) -> Self:
        """Cut the boxes into pieces, and list them. O(n + P + Rx Ry B / 64).

        `side` is L, by default `optimal_side`. `positions` is how many cells an axis may have, by
        default 256 or the square root of n, and on integers, halves and so on 1,024. `lists` is
        "marked" or "all".
        """
        side, positions, form = _parameters(cls.name, boxes, parameters)
        grid = grid_over(boxes, positions)
        spans = Spans.of(boxes, grid)
        if side is None:
            side = cheapest_side(spans, overlapping=cls.overlapping)
        k = log_of_side(side)
        lists = _lists(spans, k, form, overlapping=cls.overlapping)
        reaching = Reaching.of(spans)
        exact = grid[0].exact and grid[1].exact
        bare = exact and not len(reaching.ids)
        bounds = np.stack((boxes.lo[0], boxes.hi[0], boxes.lo[1], boxes.hi[1]), 1)
        x, y = grid
        return cls(
            boxes,
            grid,
            k,
            lists,
            reaching,
            np.empty((0, 4)) if bare else np.ascontiguousarray(bounds),
            np.array((x.scale, x.origin, x.positions, y.scale, y.origin, y.positions), np.float64),
            _masks(k) if form == "marked" else np.empty((0, 0), np.uint64),
            np.empty((0, 4), np.int64) if form == "marked" else _runs(k, x.positions),
            min(GUESS, 1.0 + 1.5 * spans.cells / (x.positions * y.positions)),
        )

    @property
    def side(self) -> int:
        """The longest side of a rectangle, L."""
        return 1 << self.k

    @property
    def exact(self) -> bool:
        """Whether every end is on a line, so that no box needs a test."""
        return self.grid[0].exact and self.grid[1].exact

    @property
    def rectangles(self) -> int:
        """How many there are, activated or not: B at every position."""
        return (self.k + 1) ** 2 * self.grid[0].positions * self.grid[1].positions

    @property
    def activated(self) -> int:
        """How many have a list that is not empty."""
        return int(np.count_nonzero(np.diff(self.lists.ptr)))

    @property
    def nbytes(self) -> int:
        """Bytes of the lists, of the bounds where a probe may read them, and of the gap array."""
        small = (self.reaching.ids, self.reaching.ptr, self.where, self.masks, self.runs)
        return self.lists.nbytes + self.bounds.nbytes + sum(a.nbytes for a in small)

    def probe(self, points: Doubles) -> ProbeResult:
        """Read the lists of the rectangles over each point."""
        from fencepost.matches.papers.vcr import kernels

        count = points.shape[1]
        if not count or not len(self.boxes):
            return ProbeResult.nothing(count)
        points = np.ascontiguousarray(points, np.float64)
        lists, out = self.lists, self.reaching
        beside = (lists.ptr, lists.entries, lists.skips, self.bounds)

        def find(ptr: Int64s, room: Int32s, first: int) -> int:
            before = (points, self.where, self.k, self.exact)
            after = (out.ids, out.ptr, ptr, room, first)
            if len(lists.marks):
                return int(kernels.find_marked(*before, lists.marks, *beside, self.masks, *after))
            return int(kernels.find_listed(*before, *beside, self.runs, *after))

        return gathered(count, find, self.guess)

    def check(self) -> None:
        """Raise BrokenIndex unless the pieces of every box add up to it. O(n + P + rectangles)."""
        from fencepost.matches.papers.vcr.proof import prove

        prove(self)

    def describe(self) -> str:
        """Say side, grid and how many pieces."""
        x, y = self.grid
        return (
            f"rectangles up to {self.side} × {self.side} cells, "
            f"{x.positions:,} × {y.positions:,} cells of {x.width:.6g} × {y.width:.6g}: "
            f"{len(self.lists.entries):,} pieces in {self.activated:,} of {self.rectangles:,}, "
            f"{'no' if self.exact else 'every'} candidate tested"
        )


class VcrSd(Vcr):
    """Simple decomposition: strips, cut from the largest piece down; no two overlap."""

    name: ClassVar[str] = "vcr_sd"
    overlapping: ClassVar[bool] = False


class VcrOd(Vcr):
    """Overlapped decomposition: all pieces of a box of one size, the last ones shifted back.

    Fewer pieces than SD. What two of them share counts for the first: 2 bytes a piece say how much.
    """

    name: ClassVar[str] = "vcr_od"
    overlapping: ClassVar[bool] = True


def _parameters(
    name: str, boxes: Boxes, parameters: Parameters
) -> tuple[int | None, int | None, str]:
    only(name, parameters, "side", "positions", "lists")
    if boxes.axes != 2:
        raise InputError(f"{name} is for 2 axes; the boxes have {boxes.axes}")
    side = whole(parameters, "side", 1, LONGEST)
    if side is not None:
        log_of_side(side)
    positions = whole(parameters, "positions", 1, MOST_POSITIONS)
    return side, positions, one_of(parameters, "lists", FORMS) or FORMS[0]


def _lists(spans: Spans, k: int, form: str, *, overlapping: bool) -> RectangleLists:
    from fencepost.matches.papers.vcr import kernels

    x, y = spans.x, spans.y
    count = (k + 1) ** 2 * x.positions * y.positions
    if form == "all" and count > MOST_LISTS:
        raise InputError(
            f"{count:,} rectangles are too many to give each a list ({MOST_LISTS:,} at most); "
            "take a smaller side, fewer positions, or lists='marked'"
        )
    pieces = pieces_of(spans, k, overlapping=overlapping)
    if pieces.sum() > MOST_PIECES:
        raise InputError(
            f"{pieces.sum():,} pieces are too many ({MOST_PIECES:,} at most) for the sides "
            f"1 to {1 << k}; take a larger side or fewer positions"
        )
    starts = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum(pieces, out=starts[1:])
    ids = np.empty(starts[-1], np.int64)
    skips = np.empty(starts[-1] if overlapping else 0, np.uint16)
    kernels.cut(
        x.begin, x.length, y.begin, y.length, k, x.positions, overlapping, starts, ids, skips
    )
    marks = np.zeros((0, 2), np.uint64)
    if form == "marked":
        marks = np.zeros((count // 64 + 4, 2), np.uint64)
        kernels.mark(ids, marks)
        before = np.cumsum(np.bitwise_count(marks[:-1, 0]), dtype=np.uint64)
        marks[1:, 1] = before
        ids = kernels.ranked(ids, marks)
        count = int(before[-1])
    ptr = np.zeros(count + 1, np.int32)
    return RectangleLists(marks, ptr, *kernels.listed(ids, starts, skips, ptr))


def _masks(k: int) -> Words:
    """Pack the gap array into words, 64 numbers each."""
    covers: Bools = covering(k)
    words = -(-covers.shape[1] // 64)
    padded = np.zeros((len(covers), words * 64), np.bool_)
    padded[:, : covers.shape[1]] = covers
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _runs(k: int, columns: int) -> Int64s:
    """Join neighbours in the gap array that are at one position."""
    covers, each = covering(k), (k + 1) ** 2
    row, bit = np.nonzero(covers)
    column = bit // each
    begins = np.ones(len(bit), np.bool_)
    begins[1:] = (np.diff(bit) != 1) | (np.diff(row) != 0) | (np.diff(column) != 0)
    first = np.flatnonzero(begins)
    many = np.diff(np.append(first, len(bit)))
    distance = row * columns * each + bit
    return np.stack((distance[first], many, column[first], row[first]), 1).astype(np.int64)
