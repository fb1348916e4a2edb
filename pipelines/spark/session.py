"""The Spark session: one a process, on the Java and the jars of the environment, and quiet.

Law: nothing in the shell's environment (SPARK_HOME, PYSPARK_SUBMIT_ARGS, JAVA_TOOL_OPTIONS, a
Connect address) changes it, but for the folders of a cluster's own settings where the master is a
cluster; nothing is left in the working folder; time is UTC in the session, in the JVM, in the
workers and in this process.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.errors import InputError, StateError
from pipelines.spark import adoption, executors, masters
from pipelines.spark.configuration import PYTHON, Where, program, settings
from pipelines.spark.environment import archive, jars, java, jvm, machine
from pipelines.spark.environment.place import Place
from pipelines.spark.executors import DYNAMIC

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# PySpark would use these, and connect to another JVM or a Connect server.
FOREIGN = (
    "SPARK_REMOTE",
    "SPARK_LOCAL_REMOTE",
    "SPARK_CONNECT_MODE_ENABLED",
    "SPARK_API_MODE",
    "SPARK_TESTING",
    "MASTER",
)
STOPPING = 20.0
"""Seconds until a JVM that does not end is ended."""


@dataclass(frozen=True, eq=False)
class _RunningSession:
    """The session of this process, its JVM, and the folder deleted when it ends."""

    session: "SparkSession"
    jvm: jvm.Jvm
    folder: Path
    process: int
    master: str


_RUNNING: list[_RunningSession] = []
_TURN = threading.RLock()


def spark(  # noqa: PLR0913  by name, and most of them seldom
    *,
    quick: bool = True,
    memory: str | None = None,
    cores: int | None = None,
    master: str = masters.LOCAL,
    driver_host: str | None = None,
    extra: Mapping[str, str] | None = None,
    jvm_options: Sequence[str] = (),
) -> "SparkSession":
    """Return the session of this process; the first call starts and configures it.

    One that runs here already is used as it is, and so is one of spark-submit or Spark Connect.

    About 3 s, and at the first job and the first table as much again; a later call costs nothing.

    Args:
        quick: the JVM starts fast and stays slower, for commands and tests; False for long jobs.
        memory: of the JVM's heap, like 4g; without it 1 GiB if quick, else a quarter of the
            machine's, 1 to 8 GiB. The workers, which hold the tuples, come on top.
        cores: at most this many tasks at a time, and here never more than the machine has cores.
        master: where the executors are.
        driver_host: the address at which executors find this process.
        extra: further settings of Spark, over ours.
        jvm_options: in place of those that map the archive of classes.
    """
    with _TURN:
        if (running := _running()) is not None:
            return running.session
        if (theirs := adoption.session(master)) is not None:
            return theirs
        if cores is not None and cores < 1:
            raise InputError(f"{cores} cores, expected 1 or more")
        heap = machine.heap(memory, quick=quick)
        place = Place.of_this_python()
        chosen = java.find(place)
        class_path = [*jvm.spark_jars(), *jars.here(place)]
        options = [
            f"-Xmx{heap // 2**20}m",
            *(jvm.QUICK if quick else ()),
            *(jvm_options or archive.options(place, chosen, class_path)),
        ]
        where = Where(master, driver_host, cores)
        if not masters.is_here(master):
            class_path = [*masters.configurations(), *class_path]
        wanted = {**(extra or {})}
        running = _begun(
            lambda folder, given: jvm.start(
                chosen,
                options,
                class_path,
                folder,
                program(where, folder, given),
                **masters.jvm_environment(master, folder, jvm.spark_jars()[0].parent, chosen),
            ),
            lambda folder: settings(where, folder, place, wanted),
        )
        _RUNNING.append(running)
        if not masters.is_threads(master) and wanted.get(DYNAMIC) != "true":
            executors.wait_for_executors(running.session.sparkContext)
        return running.session


def _begun(
    start: Callable[[Path, Mapping[str, str]], jvm.Jvm],
    settings: Callable[[Path], Mapping[str, str]],
) -> _RunningSession:
    """Start a JVM and a session in it, with a folder that ends with them; or leave nothing."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    folder = Path(tempfile.mkdtemp(prefix="fencepost-spark-"))
    try:
        given = settings(folder)
        process = start(folder, given)
        try:
            session = _connected(process, given)
            return _RunningSession(session, process, folder, os.getpid(), given["spark.master"])
        except BaseException:
            _forget()
            process.end(STOPPING)
            raise
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def stop(patience: float = STOPPING) -> None:
    """End the session and its JVM, in about half a second; nothing happens if there is none.

    A JVM that has not ended after `patience` seconds is killed.
    """
    with _TURN:
        if (running := _running()) is None:
            return
        try:
            running.session.stop()
        finally:
            _end(running, patience)


