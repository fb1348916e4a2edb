"""Standing near joins over the current positions of two feeds' streams, or of one feed's.

S4's first question (Q1) in two dimensions: what does an update change? All joins of a plane are of
distances within a factor of two, so that cells of the largest serve all of them.

Law: (l, r) is in the result of a join iff both are somewhere, their distance is at most the join's,
and it asks for them; of one feed a pair is in once, and none with itself. What an update reports
is the result after it less the result before it.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from fencepost.errors import BrokenIndex
from fencepost.joins.near import kernels
from fencepost.joins.near.cells import EACH, Frame, MoverLists
from fencepost.joins.near.changes import NearChanges, NearPairs, NearRoom
from fencepost.joins.near.cover import JoinCover
from fencepost.tuples import Bools, Doubles, Int8s, Int32s

LEFT, RIGHT = 0, 1
FEWEST = 1024
Members = tuple[Int32s, Doubles, Doubles]
"""Streams and their positions. Codes count from 0, each side's own."""


class PlaceUpdates(NamedTuple):
    """What happens, in order: whose position, of which side, becomes which, or that it is gone."""

    side: Int8s
    stream: Int32s
    x: Doubles
    y: Doubles
    gone: Bools


@dataclass(eq=False)
class NearPlane:
    """n joins over m streams. 36 bytes a stream and 16 to 64 of cells; whatever n is.

    build     O(m)
    apply     O(e + k) an update of k changes, with e streams in the cells about both positions
    pairs     O(m e + k)

    `cover` may be exchanged for one of the same joins and more streams.
    """

    cover: JoinCover
    frame: Frame
    cells: MoverLists
    room: int  # streams of a side for which there are cells
    count: int = 0

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
        cells = MoverLists.empty(frame, streams)
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
        n, first, used = len(moves.side), 0, 0
        found = NearRoom.empty(n // 2 + FEWEST)
        while True:
            first, used, wanted = kernels.apply(
                self.frame, self.cells, self.cover, moves, found, first, used
            )
            if first == n:
                break
            found = _roomier(found, used, wanted, first, n)
        pairs = NearPairs.of(found, used)
        return NearChanges(update=found.update[:used], change=found.change[:used], pairs=pairs)

    def pairs(self) -> NearPairs:
        """Return all pairs that are in now; of one feed the lower code stands left."""
        streams, _, _ = self.members(LEFT)
        first, used = 0, 0
        found = NearRoom.empty(2 * len(streams) + FEWEST)
        while True:
            first, used, wanted = kernels.pairs(
                self.frame, self.cells, self.cover, streams, found, first, used
            )
            if first == len(streams):
                break
            found = _roomier(found, used, wanted, first, len(streams))
        pairs = NearPairs.of(found, used)
        return pairs.take(pairs.left < pairs.right) if self.cover.one else pairs

    def check(self) -> None:
        """Raise BrokenIndex unless every stream is in the list of its bucket. O(m + buckets)."""
        for side in (LEFT, RIGHT):
            streams, x, y = self.members(side)
            fresh = MoverLists.empty(self.frame, self.cells.movers.shape[1])
            kernels.enter(self.frame, fresh, side, streams, x, y)
            if sorted(self._listed(self.cells, side)) != sorted(self._listed(fresh, side)):
                raise BrokenIndex(
                    f"the lists of side {side} are not those of its streams' positions"
                )

    @staticmethod
    def _listed(cells: MoverLists, side: int) -> list[tuple[int, int]]:
        """Walk the lists of a side: (bucket, stream)."""
        listed = []
        for bucket in np.flatnonzero(cells.first[side] >= 0).tolist():
            stream, before = int(cells.first[side, bucket]), -1
            while stream >= 0:
                mover = cells.movers[side, stream]
                after, own = int(mover["next"]), int(mover["bucket"])
                back = int(cells.before[side, stream])
                if (back, own) != (before, bucket):
                    raise BrokenIndex(
                        f"stream {stream} of side {side} is linked to others than its"
                    )
                listed.append((bucket, stream))
                before, stream = stream, after
        return listed

    def _make_room(self, streams: int) -> None:
        """Make room for stream codes below a number, and more cells for many. Amortised O(1)."""
        had = self.cells.movers.shape[1]
        if streams <= had:
            return
        both = [self.members(side) for side in (LEFT, RIGHT)]
        x, y = (np.concatenate([side[n] for side in both]) for n in (1, 2))
        if len(x) > EACH * self.room:  # few were there: cells were made for fewer than these
            self.frame, self.room = Frame.over(self.frame.earth, self.cover.distances, x, y), len(x)
        self.cells = MoverLists.empty(self.frame, max(streams, had * 3 // 2))
        for side, members in enumerate(both):
            kernels.enter(self.frame, self.cells, side, *members)


def _roomier(found: NearRoom, used: int, wanted: int, done: int, many: int) -> NearRoom:
    rate = used / done if done else 0.0
    return found.grown(max(2 * len(found.row), wanted + int(1.2 * rate * (many - done))), used)
