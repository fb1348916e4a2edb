"""DiffRMQ (S1 §7): the matches at the previous value and the current one, and the difference.

S1 leaves open whether the previous set is looked up again (its footnote 3) or kept for each stream
(§7.1.4). Both are here; the quicker is the rival.

Law: the same events as the walk's, in any order within a step.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.baselines.diff_rmq import kernels
from fencepost.crossings.columns import Events
from fencepost.crossings.path import Path
from fencepost.matches import BoxIndex, ProbeResult
from fencepost.tuples import Int64s

AT_ONCE = 8_192
"""Places of a path looked up together: what they match stays in the processor's cache."""


@dataclass(frozen=True)
class DiffRmq:
    """An index of matches, probed once or twice a tuple.

    crossings  two probes a tuple, or one where the previous set is kept; O(matches of both)
    """

    index: BoxIndex
    kept: bool

    def crossings(self, path: Path) -> Events:
        """Find the events of a path: places, queries, types."""
        seen = np.zeros(len(self.index.boxes), np.int64)
        parts = [self._some(path, at, seen) for at in range(0, len(path), AT_ONCE)]
        return Events(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def matched(self, path: Path) -> int:
        """Count the matches that a tuple's two sets have: S1's intermediate result."""
        found = (
            self.index.probe(path.values[:, k : k + AT_ONCE]) for k in range(0, len(path), AT_ONCE)
        )
        counts = np.concatenate([part.counts for part in found])
        to = _steps(path, 0, len(path))
        return int(counts[to].sum() + counts[to - 1].sum())

    def _some(self, path: Path, begin: int, seen: Int64s) -> Events:
        """Find the events of the steps that end at some places."""
        to = _steps(path, begin, min(begin + AT_ONCE, len(path)))
        if self.kept:
            first = max(begin - 1, 0)  # one set is found again for each piece: one in 8,192
            before = now = self.index.probe(
                np.ascontiguousarray(path.values[:, first : begin + AT_ONCE])
            )
            events = difference(before, to - 1 - first, now, to - first, seen)
        else:
            before, now = (
                self.index.probe(np.ascontiguousarray(path.values[:, at])) for at in (to - 1, to)
            )
            steps = np.arange(len(to))
            events = difference(before, steps, now, steps, seen)
        seen[:] = 0
        return events._replace(place=to[events.place].astype(np.int32))


def difference(
    before: ProbeResult, old: Int64s, now: ProbeResult, new: Int64s, seen: Int64s
) -> Events:
    """Give the events of steps from set `old[s]` to set `new[s]`; `place` is the step."""
    room = 4 * len(old) + 1024
    place, query, kind = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int8)
    step = used = 0
    while True:
        rest = before.ptr, before.ids, new, now.ptr, now.ids, step, seen
        step, used = kernels.subtract(old, *rest, place, query, kind, used)
        if step == len(old):
            return Events(place[:used], query[:used], kind[:used])
        most = int(before.counts.max() + now.counts.max())
        grown = [np.empty(2 * len(place) + most, c.dtype) for c in (place, query, kind)]
        for column, more in zip((place, query, kind), grown, strict=True):
            more[:used] = column[:used]
        place, query, kind = grown


def _steps(path: Path, begin: int, end: int) -> Int64s:
    """Give the places from `begin` to `end` that a step leads to: all but the first of each run."""
    leads = np.ones(end - begin, np.bool_)
    heads = path.starts[:-1]
    leads[heads[(heads >= begin) & (heads < end)] - begin] = False
    return begin + np.flatnonzero(leads)
