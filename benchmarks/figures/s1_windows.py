"""S1 §6.4, what composing transitions costs: Tran-Seq by the formula, counted, and against ours.

A town's vehicles and its garages of 30 m, an update each 30 s, t = 3 minutes. S1 has a million
vehicles in part of Seoul and 21 events a second; so accesses are compared with tuples.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.baselines.tran_seq import TranSeq
from benchmarks.baselines.tran_seq.tran_seq import Composed
from benchmarks.figures.figure import Curves, Figure, Panel, Point, Verdict, span
from benchmarks.matches_made import Scale, in_turns
from benchmarks.walks import indexed, laid
from fencepost.crossings import walk
from fencepost.queries import QuerySet
from fencepost.transitions import Crossed, Pending, Transitions, decide
from fencepost.transitions.decide import SHORT_ABSENCE
from pipelines.workloads import Garages, MovingObjects, town

FORMULA, COUNTED = "by the formula", "counted"
TUPLES, TRAN_SEQ, OURS = "tuples read", "Tran-Seq", "Fencepost"
SECOND = 1_000_000


@dataclass(frozen=True)
class Day:
    """The events of some vehicles and garages, in the order of time."""

    crossed: Crossed
    queries: QuerySet
    tuples: int
    seconds: float
    until: int

    @property
    def within(self) -> int:
        """S1's t."""
        return int(self.queries.within[0])

    @property
    def window(self) -> float:
        """Events of one type within t: S1 has as many buckets."""
        return self.within / SECOND * len(self.crossed.ts) / self.seconds / 2

    def by_tran_seq(self) -> Composed:
        """Run the events through the windows."""
        c = self.crossed
        buckets = 1 << max(1, int(np.ceil(np.log2(self.window))))
        return TranSeq(self.within, buckets).compose(c.query, c.stream, c.ts, c.type, self.until)

    def by_neighbours(self) -> Transitions:
        """Decide them as an epoch does."""
        marks = np.array([np.iinfo(np.int64).min // 2, self.until])
        return decide(Pending.empty(self.queries), self.crossed, marks, fast=True)[0]


def day(objects: int, updates: int) -> Day:
    """Drive vehicles about the town."""
    roads = town()
    queries = QuerySet.from_table("locations", ("x", "y"), Garages().table(roads))
    plan = MovingObjects(objects=objects, updates=updates, fast=1.0, speed=False)
    path = laid(plan.tuples(roads))
    found = walk(indexed(queries), path, fast=True).events
    order = np.argsort(path.ts[found.place], kind="stable")
    query, kind, place = (column[order] for column in (found.query, found.type, found.place))
    run = np.searchsorted(path.starts, place, side="right") - 1
    delivery = np.zeros(len(place), np.int32)
    nth = path.nth_of(place)
    crossed = Crossed(query, path.stream[run], path.ts[place], kind, delivery, place, nth)
    until = int(path.ts.max())
    return Day(crossed, queries, len(path), (until - int(path.ts.min())) / SECOND, until)


def windows(scale: Scale) -> Iterator[Point]:
    """Accesses a second, and the time an event, as the vehicles become more."""
    for objects in scale.some((1_000, 2_000, 5_000, 10_000, 20_000)):
        it = day(objects, scale.of(120, 60))
        composed, decided = it.by_tran_seq(), it.by_neighbours()
        counts = [np.bincount(each.kind, minlength=4) for each in (composed, decided)]
        assert np.array_equal(*counts), "Tran-Seq and the neighbours find other transitions"
        events = len(it.crossed.ts)
        paired = np.count_nonzero(composed.kind <= SHORT_ABSENCE) / events
        formula = events / it.seconds * (2 + 1 + 2 * paired + 2)  # as many buckets as the window
        yield Point("a", TUPLES, objects, it.tuples / it.seconds)
        yield Point("a", FORMULA, objects, formula)
        yield Point("a", COUNTED, objects, composed.accesses / it.seconds)
        ways = {TRAN_SEQ: it.by_tran_seq, OURS: it.by_neighbours}
        for name, time in in_turns(ways, scale.repeats).items():
            yield Point("b", name, objects, time / events * 1e9)


def judge(drawn: Curves) -> Verdict:
    """No more accesses than the formula says, and few against the tuples that are read."""
    formula, counted, tuples = (dict(drawn["a"][k]) for k in (FORMULA, COUNTED, TUPLES))
    share = [counted[x] / tuples[x] for x in counted]
    of = [counted[x] / formula[x] for x in counted]
    quick = [y / dict(drawn["b"][OURS])[x] for x, y in drawn["b"][TRAN_SEQ]]
    return Verdict(
        max(of) <= 1 and max(share) < 1,
        f"{span(of)} the formula's accesses, {span([100 * s for s in share], '%')} of the tuples "
        f"read; Tran-Seq takes {span(quick)} our time",
        "The formula counts the worst case of a probe. Ours sorts the events of an epoch once.",
    )


FIGURES = (
    Figure(
        "s1-transitions",
        "S1 §6.4",
        "Transitions: accesses a second",
        "Composing costs λe {2 + (tλe / 2|B| + 2σw) + 2} accesses a second, 126 at 21 events a "
        "second: almost negligible against the 33,300 tuples read.",
        (
            Panel("a", "vehicles", "accesses a second", "xy"),
            Panel("b", "vehicles", "time an event, ns", "x"),
        ),
        windows,
        judge,
    ),
)
