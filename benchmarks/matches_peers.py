"""A million points against a hundred thousand queries, beside what others would use for it."""

import time
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from benchmarks.matches_made import Scale, automatic, cubes, in_turns, span
from benchmarks.peers.matches_sql import THREADS, in_duckdb, in_polars
from benchmarks.report import Line
from fencepost.matches import BoxIndex, ProbeResult
from fencepost.parallel import in_parallel
from fencepost.tuples import Doubles, Int32s

STRTREE, SQL = 20.0, 5.0  # how many times as long they must take, at least


def against_peers(scale: Scale) -> Iterator[Line]:
    """Two axes, W = 1% on each, and one axis, W = 0.01%: about ten results a point."""
    from benchmarks.peers.strtree import in_shapely

    count, queries = scale.of(1_000_000, 5_000), scale.of(100_000, 2_000)
    for axes, width in ((2, 1e-2), (1, 1e-4)):
        boxes = cubes(queries, axes, width)
        points = np.random.default_rng(2).random((axes, count))
        index = automatic(boxes, count)
        index.check()
        found = _threaded(index, points)
        work = {"ours": lambda: _threaded(index, points)}  # noqa: B023
        ours = in_turns(work, scale.repeats, time.perf_counter)["ours"]
        sides = tuple(width * share for share in ((2, 1, 0.5) if axes == 2 else (4, 1)))
        peers = {"DuckDB": (in_duckdb, SQL), "Polars": (in_polars, SQL)}
        facts = (
            f"{index.name} {span(ours)}, {ours / len(found.ids) * 1e9:.2f} ns a result; "
            f"{len(found.ids):,} equal rows, {len(found.ids) / count:.1f} a point"
        )
        for name, (ask, bar) in peers.items():
            took, pairs = ask(boxes, points, sides)
            _assert_same(found, pairs, len(boxes))
            yield _line(f"{axes}-D, W = {width:.2%}: {name}", took, ours, bar, facts)
        if axes == 2:
            took, pairs = in_shapely(boxes, points)
            _assert_same(found, pairs, len(boxes))
            what = f"{axes}-D, W = {width:.2%}: shapely's STRtree"
            yield _line(what, took, ours, STRTREE, facts)


def _line(what: str, theirs: float, ours: float, bar: float, facts: str) -> Line:
    return Line(
        f"{what}, of ours", theirs / ours, bar, at_least=True, facts=f"{span(theirs)}; {facts}"
    )


def _threaded(index: BoxIndex, points: Doubles) -> ProbeResult:
    edges = np.linspace(0, points.shape[1], THREADS + 1).astype(np.int64).tolist()
    parts = in_parallel(
        lambda a, b: index.probe(np.ascontiguousarray(points[:, a:b])), list(pairwise(edges))
    )
    return ProbeResult.together(parts)


def _assert_same(found: ProbeResult, pairs: tuple[Int32s, Int32s], many: int) -> None:
    point, box = pairs
    mine = np.sort(found.points * many + found.ids)
    theirs = np.sort(point.astype(np.int64) * many + box)
    assert np.array_equal(mine, theirs), f"{len(mine):,} rows against {len(theirs):,}"
