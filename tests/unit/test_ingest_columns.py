"""What a feed declares besides its axes is loaded with its tuples, from every form of file."""

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from fencepost.errors import LakeError
from fencepost.times import to_microseconds
from pipelines.project.settings import Feed
from tests.support.crashes import Killed, killed_at
from tests.support.lakes.landing_place import AT, T0, Place

KINDS = (
    ("trip", "text"),
    ("size", "long"),
    ("heading", "double"),
    ("open", "boolean"),
    ("sent", "timestamp"),
)
NAMES = ("sequence", *(f"payload_{name}" for name, _ in KINDS))
HEAD = "stream_id,ts,price,id,trip,size,heading,open,sent\n"
FULL = {
    "sequence": 7,
    "payload_trip": "t 1",
    "payload_size": 12,
    "payload_heading": 1.5,
    "payload_open": True,
    "payload_sent": T0 - 1,
}
NULL = {"sequence": 9, **{f"payload_{name}": None for name, _ in KINDS}}
SENT = "2026-11-18T11:59:59.999999Z"
CSV = f"{HEAD}a,{AT.format(1)},1,7,t 1,12,1.5,true,{SENT}\na,{AT.format(1)},1,9,,,,,\n"


def made(folder: Path, feed: Feed) -> Place:
    """A lake with what the feed declares."""
    place = Place.make(folder, feed)
    place.recovered()
    return place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A lake with a feed of numbers and payload."""
    return made(
        tmp_path, Feed("ticks", ("price",), Path("ticks"), payload=KINDS, sequence_column="id")
    )


def loaded(place: Place) -> list[dict[str, Any]]:
    rows = [{name: row[name] for name in NAMES} for row in place.tuples()]
    return [{**row, "payload_sent": to_microseconds(row["payload_sent"])} for row in rows]


def as_json() -> str:
    full = {"id": 7, "trip": "t 1", "size": 12, "heading": 1.5, "open": True, "sent": SENT}
    lines: list[dict[str, Any]] = [full, {"id": 9, "trip": None, "open": ""}]
    own = {"stream_id": "a", "ts": AT.format(1), "price": 1}
    return "".join(json.dumps({**own, **line}) + "\n" for line in lines)


def as_parquet() -> bytes:
    times = pa.array([T0 - 1, None], pa.timestamp("us", "UTC"))
    columns = {
        "stream_id": ["a", "a"],
        "ts": [AT.format(1)] * 2,
        "price": [1, 1],
        "id": [7, 9],
        "trip": pa.array(["t 1", None]).dictionary_encode(),
        "size": pa.array([12.0, None]),
        "heading": [1.5, None],
        "open": [True, None],
        "sent": times,
    }
    into = io.BytesIO()
    pq.write_table(pa.table(columns), into)
    return into.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.csv", CSV), ("a.jsonl", as_json()), ("a.parquet", as_parquet())],
    ids=lambda part: part[:6] if isinstance(part, str) else "bytes",
)
def test_payload_and_sequence_are_loaded_from_every_form(place, name, content):
    place.land(name, content)
    place.ingest()
    assert place.reasons() == []
    assert loaded(place) == [FULL, NULL]


def test_a_cell_that_is_not_of_its_kind_makes_its_row_malformed(place):
    good = ["7", "t", "12", "1.5", "true", SENT]
    wrong = [
        (0, "", "id is empty"),
        (0, "1.5", "id: '1.5' is not a whole number"),
        (0, "9" * 20, f"id: '{'9' * 20}' is beyond 64 bits"),
        (2, "1e3", "size: '1e3' is not a whole number"),
        (3, "north", "heading: 'north' is not a number"),
        (4, "maybe", "open: 'maybe' is none of true, t, yes, 1, false, f, no, 0"),
        (5, "noon", "sent: 'noon' is not an instant like '2026-11-18T14:02:11Z'"),
    ]
    rows = []
    for at, cell, _ in wrong:
        cells = [*good[:at], cell, *good[at + 1 :]]
        rows.append(",".join(["a", AT.format(1), "1", *cells]))
    place.land("a.csv", HEAD + "\n".join(rows) + "\n")
    place.ingest()
    assert [detail for _, _, detail in place.reasons()] == [why for _, _, why in wrong]


@pytest.mark.parametrize("at", ["ingest.planned", "ingest.quarantine", "ingest.tuples"])
def test_killed_and_finished_nothing_of_it_is_lost(place, at):
    place.land("a.csv", CSV + "a,noon,1,7,t,1,1,true,\n")
    with pytest.raises(Killed), killed_at(at):
        place.ingest()
    place.recovered()
    assert loaded(place) == [FULL, NULL]
    assert len(place.reasons()) == 1


def test_a_retry_reads_with_what_is_declared_by_then(place):
    place.land("a.csv", f"{HEAD}a,2026-11-18 12:59:00,1,7,t 1,12,1.5,true,\n")
    place.ingest()
    assert [detail for _, _, detail in place.reasons()] == [
        "ts: '2026-11-18 12:59:00' has no offset: declare timezone = \"…\""
    ]
    place.declare("ticks", timezone="Europe/Berlin")
    place.retry()
    assert loaded(place) == [{**FULL, "payload_sent": None}]
    assert place.tuples()[0]["ts"] == T0 - 60_000_000


def test_columns_that_a_feed_with_data_gets_are_null_in_older_rows(tmp_path):
    place = Place.make(tmp_path, Feed("ticks", ("price",), Path("ticks")))
    place.land("a.csv", CSV)
    place.ingest()
    place.declare("ticks", payload=KINDS, sequence_column="id")
    place.recovered()
    place.land("b.csv", CSV.replace(",1,9,", ",2,9,"))
    place.ingest()
    none = dict.fromkeys(NAMES)
    assert loaded(place) == [none, none, FULL, NULL]


def test_the_files_of_a_zip_are_one_file_of_the_delivery_and_retried_by_their_rows(tmp_path):
    feed = Feed(
        "ticks",
        ("price",),
        Path("ticks"),
        stream_from_path=r"/(?P<stream>\w+)\.csv",
        timezone="UTC",
        date_from_path=r"^(?P<date>[0-9-]{10})/",
        ts_column="time",
    )
    place = made(tmp_path, feed)
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w") as archive:
        archive.writestr("in/SPY.csv", "time,price\n09:30:00,1\n09:31,x\n")
        archive.writestr("in/IBM.csv", "time,price\n093000,2\n09:31:00.5,3\n")
    place.land("2026-11-18/day.zip", into.getvalue())
    place.ingest()
    nine = T0 - 9_000_000_000
    rows = [(row["stream_id"], row["ts"] - nine, row["line"]) for row in place.tuples()]
    assert rows == [("IBM", 60_500_000, 3), ("SPY", 0, 5)]
    assert [line for line, _, _ in place.reasons()] == [2, 6]
    place.declare("ticks", ts_format="%H%M%S")
    place.retry()
    rows = [(row["stream_id"], row["ts"] - nine, row["line"]) for row in place.tuples()]
    assert rows == [("IBM", 60_500_000, 3), ("SPY", 0, 5), ("IBM", 0, 2)]


def test_a_wide_file_is_accounted_for_cell_by_cell_and_retried_so(tmp_path):
    place = Place.make(tmp_path, Feed("ticks", ("price",), Path("ticks"), wide=True))
    place.land("a.csv", f"ts,A,B\n{AT.format(1)},1,\n{AT.format(2)},x,4\n")
    report = place.ingest()
    assert (report.rows, report.tuples, report.malformed) == (3, 2, 1)
    assert [(row["stream_id"], row["line"]) for row in place.tuples()] == [("A", 5), ("B", 9)]
    place.declare("ticks", decimal=",")
    place.retry()
    assert len(place.tuples()) == 2
    assert [line for line, _, _ in place.reasons()] == [8, 8]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (
            {"payload": (("size", "text"),)},
            r"payload_size of the table '\w+' has the type long, and is declared as string\. What",
        ),
        (
            {"sequence_is": "text"},
            "column sequence of the table 'ticks' has the type long, .* sequence_is says what",
        ),
        (
            {"axes": ("cost",)},
            "the feed 'ticks' is declared with the axes cost, and this lake was created with price",
        ),
    ],
)
def test_a_declaration_that_old_rows_contradict_is_refused_in_words(place, changed, why):
    place.land("a.csv", CSV)
    place.ingest()
    place.declare("ticks", **changed)
    with pytest.raises(LakeError, match=why):
        place.recovered()


def test_how_files_name_their_columns_may_change(place):
    place.land("a.csv", CSV)
    place.ingest()
    place.declare("ticks", stream_column="who", sequence_column="number", payload=KINDS[:1])
    place.recovered()
    place.land("b.csv", f"who,ts,price,number,trip\nb,{AT.format(2)},1,1,t\n")
    place.ingest()
    assert place.reasons() == []
    rows = place.tuples()
    assert [row["stream_id"] for row in rows] == ["a", "a", "b"]
    assert [row["sequence"] for row in rows] == [7, 9, 1]


def test_a_planned_delivery_is_read_as_declared_when_it_was_planned(tmp_path):
    feed = Feed("ticks", ("price",), Path("ticks"), timezone="Europe/Berlin", decimal=",")
    place = made(tmp_path, replace(feed, delimiter=";", payload=KINDS[:1], stream="a"))
    place.land("a.csv", "ts;price;trip\n2026-11-18 12:59:00;1,5;t\n")
    with pytest.raises(Killed), killed_at("ingest.planned"):
        place.ingest()
    place.declare("ticks", timezone="Asia/Tokyo", decimal=".", stream="b", payload=())
    place.recovered()
    (row,) = place.tuples()
    assert (row["ts"], row["price"], row["stream_id"]) == (T0 - 60_000_000, 1.5, "a")
    place.land("b.csv", "ts;price;trip\n2026-11-18 20:59:00;2.5;t\n")
    place.ingest()
    assert [(row["ts"], row["price"], row["stream_id"]) for row in place.tuples()] == [
        (T0 - 60_000_000, 1.5, "a"),
        (T0 - 60_000_000, 2.5, "b"),
    ]
    first, second = (json.loads(row["declared"]) for row in place.arrivals())
    assert first | {"timezone": "Asia/Tokyo", "stream": "b"} == second | {
        "decimal": ",",
        "payload": [["trip", "text"]],
    }
