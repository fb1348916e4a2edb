"""The walk of all streams past the posts, in two passes.

The first pass finds where every tuple is: for each plain list two ranks, a few integers
whatever the number of queries. Counting needs no more than those. The second pass expands them to
events, into arrays of exactly the right length; it is skipped where only counts are wanted.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from fencepost.arrow import codes_in
from fencepost.crossings import region_twins, twins
from fencepost.crossings.columns import Events, Posts, Stripes
from fencepost.crossings.index import BorderIndex
from fencepost.crossings.layer import Layer, as_posts
from fencepost.crossings.path import Path
from fencepost.crossings.posts import PostList
from fencepost.crossings.region_queries import RegionQueries
from fencepost.crossings.state import UNKNOWN
from fencepost.parallel import in_parallel
from fencepost.queries.slots import REMOVED
from fencepost.tuples import Int32s

WHOLE = Stripes(0, 0.0, 1.0, 1)
COMPILE_FROM = 5_000  # places from which the compiled kernels are worth loading


@dataclass(frozen=True)
class Ranking:
    """Where every place is in one plain list: the first pass's answer.

    A step passes the posts between two of them.
    """

    layer: int
    posts: PostList
    segment: Int32s | None  # [run] for lists of named streams
    begun: Int32s  # [place]
    ended: Int32s


@dataclass(frozen=True)
class Suspect:
    """One checked list that some runs have to do with.

    There is nothing to know of it before its candidates are met.
    """

    layer: Layer
    posts: PostList
    stripes: Stripes
    segment: Int32s  # [run]


@dataclass(frozen=True)
class Shaped:
    """The queries with a region that some runs have to do with, found as the cells are walked."""

    layer: Layer
    queries: RegionQueries
    segment: Int32s  # [run]


@dataclass(frozen=True, eq=False, kw_only=True)
class Walk:
    """A path walked past an index. `standings` is the first pass; `events` is the second."""

    index: BorderIndex
    path: Path
    rankings: tuple[Ranking, ...]
    suspects: tuple[Suspect, ...]
    shaped: tuple[Shaped, ...]
    fast: bool
    threads: int

    @property
    def passed(self) -> int:
        """How many posts of plain lists were passed, in O(places)."""
        total = 0
        _, c = twins.pairs(self.path.steps)
        for s in self.rankings:
            total += int(np.abs(s.begun[c] - s.begun[c - 1]).sum(dtype=np.int64))
            total += int(np.abs(s.ended[c] - s.ended[c - 1]).sum(dtype=np.int64))
        return total

    @cached_property
    def events(self) -> Events:
        """Who crossed what: the place, the query's row in the set, ENTERED or its opposite."""
        if self.fast:
            from fencepost.crossings import expand

            found = expand.events(self)
        else:
            found = self._twin_events()
        row_of = self.index.row_of
        if row_of is not None:
            row = row_of[found.query]
            kept = row != REMOVED
            found = Events(found.place, row, found.type)
            if not kept.all():
                found = Events(*(column[kept] for column in found))
        return self._watched(found)

    def _watched(self, found: Events) -> Events:
        """Keep the events of streams that their queries watch, where these have patterns."""
        patterns, path = self.index.queries.patterns, self.path
        if patterns is None:
            return found
        run = np.searchsorted(path.starts, found.place, side="right") - 1
        kept = patterns.kept(found.query, path.stream[run], path.names)
        return found if kept is None else Events(*(column[kept] for column in found))  # type: ignore[arg-type]

    def _twin_events(self) -> Events:
        steps = self.path.steps
        found = [twins.crossings(as_posts(s.posts), steps, s.begun, s.ended) for s in self.rankings]
        found += [
            twins.confirm(as_posts(s.posts), s.stripes, s.layer.boxes, steps, s.segment)[0]
            for s in self.suspects
        ]
        found += [
            region_twins.cross(s.queries, s.layer.boxes, steps, s.segment, self.path.fresh)
            for s in self.shaped
        ]
        places = self.path.starts[:-1][self.path.fresh]
        for layer in self.index.layers:
            if layer.sighted and len(places):
                candidates = layer.sighted.begins.astype(np.int64)
                found.append(twins.first_sight(layer.boxes, candidates, steps, places))
                found.append(named_first_sight(layer, self.path))
        return twins.together(found)


