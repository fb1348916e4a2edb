"""docs/evidence.md: the one page. First what matters, then every claim, then every figure.

Law: it is made from the points in docs/evidence and the lines on the benchmarks' raw pages, and
from nothing else: `python -m benchmarks.pages` writes it again, and a test compares.
"""

from collections.abc import Iterable, Iterator, Sequence

from benchmarks.figures import costs, first, money, peers
from benchmarks.figures.against import LEVEL, against
from benchmarks.figures.book import FIGURES
from benchmarks.figures.figure import Figure, Verdict, curves
from benchmarks.figures.headlines import All, Headline, headlines
from benchmarks.figures.kept import Run, Store
from benchmarks.figures.losses import losses
from benchmarks.figures.plot import draw, draw_first
from benchmarks.figures.tables import picture, table
from benchmarks.pages import DOCS

SHOWN = Store(DOCS / "evidence")
PAGE = DOCS / "evidence.md"
WORDS = {True: "holds", False: "does not hold", None: "shown"}
HEAD = """\
# The evidence

Which standing rules did each moving value just enter or leave? This page measures how fast
Fencepost answers that, beside the methods of the papers it rests on and the engines one would
otherwise use. Each rival runs in its strongest form that we know, compiled where ours is; all
answers are equal before a time is taken; what fails is listed with what holds."""
RUNS = """\
**Machine and versions.** {machine}. Times are those of one thread, by the processor's clock, the
least of some rounds in turn, unless a line says otherwise; other load only adds to them.
**Seeds.** Every workload is drawn from seed 1 of its generator (`pipelines/workloads/`,
`benchmarks/matches_made.py`), points to probe from seed 2: the same run gives the same data.
**Run it.** `make figures` measures the papers' figures and goes on where it was interrupted,
`ARGS=--quick` in minutes; `make peers`, `make bench-engine`, `bench-lake`, `bench-matches`,
`bench-joins` and `bench-regions` the rest. This page is written from their points and lines by
`python -m benchmarks.pages`; do not edit."""


def write() -> None:
    """Write the page from what docs/evidence has."""
    PAGE.write_text(text(), encoding="utf-8")


def plots(names: Iterable[str] = FIGURES) -> None:
    """Draw figures whose points are there, and the first screen's two."""
    drawn = {}
    for name, figure in FIGURES.items():
        if run := SHOWN.read(name):
            drawn[name] = curves(run.points)
            if name in names:
                draw(figure, drawn[name], SHOWN.folder / name)
    draw_first(first.panels(drawn), SHOWN.folder)


def text() -> str:
    """Make the page."""
    runs = {name: run for name in FIGURES if (run := SHOWN.read(name))}
    drawn: All = {name: curves(run.points) for name, run in runs.items()}
    judged = {name: FIGURES[name].judge(each) for name, each in drawn.items()}
    parts = [
        HEAD,
        *first.screen(drawn),
        RUNS.format(machine=_machine(runs.values())),
        *_claims(headlines(drawn)),
        *_structures(drawn),
        *peers.section(),
        *_part("Where Fencepost loses, and why", losses(drawn, judged)),
        *_growth(drawn),
        *_floors(),
        *money.section(drawn),
        *_all(judged, runs),
    ]
    return "\n\n".join(parts) + "\n"


def _machine(runs: Iterable[Run]) -> str:
    """The machines of all runs, without their dates and loads."""
    found = dict.fromkeys(
        ", ".join(run.about.split(", ")[1:]).partition(", load")[0] for run in runs
    )
    return "; ".join(each for each in found if each)


def _part(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"## {title}"
        yield "\n".join(f"- {line}" for line in lines)


def _claims(found: Sequence[Headline]) -> Iterator[str]:
    held = sum(each.holds for each in found)
    yield "## Every headline of the papers"
    yield (
        f"{held} of {len(found)} hold as the papers state them. A factor of a paper is of its "
        "method against its rival; both are compiled here, which helps a slow rival most. *Its "
        "method here* is the paper's own, to the letter; *Fencepost* is what runs, against the "
        "same rival. Where the first is empty, Fencepost runs that method."
    )
    yield table(
        ("claim", "the paper", "its method here", "Fencepost", "verdict"),
        (
            (
                f"[{FIGURES[each.figure].paper}](#{anchor(FIGURES[each.figure])}): {each.claim}",
                each.paper,
                each.method,
                each.ours,
                WORDS[each.holds],
            )
            for each in found
        ),
    )


def _structures(drawn: All) -> Iterator[str]:
    yield "### What Fencepost runs, against every structure of the papers"
    yield (
        "At each point of the figures below where a structure did the same work: how often what "
        f"Fencepost runs was quicker, level (within {LEVEL:.0%}) or slower, and the structure's "
        "time of ours at our worst point and our best."
    )
    head = ("structure", "quicker", "level", "slower", "at our worst", "at our best")
    yield table(head, against(drawn))


def _growth(drawn: All) -> Iterator[str]:
    rows = []
    for *cells, name in costs.growths(drawn):
        figure = FIGURES[name]
        rows.append((*cells, f"[{figure.paper}](#{anchor(figure)})"))
    yield "## How cost grows"
    yield (
        "From the least to the most of each thing, all else being the same. What merely exists "
        "costs nearly nothing: a step pays for the borders that it crosses."
    )
    yield table(("what grows", "from, to", "cost", "from, to", "grows by", "", "figure"), rows)


def _floors() -> Iterator[str]:
    yield "## Each stage against its floor"
    yield (
        "A floor is the least that any program would have to do there: move the bytes, decode "
        "the columns, write the rows. 1 × is the floor itself; below it, the floor is of a "
        "system that Fencepost does not go through."
    )
    rows = costs.floors()
    yield table(("stage", "its floor", "ours, of the floor", "measured", "lines"), rows)


def _all(judged: dict[str, Verdict], runs: dict[str, Run]) -> Iterator[str]:
    yield "## Every figure"
    rows = []
    for name, verdict in judged.items():
        figure = FIGURES[name]
        link = f"[{figure.paper}](#{anchor(figure)})"
        rows.append((link, figure.claim, verdict.ours, WORDS[verdict.holds]))
    yield table(("figure", "the paper says", "ours", ""), rows)
    for name, verdict in judged.items():
        yield from _section(FIGURES[name], verdict, runs[name])


def _section(figure: Figure, verdict: Verdict, run: Run) -> Iterator[str]:
    at = f"{SHOWN.folder.name}/{figure.name}"
    yield f"### {figure.paper}: {figure.title}"
    yield picture(at, f"{figure.title}: {verdict.ours}")
    yield f"{figure.source}: {figure.claim}"
    yield f"Measured: {verdict.ours}. {verdict.why} *{WORDS[verdict.holds].capitalize()}.*"
    yield f"[Points]({at}/points.csv), measured {run.about}, by `make figures ARGS={figure.name}`."


def anchor(figure: Figure) -> str:
    """The fragment of a figure's heading."""
    words = f"{figure.paper}: {figure.title}".lower()
    return "".join(c for c in words if c.isalnum() or c in " -").replace(" ", "-")
