"""What a figure of a paper is here: panels, points on curves, and whether the paper's claim holds.

Law: a verdict is worked out from the points alone, so a page can be written again from the file of
points; and what did not give the rivals' answer gives no point.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.matches_made import Scale


@dataclass(frozen=True)
class Point:
    """One measurement: of a curve, in a panel."""

    panel: str
    curve: str
    x: float
    y: float


@dataclass(frozen=True)
class Panel:
    """One of a figure's plots: its axes as the paper has them; `logs` names those in powers."""

    name: str
    x: str
    y: str
    logs: str = ""


@dataclass(frozen=True)
class Verdict:
    """Whether the claim holds, our figure, and one sentence; None: it is shown, not judged."""

    holds: bool | None
    ours: str
    why: str


Curves = Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]
"""By panel, then curve: (x, y), by x."""


@dataclass(frozen=True)
class Figure:
    """A figure of a paper.

    `claim` is the paper's shape or factor, as its text states it; `measure` gives the points one by
    one, so that progress shows; `judge` compares; `lacks` names what it needs that is not there.
    """

    name: str
    paper: str
    title: str
    claim: str
    panels: Sequence[Panel]
    measure: Callable[[Scale], Iterable[Point]]
    judge: Callable[[Curves], Verdict]
    lacks: Callable[[], str | None] = lambda: None
    source: str = "The paper"
    """Who makes the claim."""


def curves(points: Iterable[Point]) -> Curves:
    """Arrange points by panel and curve, by x."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for p in points:
        found.setdefault(p.panel, {}).setdefault(p.curve, []).append((p.x, p.y))
    return {panel: {name: sorted(c) for name, c in by.items()} for panel, by in found.items()}


def ratios(drawn: Curves, panel: str, rival: str, ours: str) -> list[float]:
    """Give the rival's value, of ours, at each x that both have."""
    theirs, mine = dict(drawn[panel][rival]), dict(drawn[panel][ours])
    return [theirs[x] / mine[x] for x in mine if x in theirs]


def span(values: Sequence[float], unit: str = " ×") -> str:
    """Write the least and the most of some values."""
    least, most = f"{min(values):.3g}", f"{max(values):.3g}"
    return f"{least}{unit}" if least == most else f"{least} to {most}{unit}"
