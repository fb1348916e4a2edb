"""Parquet: its types are judged once for the file, its values row by row."""

import json
import math
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fencepost.errors import Faults
from pipelines.files.read.rows import ReadDelivery
from tests.support.commands.files import faulty, raws, rows_of, taken, written

US = 1_795_010_531_000_000
TIMES = pa.array([US, US + 1], pa.timestamp("us", "UTC"))


def delivery(tmp_path, columns, axes=None, writing=None, **declared) -> ReadDelivery:
    table = {"stream_id": pa.array(["a", "b"]), "ts": TIMES, "price": pa.array([1.5, -2.0])}
    path = tmp_path / "day.parquet"
    pq.write_table(pa.table({**table, **columns}), path, **(writing or {}))
    return taken(path, axes, **declared)


def refused(tmp_path, columns, **declared) -> str:
    with pytest.raises(Faults) as fault:
        delivery(tmp_path, columns, **declared)
    return str(fault.value)


def test_rows_are_read_with_their_numbers_as_lines(tmp_path):
    read = delivery(tmp_path, {})
    assert rows_of(read) == [("a", US, (1.5,)), ("b", US + 1, (-2.0,))]
    assert (read.axes, read.line.tolist(), read.rows) == (("price",), [1, 2], 2)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.fault(37, 54)
def test_timestamps_of_any_unit_and_zone_are_taken(tmp_path, unit):
    times = pa.array([0, 7], pa.timestamp(unit, "Asia/Kolkata"))
    each = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 0}[unit]
    assert delivery(tmp_path, {"ts": times}).ts.tolist() == [0, 7 * each]


def test_int96_is_utc_even_far_away(tmp_path):
    far = [datetime(2190, 1, 1, tzinfo=UTC), datetime(1950, 1, 1, tzinfo=UTC)]
    writing = {"use_deprecated_int96_timestamps": True}
    read = delivery(tmp_path, {"ts": pa.array(far, pa.timestamp("us"))}, writing=writing)
    assert read.ts.tolist() == [int(when.timestamp()) * 1_000_000 for when in far]


def test_times_may_be_text_or_integers_of_a_declared_unit(tmp_path):
    text = pa.array(["2026-11-18T14:02:11Z", "2026-11-18T14:02"])
    read = delivery(tmp_path, {"ts": text})
    assert (read.ts.tolist(), [line for line, _ in faulty(read)]) == ([US], [2])
    assert delivery(tmp_path, {"ts": pa.array([1, 2])}, ts_unit="ms").ts.tolist() == [1000, 2000]


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        (
            "ts",
            pa.array([1, 2], pa.timestamp("us")),
            "a timestamp without a time zone is no instant",
        ),
        (
            "ts",
            pa.array([1, 2]),
            "no unit is declared\n    Say what it counts: --ts-unit s, ms or us.",
        ),
        ("ts", pa.array([1.0, 2.0]), "no unit is declared\n    Say what it counts: --ts-unit s"),
        ("ts", pa.array([1, 2], pa.date32()), "a date is no instant\n    Say where it was read"),
        ("ts", pa.array([True, False]), "a timestamp with a time zone was expected"),
        (
            "price",
            pa.array(["1", "2"]),
            "column 'price' is of type string, where an axis of numbers",
        ),
        ("price", pa.array([True, False]), "name those that are: --axes price,volume."),
        ("stream_id", pa.array([1.0, 2.0]), "where text or integers were expected"),
    ],
)
def test_a_type_that_holds_no_cell_is_a_fault_of_the_file(tmp_path, column, cells, message):
    assert message in refused(tmp_path, {column: cells})


@pytest.mark.fault(46)
def test_columns_that_are_not_there_are_named(tmp_path):
    pq.write_table(pa.table({"id": ["a"], "ts": TIMES[:1]}), tmp_path / "day.parquet")
    with pytest.raises(Faults, match="no column 'stream_id'"):
        taken(tmp_path / "day.parquet")


