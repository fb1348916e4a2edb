"""The memory of a run over ten million rows: all of its processes together, at the peak.

The run is in a process of its own, so that nothing of Spark's other side is in its JVM. The
resident sizes are added up, so pages that processes share are counted more than once.
"""

import os
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.lake_made import Bench
from benchmarks.report import Line
from pipelines.run import run, runner_of
from pipelines.session import stop

EVERY = 0.05
LIMIT = 4 << 30
PAGE = os.sysconf("SC_PAGE_SIZE")


class Sampler(threading.Thread):
    """Adds up the memory of this process and all that it started, every 50 ms."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        super().__init__(daemon=True)
        self.peaks: dict[str, int] = defaultdict(int)
        self.doing = ""
        self._over = threading.Event()

    def __enter__(self) -> Self:
        """Look from here on."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Look no more."""
        self._over.set()
        self.join()

    def run(self) -> None:
        """Look until it is over."""
        while not self._over.wait(EVERY):
            doing, held = self.doing, sum(map(_resident, _family(os.getpid())))
            self.peaks[doing] = max(self.peaks[doing], held)

    def told(self, doing: str, _: float) -> None:
        """Hear what the run is doing."""
        self.doing = doing.split(",", maxsplit=1)[0]


def _family(process: int) -> Iterator[int]:
    """Give a process and all below it, as far as they are still there."""
    yield process
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from _family(int(child))


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE
    except OSError:
        return 0


def memory(bench: Bench) -> list[Line]:
    """What lands is taken in and evaluated, as `fencepost run` does."""
    settings = bench.settings("memory", bench.landing)
    bench.make(settings)
    stop()  # its JVM is none of the run's
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.lake_memory", str(bench.folder), str(bench.rows)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    peaks = {name: int(held) for name, held in map(str.split, ran.stdout.splitlines())}
    facts = ", ".join(f"{name} {held / 2**30:.2f}" for name, held in peaks.items())
    claim = "peak memory of a run, driver, JVM and workers, of 4 GiB"
    return [Line(claim, max(peaks.values()) / LIMIT, 1.0, facts=f"GiB: {facts}")]


def _one_run(bench: Bench) -> None:
    """Run, and print the peaks: while rows were taken in, and while they were evaluated."""
    settings = bench.settings("memory", bench.folder / "landing")
    with Sampler() as sampler:
        report = run(settings, runner_of(settings), told=sampler.told)
    assert report.ingested.tuples == bench.rows
    assert sum(group.counts["accepted"] for group in report.groups) == bench.rows
    for doing, held in sampler.peaks.items():
        print(doing.replace(" ", "-") or "starting", held)


if __name__ == "__main__":
    _one_run(Bench(Path(sys.argv[1]), int(sys.argv[2])))
