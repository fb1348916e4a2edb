"""S1 §7.2, squares over a town: Fig. 16 to 18.

Objects move at S1's speeds on the roads of our own town, 15 km by 15 km, not on Oldenburg's.
Borders are on a grid of 10 m, the cells of CES, which knows no others. S1's own algorithm, border
lists and a cross-check, is measured beside what Fencepost runs.
"""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pyarrow as pa

from benchmarks.figures import crossings as by
from benchmarks.figures.figure import Curves, Figure, Panel, Point, Verdict, ratios, span
from benchmarks.matches_made import Scale
from benchmarks.walks import laid
from fencepost.crossings.path import Path
from fencepost.matches import Boxes
from fencepost.queries import QuerySet
from pipelines.workloads import MovingObjects, Squares, town

UNIT = 10.0
CELLS = 1_536  # of 10 m: 15 km, and a whole number of blocks
SPEEDS = {"fast": 1.0, "slow": 0.0}
N, W = 5_000, 5_000.0
LIMIT = 1.0  # MB
CHECKED = "border lists and cross-check"
NAMES = (by.AUTO, CHECKED, by.CES)


def squares(count: int, width: float) -> QuerySet:
    """S1's queries, moved to the grid."""
    table = Squares(count=count, width=width).table()
    columns = {"id": table["id"]}
    for axis in ("x", "y"):
        lo = np.floor(np.asarray(table[f"{axis}_lo"]) / UNIT) * UNIT
        columns |= {f"{axis}_lo": pa.array(lo), f"{axis}_hi": pa.array(lo + width)}
    return QuerySet.from_table("locations", ("x", "y"), pa.table(columns))


@cache
def moves(objects: int, fast: float) -> Path:
    """1,000 objects, 100 updates each."""
    plan = MovingObjects(objects=objects, updates=100, fast=fast, speed=False)
    return laid(plan.tuples(town()))


def everyone(queries: QuerySet, path: Path) -> dict[str, by.Contestant]:
    """Ours, S1's way, and DiffRMQ on CES in both forms."""
    boxes = Boxes.of(queries.lo, queries.hi)
    return {
        by.AUTO: by.ours(queries, path),
        CHECKED: by.the_walk(queries, path, striped=False),
        **by.on_containment(by.CES, boxes, path, CELLS, UNIT, range(5, 10, 2)),
    }


def _both_speeds(scale: Scale, x: float, n: int, w: float) -> Iterator[Point]:
    queries = squares(scale.of(n, 100), w)
    for speed, fast in SPEEDS.items():
        path = moves(scale.of(1_000, 50), fast)
        measured = by.compared(everyone(queries, path), scale.repeats)
        for point in by.points(x, len(path), measured):
            yield Point(point.panel, f"{point.curve}, {speed}", x, point.y)


def by_queries(scale: Scale) -> Iterator[Point]:
    """Fig. 16: N from 0.5 K to 5 K."""
    for n in scale.some((500, 1_000, 2_000, 3_500, 5_000), 2):
        yield from _both_speeds(scale, n, n, W)


def by_width(scale: Scale) -> Iterator[Point]:
    """Fig. 17: W from 0.5 km to 5 km."""
    for w in scale.some((500, 1_000, 2_000, 3_500, 5_000), 2):
        yield from _both_speeds(scale, w / 1e3, N, float(w))


def storage(scale: Scale) -> Iterator[Point]:
    """Fig. 18: bytes against N and against W."""
    path = moves(scale.of(1_000, 50), 1.0)
    sizes = [("a", n, n, W) for n in scale.some((500, 1_000, 2_000, 5_000), 2)]
    sizes += [("b", w / 1e3, N, float(w)) for w in scale.some((500, 1_000, 2_000, 5_000), 2)]
    for panel, x, n, w in sizes:
        measured = by.compared(everyone(squares(scale.of(n, 100), w), path), 1)
        for name, each in measured.items():
            if not name.endswith(by.KEPT):
                yield Point(panel, name.removesuffix(f", {by.TWICE}"), x, each.nbytes / 1e6)


def _faster(drawn: Curves, ours: str) -> list[float]:
    return [
        x for speed in SPEEDS for x in ratios(drawn, "b", f"{by.CES}, {speed}", f"{ours}, {speed}")
    ]


def _judge(growth: str) -> Callable[[Curves], Verdict]:
    def judge(drawn: Curves) -> Verdict:
        auto, checked = _faster(drawn, by.AUTO), _faster(drawn, CHECKED)
        better = [
            x
            for speed in SPEEDS
            for x in ratios(drawn, "a", f"{CHECKED}, {speed}", f"{by.CES}, {speed}")
        ]
        return Verdict(
            min(auto) > 1 and min(better) > 1,
            f"{span(auto)} as fast as DiffRMQ on CES, S1's own cross-check {span(checked)}; its "
            f"PE {span(better)} DiffRMQ's",
            growth,
        )

    return judge


def _judge_storage(drawn: Curves) -> Verdict:
    ces = [x for panel in "ab" for x in ratios(drawn, panel, by.CES, by.AUTO)]
    lists = [x for panel in "ab" for x in ratios(drawn, panel, by.CES, CHECKED)]
    ours, plain = (
        max(y for panel in "ab" for _, y in drawn[panel][name]) for name in (by.AUTO, CHECKED)
    )
    return Verdict(
        min(lists) > 1 and plain < LIMIT,
        f"CES {span(ces)} ours, which is at most {ours:.2f} MB; {span(lists)} S1's lists, at most "
        f"{plain:.2f} MB",
        "A query is in two lists an axis, not in each of the squares that it covers; ours is cut "
        "into stripes besides.",
    )


_PANELS = ("processing efficiency, %", ""), ("time a tuple, ns", "y")


def _panels(x: str) -> list[Panel]:
    return [Panel(name, x, y, logs) for name, (y, logs) in zip("ab", _PANELS, strict=True)]


FIGURES = (
    Figure(
        "s1-16",
        "S1 Fig. 16",
        "Two axes: the number of queries",
        "BMQ's PE is lower than in one axis but much higher than DiffRMQ's on CES, its time "
        "significantly lower; fast objects cost more than slow ones (W = 5 km).",
        _panels("queries"),
        by_queries,
        _judge("Both grow with what is reported; DiffRMQ with all that matches."),
    ),
    Figure(
        "s1-17",
        "S1 Fig. 17",
        "Two axes: the width of queries",
        "BMQ's time is almost constant in W, DiffRMQ's on CES increases rapidly (N = 5 K).",
        _panels("W, km"),
        by_width,
        _judge(
            "A wider square has a longer border, so more is reported; DiffRMQ goes by area. Of "
            "narrow squares S1's cross-check meets far more than it reports; stripes help."
        ),
    ),
    Figure(
        "s1-18",
        "S1 Fig. 18",
        "Two axes: storage",
        "BMQ's is below 1 MB and constant in W, at most a hundred times smaller than CES's, which "
        "goes from 63.5 to 203 MB.",
        (Panel("a", "queries", "MB", "y"), Panel("b", "W, km", "MB", "y")),
        storage,
        _judge_storage,
    ),
)
