"""A million rules imported, the first epoch after that, and an epoch after one more rule.

Imported is what `fencepost queries import rules.parquet` reads and registers. The first epoch is
that of a process that has read nothing of the registry yet. Epochs go from the table `ticks` to
every table committed; after some of them one more rule is registered, whose epoch stands beside
those that had none.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow.parquet as pq

from benchmarks.lake_epoch import Evaluated, carried_out
from benchmarks.lake_made import FEED, Bench, land, now
from benchmarks.lake_times import REPEATS, Times, clocked, divided
from benchmarks.report import Line
from fencepost.tuples import TupleBatch
from pipelines.epochs.drive import Lake
from pipelines.lake.store import Store
from pipelines.registry.changes import QueryChanges
from pipelines.registry.commit import Registered, register
from pipelines.registry.query_files import given_one, read_given
from pipelines.workloads import PriceBands, PriceWalks

RULES, TUPLES, WIDTH = 1_000_000, 100_000, 1e-6
PER_SECOND, FIRST, AFTER = 150_000, 3.0, 1.1
WARM = 2
LANDING = "rules-landing"


def rules(bench: Bench) -> list[Line]:
    """Import the rules, then evaluate epochs: by turns with the rules as they were and one more."""
    count = min(RULES, bench.rows // 10)
    lake, (read, write) = imported(bench, count)
    epochs = _Epochs(bench, lake)
    first = epochs.next()
    same, more = [], []
    for turn in range(WARM + REPEATS):
        same.append(epochs.next())
        registered = epochs.register_one(turn)
        assert registered.added == 1
        more.append(epochs.next())
    before, after = Times(tuple(same[WARM:])), Times(tuple(more[WARM:]))
    per_second = count / (read + write)
    divides = f"read {read:.2f}, register {write:.2f}; {count:,} rules"
    tuples = f"{TUPLES:,} tuples, {len(before.runs)} epochs each"
    return [
        Line(
            f"rules imported a second, of {PER_SECOND:,}",
            per_second / PER_SECOND,
            1.0,
            at_least=True,
            facts=f"{per_second / 1e3:.0f} K/s; {divides}",
        ),
        Line(
            f"the first epoch after it, of {FIRST:g} s",
            first[0] / FIRST,
            1.0,
            facts=f"{first[0]:.2f} s; {divided(first[1].seconds)}",
        ),
        Line("the first epoch after it, of one without", first[0] / before.median),
        Line(
            "an epoch after one more rule, of one without",
            after.median / before.median,
            AFTER,
            facts=f"{after} against {before}; {divided(after.middle.seconds)} against "
            f"{divided(before.middle.seconds)}; {tuples}",
        ),
    ]


def imported(bench: Bench, count: int) -> tuple[Lake, tuple[float, float]]:
    """Make a lake and import the rules; what follows has opened the lake anew."""
    file = bench.folder / "rules.parquet"
    pq.write_table(PriceBands(count=count, width=WIDTH).table(), file)
    settings = bench.settings("rules", bench.folder / LANDING)
    store = Store.create(settings.root, settings.tables, buckets=settings.buckets)
    read, given = clocked(lambda: read_given([str(file)], settings.axes, FEED))
    write, registered = clocked(lambda: register(store, settings, QueryChanges(given), now()))
    assert registered.added == count
    fresh = Store.open(settings.root, settings.tables)
    return Lake.of(fresh, settings, bench.runner), (read, write)


@dataclass
class _Epochs:
    """Epochs of as many tuples each, one after the other."""

    bench: Bench
    lake: Lake
    number: int = 0

    @cached_property
    def walks(self) -> TupleBatch:
        """The tuples of all epochs, in order of time."""
        epochs = 1 + 2 * (WARM + REPEATS)
        return PriceWalks(streams=TUPLES, length=epochs, fluctuation=WIDTH / 10).tuples()

    def next(self) -> tuple[float, Evaluated]:
        """Deliver every stream's next tuple, and evaluate them; only that is timed."""
        self.number += 1
        path = self.bench.folder / LANDING / f"{self.number:06d}.parquet"
        own = slice((self.number - 1) * TUPLES, self.number * TUPLES)
        land(path, self.walks.take(np.arange(own.start, own.stop)))
        assert self.bench.take_in(self.lake.store, self.lake.settings).tuples == TUPLES
        seconds, found = carried_out(self.lake)
        assert found.epoch.counts["accepted"] == TUPLES
        return seconds, found

    def register_one(self, turn: int) -> Registered:
        """Register one more rule."""
        store, settings = self.lake.store, self.lake.settings
        rule = {"id": f"one-more-{turn}", "feed": FEED, "where": f"price >= {500_000 + turn}"}
        given = given_one(rule, "one more", settings.axes)
        return register(store, settings, QueryChanges(given), now())
