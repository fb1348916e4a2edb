"""The keys of a feed: what it is, how its tuples are ordered, when it is due.

How its files are read is in `reading_keys.py`.
"""

from typing import Any

from fencepost.position import POSITIONS_IN
from fencepost.times import PER_UNIT
from pipelines.project.settings.declaration import defaulted, optional, required
from pipelines.project.settings.section import Key
from pipelines.project.settings.values import (
    DURATION,
    FLAG,
    NAMES,
    OWNERS,
    PAYLOAD,
    PLACE,
    TEXT,
    TIME_COLUMNS,
    UNITS,
    ZONE,
    one_of,
)

FORMS = ("csv", "json", "parquet", "delta")
PARTITIONS = ("day", "hour")
TIES_OF = ("all", "first")
SEQUENCES = ("integer", "text")
LATENESS_OF = ("feed", "stream")

AXES = required(
    "axes",
    NAMES,
    (),
    "The numeric columns that rules can test. Other columns are ignored, and reported once per "
    "delivery. The axes of a feed cannot change after its table was created. A column is found by "
    "its name in any spelling: the axis `open_interest` in a column `OpenInterest`.",
    example='["price", "volume"]',
    hint='name them: axes = ["price", "volume"]',
)
SOURCE = required(
    "source",
    PLACE,
    "",
    "The folder that deliveries land in, or a place on an object store like `s3://bucket/landing`. "
    "Each file in it is a delivery, and so is each subfolder. "
    'With the format "delta" it is the Delta table itself, and each of its versions is a delivery.',
    example='"landing/ticks"',
    hint="name the folder that its files land in",
)
FORM = optional(
    "format",
    one_of(FORMS),
    'or "json", "parquet", "delta"; default: by content',
    "The format of the files: CSV, JSON lines or Parquet, plain or packed (gzip, "
    "zstd, zip), or a Delta table. "
    "Default: by the content of each file.",
    example='"csv"',
)
STREAM_COLUMN = defaulted(
    "stream_column",
    TEXT,
    '"stream_id"',
    "the column with the stream,",
    "The column with the stream that a tuple belongs to.",
)
TS_COLUMN = defaulted(
    "ts_column",
    TIME_COLUMNS,
    '"ts"',
    "and the column with the time: ISO 8601 with Z or an offset,",
    "The column of a tuple's time: ISO 8601 with `Z` or an offset, or without one where `timezone` "
    "is declared; a timestamp; or a number. A list of two columns is a date and a time of day. "
    "Digits beyond microseconds are cut off.",
)
TS_UNIT = optional(
    "ts_unit",
    one_of((*PER_UNIT,)),
    "or a number that counts s, ms, us or ns since 1970",
    "The unit of times that are numbers, with or without a fraction, counted since 1970, or with "
    "`date` since midnight. Without this key, rows with such times are malformed.",
    example='"ms"',
)
TIMEZONE = optional(
    "timezone",
    ZONE,
    "where times without an offset are read",
    "The time zone of times without an offset, by its IANA name. An hour that the clock skips is "
    "malformed, of one that it repeats the first is meant. Without this key, rows with such times "
    "are malformed.",
    example='"America/New_York"',
)
SEQUENCE_COLUMN = optional(
    "sequence_column",
    TEXT,
    "the column that orders tuples of one instant, a trade's number",
    "The column that orders the tuples of a stream at one instant: a trade's or a fix's number. Of "
    "two with the same time and number the later one is a `duplicate`, or with other values a "
    "`conflict`; one with a lower number than the last at its instant is `late`. Without this key "
    "they have the order of the file.",
    example='"trade_id"',
)
SEQUENCE_IS = defaulted(
    "sequence_is",
    one_of(SEQUENCES),
    '"integer"',
    "",
    "What the `sequence_column` holds: whole numbers, or texts, which are compared byte by byte. "
    "It cannot change once the feed has tuples.",
    example='"text"',
)
TIES = optional(
    "ties",
    one_of(TIES_OF),
    "",
    "What several tuples of a stream at one instant are: with `all` each is a step, in the order "
    "in which they came; with `first` one tuple an instant is accepted, and the others are "
    "`duplicate`, or with other values `conflict`. Default: what applied to the feed's last "
    "delivery; of a new feed, `all`.",
    example='"first"',
)
PAYLOAD_COLUMNS = defaulted(
    "payload",
    PAYLOAD,
    "{}",
    "columns that travel along, onto events",
    "Columns that travel along: they are kept with each tuple and stand on its events as "
    "`payload_…`, and no rule tests them. A list of names, whose values are text, or a table with "
    "the kind of each: text, long, double, boolean or timestamp. A value of another kind makes its "
    "row malformed; an empty one is null. A feed with data can get more of them, and older rows "
    "are null there. The kind of one cannot change.",
    example='["trip_id", "exchange"]',
)
POSITION = optional(
    "position",
    NAMES,
    "",
    "The two axes that are a place, which a `region` of a query is about: longitude first, or x "
    "and y. Axes called as longitude and latitude are on the earth, in degrees; others are on a "
    "plane, unless `position_in` says otherwise.",
    example='["lon", "lat"]',
)
POSITION_IN = optional(
    "position_in",
    one_of(POSITIONS_IN),
    "",
    "What the `position` is in: `degrees` on the earth (WGS 84), or the units of a `plane`. "
    "Default: by the names of its axes. Queries with a region keep to what was declared when they "
    "were registered.",
    example='"degrees"',
)
CLOCK_COLUMN = optional(
    "clock_column",
    TEXT,
    "the feed's clock; default: the time of arrival",
    "The column with the feed's own clock, to which `max_skew` applies. Default: the time at which "
    "the delivery was found.",
    example='"sent_at"',
)
DELETED = optional(
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
MAX_SKEW = defaulted(
    "max_skew",
    DURATION,
    '"24h"',
    "tuples further ahead of the clock are quarantined",
    "Tuples further ahead of the clock are quarantined as `future`, and move no watermark.",
)
ALLOWED_LATENESS = defaulted(
    "allowed_lateness",
    DURATION,
    '"0s"',
    "how long tuples wait for earlier ones of later deliveries",
    "How long, in event time, tuples wait for earlier ones that a later delivery may bring. Tuples "
    "that come even later are quarantined as `late`.",
    example='"30s"',
)
LATENESS_BY = defaulted(
    "lateness_by",
    one_of(LATENESS_OF),
    '"feed"',
    "",
    "Whose clock `allowed_lateness` goes by: the feed's, or with `stream` each stream's own, for "
    "sources that upload on their own, such as trackers that were offline.",
    example='"stream"',
)
IDLE = defaulted(
    "idle",
    DURATION,
    '"24h"',
    "",
    'With `lateness_by = "stream"`: a stream that is behind the feed by more than this is not '
    "waited for any longer.",
)
SETTLE = defaulted(
    "settle",
    DURATION,
    '"2s"',
    "a file is loaded when unchanged for this long",
    "How long a file, or a folder without `_SUCCESS`, must be unchanged before it is loaded.",
)
PARTITION = defaulted(
    "partition",
    one_of(PARTITIONS),
    '"day"',
    'or "hour": the unit of re-evaluation',
    "The length of a time partition: the unit in which the feed is re-evaluated, and shown in "
    "Dagster.",
)
PARTITION_IN_PATH = defaulted(
    "partition_in_path",
    FLAG,
    "false",
    "true: the path has the day or hour, as in 2026-11-18T09.csv",
    "Whether the day or hour of a delivery is in its path, as in `2026-11-18T09.csv` or "
    "`dt=2026-11-18/hr=09/part-0.csv`: the first date in it counts. Otherwise the time of arrival "
    "does.",
    example="true",
)
PARTITIONS_FROM = optional(
    "partitions_from",
    TEXT,
    "the first that Dagster shows; default: the lake's first day",
    "The first partition that Dagster shows, a day or an hour as in `partition`; with hours, a day "
    "means its first hour. Default: the day the lake was created.",
    example='"2026-11-18"',
)
PARTITIONS_TO = optional(
    "partitions_to",
    TEXT,
    "the last that Dagster shows; default: now",
    "The last partition that Dagster shows, for a closed history; with hours, a day means its last "
    "hour. Default: the current hour or day.",
    example='"2026-11-18"',
)
FEED_OWNERS = defaulted(
    "owners",
    OWNERS,
    "[]",
    "owners, as shown in Dagster",
    'The owners of this feed: e-mail addresses, and teams like `"team:desk"`. Dagster shows them '
    "beside its tables.",
    example='["team:desk"]',
)
FRESH_WITHIN = optional(
    "fresh_within",
    DURATION,
    "Dagster warns when nothing was evaluated for this long",
    "Dagster calls the events of this feed overdue when nothing was evaluated for this long, at "
    "least a minute. Without this key, never.",
    example='"3h"',
)

AXIS_UNITS = defaulted(
    "units",
    UNITS,
    "{}",
    "units of the axes, shown in the report",
    "The units of the axes. The report shows them beside its numbers; nothing is computed with "
    "them.",
    example='{ price = "USD" }',
)

OF_FEED_ITSELF: tuple[Key[Any], ...] = (
    *(AXES, SOURCE, FORM, STREAM_COLUMN, TS_COLUMN, TS_UNIT, TIMEZONE, CLOCK_COLUMN, DELETED),
    *(SEQUENCE_COLUMN, SEQUENCE_IS, TIES, PAYLOAD_COLUMNS, POSITION, POSITION_IN),
    *(ALLOWED_LATENESS, LATENESS_BY, IDLE, MAX_SKEW, SETTLE),
    *(PARTITION, PARTITION_IN_PATH, PARTITIONS_FROM, PARTITIONS_TO),
    *(FEED_OWNERS, FRESH_WITHIN, AXIS_UNITS),
)
USUAL = frozenset(key.name for key in OF_FEED_ITSELF if key.brief or key.missing is not None)
"""Names of those that the file of `fencepost init` shows."""
