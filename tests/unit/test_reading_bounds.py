"""Lines, records and columns of any length: what is too long is malformed or refused, and no more.

The limits are lowered here; `tests/e2e/test_bombs.py` holds the real ones under a limit of memory.
"""

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import Faults
from pipelines.files.read import content as file_content
from pipelines.files.read import csv_records, csv_rows, delivery, json_rows, parquet_rows
from pipelines.files.read import records as raw_rows
from pipelines.files.read.content import LongLine, Window, bounded_lines
from pipelines.ingest import task
from tests.support.commands.files import faulty, lines_of, raws, rows_of, taken, written
from tests.support.lakes.landing_place import Place, ticks

T = "2026-11-18T14:02:11Z"
HEADER = "stream_id,ts,price\n"


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of 256 bytes, lines of 100."""
    limits = {"PIECE": 256, "LONGEST_LINE": 100, "AHEAD": 102, "MOST_RAW": 20, "MOST_LINES": 8}
    for name, limit in limits.items():
        monkeypatch.setattr(file_content, name, limit)
    for module in (json_rows, csv_rows, csv_records):
        monkeypatch.setattr(module, "LONGEST_LINE", 100)
    monkeypatch.setattr(csv_records, "LONGEST_QUOTED", 100)
    monkeypatch.setattr(csv_rows, "HEAD", 102)


def line(name: str, length: int = 0) -> str:
    """Give a row of CSV as long as wanted: its number has many zeros."""
    row = f"{name},{T},1."
    return row + "0" * (length - len(row))


@pytest.mark.fault(45, 64)
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("length", [101, 102, 103, 255, 256, 257, 357, 358, 359, 5000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_that_is_too_long_costs_itself_alone_wherever_windows_end(tmp_path, length, end):
    for before in (0, 1, 3, 5, 20):
        rows = [line(f"s{k}", 40 + k % 3) for k in range(before)]
        body = end.join([*rows, line("x", length), line("y", 100), line("z")])
        read = taken(written(tmp_path, "day.csv", HEADER + body), ("price",))
        assert [name for name, _, _ in rows_of(read)] == [
            *(f"s{k}" for k in range(before)),
            "y",
            "z",
        ]
        [(at, why)] = faulty(read)
        assert (at, why) == (before + 2, f"a line of {length:,} bytes, where up to 100 are read")
        assert raws(read) == [line("x", length)[:19] + "…"]
        assert read.rows == before + 3


@pytest.mark.fault(45, 64)
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("length", [120, 300, 5000])
def test_a_long_line_of_json_is_malformed_and_a_blank_one_no_row(tmp_path, length):
    good = f'{{"stream_id": "a", "ts": "{T}", "price": 1}}'
    long = good.replace("1}", "1" * (length - len(good) + 1) + "}")
    body = "\n".join([long, good, " " * length, good, "\0" * length])
    read = taken(written(tmp_path, "day.jsonl", body), ("price",))
    assert read.line.tolist() == [2, 4]
    why = f"a line of {length:,} bytes, where up to 100 are read"
    assert faulty(read) == [(1, why), (5, why)]
    assert [len(raw) for raw in raws(read)] == [20, 20]
    assert list(bounded_lines(io.BufferedReader(io.BytesIO(body.encode())))) == [
        f"{good}\n".encode(),
        f"{good}\n".encode(),
    ]


@given(st.text("a,\n ", max_size=200) | st.text("a" * 9 + "\n", max_size=1500), st.integers(1, 60))
@pytest.mark.usefixtures("short")
@pytest.mark.fault(64)
def test_windows_and_long_lines_are_all_the_lines_of_a_file(text, piece):
    content = text.encode()
    expected = list(enumerate(content.split(b"\n"), 1))
    found: list[tuple[int, bytes | int]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_content, "PIECE", piece)
        reading = lines_of(content)
        while (window := reading.next()) is not None:
            if isinstance(window, LongLine):
                assert window.length > file_content.LONGEST_LINE
                found.append((window.line, window.length))
                continue
            assert isinstance(window, Window)
            some = window.content[: window.stop].removesuffix(b"\n").split(b"\n")
            assert len(some) <= file_content.MOST_LINES + 1  # the last may have no end
            found += list(enumerate(some, window.line))
            reading.past(window, window.stop)
        assert reading.done == 1.0
    if expected[-1][1] == b"":
        expected.pop()
    assert [number for number, _ in found] == [number for number, _ in expected]
    for (_, one), (_, other) in zip(found, expected, strict=True):
        assert one == (len(other) if isinstance(one, int) else other)


@pytest.mark.usefixtures("short")
@pytest.mark.fault(45)
def test_what_has_no_header_within_a_line_is_refused(tmp_path):
    for content in ("\0" * 5000, "a," * 60, "\n" * 200, '"' * 5000):
        with pytest.raises(Faults, match="has no header in its first 100 bytes"):
            taken(written(tmp_path, "day.csv", content), ("price",))


@pytest.mark.fault(64)
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_100_000_columns_are_refused_at_once_and_10_000_are_read(tmp_path, form):
    def made(count: int) -> bytes:
        names = ["stream_id", "ts", "price", *(f"c{k}" for k in range(count - 3))]
        cells = ["a", T, "1", *["0"] * (count - 3)]
        if form == "csv":
            return f"{','.join(names)}\n{','.join(cells)}\n".encode()
        if form == "jsonl":
            quoted = [f'"{c}"' if k < 2 else c for k, c in enumerate(cells)]
            pairs = (f'"{name}":{cell}' for name, cell in zip(names, quoted, strict=True))
            return f"{{{','.join(pairs)}}}\n".encode()
        numbers = [pa.array([cell]) for cell in cells[:2]] + [pa.array([1.0])] * (count - 2)
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_arrays(numbers, names=names), sink)
        return sink.getvalue()

    read = taken(written(tmp_path, f"some.{form}", made(10_000)), ("price",))
    assert [name for name, _, _ in rows_of(read)] == ["a"]
    with pytest.raises(Faults) as refused:
        taken(written(tmp_path, f"day.{form}", made(20_000 if form == "parquet" else 100_000)))
    assert "columns, where up to 10,000 are read" in str(refused.value)
    assert len(str(refused.value)) < 500


def test_of_many_columns_a_few_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(raw_rows, "MOST_NAMED", 2)
    with pytest.raises(Faults, match="the columns are: ts, price, and 2 more"):
        taken(written(tmp_path, "day.csv", "ts,price,volume,note\n"))


@pytest.mark.fault(63, 64)
def test_text_beyond_what_is_decoded_is_refused_by_the_footer(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_rows, "MOST_TEXT", 50_000)
    rng = np.random.default_rng(3)
    table = {
        "stream_id": ["a", "b"],
        "ts": [T, T],
        "price": [1.0, None],
        "note": [rng.bytes(60_000).hex(), "n"],
    }
    path = tmp_path / "day.parquet"
    pq.write_table(pa.table(table), path, use_dictionary=False)
    read = taken(path, ("price",))
    assert len(rows_of(read)) == 1
    assert '"note": "120,' in raws(read)[0]
    assert raws(read)[0].endswith('bytes, not read"}')
    pq.write_table(pa.table({**table, "stream_id": table["note"]}), path, use_dictionary=False)
    with pytest.raises(Faults, match=r"column 'stream_id' has 120,.* bytes in row group 1, where"):
        taken(path, ("price",))


@pytest.mark.fault(64)
def test_a_text_that_many_rows_share_is_held_once(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_rows, "MOST_CELL", 50)
    monkeypatch.setattr(parquet_rows, "RAW_BYTES", 1 << 20)
    count, long = 130_000, "x" * 1_000_000
    columns = {
        "stream_id": pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), [long]),
        "ts": pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), [long]),
        "price": np.ones(count),
        "note": pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), [long]),
    }
    path = tmp_path / "day.parquet"
    pq.write_table(pa.table(columns), path, store_schema=False)
    read = taken(path, ("price",))
    assert (len(read.ts), len(read.malformed)) == (0, count)
    assert faulty(read)[-1][1].startswith("stream_id: 'xxx")
    assert read.malformed.raw.nbytes < 1 << 28


@pytest.mark.fault(64)
def test_parquet_packed_once_more_is_unpacked_so_far_and_no_further(tmp_path, monkeypatch):
    monkeypatch.setattr(delivery, "MOST_UNPACKED", 10_000)
    for count in (10, 10_000):
        numbers = np.random.default_rng(count).random(count)
        sink = io.BytesIO()
        pq.write_table(
            pa.table({"stream_id": ["a"] * count, "ts": [T] * count, "price": numbers}), sink
        )
        path = written(tmp_path, "day.parquet", gzip.compress(sink.getvalue()))
        if count == 10:
            assert len(taken(path, ("price",)).ts) == count
            continue
        with pytest.raises(Faults, match="unpacks to more than 10,000 bytes"):
            taken(path, ("price",))


@pytest.mark.fault(64)
@pytest.mark.parametrize("limit", ["MOST_ROWS", "MOST_BYTES"])
def test_a_delivery_larger_than_what_is_held_is_read_twice_and_taken_once(
    tmp_path, monkeypatch, limit
):
    monkeypatch.setattr(task, limit, 1)
    place = Place.make(tmp_path)
    place.land("a.csv", ticks(1, 2, 3))
    assert [(each.rows, each.tuples) for each in place.ingest().loaded] == [(3, 3)]
    assert [row["price"] for row in place.tuples()] == [1.0, 2.0, 3.0]
