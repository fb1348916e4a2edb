"""How little the kernels read, and how little room they need.

What is compiled cannot be watched: these checks are of plain Python, with Numba's compiler off.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from math import inf
from unittest import mock

import numpy as np

from fencepost.crossings import Walk, confirm_kernels, kernels, twins
from fencepost.crossings.columns import Steps
from fencepost.crossings.kernels import COPY, U
from fencepost.crossings.layer import as_posts
from fencepost.crossings.posts import PAD
from fencepost.crossings.walk import Suspect
from fencepost.queries import StandingQuery
from fencepost.reference import FeedDelivery, Sighting
from tests.support.oracles.kernel_suite import Passing, canvas, walk_of
from tests.support.oracles.rank_checks import (
    Check,
    around,
    assert_found,
    check_ranks,
    plain_list,
    searched,
)
from tests.support.stories.crowds import Crowd, Shape, crowd
from tests.support.stories.strategies import FEED


class Counted:
    """Posts at 0, 1, 2, …, that counts how many of them are read."""

    def __init__(self, posts: int) -> None:
        """Make that many posts, and the pad."""
        self.posts, self.looks = posts, 0

    def __len__(self) -> int:
        return self.posts + PAD

    def __getitem__(self, k: int) -> float:
        self.looks += 1
        return float(k) if k < self.posts else inf


def check_gallop_looks_at_few_posts() -> None:
    """As many as the logarithm of the distance, however many there are."""
    posts = Counted(1 << 40)
    for far in (0, 1, 2, 3, 10, 100, 10**6, 10**10):
        for start in (0, 10**6):
            posts.looks = 0
            assert kernels.gallop(posts, start, float(start + far - 1)) == start + far
            assert posts.looks <= 4 + 2 * np.log2(max(far, 4))


def never(*_: object) -> None:
    raise AssertionError("a search where none is needed")


def check_spread_posts_need_no_gallop() -> None:
    """Up to four begins and four ends in a cell are passed at once, also those at the value."""
    posts = plain_list([(float(n), n + 0.5) for n in range(300)])
    crowded = plain_list([(float(n // 4), n // 4 + 0.5) for n in range(300)])
    for one in (posts, crowded):
        assert max(np.diff(one.cells[side::2]).max() for side in (0, 1)) <= 4
        values = around(one.begin_posts[: one.begins : 7])
        values = values[np.abs(values) < 1e6]
        with mock.patch.object(kernels, "gallop", never):
            check_ranks(one, values, searched(one, values))


def check_standing_still_needs_no_search() -> None:
    """A tuple between the posts of the last one, or on the lower of them, is not searched for."""
    for ranges in ([(float(n), n + 0.5) for n in range(60)], [(0.0, 1.0)], [(5.0, 9.0)] * 9):
        posts = plain_list(ranges)
        for value in (-3.0, 0.0, 0.25, 0.5, 0.75, 5.0, 7.0, 9.0, 1e9):
            ranks = searched(posts, np.array([value]))
            ends = np.concatenate([posts.begin_posts, posts.end_posts])
            below = np.max(ends[ends <= value], initial=value - 1)
            above = np.nextafter(min(np.min(ends[ends > value]), 2e9), -inf)
            values = np.array([[value, below, value, above, below]])
            steps = Steps(np.array([0, 5]), values, np.arange(5))
            find = partial(
                kernels.ranks_near, as_posts(posts), steps, 0, 1, ranks.T.astype(np.int32)
            )
            with mock.patch.object(kernels, "_cell", never):
                assert_found(find, 0, 5, np.repeat(ranks, 5, axis=1))


def check_a_handful_in_a_cell_is_walked_and_a_crowd_is_halved() -> None:
    """Wherever in the list the cell is."""
    most = confirm_kernels.CROWD
    few, many = np.arange(0.0, most), np.arange(0.0, most + 1)
    posts = np.concatenate([few, many, few, np.full(PAD, inf)])
    cells = np.repeat(np.cumsum([0, most, most + 1, most], dtype=np.int32), 2)
    find = confirm_kernels._rank_in_cell
    for cell, first in ((0, 0), (2, 2 * most + 1)):
        with mock.patch.object(confirm_kernels, "rank_within", never):
            assert find(posts, cells, U(cell), U(0), 3.5) == first + 4
    with mock.patch.object(confirm_kernels, "rank_within", return_value=7):
        assert find(posts, cells, U(1), U(1), 3.5) == 7


def check_a_round_is_enough_for_a_round() -> None:
    """What fits into whole rounds is written into room of just that size."""
    for n, room in ((0, COPY), (1, COPY), (COPY, COPY), (COPY + 1, 2 * COPY), (2 * COPY, 2 * COPY)):
        ids, out = np.arange(room, dtype=np.int32), canvas(room)
        kernels._copy(ids, U(0), U(n), 5, 1, out.place, out.query, out.type, U(0))
        assert (out.place[:n] == 5).all()
        assert (out.query[:n] == ids[:n]).all()
        assert (out.type[:n] == 1).all()
        out = canvas(room)
        kernels._mark(5, 1, U(n), out.place, out.type, U(0))
        assert (out.place[:n] == 5).all()
        assert (out.type[:n] == 1).all()


def check_only_the_end_of_the_output_is_written_with_care() -> None:
    """Slices are copied, but for steps that end within the last round."""
    posts = plain_list([(n / 4, n / 4 + 20) for n in range(300)])
    anywhere = np.random.default_rng(3).uniform(30, 45, 60)
    rounds = (30 + 2 * (np.arange(60) % 5)).astype(
        np.float64
    )  # each step passes as many posts as rounds hold
    for values in (anywhere, rounds):
        begun, ended = searched(posts, values).astype(np.int32)
        whole = Passing(posts, Steps(np.array([0, 60]), values[None], np.arange(60)), begun, ended)
        per_step = np.bincount(whole.events[0], minlength=60)
        assert per_step.sum() == whole.passed > 4 * COPY
        for last in range(40, 61):
            written = np.cumsum(per_step[:last])
            steps, stop = whole.steps._replace(starts=np.array([0, last])), int(written[-1])
            careful = int(((written > stop - COPY) & (per_step[:last] > 0)).sum())
            with mock.patch.object(kernels, "_keep", wraps=kernels._keep) as care:
                end = kernels.fill(whole.posts, steps, 0, 1, begun, ended, canvas(stop), 0, stop)
            assert end == stop
            assert care.call_count == 2 * careful


def check_room_that_is_just_enough_is_enough() -> None:
    """For a step: room for the posts it passes, and a round; for candidates, room for each."""
    posts = plain_list([(n / 4, n / 4 + 20) for n in range(300)])
    values = np.array([[33.3, 41.7]])
    begun, ended = searched(posts, values[0]).astype(np.int32)
    one = Passing(posts, Steps(np.array([0, 2]), values, np.arange(2)), begun, ended)
    for spare, runs in ((COPY, 1), (COPY - 1, 0)):
        out = canvas(one.passed + spare)
        end, run, _ = kernels.leap(one.posts, one.steps, 0, 1, begun, ended, out, 0)
        assert (end, run) == (one.passed * runs, runs)
    for axes in (2, 3):
        for suspect, walked in one_step(axes):
            columns, boxes = as_posts(suspect.posts), suspect.layer.boxes
            steps, segment = walked.path.steps, suspect.segment
            found, met = twins.confirm(columns, suspect.stripes, boxes, steps, segment)
            assert met > len(found.place)
            for room, runs in ((met, 1), (met - 1, 0)):
                out = canvas(room)
                end, run, _ = confirm_kernels.confirm(
                    columns, suspect.stripes, boxes, steps, segment, 0, 1, out, 0
                )
                assert (end, run) == (len(found.place) * runs, runs)


def one_step(axes: int, several: float = 0.0) -> list[tuple[Suspect, Walk]]:
    """The checked lists of a crowd, and a walk of one step past them."""
    shape = Shape(axes=axes, queries=60, widths=(4, 40), timed=0.5, several=several)
    people = crowd(shape)
    seen = [Sighting("s", t, (place,) * axes) for t, place in enumerate((-9.0, 11.0))]
    walked = walk_of(replace(people, deliveries=(FeedDelivery(()), FeedDelivery(tuple(seen)))))
    return [(suspect, walked) for suspect in walked.suspects]


def check_a_query_of_one_box_asks_no_other() -> None:
    """However often its validity is asked for."""
    for axes in (1, 2, 3):
        for suspect, walked in one_step(axes):
            with mock.patch.object(confirm_kernels, "speaks", never):
                confirm_kernels.confirm(
                    as_posts(suspect.posts), suspect.stripes, suspect.layer.boxes,
                    walked.path.steps, suspect.segment, 0, 1, canvas(400), 0,
                )  # fmt: skip


def check_the_sweep_meets_only_boxes_that_stand() -> None:
    """A box that ends at the sweep's value is met no more."""
    queries = tuple(
        StandingQuery(id=f"q{n}", feed=FEED, where="", boxes=(((0.0, n + 1.0),),), on_first="enter")
        for n in range(5)
    )
    seen = tuple(Sighting(f"s{n}", 0, (float(n),)) for n in range(-1, 7))
    walked = walk_of(Crowd(("x",), queries, (FeedDelivery(()), FeedDelivery(seen))))
    (layer,), path = walked.index.layers, walked.path
    places = path.starts[:-1][np.argsort(path.values[0])]
    with mock.patch.object(confirm_kernels, "holds", wraps=confirm_kernels.holds) as met:
        found = confirm_kernels.first_sight(
            layer.sighted.begins, layer.sighted.ends, 0, layer.boxes, path.steps, places,
            canvas(0), 0, False,
        )  # fmt: skip
    assert met.call_count == found == 5 + 4 + 3 + 2 + 1


def checks() -> Iterator[tuple[str, Check]]:
    """All of them, by name."""
    for check in (
        check_gallop_looks_at_few_posts,
        check_spread_posts_need_no_gallop,
        check_standing_still_needs_no_search,
        check_a_handful_in_a_cell_is_walked_and_a_crowd_is_halved,
        check_a_round_is_enough_for_a_round,
        check_only_the_end_of_the_output_is_written_with_care,
        check_room_that_is_just_enough_is_enough,
        check_a_query_of_one_box_asks_no_other,
        check_the_sweep_meets_only_boxes_that_stand,
    ):
        yield check.__name__.removeprefix("check_").replace("_", " "), check
