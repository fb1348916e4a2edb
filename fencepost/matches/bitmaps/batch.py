"""Many points at once: block by block for as many points as the results fit beside.

Law: what is found is what each point alone would find. Points are probed in shares; the results of
a share come block by block first, and are then gathered point by point.
"""

from collections.abc import Callable

import numpy as np

from fencepost.matches.bitmaps import kernels
from fencepost.matches.bitmaps.kernels import SPILL, BitmapProbe, BitmapScratch, BitmapTable
from fencepost.matches.gather_kernels import gather
from fencepost.matches.result import ProbeResult, gathered
from fencepost.tuples import Doubles, Int32s, Int64s

SHARE = 1 << 14  # points of a share at most; more of them would not stay in the cache themselves
RESULTS = 1 << 24  # what a share is meant to find
MOST = 1 << 25  # where it is broken off, and a smaller one tried
LEAST = 64


class Batch:
    """One probe of many points: the share in hand, and room for what it finds."""

    def __init__(
        self,
        table: BitmapTable,
        blocks: int,
        scratch: BitmapScratch,
        points: Doubles,
        locate: Callable[[Doubles], BitmapProbe],
    ) -> None:
        """Prepare to probe the index with points[d, n], n > 0."""
        self.table, self.blocks, self.scratch = table, blocks, scratch
        self.points, self.locate = points, locate
        self.many = points.shape[1]
        self.share = SHARE
        self.start = self.stop = self.results = self.slices = 0
        self.room = np.empty((1 << 16) + SPILL, np.int32)
        self.whose = np.empty(1 << 14, np.int32)
        self.sizes = np.empty(1 << 14, np.int32)

    def found(self, rate: float) -> ProbeResult:
        """Probe share by share, about `rate` results a point; each result is copied once more."""
        self.share = _whole(RESULTS / (rate + 1))
        self._take(0)
        return gathered(self.many, self._find, 1.1 * self.results / self.stop + 1)

    def _find(self, ptr: Int64s, room: Int32s, start: int) -> int:
        while start < self.many:
            if start == self.stop:
                self._take(start)
            if ptr[start] + self.results > len(room):
                return start
            mine = ptr[start : self.stop + 1]
            gather(self.room, self.whose, self.sizes, self.slices, mine, room)
            start = self.stop
        return start

    def _take(self, start: int) -> None:
        """Find all there is for the share from `start` on, smaller if that were too much."""
        while True:
            stop = min(self.many, start + self.share)
            probe = self.locate(np.ascontiguousarray(self.points[:, start:stop]))
            done = self._all_blocks(probe)
            if done == self.blocks:
                break
            self.share = _whole(self.share * 0.7 * done / self.blocks)
        self.start, self.stop = start, stop
        self.share = _whole(RESULTS * (stop - start) / (self.results + 1))

    def _all_blocks(self, probe: BitmapProbe) -> int:
        """Go through the blocks, in room that grows; return how many were done."""
        state = np.zeros(4, np.int64)
        while True:
            kernels.by_block(
                self.table,
                probe,
                self.scratch,
                self.blocks,
                state,
                self.room,
                self.whose,
                self.sizes,
            )
            self.results, self.slices = int(state[2]), int(state[3])
            if state[0] == self.blocks:
                return self.blocks
            if self.slices == len(self.whose):
                self.whose, self.sizes = _doubled(self.whose), _doubled(self.sizes)
            elif self.results > MOST and probe.many > LEAST:
                return int(state[0])
            else:
                self.room = _doubled(self.room)


def _doubled(room: Int32s) -> Int32s:
    grown = np.empty(2 * len(room), np.int32)
    grown[: len(room)] = room
    return grown


def _whole(points: float) -> int:
    """Whole sixty-fours of points, as they are tested; not none, and not too many."""
    return max(LEAST, min(SHARE, int(points))) // 64 * 64
