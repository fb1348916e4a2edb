"""S2 in two axes: virtual construct rectangles against R-trees, and what `auto` picks (Fig. 13)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.matches_made import (
    Scale,
    assert_equal,
    automatic,
    in_turns,
    laid,
    places,
    probing,
    rectangles,
    span,
)
from benchmarks.report import Line
from fencepost.matches import Boxes, BoxIndex, ProbeResult
from fencepost.tuples import Doubles

SIZES = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000)
BATCH = 10_000
AHEAD = 5.0  # how far the index of auto's choice must be ahead of VCR and R-trees
PAPER = {True: 1300 / 280, False: 304 / 60}  # R-tree of VCR at n = 32,000, crowded and uniform
SPREAD = {True: "90%–10%", False: "uniform"}


@dataclass(frozen=True)
class Race:
    """The indexes over one set of rectangles, and the seconds that a batch takes each."""

    indexes: dict[str, BoxIndex]
    times: dict[str, float]
    found: ProbeResult
    writing: float

    @classmethod
    def run(cls, boxes: Boxes, points: Doubles, side: int, scale: Scale) -> "Race":
        """Build, check, time."""
        names = {"packed": {}, "guttman": {}, "vcr_sd": {"side": side}, "vcr_od": {"side": side}}
        indexes = {name: laid(name, boxes, **given) for name, given in names.items()}
        indexes["auto"] = automatic(boxes, points.shape[1])
        found = assert_equal(indexes, points)
        works = {name: probing(index, points) for name, index in indexes.items()}
        times = in_turns(
            {**works, "writing": lambda: np.full(len(found.ids), 1, np.int32)}, scale.repeats
        )
        return cls(indexes, times, found, times.pop("writing"))

    def lines(self, what: str, factor: float | None, ahead: float | None) -> list[Line]:
        """Print by how much each index leads."""
        took, vcr = self.times, min(self.times["vcr_sd"], self.times["vcr_od"])
        trees = min(took["guttman"], took["packed"])
        better = min(vcr, trees)
        chosen, size = self.indexes["auto"].name, len(self.found)
        each = ", ".join(
            f"{name} {span(seconds / size)} {self.indexes[name].nbytes / 1e6:.2f} MB"
            for name, seconds in took.items()
        )
        facts = f"{each}; {len(self.found.ids) / size:.1f} results a probe"
        floor = (
            f"{chosen} {took['auto'] / max(len(self.found.ids), 1) * 1e9:.2f} ns a result; "
            f"writing the results to new memory {span(self.writing / size)} a probe"
        )
        return [
            Line(
                f"{what}: Guttman's R-tree, of VCR (SD)",
                took["guttman"] / took["vcr_sd"],
                factor,
                at_least=True,
                facts=facts,
            ),
            Line(f"{what}: packed R-tree, of VCR (SD)", took["packed"] / took["vcr_sd"]),
            Line(
                f"{what}: best of VCR and R-trees, of auto's {chosen}",
                better / took["auto"],
                ahead,
                at_least=True,
                facts=floor,
            ),
        ]


def rectangles_against_trees(scale: Scale) -> Iterator[Line]:
    """RxRy = 60,000, W = 20 and L = 8, from 1 K to 32 K queries; then W = 40 and L = 16."""
    for crowded in (True, False):
        points = places(scale.of(BATCH, 500), crowded=crowded)
        for count in scale.some(SIZES):
            last = count == SIZES[-1]
            race = Race.run(rectangles(count, 20, crowded=crowded), points, 8, scale)
            what = f"{SPREAD[crowded]}, n = {count:,}"
            yield from race.lines(what, *((PAPER[crowded], AHEAD) if last else (None, None)))
        if not scale.quick:
            race = Race.run(rectangles(SIZES[-1], 40, crowded=crowded), points, 16, scale)
            yield from race.lines(
                f"{SPREAD[crowded]}, n = {SIZES[-1]:,}, W = 40, L = 16", None, None
            )
