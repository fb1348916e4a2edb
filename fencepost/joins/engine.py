"""One step of a lane: the deliveries of two feeds to the pairs and changes they lead to.

A delivery is of one feed, so the other side does not change while it is processed: its tuples are
matched against the other side's live ones and against the current values of its streams. A feed
that is joined with itself is the left side, and matched against its own streams. The state is what
was accepted, not the results; so pairs and changes are found on request, piece by piece.

Pure and deterministic. Law: any grouping of the same deliveries into steps gives the same rows.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import pyarrow as pa

from fencepost.errors import InputError, StateError
from fencepost.joins.admission import SideOutcome, Turns, accept
from fencepost.joins.index import LaneIndex
from fencepost.joins.probe import (
    Bands,
    LaneStep,
    Nears,
    Planes,
    Surroundings,
    Windows,
    grown,
    remaining,
)
from fencepost.joins.results import BandPiece, no_changes, no_near_changes, no_pairs
from fencepost.joins.state import LaneState, SideState
from fencepost.lanes import lane_of
from fencepost.order import AS_THEY_COME, NEVER, REASONS, OrderRules
from fencepost.tuples import Bools, Int8s, Int32s, Int64s, TupleBatch

FIRST_PIECE = 1 << 12  # tuples joined before it is known how many rows they lead to

Piece = TypeVar("Piece", pa.Table, BandPiece)


@dataclass(frozen=True, eq=False)
class JoinOutcome:
    """What a step accepted; pairs and changes are computed, as tables, on request.

    sides  of each side what became of its tuples
    newly  the band joins newly in force      near_newly  the near joins newly in force
    """

    step: LaneStep
    sides: tuple[SideOutcome, SideOutcome]
    newly: Int32s
    near_newly: Int32s

    @property
    def index(self) -> LaneIndex:
        """The joins in force."""
        return self.step.index

    @property
    def state(self) -> LaneState:
        """The state after the step."""
        return self.step.after

    @property
    def watermarks(self) -> Int64s:
        """The lane's after each delivery, the smaller of both feeds'; NEVER while one has none."""
        return self.step.marks[1:]

    @property
    def accepted(self) -> tuple[int, int]:
        """How many tuples of each side were accepted, of the batches and of those that waited."""
        left, right = self.step.accepted
        return len(left), len(right)

    @property
    def waiting(self) -> tuple[int, int]:
        """How many tuples of each side wait after the step."""
        left, right = self.state.sides
        return len(left.waiting), len(right.waiting)

    def rejected(self, side: int) -> pa.Table:
        """The rejected rows of a side's batch, in their order, and why."""
        rejected = self.sides[side].rejected
        order = np.argsort(rejected.row)
        reasons = pa.array(REASONS).take(pa.array(rejected.reason[order]))
        return pa.table({"row": rejected.row[order], "reason": reasons})

    def moved(self, side: int) -> pa.Table:
        """The last tuples that this step replaced others by: what a log of the state needs."""
        return self.state.sides[side].heads_table(self.sides[side].moved)

    def lived(self, side: int) -> pa.Table:
        """The accepted tuples that still live: what a log of the live ones needs."""
        return self.state.sides[side].live_table(self.step.before.sides[side].accepted)

    @property
    def pairs(self) -> pa.Table:
        """The window joins' pairs, each with both tuples, ids coded."""
        found = list(self.pair_pieces(sys.maxsize))
        if found:
            return pa.concat_tables(found)
        return no_pairs(self.index.windows, self.state.sides)

    @property
    def band_changes(self) -> pa.Table:
        """The band joins' changes, those of `newly` first, ids coded."""
        return pa.concat_tables([piece.changes for piece in self._band_pieces()])

    @property
    def near_changes(self) -> pa.Table:
        """The near joins' changes, those of `near_newly` first, ids coded."""
        nothing = no_near_changes(self.index.nears, self.state.sides)
        return pa.concat_tables([nothing, *self.near_pieces(sys.maxsize)])

    @property
    def affected(self) -> pa.Table:
        """The queries that each update changed, each once for the update."""
        return pa.concat_tables([piece.affected for piece in self._band_pieces()])

    def pair_pieces(self, most: int) -> Iterator[pa.Table]:
        """Find the pairs in pieces of about `most`, in their order."""
        if len(self.index.windows):
            find = Windows(self.step).find
            yield from _pieces(len(self.step.turns), most, find, pa.Table.__len__)

    def band_pieces(self, most: int, planes: Planes | None = None) -> Iterator[BandPiece]:
        """Find the changes and the queries they affect in pieces of about `most`, in their order.

        `planes` are those of the state before, if the caller kept them: they are brought up to the
        state after. Without them they are built, in O(m log m) for m streams.
        """
        if planes is None:
            planes = Planes(self.index, self.step.before)
        bands = Bands(self.step, planes)
        if bands.planes:
            register = _rows_of(bands.registered, self.newly)
            yield from _pieces(len(self.newly), most, register, _changes)
            yield from _pieces(len(self.step.turns), most, bands.find, _changes)
        planes.state = self.state

    def near_pieces(
        self, most: int, surroundings: Surroundings | None = None
    ) -> Iterator[pa.Table]:
        """Find the near joins' changes in pieces of about `most`, in their order.

        `surroundings` are those of the state before, as `planes` are of band joins.
        """
        if surroundings is None:
            surroundings = Surroundings(self.index, self.step.before)
        nears = Nears(self.step, surroundings)
        if nears.planes:
            register = _rows_of(nears.registered, self.near_newly)
            yield from _pieces(len(self.near_newly), most, register, pa.Table.__len__)
            yield from _pieces(len(self.step.turns), most, nears.find, pa.Table.__len__)
        surroundings.state = self.state

    def _band_pieces(self) -> list[BandPiece]:
        nothing = no_changes(self.index.bands, self.state.sides)
        return list(self.band_pieces(sys.maxsize)) or [nothing]


