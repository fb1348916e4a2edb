"""`feeds add`, `init --from` and `eval --guess` as a user types them, on data as it comes."""

import contextlib
import csv
import json
import os
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyarrow import parquet as pq

from pipelines.project.settings import ENVIRONMENT, load
from tests.support.commands.commands import Said, fencepost
from tests.support.commands.files import written
from tests.support.commands.heads import HEADS, REAL, ROWS, WHY_SKIPPED, Head
from tests.support.commands.terminals import terminal

OWN = '# mine\r\n[feeds.sensors]\r\naxes = ["celsius"]   # as it was\r\nsource = "in"\r\n'
TRADES = "symbol,time,price\n" + "".join(
    f"{('AAPL', 'MSFT')[i % 2]},2026-01-02T10:00:{i:02}Z,{100 + i % 7}.5\n" for i in range(40)
)
LEAST = 0.99
"""Share of the rows of a file that are taken."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working folder, and no word of the environment on it."""
    monkeypatch.delenv("FENCEPOST_CONFIG", raising=False)
    for over in ENVIRONMENT.values():
        for variable in over.values():
            monkeypatch.delenv(variable, raising=False)
    with contextlib.chdir(tmp_path):
        yield tmp_path


def add(*arguments: object) -> Said:
    return fencepost("feeds", "add", *arguments)


def tables_of(config: Path) -> dict[str, Any]:
    tables: dict[str, Any] = tomllib.loads(config.read_text())["feeds"]
    return tables


def real(head: Head) -> Path:
    if not (REAL / head.name).exists():
        pytest.skip(WHY_SKIPPED)
    return REAL / head.name


# Each file as its project ships it


def is_added(head: Head, path: Path) -> None:
    """Added, the file has the keys expected, and nearly all rows of its sample are taken."""
    written(Path(), "fencepost.toml", OWN)
    said = add("it", path, "--yes", "--json", *head.options).summary
    assert tables_of(Path("fencepost.toml"))["it"] == head.keys | {"source": "landing/it"}
    assert said["sample"]["accepted"] >= LEAST * said["sample"]["rows"] > 0, said["sample"]


def is_evaluated(head: Head, path: Path, where: str) -> None:
    """Guessed, the whole file is read, nearly all rows are taken, and a rule finds crossings."""
    rule = {"id": "rule", "feed": "it", "where": where}
    written(Path(), "rules.jsonl", json.dumps(rule) + "\n")
    options = ("--guess", *head.options, "--json")
    said = fencepost("eval", "-q", "rules.jsonl", "-t", f"it={path}", "-o", "out", *options)
    found = said.summary
    assert found["accepted"] >= LEAST * found["read"] > 0, found
    assert found["events"] > 0, found


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.name)
def test_the_twin_of_a_real_file_is_added_as_it_is(head: Head, here: Path) -> None:
    is_added(head, head.written(here))


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.name)
def test_a_real_file_is_added_as_it_is(head: Head) -> None:
    is_added(head, real(head))


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.name)
def test_the_twin_of_a_real_file_is_evaluated_as_it_is(head: Head, here: Path) -> None:
    is_evaluated(head, head.written(here), head.rule)


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.name)
def test_a_real_file_is_evaluated_as_it_is(head: Head) -> None:
    is_evaluated(head, real(head), head.real_rule or head.rule)


# What is written


def test_the_users_file_is_kept_byte_for_byte_and_the_table_comes_after_it(here):
    written(here, "fencepost.toml", OWN.encode())
    written(here, "trades.csv", TRADES)
    said = add("trades", "trades.csv", "--yes")
    assert (said.code, said.err) == (0, "")
    content = (here / "fencepost.toml").read_bytes()
    assert content.startswith(
        OWN.encode() + b"\r\n# As found in trades.csv by `fencepost feeds add`"
    )
    assert content.count(b"\n") == content.count(b"\r\n")
    feed = load(here).feeds["trades"]
    assert (feed.axes, feed.stream_column, feed.ts_column) == (("price",), "symbol", "time")
    assert (here / "landing" / "trades").is_dir()


