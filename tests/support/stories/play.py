"""Plays a story through the engine and returns the reference's kind of rows.

Law: what the epochs are, which kernels run, how the index came about and whether the state was
written as tables in between are arguments here, and none of them may change a row.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar
from unittest import mock

import numpy as np

from fencepost.crossings import BorderIndex, Heads, difference, layer
from fencepost.crossings.choose import Method
from fencepost.engine import step
from fencepost.matches import Matcher
from fencepost.outcome import FeedOutcome
from fencepost.queries import MATCH, QuerySet
from fencepost.reference import Registration, RunResult
from fencepost.reference.order import Arrival, Head, Sighting
from fencepost.reference.transitions import PendingEvent
from fencepost.state import FeedState
from fencepost.transitions import Pending
from fencepost.tuples import TupleBatch
from tests.support.oracles.oracles import (
    batch_of,
    epochs,
    event_rows,
    match_rows,
    match_set_of,
    query_set_of,
    rejected_rows,
    transition_rows,
)
from tests.support.stories.strategies import FEED, Story

KEY = ("query_id", "query_version", "stream_id")


@dataclass(frozen=True)
class Way:
    """A way to play: all of them lead to the same rows."""

    fast: bool = False
    threads: int = 1
    striped: bool = True
    many_stripes: bool = False  # cut even a handful of boxes, and keep wide ones apart early
    incremental: bool = False  # carry the index from registration to registration
    index: str = "auto"  # for the match queries
    method: Method = "auto"  # how crossings are found
    stretches: bool = False  # compare the path place by place, as if memory were short
    reloaded: bool = False  # a process for every step: the state is read back, the index anew
    cuts: Collection[int] | None = None


def play(story: Story, way: Way = Way()) -> RunResult:
    """Run a story and gather all that it leads to."""
    with ExitStack() as under:
        if way.many_stripes:
            under.enter_context(stripes_for_few())
        if way.stretches:
            under.enter_context(mock.patch.multiple(difference, SHORTEST=1, LONGEST=2))
        return _play(story, way)


@contextmanager
def stripes_for_few() -> Iterator[None]:
    """Let stripes be made where there is hardly anything to cut."""
    with mock.patch.multiple(layer, FEWEST=1, NARROW=99.0, WIDE=3, COPIES=7):
        yield


def _play(story: Story, way: Way) -> RunResult:
    rows = RunResult()
    state = FeedState.empty(FEED, story.axes)
    index = BorderIndex.build(QuerySet.empty(FEED, story.axes), striped=way.striped)
    matcher = Matcher.build(QuerySet.empty(FEED, story.axes, MATCH), way.index)
    last: Registration | None = None
    for epoch in epochs(story.script, way.cuts):
        if epoch.registration is not last or way.reloaded:
            last = epoch.registration
            crossing = query_set_of(FEED, story.axes, last)
            match = match_set_of(FEED, story.axes, last)
            if way.incremental:
                index, matcher = registered(index, crossing), registered(matcher, match)
            else:
                index = BorderIndex.build(crossing, striped=way.striped)
                matcher = Matcher.build(match, way.index)
            index.check()
            matcher.check()
        batch = batch_of(FEED, story.axes, epoch.deliveries)
        outcome = step(
            state,
            batch,
            index,
            deliveries=len(epoch.deliveries),
            rules=epoch.rules or story.rules,
            matcher=matcher,
            method=way.method,
            fast=way.fast,
            threads=way.threads,
        )
        gather(rows, outcome, batch, story.axes, epoch.first)
        state = reloaded(outcome.state, index) if way.reloaded else outcome.state
    settle(rows, state)
    return rows


Registered = TypeVar("Registered", BorderIndex, Matcher)


def registered(index: Registered, wanted: QuerySet) -> Registered:
    """Bring an index to a registration by what came and went."""
    before = dict(zip(index.queries.ids.to_pylist(), index.queries.versions.tolist(), strict=True))
    after = dict(zip(wanted.ids.to_pylist(), wanted.versions.tolist(), strict=True))
    gone = [name for name, version in before.items() if after.get(name) != version]
    new = [name for name, version in after.items() if before.get(name) != version]
    if gone:
        index = index.with_removed(gone)
    if new:
        index = index.with_added(wanted.take(wanted.rows_of(new)))
    return index


def gather(
    rows: RunResult, outcome: FeedOutcome, batch: TupleBatch, axes: Sequence[str], first: int
) -> None:
    """Append the results of a step to those before."""
    rows.events += event_rows(outcome.events, axes, first)
    rows.transitions += transition_rows(outcome.transitions, first)
    rows.matches += match_rows(outcome.matches, first)
    turned = outcome.rejected.to_pydict()
    rows.rejected += rejected_rows(turned["row"], turned["reason"], batch, first)


def reloaded(state: FeedState, index: BorderIndex) -> FeedState:
    """Write the state down as columns and read it back."""
    heads = state.heads
    pending = state.pending.to_table(heads.names)
    again = Heads.from_table(heads.axes, heads.to_table(), index.base)
    assert np.array_equal(again.begun, heads.begun)
    return replace(
        state, heads=again, pending=Pending.from_table(index.queries, again.names, pending)
    )


def settle(rows: RunResult, state: FeedState) -> None:
    """Add what is left at the end."""
    heads, waiting, pending = state.heads, state.waiting, state.pending
    values = heads.values.T.tolist()
    numbers = heads.sequences.to_pylist()
    columns = heads.names.to_pylist(), heads.ts, values, heads.ts_place, numbers
    rows.heads = {
        name: Head(int(ts), tuple(at), int(place), number)
        for name, ts, at, place, number in zip(*columns, strict=True)
    }
    names = waiting.names.to_pylist()
    numbers = [None] * len(waiting) if waiting.sequence is None else waiting.sequence.to_pylist()
    of = waiting.stream, waiting.ts, waiting.values.T.tolist(), numbers
    rows.waiting = [
        Arrival(int(ts), 0, 0, Sighting(names[s], int(ts), tuple(at), number))
        for s, ts, at, number in zip(*of, strict=True)
    ]
    rows.pending = [
        PendingEvent(*(r[name] for name in (*KEY, "type", "ts", "place")))
        for r in pending.to_table(heads.names).to_pylist()
    ]
    rows.watermark = state.watermark
