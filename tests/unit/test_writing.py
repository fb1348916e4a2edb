"""Results to files: what is written reads back, in one order, whole or not at all."""

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fencepost.doubles import parse_number
from fencepost.errors import StorageError
from fencepost.row_order import ordered
from fencepost.times import EARLIEST, LATEST, format_instant
from pipelines.files.write import text as texts
from pipelines.files.write.folder import OutFolder, write_table
from pipelines.files.write.form import OutForm
from pipelines.files.write.text import csv_pieces, json_pieces

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
DOUBLE = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [2.0**53, 1e22, 1e23, 0.1]
)
ROW = st.tuples(
    TEXT | st.none(),
    st.none() | st.integers(EARLIEST, LATEST - 1),
    st.none() | DOUBLE,
    st.integers(0, 9),
)
ROWS = st.lists(ROW, max_size=6)
NAMES = ['i"d', "ts", "x", "n"]


def table_of(rows, coded=False) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * 4
    kinds = [pa.string(), pa.timestamp("us", "UTC"), pa.float64(), pa.int32()]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    if coded:
        half = [pa.table(arrays, NAMES).slice(0, 1), pa.table(arrays, NAMES).slice(1)]
        return pa.concat_tables(
            t.set_column(0, NAMES[0], t.column(0).dictionary_encode()) for t in half
        )
    return pa.table(arrays, NAMES)


def bytes_of(pieces) -> bytes:
    return b"".join(piece.to_pybytes() for piece in pieces)


def when(us) -> str | None:
    return None if us is None else format_instant(us)


@given(ROWS, st.booleans(), st.sampled_from([1, 2, 1 << 16]))
@example([('a,"b"\n', 0, -0.0, 1), (None, None, None, 1), ("", -1, 5e-324, 2)], True, 1)
def test_csv_reads_back_and_tells_nothing_from_an_empty_text(rows, coded, piece):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "ROWS", piece)
        content = bytes_of(csv_pieces(table_of(rows, coded))).decode()
    header, *read = csv.reader(io.StringIO(content, newline=""))
    assert header == NAMES
    for row, (text, us, x, n) in zip(read, rows, strict=True):
        assert row[0] == (text or "")
        assert row[1] == (when(us) or "")
        assert (parse_number(row[2]) if row[2] else None) == x
        assert row[3] == str(n)
    if rows and rows[0][0] == "":
        assert content.split("\n")[1].startswith('"",')
    elif rows and rows[0][0] is None:
        assert content.split("\n")[1].startswith(",")


@given(ROWS, st.booleans(), st.sampled_from([1, 2, 1 << 16]))
def test_json_lines_read_back(rows, coded, piece):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "ROWS", piece)
        content = bytes_of(json_pieces(table_of(rows, coded))).decode()
    read = [json.loads(line) for line in content.split("\n")[:-1]]
    assert read == [
        dict(zip(NAMES, (text, when(us), x, n), strict=True)) for text, us, x, n in rows
    ]


@given(DOUBLE)
def test_a_double_is_written_as_a_number_that_fencepost_takes_and_reads_the_same(value):
    for pieces in (csv_pieces, json_pieces):
        content = bytes_of(pieces(pa.table({"x": [value]}))).decode()
        text = content.split("\n")[1] if pieces is csv_pieces else content[6:-2]
        assert parse_number(text) == value
        assert len(text) < 26 or abs(value) >= 2**53


def test_text_to_csv_is_quoted_only_where_it_must_be():
    rows = [
        ("plain é 'x'", 0, 1.0, 1),
        ("a,b", 0, 1.5, 1),
        ('a"b', 0, 100.0, 1),
        ("a\rb", 0, -2.0, 1),
    ]
    assert bytes_of(csv_pieces(table_of(rows))).decode() == (
        '"i""d",ts,x,n\n'
        "plain é 'x',1970-01-01T00:00:00.000000Z,1,1\n"
        '"a,b",1970-01-01T00:00:00.000000Z,1.5,1\n'
        '"a""b",1970-01-01T00:00:00.000000Z,100,1\n'
        '"a\rb",1970-01-01T00:00:00.000000Z,-2,1\n'
    )


