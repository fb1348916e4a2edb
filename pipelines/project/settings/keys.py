"""Every key of fencepost.toml, declared once: here those of the lake and its runs.

Those of a feed are in `feed_keys.py` and, where they say how its files are to be read, in
`reading_keys.py`. The reading, the comments of the file that `fencepost init` writes and
docs/configuration.md come from here; so do the defaults of `Feed` and `Settings`.
"""

from collections.abc import Mapping
from typing import Any

from pipelines.project.settings.declaration import defaulted, optional
from pipelines.project.settings.feed_keys import OF_FEED_ITSELF, USUAL
from pipelines.project.settings.reading_keys import OF_READING
from pipelines.project.settings.section import Key
from pipelines.project.settings.spark_keys import DRIVER_HOST, MASTER, SPARK
from pipelines.project.settings.target import TARGETS
from pipelines.project.settings.values import (
    ADDRESS,
    DURATION,
    FLAG,
    NAMES,
    PAIRS,
    PATH,
    PLACE,
    SIZE,
    TEXT,
    VARIABLE,
    one_of,
    whole,
)

FILE = "fencepost.toml"
CONFIG = "FENCEPOST_CONFIG"
"""The variable that names a fencepost.toml, or its folder, where no --config does."""

RUNNERS = ("spark", "here")
READ_PATHS = ("auto", "files", "spark")

# The table [lake].
LAKE = defaulted(
    "path",
    PLACE,
    '"lake"',
    "the Delta tables: created by `fencepost init`, readable by any engine",
    "The folder of the Delta tables; letters, digits and `. _ - /` only. Or a place on an object "
    "store: `s3://bucket/lake`, `gs://…`, `az://…`, `abfss://…`; credentials come from the store's "
    "own variables and roles, never from here. In the variable and in `--lake`, a path is "
    "relative to the working folder.",
    variable="FENCEPOST_LAKE",
)
QUERIES = optional(
    "queries",
    PATH,
    "the rules of this project: a file or a folder",
    "A file, or a folder whose `*.jsonl`, `*.parquet` and `*.geojson` files, plain or `.gz`, hold "
    "the standing queries of this project; with `fencepost[geo]` also GeoPackages and Shapefiles. "
    "`fencepost queries import` without a file imports them, and so does the asset `queries`. "
    "Without this key, name a file.",
    example='"rules"',
)
QUERIES_ID = optional(
    "queries_id",
    TEXT,
    "the property of a map's zones that is their id",
    "Of zones in GeoJSON and its like: the property that is the id of the query, as "
    "`fencepost queries import --id` says it; a zone that lacks it has its feature's own `id`. "
    "Without this key, that `id`, or the property `id`.",
    example='"name"',
)
BUCKETS = defaulted(
    "buckets",
    whole(1, 4096),
    "8",
    "shares of the streams, evaluated in parallel; set at creation only",
    "How many shares the streams are divided into while the lake is small; it divides them further "
    "as it grows. Set at creation only. The number of tasks does not depend on it.",
)
EPOCH_ROWS = defaulted(
    "epoch_rows",
    whole(1),
    "10_000_000",
    "most rows in an epoch",
    "The most rows in an epoch. A larger delivery is an epoch of its own.",
)
GROUP = defaulted(
    "group",
    whole(1),
    "32",
    "most epochs in a commit",
    "The most epochs that are planned, evaluated and committed together.",
)
SNAPSHOT_EVERY = defaulted(
    "snapshot_every",
    whole(1),
    "50",
    "epochs between two snapshots of the whole state",
    "After this many epochs the last tuple of every stream is written, not only of those that "
    "moved; of a feed once what was written since is half as much. Writing it less often means "
    "less to write, and more to read when a run begins.",
)
FSYNC = defaulted(
    "fsync",
    FLAG,
    "false",
    "true: what is committed survives a power cut; 25 to 60 ms a commit",
    "Whether files, commits and folders are flushed to the disk before a commit counts as made.",
)
KEEP_HISTORY = defaulted(
    "keep_history",
    DURATION,
    '"1h"',
    "how long compacted files stay for programs that still read them",
    "How long old commits, and small files that were compacted, stay for programs that still read "
    "them. A reader that takes longer, or is further behind, may find a file missing; it never "
    "gets wrong rows.",
)
JOINS = defaulted(
    "joins",
    PAIRS,
    "[]",
    'pairs of feeds whose joins Dagster shows: "bids~asks"',
    'The ordered pairs of feeds whose joins Dagster shows, each as `"left~right"`. Both feeds must '
    "have the same `partition`, `partitions_from` and `partitions_to`. This does not change what "
    "is evaluated: `fencepost run` evaluates every pair that a query joins.",
    example='["bids~asks"]',
)
PUBLISH = defaulted(
    "publish",
    TARGETS,
    "[]",
    "catalogs that show the lake: a DuckDB file, Spark's catalog",
    "The catalogs in which the tables and views of the lake are registered, as `fencepost publish` "
    "does; runs keep them up to date. `duckdb:FILE` is a DuckDB file with views, "
    "`spark:[CATALOG.]SCHEMA` a schema of Spark's catalog with tables and views, `hive:SCHEMA` one "
    "with tables alone, for engines that cannot read Spark's views. The path of a file is relative "
    "to this file.",
    example='["duckdb:shop.duckdb"]',
)

