"""Spark's own reader sees in the Delta tables what `fencepost sql` shows: the fifth of them."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pipelines.project.settings import load
from tests.faults.story import STAGES, STORIES, do, make
from tests.support.lakes.readers import assert_true

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.mark.parametrize(
    "story", [pytest.param(n, marks=[pytest.mark.slow] if n == "crossed" else []) for n in STORIES]
)
def test_spark_sees_what_sql_shows_after_a_re_evaluation_and_maintenance(
    story: str, spark: SparkSession, tmp_path
) -> None:
    folder = tmp_path / "project"
    make(folder, story=STORIES[story])

    def read(table) -> pa.Table:
        return spark.read.format("delta").load(str(table)).toArrow()

    for stage in STAGES:
        do(folder, stage)
    assert assert_true(load(folder), {"spark": read})["quarantine"]