def walk(index: BorderIndex, path: Path, *, fast: bool | None = None, threads: int = 1) -> Walk:
    """Make the first pass.

    `fast` chooses the compiled kernels or their NumPy twins, None by the size of the work.
    """
    compiled = len(path) >= COMPILE_FROM if fast is None else fast
    rankings: list[Ranking] = []
    suspects: list[Suspect] = []
    shaped: list[Shaped] = []
    for number, layer in enumerate(index.layers):
        for posts in layer.plain:
            begun, ended = _ranks(posts, path, number == 0, compiled, threads)
            rankings.append(Ranking(number, posts, None, begun, ended))
        if len(layer.names):
            own = codes_in(path.names, layer.names)[path.stream]
            if (own >= 0).any():
                for posts in layer.plain_named:
                    begun, ended = _ranks_within(posts, path, own, compiled, threads)
                    rankings.append(Ranking(number, posts, own, begun, ended))
                suspects += [Suspect(layer, posts, WHOLE, own) for posts in layer.checked_named]
                shaped += [Shaped(layer, layer.shaped_named, own)] if layer.shaped_named else []
        if not layer.checked and not layer.shaped:
            continue
        everyone = np.zeros(len(path.stream), np.int32)
        suspects += [Suspect(layer, s.posts, s.stripes, everyone) for s in layer.checked]
        shaped += [Shaped(layer, layer.shaped, everyone)] if layer.shaped else []
    return Walk(
        index=index,
        path=path,
        rankings=tuple(rankings),
        suspects=tuple(suspects),
        shaped=tuple(shaped),
        fast=compiled,
        threads=threads,
    )


def _ranks(
    posts: PostList, path: Path, base: bool, compiled: bool, threads: int
) -> tuple[Int32s, Int32s]:
    columns = as_posts(posts)
    values = path.values[posts.axis]
    if not compiled:
        return twins.ranks(columns, values)
    from fencepost.crossings import kernels

    begun, ended = np.empty((2, len(path)), np.int32)
    if _hardly_moves(columns, path):
        known = np.full((len(path.stream), 2), UNKNOWN, np.int32)
        if base:
            mine, theirs = path.begun[posts.axis], path.ended[posts.axis]
            known[:, 0], known[:, 1] = mine, theirs
            # The near test proves any pointer that is a rank at all; others may not be followed.
            are_ranks = (
                (mine >= 0) & (mine <= posts.begins) & (theirs >= 0) & (theirs <= posts.ends)
            )
            known[~are_ranks] = UNKNOWN
        in_parallel(
            lambda a, b: kernels.ranks_near(columns, path.steps, a, b, known, begun, ended),
            run_parts(path, threads),
        )
    else:
        edges = [len(path) * k // threads for k in range(threads + 1)]
        in_parallel(
            lambda a, b: kernels.ranks(columns, values, a, b, begun, ended), list(pairwise(edges))
        )
    return begun, ended


def _hardly_moves(posts: Posts, path: Path) -> bool:
    """Sample some steps: do most pass no post?

    Only then is testing for that first worth while, else the branch is mispredicted.
    """
    values, (p, c) = path.values[posts.axis], path.sample
    begun, ended = twins.ranks(posts, values[np.concatenate((p, c))])
    many = len(p)
    stays = (begun[:many] == begun[many:]) & (ended[:many] == ended[many:])
    return bool(2 * np.count_nonzero(stays) > many)


def _ranks_within(
    posts: PostList, path: Path, own: Int32s, compiled: bool, threads: int
) -> tuple[Int32s, Int32s]:
    columns = as_posts(posts)
    if not compiled:
        return twins.ranks_within(columns, path.steps, own)
    from fencepost.crossings import kernels

    begun, ended = np.empty((2, len(path)), np.int32)
    in_parallel(
        lambda a, b: kernels.ranks_within(columns, path.steps, own, a, b, begun, ended),
        run_parts(path, threads),
    )
    return begun, ended


def run_parts(path: Path, threads: int) -> list[tuple[int, int]]:
    """Cut the runs into parts of about equally many places."""
    if threads == 1:
        return [(0, len(path.stream))]
    wanted = np.linspace(0, len(path), threads + 1)[1:-1]
    cuts = [0, *np.searchsorted(path.starts, wanted).tolist(), len(path.stream)]
    return list(pairwise(cuts))


def named_first_sight(layer: Layer, path: Path) -> Events:
    """Report the queries for named streams that hold a stream's first tuple.

    Only the stream's own queries are tested.
    """
    runs = np.flatnonzero(path.fresh)
    own = codes_in(path.names, layer.names)[path.stream[runs]]
    runs, own = runs[own >= 0], own[own >= 0]
    first = layer.sighted.named_first
    run, k = twins.spans(first[own], first[own + 1])
    return twins.sighted(layer.boxes, layer.sighted.named[k], path.steps, path.starts[runs[run]])
