"""The other read path: Spark reads the Delta tables, and rows reach the workers through Arrow.

For tables that workers cannot read file by file (deletion vectors or column mapping that another
engine brought in), or on request. The buckets divide the streams here as well, so
nothing is shuffled: each share is a job of one task, as many at a time as there are slots. From
there on all is as on the other path, and a test requires equal results.

(Measured) rows that travel through the JVM take two to three times as long as files that workers
read themselves.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.errors import LakeError
from pipelines.execute.logs import AsOf, newest
from pipelines.execute.read import ShareRows, columns_of_tuples, empty, in_order, of_share
from pipelines.execute.share import Share, TaskResult
from pipelines.execute.task import evaluate
from pipelines.lake.data_files import compare
from pipelines.lake.store import Store
from pipelines.project.settings import Settings
from pipelines.spark.runner import Runner, SparkRunner, said_by_spark
from schemas import Table, all_tables, logs_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OF_LOG = "fencepost_of_"
"""Begins the names of the columns that hold what only logs have."""

BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
FOLDER = "bucket="
NO_LIMIT = str(2**31 - 1)
MOST_READER_VERSION = 1


def is_chosen(settings: Settings, store: Store, runner: Runner) -> bool:
    """Say whether Spark is to read the tables: it was requested, or they are not plain."""
    logs = (table.name for table in logs_of("feed", store.tables.values()))
    plain = all(_is_plain(store, name) for name in (*settings.axes, *logs))
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
    return bool(store.reader_version(name) <= MOST_READER_VERSION)


def answers(runner: Runner, shares: Sequence[Share]) -> list[TaskResult]:
    """Do the work of all shares, each in a Spark job of its own."""
    if not isinstance(runner, SparkRunner):
        raise LakeError('the read path "spark" needs runner = "spark"')
    spark = runner.spark
    # A limit is compared with the size of all columns after every row: a hundred times slower.
    spark.conf.set(BYTES, NO_LIMIT)
    with said_by_spark(), ThreadPoolExecutor(runner.slots) as pool:
        return list(pool.map(partial(_answer, spark), shares))


def _answer(spark: "SparkSession", share: Share) -> TaskResult:
    """Do the work of a share. Spark compares no checksum, so the files are compared first."""
    for name, paths in share.files.items():
        for path in paths:
            compare(share.place, name, path)
    line = share.to_json()

    def through(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        yield from _work(line, batches)

    rows = _all_rows(spark, share).coalesce(1)
    (answered,) = rows.mapInArrow(through, "answer string").collect()
    return TaskResult.from_json(answered["answer"])


def _all_rows(spark: "SparkSession", share: Share) -> "DataFrame":
    """Concatenate tuples and logs.

    What only a log has is in a list, of one in its own rows; for all others the list is null
    and takes no room, where a number that is null would take as much as any.
    """
    from pyspark.sql import functions as sql

    tables = all_tables(share.columns)
    numbers = [n for step in share.steps for n in step.arrivals]
    near = sql.col("arrival").between(min(numbers), max(numbers))
    tuples = _table(spark, share, tables[share.feed]).where(near & sql.col("arrival").isin(numbers))
    together = tuples.select(*columns_of_tuples(share, share.feed))
    for table in logs_of("feed", tables.values()):
        if share.files[table.name]:
            rows = _table(spark, share, table)
            rows = rows.where((sql.col("feed") == share.feed) & _counting(share.as_of))
            shared = [column for column in _shared(share) if column in rows.columns]
            only = sql.struct(*_only(table, share))
            rows = rows.select(*shared, sql.array(only).alias(OF_LOG + table.name))
            together = together.unionByName(rows, allowMissingColumns=True)
    return together


def _shared(share: Share) -> list[str]:
    """Name the columns that tuples and logs share."""
    return ["stream_id", "ts", *share.axes[share.feed]]


def _only(table: Table, share: Share) -> list[str]:
    """Name the columns that only this log has, as far as they are read."""
    return [name for name in _read(table) if name not in _shared(share)]


def _read(table: Table) -> list[str]:
    return [name for name in table.arrow.names if name not in table.partitioned_by]


def _table(spark: "SparkSession", share: Share, table: Table) -> "DataFrame":
    from pyspark.sql import functions as sql

    read = spark.read.format("delta").load(str(share.place / table.name))
    if share.buckets is None:
        return read
    return read.where(sql.col("bucket").isin(sorted(map(_bucket, share.files[table.name]))))


def _bucket(path: str) -> int:
    """Give the bucket of a file, by the folder it is in."""
    return next(int(part[len(FOLDER) :]) for part in path.split("/") if part.startswith(FOLDER))


def _counting(as_of: AsOf) -> Any:  # noqa: ANN401  a Spark column
    """Select in Spark the rows of a log that count: a first filter; the worker filters again."""
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


def _rows(share: Share, batches: list[pa.RecordBatch], seconds: dict[str, float]) -> ShareRows:
    tables = all_tables(share.columns)
    columns = columns_of_tuples(share, share.feed)
    together = pa.Table.from_batches(batches) if batches else empty(tables[share.feed], columns)
    logs = {
        table.name: newest(_log(share, table, together), table.key)
        for table in logs_of("feed", tables.values())
    }
    if len(together.column_names) > len(columns):
        together = together.filter(pc.is_valid(together["arrival"]))
    tuples = _as_read(together, tables[share.feed], columns)
    return ShareRows(in_order(share, of_share(tuples, share), seconds), **logs)


def _log(share: Share, table: Table, together: pa.Table) -> pa.Table:
    """Take the rows of a log, with the columns and types as they are read from files."""
    if OF_LOG + table.name not in together.column_names:
        return empty(table, _read(table))
    mine = together.filter(pc.is_valid(together[OF_LOG + table.name]))
    only = pc.list_flatten(mine[OF_LOG + table.name])
    for place, name in enumerate(_only(table, share)):
        mine = mine.append_column(name, pc.struct_field(only, place))
    return of_share(share.as_of.counting(_as_read(mine, table, _read(table))), share)


def _as_read(rows: pa.Table, table: Table, columns: list[str]) -> pa.Table:
    """Give columns the types that they have when they are read from files."""
    wanted = empty(table, columns).schema
    cast = []
    for field in wanted:
        if field.name not in rows.column_names:
            cast.append(pa.nulls(rows.num_rows, field.type))
        elif field.name == "stream_id":
            cast.append(rows[field.name].cast(pa.string()).dictionary_encode())
        else:
            cast.append(rows[field.name].cast(field.type))
    return pa.table(cast, schema=wanted)
