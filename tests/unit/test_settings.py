"""What may stand in `fencepost.toml`, and what is said of what may not."""

import tomllib
from pathlib import Path

import pytest

from fencepost.times import DAY, SECOND
from pipelines.project.settings import VIEWS, Feed, Settings, keys
from pipelines.project.templates import first_settings
from schemas import RESERVED
from tests.support.commands.settled import faults, understood_in

FEED = '[feeds.ticks]\naxes = ["price"]\nsource = "landing"\n'
EVERYTHING = """
[lake]
path = "/data/lake"
queries = "rules"
buckets = 3
epoch_rows = 1000
group = 5
snapshot_every = 7
[run]
runner = "here"
read_path = "files"
cores = 2
memory = "800M"
[feeds.gps]
axes = ["x", "y"]
source = "/in/gps"
format = "json"
stream_column = "Vehicle ID"
ts_column = "at"
ts_unit = "ms"
clock_column = "sent"
deleted = "Left"
allowed_lateness = "90s"
max_skew = "PT5M"
settle = "0s"
partition = "hour"
partition_in_path = true
partitions_from = "2026-11-18T09"
partitions_to = "2026-11-30"
owners = ["desk@example.com", "team:fleet"]
fresh_within = "2h"
units = { x = "m" }
"""


def about_feed(*lines: str) -> list[str]:
    """What is said of a feed declared in these lines instead of its own."""
    keys = [line.partition(" ")[0] for line in lines]
    own = [line for line in FEED.splitlines() if line.partition(" ")[0] not in keys]
    return [told.removeprefix("[feeds.ticks] ") for told in faults("\n".join([*own, *lines]))]


def test_what_is_not_said_has_its_default():
    folder = Path("/project")
    assert understood_in(folder, FEED) == Settings(
        file=folder / "fencepost.toml",
        root=folder / "lake",
        feeds={
            "ticks": Feed(
                name="ticks",
                axes=("price",),
                source=folder / "landing",
                form=None,
                stream_column="stream_id",
                ts_column="ts",
                ts_unit=None,
                clock_column=None,
                deleted=None,
                allowed_lateness=0,
                max_skew=DAY,
                settle=2 * SECOND,
                partition="day",
                partition_in_path=False,
                partitions_from=None,
                partitions_to=None,
                owners=(),
                fresh_within=None,
            )
        },
        queries=None,
        buckets=8,
        epoch_rows=10_000_000,
        group=32,
        snapshot_every=50,
        joins=(),
        runner="spark",
        read_path="auto",
        cores=None,
        memory=None,
    )


def test_everything_can_be_said():
    assert understood_in(Path("/project"), EVERYTHING) == Settings(
        file=Path("/project/fencepost.toml"),
        root=Path("/data/lake"),
        feeds={
            "gps": Feed(
                name="gps",
                axes=("x", "y"),
                source=Path("/in/gps"),
                form="json",
                stream_column="Vehicle ID",
                ts_column="at",
                ts_unit="ms",
                clock_column="sent",
                deleted="Left",
                allowed_lateness=90 * SECOND,
                max_skew=300 * SECOND,
                settle=0,
                partition="hour",
                partition_in_path=True,
                partitions_from="2026-11-18T09",
                partitions_to="2026-11-30T23",
                owners=("desk@example.com", "team:fleet"),
                fresh_within=7200 * SECOND,
                units={"x": "m"},
            )
        },
        queries=Path("/project/rules"),
        buckets=3,
        epoch_rows=1000,
        group=5,
        snapshot_every=7,
        runner="here",
        read_path="files",
        cores=2,
        memory="800m",
    )


def test_the_feeds_give_the_tables_their_axes():
    settings = understood_in(Path("/project"), FEED + EVERYTHING)
    assert settings.axes == {"ticks": ("price",), "gps": ("x", "y")}
    assert set(settings.tables) == {*RESERVED, "ticks", "gps"}


