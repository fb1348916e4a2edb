"""All that is built of the joins of a lane: the index of its window joins, its planes.

Law: it holds queries and no tuples, so it serves every step until a registration; nothing depends
on how it was built.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fencepost.errors import StateError
from fencepost.joins.bands import BandPlane, StabbingPartition
from fencepost.joins.near import JoinCover, NearPlane
from fencepost.joins.state import LaneState, SideState
from fencepost.joins.windows import Reach, WindowIndex
from fencepost.queries.joins import FOREVER, BandJoins, JoinSets, NearJoins, WindowJoins
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


class PlaneNears(NamedTuple):
    """Near joins over the same positions, with distances within a factor of two."""

    left: tuple[int, int]
    right: tuple[int, int]
    earth: bool
    rows: Int32s

    def cover(self, nears: NearJoins, state: LaneState) -> JoinCover:
        """Compile the joins for the streams of a state."""
        left, right = state.sides
        return JoinCover.over(nears, self.rows, left.names, right.names)

    def opened(self, nears: NearJoins, state: LaneState) -> NearPlane:
        """Put the streams' current positions into cells: O(m) for m of them."""
        places = (_places(side, axes) for side, axes in zip(state.sides, self[:2], strict=True))
        left, right = places
        return NearPlane.build(self.cover(nears, state), earth=self.earth, left=left, right=right)


@dataclass(frozen=True, eq=False, kw_only=True)
class LaneIndex:
    """The joins of one ordered pair of feeds, ready for tuples.

    A tuple lives while it is within `reach`, if it came under the version `earliest` or later.
    """

    windows: WindowJoins
    bands: BandJoins
    nears: NearJoins
    window_index: WindowIndex
    reach: Reach
    earliest: int
    planes: tuple[PlaneBands, ...]
    near_planes: tuple[PlaneNears, ...]

    @classmethod
    def build(cls, sets: JoinSets, whole: WindowJoins | None = None) -> "LaneIndex":
        """Build all of it: O(q log q) for q queries.

        Where the window joins are a share of the lane's, `whole` are all of them: what lives after
        a step is what these need.
        """
        windows, bands, nears = sets
        for other, noun in ((bands, "band"), (nears, "near")):
            if (windows.lane, windows.axes) != (other.lane, other.axes):
                raise StateError(
                    f"an index takes one lane; its window joins are of {windows.lane} over "
                    f"{windows.axes}, its {noun} joins of {other.lane} over {other.axes}"
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
            nears=nears,
            window_index=index,
            reach=Reach.of(every),
            earliest=earliest,
            planes=tuple(planes),
            near_planes=_near_planes(nears),
        )

    @property
    def lane(self) -> str:
        """The ordered pair of feeds."""
        return self.windows.lane


def _members(side: SideState, axis: int) -> tuple[Int32s, Doubles]:
    streams = side.members
    return streams, side.values[axis, streams]


def _near_planes(nears: NearJoins) -> tuple[PlaneNears, ...]:
    """Part near joins by the positions they join, and by how far they reach."""
    if not len(nears):
        return ()
    octave = np.frexp(nears.distance)[1].astype(np.int32)
    alike = np.column_stack([nears.position, nears.earth, octave])
    kinds, kind = np.unique(alike, axis=0, return_inverse=True)
    planes = []
    for number, (x, y, u, v, earth, _) in enumerate(kinds.tolist()):
        rows = np.flatnonzero(kind.ravel() == number).astype(np.int32)
        planes.append(PlaneNears((x, y), (u, v), bool(earth), rows))
    return tuple(planes)


def _places(side: SideState, axes: tuple[int, int]) -> tuple[Int32s, Doubles, Doubles]:
    streams, (x, y) = side.members, axes
    return streams, side.values[x, streams], side.values[y, streams]
