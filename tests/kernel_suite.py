"""The kernels, checked in a second or two even as plain Python: what `make mutants` runs.

Fixed examples and seeded crowds, against the twins, NumPy and the reference. All that is expected
is computed first, by others than the kernels; a check then only runs kernels and compares.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import inf
from unittest import mock

import numpy as np
import numpy.typing as npt

from fencepost.crossings import BorderIndex, Walk, confirm_kernels, expand, kernels, room, twins
from fencepost.crossings.columns import Events, Steps
from fencepost.crossings.layer import as_posts
from fencepost.crossings.posts import PAD, PostList
from fencepost.crossings.state import UNKNOWN
from fencepost.engine import FeedState, step
from fencepost.queries import QuerySet
from fencepost.reference import Rows, run
from fencepost.times import ALWAYS_TO
from fencepost.transitions import kernels as deciding
from fencepost.transitions import twins as decided
from fencepost.transitions.columns import Fates, Sequences
from tests.crowds import MIXED, Crowd, Shape, crowd
from tests.oracles import assert_same_rows, batch_of
from tests.play import Way, play, stripes_for_few
from tests.strategies import FEED

ALL = ("events", "transitions", "rejected", "pending", "heads", "waiting", "watermark")
Check = Callable[[], None]
Doubles = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Ranks = npt.NDArray[np.int32]

TINY = 5e-324
HUGE = 1.7e308
RANGES: dict[str, list[tuple[float, float]]] = {
    "spread": [(float(n), n + 2.5) for n in range(200)],
    "all the same": [(3.0, 4.0)] * 500,
    "two clumps": [(0.0, 1.0)] * 300 + [(1e6, 1e6 + 1)] * 300,
    "far outliers": [*((n / 7, n / 7 + 1) for n in range(300)), (-1e300, 0.0), (1e300, inf)],
    "the ends of the doubles": [(-HUGE, HUGE), (-inf, -HUGE), (HUGE, inf), (0.0, TINY)],
    "denormal gaps": [(n * TINY, (n + 3) * TINY) for n in range(-50, 50)],
    "neighbouring doubles": [(1 + n * 2**-52, 1 + (n + 1) * 2**-52) for n in range(100)],
    "skewed": [(1.1**n, 1.1 ** (n + 1)) for n in range(-300, 300)],
    "only begins": [(float(n % 11), inf) for n in range(50)],
    "only ends": [(-inf, float(n % 11)) for n in range(50)],
    "one": [(0.0, 1.0)],
}


def plain_list(ranges: list[tuple[float, float]]) -> PostList:
    """Queries on one axis, for all streams."""
    lo, hi = np.array(ranges).T
    return PostList.build(0, np.arange(len(ranges), dtype=np.int32), lo, hi)


def around(ends: Doubles) -> Doubles:
    """Every end, the double on either side of it, and the ends of all; each twice, in no order."""
    with np.errstate(over="ignore"):
        near = [ends, np.nextafter(ends, inf), np.nextafter(ends, -inf)]
    values = np.concatenate([*near, [0.0, HUGE, -HUGE, TINY, -TINY, 1e300]])
    values = np.unique(values[np.isfinite(values)])
    return np.random.default_rng(1).permutation(np.repeat(values, 2))


def searched(posts: PostList, values: Doubles) -> Numbers:
    """How many begins, and how many ends, are at or below each value, by searchsorted."""
    sides = (posts.begin_posts[: posts.begins], posts.end_posts[: posts.ends])
    return np.array([np.searchsorted(side, values, side="right") for side in sides])


# ── ranks ─────────────────────────────────────────────────────────────────────────────────────────


Find = Callable[[Ranks, Ranks], None]


def assert_found(find: Find, start: int, stop: int, expected: Numbers) -> None:
    """What is found for these places is as expected, and nothing is written to any other."""
    found = np.full(expected.shape, -7, np.int32)
    with np.errstate(over="ignore"):
        find(found[0], found[1])
    assert np.array_equal(found[:, start:stop], expected[:, start:stop])
    assert (found[:, :start] == -7).all()
    assert (found[:, stop:] == -7).all()


def check_ranks(posts: PostList, values: Doubles, expected: Numbers) -> None:
    """Of some places, not all."""
    columns, n = as_posts(posts), len(values)
    for start, stop in ((0, n), (n // 3, n - 1), (0, n // 3)):
        find = partial(kernels.ranks, columns, values, start, stop)
        assert_found(find, start, stop, expected)


def check_ranks_near(posts: PostList, values: Doubles, expected: Numbers) -> None:
    """Runs of many lengths, from places that are known and from some that are not."""
    starts = np.unique(np.linspace(0, len(values), 12).astype(np.int64))
    known = expected[:, starts[:-1]].T.astype(np.int32).copy()
    known[1::3] = UNKNOWN
    steps = Steps(starts, values[None], np.arange(len(values)))
    columns, runs = as_posts(posts), len(known)
    for first, last in ((0, runs), (2, runs), (0, 1)):
        find = partial(kernels.ranks_near, columns, steps, first, last, known)
        assert_found(find, starts[first], starts[last], expected)


def check_gallop(posts: Doubles, values: Doubles) -> None:
    """From every sort of rank that is not too high."""
    own = posts[:-PAD]
    for value, rank in zip(values, np.searchsorted(own, values, side="right"), strict=True):
        for start in {0, rank // 2, max(rank - 5, 0), max(rank - 1, 0), rank}:
            assert kernels.gallop(posts, start, value) == rank


def check_ranks_within(posts: PostList, steps: Steps, own: Ranks) -> None:
    """Against the twin."""
    columns, runs = as_posts(posts), len(own)
    expected = np.array(twins.ranks_within(columns, steps, own), np.int64)
    for first, last in ((0, runs), (runs // 2, runs), (0, 1)):
        find = partial(kernels.ranks_within, columns, steps, own, first, last)
        assert_found(find, steps.starts[first], steps.starts[last], expected)


def rank_checks() -> Iterator[tuple[str, Check]]:
    """Every kernel that finds ranks, on posts that are hard to rank among."""
    for name, ranges in RANGES.items():
        posts = plain_list(ranges)
        values = around(np.array(ranges).ravel())
        values = values[:: -(-len(values) // 260)]  # enough for many blocks
        expected = searched(posts, values)
        yield f"ranks, {name}", partial(check_ranks, posts, values, expected)
        yield f"ranks near, {name}", partial(check_ranks_near, posts, values, expected)
        few = values[:: -(-len(values) // 40)]
        yield f"gallop, {name}", partial(check_gallop, posts.begin_posts, few)
    chance = np.random.default_rng(2)
    for segments in (1, 4):
        lo = chance.integers(0, 12, 60).astype(np.float64)
        hi = lo + chance.integers(1, 9, 60).astype(np.float64)
        segment, ids = chance.integers(0, segments, 60), np.arange(60, dtype=np.int32)
        values = chance.integers(-1, 22, (1, 120)).astype(np.float64)
        steps = Steps(np.arange(0, 121, 12), values, np.arange(120))
        own = np.array([*range(segments), -1, *[0] * 10], np.int32)[:10]
        for spread in (False, True):
            posts = PostList.build(0, ids, lo, hi, segment, segments, spread=spread)
            yield f"{segments} segments", partial(check_ranks_within, posts, steps, own)


# ── the walk ──────────────────────────────────────────────────────────────────────────────────────


def walk_of(people: Crowd, *, striped: bool = True) -> Walk:
    """The walk of a crowd's later deliveries past its queries, ranked by the twins."""
    queries = QuerySet.from_queries(FEED, people.axes, people.queries)
    index = BorderIndex.build(queries, striped=striped)
    state = FeedState.empty(FEED, people.axes)
    first = batch_of(FEED, people.axes, people.deliveries[:1])
    later = batch_of(FEED, people.axes, people.deliveries[1:])
    state = step(state, first, index, deliveries=1, fast=False).state
    deliveries = len(people.deliveries) - 1
    return step(state, later, index, deliveries=deliveries, fast=False).walked


