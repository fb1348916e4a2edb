"""Crossings without a walk: who holds each tuple, less who held the one before.

Where steps are longer than boxes are wide, a walk passes more posts than there are boxes around
either end of the step (S1's cross-over at FL = W). Then it is cheaper to ask an index of S2's kind
for those who hold at each place, and to compare neighbours; a place is asked once, as the end of
one step and the beginning of the next.

Law: the events are those of the walk, row for row.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fencepost.crossings.columns import ENTERED, Events
from fencepost.crossings.path import Path
from fencepost.crossings.twins import together
from fencepost.crossings.walk import Standing
from fencepost.matches.found import Found
from fencepost.matches.matcher import Asked, Matcher
from fencepost.queries import QuerySet
from fencepost.tuples import Bools, Int32s, Int64s

AT_ONCE = 1 << 23  # results held in memory at a time
SHORTEST, LONGEST = 1024, 1 << 20  # places in a stretch
COMPILE_FROM = 50_000  # results from which the compiled comparison is worth loading
NOWHERE = -2


@dataclass(frozen=True, eq=False)
class Difference:
    """The difference along a path, in the place of a walk: it leaves no pointers behind."""

    matcher: Matcher
    path: Path
    held: float  # how many queries are expected to hold at a place
    fast: bool | None
    threads: int
    standings: tuple[Standing, ...] = ()

    @cached_property
    def events(self) -> Events:
        """Who crossed what: the place, the query's row in the set, ENTERED or its opposite.

        O(results of a probe at every place), in stretches of the path.
        """
        path = self.path
        if not len(path):
            return together([])
        per = int(np.clip(AT_ONCE / max(self.held, 1.0), SHORTEST, LONGEST))
        run = np.repeat(np.arange(len(path.stream), dtype=np.int32), np.diff(path.starts))
        found = [
            self._between(run, at, min(at + per, len(path))) for at in range(0, len(path), per)
        ]
        return in_force(together([*found, self._sighted()]), path.ts, self.matcher.queries)

    def _between(self, run: Int32s, begin: int, end: int) -> Events:
        """Compare the places of a stretch, the first one with the last before it, if of its run."""
        path = self.path
        at = begin - int(begin > 0 and run[begin] == run[begin - 1])
        mine = run[at:end]
        points = np.ascontiguousarray(path.values[:, at:end])
        held = self.matcher.probe(Asked(points, path.names, path.stream[mine], None), self.threads)
        first = np.append(True, mine[1:] != mine[:-1])
        compiled = len(held.ids) >= COMPILE_FROM if self.fast is None else self.fast
        changes = (_compiled if compiled else differing)(held, first, len(self.matcher))
        return Events(changes.place + np.int32(at), changes.query, changes.type)

    def _sighted(self) -> Events:
        """Report who wants the first sight of a stream and holds it."""
        path, queries = self.path, self.matcher.queries
        runs = np.flatnonzero(path.fresh)
        if not len(runs) or not queries.enters_on_first.any():
            return together([])
        places = path.starts[runs]
        points = np.ascontiguousarray(path.values[:, places])
        held = self.matcher.probe(Asked(points, path.names, path.stream[runs], None))
        wanted = queries.enters_on_first[held.ids]
        ids, at = held.ids[wanted], places[held.points[wanted]]
        return Events(at.astype(np.int32), ids, np.full(len(ids), ENTERED, np.int8))


def in_force(events: Events, ts: Int64s, queries: QuerySet) -> Events:
    """Keep the events of queries that are valid at the tuple that crossed."""
    at = ts[events.place]
    kept: Bools = (queries.valid_from[events.query] <= at) & (at < queries.valid_to[events.query])
    if kept.all():
        return events
    return Events(events.place[kept], events.query[kept], events.type[kept])


def differing(held: Found, first: Bools, queries: int) -> Events:
    """Compare each place with the one before, unless it is the first of its run: the twin."""
    place = held.points
    now = place * queries + held.ids
    begins, ends = first[place], np.append(first[1:], True)[place]
    came = ~np.isin(now - queries, now, assume_unique=True) & ~begins
    left = ~np.isin(now + queries, now, assume_unique=True) & ~ends
    return Events(
        np.concatenate([place[came], place[left] + 1]).astype(np.int32),
        np.concatenate([held.ids[came], held.ids[left]]),
        np.repeat(np.array([ENTERED, -ENTERED], np.int8), [came.sum(), left.sum()]),
    )


def _compiled(held: Found, first: Bools, queries: int) -> Events:
    from fencepost.crossings import kernels

    many = 2 * len(held.ids) + 1
    room = Events(np.empty(many, np.int32), np.empty(many, np.int32), np.empty(many, np.int8))
    seen = np.full(queries, NOWHERE, np.int32)
    used = kernels.changes(held.ptr, held.ids, first, seen, room)
    return Events(room.place[:used], room.query[:used], room.type[:used])
