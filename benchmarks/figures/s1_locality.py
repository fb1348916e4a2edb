"""S1, appendix A: the fluctuation level against the sampling rate, of real trades and of ours."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.figures.figure import Curves, Figure, Panel, Point, Verdict
from benchmarks.matches_made import Scale
from fencepost.tuples import Doubles, Int64s
from pipelines.workloads import PriceWalks

if TYPE_CHECKING:
    import pandas as pd

SECONDS = (1, 3, 10, 30, 100, 300)
WALK = "S1's walks, as generated"


def sampled(ts: Int64s, values: Doubles, every: int) -> float:
    """FL of the last value in each stretch of time, in % of the largest value seen."""
    at = np.arange(int(ts[0]), int(ts[-1]), every * 1_000_000)
    last = values[np.searchsorted(ts, at, side="right") - 1]
    return float(np.abs(np.diff(last)).mean() / values.max() * 100)


def lacking() -> str | None:
    """Say so where the real trades are not."""
    from tests.support.real.data import LEAN

    return None if LEAN.is_dir() else "the real trades are not here: expected in ../shared/data"


def by_rate(scale: Scale) -> Iterator[Point]:
    """A day of four shares, and one generated walk, sampled ever more rarely."""
    from tests.support.real.data import trades

    day: pd.DataFrame = trades()
    series = {
        str(name).upper(): (rows["ts"].to_numpy(), rows["price"].to_numpy())
        for name, rows in day.sort_values("ts", kind="stable").groupby("stream")
    }
    walk = PriceWalks(streams=1, length=scale.of(20_000, 2_000), order="stream").tuples()
    series[WALK] = walk.ts, walk.values[0]
    for name, (ts, values) in series.items():
        for every in scale.some(SECONDS, 3):
            yield Point("a", name, every, sampled(ts, values, every))


def judge(drawn: Curves) -> Verdict:
    """FL rises as values are sampled more rarely, in every series."""
    rises = [points[-1][1] > points[0][1] for name, points in drawn["a"].items() if name != WALK]
    least = min(points[0][1] for points in drawn["a"].values())
    most = max(points[-1][1] for name, points in drawn["a"].items() if name != WALK)
    return Verdict(
        all(rises),
        f"from {least:.4f}% at a second to {most:.3f}% at five minutes, by share",
        "Prices wander, so the further apart two samples are, the more borders lie between.",
    )


FIGURES = (
    Figure(
        "s1-locality",
        "S1 Fig. 21",
        "Locality: the fluctuation level against the sampling rate",
        "FL decreases as the sampling rate increases, and differs by share; 0.01 to 0.1% of the "
        "domain in the traces.",
        (Panel("a", "seconds between samples", "FL, % of the highest price", "xy"),),
        by_rate,
        judge,
        lacking,
    ),
)
