"""The kernels and their twins on crowds: thousands of tuples, every way through the walk.

What Hypothesis draws is too small for a block copy, a gallop or a stripe. Each crowd is shaped for
one of them, and the test makes sure that it went that way.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest

from fencepost.crossings import BorderIndex, Walk, kernels
from fencepost.engine import step
from fencepost.matches.matcher import Matcher
from fencepost.outcome import FeedOutcome
from fencepost.queries import QuerySet
from fencepost.reference import RunResult, run
from fencepost.state import FeedState
from tests.support.oracles.oracles import assert_same_rows, batch_of
from tests.support.stories.crowds import MIXED, Crowd, Shape, crowd
from tests.support.stories.play import Way, play
from tests.support.stories.strategies import FEED

ALL = ("events", "transitions", "rejected", "pending", "heads", "waiting", "watermark")


@dataclass(frozen=True)
class Kind:
    """A crowd, the kernels that its walk must call, and what must be true of the walk."""

    shape: Shape
    kernels: tuple[str, ...]
    fact: Callable[[Walk], object]
    matched: bool = False  # matches are found as well, so that every tuple is on the path


def widest_step(walked: Walk) -> float:
    """The longest step on the first axis."""
    inside = np.setdiff1d(np.arange(1, len(walked.path)), walked.path.starts)
    values = walked.path.values[0]
    return float(np.abs(values[inside] - values[inside - 1]).max())


def is_copied(walked: Walk) -> bool:
    """Nothing can be leapt over, so that whole slices are copied."""
    return all(widest_step(walked) < s.posts.narrowest for s in walked.rankings)


def leaps(walked: Walk) -> bool:
    """Some queries are passed on both sides in one step."""
    return len(walked.events.place) < walked.passed


def gallops(walked: Walk) -> bool:
    """Hundreds of posts stand at one place, where a cell is told to hold four."""
    (ranking,) = walked.rankings
    return int(np.diff(ranking.posts.cells[::2]).max()) > 500


def is_striped(walked: Walk) -> bool:
    return any(suspect.stripes.stripes > 4 for suspect in walked.suspects)


def is_mixed(walked: Walk) -> bool:
    """Plain lists and checked ones, of all streams and of named ones."""
    plain = {ranking.segment is None for ranking in walked.rankings}
    checked = {bool((suspect.segment < 0).any()) for suspect in walked.suspects}
    return plain == {True, False} and False in checked


KINDS = {
    "posts everywhere": Kind(
        Shape(queries=2000, tuples=4000, streams=50), ("ranks", "leap"), leaps
    ),
    "hardly a move": Kind(
        Shape(queries=1500, tuples=6000, streams=50, still=0.92),
        ("ranks_near", "count", "fill"),
        leaps,
        matched=True,
    ),
    "wide ranges": Kind(
        Shape(queries=800, tuples=4000, streams=9, widths=(4, 30), stride=1, endless=0.2),
        ("ranks", "count", "fill"),
        is_copied,
    ),
    "narrow ranges": Kind(
        Shape(queries=800, tuples=4000, streams=9, widths=(0, 1), stride=6),
        ("ranks", "leap"),
        leaps,
    ),
    "a clump": Kind(
        Shape(queries=1500, tuples=3000, clumped=0.8, widths=(2, 2), stride=4), ("ranks",), gallops
    ),
    "one axis, all fields": Kind(
        replace(MIXED, queries=800, tuples=6000, streams=20), ("ranks_within",), is_mixed
    ),
    "two axes": Kind(
        Shape(axes=2, queries=1500, tuples=3000, streams=40, bound=0.8), ("leap",), is_striped
    ),
    "two axes, all fields": Kind(
        replace(MIXED, axes=2, queries=900, tuples=6000, streams=20, widths=(4, 40), bound=0.6),
        ("ranks_within",),
        is_striped,
    ),
    "three axes, all fields": Kind(
        replace(MIXED, axes=3, queries=400, tuples=3000, widths=(4, 30), bound=0.6),
        ("ranks_within",),
        is_striped,
    ),
    "four axes": Kind(
        Shape(axes=4, queries=600, tuples=4000, widths=(8, 50), stride=8, bound=0.6),
        ("ranks",),
        is_striped,
    ),
}


@cache
def drawn(name: str) -> tuple[Crowd, QuerySet, FeedState]:
    """A crowd, its queries, and the state after its first delivery."""
    people = crowd(KINDS[name].shape)
    queries = QuerySet.from_queries(FEED, people.axes, people.queries)
    batch = batch_of(FEED, people.axes, people.deliveries[:1])
    empty = FeedState.empty(FEED, people.axes)
    return (
        people,
        queries,
        step(empty, batch, BorderIndex.build(queries), deliveries=1, fast=False).state,
    )


def taken(name: str, *, fast: bool, threads: int = 1, striped: bool = True) -> FeedOutcome:
    """The step that the second delivery is, from the state after the first."""
    people, queries, state = drawn(name)
    batch = batch_of(FEED, people.axes, people.deliveries[1:])
    index = BorderIndex.build(queries, striped=striped)
    matcher = Matcher.build(queries) if KINDS[name].matched else None
    return step(
        state,
        batch,
        index,
        deliveries=1,
        matcher=matcher,
        method="walk",
        fast=fast,
        threads=threads,
    )


@cache
def by_twins(name: str) -> FeedOutcome:
    return taken(name, fast=False)


def rows(*columns: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Columns of whole numbers as rows in a stable order."""
    table = np.stack([column.astype(np.int64) for column in columns])
    return table[:, np.lexsort(table[::-1])]


