"""A line of each table of the benchmarks, at sizes that take seconds: what `make bench-guard` runs.

A line is its section's own, by the same code over less; a claim begins with the name of its
section, so that a section can be run again.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks import (
    joins_near,
    joins_windows,
    lake_ingest,
    lake_rules,
    matches_auto,
    matches_crossings,
)
from benchmarks.lake_epoch import evaluated
from benchmarks.lake_made import AXES, FEED, Bench
from benchmarks.lake_micro import Batches
from benchmarks.lake_times import REPEATS
from benchmarks.matches_made import Scale
from benchmarks.report import Line, show
from benchmarks.walks import bands, indexed, laid, walks
from fencepost.crossings import BorderIndex, expand, walk
from fencepost.engine import step
from fencepost.queries import QuerySet
from fencepost.state import FeedState
from pipelines.lake.store import Store
from pipelines.spark.runner import HereRunner, Runner
from pipelines.workloads import MovingObjects, PriceBands, PriceWalks, Squares, town

Section = Callable[[], Iterable[Line]]
ROWS = 300_000
RULES = ROWS // 10
"""Ticks of the lake's sections, and rules."""


def least(work: Callable[[], object], repeats: int = 9) -> float:
    """Take the least time of the processor, in seconds: others on the machine only add to it."""
    work()
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def steps() -> Iterable[Line]:
    """A step with the state carried, of the walk alone; one event per hundred tuples."""
    ticks = PriceWalks(streams=5_000, length=120, fluctuation=5e-8).tuples()
    index, half = indexed(bands(100_000)), len(ticks) // 2
    first, then = (ticks.take(np.arange(a, a + half)) for a in (0, half))
    state = step(FeedState.empty("ticks", ("price",)), first, index, deliveries=1).state
    path = laid(then)
    whole = least(lambda: step(state, then, index, deliveries=1))
    alone = least(lambda: walk(index, path, fast=True).events)
    facts = f"{whole / half * 1e9:.0f} ns a tuple against {alone / half * 1e9:.0f}"
    yield Line("a step in order of time, of its kernels alone", whole / alone, 3.0, facts=facts)


def one_axis() -> Iterable[Line]:
    """S1's default, W = FL, and streams that hardly move."""
    path, index = walks(streams=500), indexed(bands(100_000))
    walked = walk(index, path, fast=True)
    rows = [np.zeros_like(column) for column in walked.events]
    both = least(lambda: walk(index, path, fast=True).events)
    fill = least(lambda: [column.fill(1) for column in rows])
    yield Line("S1 default, both passes, of a NumPy fill", both / fill, 4.0)
    narrow = indexed(bands(100_000, 1e-4))
    per = least(lambda: walk(narrow, path, fast=True).events)
    per /= walk(narrow, path, fast=True).passed
    yield Line("W = FL, time a post passed, of the default's", per / (both / walked.passed), 1.3)
    still = walks(streams=500, fl=1e-7)
    borders = np.sort(np.concatenate([index.queries.lo[0], index.queries.hi[0]]))
    search = least(lambda: np.searchsorted(borders, still.values[0], "right"))
    mine = least(lambda: walk(index, still, fast=True))
    yield Line("sparse, np.searchsorted, of the first pass", search / mine, 5.0, at_least=True)


def axes() -> Iterable[Line]:
    """Moving objects among squares, and three axes."""
    path, index = walks(streams=500), indexed(bands(100_000))
    events = len(walk(index, path, fast=True).events.place)
    base = least(lambda: walk(index, path, fast=True).events) / events
    squares = Squares(count=10_000, width=1_000.0).table()
    among = indexed(QuerySet.from_table("locations", ("x", "y"), squares))
    moves = laid(MovingObjects(objects=300, updates=100, fast=1.0, speed=False).tuples(town()))
    found = walk(among, moves, fast=True)
    events = len(found.events.place)
    each = least(lambda: walk(among, moves, fast=True).events) / events
    yield Line("2-D, time an event, of the 1-D default", each / base, 3.0)
    yield Line("2-D, candidates an event", expand.examined(found) / events, 1.3)
    times = []
    for d in (1, 3):
        path, index = walks(100, 400, 1e-3, d), indexed(bands(10_000, 1e-3, d))
        times.append(least(lambda: walk(index, path, fast=True).events))  # noqa: B023
    yield Line("d = 3, time, of d = 1", times[1] / times[0], 3.5)


def building() -> Iterable[Line]:
    """An index of 200 K, and a thousand more."""
    queries = bands(200_000)
    index = indexed(queries)
    table = PriceBands(count=1_000, seed=7).table()
    ids = [f"new-{k}" for k in range(1_000)]
    table = table.set_column(table.column_names.index("id"), "id", [ids])
    more = QuerySet.from_table("ticks", ("price",), table)
    borders = np.concatenate([queries.lo[0], queries.hi[0]])
    sort = least(lambda: np.argsort(borders))
    build = least(lambda: BorderIndex.build(queries))
    yield Line("an index built, of np.argsort of its borders", build / sort, 6.0)
    grow = least(lambda: index.with_added(more))
    anew = least(lambda: BorderIndex.build(queries.with_added(more)))
    yield Line("an index anew, of adding 1,000", anew / grow, 10.0, at_least=True)


