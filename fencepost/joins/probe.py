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
from fencepost.joins.index import LaneIndex, PlaneBands
from fencepost.joins.results import BandPiece, Changed, Joined, band_piece, no_pairs, pair_table
from fencepost.joins.state import LaneState
from fencepost.joins.windows import Live, Pairs
from fencepost.tuples import Bools, Doubles, Int32s, Int64s

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
        gone = self._by_turn(begin, end, [tuples.gone for tuples in self.step.accepted])
        parts = []
        for plane, bands in self.planes:
            axes = zip(self.step.accepted, (plane.left_axis, plane.right_axis), strict=True)
            value = self._by_turn(begin, end, [tuples.values[axis] for tuples, axis in axes])
            parts.append(_changed(plane, bands.apply(side, stream, value, gone), begin))
        return self._piece(parts, registered=False)

    def _by_turn(self, begin: int, end: int, columns: Sequence[Column]) -> Column:
        """Bring a column of both sides into the order of the turns."""
        side, row = self.step.turns.side[begin:end], self.step.turns.row[begin:end]
        column = np.empty(end - begin, columns[0].dtype)
        for each in (0, 1):
            mine = side == each
            column[mine] = columns[each][row[mine]]
        return column

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
