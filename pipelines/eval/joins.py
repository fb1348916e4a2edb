"""The joins of an evaluation: each delivery of a feed is a step of every lane with this feed.

Law: a lane accepts what its feeds accept; what they reject is reported by them alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fencepost.joins.engine import step
from fencepost.joins.index import LaneIndex
from fencepost.joins.probe import Planes
from fencepost.joins.state import LaneState
from fencepost.queries.joins import BandJoins, WindowJoins
from fencepost.tuples import TupleBatch
from pipelines.eval.results import Results

PIECE = 1 << 20
"""Pairs, or changes, that are built at a time."""


@dataclass(eq=False)
class Lane:
    """The joins of two feeds, and their state and planes after the deliveries so far."""

    index: LaneIndex
    state: LaneState
    planes: Planes

    @classmethod
    def of(cls, windows: WindowJoins, bands: BandJoins) -> "Lane":
        """Begin with nothing."""
        feeds = (windows.left, windows.right)
        index, state = LaneIndex.build(windows, bands), LaneState.empty(feeds, windows.axes)
        return cls(index, state, Planes(index, state))

    def add(self, batch: TupleBatch, lateness: int, results: Results) -> None:
        """Evaluate a delivery, if it is of one of the two feeds."""
        if batch.feed not in self.state.feeds:
            return
        side = self.state.feeds.index(batch.feed)
        left, right = (TupleBatch.empty(each.feed, each.axes) for each in self.state.sides)
        outcome = step(
            self.state,
            (batch, right) if side == 0 else (left, batch),
            np.array([side], np.int8),
            self.index,
            lateness=(lateness, lateness),
        )
        self.state = outcome.state
        for pairs in outcome.pair_pieces(PIECE):
            results.add_pairs(self.index.lane, pairs)
        for piece in outcome.band_pieces(PIECE, self.planes):
            results.add_band_changes(self.index.lane, piece.changes)


def lanes_of(joins: Mapping[str, tuple[WindowJoins, BandJoins]]) -> list[Lane]:
    """Build every lane that has joins."""
    return [Lane.of(windows, bands) for windows, bands in joins.values()]
