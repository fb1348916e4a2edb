"""Arrivals judged in turn against arrivals that are sorted: the same rows, whatever comes."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from fencepost.arrivals import in_turn
from fencepost.crossings import BorderIndex
from fencepost.crossings.path import HEAD
from fencepost.engine import step
from fencepost.order import NEVER, OrderRules
from fencepost.outcome import FeedOutcome
from fencepost.queries import QuerySet
from fencepost.state import FeedState
from fencepost.tuples import Doubles, Int64s, TupleBatch
from tests.support.oracles.rank_checks import Check
from tests.support.stories.strategies import ALL_AXES, FEED, standing_query

STREAMS = ("s0", "s1", "s2", "s3", "s4")
WHERES = {
    1: ("x >= 1 AND x < 3", "x < 2", "x >= 2.5 AND x < 4", "x > 1.5", "x < 0.5 OR x >= 3.5"),
    2: ("x >= 1 AND y < 3", "x < 2 AND y >= 0.5", "y >= 2 AND y < 4", "x > 1.5 OR y > 3.5"),
}


def index_of(axes: int) -> BorderIndex:
    """A few queries, the last ones in a layer above: for every stream, and for one."""
    kinds: tuple[dict[str, Any], ...] = ({}, {"streams": ["s1"]}, {"on_first": "enter"})
    queries = [
        standing_query(f"q{number}{kind}", where, axes=ALL_AXES[:axes], within=2, **more)
        for number, where in enumerate(WHERES[axes])
        for kind, more in enumerate(kinds)
    ]
    sets = [
        QuerySet.from_queries(FEED, ALL_AXES[:axes], some) for some in (queries[:-3], queries[-3:])
    ]
    return BorderIndex.build(sets[0]).with_added(sets[1])


def arrivals(chance: Random, axes: int, tuples: int, deliveries: int, orderly: float) -> TupleBatch:
    """Tuples of a few streams: nearly in order, some tied, some late, most of them at rest."""
    at = {name: [float(chance.randint(0, 4)) for _ in range(axes)] for name in STREAMS}
    rows, clock = [], chance.randint(0, 3)
    delivery = sorted(chance.randrange(deliveries) for _ in range(tuples))
    for own in delivery:
        name = chance.choice(STREAMS[: 5 if tuples > 4 else 1])
        clock += chance.randint(0, 1)
        back = 0 if chance.random() < orderly else chance.randint(1, 4)
        if chance.random() < 0.3:
            at[name][chance.randrange(axes)] = chance.randint(0, 8) / 2
        rows.append((name, max(clock - back, 0), tuple(at[name]), own))
    names, ts, values, number = zip(*rows, strict=True)
    return TupleBatch.from_columns(
        FEED,
        ALL_AXES[:axes],
        pa.array(names),
        np.array(ts, np.int64),
        np.array(values, np.float64).T,
        np.array(number, np.int32),
        tag=np.arange(tuples),
    )


def found_by(outcome: FeedOutcome) -> list[Any]:
    """All that a step leads to, in an order that does not depend on the path."""
    changed, waiting = outcome.changed.to_table().to_pylist(), outcome.state.waiting
    columns = (waiting.stream, waiting.ts, waiting.values.T, waiting.nth, waiting.tag)
    return [
        sorted(outcome.events.to_pylist(), key=repr),
        sorted(outcome.transitions.to_pylist(), key=repr),
        outcome.rejected.to_pylist(),
        outcome.watermarks.tolist(),
        outcome.accepted,
        sorted(changed, key=repr),
        sorted(outcome.state.heads.to_table().to_pylist(), key=repr),
        waiting.names.to_pylist(),
        [[] if column is None else column.tolist() for column in columns],
    ]


class Judged:
    """A batch after another, and what sorting makes of the second."""

    def __init__(self, chance: Random, axes: int, tuples: int = 40) -> None:
        """Take the first step by sorting, and the second for comparison."""
        waits = chance.random() < 0.5
        before, self.rules = (
            OrderRules(chance.choice(("all", "first")), chance.choice((0, 2, 5)) if waits else 0)
            for _ in range(2)
        )
        self.index, self.deliveries = index_of(axes), chance.randint(1, 4)
        state = FeedState.empty(FEED, ALL_AXES[:axes])
        some = arrivals(chance, axes, chance.randint(1, 9), 1, 0.9)
        self.state = step(state, some, self.index, deliveries=1, rules=before, fast=False).state
        orderly = chance.choice((0.8, 0.95)) if waits else chance.choice((0.95, 1.0, 1.0))
        batch = arrivals(chance, axes, chance.randint(1, tuples), self.deliveries, orderly)
        self.batch = batch if chance.random() < 0.8 else replace(batch, tag=None)
        self.marks: Int64s | None = None
        expected = self.stepped(fast=False)
        if chance.random() < 0.3:  # those of all the feed's streams
            marks = expected.watermarks.copy()
            np.maximum.at(marks, self.batch.delivery, self.batch.ts - self.rules.behind)
            ahead = np.cumsum([chance.randint(0, 2) for _ in range(self.deliveries)])
            self.marks = np.maximum.accumulate(marks) + ahead
            expected = self.stepped(fast=False)
        self.expected = found_by(expected)

    def stepped(self, *, fast: bool) -> FeedOutcome:
        """Take the second step."""
        return step(
            self.state,
            self.batch,
            self.index,
            deliveries=self.deliveries,
            rules=self.rules,
            marks=self.marks,
            method="walk",
            fast=fast,
        )

    def check(self, sample: int = in_turn.SAMPLE, often: float = in_turn.OFTEN) -> None:
        """Judge in turn, and leave out of the path what may be: all along, or up to the sample."""
        with mock.patch.multiple(in_turn, SAMPLE=sample, OFTEN=often):
            outcome = self.stepped(fast=True)
        assert found_by(outcome) == self.expected
        path, expected = outcome.walked.path, self._kept(sample, often)
        if path.tag is not None and expected is not None:
            assert sorted(path.tag[path.delivery != HEAD].tolist()) == expected

    def _kept(self, sample: int, often: float) -> list[int] | None:
        """Find by hand which tuples are on the path, if they come in order and none waits."""
        if self.rules.lateness or len(self.state.waiting):
            return None
        heads, batch, queries = self.state.heads, self.batch, self.index.queries
        refused = {each["row"] for each in self.expected[2]}
        posts = [sorted({*lo, *hi}) for lo, hi in zip(queries.lo, queries.hi, strict=True)]
        before = {
            name: (NEVER, -1, self._gap(posts, heads.values[:, place]), True)
            for place, name in enumerate(heads.names.to_pylist())
        }
        names, kept, last = batch.names.to_pylist(), set[int](), dict[str, int]()
        compared, passed, thin = 0, 0, True
        for row in range(len(batch)):
            if row == sample and passed > often * compared:
                thin = False
            name, ts, own = names[batch.stream[row]], batch.ts[row], batch.delivery[row]
            then, delivery, gap, is_kept = before.get(name, (NEVER, -1, None, True))
            if ts < then and own == delivery:
                return None
            if row in refused:
                continue
            here = self._gap(posts, batch.values[:, row])
            compared += thin and gap is not None
            passed += thin and gap is not None and here != gap
            keeps = not thin or here != gap
            if keeps and not is_kept:
                kept.add(last[name])
            before[name] = (ts, own, here, keeps)
            last[name] = row
            if keeps:
                kept.add(row)
        return sorted(kept | set(last.values()))

    def _gap(self, posts: list[list[float]], values: Doubles) -> tuple[int, ...]:
        return tuple(bisect_right(own, at) for own, at in zip(posts, values.tolist(), strict=True))


def checks() -> Iterator[tuple[str, Check]]:
    """Some that are in order and some that are not; left out all along, and at first only."""
    for seed in range(60):
        judged = Judged(Random(seed), 1 + seed % 2, 4 if seed % 3 else 40)  # noqa: S311  no secret
        yield f"arrivals {seed}", judged.check
        for sample, often in ((1, -1.0), (7, -1.0), (7, 0.3), (12, 0.6)):
            yield f"arrivals {seed}, {sample}, {often}", partial(judged.check, sample, often)
