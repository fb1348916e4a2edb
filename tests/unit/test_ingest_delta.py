"""Somebody else's Delta table as a source: a version that appends is a delivery, in order, once."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from pipelines.project.settings import Feed
from tests.support.crashes import Killed, killed_at
from tests.support.lakes.landing_place import T0, Place

FEED = Feed("ticks", ("price",), Path("ticks"), form="delta")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A lake whose feed is a Delta table."""
    return Place.make(tmp_path, FEED)


def source(place: Place) -> str:
    return str(place.settings.feeds["ticks"].source)


def rows(*prices: float, stream: str = "s", **more: list[object]) -> pa.Table:
    count = len(prices)
    ts = pa.array([T0 + k for k in range(count)], pa.timestamp("us", "UTC"))
    columns = {"stream_id": [stream] * count, "ts": ts, "price": list(prices), **more}
    return pa.table(columns)


def append(place: Place, table: pa.Table, **how: object) -> None:
    write_deltalake(source(place), table, mode="append", **how)  # type: ignore[call-overload]


def prices(place: Place) -> list[tuple[int, float]]:
    return [(row["arrival"], row["price"]) for row in place.tuples()]


def test_each_version_that_appends_is_one_delivery_in_order(place):
    for k in range(12):
        append(place, rows(k, stream=f"s{k}"))
    report = place.ingest()
    assert prices(place) == [(k + 1, float(k)) for k in range(12)]
    assert [taken.path for taken in report.loaded][::11] == [
        "_delta_log/00000000000000000000.json",
        "_delta_log/00000000000000000011.json",
    ]
    assert place.ingest().loaded == []
    append(place, rows(99))
    assert [(taken.n, taken.tuples) for taken in place.ingest().loaded] == [(13, 1)]


def test_a_version_that_only_lays_rows_out_anew_is_passed_over(place):
    for k in range(3):
        append(place, rows(k))
    place.ingest()
    DeltaTable(source(place)).optimize.compact()
    append(place, rows(7))
    place.ingest()
    assert prices(place) == [(1, 0.0), (2, 1.0), (3, 2.0), (4, 7.0)]


def test_a_version_that_deletes_rows_stops_the_feed_until_the_user_says_what(place):
    append(place, rows(1, 2))
    DeltaTable(source(place)).delete("price = 1")
    append(place, rows(3))
    report = place.ingest()
    assert [(each.n, each.reason) for each in report.refused] == [(2, "updates")]
    assert "--reason updates" in report.refused[0].detail
    again = place.ingest()
    assert (again.loaded, again.refused) == ([], [])
    assert again.passed_over["ticks"][0].startswith("version 1 of ")
    assert place.retry().loaded == []
    taken = place.retry(reasons=["updates"]).loaded
    assert [(each.path[-6:], each.tuples) for each in taken] == [("1.json", 1)]
    place.ingest()
    assert prices(place) == [(1, 1.0), (1, 2.0), (3, 2.0), (4, 3.0)]


def test_values_of_partition_columns_come_from_the_log(place):
    many = rows(0, 0, 0, stream="x").set_column(2, "price", pa.array([1.5, None, 2.5]))
    many = many.set_column(0, "stream_id", pa.array(["a/b", "ü", "a/b"]))
    append(place, many, partition_by=["stream_id", "price"])
    place.ingest()
    assert [(row["stream_id"], row["price"]) for row in place.tuples()] == [
        ("a/b", 1.5), ("a/b", 2.5)
    ]  # fmt: skip
    (aside,) = place.aside()
    assert aside["detail"] == "price is null"
    assert json.loads(aside["raw"])["stream_id"] == "ü"


def test_a_time_that_is_a_partition_is_utc(place):
    append(place, rows(1), partition_by=["ts"])
    place.ingest()
    assert [row["ts"] for row in place.tuples()] == [T0]


def test_a_column_that_came_later_is_null_before(tmp_path):
    place = Place.make(tmp_path, Feed("ticks", ("price", "volume"), Path("ticks"), form="delta"))
    append(place, rows(1))
    append(place, rows(2, volume=[5.0]), schema_mode="merge")
    place.ingest()
    assert prices(place) == [(2, 2.0)]
    assert place.reasons() == [(1, "malformed", "volume is null")]