def ordered(found: Events) -> Numbers:
    """Events as rows in a stable order."""
    rows = np.stack([column.astype(np.int64) for column in found])
    return rows[:, np.lexsort(rows[::-1])]


def check_rank_kernels(walked: Walk) -> None:
    """On a path, with the pointers that its heads bring."""
    path, runs = walked.path, len(walked.path.stream)
    for standing in walked.standings:
        columns, axis = as_posts(standing.posts), standing.posts.axis
        found = np.full((2, len(path)), -7, np.int32)
        if standing.segment is not None:
            kernels.ranks_within(columns, path.steps, standing.segment, 0, runs, *found)
        else:
            known = np.stack([path.begun[axis], path.ended[axis]], axis=1)
            kernels.ranks_near(columns, path.steps, 0, runs, known, *found)
            again = np.full((2, len(path)), -7, np.int32)
            kernels.ranks(columns, path.values[axis], 0, len(path), *again)
            assert np.array_equal(again, found)
        assert np.array_equal(found, [standing.begun, standing.ended])


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
    """Room for events in which nothing stands yet."""
    white = np.full(size, -9, np.int32)
    return Events(white, white.copy(), white.astype(np.int8))


def part(out: Events, start: int, stop: int) -> Events:
    return Events(out.place[start:stop], out.query[start:stop], out.type[start:stop])


