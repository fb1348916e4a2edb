"""The kernels that find ranks, on posts that are hard to rank among.

What is expected comes from np.searchsorted, or from the twins.
"""

from collections.abc import Callable, Iterator
from functools import partial
from math import inf

import numpy as np
import numpy.typing as npt

from fencepost.crossings import kernels, twins
from fencepost.crossings.columns import Steps
from fencepost.crossings.layer import as_posts
from fencepost.crossings.posts import PAD, PostList
from fencepost.crossings.state import UNKNOWN

Check = Callable[[], None]
Doubles = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Ranks = npt.NDArray[np.int32]
Find = Callable[[Ranks, Ranks], None]

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
