"""S1 §7.1, price bands over walking prices: Fig. 10 to 15.

Borders are whole prices, as stock prices are, which CEI needs; the prices themselves are not.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from benchmarks.figures import crossings as by
from benchmarks.figures.figure import Curves, Figure, Panel, Point, Verdict, ratios, span
from benchmarks.matches_made import Scale
from benchmarks.walks import laid
from fencepost.crossings.path import Path
from fencepost.matches import Boxes
from fencepost.queries import QuerySet
from pipelines.workloads import PriceBands, PriceWalks

DOMAIN = 1_000_000
CELLS = 1 << 20
N, W, FL = 100_000, 1e-3, 1e-4
RIVALS = (by.CEI, by.IS_LIST)
PE, TIME = "processing efficiency, %", "time a tuple, ns"


def bands(count: int, width: float, bounds: str = "uniform") -> QuerySet:
    """S1's queries, their borders rounded down to whole prices."""
    table = PriceBands(count=count, width=width, bounds=bounds, domain=DOMAIN).table()
    lo = np.floor(np.asarray(table["price_lo"]))
    columns = {"id": table["id"], "price_lo": lo, "price_hi": lo + round(width * DOMAIN)}
    return QuerySet.from_table("ticks", ("price",), pa.table(columns))


def prices(scale: Scale, fl: float = FL, starts: str = "uniform") -> Path:
    """S1's streams; a quarter of the 2,000, for the time a tuple does not depend on how many."""
    plan = PriceWalks(
        streams=scale.of(500, 20), length=scale.of(1_000, 100), fluctuation=fl, starts=starts
    )
    return laid(plan.tuples())


def everyone(queries: QuerySet, path: Path, width: float) -> dict[str, by.Contestant]:
    """Ours, the list as printed, and DiffRMQ on both indexes in both forms."""
    boxes = Boxes.of(queries.lo, queries.hi)
    fits = max(2, int(np.log2(width * DOMAIN)))
    return {
        by.AUTO: by.ours(queries, path),
        by.WALK: by.the_walk(queries, path),
        by.PRINTED: by.printed(boxes, path),
        **by.on_containment(by.CEI, boxes, path, CELLS, 1.0, range(fits - 2, fits + 3, 2)),
        **by.on_is_list(boxes, path),
    }


def _point(
    scale: Scale, x: float, *, n: int = N, w: float = W, fl: float = FL, pair: str = ""
) -> Iterator[Point]:
    normal = ["normal" if word == "n" else "uniform" for word in pair] or ["uniform"] * 2
    path = prices(scale, fl, normal[0])
    queries = bands(scale.of(n, 2_000), w, normal[1])
    measured = by.compared(everyone(queries, path, w), scale.repeats)
    yield from by.points(x, len(path), measured)


def by_queries(scale: Scale) -> Iterator[Point]:
    """Fig. 10: N from 10 K to 100 K."""
    for n in scale.some((10_000, 25_000, 50_000, 75_000, 100_000), 2):
        yield from _point(scale, n, n=n)


def by_width(scale: Scale) -> Iterator[Point]:
    """Fig. 11: W from 0.01% to 0.1%."""
    for w in scale.some((1e-4, 2e-4, 4e-4, 7e-4, 1e-3), 2):
        yield from _point(scale, w * 100, w=w)


def by_fluctuation(scale: Scale) -> Iterator[Point]:
    """Fig. 12: FL from 0.01% to 0.1%, which is W."""
    for fl in scale.some((1e-4, 2e-4, 4e-4, 7e-4, 1e-3), 2):
        yield from _point(scale, fl * 100, fl=fl)


def by_distribution(scale: Scale) -> Iterator[Point]:
    """Fig. 13: data and queries, each uniform or normal."""
    for k, pair in enumerate(("uu", "un", "nu", "nn")):
        yield from _point(scale, k + 1, pair=pair)


def storage(scale: Scale) -> Iterator[Point]:
    """Fig. 14: bytes against N and against W."""
    path = prices(scale)
    sizes = [("a", n, n, W) for n in scale.some((10_000, 25_000, 50_000, 100_000), 2)]
    sizes += [("b", w * 100, N, w) for w in scale.some((1e-4, 2e-4, 5e-4, 1e-3), 2)]
    for panel, x, n, w in sizes:
        everywhere = everyone(bands(scale.of(n, 2_000), w), path, w)
        for name, each in by.compared(everywhere, 1).items():
            if not name.endswith((by.KEPT, by.WALK)):
                yield Point(panel, name.removesuffix(f", {by.TWICE}"), x, each.nbytes / 1e6)


def _efficient(drawn: Curves) -> bool:
    return min(y for _, y in drawn["a"][by.WALK]) >= 99.0


