"""What the tuples of a step lead to, found for some turns at a time.

Law: turns are processed in order, from the first to the last; where they are parted changes no row
and no order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa

from fencepost.errors import StateError
from fencepost.joins.admission import AcceptedTuples, Turns
from fencepost.joins.bands import BandChanges, BandPairs
from fencepost.joins.index import LaneIndex, PlaneBands, PlaneNears
from fencepost.joins.near import NearPairs
from fencepost.joins.results import (
    BandPiece,
    Changed,
    Joined,
    NearChanged,
    band_piece,
    near_table,
    no_pairs,
    pair_table,
)
from fencepost.joins.state import LaneState
from fencepost.joins.windows import Live, Pairs
from fencepost.tuples import Bools, Doubles, Int8s, Int32s, Int64s

Column = TypeVar("Column", Doubles, Bools)


@dataclass(frozen=True, eq=False, kw_only=True)
class LaneStep:
    """A step, as far as what it leads to depends on it.

    marks  int64[deliveries + 1], the lane's watermark before each delivery, and after the last
    """

    before: LaneState
    after: LaneState
    accepted: tuple[AcceptedTuples, AcceptedTuples]
    turns: Turns
    marks: Int64s
    index: LaneIndex
    registry: int


class Windows:
    """The window joins on their way through a step: of each side what lives, up to some turn."""

    def __init__(self, step: LaneStep) -> None:
        self.step = step
        self.live = [side.live for side in step.before.sides]
        self.added = [0, 0]
        self.rights = np.append(0, np.cumsum(step.turns.side == 1))

    def find(self, begin: int, end: int) -> pa.Table:
        """Find the pairs of the tuples of these turns."""
        step, turns = self.step, self.step.turns
        self._go_on(begin, end)
        parts = []
        for side in (0, 1):
            mine = begin + np.flatnonzero(turns.side[begin:end] == side)
            if len(mine) and len(self.live[1 - side]):
                new = step.accepted[side].part(turns.row[mine[0]], turns.row[mine[-1]] + 1)
                parts.append(self._joined(side, mine, new))
        if not parts:
            return no_pairs(step.index.windows, step.after.sides)
        return pair_table(step.index.windows, step.after.sides, turns, Joined.together(parts))

    def _go_on(self, begin: int, end: int) -> None:
        """Drop what no tuple from `begin` on can reach; add what is accepted before `end`."""
        step = self.step
        delivery = step.turns.delivery[begin]
        for side, state in enumerate(step.before.sides):
            tuples = step.accepted[side]
            count = state.accepted + int(np.searchsorted(tuples.delivery, delivery))
            live = remaining(self.live[side], step.index, int(step.marks[delivery]), count)
            upto = int(self.rights[end] if side else end - self.rights[end])
            more = tuples.part(self.added[side], upto)
            before = state.accepted + self.added[side]
            self.live[side] = grown(live, more, before, step.registry)
            self.added[side] = upto

    def _joined(self, side: int, mine: Int64s, new: AcceptedTuples) -> Joined:
        """Pair the new tuples of one side with what lives of the other."""
        step, other, old = self.step, 1 - side, self.live[1 - side]
        earlier = step.accepted[other].delivery
        counts = step.before.sides[other].accepted + np.searchsorted(earlier, new.delivery)
        found: Pairs = step.index.window_index.probe(
            side, new.ts, new.values, old, step.marks[new.delivery], counts
        )
        rows, olds = found.new, found.old
        its = (new.stream[rows], new.ts[rows], new.place[rows], new.values[:, rows])
        others = (old.stream[olds], old.ts[olds], old.places[olds], old.values[:, olds])
        tuples = (its, others) if side == 0 else (others, its)
        return Joined(mine[rows], found.query, *tuples)


def grown(live: Live, tuples: AcceptedTuples, accepted: int, registry: int) -> Live:
    """Append tuples to the live ones; the feed had `accepted` tuples before them."""
    stream, ts, values = tuples.stream, tuples.ts, tuples.values
    return live.with_added(
        stream, ts, values, accepted=accepted, registry=registry, ts_place=tuples.place
    )


def remaining(live: Live, index: LaneIndex, mark: int, accepted: int) -> Live:
    """Drop what no window join can pair: out of reach, or accepted before any was registered."""
    left = live.trimmed(index.reach, mark, accepted)
    if not len(left) or left.registry[0] >= index.earliest:
        return left
    return left.take(np.flatnonzero(left.registry >= index.earliest))


class Planes:
    """The planes of a lane as of a state, for step after step under the same joins.

    open    O(m log m) for m streams
    move    what the updates of a step cost: `JoinOutcome.band_pieces` moves them on with its
            last piece; before, they are of no state
    """

    def __init__(self, index: LaneIndex, state: LaneState) -> None:
        self.index = index
        self.state: LaneState | None = state
        self.opened = [(plane, plane.opened(state)) for plane in index.planes]


class Surroundings:
    """The planes of a lane's near joins as of a state, for step after step under the same joins.

    open    O(m) for m streams
    move    as `Planes`, by `JoinOutcome.near_pieces`
    """

    def __init__(self, index: LaneIndex, state: LaneState) -> None:
        self.index = index
        self.state: LaneState | None = state
        self.streams = _streams(state)
        self.opened = [(plane, plane.opened(index.nears, state)) for plane in index.near_planes]

    def serve(self, state: LaneState) -> None:
        """Compile joins that name streams for those of a state. O(1) where no stream is new."""
        if self.streams == _streams(state) or not self.index.nears.some.any():
            return
        self.streams = _streams(state)
        for plane, near in self.opened:
            near.cover = plane.cover(self.index.nears, state)


def _streams(state: LaneState) -> tuple[int, int]:
    left, right = state.sides
    return len(left), len(right)


def by_turn(step: LaneStep, begin: int, end: int, columns: Sequence[Column]) -> Column:
    """Bring a column of what both sides accepted into the order of the turns."""
    side, row = step.turns.side[begin:end], step.turns.row[begin:end]
    column = np.empty(end - begin, columns[0].dtype)
    for each in (0, 1):
        mine = side == each
        column[mine] = columns[each][row[mine]]
    return column


class Bands:
    """The band joins on their way through a step: the planes, up to some turn."""

    def __init__(self, step: LaneStep, planes: Planes) -> None:
        if planes.state is not step.before or planes.index is not step.index:
            raise StateError("the planes are not those of the state and the joins of the step")
        planes.state = None
        self.step, self.planes = step, planes.opened

    def registered(self, queries: Int32s) -> BandPiece:
        """Return the pairs that are in for some queries, before any turn."""
        parts = []
        for plane, bands in self.planes:
            rows = np.flatnonzero(np.isin(plane.rows, queries)).astype(np.int32)
            if len(rows):
                parts.append(_came_in(plane, bands.pairs(rows)))
        return self._piece(parts, registered=True)

    def find(self, begin: int, end: int) -> BandPiece:
        """Move streams as the tuples of these turns say, and return what changed."""
        turns = self.step.turns
        side, stream = turns.side[begin:end], turns.stream[begin:end]
        gone = by_turn(self.step, begin, end, [tuples.gone for tuples in self.step.accepted])
        parts = []
        for plane, bands in self.planes:
            axes = zip(self.step.accepted, (plane.left_axis, plane.right_axis), strict=True)
            value = by_turn(self.step, begin, end, [tuples.values[axis] for tuples, axis in axes])
            parts.append(_changed(plane, bands.apply(side, stream, value, gone), begin))
        return self._piece(parts, registered=False)

    def _piece(self, parts: list[Changed], *, registered: bool) -> BandPiece:
        step = self.step
        found = Changed.together(parts)
        return band_piece(
            step.index.bands, step.after.sides, step.turns, found, registered=registered
        )


def _came_in(plane: PlaneBands, found: BandPairs) -> Changed:
    """Every pair that is in came in: a registration's are of no turn."""
    count = len(found)
    its = (found.left_stream, found.right_stream, found.left_value, found.right_value)
    query = plane.rows[found.query]
    return Changed(np.zeros(count, np.int64), query, np.ones(count, np.int8), *its)


