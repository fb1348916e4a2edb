"""A job of Spark whose writer lost its lease is cancelled, and its slots are free for others."""

import time

import pytest
from pyspark.sql import SparkSession

from fencepost.errors import LockedError
from pipelines.lake.lease import overtaken
from pipelines.spark import abandonment, adoption
from pipelines.spark.runner import SparkRunner

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

LONG = 200.0
"""Seconds."""


def sleeps(task: str) -> str:
    time.sleep(float(task))
    return task


def after(seconds: float) -> abandonment.Check:
    """Make a check that refuses from then on."""
    end = time.monotonic() + seconds

    def check() -> None:
        if time.monotonic() > end:
            raise overtaken()

    return check


def test_a_long_job_is_cancelled_within_seconds_of_the_loss(spark: SparkSession) -> None:
    runner = SparkRunner(lambda: spark)
    begun = time.monotonic()
    taken_over = pytest.raises(LockedError, match="another took over")
    with abandonment.abandoned_unless(after(2)), taken_over:
        runner.run(sleeps, [str(LONG)] * (2 * runner.slots))
    assert runner.run(sleeps, ["0.0"] * runner.slots) == ["0.0"] * runner.slots
    assert time.monotonic() - begun < LONG / 4
    with abandonment.abandoned_unless(after(LONG)):
        assert runner.run(sleeps, ["0.1"]) == ["0.1"]


def test_in_a_session_that_is_not_ours_too(spark: SparkSession) -> None:
    begun = time.monotonic()
    taken_over = pytest.raises(LockedError, match="another took over")
    with taken_over, abandonment.abandoned_unless(after(2)), abandonment.watched(spark):
        adoption.run(spark, sleeps, [str(LONG)])
    assert time.monotonic() - begun < LONG / 4
