"""How many tasks the executors of a session run at once.

Law: an answer is of this moment: executors come and go.
"""

import time
from typing import TYPE_CHECKING

from pipelines.spark import masters

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

DYNAMIC = "spark.dynamicAllocation.enabled"
COMING = 30.0
"""Seconds at most to wait for the first executors of a cluster."""
SETTLED = 1.0
"""Seconds without another one after which all that come soon are there."""
MOST = 100_000
"""More rows than any cluster has slots: Spark cuts a range in as many parts as it has slots."""


def slots(session: "SparkSession") -> int:
    """Say how many tasks run at once."""
    context = context_of(session)
    if context is None:
        return int(session.range(MOST).selectExpr("spark_partition_id() p").distinct().count())
    if masters.is_threads(str(context.master)):
        return int(context.defaultParallelism)
    conf = context.getConf()
    cores = int(context.defaultParallelism)
    if conf.get(DYNAMIC) == "true":
        most = int(conf.get("spark.dynamicAllocation.maxExecutors") or 0)
        cores = max(cores, most * int(conf.get("spark.executor.cores") or 1))
    return max(1, cores // int(conf.get("spark.task.cpus") or 1))


def context_of(session: "SparkSession") -> "SparkContext | None":
    """Give the context of a session; None behind Spark Connect, where there is none."""
    from pyspark.sql.session import SparkSession as Classic

    known: object = session  # whose type says that it is always a classic one
    return session.sparkContext if isinstance(known, Classic) else None


def executors(context: "SparkContext") -> int:
    """Count the executors that are there."""
    return int(context._jsc.sc().getExecutorMemoryStatus().size()) - 1  # the driver is in it


def wait_for_executors(context: "SparkContext") -> None:
    """Wait until some have come and no more do; give up silently: a job would wait, too."""
    begin = since = time.monotonic()
    many = 0
    while time.monotonic() - begin < COMING:
        now = executors(context)
        if now != many:
            many, since = now, time.monotonic()
        if many and time.monotonic() - since >= SETTLED:
            return
        time.sleep(0.05)
