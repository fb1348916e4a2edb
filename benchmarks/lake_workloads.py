"""Epochs of other workloads: more events, two axes, ticks out of order, and many partitions.

Each has a lake of its own, of as many ticks as the first; `lag()` runs over those very ticks.
"""

import json
import statistics
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.lake_decode import written_again
from benchmarks.lake_epoch import (
    Evaluated,
    best_shuffle,
    carried_out,
    evaluated,
    events_here,
    lag,
    line_of,
)
from benchmarks.lake_made import FEED, RARE, Bench, Plane, land
from benchmarks.lake_times import REPEATS, Times, divided, in_turns
from benchmarks.report import Line
from fencepost.times import SECOND
from pipelines.epochs.drive import Lake, chain_of

DENSE_BAR, SQUARES_BAR, LATE_BAR, PARTITIONS_BAR = 0.25, 0.4, 2.0, 1.2
HOURS = 24


def dense(bench: Bench) -> list[Line]:
    """One event for each ten ticks."""
    often = Bench(bench.folder / "dense", bench.rows, fluctuation=10 * RARE)
    return [_beside_lag("one event for each 10 ticks", often, DENSE_BAR)]


def squares(bench: Bench) -> list[Line]:
    """Two axes."""
    plane = Plane(bench.folder / "squares", bench.rows)
    return [_beside_lag("two axes, 10,000 squares", plane, SQUARES_BAR)]


def late(bench: Bench) -> list[Line]:
    """One tick in a hundred comes up to five seconds late, and is waited for."""
    mixed = Bench(bench.folder / "late", bench.rows, lateness=5 * SECOND, astray=0.01)
    _check(mixed)
    ours, theirs = in_turns(
        partial(evaluated, mixed, mixed.lake), partial(evaluated, bench, bench.lake)
    )
    return [_beside("lateness 5 s, 1% out of order, of the first", ours, theirs, LATE_BAR)]


def partitions(bench: Bench) -> list[Line]:
    """As many ticks as 24 hours would have, as 24 epochs of one group, and as one epoch."""
    many = Bench(bench.folder / "partitions", bench.rows * HOURS // 10)
    hours = np.array_split(np.arange(len(many.ticks)), HOURS)
    for hour, rows in enumerate(hours):
        path = many.folder / "landing" / f"2026-01-01T{hour:02}" / "ticks.parquet"
        land(path, many.ticks.take(slice(int(rows[0]), int(rows[-1]) + 1)))
    lakes = [_lake_of(many, name, by_hour) for name, by_hour in (("hours", True), ("one", False))]
    ours, theirs = in_turns(*(partial(evaluated, many, lake) for lake in lakes))
    assert len(ours.middle.epochs) == HOURS
    assert len(theirs.middle.epochs) == 1
    claim = f"{HOURS} partitions in one backfill, of the same ticks as one epoch"
    return [_beside(claim, ours, theirs, PARTITIONS_BAR), _with_heads(lakes[0], theirs)]


def _with_heads(lake: Lake, one: Times[Evaluated]) -> Line:
    """The floor of partitions: one epoch, and every head that they log written by PyArrow alone."""
    (log, *_), store = lake.lane(FEED).logs, lake.store
    generation = chain_of(store, FEED).generation
    files = [file for file in store.files(log.name) if file.least("generation") == generation]
    tasks = [
        json.dumps([str(store.folder(log.name) / file.path) for file in files[k :: 2 * HOURS]])
        for k in range(min(2 * HOURS, len(files)))
    ]
    runs = [sum(map(float, lake.runner.run(written_again, tasks))) for _ in range(REPEATS)]
    spent = statistics.median(runs) / lake.runner.slots
    heads = sum(file.rows for file in files)
    claim = "one epoch and their heads written by PyArrow alone, of one epoch"
    facts = f"{heads:,} heads in {spent:.3g} s, shared evenly by {lake.runner.slots} workers"
    return Line(claim, (one.median + spent) / one.median, facts=facts)


def _lake_of(bench: Bench, name: str, by_hour: bool) -> Lake:
    """Make a lake of the landing folder, whose deliveries are partitions or one."""
    settings = bench.settings(name, bench.folder / "landing")
    feed = replace(settings.feeds[FEED], partition="hour", partition_in_path=by_hour)
    settings = replace(settings, feeds={FEED: feed}, epoch_rows=bench.rows)
    store = bench.make(settings)
    assert bench.take_in(store, settings).tuples == bench.rows
    return Lake.of(store, settings, bench.runner)


def _beside_lag(claim: str, bench: Bench, bar: float) -> Line:
    _check(bench)
    best = best_shuffle(bench)
    ours, theirs = in_turns(partial(evaluated, bench, bench.lake), partial(lag, bench, best))
    return line_of(claim, ours, theirs, best, bar, bench)


def _beside(claim: str, ours: Times[Evaluated], theirs: Times[Evaluated], bar: float) -> Line:
    found = ours.middle.count("entered", "left")
    facts = f"{ours} against {theirs}; {divided(ours.middle.seconds)}; {found:,} events"
    return Line(claim, ours.median / theirs.median, bar, facts=facts)


def _check(bench: Bench) -> None:
    """As many events as one step over the ticks here."""
    _, found = carried_out(bench.lake, again_from=1)
    assert found.count("entered", "left") == events_here(bench)
