"""The packed tree: full nodes, in whatever order, and a check that notices what is broken."""

from dataclasses import replace

import numpy as np
import pytest

from fencepost.errors import BrokenIndex, InputError
from fencepost.matches import Boxes
from fencepost.matches.packed import Packed, index, kernels
from fencepost.matches.packed.index import ORDERS, aligned, levels, ordered
from fencepost.matches.scan import Scan
from tests.support.stories.boxes import crowd


def row(many: int) -> Boxes:
    """[0, 1), [1, 2), …, on one axis."""
    lo = np.arange(many, dtype=np.float64)[None]
    return Boxes.of(lo, lo + 1)


def test_all_nodes_but_the_last_of_a_level_are_full() -> None:
    assert levels(1).tolist() == [0, 1]
    assert levels(16).tolist() == [0, 1]
    assert levels(17).tolist() == [0, 1, 3]
    assert levels(16 * 16 + 1).tolist() == [0, 1, 3, 20]


@pytest.mark.parametrize("order", ORDERS)
def test_on_one_axis_either_order_puts_neighbours_into_one_leaf(order: str) -> None:
    shuffled = np.random.default_rng(3).permutation(1024)
    ids = ordered(row(1024).take(shuffled), order, 16)
    leaves = np.sort(shuffled[ids].reshape(-1, 16), axis=1)
    assert (np.diff(leaves, axis=1) == 1).all()


def test_a_hilbert_curve_goes_from_each_cell_to_one_beside_it() -> None:
    side = np.arange(8.0)
    corners = np.stack([each.ravel() for each in np.meshgrid(side, side)])
    keys = np.empty(64, np.int64)
    kernels.hilbert(corners, corners + 1, np.zeros(2), np.full(2, 8.0), 3, keys)
    walk = corners[:, np.argsort(keys)]
    assert (np.abs(np.diff(walk, axis=1)).sum(axis=0) == 1).all()


def test_halves_cut_where_open_ends_lie_apart() -> None:
    """Boxes open to the left do not share a leaf with boxes open to the right."""
    at = np.linspace(0, 1, 64)
    lo = np.concatenate([np.full(64, -np.inf), at])
    hi = np.concatenate([at + 0.01, np.full(64, np.inf)])
    ids = ordered(Boxes.of(lo[None], hi[None]), "halves", 16)
    assert all(len(np.unique(leaf < 64)) == 1 for leaf in ids.reshape(-1, 16))


@pytest.mark.parametrize("axes", [1, 3, 9])
def test_halves_are_an_order_of_all_boxes(axes: int) -> None:
    for many in (0, 1, 17, 1500):
        boxes = crowd("predicates", axes).boxes.take(np.arange(many))
        assert sorted(ordered(boxes, "halves", 16).tolist()) == list(range(many))


def test_halving_ends_where_all_bounds_are_the_same() -> None:
    same = Boxes.of(np.zeros((2, 40_000)), np.ones((2, 40_000)))
    assert len(Packed.build(same).probe(np.full((2, 1), 0.5)).ids) == 40_000


def test_points_taken_along_a_curve_are_found_in_the_order_they_were_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = crowd("widths of all sizes", 3)
    packed = Packed.build(drawn.boxes)
    one_by_one = packed.probe(drawn.points)
    monkeypatch.setattr(index, "CROWD", 1)
    monkeypatch.setattr(index, "LARGE", 0)
    for points in (drawn.points, drawn.points[:, :1], np.full((3, 40), 0.5)):
        along = packed.probe(points).in_order()
        truth = Scan.build(drawn.boxes).probe(points).in_order()
        assert np.array_equal(along.ptr, truth.ptr)
        assert np.array_equal(along.ids, truth.ids)
    assert len(packed.probe(drawn.points).ids) == len(one_by_one.ids)


def test_nine_axes_are_taken() -> None:
    drawn = crowd("predicates", 9)
    packed = Packed.build(drawn.boxes)
    packed.check()
    held = (drawn.boxes.lo[:, :, None] <= drawn.points[:, None]) & (
        drawn.points[:, None] < drawn.boxes.hi[:, :, None]
    )
    assert packed.probe(drawn.points).counts.tolist() == held.all(axis=0).sum(axis=0).tolist()


def test_room_begins_with_a_line_of_the_cache() -> None:
    for size in (1, 1000):
        room = aligned((size, 2), np.float64)
        assert room.ctypes.data % 64 == 0
        assert room.shape == (size, 2)


@pytest.mark.parametrize("order", ["curve", 3])
def test_an_order_that_there_is_not_is_refused(order: str | int) -> None:
    with pytest.raises(InputError, match=r"order is .*expected one of: halves, hilbert"):
        Packed.build(row(3), order=order)


def test_check_notices_a_box_that_is_missing() -> None:
    packed = Packed.build(row(40))
    ids = packed.ids.copy()
    ids[7] = ids[8]
    with pytest.raises(BrokenIndex, match="each of 40 boxes once"):
        replace(packed, ids=ids).check()


@pytest.mark.parametrize("at", [0, 16, 32 + 5, -1])
def test_check_notices_any_bound_that_is_wrong(at: int) -> None:
    """A root's, lower and upper, a leaf's, and a place without a box."""
    packed = Packed.build(row(40))
    bounds = packed.bounds.copy()
    bounds[at] = 100.0
    with pytest.raises(BrokenIndex, match="level"):
        replace(packed, bounds=bounds).check()


def test_what_was_built_is_told() -> None:
    assert Packed.build(row(3)).describe() == "1 level of nodes of 16, boxes in the order of halves"
    assert Packed.build(row(40), order="hilbert").describe().startswith("2 levels")
