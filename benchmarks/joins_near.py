"""Near joins kept up: movers on the earth, against recomputing who is near whom.

Wall-clock times, the least of some rounds; on a busy machine the processor's say more.
Each rival is given all positions in its own form and finds every pair within the distance by the
best way that we know; loading them costs it nothing here.
"""

import math
import os
import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.matches_made import Scale, span
from benchmarks.report import Line
from fencepost.joins.near import JoinCover, NearPlane
from fencepost.joins.near.plane import Members
from fencepost.tuples import Bools, Doubles, Int8s, Int32s, Int64s

DISTANCE = 200.0
TOWN = 100_000.0  # metres from end to end
STEP = 20.0  # metres, about
WEST, SOUTH = 116.0, 39.5
TIMES = 50.0
EVERY = 10_000  # updates to a recomputation
ROUNDS = 3
THREADS = 2
RADIUS = 6_371_008.8
SLACK = 1.0 + 1e-6  # what only pre-filters is a little wide

Moved = tuple[Int32s, Doubles, Doubles]
KeptUp = tuple[float, float, int, NearPlane, Int64s]
"""Seconds, those of the processor, changes, the plane, and who is near."""
Rival = Callable[[Doubles, Doubles], Callable[[], tuple[Int32s, Int32s]]]


def against_peers(scale: Scale) -> Iterator[Line]:
    """A million small moves of a hundred thousand movers, against a hundred recomputations."""
    movers, updates = scale.of(100_000, 2_000), scale.of(1_000_000, 10_000)
    rounds = kept_up(movers, updates)
    took, alone = (min(each[n] for each in rounds) for n in (0, 1))
    _, _, changed, plane, kept = rounds[-1]
    plane.check()
    _, now_x, now_y = plane.members(0)
    often, best = updates // EVERY, math.inf
    for name, rival in PEERS.items():
        ask = rival(now_x, now_y)
        seconds, busy = [], []
        for _ in range(ROUNDS):
            begin, own = time.perf_counter(), time.process_time()
            left, right = ask()
            seconds.append(time.perf_counter() - begin)
            busy.append(time.process_time() - own)
        assert np.array_equal(np.sort(_keys(left, right)), kept), f"{name} finds other pairs"
        best = min(best, *seconds)
        yield Line(
            f"{name}, {often} recomputations, to {updates:,} updates of ours",
            often * min(seconds) / took,
            facts=f"{span(min(seconds))} each, {len(kept):,} pairs; by the processor's time "
            f"{often * min(busy) / alone:.1f} ×",
        )
    yield Line(
        f"the best of them to ours, {movers:,} movers, {DISTANCE:.0f} m",
        often * best / took,
        TIMES,
        at_least=True,
        facts=f"ours {span(took / updates)} an update ({span(alone / updates)} of the processor), "
        f"{span(took / max(changed, 1))} a changed pair, {changed / updates:.2f} changes an update",
    )


def kept_up(movers: int, updates: int) -> list[KeptUp]:
    """Apply so many small moves, in some rounds, the kernels loaded before."""
    draw = np.random.default_rng(17)
    metre = math.degrees(1.0 / RADIUS)
    east = metre / math.cos(math.radians(SOUTH + TOWN * metre / 2))
    x, y = WEST + draw.random(movers) * TOWN * east, SOUTH + draw.random(movers) * TOWN * metre
    stream = draw.integers(0, movers, updates).astype(np.int32)
    steps = draw.normal(0, STEP, (2, updates)) * [[east], [metre]]
    moves = stream, _walked(x, steps[0], stream), _walked(y, steps[1], stream)
    cover = JoinCover.of(np.array([DISTANCE]), movers, one=True)
    NearPlane.build(cover, earth=True, left=_placed(x, y)).apply(*_part(moves, slice(0, 0)))
    return [
        _round(NearPlane.build(cover, earth=True, left=_placed(x, y)), moves) for _ in range(ROUNDS)
    ]


def _placed(x: Doubles, y: Doubles) -> Members:
    return np.arange(len(x), dtype=np.int32), x, y


def _part(moves: Moved, part: slice) -> tuple[Int8s, Int32s, Doubles, Doubles, Bools]:
    stream, x, y = (column[part] for column in moves)
    return np.zeros(len(stream), np.int8), stream, x, y, np.zeros(len(stream), np.bool_)


def _round(plane: NearPlane, moves: Moved) -> KeptUp:
    """Apply all moves."""
    pairs = plane.pairs()
    kept = np.sort(_keys(pairs.left, pairs.right))
    took, alone, changed = 0.0, 0.0, 0
    for first in range(0, len(moves[0]), EVERY):
        part = _part(moves, slice(first, first + EVERY))
        begin, own = time.perf_counter(), time.thread_time()
        found = plane.apply(*part)
        took += time.perf_counter() - begin
        alone += time.thread_time() - own
        changed += len(found)
        keys = _keys(found.pairs.left, found.pairs.right)
        kept = _changed(kept, keys, found.change.astype(np.int64))
    return took, alone, changed, plane, kept


def _walked(begin: Doubles, steps: Doubles, stream: Int32s) -> Doubles:
    """Add up each mover's steps from where it begins."""
    order = np.argsort(stream, kind="stable")
    of = stream[order]
    total = np.cumsum(steps[order])
    first = np.searchsorted(of, of)
    walked = np.empty(len(steps))
    walked[order] = begin[of] + total - (total[first] - steps[order][first])
    return walked


