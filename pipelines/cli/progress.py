"""A progress bar for who waits: on a terminal, and only when it takes longer than two seconds."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

PATIENCE = 2.0
"""Seconds without a bar."""


class Progress:
    """How much of the work is done, in parts of `total`; says nothing where nobody looks."""

    def __init__(self) -> None:
        self.total = 1.0
        self.done = 0.0
        self._doing = ""
        self._started = time.monotonic()
        self._watched = sys.stderr.isatty()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        """Start the clock."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away; what follows on the terminal stands where it stood."""
        if self._bar is not None:
            self._bar.stop()

    def now(self, doing: str) -> None:
        """Say what comes next."""
        self._doing = doing
        self._show()

    def advance(self, part: float) -> None:
        """Say that a further part of the total is done."""
        self.reach(self.done + part)

    def reach(self, done: float) -> None:
        """Say how much of the total is done."""
        self.done = min(done, self.total)
        self._show()

    def _show(self) -> None:
        if not self._watched or time.monotonic() - self._started < PATIENCE:
            return
        if self._bar is None:
            self._open()
        if self._bar is not None and self._task is not None:
            self._bar.update(
                self._task, description=self._doing, completed=self.done, total=self.total
            )

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self._doing, total=self.total, completed=int(self.done))
        self._bar.start()
