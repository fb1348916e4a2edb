"""A feed, and all that was declared."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pipelines.project.settings import keys
from schemas import Table, all_tables


@dataclass(frozen=True)
class Feed:
    """A feed as declared. Times are µs.

    source             the folder that deliveries land in; of the form delta, the source table
    form               csv, json, parquet or delta; None: each file by its content
    ts_unit            what an integer time counts; None: integers are no times
    deleted            the column that marks rows that remove their stream from band joins' sets
    settle             how long a file must be unchanged before it is loaded
    partition          hour or day: what a time partition of this feed is
    partition_in_path  whether a delivery's path says its hour or day; else its arrival does
    partitions_from    the first partition that Dagster shows; None: of the day the lake was made
    partitions_to      the last that it shows; None: the current hour or day
    owners             its owners: e-mail addresses and team:names, as Dagster shows them
    units              by axis: what it is measured in, for the report alone
    fresh_within       Dagster calls it overdue when nothing was evaluated for this long
    """

    name: str
    axes: tuple[str, ...]
    source: Path
    form: str | None = None
    stream_column: str = keys.STREAM_COLUMN.default
    ts_column: str = keys.TS_COLUMN.default
    ts_unit: str | None = None
    clock_column: str | None = None
    deleted: str | None = None
    allowed_lateness: int = keys.ALLOWED_LATENESS.default
    max_skew: int = keys.MAX_SKEW.default
    settle: int = keys.SETTLE.default
    partition: str = keys.PARTITION.default
    partition_in_path: bool = keys.PARTITION_IN_PATH.default
    partitions_from: str | None = None
    partitions_to: str | None = None
    owners: tuple[str, ...] = keys.FEED_OWNERS.default
    fresh_within: int | None = None
    units: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Settings:
    """All that was declared.

    root            the lake's folder
    queries         the file, or folder of files, that holds the standing queries
    buckets         the number of shares of the streams; set when a lake is created
    epoch_rows      the most rows in an epoch, except for a single larger delivery
    group           the most epochs committed together
    snapshot_every  the epochs between two snapshots of the state
    fsync           whether what is committed is flushed to the disk
    keep_history    µs; how long compacted files stay for readers that still use them
    joins           the lanes of joins that Dagster shows; a run evaluates all that there are
    runner          spark, or here: in this process
    read_path       how tasks read the tables: files (PyArrow), spark, or auto
    cores, memory   what a run may use; None: what there is
    reports_address where browsers find the reports; None: where `fencepost ui` serves them
    webhook         the variable that holds the address to which alerts are posted
    command         what is executed with each alert
    """

    file: Path | None
    root: Path
    feeds: Mapping[str, Feed]
    queries: Path | None = None
    buckets: int = keys.BUCKETS.default
    epoch_rows: int = keys.EPOCH_ROWS.default
    group: int = keys.GROUP.default
    snapshot_every: int = keys.SNAPSHOT_EVERY.default
    fsync: bool = keys.FSYNC.default
    keep_history: int = keys.KEEP_HISTORY.default
    joins: tuple[str, ...] = keys.JOINS.default
    runner: str = keys.RUNNER.default
    read_path: str = keys.READ_PATH.default
    cores: int | None = None
    memory: str | None = None
    reports_address: str | None = None
    webhook: str | None = None
    command: tuple[str, ...] | None = None

    @property
    def reports(self) -> Path:
        """The folder of reports and of the checks' pages."""
        return (self.file or self.root).parent / "reports"

    @cached_property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """The axes of each feed."""
        return {name: feed.axes for name, feed in self.feeds.items()}

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The tables of a lake with these feeds."""
        return all_tables(self.axes)