def test_a_file_without_a_last_line_break_gets_one_first(here):
    written(here, "fencepost.toml", OWN.encode().rstrip())
    written(here, "trades.csv", TRADES)
    assert add("trades", "trades.csv", "--yes").code == 0
    assert (here / "fencepost.toml").read_bytes().startswith(OWN.encode() + b"\r\n#")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("sensors", "[feeds.sensors] is in"),
        ("Trades", "'Trades' is no name of a feed"),
        ("events", "'events' is the name of a table of every lake"),
    ],
)
def test_a_name_that_is_in_use_or_none_is_refused_and_nothing_written(here, name, why):
    written(here, "fencepost.toml", OWN.encode())
    written(here, "trades.csv", TRADES)
    said = add(name, "trades.csv", "--yes")
    assert (said.code, why in said.err) == (2, True), said.err
    assert (here / "fencepost.toml").read_bytes() == OWN.encode()
    assert not (here / "landing").exists()


def test_what_cannot_be_known_is_an_error_that_names_the_options_all_at_once(here):
    written(here, "fencepost.toml", OWN)
    body = "".join(f"0{i}/02/2026 10:00,{i}.5\n" for i in (3, 2, 1))
    written(here, "odd.csv", f"when,price\n{body}")
    said = add("odd", "odd.csv", "--yes")
    assert said.code == 2
    assert "--ts-format '%d/%m/%Y %H:%M' or --ts-format '%m/%d/%Y %H:%M'" in said.err
    assert "--timezone Europe/Berlin" in said.err
    assert "--stream NAME" in said.err
    assert (here / "fencepost.toml").read_text() == OWN.replace("\r\n", "\n")


def test_a_sample_of_which_no_row_would_be_taken_is_refused_with_the_reasons(here):
    written(here, "fencepost.toml", OWN)
    written(here, "trades.csv", TRADES)
    said = add("trades", "trades.csv", "--ts-format", "%d/%m/%Y", "--timezone", "UTC", "--yes")
    assert said.code == 2
    assert "0 of 40 rows of the sample would be taken" in said.err
    assert "trades" not in tables_of(here / "fencepost.toml")


def test_rows_that_would_be_lost_are_said_with_an_example(here):
    written(here, "fencepost.toml", OWN)
    written(here, "trades.csv", f"{TRADES}AAPL,2026-01-02T11:00:00Z,n/a\n")
    said = add("trades", "trades.csv", "--axes", "price", "--yes")
    assert "40 of 41 rows of the sample would be taken." in said.out
    assert "'n/a' is not a number" in said.out


# What may be a sample


def test_a_folder_is_its_own_landing_folder(here):
    written(here, "fencepost.toml", OWN)
    (here / "data" / "day").mkdir(parents=True)
    written(here / "data", "a.csv", TRADES)
    written(here / "data" / "day", "b.csv", TRADES)
    written(here / "data", "_half.tmp", "x")
    assert add("trades", "data", "--yes").code == 0
    assert load(here).feeds["trades"].source == here / "data"


def test_json_lines_are_found_by_their_keys(here):
    written(here, "fencepost.toml", OWN)
    lines = "".join(
        json.dumps({"device": f"d{i % 3}", "at": 1767348000000 + i, "celsius": i / 4, "ok": i > 2})
        + "\n"
        for i in range(20)
    )
    written(here, "day.jsonl", lines)
    said = add("day", "day.jsonl", "--yes", "--json").summary
    expected = {"axes": ["celsius"], "ts_column": "at", "ts_unit": "ms", "stream_column": "device"}
    assert said["keys"] == expected | {"payload": {"ok": "boolean"}}
    assert said["sample"]["accepted"] == 20


