"""`fencepost sql --engine spark` over a lake on an object store: the answers of DuckDB."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.faults.story import do, make_on_store
from tests.support.commands.commands import fencepost
from tests.support.stores.servers import S3

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.xdist_group("spark")]

STATEMENTS = (
    "select query_id, type, count(*) n from events group by all order by all",
    "select query_id, stream_id, since from inside_now order by all",
    "select reason, count(*) n from quarantine group by all order by all",
)


def test_spark_gives_the_answers_of_duckdb_over_a_store(
    spark: SparkSession, moto_s3: S3, tmp_path: Path
) -> None:
    del spark  # it is the session that the command finds
    folder = tmp_path / "project"
    make_on_store(folder, moto_s3)
    for stage in ("registered", "taken-in", "registered-again", "late"):
        do(folder, stage)
    for statement in STATEMENTS:
        answers = []
        for engine in ("duckdb", "spark"):
            said = fencepost(
                *("sql", statement, "--engine", engine, "--config", folder, "--format", "json")
            )
            assert said.code == 0, said.err
            answers.append([json.loads(line) for line in said.out.splitlines()])
        assert answers[0] == answers[1]
        assert answers[0]
