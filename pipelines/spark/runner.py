"""Who does the work of a job: Spark's tasks, or this process.

A task is a line of JSON in and a line of JSON out, and its work is a function of a module: so
nothing that came from a user is ever pickled, and what a worker knows is what the line says.

Law: the answers are those of the tasks, in their order, whoever did the work.
"""

import re
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from fencepost import errors
from fencepost.errors import FencepostError, SparkError, WorkerError
from pipelines.disk.errors import refuse_failing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Work = Callable[[str], str]

OURS = re.compile(
    r"^fencepost\.errors\.(LakeError|InputError|StateError|StorageError): (.*)$", re.MULTILINE
)
"""How Spark reports an error of ours that a task ended with."""

DIED = re.compile(r"Python worker exited unexpectedly(?: \(\w+\))?")
"""How Spark reports that a worker ended without an answer."""

UNTIL_GONE = 2.0
"""Seconds in which a JVM that no longer answers has ended."""

AGAIN = (
    "What was committed is kept: run the same command again, and it continues from there. If it "
    "ends like this again, the machine may be short of memory: "
)


class Runner(Protocol):
    """Runs tasks, several at once where it can."""

    @property
    def slots(self) -> int:
        """How many tasks run at once."""
        ...

    def run(self, work: Work, tasks: Sequence[str]) -> list[str]:
        """Do the work of every task; the first failure ends the job."""
        ...


class HereRunner:
    """This process, one task after the other: no JVM to wait for, for small lakes and tests."""

    slots = 1

    def run(self, work: Work, tasks: Sequence[str]) -> list[str]:
        """Do the work of every task."""
        with said_plainly():
            return [work(task) for task in tasks]


class SparkRunner:
    """Spark: a task each; a worker that dies costs a retry, never a row.

    The session is started with the first job: who has nothing to do need not wait for a JVM. The
    job after one whose JVM ended starts another.
    """

    def __init__(self, start: Callable[[], "SparkSession"]) -> None:
        """Take what starts the session, or gives the one that runs."""
        self._start = start

    @property
    def spark(self) -> "SparkSession":
        """The session that runs the jobs."""
        return self._start()

    @property
    def slots(self) -> int:
        """How many tasks run at once."""
        return int(self.spark.sparkContext.defaultParallelism)

    def run(self, work: Work, tasks: Sequence[str]) -> list[str]:
        """Do the work of every task in a job."""
        if not tasks:
            return []
        context = self.spark.sparkContext
        with said_by_spark():
            return list(context.parallelize(tasks, len(tasks)).map(work).collect())


@contextmanager
def said_by_spark() -> Iterator[None]:
    """Say plainly what a job of Spark ended with; SparkError where its JVM or a worker did."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    from pipelines.spark import session

    try:
        with said_plainly():
            yield
    except FencepostError:
        raise
    except Exception as failure:
        answered = isinstance(failure, Py4JJavaError)
        code = session.ended(0.0 if answered else UNTIL_GONE)
        if code is not None:
            raise SparkError(
                f"Spark's Java {_how(code)} in the middle of the work. {AGAIN}allow it less "
                "(memory under [run])"
            ) from failure
        died = DIED.search(str(failure))
        if died is not None:
            raise WorkerError(
                f"a task of Spark ended its worker {session.ATTEMPTS} times: {died[0]}. {AGAIN}"
                "have fewer tasks at once (cores under [run])"
            ) from failure
        raise


def _how(code: int) -> str:
    """Say how a process ended."""
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"


@contextmanager
def said_plainly() -> Iterator[None]:
    """Raise what a task said on purpose as it said it, without Spark's words around it.

    A full or failing disk is said on purpose, whoever met it.
    """
    try:
        yield
    except FencepostError:
        raise
    except Exception as failure:
        said = OURS.search(str(failure))
        if said is None:
            refuse_failing(failure)
            raise
        raise getattr(errors, said[1])(said[2]) from failure