def parquet_table() -> pa.Table:
    return pa.table(
        {
            "Symbol": ["AAPL", "MSFT"] * 10,
            "time": pa.array(range(20), pa.timestamp("ms", "UTC")),
            "Price": [i / 4 for i in range(20)],
        }
    )


def test_parquet_is_found_by_its_schema_and_its_columns_in_any_letters(here):
    written(here, "fencepost.toml", OWN)
    pq.write_table(parquet_table(), here / "day.parquet")
    said = add("day", "day.parquet", "--yes", "--json").summary
    expected = {"axes": ["price"], "ts_column": "time", "stream_column": "Symbol"}
    assert (said["keys"], said["sample"]["accepted"]) == (expected, 20)


def test_a_delta_table_is_a_feed_of_its_versions(here):
    written(here, "fencepost.toml", OWN)
    write_deltalake(here / "source", parquet_table())
    said = add("day", "source", "--yes", "--json").summary
    assert said["keys"]["format"] == "delta"
    assert load(here).feeds["day"].source == here / "source"
    assert said["sample"]["accepted"] == 20


# The other ways in


def test_init_from_a_sample_makes_a_project_with_that_feed_alone_and_it_runs(here, monkeypatch):
    monkeypatch.setenv("FENCEPOST_RUNNER", "here")
    (here / "downloads").mkdir()
    written(here / "downloads", "trades.csv", TRADES)
    said = fencepost("init", "--from", "downloads/trades.csv", "--yes")
    assert (said.code, said.err) == (0, "")
    assert list(load(here).feeds) == ["trades"]
    for line in said.out.partition("Next, ")[2].splitlines()[1:]:
        words = line.strip()
        if words.startswith("cp "):
            (here / "landing" / "trades" / "trades.csv").write_text(TRADES)
        else:
            assert fencepost(*shlex.split(words)[1:]).code == 0, line
    answer = fencepost("sql", "select count(*) as n from events", "--format", "csv")
    assert int(answer.out.splitlines()[1]) > 0


def test_init_from_a_sample_adds_to_a_project_that_is_there(here):
    written(here, "fencepost.toml", OWN.encode())
    written(here, "trades.csv", TRADES)
    assert fencepost("init", "--from", "trades.csv", "--yes").code == 0
    assert (here / "fencepost.toml").read_bytes().startswith(OWN.encode())
    assert list(load(here).feeds) == ["sensors", "trades"]


def test_the_feeds_of_a_project_are_listed_with_where_stream_and_time_are(here):
    written(here, "fencepost.toml", OWN)
    written(here, "trades.csv", TRADES)
    add("trades", "trades.csv", "--yes")
    listed = fencepost("feeds", "--json").summary["feeds"]
    assert [each["name"] for each in listed] == ["sensors", "trades"]
    assert (listed[1]["stream"], listed[1]["time"]) == ("symbol", "time")
    assert "landing/trades" in fencepost("feeds").out


def evaluated_events(here: Path, *options: str) -> list[dict[str, str]]:
    written(here, "q.jsonl", '{"id": "q", "feed": "trades", "where": "price >= 103"}\n')
    said = fencepost("eval", "-q", "q.jsonl", "-t", "trades=trades.csv", "-o", "out", *options)
    assert said.code == 0, said.err
    with (here / "out" / "events.csv").open() as file:
        return list(csv.DictReader(file))


def test_eval_reads_a_file_alike_by_options_by_a_feed_and_by_a_guess(here):
    written(here, "trades.csv", TRADES)
    written(here, "fencepost.toml", OWN)
    add("trades", "trades.csv", "--yes")
    by_options = evaluated_events(here, "--stream-column", "symbol", "--ts-column", "trades=time")
    assert len(by_options) > 5
    assert evaluated_events(here, "--config", "fencepost.toml") == by_options
    assert evaluated_events(here, "--guess") == by_options


