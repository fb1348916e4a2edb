"""The rivals of the benchmarks answer as `scan` does: else it is no feat to be quicker."""

from typing import Any

import numpy as np
import pytest

from benchmarks.baselines.containment import Containment
from benchmarks.baselines.diff_rmq import DiffRmq
from benchmarks.baselines.guttman import Guttman
from benchmarks.baselines.ibs_tree import IbsTree
from benchmarks.baselines.is_list import IsList
from benchmarks.baselines.rs_list import RsList
from benchmarks.baselines.tran_seq import TranSeq
from benchmarks.walks import bands, indexed, walks
from fencepost.crossings import walk
from fencepost.crossings.columns import Events
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
    (Containment, 1),
    (Containment, 2),
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
    with pytest.raises(InputError, match="3 axes, 4 levels"):
        Containment.build(crowd(3, 3, 1))
    with pytest.raises(InputError, match="one axis, the boxes have 2"):
        RsList.build(crowd(2, 3, 1))


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
    pieces = Containment.build(boxes)
    pieces.whole_at[-1] += 1
    with pytest.raises(BrokenIndex, match="as long as"):
        pieces.check()
    segments = RsList.build(crowd(1, 200, 2))
    segments.ids[0] = segments.ids[-1]
    with pytest.raises(BrokenIndex, match="lists of both its borders"):
        segments.check()


@pytest.mark.parametrize(("axes", "levels", "most"), [(1, 0, 999), (1, 10, 20), (2, 4, 400)])
def test_whole_numbers_on_cells_of_one_are_cut_into_pieces_that_need_no_test(axes, levels, most):
    draw = np.random.default_rng(4)
    lo = draw.integers(0, 100, (axes, 50)).astype(float)
    boxes = Boxes.of(lo, lo + draw.integers(1, 28, (axes, 50)))
    index = Containment.build(boxes, cells=128, levels=levels, unit=1.0)
    assert len(index.edge) == 0
    sides = boxes.hi - boxes.lo
    assert len(index.whole) <= sides.prod(axis=0).sum()
    assert np.bincount(index.whole).max() <= most
    points = draw.random((axes, 300)) * 130 - 1
    assert same(index.probe(points), Scan(boxes).probe(points))


def in_order(events: Events) -> list[tuple[int, int, int]]:
    return sorted(zip(*(column.tolist() for column in events), strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_the_rivals_of_crossings_find_those_of_the_walk(seed):
    path = walks(streams=7, length=400 + 300 * seed, fl=10 ** -(seed + 1.5))
    queries = bands(300, width=0.02)
    expected = in_order(walk(indexed(queries), path, fast=True).events)
    boxes = Boxes.of(queries.lo, queries.hi)
    indexes: list[Any] = [IsList.build(boxes), Containment.build(boxes)]
    for index in indexes:
        for kept in (False, True):
            assert in_order(DiffRmq(index, kept).crossings(path)) == expected
    segments = RsList.build(boxes)
    segments.check()
    found, visited = segments.crossings(path)
    assert in_order(found) == expected
    assert visited >= len(expected) > 500


def test_a_rival_that_keeps_the_previous_set_needs_no_more_room_than_is_there():
    path = walks(streams=20, length=500, fl=0.05)  # longer than what is looked up at once
    queries = bands(100, width=0.1)
    expected = in_order(walk(indexed(queries), path, fast=True).events)
    index: Any = Containment.build(Boxes.of(queries.lo, queries.hi))
    assert in_order(DiffRmq(index, kept=True).crossings(path)) == expected
    assert DiffRmq(index, kept=True).matched(path) > len(expected)
    found, _ = RsList.build(index.boxes).crossings(path)
    assert in_order(found) == expected


@pytest.mark.parametrize("buckets", [1, 64])
def test_the_windows_of_s1_tell_the_transitions_that_we_tell(buckets):
    path = walks(streams=20, length=600, fl=0.01)
    events = walk(indexed(bands(40, width=0.05)), path, fast=True).events
    run = np.searchsorted(path.starts, events.place, side="right") - 1
    order = np.argsort(path.ts[events.place], kind="stable")
    query, stream, kind = events.query[order], path.stream[run][order], events.type[order]
    ts = path.ts[events.place][order]
    for within in (1_000_000, 7_000_000, 60_000_000):
        until = int(path.ts.max()) - 3_000_000
        early = ts <= until
        found = TranSeq(within, buckets).compose(
            query[early], stream[early], ts[early], kind[early], until
        )
        expected = by_neighbours(query[early], stream[early], ts[early], kind[early], within, until)
        rows = zip(found.kind, found.begun, found.ended, strict=True)
        assert sorted((int(a), int(b), int(c)) for a, b, c in rows) == expected
        assert found.accesses >= 2 * len(query[early])


def by_neighbours(query, stream, ts, kind, within, until) -> list[tuple[int, int, int]]:
    """Each event and the next of its query and stream, by hand."""
    rows, last = list[tuple[int, int, int]](), dict[tuple[int, int], int]()
    for e, key in enumerate(zip(query.tolist(), stream.tolist(), strict=True)):
        if key in last and ts[e] - ts[last[key]] <= within:
            rows.append((0 if kind[last[key]] > 0 else 1, last.pop(key), e))
        elif key in last:
            rows.append((2 if kind[last[key]] > 0 else 3, last.pop(key), -1))
        last[key] = e
    rows += [(2 if kind[e] > 0 else 3, e, -1) for e in last.values() if until - ts[e] > within]
    return sorted(rows)
