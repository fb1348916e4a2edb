"""Jobs that are abandoned as soon as nobody may commit what they find.

A writer whose lease was taken over learns of it at its next commit. Before that may be an hour of
tasks, on executors that the other writer needs: so jobs look, too.

Law: only work is spared. Whether rows may be committed is decided with each commit.
"""

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from fencepost.errors import LockedError, StorageError
from pipelines.spark import executors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Check = Callable[[], None]

LOOK = 1.0
"""Seconds between two looks while a job of Spark runs."""

_check: ContextVar[Check | None] = ContextVar("_check", default=None)


@contextmanager
def abandoned_unless(check: Check) -> Iterator[None]:
    """Within the block, abandon jobs of this thread once the check raises LockedError."""
    before = _check.get()
    _check.set(check)
    try:
        yield
    finally:
        _check.set(before)


def go_on() -> None:
    """Raise LockedError where nobody may commit what this thread's job finds."""
    check = _check.get()
    if check is not None:
        check()


@contextmanager
def watched(spark: "SparkSession") -> Iterator[None]:
    """Cancel what this thread has Spark do within the block, once the check raises LockedError.

    Spark ends the workers of its tasks some seconds later.
    """
    check = _check.get()
    if check is None:
        yield
        return
    with _tagged(spark) as cancel:
        refused: list[LockedError] = []
        over = threading.Event()
        watch = threading.Thread(
            target=_watch, args=(check, cancel, over, refused), name="job", daemon=True
        )
        watch.start()
        try:
            yield
        except Exception as failure:
            if refused:
                raise refused[0] from failure
            raise
        finally:
            over.set()


def _watch(
    check: Check, cancel: Callable[[], object], over: threading.Event, refused: list[LockedError]
) -> None:
    """Look until the job is over; cancel with each look, since it may only be about to begin."""
    while not over.wait(LOOK):
        try:
            check()
        except LockedError as why:
            refused.append(why)
            cancel()
        except StorageError:  # the next commit decides whether that has lasted too long
            continue


@contextmanager
def _tagged(spark: "SparkSession") -> Iterator[Callable[[], object]]:
    """Give what cancels the jobs that this thread begins within the block."""
    tag = f"fencepost-{secrets.token_hex(8)}"
    context = executors.context_of(spark)
    if context is None:
        spark.addTag(tag)
        try:
            yield lambda: spark.interruptTag(tag)
        finally:
            spark.removeTag(tag)
    else:
        context.addJobTag(tag)
        try:
            yield lambda: context.cancelJobsWithTag(tag)
        finally:
            context.removeJobTag(tag)
