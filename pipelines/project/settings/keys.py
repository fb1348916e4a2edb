"""Every key of fencepost.toml, declared once.

The reading, the comments of the file that `fencepost init` writes and docs/configuration.md come
from here; so do the defaults of `Feed` and `Settings`.

Law: a default is what the key itself would take.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from fencepost.times import PER_UNIT
from pipelines.project.settings.section import Key
from pipelines.project.settings.values import (
    ADDRESS,
    DURATION,
    FLAG,
    NAMES,
    OWNERS,
    PAIRS,
    PATH,
    SIZE,
    TEXT,
    UNITS,
    VARIABLE,
    Read,
    one_of,
    whole,
)

T = TypeVar("T")

FILE = "fencepost.toml"
CONFIG = "FENCEPOST_CONFIG"
"""The variable that names a fencepost.toml, or its folder, where no --config does."""

FORMS = ("csv", "json", "parquet", "delta")
PARTITIONS = ("day", "hour")
RUNNERS = ("spark", "here")
READ_PATHS = ("auto", "files", "spark")


def _key(  # noqa: PLR0913
    name: str,
    read: Read[T],
    default: str,
    brief: str,
    meaning: str,
    *,
    example: str | None = None,
    variable: str | None = None,
) -> Key[T]:
    """Declare a key that has a default, written as TOML."""
    value = read.take(tomllib.loads(f"default = {default}")["default"])
    return Key(name, read, value, default, brief, meaning, example or default, None, variable)


def _may(
    name: str, read: Read[T], brief: str, meaning: str, *, example: str, variable: str | None = None
) -> Key[T | None]:
    """Declare a key that may be left out."""
    return Key(name, read, None, None, brief, meaning, example, None, variable)


def _must(name: str, read: Read[T], empty: T, meaning: str, *, example: str, hint: str) -> Key[T]:
    """Declare a key that must be there."""
    return Key(name, read, empty, None, "", meaning, example, hint)


# The table [lake].
LAKE = _key(
    "path",
    PATH,
    '"lake"',
    "the Delta tables: created by `fencepost init`, readable by any engine",
    "The folder of the Delta tables; letters, digits and `. _ - /` only. In the variable and in "
    "`--lake`, a path is relative to the working folder.",
    variable="FENCEPOST_LAKE",
)
QUERIES = _may(
    "queries",
    PATH,
    "the rules of this project: a file or a folder",
    "A file, or a folder whose `*.jsonl` and `*.parquet` files, plain or `.gz`, hold the standing "
    "queries of this project. `fencepost queries import` without a file imports them, and so does "
    "the asset `queries`. Without this key, name a file.",
    example='"rules"',
)
BUCKETS = _key(
    "buckets",
    whole(1, 4096),
    "8",
    "shares of the streams, evaluated in parallel; set at creation only",
    "How many shares the streams are divided into; shares are evaluated in parallel. Set at "
    "creation only: an existing lake keeps its own number.",
)
EPOCH_ROWS = _key(
    "epoch_rows",
    whole(1),
    "10_000_000",
    "most rows in an epoch",
    "The most rows in an epoch. A larger delivery is an epoch of its own.",
)
GROUP = _key(
    "group",
    whole(1),
    "32",
    "most epochs in a commit",
    "The most epochs that are planned, evaluated and committed together.",
)
SNAPSHOT_EVERY = _key(
    "snapshot_every",
    whole(1),
    "50",
    "epochs between two snapshots of the whole state",
    "After this many epochs the last tuple of every stream is written, not only of those that "
    "moved. Writing it less often means less to write, and more to read when a run begins.",
)
FSYNC = _key(
    "fsync",
    FLAG,
    "false",
    "true: what is committed survives a power cut; 25 to 60 ms a commit",
    "Whether files, commits and folders are flushed to the disk before a commit counts as made.",
)
KEEP_HISTORY = _key(
    "keep_history",
    DURATION,
    '"1h"',
    "how long compacted files stay for programs that still read them",
    "How long old commits, and small files that were compacted, stay for programs that still read "
    "them. A reader that takes longer, or is further behind, may find a file missing; it never "
    "gets wrong rows.",
)
JOINS = _key(
    "joins",
    PAIRS,
    "[]",
    'pairs of feeds whose joins Dagster shows: "bids~asks"',
    'The ordered pairs of feeds whose joins Dagster shows, each as `"left~right"`. Both feeds must '
    "have the same `partition`, `partitions_from` and `partitions_to`. This does not change what "
    "is evaluated: `fencepost run` evaluates every pair that a query joins.",
    example='["bids~asks"]',
)

# The table [run].
RUNNER = _key(
    "runner",
    one_of(RUNNERS),
    '"spark"',
    'or "here": in one process, without Spark',
    "What does the work: Spark, or `here`, this process alone, which is enough for up to a few "
    "million tuples a run. Both write the same rows.",
    variable="FENCEPOST_RUNNER",
)
READ_PATH = _key(
    "read_path",
    one_of(READ_PATHS),
    '"auto"',
    'how table files are read: "files" (PyArrow) or "spark"',
    "How table files are read: `files` is PyArrow in the tasks, `spark` is Spark's own reader; "
    "`auto` uses PyArrow where the tasks can see the files.",
    variable="FENCEPOST_READ_PATH",
)
CORES = _may(
    "cores",
    whole(1),
    "default: all cores, a share of the memory",
    "How many cores a run may use. Default: all of them.",
    example="4",
    variable="FENCEPOST_CORES",
)
MEMORY = _may(
    "memory",
    SIZE,
    "",
    "How much memory Spark's Java may use. Default: a share of the machine's memory.",
    example='"4g"',
    variable="FENCEPOST_MEMORY",
)

REPORTS_ADDRESS = _may(
    "reports_address",
    ADDRESS,
    "where browsers find reports/, if a proxy serves it",
    "Where browsers find the folder `reports/`; Dagster's links to reports and checks point "
    "there. Default: where `fencepost ui` serves it, `http://127.0.0.1:3001`, which works on the "
    "machine itself and through a tunnel. Behind a proxy, give the proxy's address.",
    example='"https://fencepost.example.com/reports"',
    variable="FENCEPOST_REPORTS_ADDRESS",
)

# The table [alerts].
WEBHOOK = _may(
    "webhook",
    VARIABLE,
    "the variable with the address to post to (Slack format)",
    "The environment variable with a webhook's address, as `env:NAME`. Each alert is posted there "
    "as JSON, with its text under `text`, the format of Slack and Mattermost. The address itself "
    "is a secret and is not accepted here.",
    example='"env:FENCEPOST_WEBHOOK"',
)
COMMAND = _may(
    "command",
    NAMES,
    "gets each alert on standard input",
    "A command and its arguments, run without a shell in the folder of this file. It gets each "
    "alert as JSON on standard input: for e-mail, a pager, anything else.",
    example='["./alert.sh", "on-call"]',
)

# A table [feeds.<name>].
AXES = _must(
    "axes",
    NAMES,
    (),
    "The numeric columns that rules can test. Other columns are ignored, and reported once per "
    "delivery. The axes of a feed cannot change after its table was created.",
    example='["price", "volume"]',
    hint='name them: axes = ["price", "volume"]',
)
SOURCE = _must(
    "source",
    PATH,
    Path(),
    "The folder that deliveries land in. Each file in it is a delivery, and so is each subfolder. "
    'With the format "delta" it is the Delta table itself, and each of its versions is a delivery.',
    example='"landing/ticks"',
    hint="name the folder that its files land in",
)
FORM = _may(
    "format",
    one_of(FORMS),
    'or "json", "parquet", "delta"; default: by content',
    "The format of the files: CSV, JSON lines or Parquet, plain or gzip, or a Delta table. "
    "Default: by the content of each file.",
    example='"csv"',
)
STREAM_COLUMN = _key(
    "stream_column",
    TEXT,
    '"stream_id"',
    "the column with the stream,",
    "The column with the stream that a tuple belongs to.",
)
TS_COLUMN = _key(
    "ts_column",
    TEXT,
    '"ts"',
    "and the column with the time: ISO 8601 with Z or an offset,",
    "The column of a tuple's time: ISO 8601 with `Z` or an offset, a timestamp, or an integer.",
)
TS_UNIT = _may(
    "ts_unit",
    one_of((*PER_UNIT,)),
    "or an integer that counts s, ms, us or ns since 1970",
    "The unit of integer times, counted since 1970. Without this key, rows with integer times are "
    "malformed.",
    example='"ms"',
)
CLOCK_COLUMN = _may(
    "clock_column",
    TEXT,
    "the feed's clock; default: the time of arrival",
    "The column with the feed's own clock, to which `max_skew` applies. Default: the time at which "
    "the delivery was found.",
    example='"sent_at"',
)
DELETED = _may(
    "deleted",
    TEXT,
    "true removes the stream from the sets of band joins",
    "The column that marks a row as removing its stream from the sets of band joins; the row is a "
    "tuple like any other, with all its axes and its own time. Its values are true or false, in "
    "text also t, f, yes, no, 1, 0, as integers 1 and 0; an empty cell, a null, and in JSON a "
    "missing key, mark nothing. Any other value makes the row malformed; a file without the column "
    "is refused. Without this key no row is marked.",
    example='"gone"',
)
MAX_SKEW = _key(
    "max_skew",
    DURATION,
    '"24h"',
    "tuples further ahead of the clock are quarantined",
    "Tuples further ahead of the clock are quarantined as `future`, and move no watermark.",
)
ALLOWED_LATENESS = _key(
    "allowed_lateness",
    DURATION,
    '"0s"',
    "how long tuples wait for earlier ones of later deliveries",
    "How long, in event time, tuples wait for earlier ones that a later delivery may bring. Tuples "
    "that come even later are quarantined as `late`.",
    example='"30s"',
)
SETTLE = _key(
    "settle",
    DURATION,
    '"2s"',
    "a file is loaded when unchanged for this long",
    "How long a file, or a folder without `_SUCCESS`, must be unchanged before it is loaded.",
)
PARTITION = _key(
    "partition",
    one_of(PARTITIONS),
    '"day"',
    'or "hour": the unit of re-evaluation',
    "The length of a time partition: the unit in which the feed is re-evaluated, and shown in "
    "Dagster.",
)
PARTITION_IN_PATH = _key(
    "partition_in_path",
    FLAG,
    "false",
    "true: the path has the day or hour, as in 2026-11-18T09.csv",
    "Whether the day or hour of a delivery is in its path, as in `2026-11-18T09.csv` or "
    "`dt=2026-11-18/hr=09/part-0.csv`: the first date in it counts. Otherwise the time of arrival "
    "does.",
    example="true",
)
PARTITIONS_FROM = _may(
    "partitions_from",
    TEXT,
    "the first that Dagster shows; default: the lake's first day",
    "The first partition that Dagster shows, a day or an hour as in `partition`; with hours, a day "
    "means its first hour. Default: the day the lake was created.",
    example='"2026-11-18"',
)
PARTITIONS_TO = _may(
    "partitions_to",
    TEXT,
    "the last that Dagster shows; default: now",
    "The last partition that Dagster shows, for a closed history; with hours, a day means its last "
    "hour. Default: the current hour or day.",
    example='"2026-11-18"',
)
FEED_OWNERS = _key(
    "owners",
    OWNERS,
    "[]",
    "owners, as shown in Dagster",
    'The owners of this feed: e-mail addresses, and teams like `"team:desk"`. Dagster shows them '
    "beside its tables.",
    example='["team:desk"]',
)
FRESH_WITHIN = _may(
    "fresh_within",
    DURATION,
    "Dagster warns when nothing was evaluated for this long",
    "Dagster calls the events of this feed overdue when nothing was evaluated for this long, at "
    "least a minute. Without this key, never.",
    example='"3h"',
)

AXIS_UNITS = _key(
    "units",
    UNITS,
    "{}",
    "units of the axes, shown in the report",
    "The units of the axes. The report shows them beside its numbers; nothing is computed with "
    "them.",
    example='{ price = "USD" }',
)

OF_LAKE: tuple[Key[Any], ...] = (
    *(LAKE, QUERIES, BUCKETS, EPOCH_ROWS),
    *(GROUP, SNAPSHOT_EVERY, FSYNC, KEEP_HISTORY, JOINS),
)
OF_RUN: tuple[Key[Any], ...] = (RUNNER, READ_PATH, CORES, MEMORY, REPORTS_ADDRESS)
OF_ALERTS: tuple[Key[Any], ...] = (WEBHOOK, COMMAND)
OF_FEED: tuple[Key[Any], ...] = (
    *(AXES, SOURCE, FORM, STREAM_COLUMN, TS_COLUMN, TS_UNIT, CLOCK_COLUMN, DELETED),
    *(ALLOWED_LATENESS, MAX_SKEW, SETTLE),
    *(PARTITION, PARTITION_IN_PATH, PARTITIONS_FROM, PARTITIONS_TO),
    *(FEED_OWNERS, FRESH_WITHIN, AXIS_UNITS),
)
TABLES: Mapping[str, tuple[Key[Any], ...]] = {
    "lake": OF_LAKE,
    "run": OF_RUN,
    "alerts": OF_ALERTS,
    "feeds.<name>": OF_FEED,
}
"""By the name of a table: its keys."""

ENVIRONMENT = {
    table: {key.name: key.variable for key in keys if key.variable is not None}
    for table, keys in TABLES.items()
}
"""By table and key: the variable that overrides it."""
