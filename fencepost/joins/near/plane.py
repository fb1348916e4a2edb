"""Standing near joins over the current positions of two feeds' streams, or of one feed's.

S4's first question (Q1) in two dimensions: what does an update change? All joins of a plane are of
distances within a factor of two, so that cells of the largest serve all of them.

Law: (l, r) is in the result of a join iff both are somewhere, their distance is at most the join's,
and it asks for them; of one feed a pair is in once, and none with itself. What an update reports
is the result after it less the result before it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from fencepost.errors import BrokenIndex
from fencepost.joins.near import kernels
from fencepost.joins.near.block_kernels import LINE, WIDTH
from fencepost.joins.near.cells import GROWN, Frame, MoverCells
from fencepost.joins.near.changes import NearChanges, NearPairs, NearRoom
from fencepost.joins.near.cover import JoinCover
from fencepost.joins.near.judge_kernels import DOUBT, judge
from fencepost.tuples import Bools, Doubles, Int8s, Int32s

LEFT, RIGHT = 0, 1
FEWEST = 1024
DOUBTS = 4096
Members = tuple[Int32s, Doubles, Doubles]
"""Streams and their positions. Codes count from 0, each side's own."""

Doubts = npt.NDArray[Any]
Find = Callable[[Doubts, int], tuple[int, int, int]]
"""Fills doubts from an update on: the first that did not fit, how many there are, and with it."""


class PlaceUpdates(NamedTuple):
    """What happens, in order: whose position, of which side, becomes which, or that it is gone."""

    side: Int8s
    stream: Int32s
    x: Doubles
    y: Doubles
    gone: Bools


