"""The lake, as assets and checks take it: the settings, one writer at a time, Spark when needed.

A plain object and no configurable resource: where the lake lies and what runs there is said in
fencepost.toml, and nothing of it can be given with a run.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

import dagster as dg

from fencepost.errors import FencepostError, LockedError, SparkError
from pipelines.epochs.drive import Lake
from pipelines.lake.store import Store
from pipelines.project.settings import Settings
from pipelines.runs.run import runner_of, writing
from pipelines.spark.runner import Runner

PATIENCE = 300.0
"""Seconds to wait for a writer that Dagster knows nothing of: a command, or watch."""


class LakeAccess:
    """One project's lake; as a resource its name is `lake`."""

    def __init__(self, settings: Settings) -> None:
        """Open nothing yet."""
        self.settings = settings

    @cached_property
    def runner(self) -> Runner:
        """Who does the work; Spark is started with the first of it, and stays with the process."""
        return runner_of(self.settings, quick=True)

    def store(self) -> Store:
        """Open the tables to read them; no lock is taken, and nothing is made that is missing."""
        return Store.to_read(self.settings.root, self.settings.tables)

    @contextmanager
    def writing(self, command: str) -> Iterator[Lake]:
        """Hold the lake to write to it, whatever was begun in it finished."""
        with writing(self.settings, f"dagster {command}", self.runner, PATIENCE) as (lake, _):
            yield lake


@contextmanager
def told_plainly() -> Iterator[None]:
    """Fail with the words of an error of ours, and repeat only what may go well the next time.

    Whatever was committed stands; who repeats goes on from there.
    """
    try:
        yield
    except LockedError as why:
        raise dg.Failure(f"{why}\nNothing is lost: run it again when the lake is free.") from why
    except FencepostError as why:
        again = "What was committed stands. Mend it and run again: it goes on from there."
        allowed = isinstance(why, SparkError)  # another JVM, another worker may live
        raise dg.Failure(f"{why}\n{again}", allow_retries=allowed) from why
    except (dg.DagsterExecutionInterruptedError, KeyboardInterrupt) as why:
        # By itself Dagster repeats a step that was cancelled, where it has a retry policy.
        again = "What was committed stands; run it again, and it goes on from there."
        raise dg.Failure(f"It was cancelled. {again}", allow_retries=False) from why
