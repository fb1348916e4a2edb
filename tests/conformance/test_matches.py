"""Every index of matches finds what `scan` finds, and `scan` what the law's own words say.

One suite over all of them: each index that there is, over each number of axes that it takes.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.errors import InputError
from fencepost.matches import KINDS, Boxes, BoxIndex, ProbeResult, named
from fencepost.matches.index import Parameter
from fencepost.matches.scan import Scan
from tests.support.stories.boxes import CROWDS, Given, by_hand, crowd, given_of

STANDING = [name for name, kind in KINDS.items() if find_spec(f"fencepost.matches.{kind.module}")]


def takes(name: str, axes: int) -> bool:
    return KINDS[name].axes in (None, axes)


EACH = [(name, axes) for name in STANDING for axes in range(1, 9) if takes(name, axes)]
SOME = [(name, axes) for name, axes in EACH if axes in (1, 2, 3, 8)]

Layouts = tuple[Mapping[str, Parameter], ...]
INTERVALS: Layouts = (
    {"length": 1, "positions": 50},
    {"length": 64, "positions": 999, "grid": "cells"},
)
RECTANGLES: Layouts = (
    {"side": 1, "positions": 9},
    {"side": 8},
    {"lists": "all", "side": 2, "positions": 40},
)
LAYOUTS: Mapping[str, Layouts] = {
    "sci": INTERVALS,
    "lci": INTERVALS,
    "lci_bv": INTERVALS,
    "dlist": ({"positions": 3}, {"positions": 999, "grid": "cells"}),
    "vcr_sd": RECTANGLES,
    "vcr_od": RECTANGLES,
    "spatial_join": ({"cluster": 1}, {"cluster": 1000, "page": 8}),
    "ladder": ({"rungs": 1}, {"rungs": 3}),
    "grid": ({"bytes_a_box": 64}, {"bytes_a_box": 1000}),
    "bitmaps": ({"stretches": 2}, {"stretches": 33}, {"stretches": 256}),
    "packed": ({"order": "hilbert"}, {"order": "halves"}),
}
"""What else an index can be built with than what it chooses by itself."""

SLACK = 1024  # bytes: an array may have been moved within its room to where a line begins


def same(one: ProbeResult, other: ProbeResult) -> bool:
    """The same numbers at the same points."""
    one, other = one.in_order(), other.in_order()
    return np.array_equal(one.ptr, other.ptr) and np.array_equal(one.ids, other.ids)


def lists(found: ProbeResult) -> list[list[int]]:
    found = found.in_order()
    return [found.at(point).tolist() for point in range(len(found))]


def built(name: str, boxes: Boxes, **parameters: Parameter) -> BoxIndex:
    index = named(name, boxes.axes).build(boxes, **parameters)
    index.check()
    return index


@cache
def built_of_crowd(name: str, axes: int, shape: str) -> BoxIndex:
    return built(name, crowd(shape, axes).boxes)


@cache
def scanned(axes: int, shape: str) -> ProbeResult:
    drawn = crowd(shape, axes)
    return Scan.build(drawn.boxes).probe(drawn.points)


@pytest.mark.parametrize("shape", CROWDS)
@pytest.mark.parametrize("axes", [1, 2, 3, 8])
def test_points_of_a_crowd_stand_on_borders_all_the_time(shape: str, axes: int) -> None:
    drawn = crowd(shape, axes)
    bounds, points = (drawn.boxes.lo, drawn.boxes.hi), drawn.points
    on = [np.isin(points[axis], [ends[axis] for ends in bounds]) for axis in range(axes)]
    assert np.mean(on) > 0.25


@pytest.mark.parametrize(("name", "axes"), EACH)
def test_oracle_index_finds_what_the_law_says(name: str, axes: int) -> None:
    @settings(max_examples=max(5, settings().max_examples // (5 if axes < 4 else 10)))
    @given(given_of(axes))
    def agrees(drawn: Given) -> None:
        assert lists(built(name, drawn.boxes).probe(drawn.points)) == list(by_hand(drawn))

    agrees()


@pytest.mark.parametrize("shape", CROWDS)
@pytest.mark.parametrize(("name", "axes"), SOME)
def test_differential_index_equals_scan(name: str, axes: int, shape: str) -> None:
    found = built_of_crowd(name, axes, shape).probe(crowd(shape, axes).points)
    assert same(found, scanned(axes, shape))
    assert len(found.ids) > 0


@pytest.mark.parametrize(("name", "axes"), SOME)
def test_what_is_found_is_whole(name: str, axes: int) -> None:
    """Pointers from 0 up, numbers of boxes, each once at a point; types as promised."""
    for shape in CROWDS:
        found = built_of_crowd(name, axes, shape).probe(crowd(shape, axes).points)
        assert [found.ptr.dtype, found.ids.dtype] == [np.dtype(np.int64), np.dtype(np.int32)]
        assert found.ptr[0] == 0
        assert found.ptr[-1] == len(found.ids)
        assert (found.counts >= 0).all()
        pairs = found.points * 1500 + found.ids
        assert len(np.unique(pairs)) == len(pairs)


@pytest.mark.parametrize(("name", "axes"), SOME)
@given(data=st.data())
@settings(max_examples=5)
def test_a_batch_is_its_points_one_by_one_in_any_order(
    name: str, axes: int, data: st.DataObject
) -> None:
    shape = data.draw(st.sampled_from(tuple(CROWDS)))
    rows = data.draw(st.lists(st.integers(0, 299), min_size=1, max_size=8))
    index, points = built_of_crowd(name, axes, shape), crowd(shape, axes).points[:, rows]
    together = index.probe(np.ascontiguousarray(points))
    alone = [index.probe(np.ascontiguousarray(points[:, [i]])) for i in range(len(rows))]
    assert same(together, ProbeResult.together(alone))
    everyone = lists(scanned(axes, shape))
    assert lists(together) == [everyone[row] for row in rows]


@pytest.mark.parametrize(
    ("name", "axes", "layout"),
    [(name, axes, layout) for name, axes in SOME for layout in LAYOUTS.get(name, ())],
)
def test_no_parameter_changes_what_is_found(
    name: str, axes: int, layout: Mapping[str, Parameter]
) -> None:
    for shape in CROWDS:
        drawn = crowd(shape, axes)
        assert same(built(name, drawn.boxes, **layout).probe(drawn.points), scanned(axes, shape))


@pytest.mark.parametrize(("name", "axes"), SOME)
def test_two_threads_may_ask_one_index(name: str, axes: int) -> None:
    shape = "widths of all sizes"
    index, points = built_of_crowd(name, axes, shape), crowd(shape, axes).points
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(lambda _: index.probe(points), range(8)))
    assert all(same(answer, scanned(axes, shape)) for answer in answers)


@pytest.mark.parametrize(("name", "axes"), SOME)
def test_nothing_is_found_among_no_boxes_and_for_no_points(name: str, axes: int) -> None:
    none = Boxes.of(np.empty((axes, 0)), np.empty((axes, 0)))
    points = np.zeros((axes, 3))
    assert lists(built(name, none).probe(points)) == [[], [], []]
    assert lists(built(name, none).probe(points[:, :0])) == []
    index = built_of_crowd(name, axes, "small boxes")
    assert lists(index.probe(points[:, :0])) == []


def arrays(thing: object) -> Iterator[np.ndarray]:
    """Every array that it holds, however deep, the boxes themselves aside."""
    if isinstance(thing, np.ndarray):
        yield thing if thing.base is None or not isinstance(thing.base, np.ndarray) else thing.base
    elif isinstance(thing, Mapping):
        for part in thing.values():
            yield from arrays(part)
    elif isinstance(thing, tuple | list):
        for part in thing:
            yield from arrays(part)
    elif is_dataclass(thing) and not isinstance(thing, Boxes):
        for field in fields(thing):
            yield from arrays(getattr(thing, field.name, None))


@pytest.mark.parametrize(("name", "axes"), SOME)
def test_the_bytes_of_every_array_are_counted(name: str, axes: int) -> None:
    index = built_of_crowd(name, axes, "wide boxes")
    held = {id(each): each.nbytes for each in arrays(index)}
    assert index.nbytes >= sum(held.values()) - SLACK
    assert index.nbytes > 0


@pytest.mark.parametrize(("name", "axes"), SOME)
def test_an_index_tells_how_it_was_laid_out(name: str, axes: int) -> None:
    told = built_of_crowd(name, axes, "predicates").describe()
    assert told
    assert "\n" not in told
    assert built_of_crowd(name, axes, "predicates").name == name


@pytest.mark.parametrize("name", [name for name in STANDING if name != "scan"])
def test_a_parameter_that_there_is_not_is_refused(name: str) -> None:
    axes = KINDS[name].axes or 2
    with pytest.raises(InputError, match="sides"):
        named(name, axes).build(crowd("small boxes", axes).boxes, sides=4)
