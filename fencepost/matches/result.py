"""What a probe finds: for each point the numbers of the boxes, or queries, that hold it.

Law: a number appears once at a point. The order of those of a point is the index's own business;
`in_order` gives the order that all agree on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fencepost.tuples import Int32s, Int64s

Finder = Callable[[Int64s, Int32s, int], int]
"""Of (ptr, room, first point): fills ptr[first + 1:] and the room from ptr[first] on, stops before
the first point whose candidates might not fit, and returns it."""

FEWEST = 1024


@dataclass(frozen=True, eq=False)
class ProbeResult:
    """Those of point i are ids[ptr[i]:ptr[i + 1]]: CSR, 8 bytes a point and 4 a result."""

    ptr: Int64s
    ids: Int32s

    @classmethod
    def nothing(cls, points: int) -> "ProbeResult":
        """No box holds any of the points."""
        return cls(np.zeros(points + 1, np.int64), np.empty(0, np.int32))

    def __len__(self) -> int:
        return len(self.ptr) - 1

    @property
    def counts(self) -> Int64s:
        """How many hold each point."""
        return np.diff(self.ptr)

    @property
    def points(self) -> Int64s:
        """The point of each result: int64, 8 bytes a result, computed at each call."""
        return np.repeat(np.arange(len(self)), self.counts)

    def at(self, point: int) -> Int32s:
        """The numbers of those that hold a point."""
        return self.ids[self.ptr[point] : self.ptr[point + 1]]

    def in_order(self) -> "ProbeResult":
        """The same, ascending at each point. O(n log n) over the results."""
        return ProbeResult(self.ptr, self.ids[np.lexsort((self.ids, self.points))])

    @classmethod
    def together(cls, parts: Sequence["ProbeResult"]) -> "ProbeResult":
        """Concatenate the results of some points, then of others."""
        if len(parts) == 1:
            return parts[0]
        counts = [np.zeros(1, np.int64), *(part.counts for part in parts)]
        ids = [np.empty(0, np.int32), *(part.ids for part in parts)]
        return cls(np.cumsum(np.concatenate(counts)), np.concatenate(ids))

    @classmethod
    def beside(cls, parts: Sequence["ProbeResult"]) -> "ProbeResult":
        """Merge what several indexes found for the same points."""
        some = [part for part in parts if len(part.ids)]
        if len(some) < 2:
            return some[0] if some else parts[0]
        ptr = np.sum([part.ptr for part in some], axis=0)
        ids = np.empty(ptr[-1], np.int32)
        begin = ptr[:-1].copy()
        for part in some:
            place = np.repeat(begin - part.ptr[:-1], part.counts) + np.arange(len(part.ids))
            ids[place] = part.ids
            begin += part.counts
        return cls(ptr, ids)


def gathered(points: int, find: Finder, guess: float = 4.0) -> ProbeResult:
    """Let a kernel find the results of points in one pass, in room that grows as it must.

    `guess` is how many results a point may have. NumPy's arrays, not a kernel's own: large ones
    come in huge pages, and pages that nothing is written to cost nothing.
    """
    ptr = np.zeros(points + 1, np.int64)
    room = np.empty(int(guess * points) + FEWEST, np.int32)
    first = 0
    while True:
        first = find(ptr, room, first)
        used = int(ptr[first])
        if first == points:
            return ProbeResult(ptr, room[:used])
        rate = used / first if first else 0.0
        grown = np.empty(max(2 * len(room), int(used + 1.2 * rate * (points - first))), np.int32)
        grown[:used] = room[:used]
        room = grown