@dataclass(eq=False)
class NearPlane:
    """n joins over m streams. 32 bytes a stream and 96 to 192 of cells; whatever n is.

    build     O(m)
    apply     O(e + k) an update of k changes, with e streams in the cells about both positions
    pairs     O(m e + k)

    `cover` may be exchanged for one of the same joins and more streams.
    """

    cover: JoinCover
    frame: Frame
    cells: MoverCells
    room: int  # streams of a side for which there are cells
    doubts: Doubts = field(default_factory=lambda: np.empty(DOUBTS, DOUBT))

    @classmethod
    def build(
        cls,
        cover: JoinCover,
        *,
        earth: bool,
        left: Members | None = None,
        right: Members | None = None,
    ) -> Self:
        """Build from where both sides' streams are; of one feed they are the left ones."""
        nobody = np.empty(0, np.int32), np.empty(0), np.empty(0)
        sides = left or nobody, right or nobody
        x, y = (np.concatenate([sides[0][n], sides[1][n]]) for n in (1, 2))
        streams = max(int(side[0].max(initial=-1)) for side in sides) + 1
        frame = Frame.over(earth, cover.distances, x, y)
        cells = MoverCells.empty(frame, streams, 1 if cover.one else 2)
        for side, (codes, xs, ys) in enumerate(sides):
            kernels.enter(frame, cells, side, codes, xs, ys)
        return cls(cover, frame, cells, len(x))

    @property
    def nbytes(self) -> int:
        """Bytes of the positions and the cells."""
        return sum(array.nbytes for array in self.cells)

    def members(self, side: int) -> Members:
        """Return the streams of a side that are somewhere, ascending, and their positions."""
        movers = self.cells.movers[side]
        streams = np.flatnonzero(~np.isnan(movers["x"])).astype(np.int32)
        return streams, movers["x"][streams], movers["y"][streams]

    def apply(
        self, side: Int8s, stream: Int32s, x: Doubles, y: Doubles, gone: Bools
    ) -> NearChanges:
        """Apply updates in their order; return the exact changes of each.

        Where `gone`, the stream leaves and its position is not read. One that was not there enters;
        one that goes and was not there changes nothing.
        """
        moves = PlaceUpdates(
            np.ascontiguousarray(side, np.int8),
            np.ascontiguousarray(stream, np.int32),
            np.ascontiguousarray(x, np.float64) + 0.0,
            np.ascontiguousarray(y, np.float64) + 0.0,
            np.ascontiguousarray(gone, np.bool_),
        )
        self._make_room(int(moves.stream.max(initial=-1)) + 1)
        found = NearRoom.empty(len(moves.side) // 2 + FEWEST)
        cosines = np.empty(len(moves.side))
        kernels.cosines(self.frame.earth, moves.y, cosines)

        def find(doubts: Doubts, first: int) -> tuple[int, int, int]:
            kept: tuple[int, int, int] = kernels.apply(
                self.frame, self.cells, self.cover.one, moves, cosines, doubts, first
            )
            return kept

        found, used = self._judged(find, len(moves.side), found)
        pairs = NearPairs.of(found, used)
        return NearChanges(update=found.update[:used], change=found.change[:used], pairs=pairs)

    def pairs(self) -> NearPairs:
        """Return all pairs that are in now; of one feed the lower code stands left."""
        streams, _, _ = self.members(LEFT)
        found = NearRoom.empty(2 * len(streams) + FEWEST)

        def find(doubts: Doubts, first: int) -> tuple[int, int, int]:
            kept: tuple[int, int, int] = kernels.pairs(
                self.frame, self.cells, self.cover.one, streams, doubts, first
            )
            return kept

        found, used = self._judged(find, len(streams), found)
        pairs = NearPairs.of(found, used)
        return pairs.take(pairs.left < pairs.right) if self.cover.one else pairs

    def _judged(self, find: Find, n: int, found: NearRoom) -> tuple[NearRoom, int]:
        """Find doubts from the first of n on, as many as fit, and judge them; and again."""
        earth, doubts, first, used = self.frame.earth, self.doubts, 0, 0
        while first < n:
            first, many, wanted = find(doubts, first)
            while (now := judge(earth, self.cover, doubts, many, found, used)) > len(found.row):
                found = found.grown(2 * now, used)
            used = now
            if wanted - many > len(doubts):
                self.doubts = doubts = np.empty(2 * (wanted - many), DOUBT)
        return found, used

    def check(self) -> None:
        """Raise BrokenIndex unless each stream is in the bucket of its position. O(m + buckets)."""
        for side in (LEFT, RIGHT):
            streams, x, y = self.members(side)
            fresh = self._nobody(self.cells.movers.shape[1])
            kernels.enter(self.frame, fresh, side, streams, x, y)
            if self._standing(self.cells, side) != self._standing(fresh, side):
                raise BrokenIndex(f"the cells of side {side} are not those of its streams' places")

    def _standing(self, cells: MoverCells, side: int) -> set[tuple[float, ...]]:
        """Walk the blocks of a side: each stream, its bucket, and where in its cell it is."""
        standing: set[tuple[float, ...]] = set()
        if side == RIGHT and self.cover.one:
            return standing
        bits = self.frame.column_bits + self.frame.row_bits
        for bucket in range(side << bits, (side + 1) << bits):
            for at in cells.places_of(bucket):
                stream = int(cells.codes[at])
                mover = cells.movers[side, stream]
                if (mover["bucket"], mover["at"]) != (bucket, at):
                    raise BrokenIndex(f"stream {stream} of side {side} stands elsewhere")
                place = at // WIDTH * LINE + at % WIDTH
                standing.add((stream, bucket, *cells.places[[place, place + WIDTH]].tolist()))
        return standing

    def _nobody(self, streams: int) -> MoverCells:
        return MoverCells.empty(self.frame, streams, 1 if self.cover.one else 2)

    def _make_room(self, streams: int) -> None:
        """Make room for stream codes below a number, and more cells for many. Amortised O(1)."""
        had = self.cells.movers.shape[1]
        if streams <= had:
            return
        both = [self.members(side) for side in (LEFT, RIGHT)]
        x, y = (np.concatenate([side[n] for side in both]) for n in (1, 2))
        if len(x) > GROWN * self.room:  # few were there: cells were made for fewer than these
            self.frame, self.room = Frame.over(self.frame.earth, self.cover.distances, x, y), len(x)
        self.cells = self._nobody(max(streams, had * 3 // 2))
        for side, members in enumerate(both):
            kernels.enter(self.frame, self.cells, side, *members)
