"""Files of the shapes that exchanges, brokers and trackers write, each read as it is.

The data here is made up; where the real files lie beside the repository they are read as well.
"""

import gzip
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from fencepost.errors import Faults
from fencepost.times import format_instant
from pipelines.files.read.delivery import look_at
from pipelines.files.read.rows import Declared
from tests.support.commands.files import faulty, shared, taken, written, zipped

NEW_YORK = {"timezone": "America/New_York"}
UTC = {"timezone": "UTC"}


@dataclass(frozen=True)
class Shape:
    """A file, what is declared about it, and its first tuple: stream, time, values."""

    name: str
    content: str | bytes
    axes: tuple[str, ...]
    first: tuple[str, str, tuple[float, ...]]
    declared: Mapping[str, Any] = field(default_factory=dict)


PLT = "Track\nWGS 84\nAltitude in feet\nReserved 3\n0,2,255,Mine,0,0,2,8421376\n0\n"
SHAPES = [
    Shape(
        "GOOG.csv",
        ",Open,High,Volume\n2004-08-19,100,104.06,22351900\n2004-08-20,101.01,109.08,11428600\n",
        ("Open",),
        ("GOOG", "2004-08-19T04:00:00.000000Z", (100.0,)),
        {"stream": "GOOG", "ts": "index", **NEW_YORK},
    ),
    Shape(
        "binance-trades.csv",
        ",timestamp,id,type,side,price,amount,cost,date\n"
        "0,1675329600138,1206,,buy,1666.8,26.062,43440.1,2023-02-02 09:20:00.138000+00:00\n"
        "1,1675329600138,1207,,sell,1666.79,0.152,253.3,2023-02-02 09:20:00.138000+00:00\n",
        ("price", "amount"),
        ("ETH", "2023-02-02T09:20:00.138000Z", (1666.8, 26.062)),
        {"stream": "ETH", "ts": "date", "sequence": "id", "payload": (("side", "text"),)},
    ),
    Shape(
        "boat.csv",
        "\ufeffID,ais_pos_timestamp,longitude,latitude\n"
        "1,20/03/2021 00:22,32.32925,31.4386\n1,20/03/2021 1:25,32.3986,31.40955\n",
        ("longitude", "latitude"),
        ("1", "2021-03-20T00:22:00.000000Z", (32.32925, 31.4386)),
        {"stream_id": "ID", "ts": "ais_pos_timestamp", "ts_format": "%d/%m/%Y %H:%M", **UTC},
    ),
    Shape(
        "bt-min.txt",
        "Date,Open,Close,Volume,OpenInterest\r\n2006-01-02,09:01:00,3602.00,3603.00,5699,0\r\n"
        "2006-01-02,09:02:00,3600.00,3601.00,894,0\r\n",
        ("open", "close"),
        ("ES", "2006-01-02T08:01:00.000000Z", (3602.0, 3603.0)),
        {
            "stream": "ES",
            "skip_lines": 1,
            "columns": ("date", "time", "open", "close", "volume", "interest"),
            "ts": ("date", "time"),
            "timezone": "Europe/Berlin",
        },
    ),
    Shape(
        "btc-perp.csv",
        "timestamp,open,high\n2021-12-31 23:01:00.000000,46319.0,46385.0\n",
        ("open",),
        ("BTC", "2021-12-31T23:01:00.000000Z", (46319.0,)),
        {"stream": "BTC", "ts": "timestamp", **UTC},
    ),
    Shape(
        "bus.csv",
        '"id","vehicle_id","trip_id","timestamp","latitude","longitude","bearing"\n'
        '23811684,"4716","1091","2026-01-26 15:57:02",53.44451,-2.925173,\n'
        '23812075,"4716","1091","2026-01-26 15:57:24",53.445026,-2.923543,53\n',
        ("longitude", "latitude"),
        ("4716", "2026-01-26T15:57:02.000000Z", (-2.925173, 53.44451)),
        {
            "stream_id": "vehicle_id",
            "ts": "timestamp",
            "timezone": "Europe/London",
            "payload": (("trip_id", "text"), ("bearing", "double")),
            "sequence": "id",
        },
    ),
    Shape(
        "fxcm.csv",
        "timestamp,open,high\n2012-02-01 00:00:00+00:00,1.57597,1.57606\n",
        ("open", "high"),
        ("GBP", "2012-02-01T00:00:00.000000Z", (1.57597, 1.57606)),
        {"stream": "GBP", "ts": "timestamp"},
    ),
    Shape(
        "geolife.csv",
        "lat,lng,datetime,uid\n39.984094,116.319236,2008-10-23 05:53:05,001\n",
        ("lng", "lat"),
        ("001", "2008-10-23T05:53:05.000000Z", (116.319236, 39.984094)),
        {"stream_id": "uid", "ts": "datetime", **UTC},
    ),
    Shape(
        "ibm.zip",
        zipped({"20131007_ibm_Trade_Tick.csv": "34200107,1816100,100,P,20,0\n"}),
        ("price", "volume"),
        ("ibm", "2013-10-07T13:30:00.107000Z", (1816100.0, 100.0)),
        {
            "columns": ("ms", "price", "volume", "exchange", "condition", "suspicious"),
            "ts": "ms",
            "ts_unit": "ms",
            "date_from_path": r"(?P<date>[0-9]{8})_",
            "stream_from_path": r"_(?P<stream>[a-z]+)_Trade",
            "payload": (("exchange", "text"),),
            **NEW_YORK,
        },
    ),
    Shape(
        "kraken.csv",
        "1672531436,90.540000,1.10448420\n1672531471.5,90.450000,1.00000000\n",
        ("price", "volume"),
        ("XMR", "2023-01-01T00:03:56.000000Z", (90.54, 1.1044842)),
        {"stream": "XMR", "columns": ("ts", "price", "volume"), "ts_unit": "s"},
    ),
    Shape(
        "mpd.csv",
        "X;Y;fid;id;sequence;trajectory_id;tracker;t\n"
        "116.391305;39.898573;1;1;1;1;19;2008-12-11 04:42:14+00\n",
        ("X", "Y"),
        ("1", "2008-12-11T04:42:14.000000Z", (116.391305, 39.898573)),
        {"stream_id": "trajectory_id", "ts": "t", "sequence": "sequence"},
    ),
    Shape(
        "spy-raw.csv",
        "14400464,1674100,100,P,20002000,0\n14400465,1674100,1400,P,20002000,0\n",
        ("price",),
        ("SPY", "2013-10-07T08:00:00.464000Z", (1674100.0,)),
        {
            "stream": "SPY",
            "columns": ("ms", "price", "volume", "exchange", "condition", "suspicious"),
            "ts": "ms",
            "ts_unit": "ms",
            "date": "2013-10-07",
            **NEW_YORK,
        },
    ),
    Shape(
        "track.plt",
        PLT.replace("\n", "\r\n")
        + "39.984702,116.318417,0,492,39744.1201851852,2008-10-23,02:53:04\r\n",
        ("lat", "lon"),
        ("000", "2008-10-23T02:53:04.000000Z", (39.984702, 116.318417)),
        {
            "stream": "000",
            "skip_lines": 6,
            "columns": ("lat", "lon", "zero", "altitude", "days", "date", "time"),
            "ts": ("date", "time"),
            **UTC,
        },
    ),
    Shape(
        "truefx.csv",
        "timestamp,bid,ask\n2013-01-01 22:00:00.295000+00:00,86.655,86.728\n",
        ("bid", "ask"),
        ("JPY", "2013-01-01T22:00:00.295000Z", (86.655, 86.728)),
        {"stream": "JPY", "ts": "timestamp"},
    ),
    Shape(
        "wide.csv",
        "ts,AAPL,GOOG\n2026-01-01T00:00:00Z,1.0,3.0\n2026-01-01T00:01:00Z,,4.0\n",
        ("price",),
        ("AAPL", "2026-01-01T00:00:00.000000Z", (1.0,)),
        {"wide": True},
    ),
]
BY_NAME = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)


