"""Partitions of Dagster's on Spark: the same rows as in one process, and one session for a run."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.dagster.project import Project, hours, made, told, with_rules
from tests.faults.story import differing, rows_of

pytestmark = [pytest.mark.dagster, pytest.mark.spark, pytest.mark.xdist_group("spark")]


def test_a_range_on_spark_gives_the_tables_that_one_process_gives(
    spark: SparkSession, project: Project, tmp_path: Path
) -> None:
    on_spark = Project(with_rules(made(tmp_path / "spark", "spark")))
    keys = hours(0, 2)
    for each in (project, on_spark):
        each.land_all(keys)
        result = each.make(*keys)
        assert [hour for name, hour in told(result) if name == "ticks/events"] == keys
    assert on_spark.settings.runner == "spark"
    assert SparkSession.getActiveSession() is not None
    assert spark.sparkContext.statusTracker().getJobIdsForGroup(None)
    assert differing(rows_of(on_spark.folder), rows_of(project.folder)) == []