def between(out: Events, start: int, stop: int) -> Numbers:
    """The events from start to stop; whatever stands elsewhere was written by mistake."""
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
        for cut, walked in walks.items():
            yield f"ranks of {name}, {cut}", partial(check_rank_kernels, walked)
            for s in walked.standings:
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


def check_decisions(events: Sequences, watermarks: Numbers, expected: Fates) -> None:
    """Fates and deliveries are all written, whatever stood there."""
    n = len(events.ts)
    fates = Fates(np.full(n, 99, np.int8), np.full(n, 99, np.int32))
    deciding.decide(events, watermarks, fates)
    assert np.array_equal(fates.fate, expected.fate)
    assert np.array_equal(fates.delivery, expected.delivery)


def decision_checks() -> Iterator[tuple[str, Check]]:
    """Short sequences of a few queries and streams, under watermarks that stand still and jump."""
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
        watermarks = np.sort(chance.integers(-5, 50, deliveries + 1))
        expected = Fates(np.empty(n, np.int8), np.empty(n, np.int32))
        decided.decide(events, watermarks, expected)
        yield f"decisions {seed}", partial(check_decisions, events, watermarks, expected)


def check_story(people: Crowd, expected: Rows, way: Way) -> None:
    """The engine against the reference."""
    assert_same_rows(expected, play(people.story, way), ALL)


def story_checks() -> Iterator[tuple[str, Check]]:
    """Small crowds from the first delivery to the last."""
    for axes in (1, 2, 3):
        shape = replace(
            MIXED, axes=axes, queries=40, tuples=120, deliveries=5, widths=(4, 50), stride=12
        )
        people = crowd(shape)
        expected = run(FEED, people.axes, people.story.script)
        assert len(expected.events) > 50
        assert_same_rows(expected, play(people.story), ALL)
        for way in (Way(fast=True), Way(fast=True, many_stripes=True, cuts=())):
            yield f"story of {axes} axes", partial(check_story, people, expected, way)


def checks() -> list[tuple[str, Check]]:
    """All of it, by name; those that notice most come first."""
    assert confirm_kernels.holds  # one of the modules that are broken and checked through others
    return [*walk_checks(), *rank_checks(), *decision_checks(), *story_checks()]