def is_ours(session: "SparkSession") -> bool:
    """Whether this is the session that was started here, not one that was there."""
    return bool(_RUNNING) and _RUNNING[0].session is session


def ended(patience: float = 0.0) -> int | None:
    """Return how the session's JVM ended; None if it is still running after this many seconds."""
    if not _RUNNING or _RUNNING[0].process != os.getpid():
        return None
    try:
        return _RUNNING[0].jvm.process.wait(patience)
    except subprocess.TimeoutExpired:
        return None


def _running() -> _RunningSession | None:
    """Return the session that runs; StateError in a fork, whose session is its parent's."""
    if not _RUNNING:
        return None
    running = _RUNNING[0]
    if running.process != os.getpid():
        raise StateError(
            f"process {os.getpid()} was forked from {running.process} after that had started a "
            "Spark session, and a JVM cannot be shared. Start processes before the session, or by "
            "multiprocessing's 'spawn'."
        )
    if not running.jvm.alive:
        _end(running, 0)
        return None
    return running


def _end(running: _RunningSession, patience: float) -> None:
    _RUNNING.clear()
    _forget()
    running.jvm.end(patience)
    shutil.rmtree(running.folder, ignore_errors=True)


def _forget() -> None:
    """Make PySpark forget a JVM that has ended, so that it uses the next one."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    if gateway is not None:
        gateway.shutdown()


@atexit.register
def _leave() -> None:
    """At exit, the JVM sees its stdin close, and ends without being waited for.

    A cluster gets its executors back first.
    """
    if _RUNNING and _RUNNING[0].process == os.getpid():
        if not masters.is_threads(_RUNNING[0].master):
            with suppress(Exception):  # the JVM may have ended, the cluster be gone
                _RUNNING[0].session.stop()
        _RUNNING[0].jvm.let_go()
        shutil.rmtree(_RUNNING[0].folder, ignore_errors=True)


def _connected(process: jvm.Jvm, settings: Mapping[str, str]) -> "SparkSession":
    """Connect PySpark to the JVM that was started, and start the session in it."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    address = {
        "PYSPARK_GATEWAY_PORT": str(process.port),
        "PYSPARK_GATEWAY_SECRET": process.secret,
        "PYSPARK_PYTHON": settings.get(PYTHON, sys.executable),
    }
    with _environment(address):
        gateway = launch_gateway()
        # What SparkSubmit has added for YARN or Kubernetes is among the defaults.
        prepared = not masters.is_threads(settings["spark.master"])
        conf = SparkConf(loadDefaults=prepared, _jvm=gateway.jvm)
        if not prepared:
            conf.setAll(list(settings.items()))
        context = SparkContext(conf=conf, gateway=gateway)
        # When a JVM ends it prints a traceback; the caller of the job reports it in words.
        context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
        return SparkSession.builder.getOrCreate()


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    """Set and unset variables for PySpark, which reads them while a session starts."""
    before = {name: os.environ.get(name) for name in (*FOREIGN, *settings)}
    for name in FOREIGN:
        os.environ.pop(name, None)
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
