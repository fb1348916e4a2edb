"""Every key that may stand in fencepost.toml, declared once.

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
    "the Delta tables: made by `fencepost init`, read by any engine",
    "The folder of the Delta tables, of letters, digits and `. _ - /` only. In the variable and in "
    "`--lake` a path begins at the working folder.",
    variable="FENCEPOST_LAKE",
)
QUERIES = _may(
    "queries",
    PATH,
    "the standing queries of this project: a file, or a folder",
    "A file, or a folder whose `*.jsonl` and `*.parquet` files, plain or `.gz`, hold the standing "
    "queries of this project. `fencepost queries import` without a file takes them in, and so does "
    "the asset `queries`. Without this key a file has to be named.",
    example='"rules"',
)
BUCKETS = _key(
    "buckets",
    whole(1, 4096),
    "8",
    "shares of the streams, evaluated side by side; counts at init",
    "Into how many shares the streams are parted, which are evaluated side by side. It counts when "
    "the lake is made; a lake that is there keeps its own.",
)
EPOCH_ROWS = _key(
    "epoch_rows",
    whole(1),
    "10_000_000",
    "at most so many rows in an epoch",
    "An epoch holds at most so many rows; a single larger delivery is an epoch of its own.",
)
GROUP = _key(
    "group",
    whole(1),
    "32",
    "at most so many epochs in a commit",
    "At most so many epochs are planned, evaluated and committed together.",
)
SNAPSHOT_EVERY = _key(
    "snapshot_every",
    whole(1),
    "50",
    "after so many epochs the whole state is written",
    "After so many epochs the last tuple of every stream is written, not only of those that moved. "
    "Less often is less to write, and more to read when a run begins.",
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
    "how long programs may go on reading what was put together since",
    "How long commits, and small files that were put together with others, stay after that for "
    "programs that still read them. A reader that takes longer, or lies further behind, may be "
    "told that a file is missing; it never gets other rows.",
)
JOINS = _key(
    "joins",
    PAIRS,
    "[]",
    'pairs of feeds whose joins Dagster shows: "bids~asks"',
    'The ordered pairs of feeds whose joins Dagster shows, each as `"left~right"`. Both feeds must '
    "have the same `partition`, `partitions_from` and `partitions_to`. What is evaluated does not "
    "depend on it: `fencepost run` evaluates every pair that a query joins.",
    example='["bids~asks"]',
)

# The table [run].
RUNNER = _key(
    "runner",
    one_of(RUNNERS),
    '"spark"',
    'or "here": in one process, without Spark',
    "Who does the work: Spark, or `here`, this process alone, which is right up to a few million "
    "tuples a run. Both write the same rows.",
    variable="FENCEPOST_RUNNER",
)
READ_PATH = _key(
    "read_path",
    one_of(READ_PATHS),
    '"auto"',
    'who reads the tables\' files: "files" (PyArrow) or "spark"',
    "Who reads the tables' files: `files` is PyArrow in the tasks, `spark` is Spark's own reader; "
    "`auto` takes the files where the tasks can see them.",
    variable="FENCEPOST_READ_PATH",
)
CORES = _may(
    "cores",
    whole(1),
    "without these: all there are",
    "How many cores a run may use. Without this key, all there are.",
    example="4",
    variable="FENCEPOST_CORES",
)
MEMORY = _may(
    "memory",
    SIZE,
    "",
    "How much memory Spark's Java may take. Without this key, a share of what the machine has.",
    example='"4g"',
    variable="FENCEPOST_MEMORY",
)

REPORTS_ADDRESS = _may(
    "reports_address",
    ADDRESS,
    "where browsers find reports/, if a proxy serves it",
    "Where browsers find the folder `reports/`: what Dagster shows of a report or a check links "
    "there. Without this key it is where `fencepost ui` serves it, `http://127.0.0.1:3001`: right "
    "on the machine itself, and through a tunnel. Behind a proxy it is the proxy's address.",
    example='"https://fencepost.example.com/reports"',
    variable="FENCEPOST_REPORTS_ADDRESS",
)

# The table [alerts].
WEBHOOK = _may(
    "webhook",
    VARIABLE,
    "the variable with the address to post to, as Slack takes it",
    "The variable of the environment that holds a webhook's address, as `env:NAME`. Each alert is "
    "posted there as JSON, with its text under `text`, as Slack and Mattermost take it. The "
    "address itself is a secret and cannot stand here.",
    example='"env:FENCEPOST_WEBHOOK"',
)
COMMAND = _may(
    "command",
    NAMES,
    "it gets each alert on standard input",
    "A command and its arguments, executed without a shell in the folder of this file. It gets "
    "each alert as JSON on standard input: for e-mail, a pager, anything else.",
    example='["./alert.sh", "on-call"]',
)

# A table [feeds.<name>].
AXES = _must(
    "axes",
    NAMES,
    (),
    "The columns that are numbers, which rules can ask about. Other columns are ignored, and told "
    "once a delivery. The axes of a feed stay as they were when its table was made.",
    example='["price", "volume"]',
    hint='name them: axes = ["price", "volume"]',
)
SOURCE = _must(
    "source",
    PATH,
    Path(),
    "The folder that deliveries land in. Each file in it is one, and so is each folder in it. Of "
    'the format "delta" it is the Delta table itself, and each version of that is a delivery.',
    example='"landing/ticks"',
    hint="name the folder that its files land in",
)
FORM = _may(
    "format",
    one_of(FORMS),
    'or "json", "parquet", "delta"; without it, by its content',
    "What the files are: CSV, JSON lines or Parquet, plain or gzip, or a Delta table. Without this "
    "key each file is told by its content.",
    example='"csv"',
)
STREAM_COLUMN = _key(
    "stream_column",
    TEXT,
    '"stream_id"',
    "which column tells the stream,",
    "The column that says which stream a tuple belongs to.",
)
TS_COLUMN = _key(
    "ts_column",
    TEXT,
    '"ts"',
    "and which the time: ISO 8601 with Z or an offset,",
    "The column of a tuple's time: ISO 8601 with `Z` or an offset, a timestamp, or an integer.",
)
TS_UNIT = _may(
    "ts_unit",
    one_of((*PER_UNIT,)),
    "or an integer that counts s, ms, us or ns since 1970",
    "What an integer time counts since 1970. Without this key an integer is no time, and its row "
    "is malformed.",
    example='"ms"',
)
CLOCK_COLUMN = _may(
    "clock_column",
    TEXT,
    "the feed's clock; without it, the time of arrival",
    "The column of the feed's own clock, which `max_skew` is held against. Without this key the "
    "clock is the time at which the delivery was found.",
    example='"sent_at"',
)
DELETED = _may(
    "deleted",
    TEXT,
    "true in it takes the stream out of the sets of band joins",
    "The column that marks a row as taking its stream out of the sets of band joins; the row is a "
    "tuple like any other, with all its axes and a time of its own. It holds true or false, in "
    "text also t, f, yes, no, 1, 0, as integers 1 and 0; an empty cell, a null, and in JSON a key "
    "left out, mark nothing. Another word makes the row malformed; a file without the column is "
    "refused. Without this key no row is marked.",
    example='"gone"',
)
MAX_SKEW = _key(
    "max_skew",
    DURATION,
    '"24h"',
    "a tuple further ahead of the clock is put in quarantine",
    "A tuple further ahead of the clock is put in quarantine as `future`, and moves no watermark.",
)
ALLOWED_LATENESS = _key(
    "allowed_lateness",
    DURATION,
    '"0s"',
    "how long tuples wait for earlier ones of later deliveries",
    "How long, in the time of the tuples, they wait for earlier ones that a later delivery brings. "
    "What comes later still is put in quarantine as `late`.",
    example='"30s"',
)
SETTLE = _key(
    "settle",
    DURATION,
    '"2s"',
    "a file is taken when it was left alone for so long",
    "How long a file, or a folder without `_SUCCESS`, must have been left alone until it is taken.",
)
PARTITION = _key(
    "partition",
    one_of(PARTITIONS),
    '"day"',
    'or "hour": what is evaluated anew together',
    "What a partition of this feed is: the unit in which it is evaluated anew, and in which "
    "Dagster shows it.",
)
PARTITION_IN_PATH = _key(
    "partition_in_path",
    FLAG,
    "false",
    "true: the path says the day or hour, as in 2026-11-18T09.csv",
    "Whether the path of a delivery says which day or hour it belongs to, as in "
    "`2026-11-18T09.csv` or `dt=2026-11-18/hr=09/part-0.csv`: the first date in it counts. "
    "Otherwise its arrival does.",
    example="true",
)
PARTITIONS_FROM = _may(
    "partitions_from",
    TEXT,
    "the first that Dagster shows; else that of the lake's first day",
    "The first partition that Dagster shows, a day or an hour as `partition` says; where that is "
    "an hour, a day means its first one. Without this key it is that of the day the lake was made.",
    example='"2026-11-18"',
)
PARTITIONS_TO = _may(
    "partitions_to",
    TEXT,
    "the last that Dagster shows; else that of now",
    "The last partition that Dagster shows, for a history that is closed; where `partition` is "
    "hour, a day means its last one. Without this key it is the hour or day that it is now.",
    example='"2026-11-18"',
)
FEED_OWNERS = _key(
    "owners",
    OWNERS,
    "[]",
    "who answers for it, as Dagster shows it",
    'Who answers for this feed: e-mail addresses, and teams like `"team:desk"`. Dagster shows them '
    "beside its tables.",
    example='["team:desk"]',
)
FRESH_WITHIN = _may(
    "fresh_within",
    DURATION,
    "Dagster warns when nothing was evaluated for so long",
    "Dagster calls the events of this feed overdue when nothing was evaluated for so long, at "
    "least a minute. Without this key it expects nothing.",
    example='"3h"',
)

AXIS_UNITS = _key(
    "units",
    UNITS,
    "{}",
    "what the axes are measured in, as the report writes it",
    "What the axes are measured in. The report writes units beside its numbers; nothing is "
    "computed with them.",
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
"""By table and key: the variable that stands over it."""