def test_the_file_that_init_writes_declares_ticks_and_locations():
    plain = first_settings('"lake"')
    settings = understood_in(Path("/project"), plain)
    assert settings.root == Path("/project/lake")
    assert settings.axes == {"ticks": ("price", "volume"), "locations": ("x", "y", "speed")}


def test_with_its_marks_taken_off_the_file_that_init_writes_says_every_usual_key():
    every = _uncommented(first_settings('"lake"'))
    settings = understood_in(Path("/project"), every)
    assert settings.queries == Path("/project/rules")
    assert settings.feeds["sensors"].clock_column == "sent_at"
    assert (settings.buckets, settings.cores) == (8, 4)
    declared = tomllib.loads(every)
    said = [declared[name] for name in ("lake", "run", "report", "alerts")]
    said.append(declared["feeds"]["sensors"])
    usual = {**keys.TABLES, "feeds.<name>": keys.OF_FEED_USUAL}
    assert [[*table] for table in said] == [[key.name for key in of] for of in usual.values()]


@pytest.mark.parametrize("key", [key for of in keys.TABLES.values() for key in of])
def test_what_is_shown_of_a_key_is_what_the_key_takes(key):
    for shown in (key.shown, key.example):
        if shown is not None:
            taken = key.read.take(tomllib.loads(f"shown = {shown}")["shown"])
            assert taken == key.default or shown != key.shown


def _uncommented(plain: str) -> str:
    """Take the marks off the lines that are examples."""
    lines = []
    for line in plain.splitlines():
        bare = line.removeprefix("# ")
        heads = bare.startswith(("[feeds", "[alerts", "[report"))
        is_example = " = " in bare.partition("#")[0] or heads
        lines.append(bare if is_example else line)
    return "\n".join(lines)


# What is wrong


