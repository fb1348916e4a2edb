"""General engines on the same work: what `make peers` and its neighbours printed, a row a peer."""

from collections.abc import Iterator

from benchmarks.figures.lines import Source, rows
from benchmarks.figures.tables import table
from benchmarks.pages import PAGES, Row, sections_of

OTHERS = (
    ("10 K polygons, 1 M fixes", Source("regions", "duckdb", "DuckDB spatial")),
    ("10 K polygons, 1 M fixes", Source("regions", "shapely", "shapely, both ends")),
    ("10 K overlapping circles", Source("regions", "circles", "Tile38's SETs")),
    ("a million points, 100 K bands", Source("matches", "peers", "1-D, W = 0.01%: Polars")),
    ("10 K band joins, 1 M updates", Source("joins", "band peers", "DuckDB, 100 recomputations")),
    ("10 K band joins, 1 M updates", Source("joins", "band peers", "Polars, 100 recomputations")),
    ("10 M ticks, Delta to Delta", Source("lake", "epoch", "one epoch, files read by workers")),
)
"""Peers that other benchmarks race already."""


def section() -> Iterator[str]:
    """The table of peers; nothing where nobody has run them."""
    found = [*_raced(), *_elsewhere()]
    if found:
        yield "## Against the engines one would otherwise use"
        yield (
            "The same work, answers compared first, as many threads on both sides, each peer by "
            "the best formulation that we found. A ratio is the peer's time of ours."
        )
        yield table(("work", "peer", "its time, of ours", "measured"), found)


def _raced() -> Iterator[tuple[str, str, str, str]]:
    """Of each peer on each shape the formulation that is quickest."""
    page = PAGES.get("peers")
    if page is None or not page.raw.is_file():
        return
    best: dict[tuple[str, str], tuple[str, Row]] = {}
    for part in sections_of(page.raw.read_text(encoding="utf-8")):
        for row in part.rows:
            work, _, way = row.claim.partition(": ")
            if row.value is None or not way.endswith(", of ours"):
                continue
            way = way.removesuffix(", of ours")
            key = work, way.partition(",")[0]
            if key not in best or row.value < (best[key][1].value or 0.0):
                best[key] = way, row
    for (work, _), (way, row) in best.items():
        yield work, way, f"**{row.figure}**{_bar(row)}", row.facts


def _elsewhere() -> Iterator[tuple[str, str, str, str]]:
    for work, source in OTHERS:
        row = source.row()
        if row is None or row.value is None:
            continue
        peer, value = row.claim.partition(", of ")[0], row.value
        if source.page == "lake":
            peer, value = "Spark's `lag()`, written nowhere", 1 / value
        yield work, peer, f"**{value:.2f} ×**{_bar(row)}", f"{row.facts} ({source.link})"


def _bar(row: Row) -> str:
    return f" (bar {row.bar}: {row.verdict.lower()})" if row.bar else ""


def fastest(section: str, work: str = "") -> tuple[str, float] | None:
    """The engine that comes closest in a section of `make peers`, and its time of ours."""
    near: tuple[str, float] | None = None
    for row in rows("peers", section):
        at, _, way = row.claim.partition(": ")
        fits = row.value is not None and (not work or at == work) and way.endswith(", of ours")
        if fits and (near is None or row.value < near[1]):
            near = way.partition(",")[0], row.value
    return near
