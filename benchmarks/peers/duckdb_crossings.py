"""Crossings in SQL, by the best formulation that we know for DuckDB: an equi-join on cells.

Each query's two borders are in cells of a quarter of W; each step is exploded to the cells that
it spans; in common cells, a border between the two values was passed,
and the memberships are compared. The step's two values are given, so no window function is timed.
"""

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.report import Line, median_seconds
from benchmarks.walks import bands, indexed, walks
from fencepost.crossings import Walk, walk

CROSSINGS = """
create or replace temp table crossings as
with spans as (
    select place, p, c, unnest(generate_series(
        cast(floor(least(p, c) / {cell}) as bigint),
        cast(floor(greatest(p, c) / {cell}) as bigint))) as cell
    from steps
)
select place, query, (c >= lo and c < hi) as enters
from spans join borders using (cell)
where border > least(p, c) and border <= greatest(p, c)
  and (p >= lo and p < hi) <> (c >= lo and c < hi)
"""


def against_duckdb() -> list[Line]:
    """400 K tuples, two threads each, at two sizes of the query set."""
    lines = []
    for count in (10_000, 100_000):
        path, queries = walks(streams=400, length=1_000), bands(count)
        index = indexed(queries)
        walked = walk(index, path, fast=True, threads=2)
        with duckdb.connect(config={"threads": 2}) as database:
            _give(database, walked)
            sql = CROSSINGS.format(cell=250.0)
            database.execute(sql)
            _assert_equal(database, walked)
            theirs = median_seconds(lambda: database.execute(sql), 3)  # noqa: B023
        ours = median_seconds(lambda: walk(index, path, fast=True, threads=2).events)  # noqa: B023
        facts = f"DuckDB {theirs:.2f} s, ours {ours:.3f} s, {len(walked.events.place):,} equal rows"
        lines.append(
            Line(
                f"DuckDB, of ours, N = {count // 1000} K",
                theirs / ours,
                25,
                at_least=True,
                facts=facts,
            )
        )
    return lines


def _give(database: duckdb.DuckDBPyConnection, walked: Walk) -> None:
    path, queries = walked.path, walked.index.queries
    steps = np.ones(len(path), np.bool_)
    steps[path.starts[:-1]] = False
    c = np.flatnonzero(steps)
    lo, hi = queries.lo[0], queries.hi[0]
    given = {
        "step_rows": pa.table({"place": c, "p": path.values[0, c - 1], "c": path.values[0, c]}),
        "border_rows": pa.table(
            {
                "query": np.tile(np.arange(len(queries)), 2),
                "border": np.concatenate([lo, hi]),
                "lo": np.tile(lo, 2),
                "hi": np.tile(hi, 2),
                "cell": np.floor(np.concatenate([lo, hi]) / 250.0).astype(np.int64),
            }
        ),
    }
    for name, rows in given.items():
        database.register(name, rows)
    database.execute("create temp table steps as select * from step_rows")
    database.execute("create temp table borders as select * from border_rows")


def _assert_equal(database: duckdb.DuckDBPyConnection, walked: Walk) -> None:
    rows = database.execute("select place, query, enters from crossings").fetchnumpy()
    events = walked.events
    mine = np.stack([events.place, events.query, events.type > 0])
    theirs = np.stack([rows["place"], rows["query"], rows["enters"]])
    for found in (mine, theirs):
        found[:] = found[:, np.lexsort(found)]
    assert np.array_equal(mine, theirs), f"{mine.shape[1]} rows against {theirs.shape[1]}"