def step(  # noqa: PLR0913  the lane's four, and the options by name
    state: LaneState,
    batches: tuple[TupleBatch, TupleBatch],
    sides: Int8s,
    index: LaneIndex,
    *,
    rules: tuple[OrderRules, OrderRules] = (AS_THEY_COME, AS_THEY_COME),
    registry: int = 0,
    newly: Int32s | Int64s | None = None,
    near_newly: Int32s | Int64s | None = None,
    gone: tuple[Bools | None, Bools | None] = (None, None),
) -> JoinOutcome:
    """Process deliveries, 0 to len(sides) - 1: `sides` has the side of each, some may be empty.

    A batch holds the deliveries of its own side; `gone` marks rows that remove their stream from
    the band joins and near joins. `rules` say how each feed's arrivals are ordered and judged;
    `registry` is the version in force; `newly` the band joins, and `near_newly` the near joins, by
    their rows, that came into force with it and since the step before. O(streams + n log n) for n
    tuples; pairs and changes cost nothing until they are requested.
    """
    _refuse_strangers(state, batches, index)
    _refuse_false_rows(batches, sides, gone)
    left, right = (
        accept(
            state.sides[side],
            batches[side],
            np.flatnonzero(sides == side),
            len(sides),
            rules[side],
            gone[side],
        )
        for side in (0, 1)
    )
    first = NEVER if state.watermark is None else state.watermark
    both = (
        left.watermarks if state.is_of_one_feed else np.minimum(left.watermarks, right.watermarks)
    )
    marks = np.append(first, both)
    after = LaneState(
        (
            _lived(state.sides[0], left, index, int(marks[-1]), registry),
            _lived(state.sides[1], right, index, int(marks[-1]), registry),
        )
    )
    turns = Turns.of(left.tuples, right.tuples)
    accepted = (left.tuples, right.tuples)
    done = LaneStep(
        before=state,
        after=after,
        accepted=accepted,
        turns=turns,
        marks=marks,
        index=index,
        registry=registry,
    )
    return JoinOutcome(done, (left, right), _distinct(newly), _distinct(near_newly))


def _distinct(rows: Int32s | Int64s | None) -> Int32s:
    return np.empty(0, np.int32) if rows is None else np.unique(rows).astype(np.int32)


def _lived(
    before: SideState, outcome: SideOutcome, index: LaneIndex, mark: int, registry: int
) -> SideState:
    """Add what was accepted to what lives, and drop what no window join can reach any more."""
    live = grown(before.live, outcome.tuples, before.accepted, registry)
    return replace(outcome.state, live=remaining(live, index, mark, outcome.state.accepted))


def _pieces(
    total: int, most: int, find: Callable[[int, int], Piece], count: Callable[[Piece], int]
) -> Iterator[Piece]:
    """Find the results in pieces: of a few first, then of as many as give about `most`."""
    begin, size = 0, min(most, FIRST_PIECE)
    while begin < total:
        end = min(begin + size, total)
        piece = find(begin, end)
        yield piece
        rate = max(count(piece), 1) / (end - begin)
        begin, size = end, max(1, min(int(most / rate), 4 * (end - begin)))


def _rows_of(register: Callable[[Int32s], Piece], newly: Int32s) -> Callable[[int, int], Piece]:
    return lambda begin, end: register(newly[begin:end])


def _changes(piece: BandPiece) -> int:
    return int(piece.changes.num_rows)


def _refuse_strangers(
    state: LaneState, batches: tuple[TupleBatch, TupleBatch], index: LaneIndex
) -> None:
    given = (batches[0].feed, batches[1].feed)
    of_index = (index.windows.left, index.windows.right)
    if not state.feeds == given == of_index:
        raise StateError(
            f"a step takes one lane; the state is of {lane_of(*state.feeds)}, the tuples of "
            f"{lane_of(*given)}, the queries of {index.lane}"
        )
    axes = (batches[0].axes, batches[1].axes)
    if not state.axes == axes == index.windows.axes:
        raise StateError(
            f"lane {index.lane}: the state has the axes {state.axes}, the tuples {axes}, "
            f"the queries {index.windows.axes}"
        )


def _refuse_false_rows(
    batches: tuple[TupleBatch, TupleBatch],
    sides: Int8s,
    gone: tuple[Bools | None, Bools | None],
) -> None:
    if ((sides != 0) & (sides != 1)).any():
        raise InputError("a delivery is of the side 0, the left one, or 1")
    if batches[0].feed == batches[1].feed and sides.any():
        raise InputError(f"'{batches[0].feed}' is joined with itself: its deliveries are of side 0")
    for side, (batch, marked) in enumerate(zip(batches, gone, strict=True)):
        if len(batch) and not 0 <= batch.delivery[-1] < len(sides):
            raise InputError(
                f"a tuple of delivery {batch.delivery[-1]}, expected 0 to {len(sides) - 1}"
            )
        for row in np.flatnonzero(sides[batch.delivery] != side)[:1]:
            raise InputError(
                f"feed '{batch.feed}' has a tuple of delivery {batch.delivery[row]}, which is of "
                "the other side"
            )
        if marked is not None and len(marked) != len(batch):
            raise InputError(f"{len(marked)} rows are marked gone or not, of {len(batch)}")
