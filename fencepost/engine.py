"""One step of the engine: from state and tuples to events, transitions, matches, the new state.

Rejected rows come out beside them, with their reasons.

Pure and deterministic. Law: any grouping of the same deliveries into steps gives the same rows.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from fencepost.arrays import are_all
from fencepost.arrivals.arrive import arrive
from fencepost.crossings.choose import Method, cross, parts_of
from fencepost.crossings.columns import Events
from fencepost.crossings.difference import Difference
from fencepost.crossings.index import BorderIndex
from fencepost.crossings.path import Path
from fencepost.crossings.state import UNKNOWN, Heads
from fencepost.crossings.walk import Walk
from fencepost.errors import InputError, StateError
from fencepost.matches.matcher import Matcher
from fencepost.order import (
    AS_THEY_COME,
    NEVER,
    Advance,
    OrderRules,
)
from fencepost.outcome import FeedOutcome, Findings, FoundCounts
from fencepost.queries import QuerySet
from fencepost.row_order import NameRanks, PairNames
from fencepost.state import FeedState
from fencepost.transitions import Clocks, Crossed, Pending, decide
from fencepost.tuples import Bools, Int32s, Int64s, TupleBatch

AT_ONCE = 1 << 20
"""Crossings that are in memory at a time, where what is found is emitted."""


def step(  # noqa: PLR0913  the feed's three, and options by name
    state: FeedState,
    batch: TupleBatch,
    index: BorderIndex,
    *,
    deliveries: int,
    rules: OrderRules = AS_THEY_COME,
    marks: Int64s | None = None,
    matcher: Matcher | None = None,
    method: Method = "auto",
    fast: bool | None = None,
    threads: int = 1,
    emit: Callable[[Findings], None] | None = None,
) -> FeedOutcome:
    """Process the deliveries of a batch, 0 to `deliveries` - 1; some may be empty.

    `rules` say how arrivals are ordered and judged. `marks` are the feed's watermarks after each
    delivery: pass them where the batch and the state are those of a share of its streams; the
    shares together then find what one step over all of them would. `matcher` has the match queries,
    if there are any. `method` is how crossings are found, `fast` chooses the compiled kernels or
    their NumPy twins, None by the size of the work; neither changes a row. `emit` is given what is
    found part by part, and the outcome does not have it: so about `AT_ONCE` crossings are in
    memory, or those of one stream. O(n log n) for n tuples at worst, O(n) in order of time;
    O(posts passed) for crossings, a probe a tuple for matches.
    """
    queries = index.queries
    _refuse_strangers(state, batch, queries, deliveries)
    if matcher is not None:
        _refuse_strangers(state, batch, matcher.queries, deliveries)
    _refuse_false_marks(state, batch, marks, deliveries, rules)
    arrived = arrive(
        state,
        batch,
        index,
        deliveries=deliveries,
        rules=rules,
        marks=marks,
        whole=matcher is not None and len(matcher) > 0,
        fast=fast,
    )
    path, heads, watermarks = arrived.path, state.heads.known_to(index.base), arrived.watermarks
    walked, chosen = cross(index, path, method=method, fast=fast, threads=threads)
    leaping = index.leaping
    leapt = None if leaping is None else leaping.find(path, threads, fast=fast)
    changed = _changed(walked, heads, arrived.sequence)
    after = heads.with_heads(changed, path.stream)
    place = np.empty(len(path.names), np.int32)
    place[path.stream] = _places_among(path, len(heads))
    marks = np.append(NEVER if state.watermark is None else state.watermark, watermarks)
    clocks = _clocks(arrived.advance, path, len(heads), rules)
    ids = NameRanks(queries.ids)
    names = PairNames(ids, after.names)
    parts = [path] if emit is None else parts_of(walked, chosen, len(queries), AT_ONCE)
    counts, pending = FoundCounts(), []
    for part, before in _pending_of(parts, state.pending.under(queries), place, len(after)):
        along = walked
        if part is not path:
            along, _ = cross(index, part, method=chosen.method, fast=fast, threads=threads)
        found = along.events
        crossed = _crossed(queries, part, found, place)
        decided, left = decide(before, crossed, marks, clocks, names=names, fast=fast)
        findings = Findings(part, found, decided, queries, ids, after.names)
        counts += findings.counts
        pending.append(left)
        if emit is not None:
            emit(findings)
    mark = int(watermarks[-1]) if deliveries else None
    watermark = state.watermark if mark is None or mark == NEVER else mark
    undecided = Pending.together(pending)
    return FeedOutcome(
        walked,
        chosen,
        findings if emit is None else None,
        counts,
        leapt,
        path.names,
        batch.feed,
        arrived.rejected,
        watermarks,
        FeedState(state.feed, after, arrived.waiting, undecided, watermark),
        changed,
        queries,
        matcher,
        threads,
    )


def _pending_of(
    parts: Sequence[Path], pending: Pending, place: Int32s, heads: int
) -> Iterator[tuple[Path, Pending]]:
    """Give each part of the path what is pending of its streams, the first that of all others."""
    if len(parts) == 1:
        yield parts[0], pending
        return
    number = np.zeros(heads, np.int32)
    for k, part in enumerate(parts):
        number[place[part.stream]] = k
    for k, part in enumerate(parts):
        yield part, pending.take(number[pending.stream] == k)


def _crossed(queries: QuerySet, path: Path, found: Events, place: Int32s) -> Crossed:
    """Give the events that may become transitions; `place` is that of a stream among the heads."""
    timed = _timed(queries, found)
    at = found.place[timed]
    return Crossed(
        found.query[timed],
        place[path.stream_of(at)],
        path.ts[at],
        found.type[timed],
        path.delivery[at],
        at,
        path.nth_of(at),
    )


def _refuse_strangers(
    state: FeedState, batch: TupleBatch, queries: QuerySet, deliveries: int
) -> None:
    feeds = {state.feed, batch.feed, queries.feed}
    if len(feeds) > 1:
        raise StateError(
            f"a step takes one feed; state, tuples and queries are of {', '.join(sorted(feeds))}"
        )
    if not (state.heads.axes == batch.axes == queries.axes):
        raise StateError(
            f"feed '{batch.feed}': the state has the axes {state.heads.axes}, "
            f"the tuples {batch.axes}, the queries {queries.axes}"
        )
    if len(batch) and not 0 <= batch.delivery[-1] < deliveries:
        raise InputError(
            f"a tuple of delivery {batch.delivery[-1]}, expected 0 to {deliveries - 1}"
        )
    if batch.sequence is not None and batch.sequence.null_count:
        raise InputError(f"feed '{batch.feed}': a tuple has no sequence, and others have one")


def _refuse_false_marks(
    state: FeedState, batch: TupleBatch, marks: Int64s | None, deliveries: int, rules: OrderRules
) -> None:
    if marks is None:
        return
    if len(marks) != deliveries:
        raise InputError(f"{len(marks)} watermarks for {deliveries} deliveries")
    before = NEVER if state.watermark is None else state.watermark
    if (marks < np.append(before, marks[:-1])[: len(marks)]).any():
        raise InputError("watermarks must never fall")
    edges = np.searchsorted(batch.delivery, np.arange(deliveries + 1, dtype=np.int32))
    for mark, begin, end in zip(marks, edges[:-1], edges[1:], strict=True):
        if begin < end and batch.ts[begin:end].max() - rules.behind > mark:
            raise InputError("a tuple is ahead of the watermark given for its delivery")


def _changed(walked: Walk | Difference, heads: Heads, sequence: pa.StringArray | None) -> Heads:
    """The last place of every run, with its pointers among the plain posts of the base."""
    path, last = walked.path, walked.path.last
    begun, ended = np.full((2, len(path.values), len(last)), UNKNOWN, np.int32)
    for ranking in walked.rankings:
        if ranking.layer == 0 and ranking.segment is None:
            begun[ranking.posts.axis] = ranking.begun[last]
            ended[ranking.posts.axis] = ranking.ended[last]
    every = are_all(path.stream, len(path.names))
    names = path.names if every else path.names.take(pa.array(path.stream))
    return Heads(
        axes=heads.axes,
        names=names,
        ts=path.ts[last],
        values=path.values[:, last],
        begun=begun,
        ended=ended,
        index=heads.index,
        ts_place=path.nth_of(last),
        sequence=sequence,
    )


def _timed(queries: QuerySet, found: Events) -> Int64s:
    """Pick the events that may become transitions."""
    wanted = queries.within >= 0
    return np.flatnonzero(wanted[found.query]) if wanted.any() else np.empty(0, np.int64)


def _clocks(advance: Advance | None, path: Path, known: int, rules: OrderRules) -> Clocks | None:
    """Give the streams' own watermarks, by their places among the heads after the step."""
    if advance is None:
        return None
    place = np.arange(len(path.names), dtype=np.int32)
    place[known:] = UNKNOWN  # those of which no tuple was ever accepted have no events
    place[path.stream] = _places_among(path, known)
    stream = place[advance.stream]
    order = np.argsort(stream, kind="stable")
    mark = advance.largest - rules.lateness
    return Clocks(stream[order], advance.delivery[order], mark[order])


def _places_among(path: Path, known: int) -> Int32s:
    """Find the place of each run's stream among the heads after the step: new ones come behind."""
    fresh: Bools = path.stream >= known
    place = path.stream.astype(np.int32, copy=True)
    place[fresh] = known + np.arange(int(fresh.sum()), dtype=np.int32)
    return place
