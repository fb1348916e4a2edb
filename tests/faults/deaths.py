"""Jobs of Spark in which a worker or the JVM is killed, with the task's files written by then.

A worker imports this module by its name, as it does the work itself.
"""

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pipelines.spark.runner import SparkRunner, Work

ALWAYS = 100
"""More often than a task is tried."""


class Deadly(SparkRunner):
    """Runs jobs of Spark, with other work in the place of some."""

    def __init__(self, runner: SparkRunner, deadly: Mapping[Work, Work]) -> None:
        super().__init__(lambda: runner.spark)
        self.deadly = deadly

    def run(self, work: Work, tasks: Sequence[str]) -> list[str]:
        """Do the work of every task, or what stands in its place."""
        return super().run(self.deadly.get(work, work), tasks)


def dies(work: Work, folder: str, times: int, task: str) -> str:
    """Do the work, then die without an answer, so many times in all; each leaves a mark."""
    answer = work(task)
    for k in range(times):
        with suppress(FileExistsError):
            Path(folder, f"death-{k}").open("x").close()
            os.kill(os.getpid(), signal.SIGKILL)
    return answer


def deaths(folder: Path) -> int:
    """Count the workers that died."""
    return len([*folder.glob("death-*")])


def killing(work: Work, victim: int, task: str) -> str:
    """Do the work, then kill a process before it hears of it."""
    answer = work(task)
    os.kill(victim, signal.SIGKILL)
    return answer
