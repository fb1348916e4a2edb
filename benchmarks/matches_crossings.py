"""Crossings by the walk, and by the difference of two probes, as FL passes W (S1 Fig. 12)."""

from collections.abc import Iterator
from functools import partial
from math import exp, log

import numpy as np

from benchmarks.matches_made import Scale, in_turns, span
from benchmarks.report import Line
from benchmarks.walks import bands, indexed, walks
from fencepost.crossings import BorderIndex
from fencepost.crossings.choose import cross
from fencepost.crossings.columns import Events
from fencepost.crossings.path import Path

RATIOS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
WIDTHS = {1: 1e-3, 2: 1e-2}
QUERIES = {1: 100_000, 2: 10_000}
TUPLES = 100_000
MEAN, WORST = 1.15, 1.5
METHODS = ("walk", "difference", "auto")


def by_fluctuation(scale: Scale) -> Iterator[Line]:
    """FL/W from 0.01 to 10, in one axis and in two: what the choice costs, and what it saves."""
    ratios: list[float] = []
    for axes, width in WIDTHS.items():
        count = scale.of(QUERIES[axes], 1_000)
        index = indexed(bands(count, width, axes))
        for ratio in scale.some(RATIOS):
            path = _path(axes, ratio * width, scale)
            line = _race(index, path, f"{axes}-D, FL = {ratio:g} W", width, scale)
            yield line
            ratios.append(line.ratio or 1.0)
    mean = exp(sum(map(log, ratios)) / len(ratios))
    facts = f"{len(ratios)} cases"
    yield Line("auto, of the better way: geometric mean", mean, MEAN, facts=facts)


def _path(axes: int, level: float, scale: Scale) -> Path:
    streams = scale.of(500, 50)
    length = scale.of(TUPLES, 2_000) // streams
    return walks(streams=streams, length=length, fl=level, dimensions=axes)


def _race(index: BorderIndex, path: Path, what: str, width: float, scale: Scale) -> Line:
    ways = {name: partial(_events, index, path, name) for name in METHODS}
    found = ways["walk"]()
    _assert_same(found, ways["difference"]())
    chosen = cross(index, path, method="auto", fast=True, threads=1)[1]
    times = in_turns(ways, scale.repeats)
    of_best = times["auto"] / min(times["walk"], times["difference"])
    each = ", ".join(f"{name} {span(took / len(path))}" for name, took in times.items())
    facts = (
        f"{each} a tuple; took the {chosen.method}; W = {width:.1%}, "
        f"{len(found.place) / len(path):.1f} events a tuple"
    )
    return Line(f"{what}: auto, of the better way", of_best, WORST, facts=facts)


def _events(index: BorderIndex, path: Path, method: str) -> Events:
    return cross(index, path, method=method, fast=True, threads=1)[0].events


def _assert_same(found: Events, others: Events) -> None:
    one, two = (
        np.stack([each.place, each.query, each.type.astype(np.int32)]) for each in (found, others)
    )
    one, two = one[:, np.lexsort(one[:2])], two[:, np.lexsort(two[:2])]
    assert np.array_equal(one, two), f"{one.shape[1]:,} events against {two.shape[1]:,}"
