"""What leaps were found along a path."""

from dataclasses import dataclass

import numpy as np

from fencepost.arrays import Doubles, Int32s, Int64s


@dataclass(frozen=True, eq=False)
class Leaps:
    """k leaps: at which place of the path they ended, through which query, and when.

    `enter` and `leave` are shares of the way from the tuple before: where it first was inside, and
    where last.
    """

    place: Int64s
    query: Int32s
    enter: Doubles
    leave: Doubles

    @classmethod
    def none(cls) -> "Leaps":
        """Return none."""
        nowhere = np.empty(0)
        return cls(np.empty(0, np.int64), np.empty(0, np.int32), nowhere, nowhere)

    def __len__(self) -> int:
        return len(self.place)
