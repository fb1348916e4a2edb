"""`fencepost sql`, `status` and `quarantine` as a user types them."""

import csv
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pyarrow.parquet as pq
import pytest

from tests.support.commands.commands import REPOSITORY
from tests.support.lakes.ledger import at
from tests.support.lakes.queried_project import EVIL, PROJECT, made, said


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("project"))


def test_a_question_is_answered_in_columns(project):
    told = said(
        project,
        "sql",
        "select query_id, stream_id, left_ts, ended_by, duration from visits order by entered_ts",
    )
    assert told.code == 0
    assert told.out == (
        "query_id  stream_id  left_ts               ended_by  duration\n"
        "────────  ─────────  ────────────────────  ────────  ────────\n"
        "depot     AAPL       2026-11-18 00:00:20Z  crossing      15.0\n"
        "depot     MSFT\n"
        "gone      AAPL       2026-11-18 00:00:30Z  valid_to      22.0\n"
    )
    assert told.err == "3 rows\n"


def test_the_first_screen_s_questions_are_answered(project):
    told = said(project, "sql", "select * from inside_now order by since limit 10")
    assert "depot" in told.out
    assert told.err == "1 row\n"
    told = said(
        project,
        "sql",
        "select query_id, count(*) visits, avg(duration) from visits group by 1 order by 2 desc",
    )
    assert told.code == 0
    assert told.out.splitlines()[2].split() == ["depot", "2", "15.0"]


def test_an_answer_is_the_same_in_every_form(project, tmp_path):
    question = "select id, note, lo, hi, valid_to, within from queries order by id"
    told = [
        json.loads(line) for line in said(project, "sql", question, "-f", "json").out.splitlines()
    ]
    assert told[0]["note"] == EVIL
    assert (told[0]["lo"], told[0]["hi"]) == ([1.0], ["inf"])
    assert told[1]["valid_to"] == "2026-11-18T00:00:30.000000Z"
    plain = said(project, "sql", question, "-f", "csv").out
    rows = list(csv.DictReader(io.StringIO(plain, newline="")))
    assert [row["note"] for row in rows] == [EVIL, ""]
    assert rows[1]["valid_to"] == told[1]["valid_to"]
    for name in ("a.csv", "a.json", "a.parquet"):
        assert said(project, "sql", question, "-o", tmp_path / name).out.endswith(": 2 rows\n")
    assert (tmp_path / "a.csv").read_bytes().decode() == plain
    assert (tmp_path / "a.json").read_text().splitlines() == [
        json.dumps(row, ensure_ascii=False) for row in told
    ]
    table = pq.read_table(tmp_path / "a.parquet")
    assert table["note"].to_pylist() == [EVIL, None]
    assert table["valid_to"].to_pylist() == [None, at(30)]


@pytest.mark.fault(68)
def test_what_is_printed_moves_no_cursor(project):
    for arguments in (("sql", "select note from queries"), ("status",), ("quarantine", "show")):
        told = said(project, *arguments)
        assert told.code == 0, told.err
        assert "\x1b" not in told.out
        assert "\\x1b[2Jred\\r\\nand a second line" in told.out


def test_columns_of_the_same_name_are_told_apart(project, tmp_path):
    question = "select 1 as a, 2 as a, 3 as a_2, interval 90 second as t, date '2026-01-01' as d"
    told = said(project, "sql", question, "--format", "json").out
    row = {"a": 1, "a_2": 2, "a_2_2": 3, "t": "90 s", "d": "2026-01-01"}
    assert json.loads(told) == row
    assert said(project, "sql", question, "-o", tmp_path / "a.parquet").code == 0
    assert pq.read_table(tmp_path / "a.parquet").column_names == list(row)


def test_answers_and_what_can_be_asked_are_told_in_json(project, tmp_path):
    question = "select n, 'x' as t from range(3) r(n)"
    lines = said(project, "sql", question, "--json").out
    assert lines == said(project, "sql", question, "--format", "json").out
    rows = [json.loads(line) for line in lines.splitlines()]
    assert rows == [{"n": n, "t": "x"} for n in range(3)]
    told = said(project, "sql", question, "--json", "-o", tmp_path / "a.csv").summary
    assert told == {"out": str(tmp_path / "a.csv"), "rows": 3}
    both = said(project, "sql", question, "--json", "--format", "csv")
    assert (both.code, both.out, "cannot be combined" in both.err) == (2, "", True)
    listed = said(project, "sql", "--json").summary
    assert {"name", "comment"} == set(listed["views"][0])
    assert "raw_events" in listed["raw"]
    described = said(project, "sql", "--describe", "visits", "--json").summary
    assert "query_id" in {column["name"] for column in described["columns"]}


def test_a_long_answer_is_cut_and_says_so(project):
    many = "select * from range(1500) t(n)"
    told = said(project, "sql", many)
    assert len(told.out.splitlines()) == 1002
    assert "the first 1,000 rows; --limit 0 for all" in told.err
    assert len(said(project, "sql", many, "--limit", "0").out.splitlines()) == 1502
    whole = said(project, "sql", many, "--format", "csv")
    assert len(whole.out.splitlines()) == 1501
    assert whole.err == ""
    assert len(said(project, "sql", many, "-f", "csv", "--limit", "7").out.splitlines()) == 8
    exact = said(project, "sql", "select * from range(1000) t(n)")
    assert exact.err == "1,000 rows\n"