def near() -> Iterable[Line]:
    """Near joins kept up, of a sort of as many numbers."""
    updates = 100_000
    moved = min(each[1] for each in joins_near.kept_up(20_000, updates))
    numbers = np.random.default_rng(17).random(updates)
    sort = least(lambda: np.argsort(numbers))
    facts = f"{moved / updates * 1e9:.0f} ns a move"
    yield Line("moves of a near join, of np.argsort of as many", moved / sort, 10.0, facts=facts)


def _small(section: Callable[[Scale], Iterable[Line]], word: str = "") -> Section:
    """Run a section at its smallest; of its lines those with a word in the claim."""
    return lambda: (line for line in section(Scale(quick=True)) if word in line.claim)


class Alone(Bench):
    """The lake's benchmarks in this process: no JVM is waited for, and no session shared."""

    @cached_property
    def runner(self) -> Runner:
        """The runner of this process."""
        return HereRunner()


def lines() -> Iterable[Line]:
    """CSV and JSON lines loaded, of DuckDB's copy of them to Parquet."""
    with tempfile.TemporaryDirectory(prefix="fencepost-guard-") as folder:
        bench = Alone(Path(folder), ROWS)
        for form in lake_ingest.FORMS[1:]:
            landing = lake_ingest.landing_of(bench, form)
            load = min(_loading(bench, landing, turn) for turn in range(1 + REPEATS))
            copy = least(partial(lake_ingest.copied, bench, landing, form), REPEATS)
            facts = f"{load / ROWS * 1e9:.0f} ns a row"
            yield Line(f"{form.name} loaded, of DuckDB's copy", load / copy, 1.5, facts=facts)


def _loading(bench: Bench, landing: Path, turn: int) -> float:
    """Load what has landed into a lake without queries."""
    settings = bench.settings(f"{landing.name}-{turn}", landing)
    store = Store.create(settings.root, settings.tables, buckets=settings.buckets)
    begin = time.process_time()
    assert bench.take_in(store, settings).tuples == bench.rows
    return time.process_time() - begin


def rules() -> Iterable[Line]:
    """Rules imported, of PyArrow copying their file; and the epochs after that."""
    with tempfile.TemporaryDirectory(prefix="fencepost-guard-") as folder:
        bench = Alone(Path(folder), ROWS)
        file = bench.folder / "rules.parquet"
        begin = time.process_time()
        lake_rules.imported(bench, RULES)
        took = time.process_time() - begin
        copy = least(lambda: pq.write_table(pq.read_table(file), bench.folder / "copy"))
        yield Line("rules imported, of PyArrow copying their file", took / copy, 20.0)
    with tempfile.TemporaryDirectory(prefix="fencepost-guard-") as folder:
        *_, first, one_more = lake_rules.rules(Alone(Path(folder), ROWS))
        yield replace(first, bar=3.0)
        yield one_more


def memory() -> Iterable[Line]:
    """The memory of an epoch with many events, above that of one with few."""
    command = [sys.executable, "-m", "benchmarks.guarded_memory"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    above, events = ran.stdout.split()
    facts = f"{float(above):.0f} MiB; {int(events):,} events"
    yield Line(
        "peak of an epoch with many events, of 256 MiB", float(above) / 256, 1.0, facts=facts
    )


def lake() -> Iterable[Line]:
    """Ingest, an epoch and a micro-batch, of what PyArrow takes for the bare columns."""
    with tempfile.TemporaryDirectory(prefix="fencepost-guard-") as folder:
        bench = Alone(Path(folder), ROWS)
        landed = next(iter(bench.landing.iterdir()))
        copy = least(lambda: pq.write_table(pq.read_table(landed), bench.folder / "copy"))
        begin = time.process_time()
        lake = bench.lake
        took = time.process_time() - begin
        yield Line("ingest of Parquet and its lake, of a copy by PyArrow", took / copy, 50.0)
        files = [lake.store.folder(FEED) / file.path for file in lake.store.files(FEED)]
        columns = ["stream_id", "ts", *AXES, "arrival", "file", "line"]
        read = least(lambda: [pq.ParquetFile(file).read(columns) for file in files])
        whole = least(lambda: evaluated(bench, lake), REPEATS)
        facts = f"{whole / ROWS * 1e9:.0f} ns a tuple"
        yield Line("an epoch, of PyArrow's decode", whole / read, 5.0, facts=facts)
        batches = Batches.begun(bench, "batches")
        one = least(batches.next, 20)
        rows = pq.read_table(landed).slice(0, 1_000)
        append = least(lambda: pq.write_table(rows, bench.folder / "copy"))
        yield Line(
            "1,000 tuples loaded and evaluated, of PyArrow writing as many", one / append, 100.0
        )
        alone = min(batches.next()[0] for _ in range(20))
        yield Line("1,000 tuples evaluated alone, of the same", alone / append, 50.0)


SECTIONS: dict[str, Section] = {
    "step": steps,
    "one axis": one_axis,
    "axes": axes,
    "index": building,
    "auto": _small(matches_auto.sweep, "mean"),
    "crossings": _small(matches_crossings.by_fluctuation, "mean"),
    "windows": _small(joins_windows.against_trees),
    "near": near,
    "lake": lake,
    "lines": lines,
    "rules": rules,
    "memory": memory,
}


def main(wanted: list[str]) -> None:
    """Print the lines that have a bar."""
    for name in wanted or SECTIONS:
        lines = [replace(line, claim=f"{name}: {line.claim.strip()}") for line in SECTIONS[name]()]
        show(name, [line for line in lines if line.bar is not None])


if __name__ == "__main__":
    main(sys.argv[1:])
