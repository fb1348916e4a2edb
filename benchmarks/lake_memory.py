"""The memory of a run over ten million rows: all of its processes together, at the peak.

The run is in a process of its own, so that nothing of Spark's other side is in its JVM. A page that
several processes share, as forks do, is counted once: each has its part of it (PSS).
"""

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.lake_made import Bench
from benchmarks.report import Line
from pipelines.runs.run import run, runner_of
from pipelines.spark.session import stop

EVERY = 0.05
LIMIT = 4 << 30
TICK = os.sysconf("SC_CLK_TCK")


class Sampler(threading.Thread):
    """Adds up the memory of this process and its descendants, every 50 ms."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        super().__init__(daemon=True)
        self.peak: Counter[str] = Counter()
        self._over = threading.Event()

    def __enter__(self) -> Self:
        """Start sampling."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop sampling."""
        self._over.set()
        self.join()

    def run(self) -> None:
        """Sample until stopped."""
        while not self._over.wait(EVERY):
            held: Counter[str] = Counter()
            for process in _family(os.getpid()):
                held[_part(process)] += _resident(process)
            if held.total() > self.peak.total():
                self.peak = held


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


def _part(process: int) -> str:
    """Say what a process is: the driver, its JVM, or a Python worker of that."""
    if process == os.getpid():
        return "driver"
    try:
        is_jvm = Path(f"/proc/{process}/comm").read_text().strip() == "java"
    except OSError:
        is_jvm = False
    return "JVM" if is_jvm else "workers"


def spent() -> float:
    """Add up the seconds of a core that this process and its descendants took, gone ones too."""
    return sum(map(_worked, _family(os.getpid()))) / TICK


def _worked(process: int) -> int:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15]))


def _resident(process: int) -> int:
    try:
        pages = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in pages.splitlines() if "Pss:" in line), 0)


def memory(bench: Bench) -> list[Line]:
    """Load and evaluate what lands, as `fencepost run` does."""
    settings = bench.settings("memory", bench.landing)
    bench.make(settings)
    stop()  # its JVM is none of the run's
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.lake_memory", str(bench.folder), str(bench.rows)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    peak = {name: int(held) for name, held in map(str.split, ran.stdout.splitlines())}
    facts = ", ".join(f"{name} {held / 2**30:.2f}" for name, held in peak.items())
    claim = "peak memory of a run, driver, JVM and workers, of 4 GiB"
    return [
        Line(claim, sum(peak.values()) / LIMIT, 1.0, facts=f"GiB: {facts}; {bench.rows:,} rows")
    ]


def _one_run(bench: Bench) -> None:
    """Run, and print the memory of each part at the overall peak."""
    settings = bench.settings("memory", bench.folder / "landing")
    with Sampler() as sampler:
        report = run(settings, runner_of(settings))
    assert report.ingested.tuples == bench.rows
    assert sum(group.counts["accepted"] for group in report.groups) == bench.rows
    for part, held in sampler.peak.items():
        print(part, held)


if __name__ == "__main__":
    _one_run(Bench(Path(sys.argv[1]), int(sys.argv[2])))
