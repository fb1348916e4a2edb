"""Ten epochs from Delta to Delta, each committed before the next begins: Spark SQL beside us.

Ours goes from the table `ticks` to every table of the lake committed, what Spark writes is events
and the last value of each stream. Both work in one Spark session of as many cores, in turns, and
both are warm. Every event is compared before a time is taken.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from benchmarks.lake_epoch import carried_out
from benchmarks.lake_made import FEED, Bench, land
from benchmarks.lake_times import clocked, divided, in_turns
from benchmarks.matches_made import Scale
from benchmarks.peers.pipeline_spark import Form, SparkPipeline, cell_of
from benchmarks.report import Line
from fencepost.queries import QuerySet
from pipelines.epochs.drive import Lake, chain_of
from pipelines.epochs.partitions import rows_of
from pipelines.planning.plan import Limits
from pipelines.workloads import PriceBands

BAR = 5.0
SETTINGS: tuple[dict[str, object], ...] = (
    {"together": True},
    {"hint": "shuffle_hash"},
    {"kept": True},
    {"adaptive": True},
    {"partitions": 4},
)
"""Tried by themselves, one after the other; each that helps is kept."""
BORDERS = (1.0, 4.0, 16.0)
"""Borders in a cell, in the mean: the sizes of cells that are tried."""
MOST_PAIRS = 2e9
"""Pairs of a step and a band in an epoch that a range join is tried with: it looks at all."""
S1_FLUCTUATION = 1e-4
KEY = ("stream_id", "query_id", "ts", "type")


@dataclass(frozen=True)
class Epochs(Bench):
    """Ticks in as many files as epochs, each with the next ones of every stream."""

    bands: int = 100_000
    epochs: int = 10

    @cached_property
    def queries(self) -> QuerySet:
        """The bands."""
        return QuerySet.from_table(FEED, self.axes, PriceBands(count=self.bands).table())

    @cached_property
    def landed(self) -> list[Path]:
        """The deliveries, in the order of time."""
        folder = self.folder / "landing"
        rows = np.array_split(np.arange(self.rows), self.epochs)
        files = [folder / f"{n:02}.parquet" for n in range(self.epochs)]
        ticks = self.ticks
        for file, own in zip(files, rows, strict=True):
            land(file, ticks.take(slice(int(own[0]), int(own[-1]) + 1)))
        return files

    @cached_property
    def lake(self) -> Lake:
        """A lake with the bands and all deliveries, each an epoch of its own."""
        settings = self.settings("lake", self.landed[0].parent)
        store = self.make(settings)
        assert self.take_in(store, settings).tuples == self.rows
        lake = Lake.of(store, settings, self.runner)
        return replace(lake, limits=Limits(epoch_deliveries=1, group=1))


def rarely(scale: Scale) -> Iterator[Line]:
    """A crossing in a hundred ticks among 100 K bands."""
    made = partial(Epochs, rows=scale.of(10_000_000, 20_000))
    yield from _beside("ten epochs, 100 K bands", made, scale)


def often(scale: Scale) -> Iterator[Line]:
    """S1's bands and steps: two crossings a tick."""
    bands, rows = scale.of(10_000, 500), scale.of(1_000_000, 20_000)
    made = partial(Epochs, rows=rows, fluctuation=S1_FLUCTUATION, bands=bands)
    yield from _beside("ten epochs, S1's 10 K bands", made, scale)


def _beside(what: str, made: Callable[..., Epochs], scale: Scale) -> Iterator[Line]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        yield from _raced(what, made(Path(folder), epochs=scale.of(10, 3)), scale)


def _raced(what: str, bench: Epochs, scale: Scale) -> Iterator[Line]:
    peer = SparkPipeline(bench.spark, bench.folder / "spark", bench.landed, bench.queries)
    pairs = bench.rows / bench.epochs * bench.bands
    best = _best_form(peer, bench, scale)
    _ours(bench)  # the workers load and index
    race = partial(_ours, bench), partial(_theirs, peer, best, bench.epochs)
    ours, theirs = in_turns(*race, warm=0, repeats=scale.repeats)
    found = _compared(peer, bench.lake)
    facts = f"{ours} against {theirs}, {best}; {divided(ours.middle)}; "
    facts += f"{bench.rows:,} ticks, {found:,} equal events"
    claim = f"{what}: Spark SQL, cells of borders, of ours"
    yield Line(claim, theirs.median / ours.median, BAR, at_least=True, facts=facts)
    claim = f"{what}: Spark SQL, a range join, of ours"
    if pairs > MOST_PAIRS:
        yield Line(claim, None, facts=f"passed over: it looks at {pairs:,.0f} pairs an epoch")
        return
    plain = replace(best, cell=None)
    took, _ = _theirs(peer, plain, bench.epochs)
    assert _compared(peer, bench.lake) == found
    yield Line(claim, took / ours.median, facts=f"{took:.3g} s, once; {plain}")


def _ours(bench: Epochs) -> tuple[float, dict[str, float]]:
    """Evaluate every delivery again, one epoch after the other; say how the time divides."""
    took, seconds, begun = 0.0, dict[str, float](), chain_of(bench.lake.store, FEED).epochs
    for n in range(bench.epochs):
        each, found = carried_out(bench.lake, again_from=1 if n == 0 and begun else None)
        took += each
        seconds = {name: seconds.get(name, 0.0) + spent for name, spent in found.seconds.items()}
    return took, seconds


def _theirs(peer: SparkPipeline, form: Form, epochs: int) -> tuple[float, float]:
    """Let Spark evaluate the deliveries; the seconds of all, and of the last."""
    with peer.prepared(form):
        each = [clocked(partial(peer.epoch, n, form))[0] for n in range(1, epochs + 1)]
    return sum(each), each[-1]


def _best_form(peer: SparkPipeline, bench: Epochs, scale: Scale) -> Form:
    """Search by the second epoch, setting by setting."""
    best = Form(cell_of(bench.queries, BORDERS[0]))
    _theirs(peer, best, 2)  # Java compiles
    least = _theirs(peer, best, 2)[1]
    cells = tuple({"cell": cell_of(bench.queries, borders)} for borders in BORDERS[1:])
    for change in scale.some((*SETTINGS, *cells), 2):
        tried = replace(best, **change)  # type: ignore[arg-type]
        took = _theirs(peer, tried, 2)[1]
        if took < least:
            best, least = tried, took
    return best


def _compared(peer: SparkPipeline, lake: Lake) -> int:
    """Compare every event; how many there are."""
    chain = chain_of(lake.store, FEED)
    ours = rows_of(lake, "events", chain, chain.epochs).select(KEY)
    theirs = peer.found().select(*KEY).toArrow().cast(ours.schema)
    order = [(name, "ascending") for name in KEY]
    assert ours.sort_by(order).equals(theirs.sort_by(order)), "the events differ"
    return len(ours)