@given(ROWS, st.randoms(use_true_random=False))
def test_rows_are_ordered_by_their_keys_however_they_came(rows, random):
    rows = [(text or "", us or 0, x or 0.0, n) for text, us, x, n in rows]
    mixed = list(rows)
    random.shuffle(mixed)
    keys = ["n", NAMES[0], "ts"]
    expected = sorted(rows, key=lambda r: (r[3], r[0].encode(), r[1]))
    for coded in (False, True):
        table = ordered(table_of(mixed, coded), keys).select(keys)
        assert [tuple(row.values()) for row in table.cast(
            pa.schema([("n", pa.int32()), (NAMES[0], pa.string()), ("ts", pa.int64())])
        ).to_pylist()] == [(n, text, us) for text, us, _, n in expected]  # fmt: skip


def test_a_big_table_is_written_in_pieces(tmp_path):
    count = 3 * texts.ROWS // 2
    table = pa.table({"n": np.arange(count), "s": pa.array(["a", "b"] * (count // 2))})
    write_table(table, tmp_path / "t.csv", OutForm.CSV)
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert (len(lines), lines[1], lines[-1]) == (count + 1, "0,a", f"{count - 1},b")


def tables(**rows) -> dict[str, pa.Table]:
    return {name: pa.table({"x": [float(x)]}) for name, x in rows.items()}


@pytest.mark.parametrize("form", list(OutForm))
def test_a_folder_gets_all_its_files_under_their_names(tmp_path, form):
    out = OutFolder(tmp_path / "a" / "b", form, ["one", "two"])
    assert out.faults([]) == []
    assert not (tmp_path / "a").exists()
    shown: list[float] = []
    out.write(tables(one=1, two=2), lambda _, done: shown.append(done))
    assert sorted(p.name for p in out.folder.iterdir()) == [f"one.{form}", f"two.{form}"]
    assert shown == [0, 0.5]
    if form is OutForm.PARQUET:
        assert pq.read_table(out.targets["two"]).to_pylist() == [{"x": 2.0}]


@pytest.mark.parametrize("made", [True, False])
def test_what_fails_leaves_the_folder_as_it_was(tmp_path, made, monkeypatch):
    out = OutFolder(tmp_path / "new" / "out", OutForm.CSV, ["one", "two"])
    if made:
        out.folder.mkdir(parents=True)
        out.targets["one"].write_text("before")

    def full(*_):
        raise OSError(28, "No space left on device")

    real = write_table
    monkeypatch.setattr(
        "pipelines.files.write.folder.write_table",
        lambda table, path, form: (full if "two" in path.name else real)(table, path, form),
    )
    with pytest.raises(StorageError, match=r"out/two\.csv: No space left on device: make room"):
        out.write(tables(one=1, two=2))
    if made:
        assert [p.name for p in out.folder.iterdir()] == ["one.csv"]
        assert out.targets["one"].read_text() == "before"
    else:
        assert not (tmp_path / "new").exists()


def test_what_stands_in_the_way_is_told_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "one.csv").mkdir()
    (tmp_path / "two.csv").write_text("")

    def told(folder, *inputs) -> list[str]:
        return [
            fault.message for fault in OutFolder(folder, OutForm.CSV, ["one", "two"]).faults(inputs)
        ]

    assert told(tmp_path / "file") == [
        f"{tmp_path / 'file'} is a file, where a folder was expected"
    ]
    assert told(tmp_path / "file" / "x")[0].endswith("is a file, where a folder was expected")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.access", lambda *_: False)
        assert told(tmp_path / "new") == [
            f"nothing can be written to {tmp_path}: permission denied"
        ]
    assert told(tmp_path, tmp_path / "two.csv", tmp_path / "else") == [
        f"{tmp_path / 'one.csv'} is a folder, where a file is to be written",
        f"{tmp_path / 'two.csv'} is among the files to be read, and would be written over",
    ]
