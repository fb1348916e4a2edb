"""Streams that have moved and are not in their new place yet, and how far each may go unnoticed.

While one side moves only the other is searched. So a stream that moves is queued, and put in its
place among the entries when the other side's turn comes: once, however often it moved meanwhile.
And as long as the other side does not move, a stream that no bound is near may move within a
stretch without a look at the groups.

Law: a side whose queue is empty has its entries where `now` says. Strictly between lo and hi of a
stream whose stamp is the other side's version, and of these bands, no move changes a pair.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fencepost.tuples import Doubles, Int32s, Int64s


class Moves(NamedTuple):
    """37 bytes a stream of either side."""

    listed: Doubles  # [side, stream]: its value among the entries; NaN: it is not there
    is_queued: npt.NDArray[np.bool_]  # [side, stream]
    queue: Int32s  # [side, place]
    queued: Int64s  # [side]
    lo: Doubles  # [side, stream]
    hi: Doubles
    stamp: Int64s  # [side, stream]
    version: Int64s  # [side]: rises whenever its entries change

    @classmethod
    def of(cls, now: Doubles) -> "Moves":
        """Nothing is queued, and nothing known of how far a stream may go."""
        shape = now.shape
        return cls(
            listed=now.copy(),
            is_queued=np.zeros(shape, np.bool_),
            queue=np.zeros(shape, np.int32),
            queued=np.zeros(2, np.int64),
            lo=np.zeros(shape),
            hi=np.zeros(shape),
            stamp=np.full(shape, -1, np.int64),
            version=np.zeros(2, np.int64),
        )
