"""Watching: a run every few seconds, woken by Spark's Structured Streaming, or by the clock.

The stream is a trigger: its own rows are ignored and its checkpoint is thrown away, so there is one
ledger, the lake's, and one path, that of `fencepost run`.

Law: on SIGTERM or Ctrl-C the current group of epochs is finished and committed, then it ends.
"""

import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fencepost.errors import LockedError
from pipelines.lake.store import Store
from pipelines.project.lake import open_to_write
from pipelines.project.settings import Settings
from pipelines.runs.run import RunReport, run
from pipelines.spark.runner import Runner, SparkRunner, said_by_spark

Reported = Callable[[RunReport], None]
COMMAND = "fencepost watch"
LOCKED_PATIENCE = 5.0


class Watch:
    """Runs again and again until it is stopped."""

    def __init__(self, settings: Settings, runner: Runner, every: float, report: Reported) -> None:
        """Note the project, the interval, and the callback for each run."""
        self.settings = settings
        self.runner = runner
        self.every = every
        self.report = report
        self.stop_requested = threading.Event()
        self.failure: BaseException | None = None
        self.store = Store.to_read(settings.root, settings.tables)
        self._is_to_write = False
        self._turn = threading.Lock()

    def until_stopped(self) -> None:
        """Watch until a signal or `stop_requested`; raises what made a run fail."""
        with self._signals():
            if isinstance(self.runner, SparkRunner) and self.runner.streams:
                with said_by_spark():
                    self._by_stream(self.runner)
            else:
                self._by_clock()
        if self.failure is not None:
            raise self.failure

    def _once(self) -> None:
        """Run once; if another process has the lock, leave it for the next time."""
        with self._turn:
            if self.stop_requested.is_set():
                return
            try:
                self._open_to_write()
                report = run(
                    self.settings,
                    self.runner,
                    command=COMMAND,
                    stopped=self.stop_requested.is_set,
                    timeout=LOCKED_PATIENCE,
                    store=self.store,
                    patient=False,
                )
            except LockedError:
                return
            except BaseException as failure:  # noqa: BLE001  raised again by the waiting thread
                self.failure = failure
                self.stop_requested.set()
                return
        self.report(report)

    def _open_to_write(self) -> None:
        """Open the lake under its lock, once: it may be of an older format, or lack a table."""
        if self._is_to_write:
            return
        with open_to_write(self.settings, COMMAND, LOCKED_PATIENCE) as (store, _):
            self.store = store
        self._is_to_write = True

    def _by_clock(self) -> None:
        while not self.stop_requested.is_set():
            self._once()
            self.stop_requested.wait(self.every)

    def _by_stream(self, runner: SparkRunner) -> None:
        with tempfile.TemporaryDirectory(prefix="fencepost-watch-") as checkpoint:
            stream = (
                runner.spark.readStream.format("rate")
                .load()
                .writeStream.foreachBatch(self._wake)
                .trigger(processingTime=f"{self.every} seconds")
                .option("checkpointLocation", checkpoint)
                .start()
            )
            while stream.isActive and not self.stop_requested.wait(0.2):
                pass
            self.stop_requested.set()
            with self._turn:
                pass  # the current run finishes; later ones do nothing
            stream.stop()
            failed = stream.exception()
            if failed is not None and self.failure is None:
                raise failed

    def _wake(self, rows: Any, number: int) -> None:  # noqa: ANN401  the stream's own rows
        del rows, number
        self._once()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Treat SIGTERM and Ctrl-C as requests to stop, where signals can be handled."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        wishes = (signal.SIGTERM, signal.SIGINT)
        before = {
            wish: signal.signal(wish, lambda *_: self.stop_requested.set()) for wish in wishes
        }
        try:
            yield
        finally:
            for wish, handler in before.items():
                signal.signal(wish, handler)
