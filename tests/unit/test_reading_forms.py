"""One delivery, three forms: the same rows in CSV, JSON lines or Parquet are the same columns."""

import csv
import gzip
import io
import json
import os
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import Faults
from fencepost.times import EARLIEST, LATEST, format_instant
from pipelines.files.read.content import comes_once
from pipelines.files.read.delivery import look_at, read
from pipelines.files.read.rows import Declared
from tests.support.commands.files import faulty, rows_of, taken, written

IDS = st.text(
    st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=6
) | st.sampled_from(["a,b", 'a"b', '""', "'", " ", "NA", "{", "\\", "#"])
VALUES = st.floats(-(2.0**53), 2.0**53) | st.sampled_from([0.0, -0.0, 5e-324, 2.0**70, 0.1])
TIMES = st.integers(EARLIEST, LATEST - 1)
NOTES = st.text('a,"\n\r é', max_size=5)
ROWS = st.lists(st.tuples(IDS, TIMES, VALUES, VALUES, NOTES), min_size=1, max_size=8)
NAMES = ("stream_id", "ts", "x", "y", "note")


def number(value) -> str:
    return repr(value) if abs(value) < 2**53 else str(int(value))


def as_csv(rows) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(NAMES)
    writer.writerows((i, format_instant(t), number(x), number(y), n) for i, t, x, y, n in rows)
    return text.getvalue().encode()


def as_json(rows) -> bytes:
    objects = (
        dict(zip(NAMES, (i, format_instant(t), x, y, n), strict=True)) for i, t, x, y, n in rows
    )
    lines = "".join(json.dumps(each) + "\n" for each in objects)
    return lines.replace(
        repr(2.0**70), str(2**70)
    ).encode()  # in full, for its short form is inexact


def as_parquet(rows) -> bytes:
    columns = dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))
    columns["ts"] = pa.array(columns["ts"], pa.timestamp("us", "UTC"))
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


FORMS = {"csv": as_csv, "jsonl": as_json, "parquet": as_parquet}


@given(ROWS)
def test_the_same_rows_are_the_same_delivery_in_every_form(tmp_path_factory, rows):
    folder = tmp_path_factory.getbasetemp()
    expected = [(i, t, (x + 0.0, y + 0.0)) for i, t, x, y, _ in rows]
    for form, write in FORMS.items():
        delivery = taken(written(folder, f"same.{form}", write(rows)), ("x", "y"))
        assert faulty(delivery) == [], form
        assert rows_of(delivery) == expected, form
        assert len(delivery.line) == len(rows)


SOME = [("a", 0, 1.5, 2.0, ""), ("b", 1, -1.0, 0.5, "n")]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["day.{}.gz", "day.{}", "day"])
def test_gzip_is_known_by_its_bytes_whatever_the_name(tmp_path, form, name):
    if form == "jsonl" or name != "day" or form == "parquet":
        packed = gzip.compress(FORMS[form](SOME))
        delivery = taken(written(tmp_path, name.format(form), packed), ("x", "y"))
        assert rows_of(delivery) == [("a", 0, (1.5, 2.0)), ("b", 1, (-1.0, 0.5))]


def test_gzip_of_several_parts_is_read_whole(tmp_path):
    head, body = as_csv(SOME).split(b"\n", 1)
    packed = gzip.compress(head + b"\n") + gzip.compress(body)
    assert len(taken(written(tmp_path, "day.csv", packed), ("x", "y")).ts) == 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kept", [0.9, 0.5, 0.1])
@pytest.mark.fault(45)
def test_gzip_cut_off_is_a_fault_that_names_the_file(tmp_path, form, kept):
    packed = gzip.compress(FORMS[form](SOME * 50))
    path = written(tmp_path, f"day.{form}.gz", packed[: int(len(packed) * kept)])
    with pytest.raises(Faults) as refused:
        taken(path, ("x", "y"))
    assert str(path) in str(refused.value)
    assert "packed with gzip, but cut off or damaged" in str(refused.value)


@pytest.mark.fault(45)
def test_gzip_with_a_flipped_byte_is_a_fault(tmp_path):
    packed = bytearray(gzip.compress(as_csv(SOME * 50)))
    packed[-6] ^= 1
    with pytest.raises(Faults, match="cut off or damaged"):
        taken(written(tmp_path, "day.csv", bytes(packed)), ("x", "y"))


def test_what_is_not_there_or_is_a_folder_is_a_fault(tmp_path):
    with pytest.raises(Faults, match="there is no such file"):
        look_at(str(tmp_path / "nothing.csv"), Declared())
    with pytest.raises(Faults, match="is a folder"):
        look_at(str(tmp_path), Declared())


def test_a_pipe_is_read_once(tmp_path):
    pipe = tmp_path / "day.csv"
    os.mkfifo(pipe)
    assert comes_once(str(pipe))
    writer = threading.Thread(target=lambda: pipe.write_bytes(as_csv(SOME)))
    writer.start()
    known = Declared(("x", "y"))
    file = look_at(str(pipe), known)
    writer.join()
    assert len(read(file, ("x", "y"), known).ts) == 2


def test_the_form_is_told_by_a_first_brace_or_else_by_the_name(tmp_path):
    lines = as_json(SOME)
    assert look_at(str(written(tmp_path, "day", b"\n " + lines)), Declared()).form == "JSON lines"
    assert look_at(str(written(tmp_path, "day.log", as_csv(SOME))), Declared()).form == "CSV"
    assert look_at(str(written(tmp_path, "day.csv", lines)), Declared()).form == "JSON lines"
    assert look_at(str(written(tmp_path, "day.ndjson", b"junk\n")), Declared()).form == "JSON lines"


@pytest.mark.fault(50)
def test_a_file_without_rows_is_a_delivery_without_tuples(tmp_path):
    for name, content in {
        "a.csv": "stream_id,ts,x\n",
        "b.jsonl": "",
        "c.csv": "stream_id,ts,x",
    }.items():
        delivery = taken(written(tmp_path, name, content), ("x",))
        assert (delivery.rows, delivery.values.shape, delivery.numberless) == (0, (1, 0), ())
    empty = as_parquet(SOME[:1])
    pq.write_table(pq.read_table(io.BytesIO(empty)).slice(0, 0), tmp_path / "d.parquet")
    assert taken(tmp_path / "d.parquet", ("x",)).rows == 0
