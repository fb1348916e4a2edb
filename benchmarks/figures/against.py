"""What Fencepost runs, against every structure of the papers, at every point that was measured."""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.figures import crossings as by
from benchmarks.figures import s1_town, s2, s3
from benchmarks.figures.figure import ratios
from benchmarks.figures.headlines import All

LEVEL = 0.03
"""Times as close as this are level: two runs of one index differ by as much."""


@dataclass(frozen=True)
class Race:
    """One panel of a figure: our curve, and the rivals' that do the same work."""

    figure: str
    panel: str
    ours: str
    rivals: tuple[str, ...]


WALKS = (by.CEI, by.IS_LIST)
INTERVALS = tuple(name for name in s2.INTERVALS.values() if name != s2.OURS)
TREES = tuple(name for name in s2.TREES.values() if name != s2.OURS)
RACES = (
    *(Race(f"s1-{n}", "b", by.AUTO, (*WALKS, by.PRINTED)) for n in (10, 11, 12, 13)),
    Race("s1-15", "a", by.AUTO, WALKS),
    *(
        Race(f"s1-{n}", "b", f"{by.AUTO}, {speed}", (f"{by.CES}, {speed}",))
        for n in (16, 17)
        for speed in s1_town.SPEEDS
    ),
    Race("s2-6", "a", s2.OURS, INTERVALS),
    *(Race("s2-13", panel, s2.OURS, TREES) for panel in (s2.UNIFORM, s2.CROWDED)),
    *(
        Race(figure, panel, ours, rivals)
        for figure, panel in (("s3-15", "a"), ("s3-15", "b"), ("s3-16", "a"))
        for ours, rivals in (
            (s3.OURS, (s3.IBS, s3.JOIN)),
            (s3.OURS_ALONE, (s3.IBS_ALONE, s3.ALONE)),
        )
    ),
    Race("s3-18", "a", s3.WINDOWS_OURS, (s3.KEPT, s3.SJ_JOIN)),
)


def raced(drawn: All) -> dict[str, list[float]]:
    """Give each structure's time of ours, at every point."""
    found: dict[str, list[float]] = {}
    for race in RACES:
        if race.figure not in drawn:
            continue
        for rival in race.rivals:
            name = rival.removesuffix(", fast").removesuffix(", slow")
            found.setdefault(name, []).extend(
                ratios(drawn[race.figure], race.panel, rival, race.ours)
            )
    return found


def against(drawn: All) -> Iterator[tuple[str, ...]]:
    """Rows: a structure, how often ours was quicker, level, slower; least and most ratio."""
    for name, values in raced(drawn).items():
        won = sum(x > 1 + LEVEL for x in values)
        lost = sum(x < 1 - LEVEL for x in values)
        yield (
            name,
            str(won),
            str(len(values) - won - lost),
            f"**{lost}**" if lost else "0",
            f"{min(values):.2f} ×",
            f"{max(values):.3g} ×",
        )