def test_every_fault_is_told_at_once_each_with_its_place():
    text = """
        feed = 1
        [lake]
        path = "a b"
        buckets = 0
        [run]
        runner = "Spark"
        read_path = 3
        cores = true
        memory = "much"
        core = 2
        [feeds.events]
        axes = ["price"]
        sorce = "x"
        """
    keys = (
        "axes, source, format, stream_column, ts_column, ts_unit, timezone, clock_column, deleted, "
        "sequence_column, sequence_is, ties, payload, position, position_in, allowed_lateness, "
        "lateness_by, idle, max_skew, settle, partition, partition_in_path, partitions_from, "
        "partitions_to, owners, fresh_within, units, ts_format, date, date_from_path, columns, "
        "skip_lines, delimiter, decimal, encoding, stream, stream_from_path, wide"
    )
    of_run = "runner, read_path, cores, memory, master, driver_host, spark, reports_address"
    path = "a path with ' ': take one of letters, digits and . _ - / only"
    runner = "'Spark' was given, where one of spark, here was expected"
    tables = "[lake], [run], [report], [alerts] and [feeds.<name>]"
    assert faults(text) == [
        "unknown key 'feed'",
        f"    the tables are {tables}.  Did you mean 'feeds'?",
        f"[lake] path: some engines cannot read '/project/a b', {path}",
        "[feeds.events] 'events' is the name of a table of every lake: name the feed otherwise",
        "[feeds.events] source is missing",
        "    name the folder that its files land in",
        "[feeds.events] unknown key 'sorce'",
        f"    the keys are: {keys}.  Did you mean 'source'?",
        "[lake] buckets: 0 was given, where a whole number from 1 to 4096 was expected",
        f"[run] runner: {runner}.  Did you mean 'spark'?",
        "[run] read_path: 3 was given, where one of auto, files, spark was expected",
        "[run] cores: true was given, where a whole number of 1 or more was expected",
        '[run] memory: \'much\' was given, where a size like "4g" or "800m" was expected',
        "[run] unknown key 'core'",
        f"    the keys are: {of_run}.  Did you mean 'cores'?",
    ]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            'settle = "2 sec"',
            "settle: '2 sec' is not a duration like '90s', '3m', '1h30m' or 'PT3M'",
        ),
        ("settle = 2", 'settle: 2 was given, where a duration like "90s" or "3m" was expected'),
        ('max_skew = "-1s"', "max_skew: '-1s' is not a duration like"),
        ('axes = "price"', "axes: 'price' was given, where a list of texts was expected"),
        ('axes = ["a", 1]', "axes: ['a', 1] was given, where a list of texts was expected"),
        ("axes = []", "axes: the list is empty, where at least one was expected"),
        ('axes = ["a", "a"]', "axes: 'a' occurs twice"),
        ('axes = ["Price"]', "axes: 'Price' is no name of an axis: a-z first, then up to 62 of"),
        ('axes = ["_a"]', "axes: '_a' is no name of an axis"),
        ('axes = ["a; DROP"]', "axes: 'a; DROP' is no name of an axis"),
        ('axes = ["and"]', "axes: 'and' means something else in `where`"),
        ('axes = ["prev_a"]', "axes: 'prev_a': what begins with prev_ are the values"),
        (
            'axes = ["bucket"]',
            "axes: 'bucket' is a column of stream_state and reorder and tuples already",
        ),
        ('axes = ["query_id"]', "axes: 'query_id' is a column of events and leaps already"),
        ('axes = ["line"]', "axes: 'line' is a column of tuples already"),
        ('source = ""', "source: is empty"),
        ('source = "a\\u0000b"', "source: holds a zero character"),
        ("source = 3", "source: 3 was given, where a text was expected"),
        (
            'format = "jsonl"',
            "format: 'jsonl' was given, where one of csv, json, parquet, delta was",
        ),
        ('ts_unit = "min"', "ts_unit: 'min' was given, where one of s, ms, us, ns was expected"),
        (
            'partition = "month"',
            "partition: 'month' was given, where one of day, hour was expected",
        ),
        (
            "partition_in_path = 1",
            "partition_in_path: 1 was given, where true or false was expected",
        ),
        (
            'partitions_from = "2026-11-18T09"',
            "partitions_from: '2026-11-18T09' was given, where a day like \"2026-11-18\" was",
        ),
        ("partitions_from = 2026-11-18", "partitions_from: 2026-11-18 was given, where a text was"),
        (
            'owners = ["desk"]',
            'owners: \'desk\' is no owner like "name@example.com" or "team:desk"',
        ),
        ('owners = "desk"', "owners: 'desk' was given, where a list of owners was expected"),
        ('format = "delta"\npartition_in_path = true', "partition_in_path: a version of a"),
        ('ts_column = "stream_id"', "ts_column: 'stream_id' is in stream_column too"),
        ('clock_column = "price"', "clock_column: 'price' is in axes too; each has its own column"),
        ('deleted = "price"', "deleted: 'price' is in axes too; each has its own column"),
        ('deleted = "ts"', "ts_column: 'ts' is in deleted too; each has its own column"),
        (
            'deleted = "stream_id"',
            "stream_column: 'stream_id' is in deleted too; each has its own column",
        ),
        (
            'clock_column = "at"\ndeleted = "at"',
            "deleted: 'at' is in clock_column too; each has its own column",
        ),
        ('units = "USD"', "units: 'USD' was given, where a table of texts by axis was expected"),
        ('units = { prize = "USD" }', "units: 'prize' is none of the axes price.  Did you mean"),
        ("units = { price = 1 }", "units: 1 was given for 'price', where a unit of 1 to 16"),
        ('units = { price = "a\\nb" }', "units: 'a�b' was given for 'price', where a unit of 1 to"),
        ("deleted = true", "deleted: true was given, where a text was expected"),
        ('deleted = ""', "deleted: is empty"),
        ('axes = ["deleted"]', "axes: 'deleted' is a column of "),
    ],
)
def test_a_wrong_value_is_told_with_what_was_expected(line, told):
    (fault,) = about_feed(line)
    assert fault.startswith(told)


