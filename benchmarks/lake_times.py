"""Two sides timed in turns, so that a machine that slows down slows down both."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

REPEATS = 5

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Times(Generic[T]):
    """The runs of one side: how long each took, and what it gave."""

    runs: tuple[tuple[float, T], ...]

    @property
    def median(self) -> float:
        """The median in seconds."""
        return statistics.median(seconds for seconds, _ in self.runs)

    @property
    def middle(self) -> T:
        """What the run gave that took as long as the median."""
        return sorted(self.runs, key=lambda run: run[0])[len(self.runs) // 2][1]

    def __str__(self) -> str:
        """The median, with minimum and maximum."""
        every = [seconds for seconds, _ in self.runs]
        return f"{self.median:.3g} s ({min(every):.3g}–{max(every):.3g})"


def in_turns(
    ours: Callable[[], tuple[float, T]],
    theirs: Callable[[], tuple[float, U]],
    *,
    warm: int = 1,
    repeats: int = REPEATS,
) -> tuple[Times[T], Times[U]]:
    """Run both sides in turns; each says itself how long it took. The first runs do not count."""
    pairs = [(theirs(), ours()) for _ in range(warm + repeats)][warm:]
    return Times(tuple(pair[1] for pair in pairs)), Times(tuple(pair[0] for pair in pairs))


def clocked(work: Callable[[], T]) -> tuple[float, T]:
    """Time one run of some work."""
    begin = time.perf_counter()
    given = work()
    return time.perf_counter() - begin, given


def divided(seconds: Mapping[str, float]) -> str:
    """Say how a time divides, the shares of both cores added up."""
    return ", ".join(f"{name} {spent:.2f}" for name, spent in seconds.items())
