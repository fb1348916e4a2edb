"""The kernels, checked in a second or two even as plain Python: what `make mutants` runs.

Fixed examples and seeded crowds, against the twins, NumPy and the reference. All that is expected
is computed first, by others than the kernels; a check then only runs kernels and compares.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from unittest import mock

import numpy as np

from fencepost.crossings import BorderIndex, Walk, confirm_kernels, expand, kernels, room, twins
from fencepost.crossings.columns import Events, Steps
from fencepost.crossings.layer import as_posts
from fencepost.crossings.posts import PostList
from fencepost.engine import step
from fencepost.matches import auto
from fencepost.queries import QuerySet, StandingQuery
from fencepost.reference import FeedDelivery, RunResult, Sighting, run
from fencepost.state import FeedState
from fencepost.times import ALWAYS_TO
from fencepost.transitions import kernels as deciding
from fencepost.transitions import twins as decided
from fencepost.transitions.columns import Fates, Sequences
from fencepost.tuples import Int32s
from tests.support.oracles.oracles import assert_same_rows, batch_of
from tests.support.oracles.rank_checks import (
    Check,
    Numbers,
    Ranks,
    plain_list,
    rank_checks,
    searched,
)
from tests.support.stories.crowds import MIXED, Crowd, Shape, crowd
from tests.support.stories.play import Way, play, stripes_for_few
from tests.support.stories.strategies import FEED

ALL = ("events", "transitions", "rejected", "pending", "heads", "waiting", "watermark")

# ── the walk ──────────────────────────────────────────────────────────────────────────────────────


def walk_of(people: Crowd, *, striped: bool = True, layered: bool = False) -> Walk:
    """The walk of a crowd's later deliveries past its queries, ranked by the twins."""
    queries = QuerySet.from_queries(FEED, people.axes, people.queries)
    index = BorderIndex.build(queries, striped=striped)
    if layered:
        half = np.arange(len(queries) // 2)
        index = BorderIndex.build(queries.take(half), striped=striped)
        index = index.with_added(queries.take(half[-1] + 1 + half))
    state = FeedState.empty(FEED, people.axes)
    first = batch_of(FEED, people.axes, people.deliveries[:1])
    later = batch_of(FEED, people.axes, people.deliveries[1:])
    state = step(state, first, index, deliveries=1, fast=False).state
    deliveries = len(people.deliveries) - 1
    walked = step(state, later, index, deliveries=deliveries, method="walk", fast=False).walked
    assert isinstance(walked, Walk)
    return walked


def ordered(found: Events) -> Numbers:
    """Events as rows in a stable order."""
    rows = np.stack([column.astype(np.int64) for column in found])
    return rows[:, np.lexsort(rows[::-1])]


def check_rank_kernels(walked: Walk) -> None:
    """On a path, with the pointers that its heads bring."""
    path, runs = walked.path, len(walked.path.stream)
    for ranking in walked.rankings:
        columns, axis = as_posts(ranking.posts), ranking.posts.axis
        found = np.full((2, len(path)), -7, np.int32)
        if ranking.segment is not None:
            kernels.ranks_within(columns, path.steps, ranking.segment, 0, runs, *found)
        else:
            known = np.stack([path.begun[axis], path.ended[axis]], axis=1)
            kernels.ranks_near(columns, path.steps, 0, runs, known, *found)
            again = np.full((2, len(path)), -7, np.int32)
            kernels.ranks(columns, path.values[axis], 0, len(path), *again)
            assert np.array_equal(again, found)
        assert np.array_equal(found, [ranking.begun, ranking.ended])


class Passing:
    """A plain list, a path past it, and what the twins say of the two."""

    def __init__(self, posts: PostList, steps: Steps, begun: Ranks, ended: Ranks) -> None:
        """Rank by the twins, find the events by the twins."""
        self.posts, self.steps, self.begun, self.ended = as_posts(posts), steps, begun, ended
        self.events = ordered(twins.crossings(self.posts, steps, begun, ended))
        _, c = twins.pairs(steps)
        self.passed = sum(
            int(np.abs(ranks[c] - ranks[c - 1]).sum(dtype=np.int64)) for ranks in (begun, ended)
        )

    def of_runs(self, first: int, last: int) -> Numbers:
        """The events of some runs."""
        place, (low, high) = self.events[0], self.steps.starts[[first, last]]
        return self.events[:, (low <= place) & (place < high)]


def canvas(size: int) -> Events:
    """Room for events in which nothing is written yet."""
    white = np.full(size, -9, np.int32)
    return Events(white, white.copy(), white.astype(np.int8))


def part(out: Events, start: int, stop: int) -> Events:
    return Events(out.place[start:stop], out.query[start:stop], out.type[start:stop])


def between(out: Events, start: int, stop: int) -> Numbers:
    """The events from start to stop; anything elsewhere was written by mistake."""
    assert all((column[:start] == -9).all() for column in out)
    assert all((column[stop:] == -9).all() for column in out)
    return ordered(part(out, start, stop))


def check_count_and_fill(one: Passing) -> None:
    """All runs, and all but the first and the last, written between walls that must stay white."""
    runs, places = len(one.steps.starts) - 1, len(one.steps.ts)
    for first, last in ((0, runs), (1, runs - 1)):
        expected = one.of_runs(first, last)
        counts = np.ones(places, np.int32)
        ranks = (one.begun, one.ended)
        total, passed = kernels.count(one.posts, one.steps, first, last, *ranks, counts)
        assert total == expected.shape[1]
        assert passed == one.passed or first > 0
        assert np.array_equal(counts, 1 + np.bincount(expected[0], minlength=places))
        out = canvas(total + 40)
        end = kernels.fill(one.posts, one.steps, first, last, *ranks, out, 20, 20 + total)
        assert end == 20 + total
        assert np.array_equal(between(out, 20, 20 + total), expected)


def check_leap(one: Passing) -> None:
    """Into rooms of any size: what does not fit is left, run by run."""
    runs, places = len(one.steps.starts) - 1, len(one.steps.ts)
    for size in (80, 200, 2 * places, 4 * (one.passed + 64)):
        out = canvas(size)
        ranks = (one.begun, one.ended)
        end, run, met = kernels.leap(one.posts, one.steps, 1, runs, *ranks, out, 5)
        assert met == 0
        assert all((column[:5] == -9).all() for column in out)
        assert np.array_equal(ordered(part(out, 5, end)), one.of_runs(1, run))
    assert run == runs


def leap_by_rounding() -> Passing:
    """Steps whose length is rounded to the width of the ranges that they leap over, and no more."""
    posts = plain_list([(1.0, 2.0)] * 20 + [(1.5, 100.0)] * 30)
    values = np.array([[float(np.nextafter(1, 0)), 2.0] * 30])
    assert values[0, 1] - values[0, 0] == posts.narrowest
    ranks = searched(posts, values[0]).astype(np.int32)
    return Passing(posts, Steps(np.arange(0, 61, 10), values, np.arange(60)), *ranks)


def check_walk(walked: Walk, expected: Numbers, examined: int, often: float, guess: int) -> None:
    """The second pass as a whole; every list leaps, or none does."""
    with (
        mock.patch.object(expand, "OFTEN", often),
        mock.patch.object(room, "FIRST_GUESS", guess),
        np.errstate(over="ignore"),
    ):
        again = replace(walked, fast=True)
        assert np.array_equal(ordered(expand.events(again)), expected)
        assert expand.examined(again) == examined


SHAPES = {
    "one axis": Shape(queries=60, tuples=200),
    "one axis, hardly a move": Shape(queries=30, tuples=300, still=0.8),
    "one axis, wide": Shape(queries=60, tuples=200, widths=(8, 20), stride=1, endless=0.3),
    "one axis, long slices": Shape(queries=300, tuples=60, widths=(10, 20), stride=9, endless=0.1),
    "one axis, a clump": Shape(queries=120, tuples=80, clumped=0.9, widths=(1, 2), stride=6),
    "one axis, mixed": replace(MIXED, queries=120, tuples=240, stride=6),
    "two axes": Shape(axes=2, queries=60, tuples=240, widths=(4, 40), stride=6),
    "two axes, a clump": Shape(
        axes=2, queries=90, tuples=60, clumped=0.9, widths=(1, 40), stride=9
    ),
    "two axes, mixed": replace(
        MIXED, axes=2, queries=120, tuples=240, widths=(4, 50), stride=9, bound=0.7
    ),
    "three axes": Shape(axes=3, queries=60, tuples=240, widths=(10, 60), stride=12),
    "three axes, mixed": replace(
        MIXED, axes=3, queries=120, tuples=240, widths=(10, 60), stride=12, bound=0.6
    ),
}


def walk_checks() -> Iterator[tuple[str, Check]]:
    """Every kernel of both passes, on small crowds of every kind."""
    yield "leap by rounding, counted", partial(check_count_and_fill, leap_by_rounding())
    yield "leap by rounding", partial(check_leap, leap_by_rounding())
    for name, shape in SHAPES.items():
        with stripes_for_few():
            walks = {"cut": walk_of(crowd(shape))}
        walks["whole"] = walk_of(crowd(shape, 1), striped=False)
        walks["layered"] = walk_of(crowd(shape, 2), layered=True)
        for cut, walked in walks.items():
            yield f"ranks of {name}, {cut}", partial(check_rank_kernels, walked)
            for s in walked.rankings:
                one = Passing(s.posts, walked.path.steps, s.begun, s.ended)
                yield f"plain list of {name}", partial(check_count_and_fill, one)
                yield f"leaps of {name}", partial(check_leap, one)
            examined = walked.passed + sum(
                twins.confirm(
                    as_posts(s.posts), s.stripes, s.layer.boxes, walked.path.steps, s.segment
                )[1]
                for s in walked.suspects
            )
            for often, guess in ((-1.0, 4), (2.0, 0)):
                check = partial(check_walk, walked, ordered(walked.events), examined, often, guess)
                yield f"walk of {name}, {cut}, {often}", check


# ── transitions, and all of it ────────────────────────────────────────────────────────────────────


def check_decisions(events: Sequences, watermarks: Numbers, own: Int32s, expected: Fates) -> None:
    """Fates and deliveries are all written, whatever was there before."""
    n = len(events.ts)
    fates = Fates(np.full(n, 99, np.int8), np.full(n, 99, np.int32))
    deciding.decide(events, watermarks, own, fates)
    assert np.array_equal(fates.fate, expected.fate)
    assert np.array_equal(fates.delivery, expected.delivery)


def decision_checks() -> Iterator[tuple[str, Check]]:
    """Short sequences of a few queries and streams, under watermarks that stall and jump."""
    for seed in range(12):
        chance = np.random.default_rng(seed)
        n, deliveries = 60, int(chance.integers(0, 7))
        query, stream = np.sort(chance.integers(0, 12, n)), chance.integers(0, 2, n)
        order = np.lexsort((stream, query))
        ts = np.cumsum(chance.integers(0, 4, n)) % 40
        delivery = np.clip(np.sort(chance.integers(-1, max(deliveries, 1), n)), -1, deliveries - 1)
        valid_to = np.where(chance.random(n) < 0.7, ALWAYS_TO, ts + chance.integers(-2, 6, n))
        events = Sequences(
            query[order].astype(np.int32),
            stream[order].astype(np.int32),
            ts[order],
            delivery.astype(np.int32),
            chance.integers(0, 6, n),
            valid_to[order],
        )
        met = chance.choice(events.ts + events.within, deliveries + 1)  # to the microsecond
        watermarks = np.sort(
            np.where(chance.random(deliveries + 1) < 0.5, met, chance.integers(-5, 50, len(met)))
        )
        first = np.maximum(events.delivery, 0)
        by_stream = np.minimum(first + chance.integers(0, 4, n), deliveries).astype(np.int32)
        for own in (by_stream[:0], np.maximum(by_stream, first).astype(np.int32)):
            expected = Fates(np.empty(n, np.int8), np.empty(n, np.int32))
            decided.decide(events, watermarks, own, expected)
            check = partial(check_decisions, events, watermarks, own, expected)
            yield f"decisions {seed}, {len(own)} clocks", check


def check_story(people: Crowd, expected: RunResult, way: Way) -> None:
    """The engine against the reference; the matches' own kernels are not what is broken here."""
    with mock.patch.object(auto, "FEW", sys.maxsize):
        assert_same_rows(expected, play(people.story, way), ALL)


def first_sights() -> Crowd:
    """Streams first seen on the ends of ranges, at the ends of validities; some in two boxes."""
    ends = range(5)
    ranges = [((float(a), float(b)),) for a in ends for b in ends if a < b]
    wholes = [(one,) for one in ranges] + [(one, other) for one in ranges for other in ranges[::3]]
    validities = [(None, None), (0, None), (1, None), (None, 0), (None, 1), (0, 1)]
    queries = [
        StandingQuery(
            id=f"{number} {begin} {end}",
            feed=FEED,
            where="drawn as boxes",
            boxes=boxes,
            on_first="enter",
            valid_from=begin,
            valid_to=end,
        )
        for number, boxes in enumerate(wholes)
        for begin, end in (validities if len(boxes) == 1 else validities[:1])
    ]
    seen = tuple(Sighting(f"s{place}", 0, (place / 2,)) for place in range(-1, 11))
    return Crowd(("x",), tuple(queries), (FeedDelivery(seen),))


def check_first_sight(walked: Walk, expected: Numbers) -> None:
    """The sweep alone, between walls."""
    (layer,), path = walked.index.layers, walked.path
    sweep, places = layer.sighted, path.starts[:-1]
    places = places[np.argsort(path.values[sweep.axis, places])]
    out, total = canvas(expected.shape[1] + 40), expected.shape[1]
    for write in (False, True):
        found = confirm_kernels.first_sight(
            sweep.begins, sweep.ends, sweep.axis, layer.boxes, path.steps, places, out, 20, write
        )
        assert found == total
        assert write or all((column == -9).all() for column in out)
    assert np.array_equal(between(out, 20, 20 + total), expected)


def story_checks() -> Iterator[tuple[str, Check]]:
    """Small crowds from the first delivery to the last."""
    tales = {"first sights": first_sights()}
    for axes in (1, 2, 3):
        shape = replace(
            MIXED, axes=axes, queries=40, tuples=120, deliveries=5, widths=(4, 50), stride=12
        )
        tales[f"{axes} axes"] = crowd(shape)
    for name, people in tales.items():
        expected = run(FEED, people.axes, people.story.script)
        assert len(expected.events) > 30
        assert_same_rows(expected, play(people.story), ALL)
        compared = Way(fast=True, method="difference", stretches=True)
        for way in (Way(fast=True), Way(fast=True, many_stripes=True, cuts=()), compared):
            yield f"story of {name}", partial(check_story, people, expected, way)
    people = tales["first sights"]
    index = BorderIndex.build(QuerySet.from_queries(FEED, people.axes, people.queries))
    batch = batch_of(FEED, people.axes, people.deliveries)
    state = FeedState.empty(FEED, people.axes)
    walked = step(state, batch, index, deliveries=1, method="walk", fast=False).walked
    assert isinstance(walked, Walk)
    yield "first sights", partial(check_first_sight, walked, ordered(walked.events))


def checks() -> list[tuple[str, Check]]:
    """All of it, by name; the most sensitive checks come first."""
    return [*walk_checks(), *rank_checks(), *decision_checks(), *story_checks()]
