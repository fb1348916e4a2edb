"""`fencepost generate`: what it writes is what the workloads are, whole, and the same each time."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from fencepost.errors import InputError, StorageError
from fencepost.queries import QuerySet, parted, read_queries_jsonl
from fencepost.times import parse_instant
from pipelines.cli.commands.generate import app
from pipelines.workloads import Garages, MovingObjects, PriceBands, PriceWalks, Squares, town
from pipelines.workloads import files as workload_files

FEW = ["--streams", "5", "--length", "20", "--queries", "8"]


def generated(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def refused(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 2, result.output
    return result.output


def columns_of(path: Path) -> dict[str, list[Any]]:
    """A generated file of tuples, read by another way than it was written."""
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        assert table.schema.field("ts").type == pa.timestamp("us", tz="UTC")
        return dict(table.set_column(1, "ts", table["ts"].cast(pa.int64())).to_pydict())
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if ".jsonl" in path.name:
        rows = [json.loads(line) for line in raw.splitlines()]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
    else:
        text = pcsv.ConvertOptions(column_types={"ts": pa.string()})
        columns = pcsv.read_csv(pa.py_buffer(raw), convert_options=text).to_pydict()
    return columns | {"ts": [parse_instant(ts) for ts in columns["ts"]]}


@pytest.mark.parametrize(
    "name", ["t.csv", "t.jsonl", "t.parquet", "t.csv.gz", "t.jsonl.gz", "day.one/T.CSV"]
)
def test_a_file_of_any_form_holds_the_tuples_bit_for_bit(tmp_path, name):
    generated("ticks", "--out", tmp_path / name, *FEW, "--axes", 2)
    tuples = PriceWalks(streams=5, length=20, dimensions=2).tuples()
    path = tmp_path / name
    if name.isupper() or "T.CSV" in name:
        path = path.rename(tmp_path / "t.csv")
    columns = columns_of(path)
    assert list(columns) == ["stream_id", "ts", "a0", "a1"]
    assert columns["stream_id"] == tuples.names.take(pa.array(tuples.stream)).to_pylist()
    assert columns["ts"] == tuples.ts.tolist()
    assert np.array_equal([columns["a0"], columns["a1"]], tuples.values)


@pytest.mark.parametrize("kind", ["ticks", "locations"])
def test_the_options_are_by_default_those_of_the_set_ups(tmp_path, kind):
    out, queries = tmp_path / "t.parquet", tmp_path / "q.parquet"
    less = ["--streams", 9] if kind == "ticks" else ["--objects", 9]
    generated(kind, "--out", out, "--queries-out", queries, *less)
    if kind == "ticks":
        tuples, asked = PriceWalks(streams=9).tuples(), PriceBands().table()
    else:
        tuples, asked = MovingObjects(objects=9).tuples(town()), Squares().table()
        tuples = workload_files.rounded(tuples, 2)
    columns = columns_of(out)
    assert columns["ts"] == tuples.ts.tolist()
    assert np.array_equal([columns[axis] for axis in tuples.axes], tuples.values)
    assert pq.read_table(queries).drop_columns("feed").equals(asked)


def test_the_queries_as_text_are_the_same_boxes_as_in_columns(tmp_path):
    for name in ("q.jsonl", "q.parquet"):
        generated(
            *("ticks", "--market", "--out", tmp_path / "t.csv", "--queries-out", tmp_path / name),
            *(*FEW, "--named", "0.5", "--within", "90s", "--widest", "0.01"),
        )
    axes = ("price", "volume")
    with (tmp_path / "q.jsonl").open("rb") as lines:
        text, _ = parted(read_queries_jsonl(lines, "q.jsonl", {"ticks": axes}))
    table = pq.read_table(tmp_path / "q.parquet")
    assert set(table["feed"].to_pylist()) == {"ticks"}
    columnar = QuerySet.from_table("ticks", axes, table.drop_columns("feed"))
    assert QuerySet.from_queries("ticks", axes, text).fingerprint == columnar.fingerprint
    assert set(columnar.within) == {90_000_000}
    assert len(columnar.streams) > 0


def test_squares_and_garages_stand_in_one_file_each_with_its_own_t(tmp_path):
    out, queries, roads = tmp_path / "m.csv", tmp_path / "q.jsonl", tmp_path / "roads.csv"
    generated(
        *("locations", "--out", out, "--queries-out", queries, "--roads-out", roads),
        *("--objects", 5, "--updates", 3, "--squares", 2, "--garages", 2, "--no-speed"),
    )
    rows = [json.loads(line) for line in queries.read_text().splitlines()]
    assert [row["id"] for row in rows] == ["square-1", "square-2", "garage-1", "garage-2"]
    assert [row.get("within") for row in rows] == [None, None, "3m", "3m"]
    garage = Garages(count=2).table(town()).to_pylist()[0]
    x_lo, x_hi, y_lo, y_hi = (garage[end] for end in ("x_lo", "x_hi", "y_lo", "y_hi"))
    assert rows[2]["where"] == (
        f"x >= {x_lo!r} AND x < {x_hi!r} AND y >= {y_lo!r} AND y < {y_hi!r}"
    )
    assert out.read_text().splitlines()[0] == "stream_id,ts,x,y"
    assert len(pcsv.read_csv(roads)) == len(town().begin)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl.gz", "t.parquet"])
def test_the_same_options_give_the_same_file_and_another_seed_another(tmp_path, name):
    files = []
    for seed in (1, 1, 2):
        generated("ticks", "--market", "--out", tmp_path / name, *FEW, "--seed", seed)
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1] != files[2]


def test_two_lines_say_what_was_made(tmp_path):
    out, queries = tmp_path / "t.csv", tmp_path / "q.jsonl"
    said = generated("ticks", "--out", out, "--queries-out", queries, *FEW, "--length", 4000)
    assert said.splitlines() == [
        f"{out}: 20,000 tuples of 5 streams, FL 0.0100% (price)",
        f"{queries}: 8 standing queries on 'ticks'",
    ]
    said = generated("locations", "--out", out, "--objects", 50, "--updates", 20, "--fast", 1)
    assert "1,000 tuples of 50 streams, FL 0." in said
    assert "(x), 0." in said
    assert "vehicles" in said
    assert "walkers" not in said
    assert "--queries-out FILE writes them" in said


def test_values_are_rounded_as_asked_and_times_begin_where_asked(tmp_path):
    out = tmp_path / "t.csv"
    generated(
        *("ticks", "--out", out, *FEW, "--decimals", 1, "--start", "2026-03-01T09:00:00+01:00"),
        *("--interval", "1.5s"),
    )
    columns = columns_of(out)
    assert all(round(price, 1) == price for price in columns["price"])
    begin = parse_instant("2026-03-01T08:00:00Z")
    assert sorted(set(columns["ts"])) == [begin + k * 1_500_000 for k in range(20)]


def test_a_failure_leaves_what_stood_there_and_nothing_else(tmp_path, monkeypatch):
    out, queries = tmp_path / "t.csv", tmp_path / "q.jsonl"
    out.write_text("before")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(workload_files, "write_queries", full)
    with pytest.raises(StorageError, match=r"q\.jsonl: No space left on device: make room"):
        generated("ticks", "--out", out, "--queries-out", queries, *FEW)
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
    assert out.read_text() == "before"


def test_a_file_gets_the_rights_that_a_new_file_has(tmp_path):
    generated("ticks", "--out", tmp_path / "t.csv", *FEW)
    (tmp_path / "other").touch()
    assert (tmp_path / "t.csv").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("t.txt", "expected a name that ends in .csv, .jsonl, .parquet, .csv.gz or .jsonl.gz"),
        ("t", "expected a name that ends in"),
        ("t.parquet.gz", "expected a name that ends in"),
        ("folder.csv", "is a folder, where a file is to be written"),
        ("file/t.csv", "cannot be written: "),
        ("q.jsonl", "was given twice"),
    ],
)
def test_a_name_that_cannot_be_written_to_is_refused_in_words(tmp_path, out, words):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=words):
        generated("ticks", "--out", tmp_path / out, "--queries-out", tmp_path / "q.jsonl", *FEW)
    assert not (tmp_path / "q.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ticks"], "--out"),
        (["ticks", "--out", "t.csv", "--interval", "3"], "is not a duration like"),
        (["ticks", "--out", "t.csv", "--start", "2026-01-05"], "is not an instant like"),
        (["ticks", "--out", "t.csv", "--starts", "middle"], "middle"),
        (["ticks", "--out", "t.csv", "--market", "--axes", "3"], "do not apply to a --market"),
        (["locations", "--out", "t.csv", "--decimals", "20"], "'--decimals'"),
    ],
)
def test_an_option_that_means_nothing_is_refused_with_its_name(arguments, words):
    assert words in " ".join(refused(*arguments).split())


def test_a_set_up_without_meaning_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(InputError, match="length 0: expected 1 or more"):
        generated("ticks", "--out", tmp_path / "t.csv", "--length", 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["ticks", "locations"])
def test_the_help_shows_how(command):
    said = generated(command, "--help")
    assert f"fencepost generate {command} --out" in said
    assert "fencepost eval" in said
    assert "S1" in said


def test_the_help_needs_neither_numpy_nor_arrow():
    code = (
        "import sys, pipelines.cli.commands.generate; "
        "print({'numpy', 'pyarrow', 'numba'} & set(sys.modules))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "set()"