@pytest.mark.parametrize(
    "kind",
    [pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int8(), pa.string())],
)
def test_text_ids_of_any_type_are_taken(tmp_path, kind):
    read = delivery(tmp_path, {"stream_id": pa.array(["é", "b"]).cast(kind)})
    assert read.ids.to_pylist() == ["é", "b"]


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view(), pa.list_(pa.string_view())])
def test_a_malformed_row_costs_itself_alone_whatever_stands_beside_it(tmp_path, kind):
    note = ["a note longer than what a view holds", "b"]
    notes = pa.array([[text] for text in note] if pa.types.is_list(kind) else note, kind)
    read = delivery(tmp_path, {"price": pa.array([math.nan, 1.0]), "note": notes}, ("price",))
    assert (faulty(read), rows_of(read)) == (
        [(1, "price: nan is not a finite number")],
        [("b", US + 1, (1.0,))],
    )
    assert "longer than what a view holds" in raws(read)[0]


@pytest.mark.fault(44)
def test_ids_that_are_not_utf8_are_malformed(tmp_path):
    read = delivery(tmp_path, {"stream_id": pa.array([b"\xff", b"b"])})
    assert faulty(read) == [(1, "stream_id has bytes that are not UTF-8")]
    assert read.ids.to_pylist() == ["b"]


@pytest.mark.parametrize("group", [1, 2, 10])
def test_a_malformed_row_stands_as_json_of_all_its_columns(tmp_path, group):
    columns = {
        "ts": pa.array([US * 1000 + 999, None], pa.timestamp("ns", "UTC")),
        "price": pa.array([math.nan, 1.0]),
        "volume": pa.array([2**53 + 1, 3]),
        "note": pa.array(['"é"', None]),
        "cost": pa.array([Decimal("1.50"), None], pa.decimal128(9, 2)),
        "local": pa.array([1, None], pa.timestamp("us")),
    }
    writing = {"row_group_size": group}
    read = delivery(tmp_path, columns, ("price", "volume"), writing)
    assert [line for line, _ in faulty(read)] == [1, 2]
    assert faulty(read)[1] == (2, "ts is null")
    assert faulty(read)[0][1].startswith("price: nan is not a finite number; volume: ")
    assert [json.loads(raw) for raw in raws(read)] == [
        {
            "stream_id": "a",
            "ts": "2026-11-18T14:02:11.000000Z",
            "price": "nan",
            "volume": 2**53 + 1,
            "note": '"é"',
            "cost": "1.50",
            "local": "1970-01-01T00:00:00.000001",
        },
        {
            "stream_id": "b",
            "ts": None,
            "price": 1.0,
            "volume": 3,
            "note": None,
            "cost": None,
            "local": None,
        },
    ]


def test_rows_are_found_again_in_whatever_group_they_stand(tmp_path):
    table = pa.table({"stream_id": [f"s{n}" for n in range(9)], "ts": [0] * 9, "x": [1.0] * 9})
    pq.write_table(table, tmp_path / "day.parquet", row_group_size=2)
    read = taken(tmp_path / "day.parquet", ts_unit="s")
    found = read.raw_of(np.array([0, 3, 8])).to_pylist()
    assert [json.loads(raw)["stream_id"] for raw in found] == ["s0", "s3", "s8"]


@pytest.mark.parametrize(
    "spoil", [lambda b: b[:-30], lambda _: b"PAR1junk", lambda b: b[:20] + b"\0" * 90 + b[110:]]
)
@pytest.mark.fault(63)
def test_a_damaged_file_is_a_fault(tmp_path, spoil):
    delivery(tmp_path, {"price": pa.array([1.25, 7.75])}, writing={"compression": "snappy"})
    whole = (tmp_path / "day.parquet").read_bytes()
    path = written(tmp_path, "day.parquet", spoil(whole))
    with pytest.raises(Faults, match=r"day.parquet: cannot be read as Parquet"):
        taken(path)


@pytest.mark.fault(63)
def test_what_is_called_parquet_must_be_parquet(tmp_path):
    with pytest.raises(Faults, match="does not begin as Parquet does"):
        taken(written(tmp_path, "day.parquet", "stream_id,ts,price\n"))