def _keys(left: Int32s, right: Int32s) -> Int64s:
    low, high = np.minimum(left, right), np.maximum(left, right)
    keys: Int64s = low.astype(np.int64) << 32 | high
    return keys


def _changed(kept: Int64s, keys: Int64s, change: Int64s) -> Int64s:
    """Add up the changes of each pair; what was in and what is now has a sum of 1."""
    every = np.concatenate([kept, keys])
    distinct, place = np.unique(every, return_inverse=True)
    total = np.bincount(place, np.concatenate([np.ones(len(kept)), change]), len(distinct))
    assert ((total == 0) | (total == 1)).all()
    now: Int64s = distinct[total == 1]
    return now


def in_shapely(x: Doubles, y: Doubles) -> Callable[[], tuple[Int32s, Int32s]]:
    """In GEOS: an STRtree over projected points, bulk `dwithin`, and haversine on what it gives."""
    import shapely

    scale = math.radians(1.0) * RADIUS
    east = scale * math.cos(math.radians(float(np.abs(y).max())))
    points = shapely.points(x * east, y * scale)

    def ask() -> tuple[Int32s, Int32s]:
        tree = shapely.STRtree(points)
        one, other = tree.query(points, predicate="dwithin", distance=DISTANCE * SLACK)
        each = one < other
        one, other = one[each].astype(np.int32), other[each].astype(np.int32)
        near = _haversine(x[one], y[one], x[other], y[other]) <= DISTANCE
        return one[near], other[near]

    return ask


def _haversine(x: Doubles, y: Doubles, u: Doubles, v: Doubles) -> Doubles:
    up, along = np.sin(np.radians(v - y) / 2), np.sin(np.radians(u - x) / 2)
    ring = np.cos(np.radians(y)) * np.cos(np.radians(v))
    length: Doubles = 2 * RADIUS * np.arcsin(np.sqrt(up * up + ring * along * along))
    return length


def _cells(x: Doubles, y: Doubles) -> tuple[Int64s, Int64s]:
    """Number cells that are as wide and as high as the distance."""
    high = math.degrees(DISTANCE / RADIUS) * SLACK
    wide = high / math.cos(math.radians(float(np.abs(y).max())))
    return np.floor(x / wide).astype(np.int64), np.floor(y / high).astype(np.int64)


ABOUT = ((0, 0), (1, -1), (1, 0), (1, 1), (0, 1))
"""A cell and half of those about it: so each pair of cells is joined once."""


def in_polars(x: Doubles, y: Doubles) -> Callable[[], tuple[Int32s, Int32s]]:
    """In Polars: an equi-join of cells with themselves and with those beside them."""
    os.environ.setdefault("POLARS_MAX_THREADS", str(THREADS))  # read once, on import
    import polars as pl

    column, row = _cells(x, y)
    codes = np.arange(len(x), dtype=np.int32)
    frame = pl.DataFrame({"l": codes, "x": x, "y": y, "i": column, "j": row}).lazy()
    up = ((pl.col("v") - pl.col("y")).radians() / 2).sin()
    along = ((pl.col("u") - pl.col("x")).radians() / 2).sin()
    ring = pl.col("y").radians().cos() * pl.col("v").radians().cos()
    length = 2 * RADIUS * (up * up + ring * along * along).sqrt().arcsin()

    def ask() -> tuple[Int32s, Int32s]:
        parts = []
        for across, above in ABOUT:
            other = frame.select(
                pl.col("l").alias("r"),
                pl.col("x").alias("u"),
                pl.col("y").alias("v"),
                pl.col("i") - across,
                pl.col("j") - above,
            )
            pairs = frame.join(other, on=["i", "j"])
            parts.append(pairs if across or above else pairs.filter(pl.col("l") < pl.col("r")))
        found = pl.concat(parts).filter(length <= DISTANCE).select("l", "r").collect()
        return found["l"].to_numpy(), found["r"].to_numpy()

    return ask


def in_duckdb(x: Doubles, y: Doubles) -> Callable[[], tuple[Int32s, Int32s]]:
    """In DuckDB: the same equi-join in SQL."""
    import duckdb
    import pyarrow as pa

    column, row = _cells(x, y)
    codes = np.arange(len(x), dtype=np.int32)
    database = duckdb.connect(config={"threads": THREADS})
    database.from_arrow(pa.table({"l": codes, "x": x, "y": y, "i": column, "j": row})).create("m")
    offsets = ", ".join(f"({across}, {above})" for across, above in ABOUT)

    def ask() -> tuple[Int32s, Int32s]:
        found = database.execute(f"""
            with others as (
                select l as r, x as u, y as v, i - a as i, j - b as j, a = 0 and b = 0 as here
                from m, (values {offsets}) as o(a, b)
            )
            select l, r from m join others using (i, j)
            where (not here or l < r) and 2 * {RADIUS} * asin(sqrt(
                pow(sin(radians(v - y) / 2), 2)
                + cos(radians(y)) * cos(radians(v)) * pow(sin(radians(u - x) / 2), 2)
            )) <= {DISTANCE}
        """).fetchnumpy()  # noqa: S608  numbers of our own
        return np.asarray(found["l"]), np.asarray(found["r"])

    return ask


PEERS: dict[str, Rival] = {"shapely": in_shapely, "DuckDB": in_duckdb, "Polars": in_polars}

SECTIONS: dict[str, tuple[str, Callable[[Scale], Iterator[Line]]]] = {
    "near": (
        "Near joins: 100 K movers, 200 m, 1 M updates: recomputing every 10 K",
        against_peers,
    ),
}
