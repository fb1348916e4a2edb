"""A lake that ages in one process: small files land, run after run, and each is measured.

Two feeds and their joins, so that every run loads two deliveries and commits an epoch of each of
three lanes. `python -m tests.support.lakes.growing_lake FOLDER EPOCHS` does so from the command
line, and prints how the last tenth compares with the first ones.

Law: what lands does not depend on how old the lake is, so neither may what a run costs.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fencepost.lanes import lane_of
from pipelines.runs.run import run
from pipelines.spark.runner import HereRunner
from tests.support.lakes.builder import SECOND, land, new_lake, register, settings_of
from tests.support.lakes.on_disk import on_disk

FEEDS = {"bids": ("price", "volume"), "asks": ("price",)}
LANES = (*FEEDS, lane_of(*FEEDS))
STREAMS = 10
BEGIN = np.datetime64("2026-01-01T00:00:00")
PAIRED = {"kind": "window_join", "left": "bids", "right": "asks", "window": "2s"}
NEAR = "left.price >= right.price - 0.5 AND left.price <= right.price + 0.5"
RULES: Sequence[dict[str, Any]] = (
    {"id": "up", "feed": "bids", "where": "price >= 102", "within": "3s"},
    {"id": "band", "feed": "bids", "where": "price BETWEEN 99 AND 101"},
    {"id": "dear", "feed": "bids", "kind": "match", "where": "price > 101 OR volume = 50"},
    {"id": "ask up", "feed": "asks", "where": "price >= 101", "within": "5s"},
    {"id": "near", **PAIRED, "on": NEAR},
    {"id": "spread", "kind": "band_join", "left": "bids.price", "right": "asks.price"}
    | {"between": [-0.5, 0.5]},
)


@dataclass(frozen=True)
class Figures:
    """What one run cost, in seconds; and what the lake and the process were after it."""

    cpu: float
    wall: float
    files: int
    log: int
    bytes_of_log: int
    memory: int
    open_files: int


class Ageing:
    """A lake and the process that runs over it, as `watch` does."""

    def __init__(self, folder: Path, **more: Any) -> None:
        options = {name: {"settle": 0, "partition": "hour"} for name in FEEDS}
        self.settings = settings_of(folder, FEEDS, options, **more)
        lake = new_lake(self.settings)
        self.store = lake.store
        register(lake, RULES, time.time_ns() // 1000)
        self._draw = np.random.default_rng(1)
        self._price = {(name, k): 100.0 for name in FEEDS for k in range(STREAMS)}
        self.age = 0

    def land(self) -> None:
        """Let a file land for each feed: a tuple of each stream."""
        clock = BEGIN + np.timedelta64(self.age, "s")
        for name, feed in self.settings.feeds.items():
            lines = ["stream_id,ts," + ",".join(feed.axes)]
            for k in range(STREAMS):
                moved = self._price[name, k] + float(self._draw.choice([-0.5, 0, 0.5]))
                self._price[name, k] = price = min(max(moved, 96), 105)
                volume = f",{self._draw.integers(1, 100)}" if name == "bids" else ""
                lines.append(f"S{k},{clock + np.timedelta64(k, 'ms')}Z,{price}{volume}")
            ago = time.time_ns() // 1000 - 5 * SECOND
            land(feed, f"{self.age:06}.csv", "\n".join(lines) + "\n", ago)
        self.age += 1

    def run(self) -> tuple[float, float]:
        """Run once over what has landed; the seconds of this process, and those of the clock."""
        self.land()
        cpu, wall = time.process_time(), time.perf_counter()
        report = run(self.settings, HereRunner(), store=self.store, patient=False)
        spent = time.process_time() - cpu, time.perf_counter() - wall
        assert [group.lane.name for group in report.groups] == list(LANES)
        return spent

    def figures(self) -> Figures:
        """Run once, and measure its time, the files, the log, memory and open descriptors."""
        cpu, wall = self.run()
        root = on_disk(self.settings.root)
        files = [path.stat() for path in root.rglob("*.parquet")]
        log = [path.stat().st_size for path in root.glob("*/_delta_log/*")]
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        descriptors = len(list(Path("/proc/self/fd").iterdir()))
        return Figures(cpu, wall, len(files), len(log), sum(log), pages << 12, descriptors)


def grown(ageing: Ageing, runs: int) -> Iterator[Figures]:
    """Let a lake grow old, run after run; the files are counted at every tenth."""
    last = ageing.figures()
    for number in range(runs):
        if number % 10 == 9:
            last = ageing.figures()
            yield last
        else:
            cpu, wall = ageing.run()
            yield Figures(cpu, wall, *list(vars(last).values())[2:])


def tenth(figures: Sequence[Figures], which: int, name: str) -> float:
    """Return the mean of a figure over one tenth of the runs, counted from 0."""
    many = len(figures) // 10
    mine = [getattr(each, name) for each in figures[which * many : (which + 1) * many]]
    return float(np.mean(mine))


def told(figures: Sequence[Figures]) -> str:
    """Write the figures tenth by tenth."""
    names = list(vars(figures[0]))
    lines = ["tenth " + " ".join(f"{name:>13}" for name in names)]
    for which in range(10):
        cells = [tenth(figures, which, name) for name in names]
        lines.append(f"{which + 1:5} " + " ".join(f"{cell:13,.4g}" for cell in cells))
    return "\n".join(lines)


if __name__ == "__main__":
    runs = int(sys.argv[2])
    keep = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    began = time.perf_counter()
    every = list(grown(Ageing(Path(sys.argv[1]), keep_history=keep * SECOND), runs))
    sys.stdout.write(f"{told(every)}\n{time.perf_counter() - began:,.0f} s\n")
