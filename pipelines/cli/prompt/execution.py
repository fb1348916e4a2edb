"""A statement that Ctrl-C can cancel.

DuckDB runs outside of Python, where no signal arrives: so it runs in its own thread, and
the main thread waits for it.

Law: when `execute` has returned or raised, nothing of the statement runs any more.
"""

import threading
from contextlib import suppress
from dataclasses import replace

import duckdb
import pyarrow as pa

from fencepost.errors import FencepostError
from pipelines.project.settings import Settings
from pipelines.serve.views.answers import SqlAnswer
from pipelines.serve.views.duckdb import answered, duckdb_session
from pipelines.serve.views.geometry import places_of

A_LOOK = 0.05


class _Execution(threading.Thread):
    """A session, opened for one statement."""

    def __init__(self, settings: Settings, statement: str, most: int) -> None:
        super().__init__(daemon=True)
        self.settings, self.statement, self.most = settings, statement, most
        self.answer: SqlAnswer | None = None
        self.fault: BaseException | None = None
        self.cancelled, self.ended = threading.Event(), threading.Event()
        self.session: duckdb.DuckDBPyConnection | None = None

    def run(self) -> None:
        """Run the statement, and read the rows up to the limit."""
        try:
            session = duckdb_session(
                self.settings.root, self.settings.tables, self.statement, only=True
            )
            self.session = session
            try:
                if not self.cancelled.is_set():
                    with answered(session, self.statement, self.settings.tables) as answer:
                        some = answer.upto(self.most) if self.most else answer
                        batches: list[pa.RecordBatch] = list(some.batches)
                        places = places_of(self.settings)
                        self.answer = replace(some, batches=iter(batches), places=places)
            finally:
                session.close()
        except BaseException as fault:  # noqa: BLE001  raised again by the thread that waits
            self.fault = fault
        finally:
            self.ended.set()

    def cancel(self) -> None:
        """End it; DuckDB can be interrupted only while it works, so try until it has ended."""
        self.cancelled.set()
        while not self.ended.is_set():
            with suppress(KeyboardInterrupt):  # pressed again
                with suppress(duckdb.Error):  # closed meanwhile
                    if self.session is not None:
                        self.session.interrupt()
                self.ended.wait(A_LOOK)


def execute(settings: Settings, statement: str, most: int) -> SqlAnswer:
    """Run a statement, and give rows up to the limit; 0: all. KeyboardInterrupt cancels it."""
    execution = _Execution(settings, statement, most)
    execution.start()
    try:
        execution.ended.wait()  # an interrupted join treats the thread as ended: bpo-45274
    except BaseException:
        execution.cancel()
        raise
    if execution.fault is not None:
        raise execution.fault
    if execution.answer is None:
        raise FencepostError("the statement was not run")
    return execution.answer
