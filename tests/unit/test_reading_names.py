"""Columns by their declared names, however a file spells them: in CSV, JSON lines and Parquet."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from fencepost.errors import Faults
from pipelines.files.read.delivery import look_at, read
from pipelines.files.read.names import spelling_of
from pipelines.files.read.rows import Declared
from tests.support.commands.files import rows_of, written

T = "2026-11-18T14:02:11Z"
DECLARED = Declared(("open",), stream_id="symbol", ts="time")


def in_form(folder: Path, form: str, *names: str) -> Path:
    if form == "csv":
        return written(folder, "day.csv", f"{','.join(names)}\nAAPL,{T},1.5\n")
    if form == "json":
        stream, time, axis = names
        line = f'{{"{stream}": "AAPL", "{time}": "{T}", "{axis}": 1.5}}\n'
        return written(folder, "day.jsonl", line)
    cells = (["AAPL"], [T], [1.5])
    pq.write_table(pa.table(dict(zip(names, cells, strict=True))), folder / "day.parquet")
    return folder / "day.parquet"


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
@pytest.mark.parametrize("names", [("Symbol", "TIME", "Open"), ("symbol", "time", "O p-é_n")])
def test_a_column_is_found_in_any_letters(tmp_path, form, names):
    file = look_at(str(in_form(tmp_path, form, *names)), DECLARED)
    found = read(file, ("open",), DECLARED)
    assert [row[0] for row in rows_of(found)] == ["AAPL"]
    assert (found.axes, found.values.tolist()) == (("open",), [[1.5]])
    assert file.ignored == ()


def test_the_exact_name_is_meant_before_one_like_it():
    assert spelling_of(DECLARED, ["symbol", "time", "open", "Open"]) == {}


@pytest.mark.parametrize("names", [("Open", "OPEN"), ("opened",)])
def test_of_two_that_are_alike_neither_is_and_another_word_is_none(tmp_path, names):
    assert spelling_of(DECLARED, ["symbol", "time", *names]) == {}
    body = ",".join(["symbol", "time", *names])
    with pytest.raises(Faults, match="no column 'open'"):
        look_at(str(written(tmp_path, "day.csv", f"{body}\n")), DECLARED)
