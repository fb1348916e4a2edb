"""What an index costs a point, measured, as `auto` weighs it.

Times every index that `auto` may take over a sweep of boxes, axes, results and batches, fits each
one's cost to a few terms by non-negative least squares on relative errors, and prints the table of
`fencepost/matches/costs.py`: one for a single axis, one for more. To be run again where an index
has become quicker.

    python -m benchmarks.matches_fit            or, for a single axis alone: matches_fit 1
"""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.matches_made import conjunctions
from fencepost.matches import Boxes, BoxIndex, named
from fencepost.matches.auto import expected, likely
from fencepost.matches.costs import CANDIDATES, company, terms
from fencepost.tuples import Doubles

MOST_PAIRS = 1e8  # of boxes and points that a scan compares in one measurement
MOST_RESULTS = 1e6
BATCHES = (1, 128, 16_384)
AXES = (1, 2, 3, 4, 6, 8)


@dataclass(frozen=True)
class Setting:
    """Boxes, and points to probe."""

    boxes: Boxes
    held: float
    near: float
    points: Doubles


def settings(sweep: Sequence[int] = AXES, seed: int = 0) -> Iterator[Setting]:
    """Sweep; sides of boxes such that about this many contain a point."""
    rng = np.random.default_rng(seed)
    for axes in sweep:
        for n in (64, 300, 2_000, 14_000, 90_000):
            for wanted in (0.1, 3.0, 50.0, 1000.0):
                if wanted <= n / 4:
                    boxes = crowd(rng, axes, n, wanted / n)
                    yield Setting(boxes, *expected(boxes), likely_many(boxes, rng))
            if axes > 2:
                boxes = conjunctions(n, axes, seed=n)
                yield Setting(boxes, *expected(boxes), likely_many(boxes, rng))


def crowd(rng: np.random.Generator, axes: int, n: int, share: float) -> Boxes:
    """Draw boxes of uneven sides over the unit cube, of about this share of it each."""
    side = min(0.95, share ** (1 / axes))
    width = np.minimum(1.0, side * rng.uniform(0.5, 1.5, (axes, n)))
    lo = rng.uniform(-width / 2, 1.0 - width / 2)
    return Boxes.of(lo, lo + width)


def likely_many(boxes: Boxes, rng: np.random.Generator) -> Doubles:
    """Draw as many points as the largest batch has."""
    some = [likely(boxes, seed) for seed in range(BATCHES[-1] // 256)]
    points = np.concatenate(some, axis=1)
    return np.ascontiguousarray(points[:, rng.permutation(points.shape[1])])


def measured(index: BoxIndex, points: Doubles, batch: int, held: float) -> float:
    """Nanoseconds of the processor a point, the best of three."""
    n = len(index.boxes)
    limit = MOST_RESULTS / max(held, 1.0)
    if index.name == "scan":
        limit = min(limit, MOST_PAIRS / (n * index.boxes.axes))
    count = int(max(batch, min(points.shape[1], limit, 200 * batch)))
    count = min(count, points.shape[1]) // batch * batch
    if count == 0:
        return float("nan")
    parts = [np.ascontiguousarray(points[:, at : at + batch]) for at in range(0, count, batch)]
    best = float("inf")
    for _ in range(3):
        begun = time.thread_time()
        for part in parts:
            index.probe(part)
        best = min(best, time.thread_time() - begun)
    return best / count * 1e9


def fitted(rows: Doubles, costs: Doubles) -> Doubles:
    """Non-negative weights that come closest in proportion: coordinate descent."""
    scaled = rows / costs[:, None]
    weights = np.zeros(rows.shape[1])
    square = (scaled**2).sum(axis=0)
    for _ in range(20_000):
        for k in range(len(weights)):
            rest = 1.0 - scaled @ weights + scaled[:, k] * weights[k]
            weights[k] = max(0.0, float(scaled[:, k] @ rest) / max(float(square[k]), 1e-300))
    return weights


def main(sweep: Sequence[int]) -> None:
    """Measure, fit, print."""
    seen: dict[tuple[bool, str, str], list[tuple[list[float], float]]] = {}
    for setting in settings(sweep):
        boxes = setting.boxes
        for batch in BATCHES:
            costs = {}
            for name, fits in CANDIDATES.items():
                if not fits(boxes.axes, len(boxes)):
                    continue
                index = named(name, boxes.axes).build(boxes)
                index.probe(setting.points[:, :batch].copy())  # compiled, and pages touched
                costs[name] = measured(index, setting.points, batch, setting.held)
                told = terms(boxes.axes, len(boxes), setting.held, setting.near, batch)
                key = boxes.axes > 1, name, company(batch)
                seen.setdefault(key, []).append((told, costs[name]))
            line = "  ".join(f"{name} {cost:,.0f}" for name, cost in costs.items())
            told = f"held={setting.held:.1f} near={setting.near:.1f}"
            print(f"d={boxes.axes} n={len(boxes):,} {told} b={batch}: {line}")
    for (several, name, together), many in sorted(seen.items()):
        rows = np.array([row for row, cost in many if np.isfinite(cost)])
        costs_of = np.array([cost for _, cost in many if np.isfinite(cost)])
        weights = fitted(rows, costs_of)
        off = np.abs(np.log(rows @ weights / costs_of))
        told = ", ".join(f"{w:.4g}" for w in weights)
        table = "WEIGHTS" if several else "ONE_AXIS"
        far = np.exp(off.mean())
        print(f'{table}    ("{name}", "{together}"): ({told}),  # off by {far:.2f} x')


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]] or AXES)
