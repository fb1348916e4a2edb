"""How a benchmark speaks: one line a claim, its figure, its bar, and whether it is met."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

REPEATS = 7


@dataclass(frozen=True)
class Line:
    """One claim. `ratio` is judged against `bar`; without a bar it is only printed."""

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

    @property
    def _words(self) -> tuple[str, str, str]:
        verdict = {True: "met", False: "MISSED", None: ""}[self.met]
        digits = 4 if self.bar and abs(self.bar - 1) < 0.01 else 2
        figure = "" if self.ratio is None else f"{self.ratio:.{digits}f} ×"
        bar = "" if self.bar is None else f"{'≥' if self.at_least else '≤'} {self.bar:.3g} ×"
        return figure, bar, verdict

    def __str__(self) -> str:
        """One line on a terminal."""
        figure, bar, verdict = self._words
        return f"{self.claim:<62} {figure:>11} {bar:>9} {verdict:<6}  {self.facts}"

    @property
    def row(self) -> str:
        """One row of a page."""
        figure, bar, verdict = self._words
        return f"| {self.claim.strip()} | {figure} | {bar} | {verdict} | {self.facts} |"


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
