"""Two and more axes: moving objects among squares, and S1's Fig. 19."""

from dataclasses import dataclass
from math import sqrt

from benchmarks.report import Line, median_seconds
from benchmarks.walks import assert_right, bands, indexed, laid, walks
from fencepost.crossings import expand, walk
from fencepost.queries import QuerySet
from pipelines.workloads import MovingObjects, Squares, town

EVENT, CANDIDATES = 6e-9, 1.3


def squares() -> list[Line]:
    """10 K squares of 1 km, dense in the middle, and moving objects."""
    path, index = walks(), indexed(bands(100_000))
    events = len(assert_right(walk(index, path, fast=True)).place)
    base = median_seconds(lambda: walk(index, path, fast=True).events) / events
    table = Squares(count=10_000, width=1_000.0).table()
    queries = QuerySet.from_table("locations", ("x", "y"), table)
    moves = laid(MovingObjects(objects=1_000, updates=100, fast=1.0, speed=False).tuples(town()))
    lines = []
    for name, striped, at_most in (
        ("border lists, cross-check", False, (None, None)),
        ("edge stripes", True, (EVENT, CANDIDATES)),
    ):
        other = indexed(queries, striped=striped)
        walked = walk(other, moves, fast=True)
        found = len(assert_right(walked).place)
        met = expand.examined(walked) / found
        time = median_seconds(lambda other=other: walk(other, moves, fast=True).events) / found  # type: ignore[misc]
        facts = (
            f"{time * 1e9:.1f} ns an event, {time / base:.1f} × the 1-D default's "
            f"{base * 1e9:.2f}; {found / len(moves):.1f} events a tuple, "
            f"{other.nbytes / len(queries):.0f} bytes a query"
        )
        bar = at_most[0] and 1.0
        claim = f"2-D, {name}: time an event, of {EVENT * 1e9:g} ns"
        lines.append(Line(claim, time / EVENT, bar, facts=facts))
        lines.append(Line(f"2-D, {name}: candidates an event", met, at_most[1]))
    return lines


@dataclass(frozen=True)
class Dimension:
    """What S1's workload of some axes costs."""

    tuples: int
    seconds: float
    candidates: int
    events: int
    nbytes: int


def dimension(d: int, streams: int = 500) -> Dimension:
    """N = 10 K, FL and W 0.1% an axis: check the answer, then time the walk."""
    path = walks(streams=streams, length=400, fl=1e-3, dimensions=d)
    index = indexed(bands(10_000, 1e-3, d))
    walked = walk(index, path, fast=True)
    found = len(assert_right(walked).place)
    time = median_seconds(lambda: walk(index, path, fast=True).events)
    return Dimension(len(path), time, expand.examined(walked), found, index.nbytes)


def dimensions() -> list[Line]:
    """D = 1 … 9, against S1's bound (d − 1) √d."""
    lines, first = [], 0.0
    for d in range(1, 10):
        found = dimension(d)
        n, time = found.tuples, found.seconds
        first = first or time
        facts = (
            f"{time / n * 1e9:.0f} ns, {found.candidates / n:.2f} candidates and "
            f"{found.events / n:.4f} events a tuple, index {found.nbytes / 1e6:.2f} MB"
        )
        bar = (d - 1) * sqrt(d) if d >= 3 else None
        lines.append(Line(f"d = {d}: time, of d = 1", time / first, bar, facts=facts))
    lines.append(Line("d = 9: index, of 7 MB", found.nbytes / 7e6, 1.0))
    return lines
