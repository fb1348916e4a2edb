"""The runners of jobs: Spark's tasks, or this process.

A task is a line of JSON in and a line of JSON out, and its work is a function of a module: so
nothing from a user is ever pickled, and a worker knows only what is in the line.

Law: the answers are those of the tasks, in their order, with any runner.
"""

import re
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from fencepost import errors
from fencepost.errors import FencepostError, SparkError, WorkerError
from pipelines.disk.errors import refuse_failing
from pipelines.spark import abandonment, causes
from pipelines.spark.configuration import ATTEMPTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Work = Callable[[str], str]

OURS = re.compile(
    r"^fencepost\.errors\.(LakeError|InputError|StateError|StorageError|StoreUnavailable): (.*)$",
    re.MULTILINE,
)
"""How Spark reports an error of ours that a task ended with."""

UNTIL_GONE = 2.0
"""Seconds in which a JVM that no longer answers has ended."""

AGAIN = (
    "What was committed is kept: run the same command again, and it continues from there. If it "
    "ends like this again, the machine may be short of memory: "
)


PLATFORM = (
    "Nothing was refused for it. `fencepost doctor --start` tries a task on every executor and "
    "says what is missing there"
)


class Runner(Protocol):
    """Runs tasks, in parallel where possible."""

    @property
    def slots(self) -> int:
        """How many tasks run at once."""
        ...

    def run(self, work: Work, tasks: Sequence[str]) -> list[str]:
        """Run every task; the first failure ends the job, and the end of the right to write."""
        ...


class HereRunner:
    """This process, task by task: no JVM to wait for, for small lakes and tests."""

    slots = 1

    def run(self, work: Work, tasks: Sequence[str]) -> list[str]:
        """Run every task, unless the job is abandoned between two of them."""
        answers = []
        with said_plainly():
            for task in tasks:
                abandonment.go_on()
                answers.append(work(task))
        return answers


class SparkRunner:
    """Spark: a task each; a worker that dies costs a retry, never a row.

    The session is started with the first job: without jobs there is no wait for a JVM. The
    job after the end of a JVM starts another.
    """

    def __init__(self, start: Callable[[], "SparkSession"]) -> None:
        """Store the function that starts the session, or gives the running one."""
        self._start = start

    @property
    def spark(self) -> "SparkSession":
        """The session that runs the jobs."""
        return self._start()

    @property
    def slots(self) -> int:
        """How many tasks run at once."""
        from pipelines.spark import executors

        return executors.slots(self.spark)

    @property
    def streams(self) -> bool:
        """Whether Structured Streaming can call us back: not in a session that is not ours."""
        from pipelines.spark import session

        return session.is_ours(self.spark)

    def run(self, work: Work, tasks: Sequence[str]) -> list[str]:
        """Run every task in one Spark job."""
        if not tasks:
            return []
        from pipelines.spark import adoption, session

        spark = self.spark
        with said_by_spark(), abandonment.watched(spark):
            if not session.is_ours(spark):
                return adoption.run(spark, work, tasks)
            return list(spark.sparkContext.parallelize(tasks, len(tasks)).map(work).collect())


@contextmanager
def said_by_spark() -> Iterator[None]:
    """Say plainly how a Spark job failed; SparkError if its JVM or a worker ended."""
    from pipelines.spark import session

    try:
        with said_plainly():
            yield
    except FencepostError:
        raise
    except Exception as failure:
        answered = type(failure).__name__ == "Py4JJavaError"  # behind Connect there is no Py4J
        code = session.ended(0.0 if answered else UNTIL_GONE)
        if code is not None:
            raise SparkError(
                f"Spark's Java {_how(code)} in the middle of the work. {AGAIN}allow it less "
                "(memory under [run])"
            ) from failure
        why = causes.platform(failure)
        if why is not None:
            raise SparkError(
                f"Spark's executors cannot do the work: {why}. {PLATFORM}"
            ) from failure
        if causes.is_death(failure):
            raise WorkerError(
                f"a task of Spark ended its worker {ATTEMPTS} times: {causes.cause(failure)}. "
                f"{AGAIN}have fewer tasks at once (cores under [run])"
            ) from failure
        raise


def _how(code: int) -> str:
    """Say how a process ended."""
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"


@contextmanager
def said_plainly() -> Iterator[None]:
    """Raise a task's expected error unchanged, without Spark's words around it.

    A full or failing disk is an expected error, in any process.
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
