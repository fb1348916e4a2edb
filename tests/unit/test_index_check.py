"""check() sees whatever is broken in an index, and tells it by its facts."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fencepost.crossings import BorderIndex
from fencepost.crossings.layer import Layer
from fencepost.crossings.posts import PAD, PostList
from fencepost.errors import BrokenIndex
from fencepost.queries import QuerySet
from fencepost.queries.slots import REMOVED
from tests.support.stories.crowds import mixed, one_axis
from tests.support.stories.strategies import FEED, standing_query

AXES = ("x",)
Array = npt.NDArray[Any]


def changed(array: Array, place: int | tuple[int, ...], value: float) -> Array:
    """A copy with one entry changed."""
    copy = array.copy()
    copy[place] = value
    return copy


LISTS: dict[str, tuple[Callable[[PostList], PostList], str]] = {
    "begins out of order": (
        lambda p: replace(p, begin_posts=changed(p.begin_posts, 1, -5)),
        r"begin post 1 \(-5.0\) is below post 0 \(0.0\)",
    ),
    "ends out of order": (
        lambda p: replace(p, end_posts=changed(p.end_posts, 3, -5)),
        r"end post 3 \(-5.0\) is below post 2 \(4.0\)",
    ),
    "an open pad": (
        lambda p: replace(p, begin_posts=changed(p.begin_posts, -1, 9)),
        "the pad behind the begins is open",
    ),
    "cells that fall": (lambda p: replace(p, cells=changed(p.cells, 4, 99)), "do not add up to 40"),
    "cells that begin late": (
        lambda p: replace(p, cells=changed(p.cells, 1, 1)),
        "the cells of the ends do not add up",
    ),
    "cells that lack one": (
        lambda p: replace(p, cells=changed(p.cells, -2, 39)),
        "the cells of the begins do not add up to 40",
    ),
    "a post in another's cell": (
        lambda p: replace(p, ruler=replace(p.ruler, scale=p.ruler.scale / 2)),
        "a begin post is in a cell that is not its own",
    ),
    "a narrowest that is not": (lambda p: replace(p, narrowest=9.0), "a box is 2.0 wide, the narr"),
    "a begin that its box denies": (
        lambda p: replace(p, begin_ids=changed(p.begin_ids, 5, 6)),
        r"begin post 5 \(5.0\) is not what box 6 says, whose begin is 6.0",
    ),
    "an end that its box denies": (
        lambda p: replace(p, end_ids=changed(p.end_ids, 5, 6)),
        r"end post 5 \(7.0\) is not what box 6 says, whose end is 8.0",
    ),
    "a far end that its box denies": (
        lambda p: replace(p, begin_far=changed(p.begin_far, 5, 99)),
        "begin post 5 .* is not what box 5 says",
    ),
    "an unknown query": (
        lambda p: replace(p, end_ids=changed(p.end_ids, 5, 40)),
        "end post 5 is that of 40, unknown here",
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_check_tells_what_is_broken_in_a_list(name: str) -> None:
    tamper, told = LISTS[name]
    built = BorderIndex.build(one_axis(*((float(n), n + 2.0) for n in range(40))))
    (layer,) = built.layers
    broken = replace(built, layers=(replace(layer, plain=(tamper(layer.plain[0]),)),))
    with pytest.raises(BrokenIndex, match=told):
        broken.check()


INDEXES: dict[str, tuple[Callable[[BorderIndex], BorderIndex], str]] = {
    "a missing list": (
        lambda b: replace(b, layers=(replace(b.layers[0], plain=()), *b.layers[1:])),
        "axis 0: not every begin of a box is a post",
    ),
    "a slot that is not its own": (
        lambda b: replace(b, layers=(b.layers[0], replace(b.layers[1], slot=39))),
        "unknown here|layer 1 begins at slot 39, expected 40",
    ),
    "a query with two slots": (
        lambda b: replace(b, row_of=np.array([0, *range(40)], np.int32)),
        "41 slots and 41 queries: not every query has one slot",
    ),
    "a query with none": (
        lambda b: replace(b, row_of=np.array([REMOVED, *range(1, 41)], np.int32)),
        "not every query has one slot",
    ),
    "too few slots": (
        lambda b: replace(b, row_of=np.arange(40, dtype=np.int32)),
        "not every query has one slot",
    ),
    "an empty box": (
        lambda b: replace(b, layers=(emptied(b.layers[0]), *b.layers[1:])),
        "box 0",
    ),
}


def emptied(layer: Layer) -> Layer:
    return replace(layer, queries=replace(layer.queries, hi=layer.queries.lo))


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.fault(57)
def test_check_tells_what_is_broken_in_an_index(name: str) -> None:
    tamper, told = INDEXES[name]
    built = BorderIndex.build(one_axis(*((float(n), n + 2.0) for n in range(40))))
    built = built.with_added(one_axis((1, 2), prefix="a"))
    built.check()
    with pytest.raises(BrokenIndex, match=told):
        tamper(built).check()


def test_check_sees_what_stands_beside_the_posts_of_two_axes_and_the_bounds_of_the_boxes() -> None:
    layer = BorderIndex.build(mixed(2)).layers[0]
    posts = layer.checked_named[0]
    for column in ("begin_whole", "end_whole"):
        whole = getattr(posts, column)
        for place in range(4):
            beside = changed(whole, (1, place), 77.0)
            wrong: dict[str, Any] = {column: beside}
            broken = replace(layer, checked_named=(replace(posts, **wrong),))
            with pytest.raises(BrokenIndex, match=r"post 1 .* is not what box"):
                broken.check()
    with pytest.raises(BrokenIndex, match="the bounds of the boxes"):
        replace(layer, bounds=changed(layer.bounds, (3, 1, 0), -99)).check()


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("striped", [False, True])
def test_check_sees_a_wrong_id_in_every_list_of_a_layer(axes: int, striped: bool) -> None:
    built = BorderIndex.build(mixed(axes, queries=300), striped=striped)
    built.check()
    (layer,) = built.layers
    kinds = {
        name: getattr(layer, name)
        for name in ("plain", "plain_named", "checked", "checked_named")
        if getattr(layer, name)
    }
    assert len(kinds) == 4
    for name, lists in kinds.items():
        for number, one in enumerate(lists):
            posts = one.posts if name == "checked" else one
            for column in ("begin_ids", "end_ids"):
                ids = getattr(posts, column)
                wrong = replace(posts, **{column: changed(ids, 0, ids[:-PAD].max() + 1)})
                tampered = replace(one, posts=wrong) if name == "checked" else wrong
                others: dict[str, Any] = {name: (*lists[:number], tampered, *lists[number + 1 :])}
                broken = replace(layer, **others)
                with pytest.raises(BrokenIndex):
                    broken.check()


def test_standing_queries_that_are_bounded_nowhere_have_no_post_and_are_whole() -> None:
    all_ = QuerySet.from_queries(FEED, AXES, [standing_query("q", "ALL", on_first="enter")])
    built = BorderIndex.build(all_)
    built.check()
    assert list(built.layers[0].lists()) == []
