"""The settings that a session is started with, on this machine and on a cluster.

Law: the rows that tasks write depend on none of them.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipelines.spark import bundle, masters
from pipelines.spark.environment import apart, jars, jvm, machine
from pipelines.spark.environment.place import Place

ATTEMPTS = 3
"""Of a task: a dead worker costs a retry."""
PARTITIONS = 4
"""Of a shuffle: more than this is overhead on one machine."""
PYTHON = "spark.pyspark.python"
ARCHIVES = "spark.archives"
QUIET = {
    "TZ": "UTC",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 32),
}
"""The environment of every worker. A daemon that forks must have one thread. And a worker keeps its
memory from task to task: (measured) given back and taken anew, each tuple costs 15 to 55 ns more.
"""
NOTHING: Mapping[str, str] = {}
SOCKET = 43
"""Characters that Spark appends to a folder to name a socket there."""
LONGEST_SOCKET = 103
"""Characters that every kernel takes as the name of a socket."""
SHELL = "pyspark-shell"
"""What SparkSubmit is told to start: a gateway for the Python that started it."""


@dataclass(frozen=True)
class Where:
    """Where a session runs its tasks, and how many at a time at most."""

    master: str
    driver_host: str | None = None
    cores: int | None = None

    @property
    def tasks(self) -> int:
        """How many tasks run at once, where they are threads of one JVM."""
        wanted = self.cores or masters.threads(self.master) or machine.cores()
        return min(wanted, machine.cores())


def settings(
    where: Where, folder: Path, place: Place, wanted: Mapping[str, str] = NOTHING
) -> dict[str, str]:
    """Give all settings of a session whose folder this is; those that are wanted over ours.

    Executors on other machines get our code as an archive, unless an archive of theirs has it.
    """
    ours = _of_all(folder)
    if masters.is_threads(where.master):
        ours |= _of_threads(where) | _sockets(folder) | _executor_environment(_workers(place))
    elif masters.is_here(where.master):
        ours |= _of_cluster(where, place) | _executor_environment(_workers(place))
    else:
        ours |= _of_cluster(where, place) | _executor_environment(QUIET)
        if ARCHIVES not in wanted:
            ours |= _of_bundle(place)
    return {**ours, **wanted}


def _of_all(folder: Path) -> dict[str, str]:
    return {
        "spark.app.name": "fencepost",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.python.worker.reuse": "true",
        "spark.python.daemon.module": apart.module("spark.daemon"),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.shuffle.partitions": str(PARTITIONS),
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(PARTITIONS),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "250000",
        "spark.databricks.delta.snapshotPartitions": "2",
    }


def _of_threads(where: Where) -> dict[str, str]:
    return {
        "spark.master": f"local[{where.tasks},{ATTEMPTS}]",
        **masters.addresses(where.master, None),
        "spark.default.parallelism": str(where.tasks),
    }


def _sockets(folder: Path) -> dict[str, str]:
    """Let the JVM speak to its workers by sockets in the session's folder, which only we may enter.

    On loopback it waits for an acknowledgement between two small packets, and the worker's kernel
    puts that off: (measured) every second task began 40 ms later. Executors in processes of their
    own have folders whose names may be too long.
    """
    if len(os.fsencode(folder)) + SOCKET > LONGEST_SOCKET:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": str(folder),
    }


def _of_cluster(where: Where, place: Place) -> dict[str, str]:
    """Give what executors in processes of their own need beyond that.

    The Delta jars are on the driver's class path; executors fetch them, to read tables.
    """
    settings = {
        "spark.master": where.master,
        "spark.submit.deployMode": "client",
        **masters.addresses(where.master, where.driver_host),
        "spark.task.maxFailures": str(ATTEMPTS),
        "spark.jars": ",".join(jar.as_uri() for jar in jars.here(place)),
        PYTHON: os.environ.get("PYSPARK_PYTHON") or sys.executable,
    }
    if where.cores is not None:
        settings["spark.cores.max"] = str(where.cores)
    return settings


def _of_bundle(place: Place) -> dict[str, str]:
    archive = bundle.shipped(place, _say)
    return {
        ARCHIVES: f"{archive.as_uri()}#{bundle.FOLDER}",
        **_executor_environment({"PYTHONPATH": bundle.FOLDER}),
    }


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _workers(place: Place) -> dict[str, str]:
    """Give the environment of workers that have our code where this process has it."""
    return {
        **QUIET,
        "NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR") or str(place.kernels),
        **apart.import_settings(),
    }


def _executor_environment(variables: Mapping[str, str]) -> dict[str, str]:
    return {f"spark.executorEnv.{name}": value for name, value in variables.items()}


def program(where: Where, folder: Path, given: Mapping[str, str]) -> list[str]:
    """Give what a JVM is to run: a gateway, on a cluster by way of SparkSubmit.

    SparkSubmit prepares what YARN and Kubernetes want. It reads the settings from a file that only
    its owner may read: a command line is everybody's.
    """
    if masters.is_threads(where.master):
        return [jvm.GATEWAY]
    file = folder / "spark.properties"
    file.touch(mode=0o600)
    file.write_text("".join(f"{_escaped(k)} {_escaped(v)}\n" for k, v in sorted(given.items())))
    return [jvm.SUBMIT, "--properties-file", str(file), SHELL]


def _escaped(text: str) -> str:
    """Write a text as a Java properties file has it."""
    plain = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return "".join(f"\\{c}" if c in " :=#!" else c for c in plain)
