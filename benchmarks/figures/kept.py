"""Points as they were measured: a folder a figure, with the run that gave them in the first line.

    NAME/points.csv    `# measured 2026-11-20, AMD EPYC, 2 cores, …`, then panel, curve, x, y

Law: a figure's points are all of one run, and there are all of them or none.
"""

import csv
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.figures.figure import Point

MEASURED = "# measured "


@dataclass(frozen=True)
class Run:
    """The points of a figure, and about the run: when, where, with what."""

    about: str
    points: Sequence[Point]


@dataclass(frozen=True)
class Store:
    """Runs, a folder a figure: what was interrupted goes on behind those that are there."""

    folder: Path

    def path(self, name: str) -> Path:
        """Where the points of a figure are."""
        return self.folder / name / "points.csv"

    def read(self, name: str) -> Run | None:
        """Read the points of a figure; None: it was never finished."""
        path = self.path(name)
        if not path.is_file():
            return None
        with path.open(encoding="utf-8", newline="") as file:
            about = file.readline().removeprefix(MEASURED).rstrip("\n")
            rows = [
                Point(row["panel"], row["curve"], float(row["x"]), float(row["y"]))
                for row in csv.DictReader(file)
            ]
        return Run(about, rows)

    def write(self, name: str, run: Run) -> None:
        """Keep the points of a finished figure."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with part.open("w", encoding="utf-8", newline="") as file:
            file.write(f"{MEASURED}{run.about}\n")
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(("panel", "curve", "x", "y"))
            rows.writerows((p.panel, p.curve, f"{p.x:g}", f"{p.y:.6g}") for p in run.points)
        part.replace(path)

    def take(self, other: "Store", names: Iterable[str]) -> None:
        """Take over what the other has of these figures."""
        for name in names:
            if run := other.read(name):
                self.write(name, run)


def this_run(load: float) -> str:
    """Say when and where a run was, with what, and how busy the machine had been before it."""
    import numba
    import numpy as np

    versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {_processor()}, {os.cpu_count()} cores, "
        f"{versions}, Numba {numba.__version__}, load {load:.1f}"
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip().replace(",", " ")
    return platform.machine()
