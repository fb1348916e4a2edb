"""The full result of many band joins in SQL and in data frames, by the best ways that we know.

Neither engine improves on the plain query, every left value with every band and every right
value: that is 10^9 rows before the second join. So they are given what our partition knows: a table
of its groups, each with its covering interval. Of each left value and group the right values within
the interval are joined, by inequalities (an IEJoin) or by cells as wide as the widest interval, and
those pairs with the bands of the group. Groups cost them nothing here; nor does loading updates.

The formulation that is fastest on a part of the left side is timed.
"""

import os
import time
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from fencepost.joins.bands import LEFT, RIGHT, BandPlane
from fencepost.tuples import Int32s

THREADS = 2
TRIAL = 20  # this fraction of the left side decides the formulation
CHUNK = 1 << 22  # rows read from a result at a time
SLACK = 1e-6  # the covering intervals only pre-filter; the bands decide
Rows = tuple[Int32s, Int32s, Int32s]
Mark = Callable[[Rows], int]
"""Adds up something of each row, so that results are compared without being kept."""
Asked = tuple[float, str, int, int]
"""The seconds of the best way over all rows, which way it was, how many rows, and their mark."""

NEAR = """
create or replace temp table found as
with near as (
    select l, lv, g, lv - most - {slack} as a, lv - least + {slack} as b from {lefts}, groups
), close as (select l, r, g, lv - rv as d from near join rights on rv >= a and rv <= b)
select q, l, r from close join bands using (g) where d >= low and d <= high
"""
CELLS = """
create or replace temp table found as
with near as (
    select l, lv, g, least, most, unnest(range(
        cast(floor((lv - most - {slack}) / {side}) as bigint),
        cast(floor((lv - least + {slack}) / {side}) as bigint) + 1
    )) as cell from {lefts}, groups
), close as (
    select l, r, g, lv - rv as d
    from near join (select *, cast(floor(rv / {side}) as bigint) as cell from rights) using (cell)
    where lv - rv >= least and lv - rv <= most
)
select q, l, r from close join bands using (g) where d >= low and d <= high
"""


def tables(plane: BandPlane) -> dict[str, pa.Table]:
    """Write both sides, the bands, and the groups of the partition as tables."""
    own = plane.partition
    group = np.empty(len(own), np.int32)
    group[own.by_low] = np.repeat(np.arange(own.tau), np.diff(own.ptr))
    lefts, rights = plane.members(LEFT), plane.members(RIGHT)
    rows = np.arange(len(own), dtype=np.int32)
    groups = np.arange(own.tau, dtype=np.int32)
    return {
        "lefts": pa.table({"l": lefts[0], "lv": lefts[1]}),
        "rights": pa.table({"r": rights[0], "rv": rights[1]}),
        "bands": pa.table({"q": rows, "g": group, "low": own.low, "high": own.high}),
        "groups": pa.table({"g": groups, "least": own.covers[0], "most": own.covers[1]}),
    }


def in_duckdb(plane: BandPlane, mark: Mark) -> Asked:
    """Run it in DuckDB; the result is a table."""
    given, side = tables(plane), _side(plane)
    with duckdb.connect(config={"threads": THREADS}) as database:
        database.execute("set enable_progress_bar = false")
        for name, rows in given.items():
            database.from_arrow(rows).create(name)
        part = given["lefts"].slice(0, max(1, len(given["lefts"]) // TRIAL))
        database.from_arrow(part).create("part")
        ways = {"inequalities": NEAR, "cells": CELLS}
        asked = {
            name: lambda lefts, way=way: database.execute(
                way.format(lefts=lefts, slack=SLACK, side=side)
            )
            for name, way in ways.items()
        }
        best = min(asked, key=lambda name: _seconds(lambda: asked[name]("part")))
        took = _seconds(lambda: asked[best]("lefts"))
        many, total = 0, 0
        for batch in database.execute("select q, l, r from found").to_arrow_reader(CHUNK):
            query, left, right = (column.to_numpy() for column in batch.columns)
            many += len(query)
            total += mark((query, left, right))
    return took, best, many, total


def in_polars(plane: BandPlane, mark: Mark) -> Asked:
    """Run it in Polars, with its own engines; the result is a frame."""
    os.environ.setdefault("POLARS_MAX_THREADS", str(THREADS))  # read once, on import
    import polars as pl

    side = _side(plane)
    frames = {name: pl.DataFrame(rows) for name, rows in tables(plane).items()}
    rights, bands, groups = frames["rights"].lazy(), frames["bands"].lazy(), frames["groups"].lazy()
    part = frames["lefts"].head(max(1, len(frames["lefts"]) // TRIAL))
    apart = pl.col("lv") - pl.col("rv")

    def near(lefts: pl.DataFrame) -> pl.LazyFrame:
        ends = {
            "a": pl.col("lv") - pl.col("most") - SLACK,
            "b": pl.col("lv") - pl.col("least") + SLACK,
        }
        return lefts.lazy().join(groups, how="cross").with_columns(**ends)

    def by_cells(lefts: pl.DataFrame) -> pl.LazyFrame:
        first, last = ((pl.col(end) / side).floor().cast(pl.Int64) for end in "ab")
        placed = near(lefts).with_columns(cell=pl.int_ranges(first, last + 1)).explode("cell")
        theirs = rights.with_columns(cell=(pl.col("rv") / side).floor().cast(pl.Int64))
        joined = placed.join(theirs, on="cell")
        return joined.filter(pl.col("rv") >= pl.col("a"), pl.col("rv") <= pl.col("b"))

    def by_inequalities(lefts: pl.DataFrame) -> pl.LazyFrame:
        return near(lefts).join_where(
            rights, pl.col("rv") >= pl.col("a"), pl.col("rv") <= pl.col("b")
        )

    def asked(way: tuple[str, str], lefts: pl.DataFrame) -> Any:  # noqa: ANN401
        close = (by_cells if way[0] == "cells" else by_inequalities)(lefts)
        pairs = close.select("l", "r", "g", d=apart).join(bands, on="g")
        held = pairs.filter(pl.col("d") >= pl.col("low"), pl.col("d") <= pl.col("high"))
        return held.select("q", "l", "r").collect(engine=way[1])  # type: ignore[call-overload]

    ways = [(how, run) for how in ("inequalities", "cells") for run in ("in-memory", "streaming")]
    best = min(ways, key=lambda way: _seconds(lambda: asked(way, part)))
    begin = time.perf_counter()
    found = asked(best, frames["lefts"])
    took = time.perf_counter() - begin
    query, left, right = (found[name].to_numpy() for name in "qlr")
    return took, ", ".join(best), len(query), mark((query, left, right))


def _side(plane: BandPlane) -> float:
    """A cell as wide as the widest covering interval, or as holds about one right value."""
    own = plane.partition
    _, values = plane.members(RIGHT)
    wide = float((own.covers[1] - own.covers[0]).max(initial=0.0))
    return max(wide, float(np.ptp(values)) / max(1, len(values)))


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