def test_eval_says_what_it_guessed_and_asks_nothing(here):
    written(here, "q.jsonl", '{"id": "q", "feed": "trades", "where": "price >= 103"}\n')
    written(here, "trades.csv", TRADES)
    arguments = ("eval", "-q", "q.jsonl", "-t", "trades.csv", "-o", "out", "--guess")
    said = fencepost(*arguments)
    assert said.code == 0
    assert "guessed of trades.csv: CSV, UTF-8, commas between fields" in said.err
    assert "stream_column = symbol" in said.err
    written(here, "trades.csv", TRADES.replace("Z,", ","))
    said = fencepost(*arguments)
    assert (said.code, "--timezone" in said.err) == (2, True), said.err


def test_at_a_terminal_only_what_cannot_be_known_is_asked(here):
    written(here, "fencepost.toml", OWN)
    body = "".join(f"0{i}/02/2026 10:00,{i}.5\n" for i in (1, 2, 3))
    written(here, "SPY.csv", f"when,price\n{body}")
    with terminal(here, "feeds", "add", "spy", "SPY.csv") as opened:
        opened.shows("may begin with the day or the month.")
        opened.shows("ts_format (%d/%m/%Y %H:%M or %m/%d/%Y %H:%M): ")
        opened.types("first\n")
        opened.shows("One of %d/%m/%Y %H:%M, %m/%d/%Y %H:%M was expected.")
        opened.types("%m/%d/%Y %H:%M\n")
        opened.shows("timezone [UTC]: ")
        opened.types("America/New_York\n")
        opened.shows("stream [SPY]: ")
        opened.types("\n")
        opened.shows("3 of 3 rows of the sample would be taken.")
        assert opened.ends() == 0
    feed = load(here).feeds["spy"]
    assert (feed.stream, feed.timezone) == ("SPY", "America/New_York")
    assert feed.ts_format == "%m/%d/%Y %H:%M"


def test_at_a_terminal_columns_may_be_said_to_be_streams(here):
    written(here, "fencepost.toml", OWN)
    written(here, "wide.csv", "ts,AAPL,GOOG\n2026-01-01T00:00:00Z,1.0,3.0\n")
    with terminal(here, "feeds", "add", "wide", "wide.csv") as opened:
        opened.shows("AAPL, GOOG may be streams of one value, or values of one stream.")
        opened.shows("Is each of them a stream? [y/n]: ")
        opened.types("y\n")
        assert opened.ends() == 0
    assert load(here).feeds["wide"].wide


@pytest.mark.slow
@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.name)
def test_the_twin_of_a_real_file_is_loaded_as_its_sample_was(head, here, monkeypatch):
    monkeypatch.setenv("FENCEPOST_RUNNER", "here")
    path = head.written(here)
    assert fencepost("init", "--from", path, "--feed", "it", "--yes", *head.options).code == 0
    landed = here / "landing" / "it" / head.name
    landed.write_bytes(path.read_bytes())
    os.utime(landed, (1, 1))
    assert fencepost("run").code == 0
    asked = "select count(*) as n, count(distinct stream_id) as streams from it"
    tuples, streams = fencepost("sql", asked, "--format", "csv").out.splitlines()[1].split(",")
    assert int(tuples) >= LEAST * ROWS
    assert "stream" not in head.keys or int(streams) == 1


def test_of_a_folder_the_files_with_the_usual_ending_are_looked_at_and_the_others_named(here):
    written(here, "fencepost.toml", OWN)
    (here / "data").mkdir()
    for name in ("a.csv", "b.csv"):
        written(here / "data", name, TRADES)
    written(here / "data", "labels.txt", "begin\tend\tmode\n")
    said = add("trades", "data", "--yes")
    assert said.code == 0, said.err
    assert "80 of 80 rows of the sample would be taken." in said.out
    assert "labels.txt: a delivery each, if they land with the rest" in said.out
