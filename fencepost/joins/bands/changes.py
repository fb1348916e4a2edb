"""What updates did to the results of band joins, and what those results are, as columns.

Law: a change is net: −1 for a pair in before the update and not after it, +1 for one in after and
not before. Order: by update, then −1 before +1, then by query, then by the other's stream.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from fencepost.matches.result import ProbeResult
from fencepost.tuples import Doubles, Int8s, Int32s, Int64s


class ChangeColumns(NamedTuple):
    """Where a kernel writes k changes; streams and values have a row for each side."""

    update: Int64s
    query: Int32s
    change: Int8s
    streams: Int32s
    values: Doubles

    @classmethod
    def empty(cls, k: int) -> Self:
        """Make room."""
        return cls(
            np.empty(k, np.int64),
            np.empty(k, np.int32),
            np.empty(k, np.int8),
            np.empty((2, k), np.int32),
            np.empty((2, k)),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class BandChanges:
    """k changes, 37 bytes each. Values are those with which the pair is in, or was."""

    updates: int  # how many there were
    update: Int64s
    query: Int32s
    change: Int8s
    left_stream: Int32s
    right_stream: Int32s
    left_value: Doubles
    right_value: Doubles

    def __len__(self) -> int:
        """How many changes."""
        return len(self.update)

    @classmethod
    def of(cls, updates: int, columns: ChangeColumns) -> Self:
        """Take the columns as they are."""
        return cls(
            updates=updates,
            update=columns.update,
            query=columns.query,
            change=columns.change,
            left_stream=columns.streams[0],
            right_stream=columns.streams[1],
            left_value=columns.values[0],
            right_value=columns.values[1],
        )

    def affected(self) -> ProbeResult:
        """Return the queries that each update changed, ascending, each once (Q2). O(k log k)."""
        keys = np.unique(self.update << 32 | self.query)
        ptr = np.searchsorted(keys >> 32, np.arange(self.updates + 1))
        return ProbeResult(ptr.astype(np.int64), keys.astype(np.int32))


@dataclass(frozen=True, eq=False)
class BandPairs:
    """k pairs that are in, by query, then left stream, then right stream. 28 bytes each."""

    query: Int32s
    left_stream: Int32s
    right_stream: Int32s
    left_value: Doubles
    right_value: Doubles

    def __len__(self) -> int:
        """How many pairs."""
        return len(self.query)