def _changed(plane: PlaneBands, found: BandChanges, begin: int) -> Changed:
    """Number updates from the first turn, and queries as in the set."""
    return Changed(
        turn=found.update + begin,
        query=plane.rows[found.query],
        change=found.change,
        left=found.left_stream,
        right=found.right_stream,
        left_value=found.left_value,
        right_value=found.right_value,
    )


class Nears:
    """The near joins on their way through a step: the planes, up to some turn."""

    def __init__(self, step: LaneStep, surroundings: Surroundings) -> None:
        if surroundings.state is not step.before or surroundings.index is not step.index:
            raise StateError(
                "the surroundings are not those of the state and the joins of the step"
            )
        surroundings.state = None
        surroundings.serve(step.after)
        self.step, self.planes = step, surroundings.opened

    def registered(self, queries: Int32s) -> pa.Table:
        """Return the pairs that are in for some queries, before any turn."""
        parts = []
        for plane, near in self.planes:
            mine = np.isin(plane.rows, queries)
            if mine.any():
                pairs = near.pairs()
                pairs = pairs.take(mine[pairs.row])
                came = np.ones(len(pairs), np.int8)
                parts.append(_near(plane, np.zeros(len(pairs), np.int64), came, pairs))
        return self._table(parts, registered=True)

    def find(self, begin: int, end: int) -> pa.Table:
        """Move streams as the tuples of these turns say, and return what changed."""
        step, turns = self.step, self.step.turns
        side, stream = turns.side[begin:end], turns.stream[begin:end]
        gone = by_turn(step, begin, end, [tuples.gone for tuples in step.accepted])
        parts = []
        for plane, near in self.planes:
            x, y = (self._axis(plane, which, begin, end) for which in (0, 1))
            found = near.apply(side, stream, x, y, gone)
            parts.append(_near(plane, found.update + begin, found.change, found.pairs))
        return self._table(parts, registered=False)

    def _axis(self, plane: PlaneNears, which: int, begin: int, end: int) -> Doubles:
        axes = zip(self.step.accepted, (plane.left[which], plane.right[which]), strict=True)
        columns = [tuples.values[axis] for tuples, axis in axes]
        return by_turn(self.step, begin, end, columns)

    def _table(self, parts: list[NearChanged], *, registered: bool) -> pa.Table:
        step = self.step
        found = NearChanged.together(parts)
        return near_table(
            step.index.nears, step.after.sides, step.turns, found, registered=registered
        )


def _near(plane: PlaneNears, turn: Int64s, change: Int8s, pairs: NearPairs) -> NearChanged:
    """Number queries as in the set."""
    query = plane.rows[pairs.row]
    places = (pairs.left_at, pairs.right_at, pairs.distance)
    return NearChanged(turn, query, change, pairs.left, pairs.right, *places)
