"""One stream that has nearly all rows costs no more than many streams that share them."""

import random
import time
from pathlib import Path

import pytest

from fencepost.times import format_instant, parse_instant
from pipelines.project.settings import load
from pipelines.runs.run import run
from pipelines.spark.runner import HereRunner
from tests.faults.story import do, make

ROWS = 20_000
STREAMS = 1_000
BEGIN = parse_instant("2026-01-01T09:00:00Z")


def lasted(folder: Path, hot: float) -> float:
    """Evaluate a file in which one stream has a share of the rows; how long it took."""
    make(folder)
    do(folder, "registered")
    draw = random.Random(1)  # noqa: S311
    lines = ["stream_id,ts,price,lot,seq,mark"]
    for k in range(ROWS):
        stream = 0 if draw.random() < hot else draw.randrange(STREAMS)
        ts, price = format_instant(BEGIN + k * 1_000_000), draw.randint(0, 8)
        lines.append(f"s{stream},{ts},{price},{k % 6},{k},{k}")
    (folder / "landing/ticks/2026-01-01.csv").write_text("\n".join(lines) + "\n")
    begun = time.process_time()
    report = run(load(folder), HereRunner())
    seconds = time.process_time() - begun
    assert sum(group.counts["accepted"] for group in report.groups) > ROWS / 2
    return seconds


@pytest.mark.fault(48)
def test_a_stream_with_nine_tenths_of_the_rows_takes_at_most_twice_as_long(tmp_path) -> None:
    lasted(tmp_path / "warm", 0.5)
    spread = min(lasted(tmp_path / f"spread-{k}", 0.0) for k in range(2))
    hot = min(lasted(tmp_path / f"hot-{k}", 0.9) for k in range(2))
    assert hot <= 2 * spread, f"{hot:.2f} s, and {spread:.2f} s where the rows are spread"