def found(outcome: FeedOutcome) -> npt.NDArray[np.generic]:
    """The events of an outcome: of which tuple and query, which way.

    Not where on the path: a tuple whose step passes nothing has a place only where all are sorted.
    """
    path, at = outcome.walked.path, outcome.found.place
    tuples = (path.stream_of(at), path.ts[at], path.nth_of(at))
    return rows(*tuples, outcome.found.query, outcome.found.type)


def decided(outcome: FeedOutcome) -> npt.NDArray[np.generic]:
    told = outcome.decided
    return rows(told.query, told.stream, told.from_ts, told.ts, told.kind, told.delivery)


def pending(outcome: FeedOutcome) -> npt.NDArray[np.generic]:
    left = outcome.state.pending
    return rows(left.query, left.stream, left.ts, left.type)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", KINDS)
def test_differential_kernels_equal_twins_on_a_crowd(name: str, threads: int) -> None:
    kind, wanted = KINDS[name], by_twins(name)
    spies = {one: mock.Mock(wraps=getattr(kernels, one)) for one in kind.kernels}
    with mock.patch.multiple(kernels, **spies):
        outcome = taken(name, fast=True, threads=threads)
        assert isinstance(outcome.walked, Walk)
        assert kind.fact(outcome.walked), "the crowd does not go the way that it is shaped for"
    assert all(spy.called for spy in spies.values()), spies
    assert len(wanted.found.place) > 1000
    for part in (found, decided, pending):
        assert np.array_equal(part(outcome), part(wanted)), part.__name__
    for column in ("ts", "values", "begun", "ended"):
        mine, theirs = getattr(outcome.state.heads, column), getattr(wanted.state.heads, column)
        assert np.array_equal(mine, theirs), column


@pytest.mark.parametrize("fast", [False, True], ids=["twins", "kernels"])
@pytest.mark.parametrize("name", [name for name in KINDS if "axes" in name])
def test_differential_border_lists_equal_stripes_on_a_crowd(name: str, fast: bool) -> None:
    outcome = taken(name, fast=fast, striped=False)
    assert isinstance(outcome.walked, Walk)
    assert not is_striped(outcome.walked)
    assert np.array_equal(found(outcome), found(by_twins(name)))


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_oracle_engine_equals_reference_on_a_crowd(axes: int, seed: int) -> None:
    people = crowd(
        replace(MIXED, axes=axes, queries=60, tuples=240, deliveries=4, widths=(4, 50), stride=12),
        seed,
    )
    expected: RunResult = run(FEED, people.axes, people.story.script)
    assert len(expected.events) > 100
    for way in (Way(), Way(fast=True), Way(fast=True, many_stripes=True, cuts=())):
        assert_same_rows(expected, play(people.story, way), ALL, note=str(way))