@BY_NAME
def test_a_file_of_this_shape_is_read_as_it_is(tmp_path, shape):
    found = taken(written(tmp_path, shape.name, shape.content), shape.axes, **shape.declared)
    assert faulty(found) == []
    first = (found.ids[0].as_py(), format_instant(int(found.ts[0])), tuple(found.values[:, 0]))
    assert first == shape.first
    if found.payload is not None:
        assert found.payload.num_rows == len(found.ts)
    assert (found.sequence is None) == ("sequence" not in shape.declared)


@BY_NAME
def test_the_real_file_of_this_shape_is_read_as_it_is(shape):
    path = shared(f"data/heads/{shape.name}")
    with path.open("rb") as file:
        header = file.read(200)
    declared = dict(shape.declared)
    axes = shape.axes
    if shape.name == "bt-min.txt":  # which has more columns than the small one
        declared["columns"] = ("date", "time", "open", "high", "low", "close", "volume", "i")
    found = taken(path, axes, **declared)
    assert header
    assert found.rows >= 4
    assert len(found.malformed) <= found.rows / 100, faulty(found)[:3]


def test_the_rows_of_a_wide_file_are_its_cells_that_are_not_empty(tmp_path):
    text = "ts,AAPL,GOOG,note\n2026-01-01T00:00:00Z,1,,n\n2026-01-01T00:01:00Z,x,4,\nnoon,5,6,\n"
    found = taken(
        written(tmp_path, "w.csv", text), ("price",), wide=True, payload=(("note", "text"),)
    )
    assert found.ids.to_pylist() == ["AAPL", "GOOG"]
    assert found.values.tolist() == [[1.0, 4.0]]
    assert found.line.tolist() == [(2 - 1) * 4 + 2, (3 - 1) * 4 + 3]
    assert found.payload is not None
    assert found.payload.to_pydict() == {"note": ["n", None]}
    assert found.rows == 5
    assert faulty(found) == [
        (10, "price: 'x' is not a number (line 3, column 'AAPL')"),
        (14, "ts: 'noon' is not an instant like '2026-11-18T14:02:11Z' (line 4, column 'AAPL')"),
        (15, "ts: 'noon' is not an instant like '2026-11-18T14:02:11Z' (line 4, column 'GOOG')"),
    ]
    assert found.malformed.raw.to_pylist()[1:] == ["noon,5,6,"] * 2


