"""check() of virtual intervals sees what is broken; what is no parameter of theirs is refused."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fencepost.errors import BrokenIndex, InputError
from fencepost.matches import Boxes, named
from fencepost.matches.index import Parameter
from fencepost.matches.papers.vci import Lci, LciBv
from fencepost.matches.papers.vci.lists import IntervalLists

Array = npt.NDArray[Any]

BOUNDS = np.array([[0.0, 4.5, 9.0, -np.inf, 17.0, 3.0], [7.0, 21.25, 12.0, 5.0, np.inf, 4.0]])
BOXES = Boxes.of(BOUNDS[:1], BOUNDS[1:])
WHOLE = Boxes.of(np.floor(BOUNDS[:1]), np.floor(BOUNDS[1:]))


def changed(array: Array, place: int | tuple[int, ...], value: float) -> Array:
    """A copy with one entry changed."""
    copy = array.copy()
    copy[place] = value
    return copy


def with_lists(built: Lci, **fields: Any) -> Lci:
    return replace(built, lists=replace(built.lists, **fields))


def swapped(held: IntervalLists, one: int, other: int) -> Array:
    ids = held.ids.copy()
    ids[[one, other]] = ids[[other, one]]
    return ids


LCI: dict[str, tuple[Callable[[Lci], Lci], str]] = {
    "starts that fall": (
        lambda i: replace(i, starts=changed(i.starts, 3, 99)),
        r"list 4 begins at \d+, before list 3 at 99",
    ),
    "starts that lack one": (
        lambda i: replace(i, starts=i.starts[:-1]),
        r"\d+ starts from \[0\] to .*, expected \d+ from 0 to",
    ),
    "starts past the end": (
        lambda i: replace(i, starts=changed(i.starts, -1, 99)),
        r"to \[99\], expected",
    ),
    "a list a piece too long": (
        lambda i: replace(i, starts=changed(i.starts, 3, i.starts[3] - 1)),
        "a piece of box 3 begins at position 1, expected 0",
    ),
    "another difference table": (
        lambda i: replace(i, runs=changed(i.runs, (1, 0), 0)),
        "the difference table is not that of length 4",
    ),
    "a box in another's list": (
        lambda i: with_lists(i, ids=changed(i.lists.ids, 0, 2)),
        "a piece of box 0 begins at position 4, expected 0",
    ),
    "two pieces changed": (
        lambda i: with_lists(i, ids=swapped(i.lists, 0, i.lists.pieces - 1)),
        "a piece of box .* begins at position",
    ),
    "a box that there is not": (
        lambda i: with_lists(i, ids=changed(i.lists.ids, 0, 6)),
        "none of the 6",
    ),
    "another box open below": (
        lambda i: with_lists(i, ids=changed(i.lists.ids, i.lists.pieces, 1)),
        "the 1 boxes listed as open below",
    ),
    "nobody open above": (
        lambda i: with_lists(i, outside=changed(i.lists.outside, 2, i.lists.outside[1])),
        "the 0 boxes listed as open above",
    ),
    "no room to read past the end": (
        lambda i: with_lists(i, ids=i.lists.ids[:-1]),
        "15 entries to read past, not 16",
    ),
    "other bounds": (
        lambda i: with_lists(i, bounds=changed(i.lists.bounds, (1, 0), 4.0)),
        "candidates are checked by other bounds",
    ),
    "no bounds": (
        lambda i: with_lists(i, bounds=i.lists.bounds[:0]),
        "candidates are checked by other bounds",
    ),
    "a grid that claims too much": (
        lambda i: with_lists(i, grid=replace(i.lists.grid, exact=True)),
        "the end 4.5 lies between 2[34] positions",
    ),
    "a grid that begins too late": (
        lambda i: with_lists(i, grid=replace(i.lists.grid, base=1.0)),
        "the end 0.0 lies outside of",
    ),
    "other boxes": (
        lambda i: with_lists(i, boxes=Boxes.of(BOXES.lo, np.where(BOXES.hi == 12, 13, BOXES.hi))),
        "candidates are checked by other bounds|a piece of box 2 ends at position 12, expected 13",
    ),
}


@pytest.mark.parametrize("name", LCI)
def test_check_tells_what_is_broken_in_lists(name: str) -> None:
    tamper, told = LCI[name]
    built = Lci.build(BOXES, length=4, grid="integers")
    built.check()
    with pytest.raises(BrokenIndex, match=told):
        tamper(built).check()


def test_check_sees_a_box_that_stands_in_no_list() -> None:
    one = Boxes.of(np.array([[0.0, 4.0]]), np.array([[8.0, 5.0]]))
    fewer = Boxes.of(one.lo[:, :1], one.hi[:, :1])
    built = Lci.build(fewer)
    with pytest.raises(BrokenIndex, match="box 1 stands in no list"):
        with_lists(built, boxes=one).check()


def test_check_sees_lists_that_end_elsewhere_where_the_grid_is_exact() -> None:
    built = Lci.build(WHOLE, length=4)
    built.check()
    longer = Boxes.of(WHOLE.lo, np.where(WHOLE.hi == 12, 13, WHOLE.hi))
    with pytest.raises(BrokenIndex, match="a piece of box 2 ends at position 12, expected 13"):
        with_lists(built, boxes=longer).check()


def marked(built: LciBv, interval: int) -> LciBv:
    """The same, with one mark more or one less."""
    bit = built.lists.construct.length * built.lists.construct.each + interval
    flipped = built.marks[bit // 64] ^ np.uint64(1 << (bit % 64))
    return replace(built, marks=changed(built.marks, bit // 64, flipped))


BIT_VECTOR: dict[str, tuple[Callable[[LciBv], LciBv], str]] = {
    "a mark before the first": (
        lambda i: marked(i, -1),
        "interval -1 is marked, and there is none",
    ),
    "a mark behind the last": (
        lambda i: marked(i, i.lists.grid.positions * i.lists.construct.each + 1),
        "is marked, and there is none",
    ),
    "a mark too many": (
        lambda i: marked(i, i.lists.grid.positions * i.lists.construct.each - 1),
        r"the directory has \d+ lists before word \d, the marks \d+",
    ),
    "a directory that counts too few": (
        lambda i: replace(i, directory=changed(i.directory, (1, 0), 0)),
        "the directory has 0 lists before word 1",
    ),
    "a directory that points elsewhere": (
        lambda i: replace(i, directory=changed(i.directory, (-1, 1), 0)),
        "the directory has 0 pieces before word",
    ),
    "a list too few": (lambda i: replace(i, starts=i.starts[:-1]), r"\d+ lists, and \d+ marks"),
    "a list that begins elsewhere": (
        lambda i: replace(i, starts=changed(i.starts, 2, i.starts[2] + 1)),
        "its list has 0|a piece of box",
    ),
    "another mask": (
        lambda i: replace(i, table=i.table ^ np.uint64(1)),
        "the difference table is not that of length 4",
    ),
    "a box in another's list": (
        lambda i: replace(i, lists=replace(i.lists, ids=changed(i.lists.ids, 0, 2))),
        "a piece of box 0 begins at position 4, expected 0",
    ),
}


@pytest.mark.parametrize("name", BIT_VECTOR)
def test_check_tells_what_is_broken_in_a_bit_vector(name: str) -> None:
    tamper, told = BIT_VECTOR[name]
    built = LciBv.build(BOXES, length=4, grid="integers")
    built.check()
    with pytest.raises(BrokenIndex, match=told):
        tamper(built).check()


@pytest.mark.parametrize(
    ("name", "parameters", "told"),
    [
        ("sci", {"lenght": 4}, "'sci' has no parameter 'lenght'.*Did you mean 'length'"),
        ("dlist", {"length": 4}, "'dlist' has no parameter 'length'; it has: positions, grid"),
        ("lci", {"length": 12}, "length is 12, expected a power of two"),
        ("lci", {"length": 2.0}, "length is 2.0, expected a whole number from 1 to 4,096"),
        ("sci", {"length": True}, "length is True, expected a whole number"),
        ("lci_bv", {"length": 0}, "length is 0, expected a whole number"),
        ("sci", {"positions": 2}, "positions is 2, expected a whole number from 3 to 1,048,576"),
        ("dlist", {"positions": "many"}, "positions is 'many', expected a whole number"),
        ("lci", {"grid": "integer"}, "grid is 'integer', expected one of: auto, integers, cells.*"),
        ("lci", {"grid": 5}, "grid is 5, expected one of"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused_with_what_would(
    name: str, parameters: dict[str, Parameter], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        named(name, 1).build(BOXES, **parameters)


@pytest.mark.parametrize("name", ["sci", "lci", "lci_bv", "dlist"])
def test_boxes_of_two_axes_are_refused(name: str) -> None:
    two = Boxes.of(np.zeros((2, 1)), np.ones((2, 1)))
    with pytest.raises(InputError, match="for one axis, given boxes of 2"):
        named(name, 1).build(two)


@pytest.mark.parametrize("name", ["sci", "lci", "lci_bv", "dlist"])
def test_an_index_tells_its_positions_its_length_and_its_lists(name: str) -> None:
    told = named(name, 1).build(WHOLE).describe()
    assert "22 positions from 0, the integers, ends on them" in told
    assert "L = " in told
    assert "pieces" in told