@pytest.mark.parametrize(
    "name", [*RESERVED, *VIEWS, "landing", "marts", "raw_ticks", "Ticks", "a.b", "1a", "", "a" * 64]
)
@pytest.mark.fault(60, 61)
def test_a_name_that_the_lake_or_sql_has_already_or_cannot_have_is_refused(name):
    (fault,) = faults(FEED.replace("ticks", f'"{name}"', 1))
    assert "name" in fault.removeprefix("[feeds.")


def test_a_name_may_be_a_word_of_sql_and_63_long():
    for name in ("order", "select", "a" * 63):
        assert name in understood_in(Path("/project"), FEED.replace("ticks", name, 1)).feeds
    assert understood_in(Path("/p"), FEED.replace("price", "limit")).axes == {"ticks": ("limit",)}


@pytest.mark.parametrize(
    ("given", "unit", "first"),
    [
        ("2026-11-18", "day", "2026-11-18"),
        ("2026-11-18", "hour", "2026-11-18T00"),
        ("2026-11-18T09", "hour", "2026-11-18T09"),
    ],
)
def test_a_day_to_begin_with_is_its_first_hour_where_a_partition_is_an_hour(given, unit, first):
    more = f'partition = "{unit}"\npartitions_from = "{given}"\n'
    assert understood_in(Path("/p"), FEED + more).feeds["ticks"].partitions_from == first


@pytest.mark.parametrize(
    ("given", "unit", "last"),
    [
        ("2026-11-18", "day", "2026-11-18"),
        ("2026-11-18", "hour", "2026-11-18T23"),
        ("2026-11-18T09", "hour", "2026-11-18T09"),
    ],
)
def test_a_day_to_end_with_is_its_last_hour_where_a_partition_is_an_hour(given, unit, last):
    more = f'partition = "{unit}"\npartitions_to = "{given}"\n'
    assert understood_in(Path("/p"), FEED + more).feeds["ticks"].partitions_to == last


def test_no_partitions_end_before_they_begin():
    (fault,) = about_feed('partitions_from = "2026-11-18"', 'partitions_to = "2026-11-17"')
    assert fault == "partitions_to: 2026-11-17 lies before partitions_from, 2026-11-18"
    for unit in ("day", "hour"):
        whole = f'partition = "{unit}"\npartitions_from = "2026-11-18"\n'
        assert understood_in(Path("/p"), FEED + whole + 'partitions_to = "2026-11-18"').feeds


@pytest.mark.parametrize(
    "given",
    [
        *("2026-11-18T", "2026-11-18T9", "2026-11-18t09", "2026-11-18 09", "2026-11-18T09:00"),
        *("2026-11-31", "2026-11", "20261118", "2026-11-18T24", "0999-11-18", "T00"),
    ],
)
def test_no_partitions_begin_with_what_is_no_hour(given):
    (fault,) = about_feed('partition = "hour"', f'partitions_from = "{given}"')
    expected = 'an hour like "2026-11-18T09" was expected'
    assert fault == f"partitions_from: '{given}' was given, where {expected}"


def test_without_a_feed_there_is_nothing_to_do():
    for text in ("", "[feeds]"):
        assert faults(text)[0] == "no feed is declared"
    assert faults("feeds = 3") == ["feeds is 3, where a table [feeds] was expected"]
    assert faults("[feeds]\nticks = 3")[0] == (
        "feeds.ticks is 3, where a table [feeds.ticks] was expected"
    )


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("lake", "/project/lake is the lake, or lies in it"),
        ("lake/in", "/project/lake/in is the lake, or lies in it"),
        (".", "the lake /project/lake lies in /project"),
    ],
)
@pytest.mark.fault(61)
def test_a_landing_folder_keeps_clear_of_the_lake(source, told):
    assert f"source: {told}" in about_feed(f'source = "{source}"')


def test_no_landing_folder_lies_in_another():
    other = FEED.replace("ticks", "other")
    (fault,) = faults(FEED + other.replace("landing", "landing/other"))
    folder = "/project/landing"
    assert fault == (
        f"[feeds.ticks] source: the folder of 'other', {folder}/other, lies in {folder}"
    )
    assert len(understood_in(Path("/project"), FEED + other).feeds) == 2
