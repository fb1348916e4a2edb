"""S2, virtual construct intervals and rectangles: Fig. 6, 7 and 13."""

from collections.abc import Iterator

from benchmarks import matches_intervals, matches_rectangles
from benchmarks.figures.figure import Curves, Figure, Panel, Point, Verdict, ratios, span
from benchmarks.matches_made import Scale, places, rectangles
from benchmarks.matches_rectangles import Race

OURS = "Fencepost (auto)"
INTERVALS = {
    "lci_bv": "LCI-BV(DT)",
    "dlist": "Dlist",
    "is_list": "IS-list",
    "lci": "LCI",
    "sci": "SCI",
    "auto": OURS,
}
TREES = {"guttman": "R-tree", "vcr_sd": "VCR, simple", "vcr_od": "VCR, overlapped", "auto": OURS}
UNIFORM = "a"
CROWDED = "b"


def intervals(scale: Scale) -> Iterator[Point]:
    """Fig. 6 and 7: R = 5,000, from 1 K to 100 K queries."""
    for count in scale.some(matches_intervals.SIZES, 2):
        race = matches_intervals.Race.run(count, scale)
        for name, shown in INTERVALS.items():
            yield Point("a", shown, count, race.times[name] / race.points * 1e9)
            yield Point("b", shown, count, race.rooms[name] / 1e6)


def trees(scale: Scale) -> Iterator[Point]:
    """Fig. 13: RxRy = 60,000, W = 20, from 1 K to 32 K queries, uniform and crowded."""
    for panel, crowded in ((UNIFORM, False), (CROWDED, True)):
        points = places(scale.of(matches_rectangles.BATCH, 500), crowded=crowded)
        for count in scale.some(matches_rectangles.SIZES, 2):
            race = Race.run(rectangles(count, 20, crowded=crowded), points, 8, scale)
            for name, shown in TREES.items():
                yield Point(panel, shown, count, race.times[name] / len(race.found) * 1e9)


def judge_intervals(drawn: Curves) -> Verdict:
    """IS-lists slower and larger, Dlist quickest of the papers', LCI-BV(DT) the smallest."""
    best = INTERVALS["lci_bv"]
    slower = ratios(drawn, "a", INTERVALS["is_list"], best)
    near = ratios(drawn, "a", best, INTERVALS["dlist"])
    room = [
        x
        for name in ("dlist", "is_list", "lci", "sci")
        for x in ratios(drawn, "b", INTERVALS[name], best)
    ]
    papers = [shown for name, shown in INTERVALS.items() if name != "auto"]
    ours = [min(each) for each in zip(*(ratios(drawn, "a", p, OURS) for p in papers), strict=True)]
    return Verdict(
        min(slower) > 1 and min(room) > 1,
        f"IS-lists take {span(slower)} its time, Dlist is {span(near)} as fast; others take "
        f"{span(room)} its room; what auto runs is {span(ours)} as fast as the quickest of them",
        "Lists of a few lengths need few look-ups and little room. An IS-list whose markers stand "
        "in arrays is quicker than S2's where results are many: it copies long runs of them.",
    )


def judge_trees(drawn: Curves) -> Verdict:
    """The R-tree's time of VCR's at n = 32,000: 1,300/280 crowded, 304/60 uniform."""
    vcr, tree = TREES["vcr_sd"], TREES["guttman"]
    last = {panel: ratios(drawn, panel, tree, vcr)[-1] for panel in (UNIFORM, CROWDED)}
    ours = [x for panel in last for x in ratios(drawn, panel, vcr, OURS)]
    wanted = {UNIFORM: matches_rectangles.PAPER[False], CROWDED: matches_rectangles.PAPER[True]}
    return Verdict(
        all(last[panel] >= factor for panel, factor in wanted.items()),
        f"the R-tree takes {last[CROWDED]:.1f} × VCR's time crowded and {last[UNIFORM]:.1f} × "
        f"uniform at n = 32,000; what auto runs is {span(ours)} as fast as VCR",
        "Guttman's tree, compiled, with 32 entries in a node's few cache lines, is a harder rival "
        "than S2's was: VCR's fixed number of look-ups is as many lines of memory.",
    )


FIGURES = (
    Figure(
        "s2-6",
        "S2 Fig. 6, 7",
        "Intervals: time and storage",
        "LCI-BV(DT) is nearly as fast as Dlist, which is the fastest, and has the lowest storage; "
        "IS-lists are neither fast nor small.",
        (Panel("a", "queries", "time a probe, ns", "xy"), Panel("b", "queries", "MB", "xy")),
        intervals,
        judge_intervals,
    ),
    Figure(
        "s2-13",
        "S2 Fig. 13",
        "Rectangles against an R-tree",
        "At n = 32,000 an R-tree takes 1,300 µs against VCR's 280 where queries are crowded, 304 "
        "against 60 where they are uniform.",
        (
            Panel(UNIFORM, "queries, uniform", "time a probe, ns", "xy"),
            Panel(CROWDED, "queries, 90% in 10% of the region", "time a probe, ns", "xy"),
        ),
        trees,
        judge_trees,
    ),
)