def test_wide_rows_are_the_same_in_every_form(tmp_path):
    text = "ts,AAPL,GOOG\n2026-01-01T00:00:00Z,1,\n2026-01-01T00:01:00Z,2,4\n"
    lines = (
        '{"ts": "2026-01-01T00:00:00Z", "AAPL": 1, "GOOG": null}\n'
        '{"ts": "2026-01-01T00:01:00Z", "GOOG": 4, "AAPL": 2}\n'
    )
    columns = {
        "ts": ["2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"],
        "AAPL": pa.array([1, 2]),
        "GOOG": pa.array([None, 4.0]),
    }
    into = io.BytesIO()
    from pyarrow import parquet as pq

    pq.write_table(pa.table(columns), into)
    files: dict[str, str | bytes] = {"w.csv": text, "w.jsonl": lines, "w.parquet": into.getvalue()}
    read = [
        taken(written(tmp_path, name, content), ("price",), wide=True)
        for name, content in files.items()
    ]
    for each in read:
        assert each.ids.to_pylist() == ["AAPL", "AAPL", "GOOG"]
        assert each.values.tolist() == [[1.0, 2.0, 4.0]]
        assert faulty(each) == []


T = "2026-11-18T14:02:11Z"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quoted", [False, True])
def test_the_delimiter_is_found_or_declared(tmp_path, delimiter, quoted):
    mark = '"' if quoted else ""
    note = f"a{mark and delimiter}b"
    rows = [["stream_id", "ts", "price", "note"], ["a", T, "1", note], ["c", T, "2.5", ""]]
    lines = [delimiter.join(f"{mark}{cell}{mark}" for cell in row) for row in rows]
    path = written(tmp_path, "day.csv", "\n".join([*lines, ""]))
    for declared in ({}, {"delimiter": delimiter}):
        found = taken(path, ("price",), payload=(("note", "text"),), **declared)
        assert faulty(found) == []
        assert found.ids.to_pylist() == ["a", "c"]
        assert found.payload is not None
        assert found.payload.to_pydict() == {"note": [note, None]}
    another = "|" if delimiter != "|" else ";"
    with pytest.raises(Faults, match="out of place" if quoted else "no column 'stream_id'"):
        taken(path, ("price",), delimiter=another)


