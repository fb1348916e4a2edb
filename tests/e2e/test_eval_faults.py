"""`fencepost eval` on bad input: every fault told with its place, 2 at the end, nothing written."""

import gzip
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.commands.commands import BAND, TICKS, T, evaluated, rows, spawned, ticks
from tests.support.commands.files import written


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one query in `q.jsonl`."""
    return written(tmp_path, "q.jsonl", BAND).parent


def test_every_fault_of_every_file_is_told_and_nothing_is_written(folder):
    query = '{{"id": "a", "feed": "ticks", "where": "{}"}}\n'
    bad = query.format("prize > 1") + "\nnonsense\n" + query.format("ALL")
    written(folder, "bad.jsonl", bad)
    written(folder, "head.csv", "stream_id,price,price\n")
    written(folder, "day.csv", ticks(1))
    written(folder, "cut.csv.gz", gzip.compress(ticks(*range(9)).encode())[:-12])
    said = evaluated(
        folder, "ticks=day.csv", "ticks=no.csv", "ticks=head.csv", "ticks=.", queries="bad.jsonl"
    )
    assert said.code == 2
    assert said.out == ""
    faults = said.err.splitlines()
    for told in (
        "bad.jsonl:1: unknown axis 'prize' in `where` at column 1",
        "    prize > 1",
        "    ^^^^^",
        "bad.jsonl:3: not JSON: expecting value at column 1",
        "bad.jsonl:4: the id 'a' occurs twice: in lines 1 and 4",
        "no.csv: there is no such file",
        "head.csv:1: column 'price' occurs twice in the header",
        "head.csv:1: no column 'ts'",
        "7 faults, nothing written.",
    ):
        assert told in faults, said.err
    assert "Traceback" not in said.err
    assert not (folder / "out").exists()


def test_a_file_cut_off_is_told_even_when_others_were_evaluated_before(folder):
    written(folder, "day.csv", ticks(1, 3))
    for name in ("cut.csv", "too.csv"):
        packed = gzip.compress(random.Random(1).randbytes(300).hex().encode())  # noqa: S311
        head = gzip.compress((TICKS + f"a,{T.format(0)},1\n").encode())
        written(folder, name, head + packed[:-40])
    said = evaluated(folder, "ticks=day.csv", "ticks=cut.csv", "ticks=too.csv")
    assert said.code == 2
    assert "cut.csv: is packed with gzip, but cut off or damaged" in said.err
    assert "too.csv: is packed with gzip, but cut off or damaged" in said.err
    assert "2 faults, nothing written." in said.err
    assert not (folder / "out").exists()


def test_a_feed_left_out_is_no_fault_of_its_own_where_the_queries_cannot_be_read(folder):
    written(folder, "day.csv", ticks(1, 3))
    said = evaluated(folder, "day.csv", "no.csv", queries="no.jsonl")
    assert said.err.splitlines() == [
        "no.jsonl: there is no such file",
        "no.csv: there is no such file",
        "2 faults, nothing written.",
    ]


def test_debug_shows_the_traceback_too(folder):
    said = evaluated(folder, "ticks=no.csv", more=("--debug",))
    assert said.code == 2
    assert "Traceback" in said.err
    assert "no.csv: there is no such file" in said.err


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--allowed-lateness", "soon"), "'soon' is not a duration"),
        (("--ts-unit", "h"), "--ts-unit: 'h' is none of s, ms, us, ns"),
        (("--format", "xml"), "'xml' is not one of"),
        (("--axes", "price,price"), "--axes price,price: 'price' occurs twice"),
        (("--axes", "ts"), "--axes ts: 'ts' is no axis"),
        (("--axes", "volume"), "day.csv:1: no column 'volume'"),
        (("--clock", "ts"), "--clock ts: the clock must be a column other than"),
        (("--clock", "at"), "day.csv:1: no column 'at'"),
        (("--out", "day.csv"), "day.csv is a file, where a folder was expected"),
    ],
)
def test_an_option_at_fault_ends_with_2(folder, more, told):
    written(folder, "day.csv", ticks(1, 3))
    said = evaluated(folder, "ticks=day.csv", more=more)
    plain = " ".join(said.err.replace("│", " ").split())
    assert (said.code, told in plain) == (2, True), said.err
    assert not (folder / "out").exists()


def test_deliveries_of_a_feed_have_the_same_axes(folder):
    written(folder, "a.csv", "stream_id,ts,price,volume\n")
    written(
        folder, "b.csv", f"volume,stream_id,price,ts\n7,a,1,{T.format(0)}\n8,a,3,{T.format(1)}\n"
    )
    written(
        folder,
        "c.jsonl",
        f'{{"stream_id": "a", "ts": "{T.format(2)}", "price": 9, "volume": 1, "x": 0}}\n',
    )
    assert (
        evaluated(folder, "ticks=a.csv", "ticks=b.csv", "ticks=c.jsonl", more=("--json",)).summary[
            "events"
        ]
        == 2
    )
    assert rows(folder / "out" / "events.csv")[0]["volume"] == "8"
    written(folder, "d.csv", TICKS)
    said = evaluated(folder, "ticks=a.csv", "ticks=d.csv")
    assert said.code == 2
    assert "d.csv: the axes are price, but those of a.csv are price, volume" in said.err


def test_json_lines_take_the_axes_that_the_feed_has_already(folder):
    written(folder, "empty.jsonl", "")
    written(folder, "day.csv", ticks(1, 3))
    assert (
        evaluated(folder, "ticks=empty.jsonl", "ticks=day.csv", more=("--json",)).summary["read"]
        == 2
    )
    said = evaluated(folder, "ticks=empty.jsonl")
    assert "empty.jsonl: no line is an object with stream_id, ts and an axis" in said.err


def test_an_axis_may_not_have_the_name_of_an_events_column(folder):
    written(folder, "day.csv", "stream_id,ts,price,prev_price,type\n")
    said = evaluated(folder, "ticks=day.csv")
    assert "'type' cannot be an axis: the events have a column of this name" in said.err
    assert "'prev_price' cannot be an axis" in said.err


def test_faults_of_queries_in_parquet_have_the_row_of_the_file(folder):
    written(folder, "day.csv", ticks(1, 3, 9))
    columns = {
        "id": ["a", "b", "c", "a", ""],
        "feed": ["vans", "ticks", None, "ticks", "ticks"],
        "price_lo": [0.0, 3.0, 0.0, 0.0, 0.0],
        "price_hi": [1.0, 3.0, 1.0, 1.0, 1.0],
    }
    pq.write_table(pa.table(columns), folder / "q.parquet")
    said = evaluated(folder, "ticks=day.csv", queries="q.parquet")
    assert said.code == 2
    for told in (
        "q.parquet:2: ",
        "q.parquet:3: `feed` is missing",
        "q.parquet:4: the id 'a' occurs twice",
        "q.parquet:5: ",
    ):
        assert told in said.err


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"feed": pa.array([1])}, "`feed` holds int64, text was expected"),
        ({"id": pa.array([["a"]])}, "`id` holds list<element: string>, text was expected"),
        ({"id": pa.array([b"\xff"])}, "`id` holds binary, text was expected"),
        ({"id": pa.nulls(1, pa.string())}, "q.parquet:1: `id` is null"),
        ({"feed": pa.array([""])}, "q.parquet:1: `feed` is missing"),
        ({"prize_lo": pa.array([1.0])}, "unknown column `prize_lo`"),
    ],
)
def test_columns_of_queries_at_fault_are_told(folder, columns, told):
    written(folder, "day.csv", ticks(1, 3))
    sound = {"id": pa.array(["a"]), "feed": pa.array(["ticks"]), "price_lo": pa.array([1.0])}
    pq.write_table(pa.table({**sound, **columns}), folder / "q.parquet")
    said = evaluated(folder, "ticks=day.csv", queries="q.parquet")
    assert (said.code, told in said.err) == (2, True), said.err


def test_an_id_stands_once_in_all_files(folder):
    written(folder, "day.csv", ticks(1, 3))
    written(folder, "more.jsonl", BAND)
    said = evaluated(folder, "ticks=day.csv", more=("--queries", "more.jsonl"))
    assert (said.code, "more.jsonl: the id 'band' is in q.jsonl too" in said.err) == (2, True)


def test_results_are_never_written_over_what_is_read(folder):
    (folder / "out").mkdir()
    written(folder / "out", "events.csv", ticks(1, 3))
    said = evaluated(folder, "ticks=out/events.csv")
    assert (said.code, "would be written over" in said.err) == (2, True)


def test_the_real_command_ends_with_2_and_words(folder):
    done = spawned("eval", "-q", folder / "no.jsonl", "-t", "ticks=no.csv", "-o", folder / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert "2 faults, nothing written." in done.stderr
    assert "Traceback" not in done.stderr
