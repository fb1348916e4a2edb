"""S3: the spatial join, in batches and immediate, against interval binary search trees (§7.2–7.3).

Data elements are uniform, or crowded; queries are conjunctions of random conditions. The trees are
probed with a part of the batch, since their cost per element does not depend on its size.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.matches_made import (
    Scale,
    assert_equal,
    automatic,
    conjunctions,
    elements,
    in_turns,
    laid,
    one_by_one,
    probing,
    span,
)
from benchmarks.report import Line
from fencepost.matches import Boxes, BoxIndex, ProbeResult
from fencepost.tuples import Doubles

BATCH = 10_000
SIZES = (10_000, 30_000, 100_000, 1_000_000)
# The paper's factors over IBS, by attributes and N_query: batch, immediate.
PAPER = {
    (4, 10_000): (15.0, 1.7),
    (4, 100_000): (28.5, 3.2),
    (8, 10_000): (15.9, 1.4),
    (8, 100_000): (36.2, 2.1),
}
CLUSTER = {4: 200, 8: 400}  # the paper's N_dc for batches of 10,000
SPENT = 1e9  # counters that the trees may touch in a measurement, at about a nanosecond each
RESULTS = 2e7  # results that a batch may have


@dataclass(frozen=True)
class Duel:
    """Seconds per data element, by method; and the results."""

    times: dict[str, float]
    held: float
    chosen: dict[str, str]
    writing: float

    @classmethod
    def run(cls, boxes: Boxes, points: Doubles, scale: Scale) -> "Duel":
        """Check the answers of all, then time batches, and elements one by one."""
        bounded = np.isfinite(boxes.lo) | np.isfinite(boxes.hi)
        indexes = {
            "IBS": laid("ibs_tree", boxes),
            "SJ": laid("spatial_join", boxes),
            "auto": automatic(boxes, points.shape[1]),
        }
        immediate = {**indexes, "auto": automatic(boxes, 1)}
        passed = max(1.0, bounded.sum() * 0.4)
        few = _some(points, max(30, int(SPENT / scale.repeats / passed)))
        single = _some(points, min(300, few.shape[1]))
        assert_equal({**indexes, "immediate": immediate["auto"]}, few)
        found = assert_equal({name: indexes[name] for name in ("SJ", "auto")}, points)
        given = {"IBS": few, "SJ": points, "auto": points}
        works = {f"{k} batch": probing(indexes[k], asked) for k, asked in given.items()}
        works |= {f"{k} alone": one_by_one(index, single) for k, index in immediate.items()}
        works["writing"] = lambda: np.full(len(found.ids), 1, np.int32)
        times = in_turns(works, scale.repeats)
        writing = times.pop("writing") / len(found)
        asked = {f"{k} batch": each.shape[1] for k, each in given.items()}
        per = {name: seconds / asked.get(name, single.shape[1]) for name, seconds in times.items()}
        chosen = {"batch": indexes["auto"].name, "alone": immediate["auto"].name}
        return cls(per, len(found.ids) / len(found), chosen, writing)

    def over(self, name: str, mode: str) -> float:
        """How many times as long the trees take."""
        return self.times[f"IBS {mode}"] / self.times[f"{name} {mode}"]

    @property
    def facts(self) -> str:
        """Each time, and the results."""
        each = ", ".join(f"{name} {span(seconds)}" for name, seconds in self.times.items())
        return f"{each}; {self.held:,.1f} results an element"

    @property
    def floor(self) -> str:
        """What the results themselves cost: those of auto, and nothing but their memory."""
        each = self.times["auto batch"] / max(self.held, 1e-9)
        return f"{each * 1e9:.2f} ns a result; new memory for them {span(self.writing)} an element"


def _some(points: Doubles, most: int) -> Doubles:
    return np.ascontiguousarray(points[:, :most])


def batch_for(boxes: Boxes, scale: Scale, crowded: float = 0.0) -> Doubles:
    """As many elements as the paper's batch has, fewer where their results would not fit."""
    few = elements(100, boxes.axes, crowded, seed=3)
    held = max(1.0, len(laid("spatial_join", boxes).probe(few).ids) / 100)
    return elements(min(scale.of(BATCH, 200), int(RESULTS / held)), boxes.axes, crowded)