def test_files_stand_in_the_order_of_their_paths_and_lines_are_rows(place):
    table = rows(*range(6)).append_column("part", pa.array([2, 1, 2, 1, 2, 1]))
    append(place, table, partition_by=["part"])
    place.ingest()
    assert [(row["file"], row["line"], row["price"]) for row in place.tuples()] == [
        (0, 1, 1.0), (0, 2, 3.0), (0, 3, 5.0), (1, 1, 0.0), (1, 2, 2.0), (1, 3, 4.0)
    ]  # fmt: skip
    assert place.arrivals()[0]["ignored"] == ["part"]


def test_a_table_that_maps_columns_is_refused_with_words(place):
    append(place, rows(1))
    log = Path(source(place)) / "_delta_log" / f"{0:020d}.json"
    mapped = log.read_text().replace(
        '"configuration":{}', '"configuration":{"delta.columnMapping.mode":"name"}'
    )
    assert mapped != log.read_text()
    log.write_text(mapped)
    report = place.ingest()
    assert report.loaded == []
    assert "column mapping name" in report.passed_over["ticks"][0]


def test_a_deletion_vector_takes_rows_away(place):
    append(place, rows(1))
    append(place, rows(2))
    log = Path(source(place)) / "_delta_log" / f"{1:020d}.json"
    vector = {"storageType": "u", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["deletionVector"] = vector
    log.write_text("\n".join(map(json.dumps, lines)))
    assert [each.reason for each in place.ingest().refused] == ["updates"]
    assert prices(place) == [(1, 1.0)]


@pytest.mark.fault(61)
def test_no_file_outside_of_the_table_is_read(place):
    append(place, rows(1))
    append(place, rows(2))
    log = Path(source(place)) / "_delta_log" / f"{1:020d}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["path"] = "..%2F" + line["add"]["path"]
    log.write_text("\n".join(map(json.dumps, lines)))
    report = place.ingest()
    assert "names a file outside of the table: '../" in report.refused[0].detail
    assert prices(place) == [(1, 1.0)]


@pytest.mark.fault(59)
def test_a_log_that_was_cleaned_up_between_is_told(place):
    append(place, rows(1))
    place.ingest()
    append(place, rows(2))
    append(place, rows(3))
    DeltaTable(source(place)).create_checkpoint()
    (Path(source(place)) / "_delta_log" / f"{1:020d}.json").unlink()
    report = place.ingest()
    assert report.loaded == []
    assert "the log of version 1 is gone" in report.passed_over["ticks"][0]


def test_no_table_yet_is_no_fault_but_is_told(place):
    report = place.ingest()
    assert "cannot be opened as a Delta table" in report.passed_over["ticks"][0]


@pytest.mark.fault(4)
def test_a_crash_between_reading_and_commit_takes_a_version_once(place):
    append(place, rows(1, 2))
    with killed_at("ingest.tuples"), pytest.raises(Killed):
        place.ingest()
    append(place, rows(3))
    place.recovered()
    place.ingest()
    assert prices(place) == [(1, 1.0), (1, 2.0), (2, 3.0)]


@pytest.mark.fault(59)
def test_a_data_file_that_was_vacuumed_away_refuses_its_version(place):
    append(place, rows(1))
    append(place, rows(2))
    for file in DeltaTable(source(place), version=0).file_uris():
        Path(file).unlink()
    assert [each.reason for each in place.ingest().refused] == ["vanished"]
    assert prices(place) == [(2, 2.0)]


def test_rows_turned_away_are_taken_up_from_the_version_that_brought_them(place):
    far = datetime(2026, 11, 20, tzinfo=UTC)
    table = rows(1, 2).set_column(1, "ts", pa.array([far, far], pa.timestamp("us", "UTC")))
    append(place, table)
    place.ingest()
    assert [taken.future for taken in place.retry().loaded] == [2]
    assert [taken.tuples for taken in place.retry(T0 + 2 * 86_400_000_000).loaded] == [2]
    assert prices(place) == [(3, 1.0), (3, 2.0)]
