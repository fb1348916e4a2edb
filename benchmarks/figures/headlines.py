"""The headlines of the papers, and of the issue: the claim, what was measured, whether it holds.

A headline is of a paper's own method; where a compiled rival makes it fail, what Fencepost runs
stands beside it, and so does whether that wins at every point.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

from benchmarks.figures import crossings as by
from benchmarks.figures import s1_streams, s1_town, s2, s3, s4
from benchmarks.figures.figure import Curves, ratios, span
from benchmarks.joins_windows import PAPER as WINDOWS
from benchmarks.matches_joins import PAPER as JOINS
from benchmarks.matches_rectangles import PAPER as TREES

All = Mapping[str, Curves]
"""By figure, what was measured of it."""


@dataclass(frozen=True)
class Headline:
    """A row: what is claimed against which rival, the paper's figure, its method's here, ours."""

    figure: str
    claim: str
    paper: str
    method: str
    ours: str
    holds: bool


def headlines(drawn: All) -> list[Headline]:
    """Work out every headline whose figures were measured."""
    found = []
    for figure, makes in MAKERS:
        if figure in drawn:
            found += makes(drawn[figure])
    return found


def _streams(drawn: Curves) -> list[Headline]:
    faster = [ratios(drawn, "a", name, by.AUTO) for name in (by.CEI, by.IS_LIST)]
    least = [min(both) for both in zip(*faster, strict=True)]
    reached = [x for (x, _), each in zip(drawn["a"][by.AUTO], least, strict=True)
               if each >= s1_streams.FACTOR]  # fmt: skip
    where = f", reached from {reached[0] / 1e3:.0f} K streams on" if reached else ""
    return [
        Headline(
            "s1-15",
            "time for one tuple of each of 1 K to 128 K streams: DiffRMQ's quickest form, of BMQ's",
            f"{s1_streams.FACTOR} ×",
            "",
            span(least) + ("" if min(least) >= s1_streams.FACTOR else where),
            min(least) >= s1_streams.FACTOR,
        )
    ]


def _efficiency(drawn: Curves) -> list[Headline]:
    pe = [y for _, y in drawn["a"][by.WALK]]
    return [
        Headline(
            "s1-10",
            "processing efficiency: results of what is gone through (W = 0.1%, FL = 0.01%)",
            "100%",
            span(pe, "%"),
            span(pe, "%"),
            min(pe) >= 99.9,
        )
    ]


def _crossover(drawn: Curves) -> list[Headline]:
    rivals = (by.CEI, by.IS_LIST)
    list_ = [min(both) for both in zip(*(ratios(drawn, "b", r, by.PRINTED) for r in rivals),
                                       strict=True)]  # fmt: skip
    ours = [min(both) for both in zip(*(ratios(drawn, "b", r, by.AUTO) for r in rivals),
                                      strict=True)]  # fmt: skip
    levels = [x for x, _ in drawn["b"][by.PRINTED]]
    crossed = next((x for x, y in zip(levels, list_, strict=True) if y < 1), inf) / levels[-1]
    return [
        Headline(
            "s1-12",
            "DiffRMQ's time, of BMQ's, as FL grows from 0.1 W to W",
            "above 1, slightly below at FL = W",
            f"{_each(list_)} ×: below 1 from {crossed:.1f} W on (the RS list as printed)",
            f"{_each(ours)} ×: nowhere below 1",
            crossed >= 1 - 1e-9,
        )
    ]


def _storage(drawn: Curves) -> list[Headline]:
    by_n, by_w = (ratios(drawn, panel, by.CEI, by.AUTO) for panel in "ab")
    return [
        Headline(
            "s1-14",
            "storage: CEI's, of BMQ's",
            "up to 10 ×",
            "",
            f"{_each(by_n)} × as queries grow, {_each(by_w)} × as they widen",
            max(by_n + by_w) >= 10,
        )
    ]


def _storage_in_town(drawn: Curves) -> list[Headline]:
    lists = [ratios(drawn, panel, by.CES, s1_town.CHECKED) for panel in "ab"]
    ours = [ratios(drawn, panel, by.CES, by.AUTO) for panel in "ab"]
    return [
        Headline(
            "s1-18",
            "storage in two axes: CES's, of BMQ's",
            "up to 100 ×",
            f"{_each(lists[0])} × as queries grow, {_each(lists[1])} × as they widen",
            f"{_each(ours[0])} ×; {_each(ours[1])} ×",
            max(x for panel in lists for x in panel) >= 100,
        )
    ]


def _trees(drawn: Curves) -> list[Headline]:
    found = []
    for panel, crowded, spread in ((s2.CROWDED, True, "crowded"), (s2.UNIFORM, False, "uniform")):
        tree = ratios(drawn, panel, s2.TREES["guttman"], s2.TREES["vcr_sd"])[-1]
        ours = ratios(drawn, panel, s2.TREES["guttman"], s2.OURS)[-1]
        found.append(
            Headline(
                "s2-13",
                f"32,000 rectangles, {spread}: an R-tree's time a probe, of VCR's",
                f"{TREES[crowded]:.1f} ×",
                f"{tree:.2f} ×",
                f"{ours:.1f} ×",
                tree >= TREES[crowded],
            )
        )
    return found


def _joins(drawn: Curves) -> list[Headline]:
    found = []
    kinds = ((s3.IBS, s3.JOIN, s3.OURS, 0), (s3.IBS_ALONE, s3.ALONE, s3.OURS_ALONE, 1))
    for axes, panel in s3.PANELS.items():
        for rival, method, ours, place in kinds:
            theirs = ratios(drawn, panel, rival, method)
            mine = ratios(drawn, panel, rival, ours)
            paper = [JOINS[axes, count][place] for count in (10_000, 100_000)]
            found.append(
                Headline(
                    "s3-15",
                    f"{axes} attributes, 10 K to 100 K queries: {rival}, of {method}",
                    f"{paper[0]} to {paper[1]} ×",
                    f"{theirs[0]:.1f} to {theirs[-1]:.1f} ×",
                    f"{mine[0]:.1f} to {mine[-1]:.1f} ×",
                    theirs[0] >= paper[0] and theirs[-1] >= paper[1],
                )
            )
    return found


def _windows(drawn: Curves) -> list[Headline]:
    printed = ratios(drawn, "a", s3.NOTHING, s3.SJ_JOIN)
    ours = ratios(drawn, "a", s3.NOTHING, s3.WINDOWS_OURS)
    return [
        Headline(
            "s3-18",
            "window joins over 100, 1,000, 10,000 tuples: IBS-JS, of SJ-Join",
            f"up to {', '.join(str(x) for x in WINDOWS.values())} ×",
            f"{_each(printed)} ×",
            f"{_each(ours)} ×",
            all(a >= b for a, b in zip(printed, WINDOWS.values(), strict=True)),
        )
    ]


def _bands(drawn: Curves) -> list[Headline]:
    by_groups, bound = drawn["b"][s4.OURS], drawn["b"][s4.SHAPE]
    rise, allowed = (points[-1][1] / points[0][1] for points in (by_groups, bound))
    level = [y for _, y in drawn["a"][s4.OURS]]
    return [
        Headline(
            "s4-updates",
            "an update of band joins takes log(mτ) + k: growth from 1 K to 1 M bands, and from 1 "
            "to 1,000 groups",
            f"1 ×; {allowed:.1f} ×",
            "",
            f"{max(level) / min(level):.2f} ×; {rise:.1f} ×",
            rise <= allowed,
        )
    ]


def _each(values: list[float]) -> str:
    return ", ".join(f"{x:.3g}" for x in values)


MAKERS: tuple[tuple[str, Callable[[Curves], list[Headline]]], ...] = (
    ("s1-15", _streams),
    ("s1-10", _efficiency),
    ("s1-12", _crossover),
    ("s1-14", _storage),
    ("s1-18", _storage_in_town),
    ("s2-13", _trees),
    ("s3-15", _joins),
    ("s3-18", _windows),
    ("s4-updates", _bands),
)