def test_a_statement_may_come_from_a_file_or_from_standard_input(project, tmp_path):
    (tmp_path / "q.sql").write_text("-- how many?\nselect count(*) as many\nfrom events;\n")
    assert said(project, "sql", "--file", tmp_path / "q.sql", "-f", "csv").out == "many\n4\n"
    with mock.patch.object(sys, "stdin", io.StringIO("select 5 as five")):
        assert said(project, "sql", "-", "-f", "csv").out == "five\n5\n"
    assert said(project, "sql", "--file", tmp_path / "none.sql").code == 2
    assert said(project, "sql", "select 1", "--file", tmp_path / "q.sql").code == 2


def test_without_a_statement_what_can_be_asked_is_listed(project):
    told = said(project, "sql")
    assert told.code == 0
    for name in ("visits", "inside_now", "ticks", "raw_events"):
        assert name in told.out
    described = said(project, "sql", "--describe", "events").out
    assert "event" in described
    assert "prev_price" in described
    assert "axis of ticks" in described
    wrong = said(project, "sql", "--describe", "event")
    assert wrong.code == 2
    assert "Did you mean 'events'?" in wrong.err


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("drop table raw_epochs", "DROP"),
        ("insert into raw_events select * from raw_events", "INSERT"),
        ("copy (select 1) to '{lake}/x.csv'", "COPY"),
        ("explain analyze copy (select 1) to '{lake}/x.csv'", "COPY"),
        ("explain (analyze) copy (select 1) to '{lake}/x.csv'", "COPY"),
        ("/* c */ explain /* d */ analyze copy (select 1) to '{lake}/x.csv'", ""),
        ("attach '{lake}/x.db'", "ATTACH"),
        ("set threads = 1", "SET"),
        ("create table t as select 1", "CREATE"),
        ("install httpfs", "LOAD"),
        ("call duckdb_tables()", "CALL"),
        ("prepare p as select 1", "PREPARE"),
    ],
)
@pytest.mark.fault(60)
def test_what_would_change_something_is_refused_in_words(project, statement, kind):
    before = sorted(project.rglob("*"))
    told = said(project, "sql", statement.format(lake=project / "lake"))
    assert told.code == 2
    assert told.out == ""
    if kind:
        assert f"{kind} statements are rejected: `fencepost sql` only reads" in told.err
    assert sorted(project.rglob("*")) == before


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("select * from evnts", "Did you mean 'events'?"),
        ("select * from evnts", "There are: arrivals, done_epochs"),
        ("selec 1", 'syntax error at or near "selec"'),
        ("select nothing from events", "nothing"),
        ("", "no statement was given"),
        ("/* only a comment */", "no statement was given"),
        ("select 1; select 2", "2 statements were given"),
        ("pivot events on type", "a PIVOT must name its values"),
        ("select * from read_text('/etc/hostname')", "/etc/hostname"),
        ("select * from project", "project does not exist"),
        ("select 1/x from (select 'a'::int x)", "Could not convert"),
    ],
)
def test_a_fault_is_told_in_the_engine_s_words_without_a_traceback(project, statement, words):
    told = said(project, "sql", statement)
    assert told.code == 2
    assert words in told.err
    assert "Traceback" not in told.err


@pytest.mark.parametrize(
    "statement",
    [
        "describe events",
        "summarize events",
        "show tables",
        "explain select * from events",
        "explain analyze select * from visits",
        "explain (format json) select * from visits",
        "explain (select 1)",
        "from events",
        "with a as (from events) select count(*) from a",
        "values (1)",
        "select 1;",
    ],
)
def test_every_kind_of_reading_is_taken(project, statement):
    assert said(project, "sql", statement).code == 0


def test_a_file_that_cannot_be_written_leaves_nothing(project, tmp_path):
    assert "give --format" in said(project, "sql", "select 1", "-o", tmp_path / "a.xyz").err
    assert "cannot be printed" in said(project, "sql", "select 1", "-f", "parquet").err
    (tmp_path / "taken").mkdir()
    told = said(project, "sql", "select 1", "-f", "csv", "-o", tmp_path / "taken")
    assert told.code == 2
    assert "nothing written" in told.err
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_without_a_lake_each_of_them_says_what_to_do(tmp_path):
    (tmp_path / "fencepost.toml").write_text(PROJECT)
    for arguments in (("sql", "select 1"), ("status",), ("quarantine", "show")):
        told = said(tmp_path, *arguments)
        assert told.code == 2
        assert "`fencepost init`" in told.err


@pytest.mark.slow
def test_status_and_sql_answer_in_about_a_second_from_the_start_of_the_process(project):
    for arguments in (["status"], ["sql", "select * from inside_now"]):
        argv = [sys.executable, "-m", "pipelines.cli.app", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        took = []
        for _ in range(5):
            begun = time.perf_counter()
            subprocess.run(argv, cwd=project, env=environment, check=True, capture_output=True)
            took.append(time.perf_counter() - begun)
        assert min(took) < 2.0
