"""Crossings from Delta to Delta in plain Spark SQL, epoch after epoch, the last values carried.

    ticks (delivery, stream_id, ts, price), state (stream_id, ts, price), borders ──▶ events, state

An epoch is two commits: its events appended, the state of every stream written over. Nothing
else is promised that Fencepost promises: no late tuples, no rules that change, no replay.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fencepost.queries import QuerySet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

GIVEN = """
select stream_id, ts, price from ticks where delivery = {delivery}
union all select stream_id, ts, price from delta.`{state}`
"""
STEPS = """
select stream_id, ts, price as c, lag(price) over (partition by stream_id order by ts) as p
from given
"""
BY_CELLS = """
select /*+ {hint}(borders) */ stream_id, query_id, ts, if({now}, 'I', 'O') as type
from (
  select *, explode(sequence(
    cast(floor(least(p, c) / {cell}) as int), cast(floor(greatest(p, c) / {cell}) as int))) as cell
  from steps where p is not null
) join borders using (cell)
where border > least(p, c) and border <= greatest(p, c) and ({now}) <> ({before})
"""
BY_RANGES = """
select /*+ broadcast(bands) */ stream_id, query_id, ts, if({now}, 'I', 'O') as type
from steps join bands on p is not null and ({now}) <> ({before})
"""
HELD = {"now": "c >= lo and c < hi", "before": "p >= lo and p < hi"}
STATE = """
select stream_id, max(ts) as ts, max_by(price, ts) as price from given group by stream_id
"""


@dataclass(frozen=True)
class Form:
    """How the work is put to Spark.

    cell        the size of a cell of borders; None: by a range join of steps and bands
    partitions  of a shuffle
    adaptive    whether Spark may change its plan on the way
    kept        whether what was read is kept in memory for both commits, not read twice
    together    whether both commits are made at once, from two threads
    hint        how the borders are joined
    """

    cell: float | None
    partitions: int = 2
    adaptive: bool = False
    kept: bool = False
    together: bool = False
    hint: str = "broadcast"

    def __str__(self) -> str:
        """What a line says of it."""
        parts = ["a range join" if self.cell is None else f"cells of {self.cell:g}"]
        parts += [self.hint.replace("_", " "), f"{self.partitions} partitions"]
        parts += ["AQE"] * self.adaptive + ["what was read kept in memory"] * self.kept
        return ", ".join(parts + ["both commits at once"] * self.together)


class SparkPipeline:
    """A table of ticks in as many partitions as deliveries, and the tables that epochs write."""

    def __init__(
        self, spark: "SparkSession", folder: Path, landed: list[Path], queries: QuerySet
    ) -> None:
        """Write the ticks and the bands; neither is timed."""
        self.spark, self.queries = spark, queries
        self.events, self.state = folder / "events", folder / "state"
        ticks = folder / "ticks"
        for delivery, file in enumerate(landed, 1):
            rows = spark.read.parquet(str(file)).selectExpr("*", f"{delivery} as delivery")
            rows.write.format("delta").partitionBy("delivery").mode("append").save(str(ticks))
        spark.read.format("delta").load(str(ticks)).createOrReplaceTempView("ticks")
        self.bands = folder / "bands.parquet"
        lo, hi = queries.lo[0], queries.hi[0]
        pq.write_table(pa.table({"query_id": queries.ids, "lo": lo, "hi": hi}), self.bands)

    def epoch(self, delivery: int, form: Form) -> None:
        """Evaluate a delivery, and commit its events and the state after it."""
        given = self.spark.sql(GIVEN.format(delivery=delivery, state=self.state))
        if form.kept:
            given = given.persist()
        given.createOrReplaceTempView("given")
        self.spark.sql(STEPS).createOrReplaceTempView("steps")
        by = BY_RANGES if form.cell is None else BY_CELLS
        events = self.spark.sql(by.format(cell=form.cell, hint=form.hint, **HELD)).write.format(
            "delta"
        )
        state = self.spark.sql(STATE).write.format("delta")
        commits = (
            partial(events.mode("append").save, str(self.events)),
            partial(state.mode("overwrite").save, str(self.state)),
        )
        with ThreadPoolExecutor(2 if form.together else 1) as threads:
            for commit in [threads.submit(commit) for commit in commits]:
                commit.result()
        if form.kept:
            given.unpersist()

    @contextmanager
    def prepared(self, form: Form) -> Iterator[None]:
        """Set the session for a form, lay out the borders, and empty the tables."""
        conf = self.spark.conf
        conf.set("spark.sql.shuffle.partitions", str(form.partitions))
        conf.set("spark.sql.adaptive.enabled", str(form.adaptive).lower())
        conf.set("spark.databricks.delta.stats.collect", "false")
        bands = self.spark.read.parquet(str(self.bands))
        kept = bands if form.cell is None else _borders(bands, form.cell)
        kept = kept.coalesce(1).persist()
        assert kept.count()
        kept.createOrReplaceTempView("bands" if form.cell is None else "borders")
        empty = self.spark.createDataFrame([], "stream_id string, ts timestamp, price double")
        empty.write.format("delta").mode("overwrite").save(str(self.state))
        empty = self.spark.createDataFrame(
            [], "stream_id string, query_id string, ts timestamp, type string"
        )
        empty.write.format("delta").mode("overwrite").save(str(self.events))
        try:
            yield
        finally:
            kept.unpersist()

    def found(self) -> "DataFrame":
        """Give the events of all epochs."""
        return self.spark.read.format("delta").load(str(self.events))


def _borders(bands: "DataFrame", cell: float) -> "DataFrame":
    """Give each band at the cell of either border."""
    ends = bands.selectExpr("*", "explode(array(lo, hi)) as border")
    return ends.selectExpr("*", f"cast(floor(border / {cell}) as int) as cell")


def cell_of(queries: QuerySet, share: float) -> float:
    """Give the size of cells that hold so many borders in the mean."""
    return float(np.ptp(queries.lo[0]) / (2 * len(queries)) * share)
