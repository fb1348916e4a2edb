"""The lake as assets and checks use it: the settings, one writer at a time, Spark when needed.

A plain object, not a configurable resource: fencepost.toml says where the lake is and what runs
there, and no run can change it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

import dagster as dg

from fencepost.errors import FencepostError, LockedError, SparkError, StoreUnavailable
from pipelines.epochs.drive import Lake
from pipelines.lake.store import Store
from pipelines.project.settings import Settings
from pipelines.runs.run import runner_of, writing
from pipelines.spark.runner import Runner

PATIENCE = 300.0
"""Seconds to wait for a writer that Dagster knows nothing of: a command, or watch."""


class LakeAccess:
    """One project's lake; as a resource its name is `lake`. Each run has its own.

    What a step has opened to write to it, the steps after it read and write as well: so the tables
    are opened once a run, 40 ms, and of the ledgers only what is new is read.
    """

    def __init__(self, settings: Settings) -> None:
        """Open nothing yet."""
        self.settings = settings
        self._written: Store | None = None

    @cached_property
    def runner(self) -> Runner:
        """What executes tasks; Spark starts with the first one, and stays with the process."""
        return runner_of(self.settings, quick=True)

    def store(self) -> Store:
        """Open the tables to read; no lock is taken and nothing is created."""
        return self._written or Store.to_read(self.settings.root, self.settings.tables)

    @contextmanager
    def writing(self, command: str) -> Iterator[Lake]:
        """Lock the lake to write to it, and finish what an earlier writer left."""
        known, self._written = self._written, None
        name = f"dagster {command}"
        with writing(self.settings, name, self.runner, PATIENCE, store=known) as (lake, _):
            yield lake
        self._written = lake.store


@contextmanager
def plain_failures() -> Iterator[None]:
    """Turn our errors into failures with their message, and retry only what may succeed next time.

    What was committed is kept; a retry continues from there.
    """
    try:
        yield
    except LockedError as why:
        raise dg.Failure(f"{why}\nNothing is lost: run it again when the lake is free.") from why
    except FencepostError as why:
        again = "What was committed is kept. Fix the cause and run again: it continues from there."
        passing = (SparkError, StoreUnavailable)  # another JVM may live, the store may answer
        allowed = isinstance(why, passing)
        raise dg.Failure(f"{why}\n{again}", allow_retries=allowed) from why
    except (dg.DagsterExecutionInterruptedError, KeyboardInterrupt) as why:
        # By default Dagster repeats a step that was cancelled, where it has a retry policy.
        again = "What was committed is kept. Run it again, and it continues from there."
        raise dg.Failure(f"Cancelled. {again}", allow_retries=False) from why
