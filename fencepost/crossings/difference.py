"""Crossings without a walk: the queries that hold each tuple, less those holding the one before.

Where steps are longer than boxes are wide, a walk passes more posts than there are boxes around
either end of the step (S1's cross-over at FL = W). Then it is cheaper to probe an index of S2's
kind for the queries that hold each place, and to compare neighbours; a place is probed once, as the
end of one step and the beginning of the next.

Law: the events are those of the walk, row for row.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fencepost.crossings.columns import ENTERED, Events
from fencepost.crossings.path import Path
from fencepost.crossings.twins import together
from fencepost.crossings.walk import Ranking
from fencepost.matches.matcher import Matcher, ProbeInput
from fencepost.matches.result import ProbeResult
from fencepost.queries import QuerySet
from fencepost.times import ALWAYS_FROM, ALWAYS_TO
from fencepost.tuples import Bools, Int32s, Int64s

AT_ONCE = 1 << 18  # results at a time: what is compared stays in the cache
SHORTEST, LONGEST = 256, 1 << 16  # places in a stretch
COMPILE_FROM = 50_000  # places from which the compiled comparison is worth loading
NOWHERE = -2


@dataclass(frozen=True, eq=False, kw_only=True)
class Difference:
    """The difference along a path, in the place of a walk: it leaves no pointers behind."""

    matcher: Matcher
    path: Path
    holders: float  # how many queries are expected to hold at a place
    fast: bool | None
    threads: int
    rankings: tuple[Ranking, ...] = ()

    @cached_property
    def events(self) -> Events:
        """Who crossed what: the place, the query's row in the set, ENTERED or its opposite.

        O(results of a probe at every place), in stretches of the path.
        """
        path, queries = self.path, self.matcher.queries
        if not len(path):
            return together([])
        run = np.repeat(np.arange(len(path.stream), dtype=np.int32), np.diff(path.starts))
        compiled = len(path) >= COMPILE_FROM if self.fast is None else self.fast
        compare = _Compiled(len(queries)) if compiled else differing
        found, begin, most, rate = [], 0, SHORTEST * 16, self.holders
        while begin < len(path):
            end = min(begin + _stretch(rate, most), len(path))
            at = begin - int(begin > 0 and run[begin] == run[begin - 1])
            mine = run[at:end]  # the last place before, too, if it is of the same run
            first = np.append(True, mine[1:] != mine[:-1])
            holders = self._holding(at, end, mine)
            found.append(compare(holders, first, at))
            # A crowded place shows when it is met: stretches only grow step by step.
            rate, most, begin = len(holders.ids) / len(holders), 4 * (end - begin), end
        found.append(self._sighted())
        return in_force(together(found), path.ts, queries)

    def _holding(self, begin: int, end: int, run: Int32s) -> ProbeResult:
        """Find the queries whose boxes hold each place of a stretch, valid at that time or not."""
        path = self.path
        points = np.ascontiguousarray(path.values[:, begin:end])
        probe = ProbeInput(points, path.names, path.stream[run], None)
        return self.matcher.probe(probe, self.threads)

    def _sighted(self) -> Events:
        """Report the queries with `on_first: enter` that hold a stream's first tuple."""
        path, queries = self.path, self.matcher.queries
        runs = np.flatnonzero(path.fresh)
        if not len(runs) or not queries.enters_on_first.any():
            return together([])
        places = path.starts[runs]
        points = np.ascontiguousarray(path.values[:, places])
        holders = self.matcher.probe(ProbeInput(points, path.names, path.stream[runs], None))
        wanted = queries.enters_on_first[holders.ids]
        ids, at = holders.ids[wanted], places[holders.points[wanted]]
        return Events(at.astype(np.int32), ids, np.full(len(ids), ENTERED, np.int8))


def _stretch(rate: float, most: int) -> int:
    """Say how many places to probe together, where `rate` hold at each."""
    return max(SHORTEST, min(int(AT_ONCE / max(rate, 1.0)), most, LONGEST))


def in_force(events: Events, ts: Int64s, queries: QuerySet) -> Events:
    """Keep the events of queries that are valid at the tuple that crossed."""
    begins, ends = queries.valid_from, queries.valid_to
    if (begins == ALWAYS_FROM).all() and (ends == ALWAYS_TO).all():
        return events
    at = ts[events.place]
    kept: Bools = (begins[events.query] <= at) & (at < ends[events.query])
    return Events(events.place[kept], events.query[kept], events.type[kept])


def differing(holders: ProbeResult, first: Bools, at: int) -> Events:
    """Compare each place with the one before, unless it is the first of its run: the twin.

    The first of the places is `at` on the path.
    """
    place, many = holders.points, int(holders.ids.max(initial=0)) + 1
    now = place * many + holders.ids
    begins, ends = first[place], np.append(first[1:], True)[place]
    came = ~np.isin(now - many, now, assume_unique=True) & ~begins
    left = ~np.isin(now + many, now, assume_unique=True) & ~ends
    return Events(
        np.concatenate([place[came] + at, place[left] + 1 + at]).astype(np.int32),
        np.concatenate([holders.ids[came], holders.ids[left]]),
        np.repeat(np.array([ENTERED, -ENTERED], np.int8), [came.sum(), left.sum()]),
    )


class _Compiled:
    """The same by the kernel: its arrays are used again for every stretch."""

    def __init__(self, queries: int) -> None:
        self.seen = np.full(queries, NOWHERE, np.int32)
        self.room = _room(0)

    def __call__(self, holders: ProbeResult, first: Bools, at: int) -> Events:
        from fencepost.crossings import kernels

        if len(self.room.place) <= 2 * len(holders.ids):
            self.room = _room(3 * len(holders.ids))
        used = kernels.changes(holders.ptr, holders.ids, first, at, self.seen, self.room)
        return Events(*(column[:used].copy() for column in self.room))  # type: ignore[arg-type]


def _room(many: int) -> Events:
    return Events(
        np.empty(many + 1, np.int32), np.empty(many + 1, np.int32), np.empty(many + 1, np.int8)
    )
