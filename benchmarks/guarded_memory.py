"""The peak of memory of an epoch with many events, in a process of its own: MiB above its start.

A smaller lake comes first, so that code and kernels are loaded and their memory is no growth; then
the kernel of the system forgets the peak so far.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.lake_made import AXES, FEED, LENGTH, land, now
from fencepost.queries import QuerySet
from fencepost.times import SECOND
from pipelines.lake.store import Store
from pipelines.project.settings import Feed, Settings
from pipelines.registry.changes import QueryChanges
from pipelines.registry.commit import register
from pipelines.registry.queries import rows_of
from pipelines.runs.run import run
from pipelines.spark.runner import HereRunner
from pipelines.workloads import PriceBands, PriceWalks

QUERIES, FEW, MANY = 20_000, 2_000, 60_000
OFTEN = 5e-4
"""The fluctuation at which a tick crosses twenty borders of 20 K bands."""


def evaluated(folder: Path, ticks: int) -> int:
    """Run over so many ticks; give the events."""
    feed = Feed(FEED, AXES, folder / "landing", settle=0)
    settings = Settings(None, folder / "lake", {FEED: feed})
    store = Store.create(settings.root, settings.tables, buckets=settings.buckets)
    table = PriceBands(count=QUERIES).table()
    half = np.arange(QUERIES) % 2 == 0
    table = table.append_column("within", pa.array(np.full(QUERIES, SECOND), mask=half))
    given = rows_of(QuerySet.from_table(FEED, AXES, table), {})
    register(store, settings, QueryChanges(given, pa.array([], pa.string())), now())
    walks = PriceWalks(streams=ticks // LENGTH, length=LENGTH, fluctuation=OFTEN)
    land(feed.source / "day.parquet", walks.tuples())
    report = run(settings, HereRunner())
    return sum(group.counts[name] for group in report.groups for name in ("entered", "left"))


def resident(what: str) -> float:
    """Give the memory of this process in MiB: VmRSS now, VmHWM at the most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(what))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="fencepost-guard-") as place:
        evaluated(Path(place, "few"), FEW)
        Path("/proc/self/clear_refs").write_text("5")
        before = resident("VmRSS")
        events = evaluated(Path(place, "many"), MANY)
        print(resident("VmHWM") - before, events)
