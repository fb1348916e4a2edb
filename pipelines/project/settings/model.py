"""A feed, and all that was declared."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fencepost.position import Position, declared_position
from pipelines.places import Place, is_remote
from pipelines.project.settings import feed_keys, keys, reading_keys, spark_keys
from pipelines.project.settings.target import CatalogTarget
from schemas import FeedColumns, Table, all_tables


@dataclass(frozen=True)
class Feed:
    """A feed as declared. Times are µs.

    source             the folder that deliveries land in; of the form delta, the source table
    form               csv, json, parquet or delta; None: each file by its content
    ts_column          the column of times, or those of dates and of times of day
    ts_unit            what a time counts that is a number; None: numbers are no times
    timezone           where a time without an offset is read; None: such times are malformed
    deleted            the column that marks rows that remove their stream from band joins' sets
    sequence_column    what orders the tuples of a stream at one instant; None: their place
    ties               all or first; None: as the feed's last delivery had it, or else all
    payload            columns that travel along, and their kinds
    position           the axes that are a place, longitude first or x and y, if any
    position_in        degrees or plane; None: by their names
    idle               with lateness_by = stream: how far behind the feed a stream is waited for
    date, stream       the same for every tuple; …_from_path: a regex that finds it in a file's path
    columns            those of CSV without a header; empty: there is one
    delimiter          what parts fields; None: found in each file
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
    source: Place
    form: str | None = None
    stream_column: str = feed_keys.STREAM_COLUMN.default
    ts_column: str | tuple[str, str] = feed_keys.TS_COLUMN.default
    ts_unit: str | None = None
    timezone: str | None = None
    clock_column: str | None = None
    deleted: str | None = None
    sequence_column: str | None = None
    sequence_is: str = feed_keys.SEQUENCE_IS.default
    ties: str | None = None
    payload: tuple[tuple[str, str], ...] = ()
    position: tuple[str, ...] = ()
    position_in: str | None = None
    allowed_lateness: int = feed_keys.ALLOWED_LATENESS.default
    lateness_by: str = feed_keys.LATENESS_BY.default
    idle: int = feed_keys.IDLE.default
    max_skew: int = feed_keys.MAX_SKEW.default
    settle: int = feed_keys.SETTLE.default
    partition: str = feed_keys.PARTITION.default
    partition_in_path: bool = feed_keys.PARTITION_IN_PATH.default
    partitions_from: str | None = None
    partitions_to: str | None = None
    owners: tuple[str, ...] = feed_keys.FEED_OWNERS.default
    fresh_within: int | None = None
    units: Mapping[str, str] = field(default_factory=dict, hash=False)
    ts_format: str | None = None
    date: str | None = None
    date_from_path: str | None = None
    columns: tuple[str, ...] = ()
    skip_lines: int = reading_keys.SKIP_LINES.default
    delimiter: str | None = None
    decimal: str = reading_keys.DECIMAL.default
    encoding: str = reading_keys.ENCODING.default
    stream: str | None = None
    stream_from_path: str | None = None
    wide: bool = False

    @property
    def has_stream_column(self) -> bool:
        """Whether a column says a tuple's stream: not its file, and not the column's own name."""
        return self.stream is None and self.stream_from_path is None and not self.wide

    @property
    def place(self) -> Position | None:
        """Which of its axes are a place, if any; InputError where they cannot be."""
        if not self.position:
            return None
        return declared_position(self.axes, self.position, self.position_in)

    @property
    def in_tables(self) -> FeedColumns:
        """The columns that the lake's tables have because of it."""
        kind = {"integer": "long", "text": "string"}[self.sequence_is]
        return FeedColumns(self.axes, self.payload, kind if self.sequence_column else None)


@dataclass(frozen=True)
class Settings:
    """All that was declared.

    root            the lake's folder
    queries         the file, or folder of files, that holds the standing queries
    queries_id      the property of zones of a map that is their id
    buckets         the number of shares of the streams; set when a lake is created
    epoch_rows      the most rows in an epoch, except for a single larger delivery
    group           the most epochs committed together
    snapshot_every  the epochs between two snapshots of the state
    fsync           whether what is committed is flushed to the disk
    keep_history    µs; how long compacted files stay for readers that still use them
    joins           the lanes of joins that Dagster shows; a run evaluates all that there are
    publish         the catalogs that runs keep up to date
    runner          spark, or here: in this process
    read_path       how tasks read the tables: files (PyArrow), spark, or auto
    cores, memory   what a run may use; None: what there is
    master          where Spark runs
    driver_host     where executors find this process; None: at its address on the way to them
    spark           settings of Spark over ours; a value like env:NAME is that of a variable
    reports_address where browsers find the reports; None: where `fencepost ui` serves them
    base            the GeoJSON file that reports draw below the regions of maps
    webhook         the variable that holds the address to which alerts are posted
    command         what is executed with each alert
    """

    file: Path | None
    root: Place
    feeds: Mapping[str, Feed]
    queries: Path | None = None
    queries_id: str | None = None
    buckets: int = keys.BUCKETS.default
    epoch_rows: int = keys.EPOCH_ROWS.default
    group: int = keys.GROUP.default
    snapshot_every: int = keys.SNAPSHOT_EVERY.default
    fsync: bool = keys.FSYNC.default
    keep_history: int = keys.KEEP_HISTORY.default
    joins: tuple[str, ...] = keys.JOINS.default
    publish: tuple[CatalogTarget, ...] = keys.PUBLISH.default
    runner: str = keys.RUNNER.default
    read_path: str = keys.READ_PATH.default
    cores: int | None = None
    memory: str | None = None
    master: str = spark_keys.MASTER.default
    driver_host: str | None = None
    spark: spark_keys.Pairs = spark_keys.SPARK.default
    reports_address: str | None = None
    base: Path | None = None
    webhook: str | None = None
    command: tuple[str, ...] | None = None

    @property
    def reports(self) -> Place:
        """The folder of reports and of the checks' pages: beside fencepost.toml, or on a store."""
        if is_remote(self.root):
            return self.root / "_reports"
        return (self.file or self.root).parent / "reports"

    @property
    def session(self) -> dict[str, Any]:
        """What a Spark session is started with."""
        return {
            "memory": self.memory,
            "cores": self.cores,
            "master": self.master,
            "driver_host": self.driver_host,
            "extra": spark_keys.spoken(self.spark),
        }

    @cached_property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """The axes of each feed."""
        return {name: feed.axes for name, feed in self.feeds.items()}

    @property
    def only_feed(self) -> str | None:
        """The feed, if there is one alone: what names none is of it."""
        return next(iter(self.feeds)) if len(self.feeds) == 1 else None

    @cached_property
    def positions(self) -> dict[str, Position]:
        """The position of each feed that has one."""
        places = {name: feed.place for name, feed in self.feeds.items()}
        return {name: place for name, place in places.items() if place is not None}

    @cached_property
    def columns(self) -> dict[str, FeedColumns]:
        """The columns that each feed declares."""
        return {name: feed.in_tables for name, feed in self.feeds.items()}

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The tables of a lake with these feeds."""
        return all_tables(self.columns)
