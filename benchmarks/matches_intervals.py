"""S2 in one axis: virtual construct intervals, direct lists and interval skip lists (Fig. 6, 7)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.matches_made import (
    Scale,
    assert_equal,
    automatic,
    in_turns,
    intervals,
    laid,
    probing,
    span,
)
from benchmarks.report import Line

REACH, WIDTH, BATCH = 5_000, 100, 20_000
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
PAPERS = ("lci_bv", "dlist", "is_list", "lci", "sci")


@dataclass(frozen=True)
class Race:
    """The indexes over one set of intervals: seconds for all points, bytes."""

    times: dict[str, float]
    rooms: dict[str, int]
    points: int
    results: float
    chosen: str

    @classmethod
    def run(cls, count: int, scale: Scale) -> "Race":
        """Build, check, time."""
        points = np.random.default_rng(2).random((1, scale.of(BATCH, 500))) * (REACH - 1)
        boxes = intervals(count, REACH, WIDTH)
        indexes = {name: laid(name, boxes) for name in PAPERS}
        indexes["auto"] = automatic(boxes, points.shape[1])
        found = assert_equal(indexes, points)
        times = in_turns({k: probing(i, points) for k, i in indexes.items()}, scale.repeats)
        rooms = {name: index.nbytes for name, index in indexes.items()}
        n = len(found)
        return cls(times, rooms, n, len(found.ids) / n, indexes["auto"].name)


def curves(scale: Scale) -> Iterator[Line]:
    """R = 5,000, lengths uniform in 1..100: time and storage, from 1 K to 100 K queries."""
    for count in scale.some(SIZES):
        race = Race.run(count, scale)
        times, rooms, chosen = race.times, race.rooms, race.chosen
        each = ", ".join(
            f"{k} {span(times[k] / race.points)} {rooms[k] / 1e6:.2f} MB" for k in times
        )
        facts = f"{each}; {race.results:.1f} results a probe"
        what = f"n = {count:,}"
        other = min(rooms[name] for name in PAPERS[1:])
        yield from (
            Line(
                f"{what}: IS-list, of LCI-BV(DT): time",
                times["is_list"] / times["lci_bv"],
                1.0,
                at_least=True,
                facts=facts,
            ),
            Line(f"{what}: LCI-BV(DT), of Dlist: time", times["lci_bv"] / times["dlist"]),
            Line(
                f"{what}: smallest other, of LCI-BV(DT): storage",
                other / rooms["lci_bv"],
                1.0,
                at_least=True,
            ),
            Line(
                f"{what}: quickest of the papers, of auto's {chosen}",
                min(times[name] for name in PAPERS) / times["auto"],
            ),
        )
