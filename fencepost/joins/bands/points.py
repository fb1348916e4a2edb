"""The current value of each stream of two feeds, each side in order.

S4 joins by r − s. Here the right side's values are negated, so that a difference is one sum
whichever side moves: r − s and r + (−s) are the same double. Both sides share one pool of leaves,
flat arrays all, which the kernels take as they are.

Law: a side's entries, leaf after leaf in its directory's order, ascend by (value, stream), and
are those streams of `now` that are not NaN.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fencepost.errors import BrokenIndex, InputError
from fencepost.joins.bands.cell_kernels import MOST, count
from fencepost.joins.bands.cells import CellCounts
from fencepost.joins.bands.leaf_kernels import ENTRIES, SPARE
from fencepost.joins.bands.moves import Moves
from fencepost.tuples import Doubles, Int32s, Int64s

LEAF = 256
LEFT, RIGHT = 0, 1
_SIDES = ("left", "right")

Signed = Doubles
"""Values as they are ordered: r on the left, 0 − s on the right."""


class Leaves(NamedTuple):
    """The pool, and a directory for each side. 12 bytes an entry of a leaf, 29 a leaf."""

    values: Signed  # [leaf, index]
    streams: Int32s  # [leaf, index]
    fill: Int32s  # [leaf]: how many entries it has
    order: Int32s  # [side, place]: the leaf there
    last: Signed  # [side, place]: its largest entry
    last_stream: Int32s
    spare: Int32s  # leaves of nobody, tally[SPARE] of them
    tally: Int64s  # leaves of the left, of the right, to spare; entries left, right


class PointColumns(NamedTuple):
    """All of both sides, as the kernels see it."""

    leaves: Leaves
    cells: CellCounts
    moves: Moves
    now: Signed


@dataclass(eq=False, kw_only=True)
class Points:
    """m entries of two sides in leaves of up to LEAF.

    build   O(m log m), 12 bytes an entry at least and 48 at most, 8 a stream of either side
    move    O(log m + LEAF), in kernels
    """

    leaves: Leaves
    now: Signed  # [side, stream]; NaN: not there
    cells: CellCounts
    moves: Moves
    counted_for: int = 0  # entries for which the cells were made
    served: object = None

    @classmethod
    def of(
        cls,
        left: tuple[Int32s, Doubles],
        right: tuple[Int32s, Doubles],
        leaf: int = LEAF,
    ) -> "Points":
        """Build from the (streams, values) of both sides; each stream once on a side."""
        if leaf < 4:
            raise InputError(f"a leaf of {leaf} entries, expected 4 at least")
        sides = [_signed(side, *members) for side, members in enumerate((left, right))]
        most = max((int(streams.max(initial=-1)) for streams, _ in sides), default=-1)
        now = np.full((2, most + 1), np.nan)
        sizes = [-(-len(streams) * 4 // (3 * leaf)) for streams, _ in sides]
        cells = CellCounts.over((sides[LEFT][1], sides[RIGHT][1]))
        points = cls(leaves=_empty(sum(sizes) + 4, leaf), now=now, cells=cells, moves=Moves.of(now))
        for side, (streams, values) in enumerate(sides):
            now[side, streams] = values
            points.moves.listed[side, streams] = values
            points._fill(side, streams, values, sizes[side])
        points.counted_for = len(points)
        return points

    @property
    def columns(self) -> PointColumns:
        """All arrays: kernels write to them."""
        return PointColumns(self.leaves, self.cells, self.moves, self.now)

    @property
    def nbytes(self) -> int:
        """Bytes of the leaves, the directories, the cells, and each stream's value."""
        return self.now.nbytes + sum(
            array.nbytes for array in (*self.leaves, *self.cells, *self.moves)
        )

    def __len__(self) -> int:
        """How many entries, on both sides."""
        return int(self.leaves.tally[ENTRIES:].sum())

    def members(self, side: int) -> tuple[Int32s, Doubles]:
        """Give the streams of a side, ascending, and their values."""
        streams = np.flatnonzero(~np.isnan(self.now[side])).astype(np.int32)
        values = self.now[side][streams]
        return streams, values if side == LEFT else 0.0 - values

    def entries(self, side: int) -> tuple[Int32s, Signed]:
        """Give the entries of a side in their order, signed."""
        own = self.leaves
        used = own.order[side, : own.tally[side]]
        there = np.arange(own.values.shape[1]) < own.fill[used][:, None]
        return own.streams[used][there], own.values[used][there]

    def with_room(self, streams: int) -> None:
        """Make room for stream codes below a number. Amortised O(1) a stream."""
        if streams > self.now.shape[1]:
            had = self.now.shape[1]
            grown = np.full((2, max(streams, had * 3 // 2)), np.nan)
            grown[:, :had] = self.now
            self.now = grown
            version = self.moves.version
            self.moves = Moves.of(grown)._replace(version=version)

    def serve(self, bands: object) -> None:
        """Get ready to be searched under bands. O(1), or O(m) where m has doubled.

        How far streams may go is forgotten where it was known of other bands; cells are made again
        where there are twice the entries that they were made for.
        """
        if self.served is not bands:
            self.moves.version[:] += 1
            self.served = bands
        if len(self) > 2 * self.counted_for:
            left, right = (side[~np.isnan(side)] for side in self.now)
            self.cells, self.counted_for = CellCounts.over((left, right)), len(self)
            self.moves.version[:] += 1

    def with_leaves(self) -> None:
        """Add half as many leaves as there are, all to spare."""
        old = self.leaves
        count, leaf = old.values.shape
        new = _empty(count + max(4, count // 2), leaf)
        new.values[:count], new.streams[:count], new.fill[:count] = (
            old.values,
            old.streams,
            old.fill,
        )
        new.order[:, :count], new.last[:, :count] = old.order, old.last
        new.last_stream[:, :count] = old.last_stream
        many = len(new.fill) - count
        new.spare[:many] = np.arange(count, len(new.fill))
        new.spare[many : many + old.tally[SPARE]] = old.spare[: old.tally[SPARE]]
        new.tally[:] = old.tally
        new.tally[SPARE] += many
        self.leaves = new

    def check(self) -> None:
        """Raise BrokenIndex unless every invariant holds. O(m log m)."""
        own = self.leaves
        places = own.tally[:SPARE]
        used = [own.order[side, : places[side]] for side in (LEFT, RIGHT)]
        every = np.sort(np.concatenate([*used, own.spare[: own.tally[SPARE]]]))
        if not np.array_equal(every, np.arange(len(own.fill))):
            raise BrokenIndex(f"{len(every)} leaves in use or to spare, of {len(own.fill)}")
        for side, name in enumerate(_SIDES):
            for wrong in used[side][own.fill[used[side]] <= 0][:1]:
                raise BrokenIndex(f"leaf {wrong} of the {name} side is empty")
            streams, values = self.entries(side)
            if len(streams) != own.tally[ENTRIES + side]:
                raise BrokenIndex(
                    f"{len(streams)} entries {name}, its tally says {own.tally[ENTRIES + side]}"
                )
            order = np.lexsort((streams, values))
            for wrong in np.flatnonzero(order != np.arange(len(order)))[:1]:
                raise BrokenIndex(
                    f"entry {wrong} of the {name} side ({values[wrong]}, stream {streams[wrong]}) "
                    "is out of order"
                )
            there = np.flatnonzero(~np.isnan(self.now[side]))
            mine = np.argsort(streams)
            if not np.array_equal(there, streams[mine]) or not np.array_equal(
                self.now[side][there], values[mine]
            ):
                raise BrokenIndex(f"the {name} side's entries are not its streams' values")
            ends = np.cumsum(own.fill[used[side]]) - 1
            if not np.array_equal(own.last[side, : places[side]], values[ends]) or not (
                np.array_equal(own.last_stream[side, : places[side]], streams[ends])
            ):
                raise BrokenIndex(f"the {name} side's directory has other ends than its leaves")
            self._check_cells(side, values)

    def _check_cells(self, side: int, values: Signed) -> None:
        counts = self.cells.counts[side]
        again = self.cells._replace(counts=np.zeros_like(self.cells.counts))
        count(again, side, values)
        differs = (counts != again.counts[side]) & (counts < MOST)
        for wrong in np.flatnonzero(differs)[:1]:
            raise BrokenIndex(
                f"cell {wrong} of the {_SIDES[side]} side counts {counts[wrong]} entries, "
                f"{again.counts[side, wrong]} are there"
            )

    def _fill(self, side: int, streams: Int32s, values: Signed, leaves: int) -> None:
        """Write entries to leaves that are three quarters full."""
        order = np.lexsort((streams, values))
        own = self.leaves
        edges = np.linspace(0, len(order), leaves + 1).astype(np.int64)
        own.tally[SPARE] -= leaves
        own.tally[side], own.tally[ENTRIES + side] = leaves, len(order)
        for place in range(leaves):
            leaf = own.spare[own.tally[SPARE] + place]
            part = order[edges[place] : edges[place + 1]]
            own.order[side, place], own.fill[leaf] = leaf, len(part)
            own.values[leaf, : len(part)] = values[part]
            own.streams[leaf, : len(part)] = streams[part]
            own.last[side, place], own.last_stream[side, place] = (
                values[part[-1]],
                streams[part[-1]],
            )


def _empty(count: int, leaf: int) -> Leaves:
    return Leaves(
        values=np.zeros((count, leaf)),
        streams=np.zeros((count, leaf), np.int32),
        fill=np.zeros(count, np.int32),
        order=np.zeros((2, count), np.int32),
        last=np.zeros((2, count)),
        last_stream=np.zeros((2, count), np.int32),
        spare=np.arange(count - 1, -1, -1, dtype=np.int32),
        tally=np.array([0, 0, count, 0, 0], np.int64),
    )


def _signed(side: int, streams: Int32s, values: Doubles) -> tuple[Int32s, Signed]:
    """Refuse what is no set of streams with finite values; give the values their sign."""
    streams = np.ascontiguousarray(streams, np.int32)
    values = np.ascontiguousarray(values, np.float64)
    if streams.shape != values.shape:
        raise InputError(f"{len(streams)} streams {_SIDES[side]}, and {len(values)} values")
    if streams.min(initial=0) < 0:
        raise InputError(f"stream {streams.min()} {_SIDES[side]}: codes count from 0")
    if len(np.unique(streams)) < len(streams):
        raise InputError(f"a stream occurs twice on the {_SIDES[side]} side")
    for wrong in np.flatnonzero(~np.isfinite(values))[:1]:
        raise InputError(f"stream {streams[wrong]} {_SIDES[side]} has the value {values[wrong]}")
    return streams, values + 0.0 if side == LEFT else 0.0 - values
