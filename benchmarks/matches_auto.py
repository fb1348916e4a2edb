"""How far what `auto` picks is from the best choice: over N, W, axes and sizes of a batch."""

from collections.abc import Iterator
from math import exp, log

import numpy as np

from benchmarks.matches_made import (
    Scale,
    Work,
    assert_equal,
    conjunctions,
    cubes,
    in_turns,
    laid,
    one_by_one,
    probing,
    span,
)
from benchmarks.report import Line
from fencepost.errors import InputError
from fencepost.matches import KINDS, Boxes, BoxIndex
from fencepost.matches.auto import choose
from fencepost.tuples import Doubles

MEAN, WORST = 1.15, 1.5
WIDTHS = {1: (1e-4, 1e-2, 0.3), 2: (3e-3, 3e-2, 0.3), 3: (3e-2, 0.2), 4: (0.1,), 8: (0.2,)}
PAIRS = 3e8  # points x boxes that the scan compares, at most
RESULTS = 3e6


def sweep(scale: Scale) -> Iterator[Line]:
    """Every index that can take the axes is a choice; a set of widths, sizes and batches each."""
    ratios: list[float] = []
    for axes in (1, 2) if scale.quick else (1, 2, 3, 4, 8):
        own = []
        for count in scale.some((100, 1_000, 10_000, 100_000), 2):
            sets = {f"W {width:g}": cubes(count, axes, width) for width in WIDTHS[axes]}
            if axes > 2:
                sets["S3"] = conjunctions(count, axes)
            for what, boxes in sets.items():
                own += _of_set(f"N {count:,} {what}", boxes, scale)
        own.sort(reverse=True)
        mean = exp(sum(log(ratio) for ratio, *_ in own) / len(own))
        ratios += [ratio for ratio, *_ in own]
        worst = "; ".join(f"{ratio:.2f} × {told}" for ratio, told in own[:3])
        facts = f"{len(own)} cases, mean {mean:.3f} ×; {worst}"
        what = f"{axes} axis" if axes == 1 else f"{axes} axes"
        yield Line(f"{what}: auto, of the best choice, at worst", own[0][0], WORST, facts=facts)
    mean = exp(sum(map(log, ratios)) / len(ratios))
    facts = f"{len(ratios)} cases"
    yield Line("auto, of the best choice: geometric mean", mean, MEAN, facts=facts)


def _of_set(what: str, boxes: Boxes, scale: Scale) -> list[tuple[float, str]]:
    """The ratio of auto's choice to the best, for each size of batch, and its facts."""
    indexes = _all(boxes)
    found = []
    for batch in scale.some((1, 100, 10_000), 2):
        points = _points(boxes, batch)
        names = [n for n in indexes if n != "scan" or points.shape[1] * len(boxes) <= PAIRS]
        choice = choose(boxes, batch)
        racing = {name: indexes[name] for name in names}
        if choice.parameters:
            racing[f"auto's {choice.name}"] = laid(choice.name, boxes, **choice.parameters)
        assert_equal(racing, points)
        times = in_turns({k: _work(i, points) for k, i in racing.items()}, scale.repeats)
        best = min(times, key=times.__getitem__)
        mine = times.get(f"auto's {choice.name}", times.get(choice.name))
        mine = np.inf if mine is None else mine
        told = f"{what}, batch {batch:,}: {choice.name} {span(mine)}, {best} {span(times[best])}"
        found.append((mine / times[best], told))
    return found


def _all(boxes: Boxes) -> dict[str, BoxIndex]:
    """Every index for this number of axes, each with its default parameters."""
    indexes = {}
    for name, kind in KINDS.items():
        if kind.axes in (None, boxes.axes):
            try:
                indexes[name] = laid(name, boxes)
            except InputError:  # too large for the paper's layout: not a choice
                continue
    return indexes


def _points(boxes: Boxes, batch: int) -> Doubles:
    points = np.random.default_rng(2).random((boxes.axes, batch))
    held = (boxes.hi.clip(0, 1) - boxes.lo.clip(0, 1)).prod(axis=0).sum()
    return np.ascontiguousarray(points[:, : max(1, int(RESULTS / max(held, 1.0)))])


def _work(index: BoxIndex, points: Doubles) -> Work:
    """A batch; or a few of one, the same ones for all."""
    if points.shape[1] > 1:
        return probing(index, points)
    few = np.random.default_rng(3).random((len(points), 20))
    return one_by_one(index, few)
