"""The bitmaps: where axes are cut, who is sure and who may be, and batches in shares."""

from dataclasses import replace

import numpy as np
import pytest

from fencepost.errors import BrokenIndex, InputError
from fencepost.matches import Boxes
from fencepost.matches.bitmaps import Bitmaps, batch, index
from fencepost.matches.bitmaps.index import chosen_cuts
from fencepost.matches.bitmaps.kernels import BLOCK, CUTS
from fencepost.matches.scan import Scan
from fencepost.tuples import Doubles
from tests.support.stories.boxes import CROWDS, crowd

INF = np.inf
THREE = Boxes.of(np.array([[0.0, 1.0, -INF]]), np.array([[4.0, 2.0, 1.0]]))
"""[0, 4), [1, 2), below 1."""


def always_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "SMALL", 0)
    monkeypatch.setattr(index, "FEW", 16)
    monkeypatch.setattr(index, "DENSE", 1 << 30)


def bits(built: Bitmaps, which: int) -> list[list[int]]:
    """Of each row of the first block, the boxes whose bit is set."""
    words = built.table.words.reshape(built.blocks, -1, 2, 8)[0, :, which]
    places = [np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")) for row in words]
    return [sorted(built.table.ids[place].tolist()) for place in places]


def assert_finds_all(built: Bitmaps, points: Doubles) -> None:
    found, truth = built.probe(points).in_order(), Scan.build(built.boxes).probe(points).in_order()
    assert np.array_equal(found.ptr, truth.ptr)
    assert np.array_equal(found.ids, truth.ids)


def test_with_few_bounds_every_one_is_a_cut_and_all_are_sure() -> None:
    built = Bitmaps.build(THREE)
    assert built.cuts[:5].tolist() == [0.0, 1.0, 2.0, 4.0, INF]
    rows = [[2], [0, 2], [0, 1], [0], []]  # below 0, [0, 1), [1, 2), [2, 4), from 4 on
    assert bits(built, 0) == bits(built, 1) == rows


def test_with_few_stretches_who_holds_a_part_may_and_is_not_sure() -> None:
    built = Bitmaps.build(THREE, stretches=2)
    assert built.cuts[:2].tolist() == [1.0, INF]
    assert bits(built, 0) == [[0, 2], [0, 1]]
    assert bits(built, 1) == [[2], []]


def test_cuts_leave_as_many_bounds_between_them() -> None:
    bounds = np.concatenate([np.arange(1000.0), [INF, -INF, INF]])
    cuts = chosen_cuts(bounds, 5)
    assert np.diff([-1, *cuts, 1000]).round(-1).tolist() == [200.0] * 5
    assert chosen_cuts(np.array([INF, -INF]), 5).tolist() == []
    assert chosen_cuts(np.repeat([1.0, 2.0], 5000), 3).tolist() == [1.0, 2.0]


def test_an_axis_without_bounds_is_one_stretch_of_which_all_are_sure() -> None:
    free = np.full(3, INF)
    built = Bitmaps.build(Boxes.of(np.stack([THREE.lo[0], -free]), np.stack([THREE.hi[0], free])))
    assert np.diff(built.begin).tolist() == [5, 1]
    assert bits(built, 1)[-1] == [0, 1, 2]
    assert_finds_all(built, np.array([[0.5, 3.0], [-1e300, 1e300]]))


@pytest.mark.parametrize("shape", CROWDS)
@pytest.mark.parametrize("axes", [1, 4])
def test_block_by_block_is_point_by_point(
    shape: str, axes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    always_by_block(monkeypatch)
    drawn = crowd(shape, axes)
    for stretches in (5, 256):
        assert_finds_all(Bitmaps.build(drawn.boxes, stretches=stretches), drawn.points)


def test_a_share_that_finds_too_much_is_taken_in_smaller_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    always_by_block(monkeypatch)
    monkeypatch.setattr(batch, "MOST", 40_000)
    monkeypatch.setattr(batch, "RESULTS", 1_000_000)
    drawn = crowd("wide boxes", 1)
    found = Bitmaps.build(drawn.boxes).probe(drawn.points)
    assert len(found.ids) > 3 * 40_000
    assert_finds_all(Bitmaps.build(drawn.boxes), drawn.points)


def test_more_boxes_than_sixty_four_blocks_have() -> None:
    drawn = crowd("predicates", 3, many=64 * BLOCK + 1, asked=600)
    built = Bitmaps.build(drawn.boxes)
    assert built.blocks == 65
    built.check()
    assert_finds_all(built, drawn.points)
    assert_finds_all(built, drawn.points[:, :3].copy())


def test_nine_axes_are_taken() -> None:
    drawn = crowd("predicates", 9)
    built = Bitmaps.build(drawn.boxes)
    built.check()
    assert_finds_all(built, drawn.points)


@pytest.mark.parametrize("stretches", [1, 0, -3, CUTS + 1, 2.5, "many", True])
def test_a_number_of_stretches_that_cannot_be_is_refused(stretches: float | str) -> None:
    with pytest.raises(InputError, match="a whole number from 2 to 256"):
        Bitmaps.build(THREE, stretches=stretches)


def test_what_was_built_is_told() -> None:
    told = Bitmaps.build(THREE).describe()
    assert told == "1 blocks, axes cut into 5: 213 bytes of bitmaps a box"


@pytest.mark.parametrize("array", ["words", "ids", "bounds", "low", "high"])
def test_check_notices_what_is_broken(array: str) -> None:
    built = Bitmaps.build(crowd("predicates", 3).boxes)
    broken = getattr(built.table, array).copy()
    broken[5 if len(broken) > 1000 else 0] += 1
    with pytest.raises(BrokenIndex):
        replace(built, table=built.table._replace(**{array: broken})).check()


def test_check_notices_cuts_that_do_not_rise() -> None:
    built = Bitmaps.build(THREE)
    cuts = built.cuts.copy()
    cuts[1] = cuts[0]
    with pytest.raises(BrokenIndex, match="axis 0: the cuts do not rise"):
        replace(built, cuts=cuts).check()


def test_cuts_as_far_apart_as_doubles_go_are_no_fault() -> None:
    bounds = np.array([[-1.7e308, 1e300, -INF]])
    built = Bitmaps.build(Boxes.of(bounds, np.array([[1e300, INF, INF]])))
    built.check()
    assert_finds_all(built, np.array([[-1.7e308, 0.0, 1e300, 1.7e308]]))
