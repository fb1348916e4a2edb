"""Matches in SQL and in data frames, by the best formulations that we know: an equi-join on cells.

Each box has a row for every cell that it meets, with its bounds; each point knows its cell;
in common cells the bounds are compared. The boxes' cells are computed before, like an index.
The size of a cell and the engine are those that are fastest on a part of the points.

In one axis DuckDB also runs a plain query: a join on two inequalities, which it does as an IEJoin.
"""

import os
import time
from collections.abc import Callable

import duckdb
import numpy as np
import pyarrow as pa

from fencepost.matches import Boxes
from fencepost.tuples import Doubles, Int32s

THREADS = 2
TRIAL = 20  # this fraction of the points decides the formulation
ROW = 1 << 15  # cells in a row; all cells of the unit square have numbers below 2**31
Pairs = tuple[Int32s, Int32s]
Ask = Callable[[pa.Table], pa.Table]

CELLS = """
create or replace temp table found as
with placed as (
    select point, {values}, cast({cell} as integer) as cell from {points}
)
select point, box from placed join {boxes} using (cell) where {holds}
"""
PLAIN = """
create or replace temp table found as
select point, box from {points} join {boxes} on {holds}
"""


def points_table(points: Doubles) -> pa.Table:
    """Write points as rows: point, v0, v1, and so on."""
    columns = {f"v{axis}": own for axis, own in enumerate(points)}
    return pa.table({"point": np.arange(points.shape[1], dtype=np.int32), **columns})


def plain_table(boxes: Boxes) -> pa.Table:
    """Write boxes as rows: box, l0, h0, l1, and so on."""
    return _bounds(boxes, np.arange(len(boxes), dtype=np.int32))


def cells_table(boxes: Boxes, side: float) -> pa.Table:
    """A row for each cell of each box; one axis or two, bounds from 0 up."""
    first = np.floor(boxes.lo / side).astype(np.int64)
    wide = np.floor(np.nextafter(boxes.hi, -np.inf) / side).astype(np.int64) - first + 1
    each = wide.prod(axis=0)
    box = np.repeat(np.arange(len(boxes), dtype=np.int32), each)
    nth = np.arange(len(box)) - np.repeat(np.cumsum(each) - each, each)
    cell = first[0][box] + nth % wide[0][box]
    if boxes.axes == 2:
        cell += ROW * (first[1][box] + nth // wide[0][box])
    return _bounds(boxes, box).append_column("cell", pa.array(cell.astype(np.int32)))


def _bounds(boxes: Boxes, box: Int32s) -> pa.Table:
    columns = {"box": box}
    for axis in range(boxes.axes):
        columns |= {f"l{axis}": boxes.lo[axis][box], f"h{axis}": boxes.hi[axis][box]}
    return pa.table(columns)


def in_duckdb(boxes: Boxes, points: Doubles, sides: tuple[float, ...]) -> tuple[float, Pairs]:
    """The seconds of the best formulation over all points, and what it found."""
    axes = range(boxes.axes)
    values = ", ".join(f"v{axis}" for axis in axes)
    holds = " and ".join(f"l{axis} <= v{axis} and v{axis} < h{axis}" for axis in axes)
    with duckdb.connect(config={"threads": THREADS}) as database:

        def keep(name: str, rows: pa.Table) -> None:
            database.from_arrow(rows).create(name)

        database.execute("set enable_progress_bar = false")
        rows = points_table(points)
        keep("points", rows)
        keep("sample", rows.slice(0, max(1, len(rows) // TRIAL)))
        ways = []
        for number, side in enumerate(sides):
            keep(f"cells{number}", cells_table(boxes, side))
            cell = " + ".join(f"floor(v{axis} / {side!r}) * {ROW**axis}" for axis in axes)
            given = {"values": values, "cell": cell, "holds": holds, "boxes": f"cells{number}"}
            ways.append(lambda points, given=given: CELLS.format(points=points, **given))
        if boxes.axes == 1:
            keep("boxes", plain_table(boxes))
            ways.append(lambda points: PLAIN.format(points=points, boxes="boxes", holds=holds))
        best = min(ways, key=lambda way: _seconds(lambda: database.execute(way("sample"))))
        took = _seconds(lambda: database.execute(best("points")))
        found = database.execute("select point, box from found").fetchnumpy()
    return took, (found["point"], found["box"])


def in_polars(boxes: Boxes, points: Doubles, sides: tuple[float, ...]) -> tuple[float, Pairs]:
    """The same in Polars, by its own engines."""
    os.environ.setdefault("POLARS_MAX_THREADS", str(THREADS))  # read once, on import
    import polars as pl

    axes = range(boxes.axes)
    rows = pl.DataFrame(points_table(points))
    sample = rows.head(max(1, len(rows) // TRIAL))
    holds = [
        bound
        for axis in axes
        for bound in (
            pl.col(f"l{axis}") <= pl.col(f"v{axis}"),
            pl.col(f"v{axis}") < pl.col(f"h{axis}"),
        )
    ]

    def asked(rows, side, cells, engine):  # noqa: ANN001, ANN202
        number = sum((pl.col(f"v{axis}") / side).floor() * ROW**axis for axis in axes)
        placed = rows.lazy().with_columns(cell=number.cast(pl.Int32))
        joined = placed.join(cells.lazy(), on="cell").filter(*holds).select("point", "box")
        return joined.collect(engine=engine)

    ways = []
    for side in sides:
        cells = pl.DataFrame(cells_table(boxes, side))
        ways += [(side, cells, engine) for engine in ("in-memory", "streaming")]
    best = min(ways, key=lambda way: _seconds(lambda: asked(sample, *way)))
    begin = time.perf_counter()
    found = asked(rows, *best)
    took = time.perf_counter() - begin
    return took, (found["point"].to_numpy(), found["box"].to_numpy())


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
