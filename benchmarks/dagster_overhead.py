"""What Dagster adds to a partition: the same work by the bare pipeline functions, and as a run.

`python -m benchmarks.dagster_overhead` does it in this process, `--spark` with Spark; `--rows N`
takes another number of ticks than 300,000. Every turn begins with a lake of its own, into which one
file has landed; a turn that is not counted comes first. The counts of all ways must be equal before
times count. The start of a run's process, and the loading of the definitions, are not in it.

The floor of a run with checks is the same run with checks that look at nothing: Dagster plans each,
takes its output and records its evaluation.
"""

import argparse
import logging
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import dagster as dg
import pyarrow as pa

from assets.definitions import definitions
from assets.evaluations import Recorded, evaluations
from benchmarks.lake_made import land, now
from benchmarks.lake_times import Times
from benchmarks.report import Line, show
from fencepost.queries import QuerySet
from pipelines.epochs.accounts import accounts
from pipelines.epochs.partitions import partitions
from pipelines.lake.store import Store
from pipelines.project.settings import Feed, Settings
from pipelines.registry.changes import QueryChanges
from pipelines.registry.commit import register
from pipelines.registry.queries import rows_of
from pipelines.runs.run import runner_of, take_in, writing
from pipelines.workloads import PriceBands, PriceWalks

FEED, AXES, KEY = "ticks", ("price",), "2026-01-05T00"
STEPS = (f"arrivals_of_{FEED}", f"crossings_of_{FEED}")
LENGTH, BANDS, TURNS = 100, 2_000, 3
BARS = {"a run": 1.3, "a run with its checks": 3.0}
"""A run takes at most so many times what the bare functions take."""

Counts = Mapping[str, int]
Work = Callable[[], object]
Way = Callable[[Settings, dg.DagsterInstance], Work]
"""Loads what there is to load, and gives what is to be timed."""


@dataclass(frozen=True)
class Template:
    """A lake with queries and a delivery that is not loaded yet."""

    folder: Path
    settings: Settings

    @classmethod
    def made(cls, folder: Path, rows: int, runner: str) -> "Template":
        """Make the lake, and let the ticks land."""
        feed = Feed(
            FEED,
            AXES,
            folder / "template" / "landing",
            settle=0,
            partition="hour",
            partition_in_path=True,
            partitions_from=KEY,
        )
        settings = Settings(None, folder / "template" / "lake", {FEED: feed}, runner=runner)
        walks = PriceWalks(streams=max(rows // LENGTH, 1), length=LENGTH)
        land(feed.source / f"{KEY}.parquet", walks.tuples())
        store = Store.create(settings.root, settings.tables, buckets=settings.buckets)
        given = rows_of(QuerySet.from_table(FEED, AXES, PriceBands(count=BANDS).table()), {})
        register(store, settings, QueryChanges(given, pa.array([], pa.string())), now())
        return cls(folder, settings)

    def copied(self, name: str) -> Settings:
        """Copy the template lake, with its landing folder."""
        target = Path(shutil.copytree(self.folder / "template", self.folder / name))
        feed = replace(self.settings.feeds[FEED], source=target / "landing")
        return replace(self.settings, root=target / "lake", feeds={FEED: feed})


def bare(settings: Settings, _: dg.DagsterInstance) -> Work:
    """Load and evaluate with the pipeline's functions."""

    def work() -> None:
        with writing(settings, "bench", runner_of(settings, quick=True)) as (lake, _):
            take_in(lake.store, settings, lake.runner)
            for report in partitions(lake, lake.lane(FEED), [KEY]):
                assert report.changed

    return work


def as_run(settings: Settings, instance: dg.DagsterInstance) -> Work:
    """Materialise both steps, without checks."""
    loaded = definitions(settings)
    steps = [
        each
        for each in loaded.assets or ()
        if isinstance(each, dg.AssetsDefinition) and each.node_def.name in STEPS
    ]
    job = dg.Definitions(
        assets=steps, resources=loaded.resources, executor=dg.in_process_executor
    ).resolve_implicit_global_asset_job_def()
    return lambda: job.execute_in_process(partition_key=KEY, instance=instance)


def with_checks(settings: Settings, instance: dg.DagsterInstance) -> Work:
    """Execute the feed's job, as a sensor would request it."""
    job = definitions(settings).resolve_job_def(f"evaluate_{FEED}")
    return lambda: job.execute_in_process(partition_key=KEY, instance=instance)


def with_empty_checks(settings: Settings, instance: dg.DagsterInstance) -> Work:
    """Execute the same job with checks that look at nothing."""
    loaded = definitions(settings)
    checks = [each for each in loaded.asset_checks or () if isinstance(each, dg.AssetsDefinition)]
    job = dg.Definitions(
        assets=loaded.assets,
        asset_checks=[_empty(each) for each in checks],
        jobs=loaded.jobs,
        resources=loaded.resources,
        executor=dg.in_process_executor,
    ).resolve_job_def(f"evaluate_{FEED}")
    return lambda: job.execute_in_process(partition_key=KEY, instance=instance)


def _empty(checks: dg.AssetsDefinition) -> dg.AssetChecksDefinition:
    @dg.multi_asset_check(
        name=checks.node_def.name, specs=list(checks.check_specs), can_subset=True
    )
    def pass_all(context: dg.AssetCheckExecutionContext) -> Iterator[Recorded]:
        passed = dg.AssetCheckResult(passed=True)
        results = ((each, passed) for each in context.selected_asset_check_keys)
        yield from evaluations(context, list(checks.check_specs), results)

    return pass_all


WAYS: dict[str, Way] = {
    "bare functions": bare,
    "a run": as_run,
    "a run with checks that look at nothing": with_empty_checks,
    "a run with its checks": with_checks,
}


def taken(
    template: Template,
    ways: Mapping[str, Way],
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Times[Counts]]:
    """Time the ways in turns, and require the same counts."""
    numbers = count()
    times: dict[str, list[tuple[float, Counts]]] = {name: [] for name in ways}
    for _ in range(1 + TURNS):
        for name, way in ways.items():
            settings = template.copied(f"turn-{next(numbers)}")
            history = settings.root.parent / "history"
            history.mkdir()
            work = way(settings, dg.DagsterInstance.ephemeral(tempdir=str(history)))
            began = clock()
            work()
            times[name].append((clock() - began, counts_of(settings)))
            shutil.rmtree(settings.root.parent)
    counts = {tuple(sorted(found.items())) for runs in times.values() for _, found in runs}
    assert len(counts) == 1, counts
    return {name: Times(tuple(runs[1:])) for name, runs in times.items()}


def lines_of(times: Mapping[str, Times[Counts]]) -> list[Line]:
    """Compare their times with those of the bare functions."""
    least = times["bare functions"].median
    return [
        Line(name, each.median / least, BARS.get(name), facts=str(each))
        for name, each in times.items()
    ]


def counts_of(settings: Settings) -> Counts:
    """Count the rows in the lake: accepted, crossings, rejected."""
    store = Store.open(settings.root, settings.tables)
    return accounts(store, FEED)[KEY].counts


def main(arguments: list[str]) -> int:
    """Print what it costs; 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--rows", type=int, default=300_000, metavar="N")
    parser.add_argument("--spark", action="store_true")
    asked = parser.parse_args(arguments)
    logging.disable(logging.INFO)
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as folder:
        runner = "spark" if asked.spark else "here"
        lines = lines_of(taken(Template.made(Path(folder), asked.rows, runner), WAYS))
    show(f"One partition of {asked.rows:,} ticks, {runner}", lines)
    return 0 if all(line.met is not False for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
