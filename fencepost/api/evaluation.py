"""Feeds and joins under evaluation: what is indexed, and where every stream stands.

Law: one step a delivery, the state handed on. By the engine's own law the rows are those of all the
deliveries in one step, so nothing but the state has to be kept between two of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from fencepost.api.tables import ResultTables
from fencepost.crossings.index import BorderIndex
from fencepost.engine import step
from fencepost.matches import Matcher
from fencepost.order import AS_THEY_COME, OrderRules
from fencepost.outcome import FeedOutcome
from fencepost.queries.files import StandingQueries
from fencepost.queries.query_set import QuerySet
from fencepost.state import FeedState
from fencepost.tuples import TupleBatch

if TYPE_CHECKING:
    from fencepost.api.join_run import JoinRun


OntoEvents = Callable[[pa.Table], pa.Table]


@dataclass(eq=False)
class FeedRun:
    """One feed: its indexes, its state after the deliveries so far, how many tuples it accepted."""

    index: BorderIndex
    matcher: Matcher
    state: FeedState
    accepted: int = 0

    @classmethod
    def of(
        cls, crossings: QuerySet, matches: QuerySet, state: FeedState | None = None
    ) -> "FeedRun":
        """Index the rules of a feed, O(n log n); without a state nothing was ever seen."""
        state = state or FeedState.empty(crossings.feed, crossings.axes)
        return cls(BorderIndex.build(crossings), Matcher.build(matches, tuples=0), state)

    def push(self, batch: TupleBatch, rules: OrderRules, threads: int) -> FeedOutcome:
        """Take one delivery."""
        self.matcher = self.matcher.serving(self.accepted + len(batch))
        outcome = step(
            self.state,
            batch,
            self.index,
            deliveries=1,
            rules=rules,
            matcher=self.matcher,
            threads=threads,
        )
        self.state = outcome.state
        self.accepted += outcome.accepted
        return outcome


@dataclass(eq=False)
class Evaluation:
    """All feeds and all joins of an evaluation.

    `order` says how arrivals are ordered and judged, `by_feed` those of single feeds. Crossings
    are found by so many `threads`.

    push   a step of the batch's feed and of every join that has it: see engine.step
    """

    feeds: dict[str, FeedRun]
    joins: "dict[str, JoinRun]" = field(default_factory=dict)
    order: OrderRules = AS_THEY_COME
    by_feed: Mapping[str, OrderRules] = field(default_factory=dict)
    threads: int = 1

    @classmethod
    def of(cls, rules: StandingQueries, by_feed: Mapping[str, OrderRules]) -> "Evaluation":
        """Begin with nothing seen."""
        sets = rules.sets.items()
        feeds = {feed: FeedRun.of(queries, rules.matches[feed]) for feed, queries in sets}
        return cls(feeds, join_runs(rules), by_feed=by_feed)

    def order_of(self, feed: str) -> OrderRules:
        """How a feed's arrivals are ordered and judged."""
        return self.by_feed.get(feed, self.order)

    def push(
        self, batch: TupleBatch, results: ResultTables, onto: OntoEvents | None = None
    ) -> pa.Table:
        """Take one delivery of a feed; give the rows that it rejected, and why.

        `onto` adds to events what travels along with their tuples, found by their `tag`.
        """
        outcome = self.feeds[batch.feed].push(batch, self.order_of(batch.feed), self.threads)
        events = outcome.events if onto is None else onto(outcome.events)
        results.add_events(batch.feed, events)
        results.add_transitions(batch.feed, outcome.transitions)
        results.add_matches(batch.feed, outcome.matches)
        results.add_leaps(batch.feed, outcome.leaps)
        for run in self.joins.values():
            left, right = (self.order_of(feed) for feed in run.state.feeds)
            run.push(batch, (left, right), results)
        return outcome.rejected

    @property
    def accepted(self) -> int:
        """How many tuples the feeds accepted so far."""
        return sum(feed.accepted for feed in self.feeds.values())

    @property
    def waiting(self) -> int:
        """How many tuples wait for their watermark."""
        return sum(len(feed.state.waiting) for feed in self.feeds.values())


def join_runs(rules: StandingQueries) -> "dict[str, JoinRun]":
    """Index the joins of all lanes, O(n log n); nothing was ever seen."""
    if not rules.joins:
        return {}
    from fencepost.api.join_run import JoinRun  # takes Numba along

    return {lane: JoinRun.of(sets) for lane, sets in rules.joins.items()}
