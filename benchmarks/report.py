"""How a benchmark speaks: one line a claim, its figure, its bar, and whether it is met."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

REPEATS = 7


@dataclass(frozen=True)
class Line:
    """One claim. `ratio` is judged against `bar`; without a bar it is only told."""

    claim: str
    ratio: float | None
    bar: float | None = None
    at_least: bool = False
    facts: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the bar is met; None where there is none."""
        if self.bar is None or self.ratio is None:
            return None
        return self.ratio >= self.bar if self.at_least else self.ratio <= self.bar

    def __str__(self) -> str:
        """One row of the table."""
        verdict = {True: "met", False: "MISSED", None: ""}[self.met]
        figure = "" if self.ratio is None else f"{self.ratio:9.2f} ×"
        bar = "" if self.bar is None else f"{'≥' if self.at_least else '≤'} {self.bar:g} ×"
        return f"{self.claim:<62} {figure:>11} {bar:>9} {verdict:<6}  {self.facts}"


def median_seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Time the work: once unseen, to load and compile, then the median of the repeats."""
    work()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def show(title: str, lines: list[Line]) -> None:
    """Print a section."""
    print(f"\n{title}")
    for line in lines:
        print(f"  {line}", flush=True)
