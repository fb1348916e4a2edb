"""docs/evidence.md: a table of claims, then each figure with its plot.

Law: it is made from the points that are kept, and from nothing else.
"""

import csv
from pathlib import Path

from benchmarks.figures.book import FIGURES
from benchmarks.figures.figure import Figure, Point, Store, Verdict, curves
from benchmarks.figures.plot import draw
from benchmarks.pages import DOCS

PLOTS = DOCS / "evidence"
WORDS = {True: "holds", False: "does not hold", None: "shown"}
HEAD = """\
# The evidence

Figures of the papers that Fencepost rests on, measured again by `make figures`
({about}), each rival in its strongest form that we know, compiled as ours is, and all answers
compared before a time was taken. Written by `python -m benchmarks.figures --write`; do not edit.
What the engine, the lake, matches, joins and regions cost is in
[performance](performance.md) and its neighbours.
"""


def write(store: Store, about: str) -> None:
    """Write the page and the plots of all figures that were measured."""
    known = [(each, store.read(each.name)) for each in FIGURES.values()]
    measured = [(each, points) for each, points in known if points is not None]
    judged = [(each, each.judge(curves(points)), points) for each, points in measured]
    rows = [
        HEAD.format(about=about),
        "| figure | the paper says | ours | |",
        "| --- | --- | --- | --- |",
    ]
    rows += [_row(figure, verdict) for figure, verdict, _ in judged]
    for figure, verdict, points in judged:
        folder = PLOTS / figure.name
        draw(figure, curves(points), folder)
        _points(folder / "points.csv", points)
        rows += ["", *_section(figure, verdict)]
    (DOCS / "evidence.md").write_text("\n".join(rows) + "\n", encoding="utf-8")


def _row(figure: Figure, verdict: Verdict) -> str:
    link = f"[{figure.paper}](#{_anchor(figure)})"
    cells = (link, figure.claim, verdict.ours, WORDS[verdict.holds])
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _section(figure: Figure, verdict: Verdict) -> list[str]:
    at = f"{PLOTS.name}/{figure.name}"
    return [
        f"## {figure.paper}: {figure.title}",
        "",
        "<picture>",
        f'  <source media="(prefers-color-scheme: dark)" srcset="{at}/dark.svg">',
        f'  <img alt="{figure.title}: {verdict.ours}" src="{at}/light.svg">',
        "</picture>",
        "",
        f"The paper: {figure.claim}",
        "",
        f"Ours: {verdict.ours}. {verdict.why}",
        "",
        f"[Points]({at}/points.csv), by `make figures ARGS={figure.name}`.",
    ]


def _anchor(figure: Figure) -> str:
    words = f"{figure.paper}: {figure.title}".lower()
    return "".join(c for c in words if c.isalnum() or c in " -").replace(" ", "-")


def _points(path: Path, points: list[Point]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("panel", "curve", "x", "y"))
        rows.writerows((p.panel, p.curve, f"{p.x:g}", f"{p.y:.6g}") for p in points)
