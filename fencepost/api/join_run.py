"""The joins of two feeds, or of one, under evaluation: a delivery of theirs is a step.

Law: a join accepts what its feeds accept; what they reject is reported by them alone.
"""

from dataclasses import dataclass, field

import numpy as np

from fencepost.api.tables import ResultTables
from fencepost.joins.engine import step
from fencepost.joins.index import LaneIndex
from fencepost.joins.probe import Planes, Surroundings
from fencepost.joins.state import LaneState
from fencepost.order import OrderRules
from fencepost.queries.joins import JoinSets
from fencepost.tuples import Int32s, TupleBatch

PIECE = 1 << 20
"""Pairs, or changes, that are found at a time."""


@dataclass(eq=False)
class JoinRun:
    """The joins of two feeds, and their state and planes after the deliveries so far.

    `registry` is the version of the rules in force; `newly` the band joins and `near_newly` the
    near joins, by their rows, that came into force with it and since the last delivery.
    """

    index: LaneIndex
    state: LaneState
    registry: int = 0
    newly: Int32s = field(default_factory=lambda: np.empty(0, np.int32))
    near_newly: Int32s = field(default_factory=lambda: np.empty(0, np.int32))
    planes: Planes = field(init=False, repr=False)
    surroundings: Surroundings = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Sort the streams' current values for band joins, and place them for near joins."""
        self.planes = Planes(self.index, self.state)
        self.surroundings = Surroundings(self.index, self.state)

    @classmethod
    def of(cls, sets: JoinSets) -> "JoinRun":
        """Index the joins; nothing was ever seen."""
        feeds = (sets.windows.left, sets.windows.right)
        return cls(LaneIndex.build(sets), LaneState.empty(feeds, sets.windows.axes))

    def push(
        self, batch: TupleBatch, rules: tuple[OrderRules, OrderRules], results: ResultTables
    ) -> None:
        """Take a delivery, if it is of one of the two feeds; `rules` are those of both."""
        if batch.feed not in self.state.feeds:
            return
        side = self.state.feeds.index(batch.feed)
        left, right = (TupleBatch.empty(each.feed, each.axes) for each in self.state.sides)
        outcome = step(
            self.state,
            (batch, right) if side == 0 else (left, batch),
            np.array([side], np.int8),
            self.index,
            rules=rules,
            registry=self.registry,
            newly=self.newly,
            near_newly=self.near_newly,
        )
        self.state, self.newly = outcome.state, self.newly[:0]
        self.near_newly = self.near_newly[:0]
        for pairs in outcome.pair_pieces(PIECE):
            results.add_pairs(self.index.lane, pairs)
        for piece in outcome.band_pieces(PIECE, self.planes):
            results.add_band_changes(self.index.lane, piece.changes)
        for changes in outcome.near_pieces(PIECE, self.surroundings):
            results.add_near_changes(self.index.lane, changes)
