"""All that is built of the joins of a lane: the index of its window joins, its planes of bands.

Law: it holds queries and no tuples, so it serves every step until a registration; nothing depends
on how it was built.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fencepost.errors import StateError
from fencepost.joins.bands import BandPlane, StabbingPartition
from fencepost.joins.state import LaneState, SideState
from fencepost.joins.windows import Reach, WindowIndex
from fencepost.queries.joins import FOREVER, BandJoins, WindowJoins
from fencepost.tuples import Doubles, Int32s


class PlaneBands(NamedTuple):
    """The band joins over one axis of each side: their rows in the set, and their partition."""

    left_axis: int
    right_axis: int
    rows: Int32s
    bands: StabbingPartition

    def opened(self, state: LaneState) -> BandPlane:
        """Sort the streams' current values along both axes: O(m log m) for m of them."""
        left, right = state.sides
        return BandPlane.build(
            self.bands, _members(left, self.left_axis), _members(right, self.right_axis)
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class LaneIndex:
    """The joins of one ordered pair of feeds, ready for tuples.

    A tuple lives while it is within `reach`, if it came under the version `earliest` or later.
    """

    windows: WindowJoins
    bands: BandJoins
    window_index: WindowIndex
    reach: Reach
    earliest: int
    planes: tuple[PlaneBands, ...]

    @classmethod
    def build(
        cls, windows: WindowJoins, bands: BandJoins, whole: WindowJoins | None = None
    ) -> "LaneIndex":
        """Build all of it: O(q log q) for q queries.

        Where the window joins are a share of the lane's, `whole` are all of them: what lives after
        a step is what these need.
        """
        if (windows.lane, windows.axes) != (bands.lane, bands.axes):
            raise StateError(
                f"an index takes one lane; its window joins are of {windows.lane} over "
                f"{windows.axes}, its band joins of {bands.lane} over {bands.axes}"
            )
        axes = np.stack([bands.left_axis, bands.right_axis], axis=1)
        planes = []
        for left, right in np.unique(axes, axis=0).tolist():
            rows = np.flatnonzero((axes == (left, right)).all(axis=1)).astype(np.int32)
            partition = StabbingPartition.build(bands.low[rows], bands.high[rows])
            planes.append(PlaneBands(left, right, rows, partition))
        index = WindowIndex.build(windows)
        every = windows if whole is None else whole
        earliest = int(every.registered.min(initial=FOREVER))
        return cls(
            windows=windows,
            bands=bands,
            window_index=index,
            reach=Reach.of(every),
            earliest=earliest,
            planes=tuple(planes),
        )

    @property
    def lane(self) -> str:
        """The ordered pair of feeds."""
        return self.windows.lane


def _members(side: SideState, axis: int) -> tuple[Int32s, Doubles]:
    streams = side.members
    return streams, side.values[axis, streams]
