"""The other way in: Spark reads the Delta tables, and rows reach the workers through Arrow.

For tables that workers cannot read file by file (deletion vectors or column mapping that somebody
else's engine brought in), or where it is asked for. The rows of a stream meet in one task by a
shuffle; from there on all is as on the other way, and a test holds the two equal.

(Measured) rows that travel through the JVM take three to five times as long as files that workers
read themselves.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.errors import LakeError
from pipelines.epochs.evaluate import evaluate
from pipelines.epochs.logs import AsOf, newest
from pipelines.epochs.reading import KEYS, Rows, empty, in_order
from pipelines.epochs.share import LOGS, Answer, Share
from pipelines.epochs.tuples import ORIGIN
from pipelines.lake.store import Store
from pipelines.runner import Runner, SparkRunner, said_plainly
from pipelines.settings import Settings
from schemas import Table, all_tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KIND = "fencepost_kind"
BATCH = 200_000
MOST_READER_VERSION = 1


def is_chosen(settings: Settings, store: Store, runner: Runner) -> bool:
    """Say whether Spark is to read the tables: it was asked for, or they are not plain."""
    plain = all(_is_plain(store, name) for name in (*settings.axes, *LOGS))
    if settings.read_path == "files" or (settings.read_path == "auto" and plain):
        if plain:
            return False
        raise LakeError(
            'read_path = "files", but a table of the lake has deletion vectors or column mapping, '
            'which only Spark reads here: read_path = "auto" chooses it where need be'
        )
    if not isinstance(runner, SparkRunner):
        raise LakeError('the read path "spark" needs runner = "spark"')
    return True


def _is_plain(store: Store, name: str) -> bool:
    return bool(store.delta(name).protocol().min_reader_version <= MOST_READER_VERSION)


def answers(runner: Runner, shares: Sequence[Share]) -> list[Answer]:
    """Do the work of all shares in one Spark job, whose tasks share the streams out anew."""
    if not isinstance(runner, SparkRunner):
        raise LakeError('the read path "spark" needs runner = "spark"')
    share = shares[0]
    line = share.to_json()

    def through(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        yield from _work(line, batches)

    tasks = len(shares)
    rows = _all_rows(runner.spark, share)
    shared_out = rows.repartition(tasks, "stream_id") if tasks > 1 else rows.coalesce(1)
    with said_plainly():
        answered = shared_out.mapInArrow(through, "answer string").collect()
    return [Answer.from_json(row["answer"]) for row in answered]


def _all_rows(spark: "SparkSession", share: Share) -> "DataFrame":
    """Put tuples and logs under each other, each row with the table that it is of."""
    from pyspark.sql import functions as sql

    tables = all_tables(share.axes)
    numbers = [n for step in share.steps for n in step.arrivals]
    tuples = _table(spark, share, tables[share.feed])
    near = sql.col("arrival").between(min(numbers), max(numbers))
    together = tuples.where(near & sql.col("arrival").isin(numbers))
    for name in LOGS:
        log = _table(spark, share, tables[name])
        counts = (sql.col("feed") == share.feed) & _counting(share.as_of)
        together = together.unionByName(log.where(counts).drop("feed"), allowMissingColumns=True)
    return together


def _table(spark: "SparkSession", share: Share, table: Table) -> "DataFrame":
    from pyspark.sql import functions as sql

    read = spark.read.format("delta").load(str(Path(share.root) / table.name))
    return read.drop("bucket").withColumn(KIND, sql.lit(table.name))


def _counting(as_of: AsOf) -> Any:  # noqa: ANN401  a Spark column
    """Say in Spark which rows of a log count: a first sieve; the worker looks again."""
    from pyspark.sql import functions as sql

    return sql.col("epoch").between(as_of.snapshot, as_of.epoch)


def _work(line: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    started = time.perf_counter()
    share = Share.from_json(line)
    seconds: dict[str, float] = {}
    rows = _rows(share, list(batches), seconds)
    seconds["read"] = time.perf_counter() - started - seconds["sort"]
    answer = evaluate(share, rows, seconds)
    yield pa.RecordBatch.from_pydict({"answer": [answer.to_json()]})


def _rows(share: Share, batches: Sequence[pa.RecordBatch], seconds: dict[str, float]) -> Rows:
    tables = all_tables(share.axes)
    own = ["stream_id", "ts", *share.axes[share.feed], *ORIGIN]
    tuples = _of_kind(batches, tables[share.feed], own)
    logs = {}
    for name in LOGS:
        table = tables[name]
        columns = [c for c in table.arrow.names if c not in table.partitioned_by]
        rows = _of_kind(batches, table, columns)
        logs[name] = newest(share.as_of.counting(rows), KEYS[name])
    return Rows(in_order(share, tuples, seconds), **logs)


def _of_kind(batches: Sequence[pa.RecordBatch], table: Table, columns: Sequence[str]) -> pa.Table:
    """Take the rows of one table, with the columns and types as they are read from files."""
    wanted = empty(table, columns)
    if not batches:
        return wanted
    together = pa.Table.from_batches(batches)
    mine = together.filter(pc.equal(together[KIND], table.name)).select(list(columns))
    cast = [
        pc.dictionary_encode(mine[f.name]) if f.name == "stream_id" else mine[f.name].cast(f.type)
        for f in wanted.schema
    ]
    return pa.table(cast, schema=wanted.schema)
