"""A feed that lives: queries come and go, deliveries arrive, epochs end, state is laid down.

Law: after any history the rows are those that the reference finds in the whole script so far, and
what the events say of who is inside is what the heads say.
"""

from collections import defaultdict
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fencepost.crossings import BorderIndex, Heads, index
from fencepost.engine import step
from fencepost.order import OrderRules
from fencepost.queries import QuerySet, StandingQuery
from fencepost.reference import FeedDelivery, Registration, RunResult, Sighting, holds, run
from fencepost.reference.crossings import covers, is_valid
from fencepost.state import FeedState
from fencepost.transitions import Pending
from fencepost.tuples import TupleBatch
from tests.support.oracles.oracles import assert_same_rows, batch_of, query_set_of
from tests.support.stories.play import gather, settle, stripes_for_few
from tests.support.stories.strategies import (
    FEED,
    FIRST,
    GRID,
    JUDGINGS,
    STREAMS,
    TICK,
    Judging,
    deliveries,
    queries,
)

AXES = ("x", "y")
ALL = ("events", "transitions", "rejected", "pending", "heads", "waiting", "watermark")
STEPS = 20
WALKS = st.lists(st.tuples(*[st.sampled_from(GRID)] * len(AXES)), min_size=2, max_size=6)


def through_bytes(table: pa.Table) -> pa.Table:
    """What Arrow reads back of what it wrote."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


class LivingFeed(RuleBasedStateMachine):
    """One feed, from nothing. An epoch is open until something ends it."""

    def __init__(self) -> None:
        super().__init__()
        self.house = ExitStack()
        self.script: list[FeedDelivery | Registration] = []
        self.arrived: list[FeedDelivery] = []  # in the open epoch
        self.registered: dict[str, StandingQuery] = {}
        self.versions: dict[str, int] = {}
        self.known: list[Sighting] = []
        self.tick = self.released = 0
        self.order = OrderRules("first")
        self.judging: Judging = FIRST
        self.state = FeedState.empty(FEED, AXES)
        self.index = BorderIndex.build(QuerySet.empty(FEED, AXES))
        self.rows = RunResult()
        self.compared = 0  # how much of the script the reference was asked about

    @initialize(
        lateness=st.sampled_from((0, 1, 3)),
        idle=st.sampled_from((None, None, 1, 6)),
        judging=JUDGINGS,
        floor=st.sampled_from((0, 2, 4096)),
        many_stripes=st.booleans(),
        first=st.tuples(*[queries(AXES)] * 4),
    )
    def begin(
        self,
        lateness: int,
        idle: int | None,
        judging: Judging,
        floor: int,
        many_stripes: bool,
        first: tuple[StandingQuery, ...],
    ) -> None:
        self.judging = judging
        behind = None if idle is None else idle * TICK
        self.order = OrderRules(judging[0], lateness * TICK, behind)
        self.house.enter_context(mock.patch.multiple(index, REBUILD_FLOOR=floor, MOST_LAYERS=3))
        if many_stripes:
            self.house.enter_context(stripes_for_few())
        self.index = BorderIndex.build(QuerySet.empty(FEED, AXES))
        named = {f"q{n}": replace(query, id=f"q{n}") for n, query in enumerate(first)}
        self.commit(named, carried=False)

    def teardown(self) -> None:
        self.house.close()

    # ── the registry ──────────────────────────────────────────────────────────────────────────────

    def commit(self, wanted: dict[str, StandingQuery], *, carried: bool) -> None:
        """A registry commit ends the open epoch."""
        self.end_of_epoch(fast=False, threads=1)
        registration = Registration(tuple(wanted.values()))
        gone = [id for id, query in self.registered.items() if wanted.get(id) != query]
        came = [query for id, query in wanted.items() if self.registered.get(id) != query]
        if carried:
            added = QuerySet.from_queries(FEED, AXES, came)
            self.index = self.index.with_removed(gone).with_added(added)
        else:
            self.index = BorderIndex.build(query_set_of(FEED, AXES, registration))
        self.versions |= {query.id: query.version for query in came}
        self.registered = wanted
        self.script.append(registration)

    @rule(query=queries(AXES), carried=st.booleans())
    def register(self, query: StandingQuery, carried: bool) -> None:
        new = replace(query, id=f"q{len(self.versions)}")
        self.commit({**self.registered, new.id: new}, carried=carried)

    @precondition(lambda self: self.registered)
    @rule(data=st.data(), query=queries(AXES), carried=st.booleans())
    def change(self, data: Any, query: StandingQuery, carried: bool) -> None:
        id = data.draw(st.sampled_from(sorted(self.registered)))
        new = replace(query, id=id, version=self.versions[id] + 1)
        self.commit({**self.registered, id: new}, carried=carried)

    @precondition(lambda self: self.registered)
    @rule(data=st.data(), carried=st.booleans())
    def deregister(self, data: Any, carried: bool) -> None:
        gone = data.draw(st.sets(st.sampled_from(sorted(self.registered)), min_size=1, max_size=3))
        left = {id: query for id, query in self.registered.items() if id not in gone}
        self.commit(left, carried=carried)

    @precondition(lambda self: len(self.registered) < len(self.versions))
    @rule(data=st.data(), query=queries(AXES), carried=st.booleans())
    def register_again(self, data: Any, query: StandingQuery, carried: bool) -> None:
        id = data.draw(st.sampled_from(sorted(self.versions.keys() - self.registered.keys())))
        new = replace(query, id=id, version=self.versions[id] + 1)
        self.commit({**self.registered, id: new}, carried=carried)

    @rule()
    def rebuild_the_index(self) -> None:
        self.index = BorderIndex.build(self.index.queries)

    # ── arrivals and epochs ───────────────────────────────────────────────────────────────────────

    def arrive(self, delivery: FeedDelivery, ticks: int, ends: bool) -> None:
        self.arrived.append(delivery)
        self.known += delivery.tuples
        self.tick += ticks
        if ends:
            self.end_of_epoch(fast=len(delivery.tuples) % 2 == 0, threads=1)

    @rule(data=st.data(), ticks=st.integers(0, 3), ends=st.booleans())
    def ingest(self, data: Any, ticks: int, ends: bool) -> None:
        delivery = data.draw(deliveries(AXES, tuple(self.known), self.tick, judging=self.judging))
        self.arrive(delivery, ticks, ends)

    @rule(stream=st.sampled_from(STREAMS), walk=WALKS, ends=st.booleans())
    def ingest_a_walk(self, stream: str, walk: list[tuple[float, ...]], ends: bool) -> None:
        """A tuple a tick, of one stream alone."""
        number = self.judging[1][0] if self.judging[1] else None
        rows = [Sighting(stream, (self.tick + t) * TICK, at, number) for t, at in enumerate(walk)]
        self.arrive(FeedDelivery(tuple(rows)), len(walk), ends)

    @precondition(lambda self: self.arrived)
    @rule(ends=st.booleans())
    def ingest_the_same_again(self, ends: bool) -> None:
        self.arrive(self.arrived[-1], 0, ends)

    @rule(ends=st.booleans())
    def ingest_nothing(self, ends: bool) -> None:
        self.arrive(FeedDelivery(()), 0, ends)

    @rule(fast=st.booleans(), threads=st.sampled_from((1, 2)))
    def end_of_epoch(self, fast: bool, threads: int) -> None:
        first = sum(isinstance(item, FeedDelivery) for item in self.script)
        batch = batch_of(FEED, AXES, self.arrived)
        outcome = step(
            self.state,
            batch,
            self.index,
            deliveries=len(self.arrived),
            rules=self.order,
            fast=fast,
            threads=threads,
        )
        gather(self.rows, outcome, batch, AXES, first)
        self.released += outcome.accepted
        self.state = outcome.state
        self.script += self.arrived
        self.arrived = []

    @rule(data=st.data())
    def save_and_reload(self, data: Any) -> None:
        """A table keeps no order: the heads come back in another one, and what waits too."""
        heads, waiting = self.state.heads, self.state.waiting
        pending = through_bytes(self.state.pending.to_table(heads.names))
        order = data.draw(st.permutations(range(len(heads))))
        table = through_bytes(heads.to_table().take(pa.array(order, pa.int64())))
        again = Heads.from_table(AXES, table, self.index.base)
        rows = {"stream_id": waiting.names.take(pa.array(waiting.stream)), "ts": waiting.ts}
        rows["nth"] = np.empty(0, np.int32) if waiting.nth is None else waiting.nth
        if waiting.sequence is not None:
            rows["sequence"] = waiting.sequence
        left = pa.table({**rows, **dict(zip(AXES, waiting.values, strict=True))})
        order = data.draw(st.permutations(range(len(waiting))))
        left = through_bytes(left.take(pa.array(order, pa.int64())))
        values = np.array([left[axis].to_numpy() for axis in AXES])
        self.state = replace(
            self.state,
            heads=again,
            waiting=TupleBatch.from_columns(
                FEED,
                AXES,
                left["stream_id"],
                left["ts"].to_numpy(),
                values,
                sequence=left["sequence"].combine_chunks() if "sequence" in rows else None,
                nth=left["nth"].to_numpy(),
            ),
            pending=Pending.from_table(self.index.queries, again.names, pending),
        )

    # ── what is always so ─────────────────────────────────────────────────────────────────────────

    @invariant()
    def the_index_is_whole(self) -> None:
        self.index.check()
        assert set(self.index.queries.ids.to_pylist()) == set(self.registered)

    @invariant()
    def the_rows_are_those_of_the_reference(self) -> None:
        if self.compared == len(self.script):
            return
        self.compared = len(self.script)
        in_force = self.state.pending.under(self.index.queries)
        settle(self.rows, replace(self.state, pending=in_force))
        expected = run(FEED, AXES, self.script, self.order)
        assert_same_rows(expected, self.rows, ALL)

    @invariant()
    def every_row_read_is_accepted_or_waits_or_was_turned_away(self) -> None:
        read = sum(len(item.tuples) for item in self.script if isinstance(item, FeedDelivery))
        assert read == self.released + len(self.state.waiting) + len(self.rows.rejected)

    @invariant()
    def entering_and_leaving_take_turns(self) -> None:
        for types in self.crossings().values():
            assert all(a != b for a, b in pairwise(types))

    @invariant()
    def who_entered_last_is_inside_and_who_left_last_is_not(self) -> None:
        """As long as the query is evaluated at the head: the last event then speaks of it too."""
        crossings = self.crossings()
        for query in self.registered.values():
            for stream, (ts, values, *_) in self.rows.heads.items():
                last = crossings.get((query.id, query.version, stream), "")[-1:]
                if last and is_valid(query, ts):
                    assert covers(query, stream)
                    assert holds(query, values) == (last == "I")

    def crossings(self) -> dict[tuple[str, int, str], str]:
        """The types of the events of each version of each query and each stream, in their order."""
        types: dict[tuple[str, int, str], str] = defaultdict(str)
        for e in sorted(self.rows.events, key=lambda e: (e.ts, e.place)):
            types[e.query_id, e.version, e.stream] += e.type
        return types


LivingFeed.TestCase.settings = settings(stateful_step_count=STEPS)
test_a_living_feed_is_what_the_reference_says_of_its_history = LivingFeed.TestCase