def _judge_queries(drawn: Curves) -> Verdict:
    faster = [x for rival in RIVALS for x in ratios(drawn, "b", rival, by.AUTO)]
    pe = [y for _, y in drawn["a"][by.WALK]]
    share = [x for rival in RIVALS for x in ratios(drawn, "a", by.WALK, rival)]
    return Verdict(
        _efficient(drawn) and min(faster) > 1,
        f"PE {span(pe, '%')}, {span(share)} DiffRMQ's; {span(faster)} as fast",
        "What a step passes is what it reports, however many queries there are.",
    )


def _judge_width(drawn: Curves) -> Verdict:
    mine = [y for _, y in drawn["b"][by.AUTO]]
    growth = {r: drawn["b"][r][-1][1] / drawn["b"][r][0][1] for r in RIVALS}
    flat = max(mine) / min(mine)
    return Verdict(
        flat < 2 < max(growth.values()) and _efficient(drawn),
        f"ours within {flat:.2f} ×; "
        + ", ".join(f"{r} grows {g:.1f} ×" for r, g in growth.items()),
        "A wider query has no more borders, but DiffRMQ goes through more matches. At W = FL steps "
        "leap over queries, which must be told from those that they enter: there ours is slower.",
    )


def _judge_fluctuation(drawn: Curves) -> Verdict:
    walked = {r: ratios(drawn, "b", r, by.WALK) for r in RIVALS}
    auto = [x for r in RIVALS for x in ratios(drawn, "b", r, by.AUTO)]
    least = {r: values[-1] for r, values in walked.items()}
    falls = all(values[-1] < values[0] for values in walked.values())
    return Verdict(
        falls and min(auto) >= 1,
        f"at FL = W the walk is {span(list(least.values()))} as fast as DiffRMQ, "
        f"what Fencepost runs {span(auto)} throughout",
        "The lead shrinks as steps grow, as S1 says; rows of ids in order cost so little that the "
        "lines cross later than at FL = W, if at all.",
    )


def _judge_distribution(drawn: Curves) -> Verdict:
    faster = [x for rival in RIVALS for x in ratios(drawn, "b", rival, by.AUTO)]
    times = [y for _, y in drawn["b"][by.AUTO]]
    return Verdict(
        _efficient(drawn) and min(faster) > 1 and max(times) == times[-1],
        f"{span(faster)} as fast; both normal costs {times[-1] / times[0]:.2f} × both uniform",
        "Where prices are, there are the borders too, so more is reported; the others are level.",
    )


def _judge_storage(drawn: Curves) -> Verdict:
    cei = [x for panel in "ab" for x in ratios(drawn, panel, by.CEI, by.AUTO)]
    skip = [x for panel in "ab" for x in ratios(drawn, panel, by.IS_LIST, by.AUTO)]
    ours = [y for _, y in drawn["b"][by.AUTO]]
    return Verdict(
        min(cei + skip) > 1 and max(ours) / min(ours) < 1.05,
        f"CEI {span(cei)} ours, IS-list {span(skip)}",
        "Each query is stored twice. CEI's room is that of its virtual intervals where queries are "
        "few, and of their pieces where they are wide.",
    )


_SHAPE = (Panel("a", "{x}", PE), Panel("b", "{x}", TIME, "y"))


def _figure(number: int, title: str, claim: str, x: str, measure, judge) -> Figure:  # type: ignore[no-untyped-def]  # noqa: ANN001
    panels = [Panel(p.name, x, p.y, p.logs) for p in _SHAPE]
    return Figure(f"s1-{number}", f"S1 Fig. {number}", title, claim, panels, measure, judge)


FIGURES = (
    _figure(
        10,
        "The number of queries",
        "PE of BMQ 100% whatever N, much higher than DiffRMQ's, and its time significantly less "
        "(W = 0.1%, FL = 0.01%).",
        "queries",
        by_queries,
        _judge_queries,
    ),
    _figure(
        11,
        "The width of queries",
        "BMQ's time is constant in W, DiffRMQ's increases significantly (N = 100 K, FL = 0.01%).",
        "W, % of the domain",
        by_width,
        _judge_width,
    ),
    _figure(
        12,
        "The fluctuation level",
        "BMQ is faster as long as FL < W, and slightly slower at FL = W (N = 100 K, W = 0.1%).",
        "FL, % of the domain",
        by_fluctuation,
        _judge_fluctuation,
    ),
    _figure(
        13,
        "The distributions of data and queries",
        "PE stays at 100%, ten times DiffRMQ's; time changes much only where both are normal.",
        "1: both uniform, 2: queries normal, 3: data normal, 4: both",
        by_distribution,
        _judge_distribution,
    ),
    Figure(
        "s1-14",
        "S1 Fig. 14",
        "Storage in one axis",
        "BMQ's is constant in W, and at most ten times smaller than CEI's.",
        (Panel("a", "queries", "MB", "y"), Panel("b", "W, % of the domain", "MB", "y")),
        storage,
        _judge_storage,
    ),
)
