"""What the lake's benchmarks work on: ticks in a landing folder, bands, a lake, a Spark session.

A lake is made by the lake's own code: queries registered, files loaded by `ingest`. Nothing is
made before a section needs it.
"""

import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fencepost.queries import QuerySet
from fencepost.tuples import TupleBatch
from pipelines import ingest
from pipelines.epochs.drive import Lake
from pipelines.ingest import IngestReport
from pipelines.lake.store import Store
from pipelines.project.settings import Feed, Settings
from pipelines.registry.changes import QueryChanges
from pipelines.registry.commit import register
from pipelines.registry.queries import rows_of
from pipelines.spark.runner import Runner, SparkRunner
from pipelines.spark.session import spark
from pipelines.workloads import PriceBands, PriceWalks, Squares

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEED, AXES = "ticks", ("price",)
QUERIES, LENGTH = 100_000, 100
RARE = 5e-8
"""The fluctuation at which one tuple in a hundred crosses a border of 100 K bands."""
ROW_GROUP = 1 << 20


@dataclass(frozen=True)
class Bench:
    """One run of the benchmarks: where it may write, and how many ticks it loads.

    fluctuation  how far a tick is from the one before: at RARE one in a hundred crosses a border
    lateness     how long tuples wait for earlier ones, in µs
    astray       the share of the ticks that come later than others, by up to `lateness`
    """

    folder: Path
    rows: int = 10_000_000
    fluctuation: float = RARE
    lateness: int = 0
    astray: float = 0.0

    axes: ClassVar[tuple[str, ...]] = AXES

    @property
    def spark(self) -> "SparkSession":
        """The session that both sides share: C2, as for long jobs."""
        return spark(quick=False)

    @cached_property
    def runner(self) -> Runner:
        """The runner of our side: tasks of that session."""
        return SparkRunner(lambda: self.spark)

    @property
    def streams(self) -> int:
        """How many streams the ticks are of."""
        return self.rows // LENGTH

    @cached_property
    def queries(self) -> QuerySet:
        """The standing queries."""
        return QuerySet.from_table(FEED, AXES, PriceBands(count=QUERIES).table())

    @property
    def ticks(self) -> TupleBatch:
        """The ticks: every stream takes a step each second."""
        ticks = PriceWalks(
            streams=self.streams,
            length=LENGTH,
            fluctuation=self.fluctuation,
            dimensions=len(self.axes),
        ).tuples()
        if not self.astray:
            return ticks
        draws = np.random.default_rng(1)
        delay = draws.integers(0, self.lateness, len(ticks))
        delay[draws.random(len(ticks)) >= self.astray] = 0
        return ticks.take(np.argsort(ticks.ts + delay, kind="stable"))

    @cached_property
    def landing(self) -> Path:
        """A landing folder with the ticks in one file of Parquet."""
        folder = self.folder / "landing"
        land(folder / "day.parquet", self.ticks)
        return folder

    def settings(self, name: str, landing: Path, read_path: str = "files") -> Settings:
        """Declare a lake that takes its ticks from a landing folder."""
        feed = Feed(FEED, self.axes, landing, settle=0, allowed_lateness=self.lateness)
        return Settings(None, self.folder / name, {FEED: feed}, read_path=read_path)

    def make(self, settings: Settings) -> Store:
        """Make a lake with the queries and no tuples."""
        store = Store.create(settings.root, settings.tables, buckets=settings.buckets)
        given = rows_of(self.queries, {})
        register(store, settings, QueryChanges(given, pa.array([], pa.string())), now())
        return store

    def take_in(self, store: Store, settings: Settings) -> IngestReport:
        """Load what has landed."""
        report = ingest.ingest(store, settings, self.runner, now())
        assert not report.refused, report.refused
        return report

    @cached_property
    def lake(self) -> Lake:
        """A lake with the queries and all ticks, of which none was evaluated."""
        settings = self.settings("lake", self.landing)
        store = self.make(settings)
        assert self.take_in(store, settings).tuples == self.rows
        return Lake.of(store, settings, self.runner)


@dataclass(frozen=True)
class Plane(Bench):
    """Ticks of two axes among ten thousand squares, of which one holds at a place in the mean.

    At the default fluctuation one tuple in a hundred crosses the border of a square.
    """

    fluctuation: float = 2.5e-5

    axes: ClassVar[tuple[str, ...]] = ("a0", "a1")

    @cached_property
    def queries(self) -> QuerySet:
        """The squares."""
        walks = PriceWalks(dimensions=2)
        squares = Squares(
            count=10_000, width=walks.domain / 100, centres="uniform", extent=walks.domain
        ).table()
        ends = [f"{axis}_{end}" for axis in self.axes for end in ("lo", "hi")]
        names = dict(zip(("x_lo", "x_hi", "y_lo", "y_hi"), ends, strict=True))
        table = squares.rename_columns([names.get(name, name) for name in squares.column_names])
        return QuerySet.from_table(FEED, self.axes, table)


def land(path: Path, batch: TupleBatch) -> None:
    """Write tuples as a delivery."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ids = pa.DictionaryArray.from_arrays(batch.stream, batch.names).cast(pa.string())
    columns = {
        "stream_id": ids,
        "ts": pa.array(batch.ts).view(pa.timestamp("us", "UTC")),
        **dict(zip(batch.axes, map(pa.array, batch.values), strict=True)),
    }
    pq.write_table(pa.table(columns), path, row_group_size=ROW_GROUP)


def now() -> int:
    """Give the time in µs."""
    return time.time_ns() // 1000
