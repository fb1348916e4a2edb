"""The rivals of the benchmarks answer as `scan` does: else it is no feat to be quicker."""

from typing import Any

import numpy as np
import pytest

from benchmarks.baselines.guttman import Guttman
from benchmarks.baselines.ibs_tree import IbsTree
from benchmarks.baselines.is_list import IsList
from fencepost.errors import BrokenIndex, InputError
from fencepost.matches import Boxes, ProbeResult
from fencepost.matches.scan import Scan

RIVALS: list[tuple[Any, int]] = [
    (IbsTree, 1),
    (IbsTree, 2),
    (IbsTree, 4),
    (IbsTree, 8),
    (IsList, 1),
    (Guttman, 2),
]
each_rival = pytest.mark.parametrize(
    ("rival", "axes"), RIVALS, ids=[f"{rival.name}-{axes}" for rival, axes in RIVALS]
)


def crowd(axes: int, count: int, seed: int) -> Boxes:
    """Draw boxes on a coarse grid, some unbounded on some sides, some twice."""
    draw = np.random.default_rng(seed)
    lo = draw.integers(0, 12, (axes, count)) / 2
    hi = lo + draw.integers(1, 9, (axes, count)) / 2
    lo[draw.random((axes, count)) < 0.15] = -np.inf
    hi[draw.random((axes, count)) < 0.15] = np.inf
    return Boxes.of(lo, hi)


def on_borders(axes: int, count: int, seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    points = draw.integers(-2, 24, (axes, count)) / 2
    points[:, : count // 4] += 0.25
    points[:, :2] = np.array([-1e300, 1e300])
    return points


def same(found: ProbeResult, expected: ProbeResult) -> bool:
    found, expected = found.in_order(), expected.in_order()
    return np.array_equal(found.ptr, expected.ptr) and np.array_equal(found.ids, expected.ids)


@each_rival
@pytest.mark.parametrize("count", [0, 1, 2, 40, 700])
def test_a_rival_finds_what_the_scan_finds(rival, axes, count):
    for seed in range(3):
        boxes, points = crowd(axes, count, seed), on_borders(axes, 200, seed)
        index = rival.build(boxes)
        index.check()
        assert same(index.probe(points), Scan(boxes).probe(points))


@each_rival
def test_a_batch_is_its_points_one_by_one(rival, axes):
    boxes, points = crowd(axes, 60, 5), on_borders(axes, 40, 5)
    index = rival.build(boxes)
    alone = [index.probe(np.ascontiguousarray(points[:, [k]])) for k in range(40)]
    assert same(ProbeResult.together(alone), index.probe(points))
    assert len(index.probe(points[:, :0])) == 0


def test_the_tree_marks_each_predicate_about_twice_the_logarithm_of_the_ends():
    draw = np.random.default_rng(3)
    lo = draw.random((1, 4_000))
    index = IbsTree.build(Boxes.of(lo, lo + draw.random((1, 4_000))))
    assert len(index.marks) < 4_000 * 2 * np.log2(len(index.ends))


def test_an_interval_marks_no_more_than_twice_the_edges_a_search_walks():
    draw = np.random.default_rng(3)
    lo = draw.random((1, 4_000))
    index = IsList.build(Boxes.of(lo, lo + draw.random((1, 4_000))))
    assert len(index.edge_marks) < 4_000 * 4 * np.log2(len(index.ends))


def test_no_node_of_an_r_tree_but_the_root_is_less_than_two_fifths_full():
    index = Guttman.build(crowd(2, 3_000, 1), capacity=10)
    counts = np.delete(index.counts, index.root)
    assert counts.min() >= 4
    assert counts.max() <= 10


def test_a_rival_says_for_how_many_axes_it_is():
    with pytest.raises(InputError, match="one axis, the boxes have 2"):
        IsList.build(crowd(2, 3, 1))
    with pytest.raises(InputError, match="3 axes"):
        Guttman.build(crowd(3, 3, 1))


def test_check_notices_what_was_tampered_with():
    boxes = crowd(2, 200, 2)
    tree = Guttman.build(boxes)
    tree.below[np.flatnonzero(tree.leaf)[0], 0] = 7
    tree.below[np.flatnonzero(tree.leaf)[1], 0] = 7
    with pytest.raises(BrokenIndex, match="times in the leaves"):
        tree.check()
    ibs = IbsTree.build(boxes)
    ibs.ends[0] = 99.0
    with pytest.raises(BrokenIndex, match="not in order"):
        ibs.check()
    skip = IsList.build(crowd(1, 200, 2))
    skip.after[0] = 0
    with pytest.raises(BrokenIndex, match="leads back"):
        skip.check()
