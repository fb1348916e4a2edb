"""`fencepost eval` as a user types it: what it writes, and what it says."""

import io
import json
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fencepost.api.tables import NAMES
from fencepost.times import format_instant
from pipelines.cli import progress
from pipelines.cli.exit_codes import Code
from tests.support.commands.commands import (
    BAND,
    TICKS,
    T,
    evaluated,
    fencepost,
    python,
    rows,
    spawned,
    ticks,
)
from tests.support.commands.files import written


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one query in `q.jsonl`."""
    return written(tmp_path, "q.jsonl", BAND).parent


def test_a_walk_through_a_band_is_told_whole(folder):
    written(folder, "day.csv", ticks(1, 3, 4, 9, 9, 3, 1))
    said = evaluated(folder, "ticks=day.csv")
    assert said.code == 0
    assert (folder / "out" / "events.csv").read_text() == (
        "type,feed,query_id,query_version,stream_id,ts,place,prev_ts,price,prev_price\n"
        "I,ticks,band,1,a,2026-11-18T14:01:00.000000Z,0,2026-11-18T14:00:00.000000Z,3,1\n"
        "O,ticks,band,1,a,2026-11-18T14:03:00.000000Z,0,2026-11-18T14:02:00.000000Z,9,4\n"
        "I,ticks,band,1,a,2026-11-18T14:05:00.000000Z,0,2026-11-18T14:04:00.000000Z,3,9\n"
        "O,ticks,band,1,a,2026-11-18T14:06:00.000000Z,0,2026-11-18T14:05:00.000000Z,1,3\n"
    )
    assert (folder / "out" / "transitions.csv").read_text() == (
        "type,feed,query_id,query_version,stream_id,ts,from_ts,from_place,to_ts,to_place\n"
        "stay,ticks,band,1,a,2026-11-18T14:02:00.000000Z,2026-11-18T14:01:00.000000Z,0,,\n"
        "departure,ticks,band,1,a,2026-11-18T14:04:00.000000Z,2026-11-18T14:03:00.000000Z,0,,\n"
        "pass_through,ticks,band,1,a,2026-11-18T14:06:00.000000Z,2026-11-18T14:05:00.000000Z,0,"
        "2026-11-18T14:06:00.000000Z,0\n"
    )
    assert (folder / "out" / "quarantine.csv").read_text() == "reason,detail,source,line,raw\n"
    assert "1 delivery, 7 rows = 7 accepted + 0 quarantined" in said.out
    assert "4 (I 2 · O 2)" in said.out


def test_a_tuple_is_told_of_every_match_query_that_holds_for_it(folder):
    match = {"feed": "ticks", "kind": "match"}
    asked = (
        {"id": "thin", "where": "volume < price", **match},
        {"id": "three", "where": "price = 3 OR price = 4", "streams": ["a"], **match},
    )
    queries = "".join(json.dumps(query) + "\n" for query in asked)
    written(folder, "q.jsonl", BAND + queries)
    body = "".join(
        f"{stream},{T.format(minute)},{price},{volume}\n"
        for stream, minute, price, volume in (
            ("b", 0, 3, 2),
            ("a", 0, 3, 3),
            ("a", 1, 4, 2),
            ("a", 1, 4, 2),
            ("a", 2, 9, 10),
        )
    )
    written(folder, "day.csv", "stream_id,ts,price,volume\n" + body)
    said = evaluated(folder, "ticks=day.csv", more=("--ties", "first"))
    assert (folder / "out" / "matches.csv").read_text() == (
        "feed,query_id,query_version,stream_id,ts,place\n"
        "ticks,three,1,a,2026-11-18T14:00:00.000000Z,0\n"
        "ticks,thin,1,a,2026-11-18T14:01:00.000000Z,0\n"
        "ticks,three,1,a,2026-11-18T14:01:00.000000Z,0\n"
        "ticks,thin,1,b,2026-11-18T14:00:00.000000Z,0\n"
    )
    assert "matches      4" in said.out
    more = ("--ties", "first", "--json")
    summary = evaluated(folder, "ticks=day.csv", more=more).summary
    assert (summary["matches"], summary["quarantined"]["duplicate"]) == (4, 1)


def test_the_summary_is_one_json_object_whose_numbers_add_up(folder):
    written(folder, "a.csv", ticks(1, 3, "x"))
    written(folder, "b.csv", ticks(1, 4) + f"a,{T.format(5)},1\na,{T.format(0)},1\n")
    more = ("--ties", "first", "--json")
    summary = evaluated(folder, "ticks=a.csv", "ticks=b.csv", more=more).summary
    seconds = summary.pop("seconds")
    assert seconds > 0
    losses = summary.pop("losses")
    assert [(loss["rows"], loss["lost"]) for loss in losses] == [(3, 1), (4, 3)]
    assert summary == {
        "read": 7,
        "accepted": 3,
        "waiting": 0,
        "quarantined": {"malformed": 1, "duplicate": 0, "conflict": 1, "late": 2, "future": 0},
        "events": 2,
        "transitions": 1,
        "matches": 0,
        "pairs": 0,
        "band_changes": 0,
        "near_changes": 0,
        "leaps": 0,
        "events_by_type": {"I": 1, "O": 1},
        "transitions_by_type": {"pass_through": 0, "short_absence": 0, "stay": 1, "departure": 0},
        "band_changes_by_sign": {"+1": 0, "-1": 0},
        "near_changes_by_sign": {"+1": 0, "-1": 0},
        "unevaluated": 0,
        "unevaluated_by_feed": {},
    }
    quarantine = rows(folder / "out" / "quarantine.csv")
    assert [(r["reason"], r["source"], r["line"], r["raw"]) for r in quarantine] == [
        ("malformed", "a.csv", "4", f"a,{T.format(2)},x"),
        ("late", "b.csv", "2", f"a,{T.format(0)},1"),
        ("conflict", "b.csv", "3", f"a,{T.format(1)},4"),
        ("late", "b.csv", "5", f"a,{T.format(0)},1"),
    ]
    assert all(r["detail"] for r in quarantine)


def found_in(path: Path) -> list[dict[str, Any]]:
    """Read events of any format, their numbers as numbers and their times as text."""
    if path.suffix == ".csv":
        numbers = {"price": float, "prev_price": float, "query_version": int, "place": int}
        return [{k: numbers.get(k, str)(v) for k, v in row.items()} for row in rows(path)]
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    table = pq.read_table(path)
    assert table.schema.field("ts").type == pa.timestamp("us", "UTC")
    assert table.schema.field("query_id").type == pa.string()
    for name in ("ts", "prev_ts"):
        texts = [format_instant(us) for us in table[name].cast(pa.int64()).to_pylist()]
        table = table.set_column(table.column_names.index(name), name, pa.array(texts))
    found: list[dict[str, Any]] = table.to_pylist()
    return found


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_the_three_formats_hold_the_same_rows(folder, form):
    written(folder, "day.csv", ticks(1, 3, "x", 9, 0.1))
    assert evaluated(folder, "ticks=day.csv", more=("--format", form)).code == 0
    (path,) = (folder / "out").glob(f"events.{form}")
    assert len(list((folder / "out").iterdir())) == len(NAMES) + 1
    found = found_in(path)
    times = [T.format(n).replace("Z", ".000000Z") for n in (0, 1, 3)]
    assert [list(row.values()) for row in found] == [
        ["I", "ticks", "band", 1, "a", times[1], 0, times[0], 3.0, 1.0],
        ["O", "ticks", "band", 1, "a", times[2], 0, times[1], 9.0, 3.0],
    ]


def test_the_feed_may_be_left_out_where_all_queries_name_one(folder):
    written(folder, "day=1.csv", ticks(1, 3))
    assert evaluated(folder, "day=1.csv", more=("--json",)).summary["events"] == 1
    written(folder, "q.jsonl", BAND + BAND.replace("band", "b2").replace("ticks", "bonds"))
    said = evaluated(folder, "day=1.csv")
    assert (said.code, "no feed is named, and the queries name ticks, bonds" in said.err) == (
        2,
        True,
    )
    assert "Write --tuples FEED=day=1.csv." in said.err


def test_several_feeds_are_evaluated_each_on_its_own(folder):
    van = '{"id": "yard", "feed": "vans", "where": "x > 0 AND y > 0"}\n'
    written(folder, "q.jsonl", BAND + van)
    written(folder, "day.csv", ticks(1, 3))
    written(
        folder,
        "gps.jsonl",
        "".join(
            json.dumps({"stream_id": "a", "ts": T.format(n), "y": n, "x": n, "price": 2}) + "\n"
            for n in (0, 1)
        ),
    )
    more = ("--axes", "vans=x,y", "--json")
    assert evaluated(folder, "ticks=day.csv", "vans=gps.jsonl", more=more).summary["events"] == 2
    first, second = rows(folder / "out" / "events.csv")
    assert list(first) == [
        "type", "feed", "query_id", "query_version", "stream_id", "ts", "place", "prev_ts",
        "price", "x", "y", "prev_price", "prev_x", "prev_y",
    ]  # fmt: skip
    assert [first["feed"], first["price"], first["x"], first["prev_x"]] == ["ticks", "3", "", ""]
    assert [second["feed"], second["price"], second["x"], second["prev_x"]] == [
        "vans",
        "",
        "1",
        "0",
    ]


def test_queries_of_feeds_without_tuples_are_checked_but_not_evaluated(folder):
    written(folder, "q.jsonl", BAND + BAND.replace("band", "other").replace('"ticks"', '"tick"'))
    written(folder, "day.csv", ticks(1, 3))
    said = evaluated(folder, "ticks=day.csv", more=("--json",))
    assert (said.summary["unevaluated"], said.summary["unevaluated_by_feed"]) == (1, {"tick": 1})
    assert "note: 1 query of feed 'tick' not evaluated: it has no tuples." in said.err
    assert "Did you mean 'ticks'?" in said.err
    written(folder, "q.jsonl", BAND + '{"id": "o", "feed": "tick", "where": "price >"}\n')
    assert evaluated(folder, "ticks=day.csv").code == 2


def test_a_feed_that_nobody_watches_is_read_and_told(folder):
    written(folder, "day.csv", ticks(1, 3))
    said = evaluated(folder, "ticks=day.csv", "bonds=day.csv", more=("--json",))
    assert (said.summary["accepted"], said.summary["events"]) == (4, 1)
    assert "note: no query watches feed 'bonds'." in said.err


def test_a_column_without_numbers_brings_a_hint(folder):
    written(folder, "day.csv", f"stream_id,ts,price,venue\na,{T.format(0)},1,X\n")
    said = evaluated(folder, "ticks=day.csv", more=("--json",))
    assert said.summary["quarantined"]["malformed"] == 1
    assert "day.csv: not one row has a number in 'venue'" in said.err
    assert "--axes" in said.err


def test_what_is_ahead_of_its_clock_is_future_and_only_with_a_clock(folder):
    header = "stream_id,ts,at,price\n"
    seen = [(0, 1), (9, 3), (5, 3)]
    body = "".join(f"a,{T.format(at)},{T.format(0)},{price}\n" for at, price in seen)
    written(folder, "day.csv", header + body)
    more = ("--clock", "at", "--max-skew", "5m", "--json")
    summary = evaluated(folder, "ticks=day.csv", more=more).summary
    assert (summary["accepted"], summary["quarantined"]["future"]) == (2, 1)
    (future,) = rows(folder / "out" / "quarantine.csv")
    assert (future["reason"], future["line"]) == ("future", "3")
    assert future["detail"] == "ts is 0:09:00 ahead of the clock, 2026-11-18T14:00:00.000000Z"
    without = ("--axes", "price", "--json")
    assert evaluated(folder, "ticks=day.csv", more=without).summary["accepted"] == 3


def test_tuples_that_still_wait_at_the_end_are_counted(folder):
    written(folder, "day.csv", ticks(1, 3, 4))
    summary = evaluated(
        folder, "ticks=day.csv", more=("--allowed-lateness", "90s", "--json")
    ).summary
    assert (summary["read"], summary["accepted"], summary["waiting"], summary["events"]) == (
        3,
        1,
        2,
        0,
    )
    said = evaluated(folder, "ticks=day.csv", more=("--allowed-lateness", "90s"))
    assert "3 rows = 1 accepted + 2 waiting + 0 quarantined" in said.out


def test_a_file_of_which_every_row_is_rejected_ends_with_4_and_the_way_to_take_it_in(folder):
    written(folder, "good.csv", ticks(1, 3))
    written(folder, "bad.csv", TICKS + "a,1700000000000,1\na,1700000060000,3\n")
    said = evaluated(folder, "ticks=good.csv", "ticks=bad.csv")
    assert said.code == Code.UNANSWERED
    assert (
        "\n  bad.csv: 2 of 2 rows: '1700000000000' is an integer, and no unit is declared; "
        "give --ts-unit UNIT\n"
    ) in said.out
    assert "accepted + 2 quarantined" in said.out
    assert (folder / "out" / "events.csv").exists(), "the rest is evaluated all the same"
    written(folder, "last.csv", TICKS + f"a,{T.format(1)},3\n")
    more = ("--ties", "first", "--json")
    repeated = evaluated(folder, "ticks=good.csv", "ticks=last.csv", more=more)
    (loss,) = repeated.summary["losses"]
    assert (repeated.code, loss["rows"], loss["lost"]) == (0, 1, 1), "a repeat: nothing is missing"


def test_integer_times_need_their_unit(folder):
    written(folder, "day.csv", TICKS + "a,1700000000000,1\na,1700000060000,3\n")
    assert (
        evaluated(folder, "ticks=day.csv", more=("--ts-unit", "ms", "--json")).summary["events"]
        == 1
    )
    assert (
        evaluated(folder, "ticks=day.csv", more=("--json",)).summary["quarantined"]["malformed"]
        == 2
    )
    assert "--ts-unit" in rows(folder / "out" / "quarantine.csv")[0]["detail"]


def query_table(**columns: Any) -> pa.Table:
    return pa.table({"id": ["p", "q"], "price_lo": [2.0, 4.0], "price_hi": [5.0, None], **columns})


def test_queries_may_come_as_parquet(folder):
    written(folder, "day.csv", ticks(1, 3, 9))
    pq.write_table(query_table(), folder / "q.parquet")
    summary = evaluated(folder, "ticks=day.csv", queries="q.parquet", more=("--json",)).summary
    assert summary["events_by_type"] == {"I": 2, "O": 1}
    pq.write_table(
        query_table(feed=["ticks", "vans"], x_lo=[None, 3.0], note=["", ""]), folder / "q.parquet"
    )
    more = ("--json", "--queries", "q.jsonl")
    assert "no feed is named" in evaluated(folder, "day.csv", queries="q.parquet", more=more).err
    summary = evaluated(folder, "ticks=day.csv", queries="q.parquet", more=more).summary
    assert (summary["events"], summary["unevaluated_by_feed"]) == (4, {"vans": 1})


def test_a_second_run_takes_the_place_of_the_first(folder):
    written(folder, "day.csv", ticks(1, 3))
    assert evaluated(folder, "ticks=day.csv").code == 0
    before = (folder / "out" / "events.csv").read_bytes()
    assert evaluated(folder, "ticks=day.csv").code == 0
    assert (folder / "out" / "events.csv").read_bytes() == before
    assert len(list((folder / "out").iterdir())) == len(NAMES) + 1


def test_a_bar_is_shown_on_a_terminal_and_only_to_who_waits(folder):
    written(folder, "day.csv", ticks(1, 3))

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def shown(patience: float) -> str:
        terminal = Terminal()
        with (
            mock.patch.object(progress, "PATIENCE", patience),
            mock.patch("sys.stderr", terminal),
            progress.progress_bar() as show,
        ):
            show("reading day.csv", 1 / 3)
            show("writing out", 5.0)
        return terminal.getvalue()

    assert shown(60.0) == ""
    assert "reading day.csv" in shown(-1.0)


def test_the_real_command_evaluates_without_numba(folder):
    written(folder, "day.csv", ticks(1, 3, 9))
    out = folder / "out"
    done = spawned("eval", "-q", folder / "q.jsonl", "-t", folder / "day.csv", "-o", out, "--json")
    assert (json.loads(done.stdout)["events"], done.stderr) == (2, "[]\n")


def test_help_reads_like_a_manual_and_imports_nothing_heavy():
    heavy = "{'numpy', 'pyarrow', 'numba', 'rich'}"
    done = python(f"import sys, pipelines.cli.app\nprint({heavy} & set(sys.modules))")
    assert done.stdout == "set()\n"
    for arguments in ([], ["eval"]):
        said = fencepost(*arguments, "--help")
        assert said.code == 0
        assert "\n    fencepost eval " in said.out
