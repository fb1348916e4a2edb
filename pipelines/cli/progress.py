"""A progress bar: on a terminal, and only for work of more than two seconds."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipelines.progress import Progress, no_progress

if TYPE_CHECKING:
    from rich.progress import Progress as RichBar

PATIENCE = 2.0
"""Seconds without a bar."""


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Give a progress that draws a bar on stderr, where that is a terminal; the block ends it."""
    if not sys.stderr.isatty():
        yield no_progress
        return
    started = time.monotonic()
    bar: RichBar | None = None

    def show(doing: str, done: float) -> None:
        nonlocal bar
        if bar is None and time.monotonic() - started > PATIENCE:
            bar = _opened(doing)
        if bar is not None:
            bar.update(bar.task_ids[0], description=doing, completed=min(done, 1.0))

    try:
        yield show
    finally:
        if bar is not None:
            bar.stop()


def show_step(doing: str) -> None:
    """Show what is being done, where stderr is a terminal; the next line replaces it."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{doing + ' …' if doing else ''}")
        sys.stderr.flush()


def _opened(doing: str) -> "RichBar":
    from rich.console import Console
    from rich.progress import Progress as RichBar

    bar = RichBar(console=Console(stderr=True), transient=True)
    bar.add_task(doing, total=1.0)
    bar.start()
    return bar
