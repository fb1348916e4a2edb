"""S1's experiments in one axis: the two passes, and what their time depends on."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.report import Line, median_seconds
from benchmarks.walks import assert_right, bands, indexed, walks
from fencepost.crossings import BorderIndex, expand, kernels, walk
from fencepost.crossings.columns import Events
from fencepost.crossings.layer import as_posts
from fencepost.crossings.path import Path
from fencepost.queries import QuerySet


@dataclass(frozen=True)
class Passes:
    """The time of one workload by stage, in seconds, and what it touched."""

    tuples: int
    ranks: float
    count: float
    fill: float
    numpy_fill: float
    events: int
    passed: int

    @property
    def all(self) -> float:
        """Both passes."""
        return self.ranks + self.count + self.fill

    @property
    def facts(self) -> str:
        """The stages, each in its own unit."""
        n, k = self.tuples, max(self.events, 1)
        return (
            f"ranks {self.ranks / n * 1e9:.1f} + count {self.count / n * 1e9:.1f} ns a tuple, "
            f"fill {self.fill / k * 1e9:.2f} ns an event (NumPy {self.numpy_fill / k * 1e9:.2f}), "
            f"{self.events / n:.1f} events of {self.passed / n:.1f} posts a tuple"
        )


def passes(path: Path, index: BorderIndex, sample: int = 100) -> Passes:
    """Check the answer, then time the passes one by one; the output is touched before."""
    walked = walk(index, path, fast=True)
    found = assert_right(walked, sample)
    out = Events(*(np.zeros_like(column) for column in found))
    room = Events(*(np.zeros(len(column) + 1_000, column.dtype) for column in found))
    ranking = walked.rankings[0]
    posts, steps, runs = as_posts(ranking.posts), path.steps, len(path.stream)
    counts = np.zeros(len(path), np.int32)

    leaps = expand.leaps_often(path, ranking)

    def fill() -> None:
        if leaps:
            kernels.leap(posts, steps, 0, runs, ranking.begun, ranking.ended, room, 0)
        else:
            kernels.fill(
                posts, steps, 0, runs, ranking.begun, ranking.ended, out, 0, len(out.place)
            )

    def count() -> None:
        kernels.count(posts, steps, 0, runs, ranking.begun, ranking.ended, counts)

    return Passes(
        len(path),
        median_seconds(lambda: walk(index, path, fast=True)),
        0.0 if leaps else median_seconds(count),  # where steps leap, one pass does both
        median_seconds(fill),
        median_seconds(lambda: [column.fill(1) for column in out]),
        len(found.place),
        walked.passed,
    )


def default_and_widths() -> list[Line]:
    """The default workload, and W from FL up to 1%, and one query that covers everything."""
    path = walks()
    base = passes(path, indexed(bands(100_000)))
    touched = expand.examined(walk(indexed(bands(100_000)), path, fast=True))
    lines = [
        Line(
            "S1 default: ranks + count + fill, of a NumPy fill",
            base.all / base.numpy_fill,
            4,
            facts=base.facts,
        ),
        Line("  events of posts passed (PE)", base.events / touched, 0.999, at_least=True),
    ]
    for width in (0.0001, 0.0002, 0.0005, 0.002, 0.01):
        p = passes(path, indexed(bands(100_000, width)))
        per = (p.all / p.passed) / (base.all / base.passed)
        lines.append(
            Line(
                f"  W = {width:.2%}: time a post passed, of the default's", per, 1.3, facts=p.facts
            )
        )
    everything = QuerySet.from_table(
        "ticks", ("price",), pa.table({"id": ["all of it"], "price_lo": [0.0], "price_hi": [1e6]})
    )
    p = passes(path, indexed(bands(100_000).with_added(everything)))
    per = (p.all / p.passed) / (base.all / base.passed)
    lines.append(Line("  and one query that covers everything", per, 1.3, facts=p.facts))
    return lines


def first_pass_by_queries() -> list[Line]:
    """The ranks alone, as the queries grow a hundredfold."""
    path = walks()
    times = {}
    for count in (10_000, 100_000, 1_000_000):
        index = indexed(bands(count))
        assert_right(walk(index, path, fast=True), 20) if count < 1_000_000 else None
        posts = index.layers[0].plain[0]
        found = walk(index, path, fast=True).rankings[0]
        assert np.array_equal(
            found.begun, np.searchsorted(posts.begin_posts[: posts.begins], path.values[0], "right")
        )
        times[count] = median_seconds(lambda index=index: walk(index, path, fast=True)) / len(path)  # type: ignore[misc]
    facts = ", ".join(f"{n // 1000} K {t * 1e9:.1f} ns" for n, t in times.items())
    worst = max(times.values()) / min(times.values())
    return [Line("first pass, N = 10 K → 1 M: slowest of fastest", worst, 2.5, facts=facts)]


def sparse() -> list[Line]:
    """Streams that hardly move, against a search of every value."""
    path, index = walks(fl=1e-7), indexed(bands(100_000))
    walked = walk(index, path, fast=True)
    crossing = len(np.unique(assert_right(walked).place)) / len(path)
    posts = index.layers[0].plain[0]
    borders = np.sort(
        np.concatenate([posts.begin_posts[: posts.begins], posts.end_posts[: posts.ends]])
    )
    mine = median_seconds(lambda: walk(index, path, fast=True))
    search = median_seconds(lambda: np.searchsorted(borders, path.values[0], "right"))
    facts = f"{mine / len(path) * 1e9:.1f} ns a tuple; {crossing:.1%} of the tuples cross"
    lines = [
        Line(
            "sparse: np.searchsorted, of the first pass",
            search / mine,
            5,
            at_least=True,
            facts=facts,
        )
    ]
    both = median_seconds(lambda: walk(index, path, fast=True).events)
    two = median_seconds(lambda: walk(index, path, fast=True, threads=2).events)
    lines.append(Line("  two threads against one, both passes", both / two, 1.7, at_least=True))
    dense = walks()
    one = median_seconds(lambda: walk(index, dense, fast=True))
    two = median_seconds(lambda: walk(index, dense, fast=True, threads=2))
    lines.append(
        Line("default: two threads against one, first pass", one / two, 1.7, at_least=True)
    )
    return lines


def streams() -> list[Line]:
    """The same number of tuples, of a thousand streams and of 128 thousand."""
    index, times = indexed(bands(100_000)), {}
    for count in (1_000, 8_000, 32_000, 128_000):
        path = walks(streams=count, length=2_048_000 // count)
        assert_right(walk(index, path, fast=True), 20)
        times[count] = median_seconds(lambda path=path: walk(index, path, fast=True).events) / len(
            path
        )  # type: ignore[misc]
    facts = ", ".join(f"{n // 1000} K {t * 1e9:.0f} ns" for n, t in times.items())
    worst = max(times.values()) / min(times.values())
    return [Line("streams 1 K → 128 K: slowest of fastest, both passes", worst, 1.5, facts=facts)]