def test_a_delimiter_counts_that_gives_the_columns_that_are_named(tmp_path):
    text = f"stream_id;ts;price;a,b,c,d,e\nx;{T};1;1,2,3,4,5\n"
    found = taken(written(tmp_path, "day.csv", text), ("price",))
    assert (found.ids.to_pylist(), faulty(found)) == (["x"], [])


def test_a_decimal_comma_is_read_where_declared(tmp_path):
    text = f"stream_id;ts;price\na;{T};1,5\nb;{T};-0,25e1\nc;{T};1.5\nd;{T};1.234,5\ne;{T};\n"
    found = taken(written(tmp_path, "day.csv", text), ("price",), decimal=",")
    assert found.values.tolist() == [[1.5, -2.5]]
    assert faulty(found) == [
        (4, "price: '1.5' is not a number with the decimal ','"),
        (5, "price: '1.234,5' is not a number with the decimal ','"),
        (6, "price is empty"),
    ]


def test_latin_1_is_read_where_declared_and_told_where_not(tmp_path):
    text = f"stream_id,ts,price,Größe\nZürich,{T},1,2\nÖ,{T},x,2\n".encode("latin-1")
    path = written(tmp_path, "day.csv", text)
    found = taken(path, ("price",), encoding="latin-1")
    assert found.ids.to_pylist() == ["Zürich"]
    assert found.malformed.raw.to_pylist() == [f"Ö,{T},x,2"]
    with pytest.raises(Faults, match=r"the header is not UTF-8\n.*declare encoding = "):
        taken(path, ("price",))
    # A field of many letters of two bytes, which stand on the borders of what is read at a time.
    many = f"stream_id,ts,price\n{'é' * 200},{T},1\n" + f"ü,{T},2\n" * 40_000
    packed = gzip.compress(many.encode("latin-1"))
    found = taken(written(tmp_path, "much.csv.gz", packed), ("price",), encoding="latin-1")
    assert (len(found.ts), faulty(found)) == (40_001, [])


def test_lines_before_the_header_are_skipped_and_counted(tmp_path):
    text = f"made by a tracker\n\n# version 3\nstream_id,ts,price\na,{T},1\nb,{T},x\n"
    found = taken(written(tmp_path, "day.csv", text), ("price",), skip_lines=3)
    assert (found.line.tolist(), faulty(found)) == ([5], [(6, "price: 'x' is not a number")])
    assert (
        taken(
            written(tmp_path, "two.csv", "a\nb\n"),
            ("price",),
            skip_lines=3,
            columns=("stream_id", "ts", "price"),
        ).rows
        == 0
    )


def test_a_file_without_a_header_has_the_columns_that_are_declared(tmp_path):
    columns = ("stream_id", "ts", "price", "note")
    text = f"a,{T},1,n\nb,{T},2\n\nc,{T},3,\n"
    found = taken(written(tmp_path, "day.csv", text), ("price",), columns=columns)
    assert (found.ids.to_pylist(), found.line.tolist()) == (["a", "c"], [1, 4])
    assert faulty(found) == [(2, "3 fields, where `columns` names 4")]
    assert look_at(str(tmp_path / "day.csv"), Declared(("price",), columns=columns)).ignored == (
        "note",
    )
