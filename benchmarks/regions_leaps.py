"""What leaps cost: rules of which one in a hundred asks for them, and the same where none does."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from benchmarks.matches_made import Scale, in_turns
from benchmarks.regions_made import UPDATES, fences, polygons
from benchmarks.report import Line
from benchmarks.walks import bands
from fencepost.crossings import BorderIndex
from fencepost.engine import step
from fencepost.outcome import FeedOutcome
from fencepost.queries import QuerySet, StandingQuery
from fencepost.reference.leaps import leap
from fencepost.reference.order import Head
from fencepost.state import FeedState
from fencepost.tuples import TupleBatch
from pipelines.workloads import MovingObjects, PriceWalks, town
from pipelines.workloads.globe import tuples_on_earth

ONE_IN = 100
DEARER = 1.2
SAMPLE = 200


def leaping(scale: Scale) -> Iterator[Line]:
    """Bands of prices that gap, and zones of a town; events and leaps as tables."""
    objects, count = scale.of(10_000, 200), scale.of(10_000, 2_000)
    walks = PriceWalks(streams=objects, length=UPDATES, fluctuation=1e-3)
    plan = MovingObjects(objects=objects, updates=UPDATES, speed=False)
    rules = {
        "bands of prices": (walks.tuples(), bands(count)),
        "polygons": (tuples_on_earth(plan.tuples(town())), fences(polygons(count, 100, 0.02))),
    }
    for name, (batch, queries) in rules.items():
        some = np.arange(count) % ONE_IN == 0
        silent, asking = (_built(replace(queries, leaps=each)) for each in (~some & some, some))
        outcome = _stepped(batch, asking)
        assert_right(outcome)
        assert outcome.events == _stepped(batch, silent).events
        work: dict[str, Callable[[], object]] = {
            "none": lambda batch=batch, silent=silent: _written(batch, silent),  # type: ignore[misc]
            "some": lambda batch=batch, asking=asking: _written(batch, asking),  # type: ignore[misc]
        }
        took = in_turns(work, scale.repeats, time.thread_time)
        each = {what: seconds / len(batch.ts) * 1e9 for what, seconds in took.items()}
        facts = f"{each['some']:.0f} ns a tuple against {each['none']:.0f}; "
        facts += f"{outcome.leaps.num_rows:,} leaps, {outcome.events.num_rows:,} events"
        what = f"leaps of 1% of the rules, of none: {name}"
        yield Line(what, took["some"] / took["none"], DEARER, facts=facts)


def _built(queries: QuerySet) -> BorderIndex:
    """Build an index and whatever is made on first use."""
    index = BorderIndex.build(queries)
    _ = index.leaping
    return index


def _stepped(batch: TupleBatch, index: BorderIndex) -> FeedOutcome:
    state = FeedState.empty(batch.feed, batch.axes)
    return step(state, batch, index, deliveries=1, fast=True)


def _written(batch: TupleBatch, index: BorderIndex) -> object:
    outcome = _stepped(batch, index)
    return outcome.events, outcome.leaps


def assert_right(outcome: FeedOutcome) -> None:
    """Compare the leaps of some steps with the reference: of steps that leap, and of any."""
    path, queries, found = outcome.walked.path, outcome.queries, outcome.leapt
    assert found is not None
    assert len(found)
    draw = np.random.default_rng(1)
    places = np.concatenate([draw.choice(found.place, SAMPLE), draw.integers(1, len(path), SAMPLE)])
    places = np.setdiff1d(places, path.starts)
    rows = np.flatnonzero(queries.leaps)
    rules = [_rule(queries, row) for row in rows.tolist()]
    here = np.isin(found.place, places)
    columns = (column[here].tolist() for column in (found.place, found.query))
    mine = set(zip(*columns, strict=True))
    expected = set()
    for place in places.tolist():
        p, c = (
            Head(int(path.ts[at]), tuple(path.values[:, at].tolist())) for at in (place - 1, place)
        )
        for row, rule in zip(rows.tolist(), rules, strict=True):
            if leap(rule, "", p, c, 0) is not None:
                expected.add((place, row))
    assert mine == expected


def _rule(queries: QuerySet, row: int) -> StandingQuery:
    """Give a row of a set of one-box queries for all streams."""
    box = zip(queries.lo[:, row].tolist(), queries.hi[:, row].tolist(), strict=True)
    shape = int(queries.shape[row])
    return StandingQuery(
        id=queries.ids[row].as_py(),
        feed=queries.feed,
        where="ALL",
        boxes=(tuple(box),),
        region=None if shape < 0 else queries.shapes.shape(shape),
        position=queries.position,
        leaps=True,
    )
