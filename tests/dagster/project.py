"""A project small enough for every test to have its own, driven as Dagster drives it.

Law: a project is copied from one that was made once, and its history is in memory; so nothing that
a test does is there in the next.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg

from assets.definitions import definitions
from assets.partitions import range_tags
from assets.resources import LakeAccess
from pipelines.epochs.accounts import Account, accounts
from pipelines.lake.crash_points import on_point
from pipelines.lake.store import Store
from pipelines.project.settings import Settings, load
from pipelines.project.templates import FOR_DAGSTER, content
from pipelines.registry.commit import put
from pipelines.registry.query_files import read_given, rule_files
from pipelines.runs.run import RunReport, run
from pipelines.spark.runner import HereRunner
from tests.support.lakes.on_disk import on_disk

TOML = """\
[lake]
path = "lake"
queries = "rules"
buckets = 2
group = 2

[run]
runner = "{runner}"

[feeds.ticks]
axes = ["price", "volume"]
source = "landing/ticks"
settle = "0s"
partition = "hour"
partition_in_path = true
partitions_from = "2026-01-05"
owners = ["team:market-data"]
allowed_lateness = "1m"
ties = "first"

[feeds.locations]
axes = ["x", "y"]
position = ["x", "y"]
source = "landing/locations"
settle = "0s"
partition = "day"
partition_in_path = true
partitions_from = "2026-01-05"
fresh_within = "26h"
"""
RULES = """\
{"id": "low", "feed": "ticks", "where": "price < 3", "within": "2m"}
{"id": "middle", "feed": "ticks", "where": "price >= 3 AND price < 6", "on_first": "enter"}
{"id": "thin", "feed": "ticks", "kind": "match", "where": "price <= volume"}
{"id": "east", "feed": "locations", "where": "x >= 4", "within": "10m"}
"""
EVALUATED = ("stream_state", "events", "transitions", "matches", "leaps", "pending")
JOINED = ("set_members", "live_windows", "pairs", "band_changes", "near_changes")
"""The assets of what epochs write, of a feed and of a pair of feeds."""

JOINED_TOML = """\
[lake]
path = "lake"
queries = "rules"
joins = ["bids~asks"]
group = 2

[run]
runner = "{runner}"

[feeds.bids]
axes = ["price"]
source = "landing/bids"
settle = "0s"
partition = "hour"
partition_in_path = true
partitions_from = "2026-01-05"
owners = ["team:bids"]

[feeds.asks]
axes = ["price", "volume"]
source = "landing/asks"
settle = "0s"
partition = "hour"
partition_in_path = true
partitions_from = "2026-01-05"
owners = ["team:asks", "team:bids"]
"""
JOINED_RULES = """\
{"id": "low", "feed": "bids", "where": "price < 3"}
{"id": "near", "kind": "window_join", "left": "bids", "right": "asks", \
"on": "left.price >= right.price", "window": "2m"}
{"id": "spread", "kind": "band_join", "left": "bids.price", "right": "asks.price", \
"between": [-1, 1]}
"""
DAY = "2026-01-05"
LONG_AGO = 1_767_700_000
"""When every file landed, in seconds: 2026-01-06."""


class Crash(Exception):
    """Something that nobody foresaw; it is an error and no end of the process."""


def hours(first: int, last: int) -> list[str]:
    """Name hours of the day, both ends among them."""
    return [f"{DAY}T{hour:02d}" for hour in range(first, last + 1)]


def at(hour: int) -> str:
    """Name an hour of the day."""
    return hours(hour, hour)[0]


def made(
    folder: Path, runner: str = "here", more: str = "", toml: str = TOML, rules: str = RULES
) -> Path:
    """Make a project with an empty lake and rules that nobody has registered."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "fencepost.toml").write_text(toml.format(runner=runner) + more)
    for name in FOR_DAGSTER:
        (folder / name).write_text(content(name))
    (folder / "rules").mkdir()
    (folder / "rules" / "bands.jsonl").write_text(rules)
    settings = load(folder)
    for feed in settings.feeds.values():
        feed.source.mkdir(parents=True)
    Store.create(settings.root, settings.tables, buckets=settings.buckets)
    return folder


def with_rules(folder: Path) -> Path:
    """Register the rules."""
    settings = load(folder)
    files = [str(path) for path in rule_files(settings)]
    put(settings, "test", read_given(files, settings.axes, None))
    return folder


