"""A process that ends at a named point of the lake's code, within this one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipelines.lake.crash_points import on_point


class Killed(BaseException):
    """The process ends here."""


@contextmanager
def hooked(hook: Callable[[str], None]) -> Iterator[None]:
    """Call a hook with the name of each point that is passed."""
    off = on_point(hook)
    try:
        yield
    finally:
        off()


@contextmanager
def killed_at(point: str, time: int = 1) -> Iterator[None]:
    """End whatever passes this point for the k-th time."""
    left = time

    def hook(name: str) -> None:
        nonlocal left
        left -= name == point
        if name == point and not left:
            raise Killed(name)

    with hooked(hook):
        yield


@contextmanager
def watched(passed: list[str], crash_at: int | None = None) -> Iterator[None]:
    """Note the points that are passed; end the process at the k-th."""

    def hook(name: str) -> None:
        passed.append(name)
        if len(passed) == crash_at:
            raise Killed(name)

    with hooked(hook):
        yield
