"""A session that does a little of everything, to load the classes.

`python -m pipelines.spark.environment.rehearsal OPTION…`, the options being those with which the
JVM dumps them when it ends.
"""

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from pipelines.spark import session
from pipelines.spark.environment import apart


def rehearse(options: list[str]) -> None:
    """Read and write what jobs read and write, on the JVM with these options; then end it."""
    spark = session.spark(quick=True, jvm_options=options)
    with tempfile.TemporaryDirectory(prefix="fencepost-rehearsal-") as scratch:
        table, files = f"{scratch}/table", Path(scratch) / "files"
        files.mkdir()
        (files / "a.csv").write_text("stream_id,ts,price\na,2026-11-18T14:00:00Z,1.5\n")
        (files / "a.jsonl").write_text('{"stream_id": "a", "price": 1.5}\n')
        spark.sql(
            f"CREATE TABLE delta.`{table}` (id BIGINT NOT NULL COMMENT 'a number', word STRING) "
            "USING delta PARTITIONED BY (word)"
        )
        rows = spark.range(100).selectExpr("id", "concat('w', id % 3) AS word")
        rows.write.format("delta").mode("append").save(table)
        rows.write.parquet(f"{scratch}/rows")
        read = spark.read.format("delta").load(table)
        read.where("id > 10 AND word = 'w1'").groupBy("word").count().orderBy("word").collect()
        read.join(spark.read.parquet(f"{scratch}/rows"), "id").toArrow()
        read.inputFiles()
        spark.read.csv(str(files / "a.csv"), header=True).collect()
        spark.read.json(str(files / "a.jsonl")).collect()
        spark.read.text(str(files)).selectExpr("value", "_metadata.file_path").collect()
        read.mapInArrow(_same, "id bigint, word string").count()
        spark.sparkContext.parallelize(range(2), 2).map(str).collect()
    session.stop(patience=apart.PATIENCE)  # this writes the archive


def _same(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    yield from batches


if __name__ == "__main__":
    rehearse(sys.argv[1:])
