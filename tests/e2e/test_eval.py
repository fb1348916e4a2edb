"""`fencepost eval` as a user types it: files in, files out, every fault told, nothing half done."""

import contextlib
import csv
import gzip
import io
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.crossings.index import BorderIndex
from fencepost.engine import FeedState, step
from fencepost.queries import QuerySet, StandingQuery
from fencepost.reference import Delivery, Registration
from fencepost.reference import run as reference_run
from fencepost.times import format_instant, parse_instant
from pipelines.cli import main
from pipelines.evaluation import progress
from tests.files import taken, written
from tests.oracles import event_rows, transition_rows
from tests.strategies import FEED, Story, stories

REPOSITORY = Path(__file__).resolve().parents[2]
T = "2026-11-18T14:0{}:00Z"
BAND = '{"id": "band", "feed": "ticks", "where": "price >= 2 AND price < 5", "within": "1m"}\n'
TICKS = "stream_id,ts,price\n"


class Said(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def summary(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        summary: dict[str, Any] = json.loads(self.out)
        return summary


def fencepost(*arguments: object) -> Said:
    """Run the command in this process."""
    out, err = io.StringIO(), io.StringIO()
    argv = ["fencepost", *map(str, arguments)]
    with (
        mock.patch.object(sys, "argv", argv),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
    return Said(code, out.getvalue(), err.getvalue())


def spawned(*arguments: object, **how: Any) -> subprocess.CompletedProcess[str]:
    """Run the command as its own process."""
    return subprocess.run(
        [sys.executable, "-m", "pipelines.cli", *map(str, arguments)],
        cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=60, **how,
    )  # fmt: skip


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def ticks(*seen: object) -> str:
    """A CSV of one stream `a`: its values, a minute apart."""
    return TICKS + "".join(f"a,{T.format(n)},{value}\n" for n, value in enumerate(seen))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    written(tmp_path, "q.jsonl", BAND)
    return tmp_path


def evaluated(
    folder: Path, *tuples: str, queries: str = "q.jsonl", more: tuple[object, ...] = ()
) -> Said:
    given_ = [argument for each in tuples for argument in ("--tuples", each)]
    with contextlib.chdir(folder):
        return fencepost("eval", "--queries", queries, *given_, "--out", "out", *more)


def test_a_walk_through_a_band_is_told_whole(folder):
    written(folder, "day.csv", ticks(1, 3, 4, 9, 9, 3, 1))
    said = evaluated(folder, "ticks=day.csv")
    assert said.code == 0
    assert (folder / "out" / "events.csv").read_text() == (
        "type,feed,query_id,query_version,stream_id,ts,prev_ts,price,prev_price\n"
        "I,ticks,band,1,a,2026-11-18T14:01:00.000000Z,2026-11-18T14:00:00.000000Z,3,1\n"
        "O,ticks,band,1,a,2026-11-18T14:03:00.000000Z,2026-11-18T14:02:00.000000Z,9,4\n"
        "I,ticks,band,1,a,2026-11-18T14:05:00.000000Z,2026-11-18T14:04:00.000000Z,3,9\n"
        "O,ticks,band,1,a,2026-11-18T14:06:00.000000Z,2026-11-18T14:05:00.000000Z,1,3\n"
    )
    assert (folder / "out" / "transitions.csv").read_text() == (
        "type,feed,query_id,query_version,stream_id,ts,from_ts,to_ts\n"
        "stay,ticks,band,1,a,2026-11-18T14:02:00.000000Z,2026-11-18T14:01:00.000000Z,\n"
        "departure,ticks,band,1,a,2026-11-18T14:04:00.000000Z,2026-11-18T14:03:00.000000Z,\n"
        "pass_through,ticks,band,1,a,2026-11-18T14:06:00.000000Z,2026-11-18T14:05:00.000000Z,"
        "2026-11-18T14:06:00.000000Z\n"
    )
    assert (folder / "out" / "quarantine.csv").read_text() == "reason,detail,source,line,raw\n"
    assert "1 delivery, 7 rows = 7 accepted + 0 quarantined" in said.out
    assert "4 (I 2 · O 2)" in said.out


def test_the_summary_is_one_json_object_whose_numbers_add_up(folder):
    written(folder, "a.csv", ticks(1, 3, "x"))
    written(folder, "b.csv", ticks(1, 4) + f"a,{T.format(5)},1\na,{T.format(0)},1\n")
    summary = evaluated(folder, "ticks=a.csv", "ticks=b.csv", more=("--json",)).summary
    seconds = summary.pop("seconds")
    assert seconds > 0
    assert summary == {
        "read": 7,
        "accepted": 3,
        "waiting": 0,
        "quarantined": {"malformed": 1, "duplicate": 0, "conflict": 1, "late": 2, "future": 0},
        "events": 2,
        "transitions": 1,
        "events_by_type": {"I": 1, "O": 1},
        "transitions_by_type": {"pass_through": 0, "short_absence": 0, "stay": 1, "departure": 0},
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


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_the_three_formats_hold_the_same_rows(folder, form):
    written(folder, "day.csv", ticks(1, 3, "x", 9, 0.1))
    assert evaluated(folder, "ticks=day.csv", more=("--format", form)).code == 0
    (path,) = (folder / "out").glob(f"events.{form}")
    assert len(list((folder / "out").iterdir())) == 3
    if form == "csv":
        found = [{k: v or None for k, v in row.items()} for row in rows(path)]
        found = [
            {**r, **{k: float(r[k]) for k in ("price", "prev_price")}, "query_version": 1}
            for r in found
        ]
    elif form == "jsonl":
        found = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        table = pq.read_table(path)
        assert table.schema.field("ts").type == pa.timestamp("us", "UTC")
        assert table.schema.field("query_id").type == pa.string()
        found = table.to_pylist()
        us = table["ts"].cast(pa.int64()).to_pylist(), table["prev_ts"].cast(pa.int64()).to_pylist()
        for row, ts, prev_ts in zip(found, *us, strict=True):
            row.update(ts=format_instant(ts), prev_ts=format_instant(prev_ts))
    assert [list(row.values()) for row in found] == [
        ["I", "ticks", "band", 1, "a", "2026-11-18T14:01:00.000000Z", "2026-11-18T14:00:00.000000Z", 3.0, 1.0],
        ["O", "ticks", "band", 1, "a", "2026-11-18T14:03:00.000000Z", "2026-11-18T14:01:00.000000Z", 9.0, 3.0],
    ]  # fmt: skip


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
        "type", "feed", "query_id", "query_version", "stream_id", "ts", "prev_ts",
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


def test_every_fault_of_every_file_is_told_and_nothing_is_written(folder):
    bad = '{"id": "a", "feed": "ticks", "where": "prize > 1"}\n\nnonsense\n{"id": "a", "feed": "ticks", "where": "ALL"}\n'
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
        "bad.jsonl:4: the id 'a' stands twice: in lines 1 and 4",
        "no.csv: there is no such file",
        "head.csv:1: column 'price' stands twice in the header",
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


def test_debug_shows_the_traceback_too(folder):
    with pytest.raises(Exception, match="there is no such file"):
        evaluated(folder, "ticks=no.csv", more=("--debug",))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--allowed-lateness", "soon"), "'soon' is not a duration"),
        (("--ts-unit", "ns"), "'ns' is not one of"),
        (("--format", "xml"), "'xml' is not one of"),
        (("--axes", "price,price"), "--axes price,price: 'price' stands twice"),
        (("--axes", "ts"), "--axes ts: 'ts' is no axis"),
        (("--axes", "volume"), "day.csv:1: no column 'volume'"),
        (("--clock", "ts"), "--clock ts: the clock is a column of its own"),
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
    assert "d.csv: the axes are price, those of a.csv are price, volume" in said.err


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
    assert "'type' is no name for an axis: the events have a column 'type'" in said.err
    assert "'prev_price' is no name for an axis" in said.err


def test_a_column_without_numbers_brings_a_hint(folder):
    written(folder, "day.csv", f"stream_id,ts,price,venue\na,{T.format(0)},1,X\n")
    said = evaluated(folder, "ticks=day.csv", more=("--json",))
    assert said.summary["quarantined"]["malformed"] == 1
    assert "day.csv: not one row has a number in 'venue'" in said.err
    assert "--axes" in said.err


def test_what_is_ahead_of_its_clock_is_future_and_only_with_a_clock(folder):
    header = "stream_id,ts,at,price\n"
    body = f"a,{T.format(0)},{T.format(0)},1\na,{T.format(9)},{T.format(0)},3\na,{T.format(5)},{T.format(0)},3\n"
    written(folder, "day.csv", header + body)
    more = ("--clock", "at", "--max-skew", "5m", "--json")
    summary = evaluated(folder, "ticks=day.csv", more=more).summary
    assert (summary["accepted"], summary["quarantined"]["future"]) == (2, 1)
    (future,) = rows(folder / "out" / "quarantine.csv")
    assert (future["reason"], future["line"]) == ("future", "3")
    assert future["detail"] == "ts is 0:09:00 ahead of the clock, 2026-11-18T14:00:00.000000Z"
    more = ("--axes", "price", "--json")
    assert evaluated(folder, "ticks=day.csv", more=more).summary["accepted"] == 3


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
    summary = evaluated(folder, "day.csv", queries="q.parquet", more=more)
    assert "no feed is named" in summary.err
    summary = evaluated(folder, "ticks=day.csv", queries="q.parquet", more=more).summary
    assert (summary["events"], summary["unevaluated_by_feed"]) == (4, {"vans": 1})


def test_faults_of_queries_in_parquet_have_the_row_of_the_file(folder):
    written(folder, "day.csv", ticks(1, 3, 9))
    table = pa.table({"id": ["a", "b", "c", "a", ""], "feed": ["vans", "ticks", None, "ticks", "ticks"],
                      "price_lo": [0.0, 3.0, 0.0, 0.0, 0.0], "price_hi": [1.0, 3.0, 1.0, 1.0, 1.0]})  # fmt: skip
    pq.write_table(table, folder / "q.parquet")
    said = evaluated(folder, "ticks=day.csv", queries="q.parquet")
    assert said.code == 2
    for told in (
        "q.parquet:2: ",
        "q.parquet:3: `feed` is missing",
        "q.parquet:4: the id 'a' stands twice",
        "q.parquet:5: ",
    ):
        assert told in said.err


def test_an_id_stands_once_in_all_files(folder):
    written(folder, "day.csv", ticks(1, 3))
    written(folder, "more.jsonl", BAND)
    said = evaluated(folder, "ticks=day.csv", more=("--queries", "more.jsonl"))
    assert (said.code, "more.jsonl: the id 'band' stands in q.jsonl too" in said.err) == (2, True)


def test_results_are_never_written_over_what_is_read(folder):
    (folder / "out").mkdir()
    written(folder / "out", "events.csv", ticks(1, 3))
    said = evaluated(folder, "ticks=out/events.csv")
    assert (said.code, "would be written over" in said.err) == (2, True)


def test_a_second_run_takes_the_place_of_the_first(folder):
    written(folder, "day.csv", ticks(1, 3))
    assert evaluated(folder, "ticks=day.csv").code == 0
    before = (folder / "out" / "events.csv").read_bytes()
    assert evaluated(folder, "ticks=day.csv").code == 0
    assert (folder / "out" / "events.csv").read_bytes() == before
    assert len(list((folder / "out").iterdir())) == 3


def test_a_bar_is_shown_on_a_terminal_and_only_to_who_waits(folder):
    written(folder, "day.csv", ticks(1, 3))

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def told(patience: float) -> str:
        with (
            mock.patch.object(progress, "PATIENCE", patience),
            mock.patch("sys.stderr", terminal := Terminal()),
        ):
            with progress.Progress() as bar:
                bar.total = 3.0
                bar.now("reading day.csv")
                bar.advance(1.0)
                bar.now("writing out")
                bar.advance(5.0)
        return terminal.getvalue()

    assert told(60.0) == ""
    assert "reading day.csv" in told(-1.0)


def as_file(folder: Path, name: str, form: str, axes: tuple[str, ...], delivery: Delivery) -> Path:
    rows = [(s.stream, format_instant(s.ts), *s.values) for s in delivery.tuples]
    names = ["stream_id", "ts", *axes]
    if form == "csv":
        text = io.StringIO(newline="")
        csv.writer(text).writerows([names, *rows])
        return written(folder, f"{name}.csv", text.getvalue())
    if form == "jsonl":
        return written(
            folder,
            f"{name}.jsonl",
            "".join(json.dumps(dict(zip(names, r, strict=True))) + "\n" for r in rows),
        )
    columns = (
        dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        if rows
        else dict.fromkeys(names, [])
    )
    kinds = [pa.string(), pa.string(), *[pa.float64()] * len(axes)]
    table = pa.table([pa.array(columns[n], k) for n, k in zip(names, kinds, strict=True)], names)
    pq.write_table(table, folder / f"{name}.parquet")
    return folder / f"{name}.parquet"


def as_json(query: StandingQuery) -> str:
    fields = {
        "id": query.id,
        "feed": query.feed,
        "where": query.where,
        "streams": query.streams,
        "within": None if query.within is None else f"{query.within}us",
        "on_first": query.on_first,
        "valid_from": None if query.valid_from is None else format_instant(query.valid_from),
        "valid_to": None if query.valid_to is None else format_instant(query.valid_to),
    }
    return json.dumps(fields) + "\n"


def registered_once(story: Story) -> Story:
    first = [item for item in story.script if isinstance(item, Registration)][0]
    deliveries = [item for item in story.script if isinstance(item, Delivery)]
    return Story(story.axes, (first, *deliveries), story.lateness)


@settings(max_examples=25)
@given(stories(most_axes=3).map(registered_once), st.randoms(use_true_random=False))
def test_oracle_what_eval_writes_is_what_the_reference_says(tmp_path_factory, story, random):
    folder = tmp_path_factory.mktemp("eval")
    expected = reference_run(FEED, story.axes, story.script, story.lateness)
    registration, *deliveries = story.script
    written(folder, "q.jsonl", "".join(map(as_json, registration.queries)))
    forms = [random.choice(["csv", "jsonl", "parquet"]) for _ in deliveries]
    files = [
        as_file(folder, str(n), form, story.axes, delivery)
        for n, (form, delivery) in enumerate(zip(forms, deliveries, strict=True))
    ]
    given_ = [argument for file in files for argument in ("--tuples", f"{FEED}={file}")]
    if not given_:
        return
    summary = fencepost(
        "eval", "--queries", folder / "q.jsonl", *given_, "--out", folder / "out", "--json",
        "--axes", ",".join(story.axes), "--allowed-lateness", f"{story.lateness}us",
    ).summary  # fmt: skip
    events = rows(folder / "out" / "events.csv")
    us = {"": None}
    found = [
        (e["type"], e["query_id"], e["stream_id"], parse_instant(e["ts"]), tuple(float(e[a]) for a in story.axes),
         us.get(e["prev_ts"]) if not e["prev_ts"] else parse_instant(e["prev_ts"]))
        for e in events
    ]  # fmt: skip
    wanted = [(e.type, e.query_id, e.stream, e.ts, e.values, e.prev_ts) for e in expected.events]
    assert found == sorted(wanted, key=lambda e: (e[3], e[2], e[1]))
    transitions = [
        (
            t["type"],
            t["query_id"],
            t["stream_id"],
            parse_instant(t["ts"]),
            parse_instant(t["from_ts"]),
        )
        for t in rows(folder / "out" / "transitions.csv")
    ]
    assert sorted(transitions) == sorted(
        (t.type, t.query_id, t.stream, t.ts, t.from_ts) for t in expected.transitions
    )
    quarantine = [
        (files.index(Path(q["source"])), int(q["line"]), q["reason"])
        for q in rows(folder / "out" / "quarantine.csv")
    ]
    header = {"csv": 2, "jsonl": 1, "parquet": 1}
    assert quarantine == sorted(
        (d, row + header[forms[d]], why) for d, row, why in expected.rejected
    )
    assert (summary["accepted"], summary["waiting"]) == (
        len(expected.accepted),
        len(expected.waiting),
    )


@settings(max_examples=25)
@given(stories(most_axes=2).map(registered_once))
def test_differential_a_step_a_delivery_is_one_step_of_all(tmp_path_factory, story):
    folder = tmp_path_factory.mktemp("steps")
    registration, *deliveries = story.script
    index = BorderIndex.build(QuerySet.from_queries(FEED, story.axes, registration.queries))
    read = [
        taken(as_file(folder, str(n), "csv", story.axes, delivery), story.axes)
        for n, delivery in enumerate(deliveries)
    ]
    state = FeedState.empty(FEED, story.axes)
    events, transitions = [], []
    for n, delivery in enumerate(read):
        outcome = step(state, batch_of(delivery, 0), index, deliveries=1, lateness=story.lateness)
        state = outcome.state
        events += event_rows(outcome.events, story.axes, n)
        transitions += transition_rows(outcome.transitions, n)
    empty = FeedState.empty(FEED, story.axes)
    batches = [batch_of(delivery, n) for n, delivery in enumerate(read)]
    if batches:
        whole = type(batches[0]).concat(batches)
        at_once = step(empty, whole, index, deliveries=len(read), lateness=story.lateness)
        assert sorted(events, key=repr) == sorted(event_rows(at_once.events, story.axes), key=repr)
        assert sorted(transitions) == sorted(transition_rows(at_once.transitions))


def batch_of(delivery: Any, number: int) -> Any:
    from fencepost.tuples import TupleBatch

    where = np.full(len(delivery.ts), number, np.int32)
    return TupleBatch.from_columns(
        FEED, delivery.axes, delivery.ids, delivery.ts, delivery.values, where
    )


def test_the_real_command_evaluates_without_numba_and_in_good_time(folder):
    written(folder, "day.csv", ticks(1, 3, 9))
    arguments = [
        "eval",
        "-q",
        folder / "q.jsonl",
        "-t",
        folder / "day.csv",
        "-o",
        folder / "out",
        "--json",
    ]
    code = f"import sys; sys.argv = {['fencepost', *map(str, arguments)]!r}\nfrom pipelines.cli import main\ntry:\n  main()\nfinally:\n  heavy = [m for m in ('numba', 'pandas', 'rich') if m in sys.modules]\n  print(heavy, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert (json.loads(done.stdout)["events"], done.stderr) == (2, "[]\n")


def test_the_real_command_ends_with_2_and_words(folder):
    done = spawned("eval", "-q", folder / "no.jsonl", "-t", "ticks=no.csv", "-o", folder / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == "2 faults, nothing written."


def test_help_reads_like_a_manual_and_imports_nothing_heavy():
    code = "import sys, pipelines.cli\nprint([m for m in ('numpy', 'pyarrow', 'numba', 'rich') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "[]\n"
    for arguments in ([], ["eval"]):
        said = fencepost(*arguments, "--help")
        assert said.code == 0
        assert "\n    fencepost eval " in said.out
