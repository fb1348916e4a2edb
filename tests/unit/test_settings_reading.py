"""The keys that say how files are read, and what is said where two of them contradict."""

from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.times import DAY
from pipelines.ingest.units import ReadUnit
from pipelines.project.settings import Feed
from tests.support.commands.settled import faults, understood_in
from tests.unit.test_settings import FEED, about_feed

TRADES = """
[feeds.trades]
axes = ["price"]
source = "trades"
columns = ["ms", "price", "size", "exchange"]
ts_column = "ms"
ts_unit = "ms"
timezone = "America/New_York"
date_from_path = "(?P<date>[0-9]{8})_"
stream_from_path = "_(?P<stream>[a-z]+)_"
payload = { exchange = "text", size = "long" }
ties = "all"
"""
TRACKS = """
[feeds.tracks]
axes = ["lat", "lon"]
source = "tracks"
skip_lines = 6
delimiter = ";"
decimal = ","
encoding = "latin-1"
ts_column = ["day", "time"]
ts_format = "%d.%m.%Y %H:%M:%S"
timezone = "Asia/Shanghai"
sequence_column = "number"
sequence_is = "text"
position = ["lon", "lat"]
lateness_by = "stream"
idle = "12h"
payload = ["driver"]
"""


def test_how_files_are_read_can_be_said():
    feeds = understood_in(Path("/p"), TRADES + TRACKS).feeds
    assert feeds["trades"] == Feed(
        name="trades",
        axes=("price",),
        source=Path("/p/trades"),
        columns=("ms", "price", "size", "exchange"),
        ts_column="ms",
        ts_unit="ms",
        timezone="America/New_York",
        date_from_path="(?P<date>[0-9]{8})_",
        stream_from_path="_(?P<stream>[a-z]+)_",
        payload=(("exchange", "text"), ("size", "long")),
        ties="all",
    )
    assert feeds["tracks"] == Feed(
        name="tracks",
        axes=("lat", "lon"),
        source=Path("/p/tracks"),
        skip_lines=6,
        delimiter=";",
        decimal=",",
        encoding="latin-1",
        ts_column=("day", "time"),
        ts_format="%d.%m.%Y %H:%M:%S",
        timezone="Asia/Shanghai",
        sequence_column="number",
        sequence_is="text",
        position=("lon", "lat"),
        lateness_by="stream",
        idle=DAY // 2,
        payload=(("driver", "text"),),
    )
    assert feeds["tracks"].place == ((1, 0), True)
    assert replace(feeds["tracks"], position_in="plane").place == ((1, 0), False)


def test_a_task_gets_the_feed_as_it_was_declared():
    for feed in understood_in(Path("/p"), TRADES + TRACKS + FEED).feeds.values():
        unit = ReadUnit("/lake", feed, 8, shared=True, parts=())
        assert ReadUnit.from_json(unit.to_json()) == unit


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('timezone = "Europe/Berln"', "timezone: 'Europe/Berln' is no IANA time zone: one like"),
        ('timezone = "../etc/passwd"', "timezone: '../etc/passwd' is no IANA time zone"),
        ('ts_column = ["day"]', "ts_column: ['day'] was given, where a text, or a list of two"),
        ('ts_column = ["day", "day"]', "ts_column: ['day', 'day'] was given, where a text, or a"),
        ('ts_format = "%d/%m"', "ts_format: '%d/%m' lacks a year (%Y or %y)"),
        ('ts_format = "%d/%m/%Y %q"', "ts_format: '%d/%m/%Y %q': %q is no code of a time"),
        ('ts_format = "%d/%m/%Y %d"', "ts_format: '%d/%m/%Y %d' has a day (%d) twice"),
        ('ts_format = "%d/%m/%Y %I"', "ts_format: '%d/%m/%Y %I': %I and %p go together"),
        ('ts_format = "%d/%m/%Y"', "ts_format: '%d/%m/%Y' has no offset (%z), so timezone is"),
        ('timezone = "UTC"\nts_format = "%H:%M"', "ts_format: '%H:%M' has no date; add one, or"),
        ('date = "2013-10-07"', "date: timezone is missing, where this is the day"),
        ('date = "7.10.2013"', "date: '7.10.2013' is not a day like '2013-10-07'"),
        ('date = "2013-02-30"', "date: '2013-02-30' is not a calendar date"),
        ('date_from_path = "[0-9]+"', "date_from_path: '[0-9]+' was given, where a regular"),
        ('date_from_path = "("', "date_from_path: '(' is no regular expression: missing )"),
        ('stream_from_path = "(?P<date>.)"', "stream_from_path: '(?P<date>.)' was given, where a"),
        ('stream = "a\\u0001"', "stream: 'a�' holds a control character, U+0001"),
        ('stream = "a"\nstream_column = "b"', "stream: stream_column is given too; one of them"),
        ('stream = "a"\nwide = true', "wide: stream is given too; one of them says it"),
        ('ts_unit = "s"\ntimezone = "UTC"\nts_format = "%F"', "ts_unit: ts_format is given too;"),
        ('sequence_is = "text"', "sequence_is: sequence_column is missing"),
        ('sequence_column = "price"', "sequence_column: 'price' is in axes too; each has its own"),
        ('idle = "1h"', "idle: lateness_by is missing, which makes each stream wait"),
        ('ties = "last"', "ties: 'last' was given, where one of all, first was expected"),
        ('ties = "first"\nsequence_column = "n"', "ties: sequence_column 'n' orders the tuples"),
        ('axes = ["a", "b"]\nwide = true', "wide: each column is a stream, which gives one axis"),
        ('delimiter = ", "', "delimiter: ', ' was given, where one ASCII character that is no"),
        ('format = "json"\ndelimiter = ";"', "delimiter: format is 'json', and only CSV has that"),
        ('format = "delta"\nskip_lines = 1', "skip_lines: format is 'delta', and only text files"),
        ('columns = ["ts", "price"]', "columns: 'stream_id', which another key names, is none of"),
        ('columns = ["ts", "ts"]\nstream = "a"', "columns: 'ts' occurs twice"),
        ('payload = ["a b"]', "payload: 'a b' is no name of a payload column: a letter or _ first"),
        ('payload = ["a", "A"]', "payload: 'a' and 'A' are one name in SQL"),
        ('payload = {a = "int"}', "payload: 'int' was given for 'a', where one of text, long"),
        ('payload = ["price"]', "payload: 'price' is in axes too, and axes are on events anyway"),
        ('position = ["price"]', "position: two axes were expected, longitude first"),
        ('position_in = "plane"', "position_in: position is missing, the two axes"),
        ('position_in = "metres"', "position_in: 'metres' was given, where one of degrees, plane"),
    ],
)
def test_a_wrong_value_or_a_contradiction_is_told_in_words(line, told):
    assert about_feed(*line.split("\n"))[0].startswith(told)


def test_a_payload_column_is_of_one_kind_in_all_feeds():
    other = FEED.replace("ticks", "bids").replace('"landing"', '"bids"')
    given = FEED + 'payload = ["id"]\n' + other + 'payload = {Id = "long"}\n'
    (why,) = faults(given)
    assert why.startswith("[feeds.bids] payload: 'Id' is long, and with 'ticks' text; the events")


def test_a_payload_column_is_spelt_alike_in_all_feeds():
    other = FEED.replace("ticks", "bids").replace('"landing"', '"bids"')
    (why,) = faults(FEED + 'payload = ["Side"]\n' + other + 'payload = ["side"]\n')
    assert why.startswith("[feeds.bids] payload: 'side' is 'Side' with 'ticks', one name in SQL")
