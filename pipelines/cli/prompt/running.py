"""A statement that Ctrl-C can cancel.

DuckDB works outside of Python, where no signal is heard: so it works in a thread of its own, and
the main thread waits for it.

Law: when `run` has returned or raised, nothing of the statement runs any more.
"""

import threading
from contextlib import suppress

import duckdb
import pyarrow as pa

from fencepost.errors import FencepostError
from pipelines.project.settings import Settings
from pipelines.serve.views.answers import Answer
from pipelines.serve.views.duckdb import answered, duckdb_session

A_LOOK = 0.05


class _Running(threading.Thread):
    """A session, opened for one statement."""

    def __init__(self, settings: Settings, statement: str, most: int) -> None:
        super().__init__(daemon=True)
        self.settings, self.statement, self.most = settings, statement, most
        self.answer: Answer | None = None
        self.fault: BaseException | None = None
        self.cancelled, self.ended = threading.Event(), threading.Event()
        self.session: duckdb.DuckDBPyConnection | None = None

    def run(self) -> None:
        """Ask, and keep the rows that were asked for."""
        try:
            session = duckdb_session(self.settings.root, self.settings.tables, self.statement)
            self.session = session
            try:
                if not self.cancelled.is_set():
                    with answered(session, self.statement, self.settings.tables) as answer:
                        some = answer.upto(self.most) if self.most else answer
                        batches: list[pa.RecordBatch] = list(some.batches)
                        self.answer = Answer(some.schema, iter(batches), some.cut)
            finally:
                session.close()
        except BaseException as fault:  # noqa: BLE001  it is raised where it is waited for
            self.fault = fault
        finally:
            self.ended.set()

    def cancel(self) -> None:
        """End it; DuckDB hears only while it works, so it is told until it has ended."""
        self.cancelled.set()
        while not self.ended.is_set():
            with suppress(KeyboardInterrupt):  # pressed again
                with suppress(duckdb.Error):  # closed meanwhile
                    if self.session is not None:
                        self.session.interrupt()
                self.ended.wait(A_LOOK)


def run(settings: Settings, statement: str, most: int) -> Answer:
    """Answer a statement with at most so many rows; 0: all. KeyboardInterrupt cancels it."""
    running = _Running(settings, statement, most)
    running.start()
    try:
        running.ended.wait()  # a join that is interrupted takes the thread for ended: bpo-45274
    except BaseException:
        running.cancel()
        raise
    if running.fault is not None:
        raise running.fault
    if running.answer is None:
        raise FencepostError("the statement was not run")
    return running.answer