@dataclass
class Project:
    """A project, and what Dagster knows of it."""

    folder: Path

    @classmethod
    def copied(cls, template: Path, folder: Path) -> "Project":
        """Copy a project that was made once."""
        return cls(Path(shutil.copytree(template, folder)))

    @cached_property
    def instance(self) -> dg.DagsterInstance:
        """Dagster's history, in memory; logs go beside the project."""
        return dg.DagsterInstance.ephemeral(tempdir=str(self.folder.parent))

    @cached_property
    def settings(self) -> Settings:
        """What was declared."""
        return load(self.folder)

    @cached_property
    def definitions(self) -> dg.Definitions:
        """What Dagster loads."""
        return definitions(self.settings)

    @property
    def lake(self) -> LakeAccess:
        """A lake as a new process opens it."""
        return LakeAccess(self.settings)

    def land(self, key: str, name: str = "", feed: str = "ticks", seed: int = 0) -> Path:
        """Let a file land for a partition; its rows follow from its name."""
        path = on_disk(self.settings.feeds[feed].source) / f"{key}{name}.csv"
        path.write_text("".join(_lines(self.settings.axes[feed], key, len(name) + seed)))
        os.utime(path, (LONG_AGO, LONG_AGO))
        return path

    def land_all(self, keys: Iterable[str], feed: str = "ticks") -> None:
        """Let a file land for each partition."""
        for key in keys:
            self.land(key, feed=feed)

    def make(
        self, *keys: str, feed: str = "ticks", again: bool = False, fails: bool = False
    ) -> dg.ExecuteInProcessResult:
        """Materialise a feed's steps for one partition, or for the range from first to last."""
        config = {"ops": {f"crossings_of_{feed}": {"config": {"again": again}}}}
        result = dg.materialize(
            [self.assets(f"arrivals_of_{feed}"), self.assets(f"crossings_of_{feed}")],
            partition_key=keys[0] if len(keys) == 1 else None,
            tags=None if len(keys) == 1 else range_tags(keys[0], keys[-1]),
            run_config=config,
            instance=self.instance,
            resources={"lake": self.lake},
            raise_on_error=not fails,
        )
        assert result.success is not fails
        return result

    def assets(self, step: str) -> dg.AssetsDefinition:
        """Give the assets of a step."""
        for each in self.definitions.assets or ():
            if isinstance(each, dg.AssetsDefinition) and each.node_def.name == step:
                return each
        raise LookupError(step)

    def job(self, name: str, **how: Any) -> dg.ExecuteInProcessResult:
        """Execute a job as it is defined, its checks and all."""
        return self.definitions.resolve_job_def(name).execute_in_process(
            instance=self.instance, **how
        )

    def tick(self, sensor: str, cursor: str | None = None) -> Any:
        """Let a sensor tick once."""
        context = dg.build_sensor_context(
            self.instance,
            cursor=cursor,
            definitions=self.definitions,
            resources={"lake": self.lake},
        )
        return self.definitions.resolve_sensor_def(sensor).evaluate_tick(context)

    def by_command(self) -> RunReport:
        """Do what `fencepost run` does, out of Dagster's sight."""
        return run(self.settings, HereRunner(), patient=False)

    def accounts(self, feed: str = "ticks") -> dict[str, Account]:
        """What the ledgers tell of each partition."""
        return dict(accounts(self.lake.store(), feed))

    def shown(self, asset: str) -> list[str]:
        """Name the partitions of an asset that Dagster shows as materialised."""
        key = dg.AssetKey(asset.split("/"))
        return sorted(self.instance.get_materialized_partitions(key))

    def latest(self, asset: str, partition: str | None = None) -> dict[str, Any]:
        """Give the metadata of an asset's newest materialisation."""
        wanted = dg.AssetRecordsFilter(
            dg.AssetKey(asset.split("/")), asset_partitions=[partition] if partition else None
        )
        (record,) = self.instance.fetch_materializations(wanted, limit=1).records
        told = record.asset_materialization
        assert told is not None
        return {name: value.value for name, value in told.metadata.items()}


def told(result: dg.ExecuteInProcessResult) -> list[tuple[str, str]]:
    """List what a run materialised, asset and partition, in the order it was told."""
    events = [
        e.step_materialization_data.materialization
        for e in result.all_events
        if e.is_step_materialization
    ]
    return [(each.asset_key.to_user_string(), each.partition or "") for each in events]


def why_failed(result: dg.ExecuteInProcessResult, step: str) -> str:
    """Give the words that a failed step shows."""
    (failure,) = [e for e in result.all_events if e.is_step_failure and e.step_key == step]
    data = failure.step_failure_data
    return str(data.user_failure_data.description if data.user_failure_data else data.error)


@contextmanager
def fault_at(place: str, time: int = 1) -> Iterator[list[str]]:
    """Fail where a named place is passed for the k-th time; gives the places that were passed."""
    passed: list[str] = []

    def hook(name: str) -> None:
        passed.append(name)
        if name == place and passed.count(place) == time:
            raise Crash(place)

    off = on_point(hook)
    try:
        yield passed
    finally:
        off()


def _lines(axes: Sequence[str], key: str, seed: int) -> Iterator[str]:
    """Write rows that cross the rules' borders; one is malformed."""
    yield f"stream_id,ts,{','.join(axes)}\n"
    hour = int(key[11:13]) if len(key) > 10 else 12
    for minute in range(6):
        for k, stream in enumerate("uvw"):
            value = (seed + hour + minute * (k + 1)) % 9
            ts = f"{key[:10]}T{hour:02d}:{minute + 10 * seed:02d}:00Z"
            yield f"{stream},{ts},{','.join([str(value)] * len(axes))}\n"
    yield f"u,{key[:10]}T{hour:02d}:59:00Z,{','.join(['high'] * len(axes))}\n"
