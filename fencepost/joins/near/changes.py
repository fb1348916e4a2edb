"""What updates did to the results of near joins, and what those results are, as columns.

Law: a change is net: −1 for a pair in before the update and not after it, +1 for one in after and
not before. Order: by update. Of one feed the one that moved stands left.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from fencepost.tuples import Bools, Doubles, Int8s, Int32s, Int64s


class NearRoom(NamedTuple):
    """Where a kernel writes k changes or pairs: 57 bytes each."""

    update: Int64s
    row: Int32s
    change: Int8s
    left: Int32s
    right: Int32s
    left_at: Doubles  # [axis, change]
    right_at: Doubles
    distance: Doubles

    @classmethod
    def empty(cls, k: int) -> Self:
        """Make room."""
        return cls(
            np.empty(k, np.int64),
            np.empty(k, np.int32),
            np.empty(k, np.int8),
            np.empty(k, np.int32),
            np.empty(k, np.int32),
            np.empty((2, k)),
            np.empty((2, k)),
            np.empty(k),
        )

    def grown(self, k: int, used: int) -> Self:
        """Make more room, and keep what is used."""
        larger = self.empty(k)
        columns: Iterable[tuple[np.ndarray, np.ndarray]] = zip(larger, self, strict=True)
        for new, old in columns:
            new[..., :used] = old[..., :used]
        return larger


@dataclass(frozen=True, eq=False, kw_only=True)
class NearPairs:
    """k pairs that are in, 48 bytes each; positions are (x, y)."""

    row: Int32s
    left: Int32s
    right: Int32s
    left_at: Doubles  # [axis, pair]
    right_at: Doubles
    distance: Doubles

    def __len__(self) -> int:
        """How many pairs."""
        return len(self.row)

    @classmethod
    def of(cls, room: NearRoom, used: int) -> Self:
        """Take what a kernel wrote."""
        return cls(
            row=room.row[:used],
            left=room.left[:used],
            right=room.right[:used],
            left_at=room.left_at[:, :used],
            right_at=room.right_at[:, :used],
            distance=room.distance[:used],
        )

    def take(self, rows: Bools) -> "NearPairs":
        """Give some of them."""
        return NearPairs(
            row=self.row[rows],
            left=self.left[rows],
            right=self.right[rows],
            left_at=self.left_at[:, rows],
            right_at=self.right_at[:, rows],
            distance=self.distance[rows],
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class NearChanges:
    """k changes, 57 bytes each: the pair with its positions and distance while it is in, or was."""

    update: Int64s
    change: Int8s
    pairs: NearPairs

    def __len__(self) -> int:
        """How many changes."""
        return len(self.update)