def joins_against_trees(scale: Scale) -> Iterator[Line]:
    """N_query from 10 K to 1 M, four and eight attributes."""
    for axes in (4, 8):
        for count in scale.some(SIZES):
            boxes = conjunctions(count, axes)
            points = batch_for(boxes, scale)
            duel = Duel.run(boxes, points, scale)
            batch, immediate = PAPER.get((axes, count), (None, None))
            what = f"{axes} attributes, N = {count:,}: IBS"
            yield from (
                Line(
                    f"{what}, of SJ-Batch",
                    duel.over("SJ", "batch"),
                    batch,
                    at_least=True,
                    facts=f"batch {points.shape[1]:,}: {duel.facts}",
                ),
                Line(f"{what}, of SJ-Immediate", duel.over("SJ", "alone"), immediate, True),
                Line(
                    f"{what}, of auto's {duel.chosen['batch']}",
                    duel.over("auto", "batch"),
                    batch,
                    at_least=True,
                    facts=duel.floor,
                ),
                Line(
                    f"{what} alone, of auto's {duel.chosen['alone']}",
                    duel.over("auto", "alone"),
                    immediate,
                    at_least=True,
                ),
            )


def clusters(scale: Scale) -> Iterator[Line]:
    """N_dc from 25 to 1,600 at N_query = 10 K; how far from the best N_dc its own choice is."""
    for axes in (4, 8):
        boxes = conjunctions(10_000, axes)
        for batch in scale.some((2_000, 10_000)):
            points = elements(batch, axes)
            sizes = scale.some((25, 50, 100, 200, 400, 800, 1_200, 1_600), 2)
            indexes: dict[str, BoxIndex] = {
                str(size): laid("spatial_join", boxes, cluster=size) for size in sizes
            }
            indexes["auto"] = laid("spatial_join", boxes)
            found = assert_equal(indexes, points)
            times = in_turns({k: probing(i, points) for k, i in indexes.items()}, scale.repeats)
            best = min(times[str(size)] for size in sizes)
            flat = max((times[str(s)] for s in sizes if 200 <= s <= 1_200), default=best)
            curve = ", ".join(f"{name} {span(took / batch)}" for name, took in times.items())
            held = f"{len(found.ids) / batch:,.1f} results an element"
            what = f"{axes} attributes, batch {batch:,}"
            yield from (
                Line(
                    f"{what}: auto N_dc, of the best",
                    times["auto"] / best,
                    1.15,
                    facts=f"N_dc {curve}; {held}",
                ),
                Line(f"{what}: slowest N_dc of 200–1,200, of the best", flat / best),
            )


def predicates(scale: Scale) -> Iterator[Line]:
    """R_pred from 1/8 to 1, eight attributes, N_query = 50 K (Fig. 16)."""
    first: dict[str, float] = {}
    for share in (1.0,) if scale.quick else (0.25, 0.5, 0.75, 1.0):
        boxes = conjunctions(scale.of(50_000, 2_000), 8, share)
        duel = Duel.run(boxes, batch_for(boxes, scale), scale)
        first = first or duel.times
        change = ", ".join(
            f"{name} {duel.times[name] / first[name]:.2f} ×"
            for name in ("IBS batch", "SJ batch", "SJ alone", "auto batch")
        )
        yield Line(
            f"R_pred = {share:.0%}: IBS, of SJ-Batch",
            duel.over("SJ", "batch"),
            facts=f"{duel.facts}; of the first line's: {change}",
        )


def skewed(
    join: BoxIndex, share: float, scale: Scale
) -> tuple[dict[str, BoxIndex], dict[str, float], ProbeResult]:
    """Race the spatial join against auto's index on data of which a share is crowded."""
    points = elements(scale.of(4_000, 200), 4, share)
    indexes = {"SJ": join, "auto": automatic(join.boxes, points.shape[1])}
    found = assert_equal(indexes, points)
    works = {name: probing(index, points) for name, index in indexes.items()}
    return indexes, in_turns(works, scale.repeats), found


def skew(scale: Scale) -> Iterator[Line]:
    """R_skew: 20% to all of the data in a tenth of each attribute's range (Fig. 17)."""
    join, base = laid("spatial_join", conjunctions(scale.of(100_000, 2_000), 4)), 0.0
    for share in (0.2,) if scale.quick else (0.2, 0.4, 0.6, 0.8, 1.0):
        indexes, times, found = skewed(join, share, scale)
        per = times["SJ"] / len(found.ids)
        base = base or per
        each = ", ".join(f"{i.name} {span(times[k] / len(found))}" for k, i in indexes.items())
        facts = f"{each}; {len(found.ids) / len(found):,.0f} results an element"
        what = f"R_skew = {share:.0%}: SJ-Batch, time a result, of 20%'s"
        yield Line(what, per / base, facts=facts)
