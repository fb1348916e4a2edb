"""The demo's lines: a mark, the step, the facts, the seconds; and below them what is being done.

On a terminal the last line moves; elsewhere a plain line reports progress every few seconds.

Law: what Dagster, Spark and Java write while the work is done goes to a file, not to the screen.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.text import Text

SHOWN_EVERY = 5.0
"""Seconds between two lines about the same step, where no line can move."""

NAME, FACTS = 14, 76
"""The width of the columns."""


class _Console(Console):
    """Rich's, except when the output is closed: pipelines/cli/errors.py handles that."""

    def on_broken_pipe(self) -> None:
        """Raise it to the caller that prints."""
        self.quiet = True
        raise BrokenPipeError


class Screen:
    """Where the story is printed: the process's output as it was when the screen was made."""

    def __init__(self) -> None:
        """Keep the original output: `aside` gives the process another one."""
        sys.stdout.flush()
        self._file = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
        self.console = _Console(file=self._file, highlight=False, soft_wrap=True)

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Print everything that was written, unless the output is closed."""
        with suppress(BrokenPipeError):
            self._file.close()

    def line(self, text: str = "", style: str = "") -> None:
        """Write a line as it is."""
        self.console.print(Text(text, style))
        self._file.flush()

    def done(
        self, name: str, facts: Sequence[str], seconds: float | None = None, *, well: bool = True
    ) -> None:
        """Write the result of a step: its facts, line by line, the seconds behind the first."""
        mark = Text("  ✓ " if well else "  ✗ ", "green" if well else "red")
        spent = "" if seconds is None else f"{seconds:6.1f} s"
        first, *others = facts
        self.console.print(
            mark, Text(f"{name:<{NAME}}"), Text(f"{first:<{FACTS}}{spent}".rstrip()), sep=""
        )
        for fact in others:
            self.line(f"{'':{NAME + 4}}{fact}")
        self._file.flush()

    @contextmanager
    def doing(self, name: str) -> Iterator["Doing"]:
        """Show how far a step is, until it ends."""
        if not self.console.is_terminal:
            yield Doing(self, name, None)
            return
        columns = (SpinnerColumn(), TextColumn(f"{name:<{NAME - 1}}"), BarColumn(24))
        with Progress(
            *columns, TextColumn("{task.description}"), console=self.console, transient=True
        ) as bar:
            yield Doing(self, name, bar)


class Doing:
    """A step that is being done."""

    def __init__(self, screen: Screen, name: str, bar: Progress | None) -> None:
        """Start its clock."""
        self.screen = screen
        self.name = name
        self.started = self._shown = time.perf_counter()
        self._bar = bar
        self._task = None if bar is None else bar.add_task("", total=1.0)

    @property
    def seconds(self) -> float:
        """How long it has been done."""
        return time.perf_counter() - self.started

    def progress(self, doing: str, part: float) -> None:
        """Show what is being done, and how far it is, from 0 to 1."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=doing, completed=part)
        elif time.perf_counter() - self._shown > SHOWN_EVERY:
            self._shown = time.perf_counter()
            self.screen.line(f"    {self.name:<{NAME}}{doing}", "dim")


@contextmanager
def aside(file: Path) -> Iterator[None]:
    """Send the output of this process and of those that it starts to a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    before = [os.dup(number) for number in (1, 2)]
    with file.open("ab") as log:
        for number in (1, 2):
            os.dup2(log.fileno(), number)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, kept in zip((1, 2), before, strict=True):
            os.dup2(kept, number)
            os.close(kept)