# The table [run].
RUNNER = defaulted(
    "runner",
    one_of(RUNNERS),
    '"spark"',
    'or "here": in one process, without Spark',
    "What does the work: Spark, or `here`, this process alone, which is enough for up to a few "
    "million tuples a run. Both write the same rows.",
    variable="FENCEPOST_RUNNER",
)
READ_PATH = defaulted(
    "read_path",
    one_of(READ_PATHS),
    '"auto"',
    'how table files are read: "files" (PyArrow) or "spark"',
    "How table files are read: `files` is PyArrow in the tasks, `spark` is Spark's own reader; "
    "`auto` uses PyArrow where the tasks can see the files.",
    variable="FENCEPOST_READ_PATH",
)
CORES = optional(
    "cores",
    whole(1),
    "default: all cores, a share of the memory",
    "How many cores a run may use: on this machine, or on a standalone cluster. Default: all.",
    example="4",
    variable="FENCEPOST_CORES",
)
MEMORY = optional(
    "memory",
    SIZE,
    "",
    "How much memory Spark's Java may use. Default: a share of the machine's memory.",
    example='"4g"',
    variable="FENCEPOST_MEMORY",
)

REPORTS_ADDRESS = optional(
    "reports_address",
    ADDRESS,
    "where browsers find reports/, if a proxy serves it",
    "Where browsers find the folder `reports/`; Dagster's links to reports and checks point "
    "there. Default: where `fencepost ui` serves it, `http://127.0.0.1:3001`, which works on the "
    "machine itself and through a tunnel. Behind a proxy, give the proxy's address.",
    example='"https://fencepost.example.com/reports"',
    variable="FENCEPOST_REPORTS_ADDRESS",
)

# The table [report].
BASE = optional(
    "base",
    PATH,
    "a GeoJSON file drawn below the regions of maps: streets, a coast",
    "A GeoJSON file that `fencepost report` draws below regions and tracks: streets, a coast, a "
    "floor plan. In degrees it is drawn on maps of the earth, else on maps of a plane. It becomes "
    "part of the page, as much of it as is near the tracks. Without this key there is no base: a "
    "report loads nothing from the network.",
    example='"streets.geojson"',
)

# The table [alerts].
WEBHOOK = optional(
    "webhook",
    VARIABLE,
    "the variable with the address to post to (Slack format)",
    "The environment variable with a webhook's address, as `env:NAME`. Each alert is posted there "
    "as JSON, with its text under `text`, the format of Slack and Mattermost. The address itself "
    "is a secret and is not accepted here.",
    example='"env:FENCEPOST_WEBHOOK"',
)
COMMAND = optional(
    "command",
    NAMES,
    "gets each alert on standard input",
    "A command and its arguments, run without a shell in the folder of this file. It gets each "
    "alert as JSON on standard input: for e-mail, a pager, anything else.",
    example='["./alert.sh", "on-call"]',
)

OF_LAKE: tuple[Key[Any], ...] = (
    *(LAKE, QUERIES, QUERIES_ID, BUCKETS, EPOCH_ROWS),
    *(GROUP, SNAPSHOT_EVERY, FSYNC, KEEP_HISTORY, JOINS, PUBLISH),
)
OF_RUN: tuple[Key[Any], ...] = (
    *(RUNNER, READ_PATH, CORES, MEMORY),
    *(MASTER, DRIVER_HOST, SPARK, REPORTS_ADDRESS),
)
OF_REPORT: tuple[Key[Any], ...] = (BASE,)
OF_ALERTS: tuple[Key[Any], ...] = (WEBHOOK, COMMAND)
OF_FEED: tuple[Key[Any], ...] = (*OF_FEED_ITSELF, *OF_READING)
OF_FEED_USUAL = tuple(key for key in OF_FEED if key.name in USUAL)
"""Those that the file of `fencepost init` shows."""

TABLES: Mapping[str, tuple[Key[Any], ...]] = {
    "lake": OF_LAKE,
    "run": OF_RUN,
    "report": OF_REPORT,
    "alerts": OF_ALERTS,
    "feeds.<name>": OF_FEED,
}
"""By the name of a table: its keys."""

ENVIRONMENT = {
    table: {key.name: key.variable for key in keys if key.variable is not None}
    for table, keys in TABLES.items()
}
"""By table and key: the variable that overrides it."""
